"""DPAS against matrix products in NumPy: every pair of precisions, depth and repeat count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import eumu
from eumu.errors import Severity, Unsupported
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.text import parse
from visa_thread import execute

Matrix = NDArray[Any]
INTEGERS = ("u2", "s2", "u4", "s4", "u8", "s8")
FLOATS = ("hf", "bf", "tf32", "bf8", "hf8", "e2m1")
BITS = {"bf": 16, "hf": 16, "bf8": 8, "hf8": 8, "tf32": 32, "u1": 1, "e2m1": 4}
BITS |= {p: int(p[1]) for p in INTEGERS}
LANES = {"skl": 8, "dg2": 8, "xehp": 8, "pvc": 16}


@dataclass(frozen=True)
class Case:
    """Shape of a product; `b` and `a` are the precisions of src1 and src2."""

    b: str
    a: str
    depth: int
    repeats: int
    platform: str = "pvc"
    dst: str = "d"
    src0: str = "d"

    @property
    def group(self) -> int:
        if self.b in FLOATS:
            return 32 // BITS[self.b]
        return 4 if 8 in (BITS[self.a], BITS[self.b]) else 8

    @property
    def inner(self) -> int:
        """K of the product M x K by K x N."""
        return self.depth * self.group

    @property
    def lanes(self) -> int:
        return LANES[self.platform]


# ---- how matrices lie in registers


def packed(values: Matrix, precision: str) -> bytes:
    """Elements bit by bit, the first in the lowest bits."""
    bits = BITS[precision]
    flat = values.reshape(-1)
    if bits >= 8:
        return flat.astype(f"<u{bits // 8}").tobytes()
    whole = sum(int(v) % (1 << bits) << k * bits for k, v in enumerate(flat))
    return whole.to_bytes(-(-len(flat) * bits // 8), "little")


def packed_b(case: Case, b: Matrix) -> bytes:
    """B [K, N] of bit patterns: depth after depth into the dwords of each lane's column."""
    bits, group = BITS[case.b], case.group
    dwords: list[list[int]] = []
    for depth in range(case.depth):
        first = depth * bits * group
        register, shift = divmod(first, 32)
        while len(dwords) <= register:
            dwords.append([0] * case.lanes)
        for lane in range(case.lanes):
            for j in range(group):
                value = int(b[depth * group + j, lane]) % (1 << bits)
                dwords[register][lane] |= value << shift + j * bits
    return np.array(dwords, "<u4").tobytes()


def run(
    case: Case, c: bytes, b: Matrix, a: Matrix, *, lanes: int | None = None, jit: bool = False
) -> bytes:
    """The bytes of dst after `dpas` on bit patterns; dst holds 0xcc before."""
    shape = f"{case.b}.{case.a}.{case.depth}.{case.repeats}"
    src0 = "C.0" if c else "%null.0"
    text = f"""
.version 4.1
.kernel "k"
.decl DST v_type=G type={case.dst} num_elts={case.lanes * case.repeats} align=GRFx2
.decl C v_type=G type={case.src0} num_elts={case.lanes * case.repeats} align=GRFx2
.decl B v_type=G type=ud num_elts={8 * case.lanes} align=GRFx2
.decl A v_type=G type=ud num_elts=64 align=GRFx2
.decl OUT v_type=G type=ub num_elts={case.lanes * case.repeats * SIZES[case.dst]} alias=<DST, 0>
.decl C8 v_type=G type=ub num_elts={case.lanes * case.repeats * SIZES[case.src0]} alias=<C, 0>
.decl B8 v_type=G type=ub num_elts={32 * case.lanes} alias=<B, 0>
.decl A8 v_type=G type=ub num_elts=256 alias=<A, 0>
.kernel_attr SimdSize={case.lanes}
    dpas.{shape} (M1, {case.lanes}) DST.0 {src0} B.0 A(0,0)
    ret (M1, 1)
"""
    before = {
        "OUT": b"\xcc" * (case.lanes * case.repeats * SIZES[case.dst]),
        "B8": packed_b(case, b).ljust(32 * case.lanes, b"\xff"),
        "A8": packed(a, case.a).ljust(256, b"\xff"),
        **({"C8": c} if c else {}),
    }
    kernel = parse(text.lstrip(), "dpas").kernels[0]
    engine = Jit(workers=1) if jit else Interpreter()
    return execute(kernel, before, ["OUT"], case.platform, engine, lanes)["OUT"]


