"""Arguments that are made up: the same bytes for every engine, level and implementation."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu.runtime.parameters import Passing, element_type

BYTES = 1 << 16  # of a buffer
LOCAL_BYTES = 4096  # of a local pointer
LARGEST = 16  # integers are below, so that what they index is there
_IMAGE = 32  # texels in each direction


def contents(kernel: eumu.Kernel) -> list[NDArray[Any] | None]:
    """What each parameter gets: an array for a buffer, one element for a value, None for others."""
    return [_content(p) for p in kernel.args]


def _content(parameter: eumu.Parameter) -> NDArray[Any] | None:
    random = np.random.default_rng(zlib.crc32(f"{parameter.kernel}.{parameter.index}".encode()))
    known = element_type(parameter.type_name.replace("*", " ").split(";")[0].strip())
    dtype, lanes = known or (np.dtype(np.uint32), 1)
    match parameter.passing:
        case Passing.BUFFER:
            count = BYTES // dtype.itemsize
            if dtype.kind == "f":
                return random.random(count).astype(dtype)
            return random.integers(0, LARGEST, count).astype(dtype)
        case Passing.VALUE | Passing.ADDRESS:
            if known is None:
                whole = np.full(-(-parameter.size // 4), LARGEST, np.uint32).tobytes()
                return np.frombuffer(whole[: parameter.size], np.uint8)
            return np.full(lanes, 0.5 if dtype.kind == "f" else LARGEST, dtype)
        case _:
            return None


def values(device: eumu.Device, kernel: eumu.Kernel) -> list[Any]:
    """The arguments on a device."""
    return list(_values(device, kernel))


def _values(device: eumu.Device, kernel: eumu.Kernel) -> Iterator[Any]:
    for parameter, content in zip(kernel.args, contents(kernel), strict=True):
        match parameter.passing:
            case Passing.BUFFER:
                assert content is not None
                yield device.array(content)
            case Passing.VALUE | Passing.ADDRESS:
                assert content is not None
                yield value(parameter, content)
            case Passing.LOCAL:
                yield eumu.Local(LOCAL_BYTES)
            case Passing.SAMPLER:
                yield device.sampler()
            case Passing.IMAGE:
                yield _image(device, parameter.type_name)


def value(parameter: eumu.Parameter, content: NDArray[Any]) -> Any:
    """The Python value of a parameter that is no pointer."""
    known = element_type(parameter.type_name)
    if known is None:
        return content.tobytes()
    return content[0].item() if known[1] == 1 else content


def _image(device: eumu.Device, type_name: str) -> eumu.Image:
    directions = 3 if "3d" in type_name else 1 if "1d" in type_name else 2
    shape = (_IMAGE,) * directions
    if "array" in type_name:
        shape = (2, *shape)
    texels = np.random.default_rng(1).random((*shape, 4)).astype(np.float32)
    return device.image(texels, format="RGBA32_FLOAT")
