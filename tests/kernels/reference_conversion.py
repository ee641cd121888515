"""Conversions between element types and the functions of the mathematical library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernels.case import Array, Buffer, Case, Output, Setup

Round = Callable[[Array], Array]


def _saturate(x: Array, dtype: str, rounding: Round = np.trunc) -> Array:
    """A float array to integers: rounded, then clamped."""
    info = np.iinfo(dtype)
    clamped = np.clip(rounding(x.astype(np.float64)), float(info.min), float(info.max))
    return clamped.astype(np.int64).astype(dtype)


def from_float(case: Case) -> Setup:
    n, rng = case.n, case.rng()
    a = (rng.uniform(-1, 1, n) * 10.0 ** rng.integers(-1, 12, n)).astype(np.float32)
    a[:14] = (0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 128, 255.5, -32769, 65535.5, 1e18, -3e38)
    integer = np.array(
        [_saturate(a, "i4", rounding) for rounding in (np.trunc, np.rint, np.ceil, np.floor)]
    )
    wanted = (
        *(integer, np.array([_saturate(a, "u4"), _saturate(a, "u4", np.rint)])),
        np.array([_saturate(a, "i2"), _saturate(a, "i2", np.rint)]),
        np.array([_saturate(a, "u1"), _saturate(a, "u1", np.rint)]),
        np.clip(a, np.float32(-1e18), np.float32(1e18)).astype(np.int64)[None, :],
    )
    modes = ("int_sat", "int_sat_rte", "int_sat_rtp", "int_sat_rtn")
    names = (modes, ("uint_sat", "uint_sat_rte"), ("short_sat", "short_sat_rte"))
    rows = (*names, ("uchar_sat", "uchar_sat_rte"), ("long",))
    outputs = tuple(
        Output(1 + i, w, rows=r) for i, (w, r) in enumerate(zip(wanted, rows, strict=True))
    )
    return Setup((Buffer(a), *(Buffer(np.zeros_like(w)) for w in wanted)), outputs)


def from_integer(case: Case) -> Setup:
    n, rng = case.n, case.rng()
    a = (rng.integers(-(2**31), 2**31, n) >> rng.integers(0, 31, n)).astype(np.int32)
    b = rng.integers(-(2**63), 2**63, n) >> rng.integers(0, 63, n)
    a[:6] = (0, -1, 2**31 - 1, -(2**31), 2**24 + 1, -(2**25) - 2)
    b[:6] = (0, -1, 2**63 - 1, -(2**63), 2**24 + 1, 2**53 + 2**29)
    floats = [
        x.astype(np.float32) for x in (a, a.view(np.uint32), b, a.astype("i2"), a.astype("u1"))
    ]
    wanted = (
        np.array(floats),
        np.array([np.clip(a, -128, 127).astype(np.int8), b.astype(np.int8)]),
        np.array([np.clip(a, 0, 65535).astype(np.uint16), a.astype(np.uint16)]),
        np.array([np.clip(b, -(2**31), 2**31 - 1).astype(np.int32), b.astype(np.int32)]),
        np.array([a.astype(np.uint64), a.view(np.uint32).astype(np.uint64)]),
    )
    rows = (
        ("float(int)", "float(uint)", "float(long)", "float(short)", "float(uchar)"),
        *(("char_sat(int)", "char(long)"), ("ushort_sat(int)", "ushort(int)")),
        *(("int_sat(long)", "int(long)"), ("ulong(int)", "ulong(uint)")),
    )
    outputs = tuple(
        Output(2 + i, w, rows=r) for i, (w, r) in enumerate(zip(wanted, rows, strict=True))
    )
    return Setup((Buffer(a), Buffer(b), *(Buffer(np.zeros_like(w)) for w in wanted)), outputs)


def _directed_half(
    x: Array, wrong: Callable[[Array, Array], Array], toward: Array | float
) -> Array:
    """Nearest half, moved one step `toward` where the nearest is on the `wrong` side of x."""
    nearest = x.astype(np.float16)
    moved = np.nextafter(nearest, np.asarray(toward, np.float16))
    return np.where(wrong(nearest.astype(np.float32), x), moved, nearest)


def half_storage(case: Case) -> Setup:
    n, rng = case.n, case.rng()
    a = (rng.uniform(-2, 2, n) * 2.0 ** rng.integers(-25, 14, n)).astype(np.float32)
    a[:5] = (0, -0.0, 1 + 2**-11, 1 + 3 * 2**-11, 2**-24)
    h = rng.integers(0, 2**16, n).astype(np.uint16)
    h[:8] = (0, 0x8000, 0x7C00, 0xFC00, 0x7E00, 1, 0x3FF, 0x400)
    want = np.array(
        [
            a.astype(np.float16),
            _directed_half(a, lambda got, x: np.abs(got) > np.abs(x), 0.0),
            _directed_half(a, np.less, np.inf),
            _directed_half(a, np.greater, -np.inf),
        ]
    )
    rows = ("vstore_half", "vstore_half_rtz", "vstore_half_rtp", "vstore_half_rtn")
    loaded = h.view(np.float16).astype(np.float32)
    args = (Buffer(a), Buffer(h), Buffer(np.zeros_like(want)), Buffer(np.zeros_like(a)))
    return Setup(args, (Output(2, want, rows=rows, bits=True), Output(3, loaded, bits=True)))


def from_double(case: Case) -> Setup:
    n, rng = case.n, case.rng()
    a = rng.uniform(-1, 1, n) * 10.0 ** rng.integers(-3, 12, n)
    a[:6] = (0, 0.5, 2.5, -1.5, 2**31 - 0.5, 1 + 2.0**-24)
    b = rng.integers(-(2**31), 2**31, n).astype(np.int32)
    c = rng.integers(-(2**63), 2**63, n) >> rng.integers(0, 63, n)
    single = a.astype(np.float32)
    wanted = (
        single,
        np.array([_saturate(a, "i4"), _saturate(a, "i4", np.rint)]),
        (a * 1e3).astype(np.int64),
        np.array([b.astype("f8"), b.view(np.uint32).astype("f8"), c.astype("f8"), single]),
    )
    integers, doubles = ("int_sat", "int_sat_rte"), ("int", "uint", "long", "float")
    outputs = (
        *(Output(3, wanted[0]), Output(4, wanted[1], rows=integers)),
        *(Output(5, wanted[2]), Output(6, wanted[3], rows=doubles)),
    )
    return Setup((*map(Buffer, (a, b, c)), *(Buffer(np.zeros_like(w)) for w in wanted)), outputs)


def _rows(names: tuple[str, ...], want: list[Array], ulps: list[float], argument: int) -> Output:
    rtol = np.array(ulps)[:, None] * 2.0**-23
    return Output(argument, np.array(want), rtol, atol=2.0**-126, rows=names)


def math_functions(case: Case) -> Setup:
    rng = case.rng()
    a = rng.uniform(-4, 4, case.n).astype(np.float32)
    b = (rng.uniform(0.5, 1, case.n) * 2.0 ** rng.integers(-5, 5, case.n)).astype(np.float32)
    x, y = a.astype(np.float64), b.astype(np.float64)
    rows = {
        "exp": (np.exp(x), 3),
        "exp2": (np.exp2(x), 3),
        "log": (np.log(y), 3),
        "log2": (np.log2(y), 3),
        "sqrt": (np.sqrt(y), 3),
        "rsqrt": (y**-0.5, 2),
        "pow": (y**x, 16),
        "tanh": (np.tanh(x), 5),
        "atan2": (np.arctan2(x, y), 6),
        "fmod": (np.fmod(a, b).astype(np.float64), 0),
        "hypot": (np.hypot(x, y), 4),
    }
    output = _rows(tuple(rows), [w for w, _ in rows.values()], [u for _, u in rows.values()], 2)
    return Setup((Buffer(a), Buffer(b), Buffer(np.zeros(output.want.shape, np.float32))), (output,))


def trigonometry(case: Case) -> Setup:
    rng = case.rng()
    a = (rng.uniform(-1, 1, case.n) * 10.0 ** rng.integers(-3, 7, case.n)).astype(np.float32)
    x = a.astype(np.float64)
    output = _rows(("sin", "cos"), [np.sin(x), np.cos(x)], [4, 4], 1)
    return Setup((Buffer(a), Buffer(np.zeros(output.want.shape, np.float32))), (output,))


def native_functions(case: Case) -> Setup:
    rng = case.rng()
    a = rng.uniform(-3, 3, case.n).astype(np.float32)
    b = rng.uniform(0.1, 10, case.n).astype(np.float32)
    x, y = a.astype(np.float64), b.astype(np.float64)
    rows = {
        **{"sin": np.sin(x), "cos": np.cos(x), "exp2": np.exp2(x), "log2": np.log2(y)},
        **{"sqrt": np.sqrt(y), "rsqrt": y**-0.5, "recip": 1 / y, "divide": x / y, "powr": y**x},
    }
    want = np.array(list(rows.values()))
    output = Output(2, want, 2e-5, 2e-5, rows=tuple(f"native_{name}" for name in rows))
    return Setup((Buffer(a), Buffer(b), Buffer(np.zeros(want.shape, np.float32))), (output,))


CASES = (
    Case("convert", "from_float", (96,), (48,), from_float),
    Case("convert", "from_integer", (96,), (48,), from_integer),
    Case("convert_half", "half_storage", (96,), (48,), half_storage),
    Case("convert_double", "from_double", (96,), (48,), from_double),
    Case("math_functions", "math_functions", (64,), (32,), math_functions),
    Case("math_functions", "trigonometry", (64,), (32,), trigonometry),
    Case("math_functions", "native_functions", (64,), (32,), native_functions),
)