SIZES = {"d": 4, "ud": 4, "f": 4, "hf": 2, "bf": 2}


# ---- integers


def integers(rng: np.random.Generator, precision: str, shape: tuple[int, int]) -> Matrix:
    """Values of a precision: first the extremes, then random ones."""
    bits = BITS[precision]
    low = -(1 << bits - 1) if precision[0] == "s" else 0
    high = low + (1 << bits) - 1
    found = rng.integers(low, high + 1, shape, np.int64)
    found[0, :] = high
    found[-1, :] = low
    return found


@pytest.mark.parametrize(("b", "a"), [*product(INTEGERS, INTEGERS)])
def test_integers_of_every_pair_of_precisions(b: str, a: str) -> None:
    rng = np.random.default_rng(BITS[a] * 16 + BITS[b])
    for depth, repeats in ((8, 8), (4, 3), (2, 1), (1, 5)):
        case = Case(b, a, depth, repeats, "pvc", "d", "d")
        check_integers(case, rng, jit=repeats == 3)


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize("repeats", range(1, 9))
@pytest.mark.parametrize("platform", ["dg2", "pvc"])
def test_integers_of_every_depth_and_count(platform: str, depth: int, repeats: int) -> None:
    rng = np.random.default_rng(depth * repeats)
    for b, a in (("s8", "u8"), ("u4", "s4"), ("s2", "s8"), ("u2", "u2")):
        case = Case(b, a, depth, repeats, platform, "ud", "d")
        check_integers(case, rng, jit=repeats == depth and b == "s8")


def check_integers(case: Case, rng: np.random.Generator, *, jit: bool) -> None:
    b = integers(rng, case.b, (case.inner, case.lanes))
    a = integers(rng, case.a, (case.repeats, case.inner))
    c = rng.integers(-(1 << 31), 1 << 31, (case.repeats, case.lanes), np.int64)
    want = (c + a @ b).astype(np.uint32)  # the sums wrap
    c_bytes = c.astype("<i4").tobytes()
    for fast in (False, True)[: 1 + jit]:
        assert run(case, c_bytes, b, a, jit=fast) == want.tobytes(), (case, fast)
    assert run(case, b"", b, a) == (a @ b).astype(np.uint32).tobytes(), case


def test_sums_wrap_and_do_not_saturate() -> None:
    case = Case("s8", "s8", 8, 1)
    b, a = np.full((32, 16), 127), np.full((1, 32), 127)
    c = np.full(16, 0x7FFF_FFFF, "<i4")
    want = (0x7FFF_FFFF + 32 * 127 * 127) & 0xFFFF_FFFF
    assert run(case, c.tobytes(), b, a) == np.full(16, want, "<u4").tobytes()


def test_lanes_that_are_off_keep_their_column() -> None:
    case = Case("u8", "u8", 1, 2)
    b, a = np.ones((4, 16), int), np.ones((2, 4), int)
    for jit in (False, True):
        got = np.frombuffer(run(case, b"", b, a, lanes=5, jit=jit), "<u4").reshape(2, 16)
        assert got.tolist() == [[4] * 5 + [0xCCCC_CCCC] * 11] * 2


# ---- floats


def value(precision: str, pattern: int) -> Fraction | float:
    """What a bit pattern of a float precision stands for."""
    exponent_bits, mantissa_bits = {
        "hf": (5, 10), "bf": (8, 7), "bf8": (5, 2), "hf8": (4, 3), "tf32": (8, 10), "f": (8, 23),
        "e2m1": (2, 1),
    }[precision]  # fmt: skip
    if precision == "tf32":
        pattern >>= 13
    sign = -1 if pattern >> exponent_bits + mantissa_bits & 1 else 1
    exponent = pattern >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = pattern & (1 << mantissa_bits) - 1
    bias = (1 << exponent_bits - 1) - 1
    if precision == "hf8":
        if exponent == 15 and mantissa == 7:
            return float("nan")
    elif exponent == (1 << exponent_bits) - 1 and precision != "e2m1":
        return float("nan") if mantissa else sign * float("inf")
    if exponent == 0:
        return sign * Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)
    scale = Fraction(2) ** (exponent - bias - mantissa_bits)
    return sign * ((1 << mantissa_bits) + mantissa) * scale


