"""When two results are one: bit for bit, but any two NaNs of a float type are the same.

Sign and payload of a NaN result are unspecified (docs/design.md, "Floating point"), so nothing that
compares engines, levels or builds may look at them.  This is the only place that says so; integers
that hold the bits of a NaN are integers.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.types import BF, DF, HF, F, Type

# The bits of infinity; a NaN's are greater, without the sign.
_INFINITY: Final = {HF.name: 0x7C00, BF.name: 0x7F80, F.name: 0x7F800000, DF.name: 0x7FF << 52}


def is_nan(type: Type, bits: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.bool_]:
    """Where patterns of a machine type, as unsigned integers of its size, are NaNs."""
    infinity = _INFINITY.get(type.name)
    if infinity is None:
        return np.zeros(bits.shape, bool)
    unsigned = (1 << (type.bits - 1)) - 1
    return np.asarray((bits & bits.dtype.type(unsigned)) > bits.dtype.type(infinity))


def unequal_bits(
    type: Type, x: NDArray[np.unsignedinteger[Any]], y: NDArray[np.unsignedinteger[Any]]
) -> NDArray[np.bool_]:
    """Where patterns of a machine type are not the same."""
    return np.asarray((x != y) & ~(is_nan(type, x) & is_nan(type, y)))


def both_nan(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
    """The bytes of arrays of one dtype that belong to a NaN in both: shape (elements, itemsize).

    The arrays have one axis.  In a structure the floats of its fields count, also in their arrays.
    """
    if x.dtype.kind == "f":
        both: NDArray[np.bool_] = np.isnan(x) & np.isnan(y)
        return np.repeat(both[:, None], x.itemsize, axis=1)
    is_nan = np.zeros((len(x), x.itemsize), bool)
    for name, (inner, offset, *_) in (x.dtype.fields or {}).items():
        a, b = (np.ascontiguousarray(v[name]).reshape(-1) for v in (x, y))
        is_nan[:, offset : offset + inner.itemsize] = both_nan(a, b).reshape(len(x), inner.itemsize)
    return is_nan


def unequal(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
    """Elements of arrays of one dtype, with one axis, that are not the same."""
    size = x.itemsize
    a, b = (np.ascontiguousarray(v).view(np.uint8).reshape(-1, size) for v in (x, y))
    return np.asarray(np.any((a != b) & ~both_nan(x, y), axis=1))
