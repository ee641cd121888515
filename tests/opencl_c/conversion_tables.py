"""Conversions from and to half precision, in every rounding, with their NumPy twins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.runtime.parameters import element_type
from opencl_c.half_tables import HALF
from opencl_c.suite import patterns
from opencl_c.table import Piece, Row, Table, Twin

INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
ROUNDINGS = ("", "_rte", "_rtz", "_rtp", "_rtn")
_WHOLE = {"_rte": np.rint, "_rtz": np.trunc, "_rtp": np.ceil, "_rtn": np.floor, "": np.trunc}
_COUNT = 4096
_NANS = "NaN becomes the largest uint; OpenCL C has 0"


def to_half(values: NDArray[Any], mode: str) -> NDArray[np.float16]:
    """Numbers rounded to half precision in a direction."""
    # Numbers of more than 53 bits are beyond the largest half, whatever they are rounded to.
    wide = values.astype(np.float64)
    with np.errstate(all="ignore"):
        nearest = wide.astype(HALF)
        back = nearest.astype(np.float64)
        above, below = back > wide, back < wide
        up, down = np.nextafter(nearest, HALF(np.inf)), np.nextafter(nearest, HALF(-np.inf))
    if mode == "_rtp":
        return np.where(below, up, nearest)
    if mode == "_rtn":
        return np.where(above, down, nearest)
    if mode == "_rtz":
        inward = np.where(wide > 0, above, below)
        return np.where(inward, np.where(wide > 0, down, up), nearest)
    return nearest


def _into_half(mode: str) -> Twin:
    return lambda p: to_half(p.a, mode)


def inputs(type_name: str) -> NDArray[Any]:
    """Numbers of a type: edges of half precision, ties, and any bits."""
    known = element_type(type_name)
    assert known is not None
    dtype = known[0]
    random = np.random.default_rng(7)
    raw = random.integers(0, 256, _COUNT * dtype.itemsize, np.uint8).view(dtype)
    if dtype.kind != "f":
        shift = random.integers(0, 8 * dtype.itemsize, _COUNT).astype(dtype)
        made = raw >> shift
        ends = np.array([0, 1, 2047, 2049, 2051, 65503, 65504, 65519, 65520, 65536])
        made[: len(ends)] = ends.astype(dtype)
        return made
    half = np.arange(0, 1 << 16, 37).astype(np.uint16).view(HALF).astype(dtype)
    with np.errstate(all="ignore"):
        near = np.nextafter(half, dtype.type(0))
        ends = np.array(
            [0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.9, 65520, 1e-8, 6e-8, -3e-8]
        )
        made = np.concatenate([ends.astype(dtype), half, near, _halves(dtype)])
        return np.concatenate([made, raw])[: _COUNT * 2]


def _halves(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Numbers half way between two halves that follow each other."""
    low = np.arange(0, 0x7C00, 29).astype(np.uint16)
    x = low.view(HALF).astype(np.float64)
    y = (low + 1).astype(np.uint16).view(HALF).astype(np.float64)
    middle = np.where(np.isfinite(y), (x + y) / 2, 65520.0)
    found: NDArray[Any] = np.concatenate([middle, -middle]).astype(dtype)
    return found


def _from(type_name: str) -> Table:
    rows = [Row(f"convert_half{mode}(a)", _into_half(mode)) for mode in ROUNDINGS]
    rows.append(Row("(half)a", _into_half("_rte")))
    if type_name in ("float", "double"):
        rows += [
            Row(
                f"vstore_half{mode}(a, i, to);",
                _into_half(mode),
                stores=True,
            )
            for mode in ROUNDINGS
        ]
    return Table(f"half_of_{type_name}", (type_name,), "half", tuple(rows), (inputs(type_name),))


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _whole(mode: str, dtype: np.dtype[Any]) -> Twin:
    """Half to an integer, clamped; NaN is 0."""

    def twin(p: Piece) -> Any:
        low, high = _limits(dtype)
        wide = _WHOLE[mode](p.a.astype(np.float64))
        wide = np.where(np.isnan(wide), 0.0, wide)
        # Halves are below 2^17, so that what is clamped to 64 bits was an infinity.
        ints = np.clip(wide, max(low, -(1 << 20)), min(high, 1 << 20)).astype(np.int64)
        found = ints.astype(dtype)
        found[wide == np.inf] = high
        found[wide == -np.inf] = low
        return found

    return twin


def _fits(mode: str, dtype: np.dtype[Any]) -> Any:
    def defined(p: Piece) -> Any:
        low, high = _limits(dtype)
        with np.errstate(invalid="ignore"):
            wide = _WHOLE[mode](p.a.astype(np.float64))
        return np.isfinite(wide) & (wide >= low) & (wide <= high)

    return defined


def _into(type_name: str) -> Table:
    known = element_type(type_name)
    assert known is not None
    dtype = known[0]
    rows = []
    for mode in ROUNDINGS:
        twin = _whole(mode, dtype)
        wrong = _NANS if type_name == "uint" and mode in ("", "_rtz") else ""
        rows.append(Row(f"convert_{type_name}_sat{mode}(a)", twin, theirs=wrong))
        rows.append(Row(f"convert_{type_name}{mode}(a)", twin, defined=_fits(mode, dtype)))
    values = patterns(_COUNT, 2)
    return Table(f"{type_name}_of_half", ("half",), type_name, tuple(rows), (values,))


def _exactly(p: Piece) -> Any:
    return p.a.astype(np.float64)


def _widened(type_name: str) -> Table:
    rows = [Row(f"convert_{type_name}{mode}(a)", _exactly) for mode in ROUNDINGS]
    rows.append(Row("vload_half(i, a_)", _exactly))
    values = np.arange(1 << 16).astype(np.uint16).view(HALF)
    return Table(f"{type_name}_of_half", ("half",), type_name, tuple(rows), (values,))


def _pairs(mode: str) -> Twin:
    return lambda p: to_half(p.a, mode)


VECTORS = Table(
    "halves_of_float4",
    ("float4",),
    "half4",
    (
        *(Row(f"convert_half4{mode}(a)", _pairs(mode)) for mode in ROUNDINGS),
        *(
            Row(f"vstore_half4{mode}(a, i, (global half *)to);", _pairs(mode), stores=True)
            for mode in ROUNDINGS
        ),
        *(
            Row(f"vstorea_half4{mode}(a, i, (global half *)to);", _pairs(mode), stores=True)
            for mode in ("", "_rtz")
        ),
    ),
    (inputs("float")[:8192],),
)

LOADS = Table(
    "float4_of_halves",
    ("half4",),
    "float4",
    (
        Row("vload_half4(i, (global const half *)a_)", _exactly),
        Row("vloada_half4(i, (global const half *)a_)", _exactly),
        Row("convert_float4(a)", _exactly),
    ),
    (patterns(8192, 2),),
)

TABLES = (
    *(_from(t) for t in (*INTEGERS, "float", "double")),
    *(_into(t) for t in INTEGERS),
    *(_widened(t) for t in ("float", "double")),
    VECTORS,
    LOADS,
)