def rounded(x: Fraction) -> np.float32:
    """The nearest f, ties to even, of a number that is not too large."""
    low = np.float32(float(x))
    near = [low, np.nextafter(low, np.float32(np.inf)), np.nextafter(low, np.float32(-np.inf))]
    return min(near, key=lambda f: (abs(Fraction(float(f)) - x), int(f.view(np.uint32)) & 1))


def patterns(rng: np.random.Generator, precision: str, shape: tuple[int, int]) -> Matrix:
    """Bit patterns of finite numbers near 1, and some denormals and zeros."""
    bits = BITS[precision]
    found = rng.integers(0, 1 << bits, shape, np.uint64)
    if bits > 8:  # exponents near the bias, so that sums do not overflow
        exponent_bits = 5 if precision == "hf" else 8
        shift = bits - 1 - exponent_bits
        bias = (1 << exponent_bits - 1) - 1
        near = rng.integers(bias - 3, bias + 4, shape, np.uint64)
        mask = np.uint64(((1 << exponent_bits) - 1) << shift)
        found = (found & ~mask) | near << np.uint64(shift)
        found[0, 0] &= ~mask  # a denormal
    elif bits == 8:
        exponents = {"bf8": 0x7C, "hf8": 0x78}[precision]
        found = np.where(found & np.uint64(exponents) == exponents, np.uint64(0x35), found)
        if precision == "bf8":
            found &= np.uint64(0xBF)
    return found


PAIRS = [*((p, p) for p in FLOATS), ("bf8", "hf8"), ("hf8", "bf8")]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize(("depth", "repeats"), [(8, 2), (4, 1), (1, 3)])
def test_floats_are_a_chain_of_fused_steps(pair: tuple[str, str], depth: int, repeats: int) -> None:
    case = Case(*pair, depth, repeats, "pvc", "f", "f")
    rng = np.random.default_rng(depth)
    b = patterns(rng, case.b, (case.inner, case.lanes))
    a = patterns(rng, case.a, (case.repeats, case.inner))
    c = rng.normal(size=(case.repeats, case.lanes)).astype("<f4")
    data = run(case, c.tobytes(), b, a)
    assert run(case, c.tobytes(), b, a, jit=True) == data
    got = np.frombuffer(data, "<f4").reshape(c.shape)
    for r, i in product(range(repeats), range(case.lanes)):
        total = c[r, i]
        for k in range(case.inner):
            x, y = value(case.b, int(b[k, i])), value(case.a, int(a[r, k]))
            assert isinstance(x, Fraction | int) and isinstance(y, Fraction | int)
            total = rounded(Fraction(float(total)) + Fraction(x) * Fraction(y))
        assert got[r, i] == total, (case, r, i)


@pytest.mark.parametrize("precision", FLOATS)
def test_floats_of_small_whole_numbers_are_exact(precision: str) -> None:
    one = {"hf": 0x3C00, "bf": 0x3F80, "tf32": 0x3F80_0000, "bf8": 0x3C, "hf8": 0x38, "e2m1": 2}[
        precision
    ]
    case = Case(precision, precision, 8, 8, "pvc", "f", "f")
    rng = np.random.default_rng(3)
    choice = {0: 0, 1: one, -1: one | 1 << BITS[precision] - 1}
    b, a = rng.integers(-1, 2, (case.inner, 16)), rng.integers(-1, 2, (8, case.inner))
    bits_b, bits_a = (np.vectorize(choice.get)(m) for m in (b, a))
    for jit in (False, True):
        got = np.frombuffer(run(case, b"", bits_b, bits_a, jit=jit), "<f4").reshape(8, 16)
        assert got.tolist() == (a @ b).astype(float).tolist()


