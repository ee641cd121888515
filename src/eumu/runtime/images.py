"""Images in device memory, and the states that describe them to the sampler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eumu.device.state.codes import SurfaceFormat
from eumu.device.state.surface import AuxiliaryMode, SurfaceState
from eumu.device.surfaces import texels
from eumu.device.surfaces.formats import Encoding, TexelFormat, texel_format
from eumu.device.surfaces.surface import Surface
from eumu.device.surfaces.texture import Texture
from eumu.errors import ArgumentError
from eumu.runtime.array import Array
from eumu.runtime.board import Board
from eumu.runtime.image_layout import KINDS, SPATIAL, Layout, state_of, surface_format
from eumu.runtime.image_needs import Pictured

_COUNTER_ALIGN: Final = 4096


class Image(Pictured):
    """An image in device memory, and the state that describes it; made by :meth:`Device.image`.

    The bytes of `state` are in device memory at `slot.address`.  `counter` is the append counter,
    one `uint32`, or None.  If `memory` is given, the texels are there and the image does not free
    them.
    """

    def __init__(
        self,
        device: Board,
        state: SurfaceState,
        kind: str,
        *,
        is_array: bool,
        name: str,
        is_named: bool,
        counter: Array | int | None = None,
        memory: Array | None = None,
        access: str = "rw",
    ) -> None:
        self.device, self.kind, self.is_array = device, kind, is_array
        # The address of the memory is known when its size is, which needs the state.
        size = Surface.of(state).size
        if memory is None:
            memory = Array.allocate(
                device, (size,), np.dtype(np.uint8), name, is_named=is_named, access=access
            )
        elif memory.nbytes < size:
            raise ArgumentError(f"{name} has {size} bytes; {memory.name} has {memory.nbytes}")
        self._memory = memory
        self.counter = None if counter is None else _counter(device, counter, name)
        self.state = _counting(replace(state, surface_base_address=memory.address), self.counter)
        self.slot = device.heaps.surfaces.take(SurfaceState.size())
        self.slot.write(self.state.encode())

    # ---- what it is

    @property
    def surface(self) -> Surface:
        return Surface.of(self.state)

    @property
    def format(self) -> TexelFormat:
        """The format of the texels."""
        return texel_format(self.state.surface_format)

    @property
    def name(self) -> str:
        """The name of the image in messages."""
        return self._memory.name

    @property
    def address(self) -> int:
        """The device address of the first byte."""
        return self._memory.address

    @property
    def nbytes(self) -> int:
        """Bytes in device memory, including padding and all levels."""
        return self._memory.nbytes

    @property
    def levels(self) -> int:
        """The number of mip levels."""
        return self.surface.levels

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements of `numpy()`."""
        return Layout.of(self.format).dtype

    def shape(self, level: int = 0) -> tuple[int, ...]:
        """The shape of a level: those of layers, depth, rows, columns, channels that it has."""
        return (*self._texels(level), *self._tail())

    def _tail(self) -> tuple[int, ...]:
        items = Layout.of(self.format).items
        return (items,) if items > 1 else ()

    def _texels(self, level: int) -> tuple[int, ...]:
        """Slices, rows and columns of blocks of texels."""
        surface = self.surface
        if not 0 <= level < surface.levels:
            raise ArgumentError(f"{self.name} has {surface.levels} levels; {level} is none of them")
        v, (bw, bh) = surface.level(level), self.format.block
        columns, rows = -(-v.width // bw), -(-v.height // bh)
        if self.format.encoding is Encoding.PLANAR:
            rows += -(-rows // 2)
        spatial = {1: (columns,), 2: (rows, columns), 3: (v.depth, rows, columns)}
        front = (surface.layers,) if self.is_array or self.kind == "cube" else ()
        if surface.samples > 1:
            front = (*front, surface.samples)
        return (*front, *spatial[SPATIAL[self.kind]])

    def __repr__(self) -> str:
        return f"<Image {self.name} {self.kind} {self.format.name} shape={self.shape()}>"

    # ---- contents

    def numpy(self, level: int = 0) -> NDArray[Any]:
        """A NumPy copy of a level, with the elements as stored."""
        data = self._texture().gather(self._addresses(level), self.format.bytes)
        return data.view(self.dtype).reshape(self.shape(level))

    def texels(self, level: int = 0) -> NDArray[Any]:
        """A level as the sampler reads it: float32 or 32-bit integers, four channels a texel."""
        surface, shape = self.surface, self._texels(level)
        v = surface.level(level)
        if self.format.encoding is Encoding.PLANAR:
            y, x = (a.reshape(-1) for a in np.mgrid[0 : v.height, 0 : v.width])
            zero = np.zeros_like(x)
            return self._texture().read(zero, x, y, zero).reshape(v.height, v.width, 4)
        place: NDArray[Any] = np.arange(prod(shape))
        data = self._texture().gather(self._addresses(level), self.format.bytes)
        if self.format.block == (1, 1):
            return texels.decode(self.format, data).reshape(*shape, 4)
        bw, bh = self.format.block
        y, x = np.divmod(np.arange(v.height * v.width), v.width)
        place = y // bh * -(-v.width // bw) + x // bw
        blocks = data.reshape(-1, *shape[-2:], self.format.bytes)
        slices = [s.reshape(-1, self.format.bytes)[place] for s in blocks]
        decoded = [texels.decode(self.format, s, y % bh * bw + x % bw) for s in slices]
        return np.stack(decoded).reshape(*shape[:-2], v.height, v.width, 4)

    def write(self, data: ArrayLike, level: int = 0) -> None:
        """Replace a level, by elements as stored or by floats, which the format converts."""
        values = np.asarray(data)
        self._texture().scatter(self._addresses(level), self._stored(values, level))

    def _stored(self, values: NDArray[Any], level: int) -> NDArray[np.uint8]:
        """The bytes [N, format.bytes] of an array."""
        shape, format = self.shape(level), self.format
        if values.dtype == self.dtype and values.shape == shape:
            return np.ascontiguousarray(values).view(np.uint8).reshape(-1, format.bytes)
        texel_shape = self._texels(level)
        channels = values.shape[len(texel_shape) :] or (1,)
        if (
            values.dtype.kind == "f"
            and not format.is_integer
            and format.encoding is Encoding.PLAIN
            and values.shape[: len(texel_shape)] == texel_shape
            and len(channels) == 1
            and channels[0] in (1, 2, 3, 4)
        ):
            wide = texels.missing(format, prod(texel_shape))
            wide[:, : channels[0]] = values.reshape(-1, channels[0]).astype(np.float32)
            return texels.encode(format, wide)
        raise ArgumentError(
            f"{self.name} is {format.name}: a level holds {self.dtype} of shape {shape}, or floats"
            f" of shape {(*texel_shape, 4)}; the data is {values.dtype} of shape {values.shape}"
        )

    def _texture(self) -> Texture:
        return Texture(self.surface, self.device.memory)

    def _addresses(self, level: int) -> NDArray[np.uint64]:
        """The address of every block of a level, in C order."""
        surface = self.surface
        shape = self._texels(level)
        index = np.indices(shape, np.int64).reshape(len(shape), -1)
        bw, bh = self.format.block
        spatial = SPATIAL[self.kind]
        x = index[-1] * bw
        y = index[-2] * bh if spatial > 1 else np.zeros_like(x)
        slice = index[-3] if spatial == 3 else np.zeros_like(x)
        for k in range(len(shape) - spatial):
            slice = slice * shape[k] + index[k]
        if surface.samples > 1 and not self.is_array:
            slice = index[0]
        return surface.addresses(np.full_like(x, level), x, y, slice)[0]

    # ---- life

    @property
    def is_freed(self) -> bool:
        """Whether the memory has been freed."""
        return self._memory.is_freed

    def label(self, parameter: str) -> None:
        """Call an image that the user did not name by the parameter it is passed for."""
        self._memory.label(parameter)

    def free(self) -> None:
        """Free the memory now; using the image later is an error."""
        self._memory.free()


def _counter(device: Board, counter: Array | int, name: str) -> Array:
    """The memory of an append counter: an array, or a new one with a number.

    A state has no place for the low twelve bits of its address.
    """
    if not isinstance(counter, Array):
        if not 0 <= counter < 1 << 32:
            raise ArgumentError(f"counter={counter}: an append counter has 32 bits, unsigned")
        made = Array.allocate(
            device, (1,), np.dtype(np.uint32), f"the counter of {name}", align=_COUNTER_ALIGN
        )
        made.fill(counter)
        return made
    if counter.device is not device or counter.address % _COUNTER_ALIGN:
        raise ArgumentError(
            f"{counter.name} at {counter.address:#x} is no append counter: one lies on the image's"
            f" device at a multiple of {_COUNTER_ALIGN}, as image.counter does"
        )
    return counter


def _counting(state: SurfaceState, counter: Array | None) -> SurfaceState:
    """The state of a surface with this counter."""
    if counter is None:
        return state
    return replace(
        state,
        auxiliary_surface_mode=AuxiliaryMode.AUX_APPEND,
        auxiliary_surface_base_address=counter.address,
    )


def make_image(
    device: Board,
    data: ArrayLike | tuple[int, ...],
    format: str | SurfaceFormat,
    *,
    kind: str | None = None,
    layers: int | None = None,
    levels: int | Sequence[ArrayLike] = 1,
    tiling: str = "linear",
    samples: int = 1,
    swizzle: str = "RGBA",
    name: str = "",
    is_named: bool = True,
    counter: Array | int | None = None,
    access: str = "rw",
    make: Callable[..., Image] = Image,
) -> Image:
    """:meth:`Device.image`."""
    code = surface_format(format) if isinstance(format, str) else format
    texel = texel_format(code)
    layout = Layout.of(texel)
    values: NDArray[Any] | None = None
    if isinstance(data, tuple) and all(isinstance(n, int) for n in data):
        shape = tuple(int(n) for n in data)
    else:
        values = np.asarray(data)
        shape = values.shape
    floats = values is not None and values.dtype != layout.dtype
    if layout.items > 1 or floats:
        wide = (layout.items,) if not floats or layout.items > 1 else (1, 2, 3, 4)
        if not shape or shape[-1] not in (*wide, 4):
            raise ArgumentError(
                f"an image of {texel.name} needs a last axis of {layout.items} channels;"
                f" the shape is {shape}"
            )
        shape = shape[:-1]
    front = (1 if layers is not None else 0) + (samples > 1)
    spatial = len(shape) - front
    image_kind = kind or {1: "1d", 2: "2d", 3: "3d"}.get(spatial, "")
    if image_kind == "cube" and kind == "cube" and layers is None:
        spatial -= 1
    if image_kind not in KINDS or SPATIAL[image_kind] != spatial:
        raise ArgumentError(
            f"an image has 1 to 3 dimensions besides layers and channels; kind={kind!r} and"
            f" layers={layers!r} do not go with {spatial} of them"
        )
    depths = [values] if isinstance(levels, int) else [values, *levels]
    count = levels if isinstance(levels, int) else 1 + len(levels)
    state = state_of(texel, image_kind, shape, layers, count, tiling, samples, swizzle)
    is_array = layers is not None
    more = {"is_array": is_array, "name": name, "is_named": is_named, "counter": counter}
    image = make(device, state, image_kind, access=access, **more)
    for level, part in enumerate(depths):
        if part is not None:
            image.write(part, level)
    return image
