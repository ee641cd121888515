"""Numbers in every lane of a message: what the equations of images are written with.

An equation stands once.  It takes `lanes`, the functions below, and values with the operators of
NumPy; given :class:`Arrays` and arrays it is the model, given a function in the making and its
vectors (`exec.jit.llvm.vectors`) it is that function's code.  What is known before there are
lanes (modes, formats, filters) are plain Python values and choose what is computed.

Integers are signed, of at least 32 bits, or unsigned ones of 32.  A Python number beside a
value has its type.  Comparisons with NaN are false, but for `differ`.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray


class Lane(Protocol):
    """A number, or a flag of a mask, in every lane."""

    def __add__(self, other: Any, /) -> Self: ...
    def __sub__(self, other: Any, /) -> Self: ...
    def __rsub__(self, other: Any, /) -> Self: ...
    def __mul__(self, other: Any, /) -> Self: ...
    def __truediv__(self, other: Any, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __lshift__(self, other: Any, /) -> Self: ...
    def __rshift__(self, other: Any, /) -> Self: ...
    def __and__(self, other: Any, /) -> Self: ...
    def __or__(self, other: Any, /) -> Self: ...
    def __invert__(self) -> Self: ...
    def __lt__(self, other: Any, /) -> Self: ...
    def __le__(self, other: Any, /) -> Self: ...
    def __gt__(self, other: Any, /) -> Self: ...
    def __ge__(self, other: Any, /) -> Self: ...


V = TypeVar("V", bound=Lane)


class LaneFunctions(Protocol[V]):
    """What operators do not say."""

    def constant(self, value: float) -> V:
        """An integer, or a float of 32 bits, in every lane."""

    def where(self, mask: V, a: V | float, b: V | float) -> V: ...

    def equal(self, a: V, b: V | float) -> V: ...

    def differ(self, a: V, b: V | float) -> V: ...

    def least(self, a: V, b: V | float) -> V:
        """The lesser number; b where they are equal or one is NaN."""

    def most(self, a: V, b: V | float) -> V: ...

    def modulo(self, a: V, b: V, *, near: bool) -> V:
        """a mod b, from 0 on, of integers that floats hold; `near`: a is -1 to b."""

    def floor(self, x: V) -> V: ...

    def rint(self, x: V) -> V:
        """To nearest, ties to even."""

    def magnitude(self, x: V) -> V: ...

    def sqrt(self, x: V) -> V: ...

    def split(self, x: V) -> tuple[V, V]:
        """Of doubles from 0 on: an exponent of 2, a double too, and the factor beside it.

        The factor is from the root of a half to the root of 2, or 0 or infinite.
        """

    def quad_step(self, x: V, lane: int) -> V:
        """A lane of each square of four less its first one."""

    def single(self, x: V) -> V:
        """As a float of 32 bits."""

    def double(self, x: V) -> V: ...

    def integer(self, x: V) -> V:
        """Of a whole float that fits, a flag, or the bits of a signed integer."""

    def unsigned(self, x: V) -> V:
        """Of a whole float that fits, or the bits of an integer."""

    def bits(self, x: V) -> V:
        """Those of a float of 32."""

    def from_bits(self, x: V) -> V:
        """The float whose bits these are."""


Array = NDArray[Any]


class Arrays:
    """The functions on NumPy arrays; integers have 64 bits."""

    def constant(self, value: float) -> Array:
        return np.asarray(value, np.int64 if isinstance(value, int) else np.float32)

    def where(self, mask: Array, a: Array | float, b: Array | float) -> Array:
        result: Array = np.where(mask, a, b)
        return result

    def equal(self, a: Array, b: Array | float) -> Array:
        result: Array = np.equal(a, b)
        return result

    def differ(self, a: Array, b: Array | float) -> Array:
        result: Array = np.not_equal(a, b)
        return result

    def least(self, a: Array, b: Array | float) -> Array:
        return np.where(a < b, a, b) if a.dtype.kind == "f" else np.minimum(a, b)

    def most(self, a: Array, b: Array | float) -> Array:
        return np.where(a > b, a, b) if a.dtype.kind == "f" else np.maximum(a, b)

    def modulo(self, a: Array, b: Array, *, near: bool) -> Array:
        result: Array = a % b
        return result

    def floor(self, x: Array) -> Array:
        result: Array = np.floor(x)
        return result

    def rint(self, x: Array) -> Array:
        result: Array = np.rint(x)
        return result

    def magnitude(self, x: Array) -> Array:
        result: Array = np.abs(x)
        return result

    def sqrt(self, x: Array) -> Array:
        result: Array = np.sqrt(x)
        return result

    def split(self, x: Array) -> tuple[Array, Array]:
        factor, exponent = np.frexp(x)
        is_low = factor < 0.5**0.5
        return (exponent - is_low).astype(np.float64), np.where(is_low, 2 * factor, factor)

    def quad_step(self, x: Array, lane: int) -> Array:
        quads = x.reshape(*x.shape[:-1], -1, 4)
        return np.repeat(quads[..., lane] - quads[..., 0], 4, axis=-1)

    def single(self, x: Array) -> Array:
        return x.astype(np.float32)

    def double(self, x: Array) -> Array:
        return x.astype(np.float64)

    def integer(self, x: Array) -> Array:
        return (x.view(np.int32) if x.dtype == np.uint32 else x).astype(np.int64)

    def unsigned(self, x: Array) -> Array:
        return x.astype(np.uint32)

    def bits(self, x: Array) -> Array:
        return x.view(np.uint32)

    def from_bits(self, x: Array) -> Array:
        return x.view(np.float32)


ARRAYS: Final = Arrays()