@pytest.mark.parametrize("pattern", range(256))
def test_every_hf8_and_bf8(pattern: int) -> None:
    for precision, one in (("hf8", 0x38), ("bf8", 0x3C)):
        case = Case(precision, precision, 1, 1, "pvc", "f", "f")
        b = np.zeros((4, 16), int)
        b[2, :] = pattern
        a = np.array([[0, 0, one, 0]])
        got = np.frombuffer(run(case, b"", b, a), "<f4")
        want = value(precision, pattern)
        if want != want:
            assert np.isnan(got).all()
        else:
            assert (got == np.float32(float(want))).all(), (precision, pattern)


def test_infinities_and_nans_pass_through() -> None:
    case = Case("hf", "hf", 1, 1, "pvc", "f", "f")
    b = np.zeros((2, 16), int)
    b[0, :4] = [0x7C00, 0xFC00, 0x7E00, 0x7BFF]
    got = np.frombuffer(run(case, b"", b, np.array([[0x3C00, 0x3C00]])), "<f4")
    assert got[0] == np.inf and got[1] == -np.inf and np.isnan(got[2]) and got[3] == 65504
    assert (got[4:] == 0).all()


@pytest.mark.parametrize("kind", ["hf", "bf"])
def test_sums_may_be_halves(kind: str) -> None:
    case = Case(kind, kind, 8, 2, "pvc", kind, "f")
    one = {"hf": 0x3C00, "bf": 0x3F80}[kind]
    b, a = np.full((16, 16), one), np.full((2, 16), one)
    c = np.arange(32, dtype="<f4")
    got = np.frombuffer(run(case, c.tobytes(), b, a), "<u2")
    want = [int(value_bits(kind, float(16 + k))) for k in range(32)]
    assert got.tolist() == want


def value_bits(kind: str, x: float) -> int:
    if kind == "hf":
        return int(np.float16(x).view(np.uint16))
    return int(np.float32(x).view(np.uint32)) >> 16


# ---- what is not there


XE3P = """.version 4.2
.kernel "k"
.decl SUM v_type=G type={sum} num_elts=128 align=GRFx2
.decl X v_type=G type=ud num_elts=128 align=GRFx2
.kernel_attr SimdSize=16
    mov (M1_NM, 16) X(0,0)<1> 0x0:ud
    dpas.{precision}.{precision}.8.8 (M1, 16) SUM.0 %null.0 X.0 X(0,0)
    ret (M1, 1)
"""


@pytest.mark.parametrize("sum", ["f", "bf"])
@pytest.mark.parametrize("precision", ["e2m1", "bf8", "hf8"])
def test_what_came_with_xe3p(precision: str, sum: str, tmp_path: Path) -> None:
    """Small floats are summed in bf there, and four bits have a multiplier."""
    file = tmp_path / "k.visaasm"
    file.write_text(XE3P.format(precision=precision, sum=sum))
    errors = {
        device: [d.message for d in eumu.check(file, device) if d.severity is Severity.ERROR]
        for device in ("cri", "pvc")
    }
    assert errors["cri"] == []
    assert bool(errors["pvc"]) == (precision == "e2m1" or sum == "bf")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Case("s8", "s8", 8, 1, "skl"), "matrix instructions on skl, which has no systolic array"),
        (Case("u1", "s8", 8, 1), "elements of one bit are in the grammar only"),
        (Case("hf", "bf", 8, 1, "pvc", "f", "f"), "precisions hf and bf do not go together"),
        (Case("hf", "hf", 8, 1, "pvc", "d", "f"), "sums of type d and f of precisions hf and hf"),
        (Case("s8", "s8", 8, 1, "pvc", "f", "f"), "sums of type f and f of precisions s8 and s8"),
    ],
)
def test_what_no_document_describes(case: Case, reason: str) -> None:
    zeros = np.zeros((case.inner, case.lanes), int)
    with pytest.raises(Unsupported, match=reason):
        run(case, b"\0" * 64, zeros, zeros[: case.repeats])
