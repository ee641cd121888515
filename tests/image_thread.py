"""Memory of run files with images: that of a device, with states of surfaces and samplers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import eumu
from eumu.exec.grid import Grid
from eumu.exec.host import Engine
from eumu.runtime.heaps import Tables
from visa_thread import Buffer


@dataclass(frozen=True)
class Picture:
    """An image of a run file: surface `index`, and the arguments of `Device.image`."""

    name: str
    index: int
    shape: tuple[int, ...]
    arguments: dict[str, Any] = field(default_factory=dict)

    def made(self, device: eumu.Device) -> Any:
        return device.image(self.shape, **self.arguments)


@dataclass(frozen=True)
class Filter:
    """A sampler of a run file: its index, and the arguments of `Device.sampler`."""

    index: int
    arguments: dict[str, Any] = field(default_factory=dict)


class DeviceHost:
    """What `visa_thread.FlatHost` is, on a device: results, buffers, images."""

    def __init__(
        self,
        platform: str,
        size: int,
        buffers: Sequence[Buffer],
        pictures: Sequence[Picture],
        filters: Sequence[Filter],
        before: Mapping[str, bytes],
    ) -> None:
        """`before` has elements of level 0 of images by name."""
        self.device = eumu.Device(platform, engine="interp")
        self._results = self.device.array(size, np.uint8)
        self._buffers = {b.name: self.device.array(b.size, np.uint8) for b in buffers}
        self._images = {p.name: p.made(self.device) for p in pictures}
        for picture in pictures:
            if picture.name in before:
                self._paint(self._images[picture.name], before[picture.name])
        self.base = self._results.address
        self.places = {name: array.address for name, array in self._buffers.items()}
        samplers = {f.index: self.device.sampler(**f.arguments) for f in filters}
        self._tables = Tables(
            self.device.heaps,
            {p.index: self._images[p.name].slot for p in pictures},
            {k: (s.state, s.border) for k, s in samplers.items()},
        )

    def fill(self, buffer: Buffer, data: bytes) -> None:
        whole = np.zeros(buffer.size, np.uint8)
        whole[: len(data)] = np.frombuffer(data, np.uint8)
        self._buffers[buffer.name].write(whole)

    def _paint(self, image: Any, data: bytes) -> None:
        now = image.numpy()
        image.write(np.frombuffer(data, now.dtype).reshape(now.shape))

    def bytes_of(self, buffer: Buffer) -> bytes:
        return self._buffers[buffer.name].numpy().tobytes()

    def pictures(self) -> dict[str, bytes]:
        """Level 0 of each image."""
        return {name: image.numpy().tobytes() for name, image in self._images.items()}

    @property
    def results(self) -> np.ndarray[Any, Any]:
        return np.asarray(self._results.numpy())

    def run(self, grid: Grid, engine: Engine) -> None:
        grid = replace(grid, state=self._tables.pointers)
        engine.run(grid, self.device._host(grid))
