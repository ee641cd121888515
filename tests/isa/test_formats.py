"""fcvt and srnd, bit pattern by bit pattern, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from eumu.errors import Unsupported
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.text import parse
from visa_thread import execute

ENGINES = {"interp": Interpreter, "jit": Jit}
SIZES = {"ub": 1, "b": 1, "hf": 2, "bf": 2, "f": 4, "ud": 4}
WIDTH = 32
BATCH = 8  # instructions in a kernel


def convert(
    engine: Engine, op: str, dst: str, src: str, *sources: np.ndarray, device: str = "pvc"
) -> np.ndarray:
    """`op` of every lane of the sources (bit patterns)."""
    count = len(sources[0])
    lanes = WIDTH * BATCH
    text = [
        ".version 4.1",
        '.kernel "k"',
        f".decl D v_type=G type={dst} num_elts={lanes} align=GRFx2",
        *(f".decl S{n} v_type=G type={src} num_elts={lanes} align=GRFx2" for n in range(2)),
        ".kernel_attr SimdSize=32",
    ]
    for k in range(BATCH):
        row, col = divmod(k * WIDTH * SIZES[dst], 64)
        place = f"D({row},{col // SIZES[dst]})<1>"
        row, col = divmod(k * WIDTH * SIZES[src], 64)
        args = [f"S{n}({row},{col // SIZES[src]})<1;1,0>" for n in range(len(sources))]
        text.append(f"    {op} (M1_NM, 32) {place} {' '.join(args)}")
    kernel = parse("\n".join([*text, "    ret (M1, 1)", ""]), "k").kernels[0]
    found = []
    for start in range(0, count, lanes):
        chunk = [np.resize(s[start : start + lanes], lanes) for s in sources]
        before = {f"S{n}": c.astype(f"<u{SIZES[src]}").tobytes() for n, c in enumerate(chunk)}
        found.append(np.frombuffer(execute(kernel, before, ["D"], device, engine)["D"],
                                   f"<u{SIZES[dst]}"))  # fmt: skip
    return np.concatenate(found)[:count]


# Sign bit, bits of exponent, bits of mantissa.
FORMATS = {"hf": (15, 5, 10), "bf8": (7, 5, 2), "f": (31, 8, 23), "tf32": (18, 8, 10)}


def exact(name: str, pattern: int) -> Fraction | str:
    top, exponent_bits, mantissa_bits = FORMATS[name]
    sign = -1 if pattern >> top & 1 else 1
    exponent = pattern >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = pattern & (1 << mantissa_bits) - 1
    if exponent == (1 << exponent_bits) - 1:
        return "nan" if mantissa else f"{sign}inf"
    bias = (1 << exponent_bits - 1) - 1
    if exponent == 0:
        return sign * Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)
    return (
        sign
        * Fraction((1 << mantissa_bits) + mantissa)
        * (Fraction(2) ** (exponent - bias - mantissa_bits))
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_every_hf_to_bf8_and_back(engine: str) -> None:
    patterns = np.arange(1 << 16)
    got = convert(ENGINES[engine](), "fcvt", "ub", "hf", patterns)
    for pattern in range(0, 1 << 16, 1 if engine == "interp" else 7):
        result, source = int(got[pattern]), exact("hf", pattern)
        if source == "nan":
            assert exact("bf8", result) == "nan"
            continue
        sign, size = pattern >> 15, (pattern & 0x7FFF) >> 8
        if isinstance(source, str):
            assert result == pattern >> 8
            continue
        # The two neighbours, the even one first; past the greatest number lies infinity.
        low, high = (Fraction(value(size + k)) for k in (0, 1))
        down, up = abs(source) - low, high - abs(source)
        want = size if down < up or (down == up and size % 2 == 0) else size + 1
        assert result == sign << 7 | want, hex(pattern)
    back = convert(ENGINES[engine](), "fcvt", "hf", "ub", np.arange(256))
    assert back.tolist() == [k << 8 for k in range(256)]


def hf8(size: int) -> Fraction:
    """An hf8 of this size; what is no number stands for the one that would follow."""
    exponent, mantissa = size >> 3, size & 7
    if exponent == 0:
        return Fraction(mantissa, 1 << 9)
    return Fraction(8 + mantissa) * Fraction(2) ** (exponent - 10)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_hf8_to_hf_and_every_hf_to_the_nearest_hf8(engine: str) -> None:
    machine = ENGINES[engine]()
    wide = convert(machine, "fcvt", "hf", "b", np.arange(256), device="ptl")
    for pattern, got in enumerate(wide.tolist()):
        if pattern & 0x7F == 0x7F:
            assert exact("hf", got) == "nan"
        else:
            sign = -1 if pattern >> 7 else 1
            assert (exact("hf", got), got >> 15) == (sign * hf8(pattern & 0x7F), pattern >> 7)
    patterns = np.arange(0, 1 << 16, 1 if engine == "interp" else 3)
    short = convert(machine, "fcvt", "b", "hf", patterns, device="ptl")
    known = [hf8(size) for size in range(0x80)]
    for pattern, result in zip(patterns.tolist(), short.tolist(), strict=True):
        source = exact("hf", pattern)
        assert result >> 7 == pattern >> 15
        if isinstance(source, str) or abs(source) > known[0x7F]:
            assert result & 0x7F == 0x7F
            continue
        size, low = result & 0x7F, abs(source)
        near = abs(known[size] - low)
        for other in (size - 1, size + 1):
            if 0 <= other < 0x80:
                far = abs(known[other] - low)
                assert near < far or (near == far and size % 2 == 0), hex(pattern)


@pytest.mark.parametrize(
    ("op", "dst", "src", "words"),
    [
        ("fcvt.sat", "ub", "hf", "to which number it saturates"),
        ("srnd.sat", "ub", "hf", "to which number it saturates"),
        ("srnd", "b", "hf", "more than they discard"),
        ("srnd", "ub", "bf", "more than they discard"),
    ],
)
def test_what_no_page_defines_is_refused(op: str, dst: str, src: str, words: str) -> None:
    sources = [np.arange(256)] * (2 if "srnd" in op else 1)
    with pytest.raises(Unsupported, match=words):
        convert(Interpreter(), op, dst, src, *sources, device="cri")


def value(size: int) -> Fraction:
    """A bf8 of this size, infinity standing for the number that would follow."""
    exponent, mantissa = size >> 2, size & 3
    if exponent == 0:
        return Fraction(mantissa, 1 << 16)
    return Fraction(4 + mantissa) * Fraction(2) ** (exponent - 17)


@pytest.mark.parametrize("engine", ENGINES)
def test_f_to_tf32_rounds_to_nearest_even(engine: str) -> None:
    rng = np.random.default_rng(1)
    patterns = rng.integers(0, 1 << 32, 2048, np.uint64)
    edges = [0, 0x8000_0000, 0x7F80_0000, 0xFF80_0000, 0x7F7F_FFFF, 0x0000_1000, 0x0000_3000,
             0x3F80_1000, 0x3F80_3000, 0x3F80_1001, 0x3F80_0FFF]  # fmt: skip
    patterns = np.concatenate([patterns, np.array(edges, np.uint64)])
    got = convert(ENGINES[engine](), "fcvt", "ud", "f", patterns)
    for pattern, result in zip(patterns.tolist(), got.tolist(), strict=True):
        assert result & 0x1FFF == 0
        if pattern & 0x7FFF_FFFF > 0x7F80_0000:
            assert result & 0x7FFF_FFFF > 0x7F80_0000 and result >> 31 == pattern >> 31
            continue
        rest, kept = pattern & 0x1FFF, pattern >> 13
        up = rest > 0x1000 or (rest == 0x1000 and kept & 1)
        assert result == (kept + up) << 13
    back = convert(ENGINES[engine](), "fcvt", "f", "ud", patterns)
    assert (back == (patterns & np.uint64(0xFFFF_E000))).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("dst", "src", "target", "random"), [
    ("hf", "f", "hf", 13),
    ("ub", "hf", "bf8", 8),
])  # fmt: skip
def test_srnd_rounds_up_as_often_as_the_rest_says(
    engine: str, dst: str, src: str, target: str, random: int
) -> None:
    """Between two neighbours the exact value lies at a fraction, which is how often it goes up."""
    machine = ENGINES[engine]()
    top = FORMATS[src][0]
    bits = {"f": [0x3F80_0000, 0x3F80_0001, 0x3F80_1000, 0xC0FF_FFFF, 0x3380_0000, 0x3300_0001],
            "hf": [0x3C00, 0x3C01, 0x3C80, 0xBCFF, 0x00FF, 0x03FF, 0x7BFF]}[src]  # fmt: skip
    for pattern in bits:
        noise = np.arange(1 << random) if random == 8 else np.arange(0, 1 << random, 8)
        sources = np.full(len(noise), pattern)
        got = convert(machine, "srnd", dst, src, sources, noise)
        source = exact(src, pattern)
        assert isinstance(source, Fraction)
        sign = FORMATS[target][0]
        sizes = got.astype(int) & (1 << sign) - 1
        assert (got.astype(int) >> sign == pattern >> top).all()
        low, high = int(sizes.min()), int(sizes.max())
        assert high - low <= 1
        below = exact(target, low)
        assert isinstance(below, Fraction)
        if high == low:
            assert below == abs(source) or abs(source) - below < Fraction(1, 1 << 20)
            continue
        above = exact(target, high)
        share = Fraction(int((sizes == high).sum()), len(noise))
        if isinstance(above, Fraction):
            want = (abs(source) - below) / (above - below)
            assert abs(share - want) <= Fraction(1, 256), hex(pattern)


@pytest.mark.parametrize("engine", ENGINES)
def test_srnd_keeps_what_is_no_number(engine: str) -> None:
    machine = ENGINES[engine]()
    patterns = np.array([0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x7F7F_FFFF, 0, 0x8000_0000])
    got = convert(machine, "srnd", "hf", "f", patterns, np.full(6, 0x1FFF))
    assert got.tolist()[:2] == [0x7C00, 0xFC00] and got[2] & 0x7FFF > 0x7C00
    assert got.tolist()[3:] == [0x7C00, 0, 0x8000]
