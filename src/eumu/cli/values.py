"""The values of `--arg NAME=VALUE` and of sizes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import eumu
from eumu.cli.status import UsageError
from eumu.errors import shortened
from eumu.runtime.parameters import Passing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIMENSIONS: Final = 32  # of an array, for every version of NumPy
_ACCESS: Final = {"read-only": "r", "write-only": "w"}
_MAKERS: Final = ("zeros", "ones", "full", "arange", "random")
_ELEMENTS: Final = (
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64"),
)


def whole(option: str, text: str) -> int:
    """An integer, decimal or 0x…."""
    try:
        return int(text, 0)
    except ValueError:
        raise UsageError(f"{option} {shortened(text)} is not an integer") from None


def from_zero(option: str, text: str) -> int:
    """The same, not negative and of at most 64 bits: an offset, an address or a size."""
    value = whole(option, text)
    if not 0 <= value < 1 << 64:
        raise UsageError(f"{option} {shortened(text)} is not from 0 to 2^64-1")
    return value


def size(option: str, text: str) -> tuple[int, ...]:
    """`X[,Y,Z]`."""
    parts = text.split(",")
    if len(parts) > 3:
        raise UsageError(f"{option} {shortened(text)} has more than three dimensions")
    return tuple(whole(option, part) for part in parts)


def pairs(option: str, texts: list[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as a dictionary."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {shortened(text)} is not of the form NAME=VALUE")
        if name in values:
            raise UsageError(f"{option} {name} is given twice")
        values[name] = value
    return values


def arguments(
    device: eumu.Device, kernel: eumu.Kernel, texts: list[str], *, needs_all: bool = True
) -> dict[str, Any]:
    """The kernel's arguments by name.

    UsageError says what to give for those that are missing, if all are needed.
    """
    by_name = pairs("--arg", texts)
    values: dict[str, Any] = {}
    for parameter in kernel.args:
        keys = [k for k in (parameter.name, str(parameter.index)) if k in by_name]
        if len(keys) > 1:
            raise UsageError(f"argument {parameter.name} is given by name and by number")
        if keys:
            values[parameter.name] = argument(device, parameter, by_name.pop(keys[0]))
    missing = [p for p in kernel.args if p.name not in values and needs_all]
    if by_name or missing:
        lines = [f"kernel {kernel.name} has no argument {name!r}" for name in by_name]
        lines += [f"argument missing: --arg {p.name}={_example(p)}  ({p})" for p in missing]
        raise UsageError("\n  ".join(lines))
    return values


# NumPy's names of the elements of OpenCL C.
_ELEMENT_OF: Final = {
    **{"char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16"},
    **{"uchar": "uint8", "ushort": "uint16", "uint": "uint32", "ulong": "uint64"},
    "double": "float64",
}


def _example(parameter: eumu.Parameter) -> str:
    """A value that would do."""
    match parameter.passing:
        case Passing.LOCAL:
            return "local:BYTES"
        case Passing.BUFFER | Passing.ADDRESS:
            element = parameter.type_name.rstrip("*")
            return f"zeros:{_ELEMENT_OF.get(element, 'float32')}:1024"
        case Passing.IMAGE:
            return "@photo.png or image:RGBA8_UNORM:640x480"
        case Passing.SAMPLER:
            return "sampler:linear:clamp_to_edge"
    return "NUMBER"


def argument(device: eumu.Device, parameter: eumu.Parameter, text: str) -> Any:
    """The value that a text stands for, for this parameter."""
    option = f"--arg {parameter.name}={text}"
    is_picture = parameter.type_name == "surface" and text.startswith("image:")
    if parameter.passing is Passing.IMAGE or is_picture:
        from eumu.cli import images

        return images.image(device, parameter, text)
    if parameter.passing is Passing.SAMPLER:
        from eumu.cli import images

        return images.sampler(device, parameter, text)
    access, text = _access(text)
    if text == "null":
        return None
    if text.startswith("local:"):
        return eumu.Local(from_zero(option, text[6:]))
    if text.startswith("@") or text.partition(":")[0] in _MAKERS:
        most = device.memory.size
        made = _read(text[1:]) if text.startswith("@") else _make(option, text, most)
        if parameter.passing is Passing.VALUE:
            return made.tobytes()
        return device.array(made, name=parameter.name, access=access)
    numbers = [_number(option, part) for part in text.split(",")]
    return numbers if len(numbers) > 1 else numbers[0]


def _access(text: str) -> tuple[str, str]:
    """What kernels may do to an array, and the rest of the value."""
    word, _, rest = text.partition(":")
    return (_ACCESS[word], rest) if word in _ACCESS and rest else ("rw", text)


def _read(path: str) -> NDArray[Any]:
    from eumu.cli.images import read_npy

    return read_npy(path)


def _make(option: str, text: str, most: int) -> NDArray[Any]:
    """An array of at most `most` bytes."""
    maker, *parts = text.split(":")
    wanted = {"full": 3, "random": 3}.get(maker, 2)
    if maker == "random" and len(parts) == 2:
        parts.append("0")
    if len(parts) != wanted:
        more = {"full": ":VALUE", "random": "[:SEED]"}.get(maker, "")
        raise UsageError(f"{option}: the form is {maker}:TYPE:SHAPE{more}, as in float32:1024")
    if parts[0] not in _ELEMENTS:
        raise UsageError(f"{option}: unknown type {parts[0]!r}; known are {', '.join(_ELEMENTS)}")
    dtype = np.dtype(parts[0])
    shape = tuple(whole(option, n) for n in parts[1].split("x"))
    if any(n < 0 for n in shape) or len(shape) > _DIMENSIONS:
        raise UsageError(f"{option}: a shape is up to {_DIMENSIONS} sizes, none of them negative")
    if max(1, prod(shape)) * dtype.itemsize > most or max(shape) > most:
        raise UsageError(
            f"{option}: the device has {most} bytes of memory; --memory MIB sets its size"
        )
    match maker:
        case "arange":
            with np.errstate(over="ignore"):  # infinite, as the device would have it
                return np.arange(prod(shape)).astype(dtype).reshape(shape)
        case "random":
            return _random(dtype, shape, whole(option, parts[2]))
        case "full":
            return _full(option, dtype, shape, parts[2])
    return np.ones(shape, dtype) if maker == "ones" else np.zeros(shape, dtype)


def _full(option: str, dtype: np.dtype[Any], shape: tuple[int, ...], text: str) -> NDArray[Any]:
    """An array of a value that its type has."""
    value = _number(option, text)
    wrong = UsageError(f"{shortened(option)}: {shortened(text)} is no value of {dtype}")
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if not (bounds.min <= value <= bounds.max and value == int(value)):
            raise wrong
        return np.full(shape, int(value), dtype)
    try:
        with np.errstate(over="raise"):
            return np.full(shape, value, dtype)
    except (OverflowError, FloatingPointError):
        raise wrong from None


def _random(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> NDArray[Any]:
    generator = np.random.default_rng(abs(seed) & (1 << 128) - 1)
    if dtype.kind == "f":
        return generator.random(shape, np.float64).astype(dtype)
    return generator.integers(0, 100, shape).astype(dtype)


def _number(option: str, text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"{option}: {shortened(text)} is no number, @file.npy, local:BYTES, null or one of"
            f" {', '.join(f'{m}:…' for m in _MAKERS)}"
        ) from None
