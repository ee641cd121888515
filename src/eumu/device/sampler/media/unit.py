"""sample_8x8: header, payload and states in; registers, or a block of another surface, out.

Source of what lies where in the response: C for Metal Language Specification, "Adaptive Video
Scaling" and "Video Analytics Functions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.sampler.header import Header, OutputControl, OutputFormat
from eumu.device.sampler.media import kernels
from eumu.device.sampler.media.payload import MediaPayload, MinMax, Sample8x8Function, Sequence
from eumu.device.sampler.media.scaler import scale
from eumu.device.state.fields import StateError
from eumu.device.state.media import Convolve, MediaFormat, MorphologyState
from eumu.device.state.scaler import Avs
from eumu.device.surfaces.media import BLUE, CHROMA, GREEN, RED, MediaTexture
from eumu.device.surfaces.numbers import BYTES_OF_PAIR
from eumu.errors import Unsupported
from eumu.messages import UNDESCRIBED
from eumu.records import dataclass

Kernel = Avs | Convolve | MorphologyState
Ints = NDArray[np.int64]
Octets = NDArray[np.uint8]

_AT_ONCE: Final = 64  # threads, so that windows of pixels stay small
_OFFSETS: Final = 16  # pairs of 1-pixel convolution


@dataclass(frozen=True, slots=True)
class MediaRequest:
    """Threads that ask for the same function with the same states; `offsets` [threads, 16, 2]."""

    header: Header
    payload: MediaPayload
    texture: MediaTexture
    state: Kernel | None
    offsets: Ints | None
    is_direct: bool  # the response goes to another surface

    def some(self, first: int) -> MediaRequest:
        """A few of the threads, from `first` on."""
        rows = slice(first, first + _AT_ONCE)
        payload = self.payload
        part = MediaPayload(payload.words[rows], payload.function, payload.sequence, payload.mode)
        offsets = None if self.offsets is None else self.offsets[rows]
        return MediaRequest(self.header, part, self.texture, self.state, offsets, self.is_direct)


def execute(request: MediaRequest) -> Octets:
    """The response [threads, bytes], or with `is_direct` the rows [threads, rows, bytes]."""
    answer = _ANSWERS.get(request.payload.function)
    if answer is None:
        raise Unsupported(f"sample_8x8 {_name(request)}: {UNDESCRIBED[request.payload.function]}")
    _check_masks(request)
    starts = range(0, len(request.payload.words), _AT_ONCE)
    return np.concatenate([answer(request.some(k)) for k in starts])


def needs(function: Sample8x8Function, *, is_large: bool) -> tuple[type[Kernel], int, int] | None:
    """The kind of state of a function, the bytes that its index counts in, and those it reads."""
    match function:
        case Sample8x8Function.AVS:
            return Avs, 2048, Avs.size()
        case Sample8x8Function.CONVOLVE if is_large:
            return Convolve, 2048, Convolve.size()
        case Sample8x8Function.CONVOLVE | Sample8x8Function.CONVOLVE_1PIXEL:
            return Convolve, 512, 1024
        case Sample8x8Function.CONVOLVE_1D_HORIZONTAL | Sample8x8Function.CONVOLVE_1D_VERTICAL:
            return Convolve, 128, 128
        case Sample8x8Function.ERODE | Sample8x8Function.DILATE | Sample8x8Function.MINMAX_FILTER:
            return MorphologyState, 32, MorphologyState.size()
    return None


def _name(request: MediaRequest) -> str:
    return request.payload.function.name


def _check_masks(request: MediaRequest) -> None:
    """Video analytics have one channel, green."""
    if request.payload.function is not Sample8x8Function.AVS and request.header.channels != (
        GREEN,
    ):
        raise request.header.error(
            "green_write_channel_mask", "must be 0 and the others 1 for video analytics"
        )


def _bad_sequence(request: MediaRequest) -> Unsupported:
    return Unsupported(
        f"sample_8x8 {_name(request)} with Message Sequence {request.payload.sequence.name}"
    )


# ---- convolution

_SIXTEEN: Final = {Sequence.BLOCK_16X4: (4, 16), Sequence.BLOCK_16X8_OR_16X1: (1, 16)}


def _pixels_of(request: MediaRequest, *formats: MediaFormat) -> MediaTexture:
    surface = request.texture.surface
    if surface.code not in formats:
        names = " or ".join(f.name for f in formats)
        raise surface.state.error(
            "surface_format", f"is {surface.code.name}; {_name(request)} needs {names}"
        )
    return request.texture


_NUMBERS: Final = (MediaFormat.Y8_UNORM_VA, MediaFormat.Y16_SNORM, MediaFormat.Y16_UNORM_VA)


def _block(request: MediaRequest, shape: tuple[int, int]) -> kernels.PixelBlock:
    texture = _pixels_of(request, *_NUMBERS)
    x, y = request.payload.corner(texture.surface.width, texture.surface.height)
    return kernels.PixelBlock(texture, x, y, *shape)


def _kernel(request: MediaRequest) -> Convolve:
    assert isinstance(request.state, Convolve)
    return request.state


def _convolve(request: MediaRequest) -> Octets:
    shape = _SIXTEEN.get(request.payload.sequence)
    if shape is None:
        raise _bad_sequence(request)
    is_large = bool(request.payload.mode & 1)
    sums = kernels.convolve(_block(request, shape), _kernel(request), is_large=is_large)
    return _numbers(request, sums)


def _convolve_line(request: MediaRequest) -> Octets:
    shape = _SIXTEEN.get(request.payload.sequence)
    if shape is None:
        raise _bad_sequence(request)
    is_vertical = request.payload.function is Sample8x8Function.CONVOLVE_1D_VERTICAL
    if request.is_direct and not is_vertical:
        shape = 16, 4  # to another surface, a horizontal one goes four pixels wide
    block = _block(request, shape)
    return _numbers(
        request, kernels.convolve_line(block, _kernel(request), is_vertical=is_vertical)
    )


def _convolve_pixels(request: MediaRequest) -> Octets:
    """Sixteen pixels at offsets from (u, v), or the one that is there."""
    texture = _pixels_of(request, *_NUMBERS)
    x, y = request.payload.corner(texture.surface.width, texture.surface.height)
    sequence = request.payload.sequence
    if request.is_direct or sequence is Sequence.BLOCK_16X8_OR_16X1:
        if request.offsets is None:
            raise StateError("the message has no registers with offsets", "Message Length")
        columns, rows = request.offsets[:, None, :, 0], request.offsets[:, None, :, 1]
        block = kernels.PixelBlock(
            texture, x[:, None, None] + columns, y[:, None, None] + rows, 1, 16
        )
    elif sequence is Sequence.BLOCK_4X4_OR_1X1:
        block = kernels.PixelBlock(texture, x, y, 1, 1)
    else:
        raise _bad_sequence(request)
    return _numbers(request, kernels.convolve(block, _kernel(request), is_large=False))


def _numbers(request: MediaRequest, pixels: Ints) -> Octets:
    """Numbers of sixteen bits, pixel after pixel; in another surface as its format has them."""
    if not request.is_direct:
        return _octets(pixels.astype("<i2"))
    if request.header.output_format is OutputFormat.Y8_UNORM:
        return np.clip(pixels, 0, 255).astype(np.uint8)
    if request.header.output_format is OutputFormat.Y16_SNORM:
        clamped = np.clip(pixels, -(1 << 15), (1 << 15) - 1)
        wide: Octets = np.ascontiguousarray(clamped.astype("<i2")).view(np.uint8)
        return wide
    raise request.header.error(
        "output_format",
        f"is {request.header.output_format.name}; {_name(request)} writes Y8_UNORM or Y16_SNORM",
    )


def _octets(pixels: NDArray[Any]) -> Octets:
    octets: Octets = np.ascontiguousarray(pixels).view(np.uint8).reshape(len(pixels), -1)
    return octets


# ---- morphology and extremes

_BITS: Final = {
    Sequence.BLOCK_16X4: (4, 64),
    Sequence.BLOCK_8X4: (4, 32),
    Sequence.BLOCK_16X8_OR_16X1: (1, 64),
    Sequence.BLOCK_4X4_OR_1X1: (1, 32),
}


def _morphology(request: MediaRequest) -> Octets:
    """A bit for each pixel, the first the lowest; rows of 32 pixels leave a dword free."""
    texture = _pixels_of(request, MediaFormat.Y1_UNORM)
    assert isinstance(request.state, MorphologyState)
    x, y = request.payload.corner(texture.surface.width, texture.surface.height)
    shape = (4, 64) if request.is_direct else _BITS[request.payload.sequence]
    dilate = request.payload.function is Sample8x8Function.DILATE
    result = kernels.morphology(
        kernels.PixelBlock(texture, x, y, *shape), request.state, dilate=dilate
    )
    packed: Octets = np.packbits(result, axis=2, bitorder="little")
    if request.is_direct:
        return packed
    if shape == (4, 32):
        packed = np.concatenate([packed, np.zeros_like(packed)], 2)
    return packed.reshape(len(packed), -1)


_FILTERED: Final = {**_SIXTEEN, Sequence.BLOCK_4X4_OR_1X1: (1, 1)}


def _extremes(request: MediaRequest) -> Octets:
    shape = _FILTERED.get(request.payload.sequence)
    if shape is None:
        raise _bad_sequence(request)
    assert isinstance(request.state, MorphologyState)
    wanted = MinMax(request.payload.mode) if request.payload.mode < 3 else None
    if wanted is None or (request.is_direct and wanted is MinMax.BOTH):
        raise StateError(
            f"{_name(request)} has the mode {request.payload.mode}", "MinMax Functionality"
        )
    is_octet = request.texture.surface.code is MediaFormat.Y8_UNORM_VA
    if not request.is_direct and shape == (1, 1) and is_octet:
        shape = 1, 2  # the smallest response has two pixels of eight bits
    least, greatest = kernels.extremes(_block(request, shape), request.state)
    if request.is_direct:
        return _numbers(request, greatest if wanted is MinMax.MAXIMUM else least)
    control = OutputControl.FULL_8 if is_octet else OutputControl.FULL_16
    if request.header.output_format_control is not control:
        raise request.header.error(
            "output_format_control",
            f"is {request.header.output_format_control.name};"
            f" {request.texture.surface.code.name} pixels go out as {control.name}",
        )
    if wanted is MinMax.MAXIMUM:
        least = np.zeros_like(least)
    if wanted is MinMax.MINIMUM:
        greatest = np.zeros_like(greatest)
    return _interleaved(least, greatest, is_octet=is_octet)


def _interleaved(least: Ints, greatest: Ints, *, is_octet: bool) -> Octets:
    """Minimum and maximum of each pixel; of octets, those of two pixels after each other."""
    if not is_octet:
        pairs = np.stack([least, greatest], -1) & 0xFFFF
        return _octets(pairs.astype("<u2"))
    both = np.stack([least, greatest], 2)  # threads, rows, which, columns
    threads, rows, _, columns = both.shape
    pairs = both.reshape(threads, rows, 2, columns // 2, 2).swapaxes(2, 3)
    return _octets(pairs.astype(np.uint8))


# ---- the scaler


def _scaled(request: MediaRequest) -> Octets:
    """The written channels behind each other; a tall block is two."""
    assert isinstance(request.state, Avs)
    channels = scale(request.texture, request.state, request.payload)
    if request.is_direct:
        codes = [np.rint(c * 255).astype(np.uint8) for c in channels]
        return _picture(request.header, codes[RED], codes[GREEN], codes[BLUE])
    control = request.header.output_format_control
    wide = control in (OutputControl.FULL_16, OutputControl.CHROMA_DOWNSAMPLED_16)
    codes = [
        np.rint(c * (65535 if wide else 255)).astype("<u2" if wide else "u1") for c in channels
    ]
    halves: tuple[tuple[slice, slice], ...] = ((slice(None), slice(None)),)
    shuffled = request.state.head.shuffle_output_writeback
    if request.payload.sequence is Sequence.BLOCK_16X8_OR_16X1:
        halves = (slice(0, 4), slice(None)), (slice(4, 8), slice(None))
    elif request.payload.sequence is Sequence.BLOCK_16X4 and shuffled:
        halves = (slice(None), slice(0, 8)), (slice(None), slice(8, 16))
    parts = []
    for rows, columns in halves:
        for k in _written(request.header, shuffled=shuffled):
            part = codes[k][:, rows, columns] * (k in request.header.channels)
            if k in CHROMA and control & 1:
                part = part[:, :, ::2]
            parts.append(_octets(part))
    return np.concatenate(parts, 1)


def _picture(header: Header, cr: Octets, luma: Octets, cb: Octets) -> Octets:
    """Rows in the format of another surface; planes of a picture behind each other.

    Decided: a pair of pixels has the chrominance of its even one, and so have two rows.
    """
    wanted = header.output_format
    is_luma, is_planar = wanted is OutputFormat.Y8_UNORM, wanted is OutputFormat.PLANAR_420_8
    place = BYTES_OF_PAIR.get(wanted.name)
    if place is None and not is_luma and not is_planar:
        raise header.error("output_format", f"is {wanted.name}; AVS writes octets")
    if not {GREEN} | (set() if is_luma else {RED, BLUE}) <= set(header.channels):
        raise header.error(
            "green_write_channel_mask", f"or another leaves out a channel of {wanted.name}"
        )
    if is_luma:
        return luma
    cb, cr = cb[:, :, ::2], cr[:, :, ::2]
    if place is None:
        pairs = np.stack([cb, cr], -1).reshape(luma.shape)
        return np.concatenate([luma, pairs[:, ::2]], 1)
    packed = np.empty((*cb.shape, 4), np.uint8)
    for k, part in zip(place, (luma[:, :, ::2], luma[:, :, 1::2], cb, cr), strict=True):
        packed[..., k] = part
    picture: Octets = packed.reshape(*luma.shape[:2], -1)
    return picture


def _written(header: Header, *, shuffled: bool) -> list[int]:
    """The channels that have a place.

    Where one of red and blue is written, downsampled to octets, the other one has its place too.
    """
    channels = list(header.channels)
    both = {RED, BLUE} & set(channels)
    if (
        shuffled
        and header.output_format_control is OutputControl.CHROMA_DOWNSAMPLED_8
        and len(both) == 1
    ):
        return sorted({*channels, RED, BLUE})
    return channels


_ANSWERS: Final[dict[Sample8x8Function, Callable[[MediaRequest], Octets]]] = {
    Sample8x8Function.AVS: _scaled,
    Sample8x8Function.CONVOLVE: _convolve,
    Sample8x8Function.CONVOLVE_1D_VERTICAL: _convolve_line,
    Sample8x8Function.CONVOLVE_1D_HORIZONTAL: _convolve_line,
    Sample8x8Function.CONVOLVE_1PIXEL: _convolve_pixels,
    Sample8x8Function.MINMAX_FILTER: _extremes,
    Sample8x8Function.ERODE: _morphology,
    Sample8x8Function.DILATE: _morphology,
}
