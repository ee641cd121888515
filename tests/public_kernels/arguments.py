"""Arguments that are made up: the same bytes for every engine, level and implementation."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu.runtime.parameters import Passing, element_type

LOCAL_BYTES = 1 << 13  # of a local pointer
_LARGEST = 16  # integers in buffers are below, so that what they index is there
_IMAGE = 32  # texels in each direction


@dataclass(frozen=True, slots=True)
class Way:
    """A way to launch a kernel: sizes, the bytes of each buffer, and the value of integers.

    `types` says what the source's names of types stand for.
    """

    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    types: Mapping[str, str] = field(default_factory=dict)
    nbytes: int = 1 << 16
    number: int = 16


def element(parameter: eumu.Parameter, way: Way) -> tuple[np.dtype[Any], int] | None:
    """The elements of a parameter, and lanes of one; None for structures and other types."""
    name = parameter.type_name.replace("*", " ").split(";")[0].strip()
    for _ in way.types:
        name = way.types.get(name, name)
    return element_type(name)


def contents(kernel: eumu.Kernel, way: Way) -> list[NDArray[Any] | None]:
    """What each parameter gets: an array for a buffer, one element for a value, None for others."""
    return [_content(p, way) for p in kernel.args]


def _content(parameter: eumu.Parameter, way: Way) -> NDArray[Any] | None:
    random = np.random.default_rng(zlib.crc32(f"{parameter.kernel}.{parameter.index}".encode()))
    known = element(parameter, way)
    dtype, lanes = known or (np.dtype(np.uint32), 1)
    match parameter.passing:
        case Passing.BUFFER:
            count = way.nbytes // dtype.itemsize
            if dtype.kind == "f":
                return random.random(count).astype(dtype)
            return random.integers(0, _LARGEST, count).astype(dtype)
        case Passing.VALUE | Passing.ADDRESS:
            if known is None or dtype.itemsize * lanes > parameter.size:
                whole = np.full(-(-parameter.size // 4), way.number, np.uint32).tobytes()
                return np.frombuffer(whole[: parameter.size], np.uint8)
            return np.full(lanes, 0.5 if dtype.kind == "f" else way.number, dtype)
        case _:
            return None


def values(device: eumu.Device, kernel: eumu.Kernel, way: Way) -> list[Any]:
    """The arguments on a device."""
    return list(_values(device, kernel, way))


def _values(device: eumu.Device, kernel: eumu.Kernel, way: Way) -> Iterator[Any]:
    for parameter, content in zip(kernel.args, contents(kernel, way), strict=True):
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
    if known is None:  # of a name that only the source knows, too
        return content.tobytes().ljust(parameter.size, b"\0")
    return content[0].item() if known[1] == 1 else content


def _image(device: eumu.Device, type_name: str) -> eumu.Image:
    directions = 3 if "3d" in type_name else 1 if "1d" in type_name else 2
    shape = (_IMAGE,) * directions
    if "array" in type_name:
        shape = (2, *shape)
    texels = np.random.default_rng(1).random((*shape, 4)).astype(np.float32)
    return device.image(texels, format="RGBA32_FLOAT")
