"""Memory of run files with images: that of a device, with states of surfaces and samplers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import eumu
from eumu.exec.grid import Grid
from eumu.exec.host import Engine
from eumu.runtime.tables import Tables
from visa_thread import Buffer


@dataclass(frozen=True)
class Picture:
    """An image of a run file: surface `index`, and the arguments of `Device.image`.

    With `media`, it is one for the media sampler.
    """

    name: str
    index: int
    shape: tuple[int, ...]
    arguments: dict[str, Any] = field(default_factory=dict)

    def made(self, device: eumu.Device) -> Any:
        given = dict(self.arguments)
        if given.pop("media", 0):
            return device.media_image(np.zeros(self.shape, np.uint8), **given)
        return device.image(self.shape, **given)


@dataclass(frozen=True)
class Filter:
    """A sampler of a run file: its index, and the arguments of `Device.sampler`.

    One for the media sampler has a kernel: rows of numbers, `;` between rows.
    """

    index: int
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def is_media(self) -> bool:
        return not {"convolve", "line", "places", "phases"}.isdisjoint(self.arguments)

    def made(self, device: eumu.Device) -> Any:
        if not self.is_media:
            return device.sampler(**self.arguments)
        given = {k: _numbers(v) if isinstance(v, str) else v for k, v in self.arguments.items()}
        if "phases" in given:
            given["phases"] = np.tile(given["phases"], (32, 1))
        return device.media_sampler(**given)


def _numbers(text: str) -> Any:
    rows = [[float(word) for word in row.split(",")] for row in text.split(";")]
    return rows if len(rows) > 1 else rows[0]


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
        samplers = {f.index: f.made(self.device) for f in filters if not f.is_media}
        media = {f.index: f.made(self.device) for f in filters if f.is_media}
        self._tables = Tables(
            self.device.heaps,
            {p.index: self._images[p.name].slot for p in pictures},
            {k: (s.state, s.border) for k, s in samplers.items()},
            media=media,
        )
        assert all(self._tables.sampler_numbers[k] == k for k in media), "indices of another order"

    def start(self, data: np.ndarray[Any, Any]) -> None:
        """Set the memory from `base` on."""
        self._results.write(data)

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
