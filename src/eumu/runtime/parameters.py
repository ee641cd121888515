"""What a kernel's parameters are, and how Python values become their bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from struct import Struct
from typing import Any, Final

import numpy as np

from eumu.errors import ArgumentError
from eumu.records import dataclass


class Passing(Enum):
    """How an argument reaches the kernel."""

    VALUE = "value"
    BUFFER = "buffer"  # a pointer to global or constant memory
    ADDRESS = "address"  # eight bytes that may be the address of an array, or any number
    LOCAL = "local"  # a pointer to memory of the thread group
    IMAGE = "image"
    SAMPLER = "sampler"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel; `size` is in bytes, `type_name` is the source's."""

    kernel: str
    index: int
    name: str
    type_name: str
    size: int
    passing: Passing
    is_const: bool = False  # a pointer to what the kernel says it does not write

    def __str__(self) -> str:
        how = {Passing.BUFFER: "global ", Passing.LOCAL: "local ", Passing.ADDRESS: "address or "}
        return f"{how.get(self.passing, '')}{self.type_name} {self.name}"

    def error(self, text: str) -> ArgumentError:
        """An exception that says which argument of which kernel, what it is, and what is wrong."""
        return ArgumentError(
            f"kernel {self.kernel}: argument {self.index} '{self.name}' is {self.type_name}: {text}"
        )

    def encode(self, value: Any) -> bytes:
        """The `size` bytes of a value for this by-value parameter.

        Numbers are converted to the declared type, which must be able to hold them.  Vectors are
        sequences of the declared length.  Bytes of the exact size are taken as they are.
        """
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._exact(bytes(value), "bytes")
        if isinstance(value, np.void):
            return self._exact(value.tobytes(), f"a record of type {value.dtype}")
        element = element_type(self.type_name)
        if element is None:
            return self._record(value)
        dtype, lanes = element
        if lanes == 1:
            return self._number(dtype, value).ljust(self.size, b"\0")
        return self._vector(dtype, lanes, value).ljust(self.size, b"\0")

    def _exact(self, data: bytes, what: str) -> bytes:
        if len(data) != self.size:
            raise self.error(f"it has {self.size} bytes, but {what} of {len(data)} bytes was given")
        return data

    def _record(self, value: Any) -> bytes:
        """A struct, or a type that only the program knows."""
        if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            return self._exact(value.tobytes(), f"{_words(value)}")
        raise self.error(
            f"pass its {self.size} bytes as a NumPy scalar or array, np.void or bytes,"
            f" not {_words(value)}"
        )

    def _vector(self, dtype: np.dtype[Any], lanes: int, value: Any) -> bytes:
        if isinstance(value, np.ndarray):
            value = value.reshape(-1)
        elif not isinstance(value, Sequence) or isinstance(value, str):
            raise self.error(f"{lanes} elements are needed, not {_words(value)}")
        if len(value) != lanes:
            raise self.error(f"{lanes} elements are needed, {len(value)} were given")
        return b"".join(self._number(dtype, x) for x in value)

    def _number(self, dtype: np.dtype[Any], value: Any) -> bytes:
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
            original, value = value, value.item()
        else:
            original = value
        if dtype.kind == "f":
            return self._float(dtype, original, value)
        if not isinstance(value, int):
            raise self.error(f"an integer is needed, not {_words(original)}")
        try:
            return value.to_bytes(dtype.itemsize, "little", signed=dtype.kind == "i")
        except OverflowError:
            limits = np.iinfo(dtype)
            text = f"{value} does not fit, the range is {limits.min} to {limits.max}"
            raise self.error(text) from None

    def _float(self, dtype: np.dtype[Any], original: Any, value: Any) -> bytes:
        if not isinstance(value, (int, float)):
            raise self.error(f"a number is needed, not {_words(original)}")
        try:
            return _PACKED[dtype.itemsize](float(value))
        except OverflowError:
            largest = np.finfo(dtype).max
            raise self.error(f"{_words(original)} does not fit, the largest is {largest}") from None


def _half(value: float) -> bytes:
    with np.errstate(over="raise"):
        try:
            return np.float16(value).tobytes()  # `struct` loses what a NaN says
        except FloatingPointError:
            raise OverflowError from None


# To the nearest even; OverflowError for numbers that become infinite.
_PACKED: Final[dict[int, Callable[[float], bytes]]] = {
    2: _half,
    4: Struct("<f").pack,
    8: Struct("<d").pack,
}


_SCALARS = {
    "bool": "u1",
    "char": "i1",
    "uchar": "u1",
    "unsigned char": "u1",
    "short": "i2",
    "ushort": "u2",
    "unsigned short": "u2",
    "int": "i4",
    "uint": "u4",
    "unsigned int": "u4",
    "long": "i8",
    "ulong": "u8",
    "unsigned long": "u8",
    "size_t": "u8",
    "ptrdiff_t": "i8",
    "half": "f2",
    "float": "f4",
    "double": "f8",
}
_TYPE = re.compile(rf"({'|'.join(sorted(_SCALARS, key=len, reverse=True))})(2|3|4|8|16)?")


def element_type(type_name: str) -> tuple[np.dtype[Any], int] | None:
    """Element type and count of an OpenCL C scalar or vector type, or None for any other.

    >>> element_type("float3")
    (dtype('float32'), 3)
    """
    match = _TYPE.fullmatch(type_name.strip())
    if match is None:
        return None
    return np.dtype(_SCALARS[match[1]]), int(match[2] or 1)


def _words(value: Any) -> str:
    """A value and its type, short."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"a NumPy array of shape {value.shape} and type {value.dtype} ({value.nbytes} bytes)"
    text = repr(value)
    text = text if len(text) <= 40 else text[:37] + "..."
    return f"{text} ({type(value).__name__})"
