"""Integer instructions against Python's integers, on every pair of edge values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.text import parse
from eumu.types import UB, UD, UQ, UW, B, D, Q, Type, W
from oracle.lanes import pairs, run, value
from visa_thread import execute

ENGINES = {"interp": Interpreter(), "jit": Jit()}
SMALL = (UB, B, UW, W, UD, D)
EVERY = (*SMALL, UQ, Q)

Oracle = Callable[..., int]


def fit(type: Type, exact: int, *, saturate: bool = False) -> int:
    """The bit pattern of an exact result in a destination."""
    if saturate:
        exact = min(max(exact, type.minimum), type.maximum)
    return exact & ((1 << type.bits) - 1)


def check(
    engine: str, template: str, dst: Type, sources: list[Type], oracle: Oracle, **options: Any
) -> None:
    """Run on all edge values, compare every lane with the oracle."""
    saturate = ".sat" in template
    columns = pairs(*sources)
    got = run(template, dst, sources, columns, ENGINES[engine], **options)
    for row, bits in zip(zip(*columns, strict=True), got, strict=True):
        operands = [value(t, b) for t, b in zip(sources, row, strict=True)]
        want = fit(dst, oracle(*operands), saturate=saturate)
        assert bits == want, f"{template} {dst} <- {sources} {operands}: {bits:#x} != {want:#x}"


engines = pytest.mark.parametrize("engine", ENGINES)
BINARY: dict[str, Oracle] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "avg": lambda x, y: (x + y + 1) >> 1,
    "min": min,
    "max": max,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}


@engines
@pytest.mark.parametrize("second", SMALL, ids=str)
@pytest.mark.parametrize("first", SMALL, ids=str)
@pytest.mark.parametrize("op", BINARY)
def test_binary(op: str, first: Type, second: Type, engine: str) -> None:
    for dst in (UB, W, D, UD) if engine == "interp" else (D,):
        check(engine, f"{op} (M1, 16) {{d}} {{x}} {{y}}", dst, [first, second], BINARY[op])


@engines
@pytest.mark.parametrize("first", SMALL, ids=str)
@pytest.mark.parametrize("op", ["add", "mul", "avg"])
def test_saturation_clamps_the_exact_result(op: str, first: Type, engine: str) -> None:
    for second in (UD, D, first):
        for dst in (UB, B, UW, W, UD, D) if engine == "interp" else (B, UD):
            template = f"{op}.sat (M1, 16) {{d}} {{x}} {{y}}"
            check(engine, template, dst, [first, second], BINARY[op])


@engines
@pytest.mark.parametrize("type", [UQ, Q], ids=str)
def test_add_of_64_bits(type: Type, engine: str) -> None:
    check(engine, "add (M1, 16) {d} {x} {y}", type, [type, type], BINARY["add"])
    check(engine, "add.sat (M1, 16) {d} {x} {y}", type, [type, type], BINARY["add"])
    check(engine, "add (M1, 16) {d} {x} (-){y}", Q, [Q, Q], lambda x, y: x - y)


@engines
@pytest.mark.parametrize("type", SMALL, ids=str)
def test_modifiers_of_short_integers_are_wide(type: Type, engine: str) -> None:
    check(engine, "mov (M1, 16) {d} (-){x}", D, [type], lambda x: -x)
    check(engine, "mov (M1, 16) {d} (abs){x}", UD, [type], abs)
    check(engine, "add (M1, 16) {d} (-abs){x} {y}", D, [type, W], lambda x, y: y - abs(x))
    check(engine, "and (M1, 16) {d} (~){x} {y}", UD, [type, UD], lambda x, y: ~x & y)


@engines
@pytest.mark.parametrize("source", EVERY, ids=str)
@pytest.mark.parametrize("dst", EVERY, ids=str)
def test_mov(dst: Type, source: Type, engine: str) -> None:
    check(engine, "mov (M1, 16) {d} {x}", dst, [source], lambda x: x)
    check(engine, "mov.sat (M1, 16) {d} {x}", dst, [source], lambda x: x)


@engines
@pytest.mark.parametrize("count", [UB, UW, D], ids=str)
@pytest.mark.parametrize("type", EVERY, ids=str)
def test_shifts(type: Type, count: Type, engine: str) -> None:
    modulo = 64 if type.size == 8 else 32
    unsigned = (1 << type.bits) - 1

    def signed(x: int) -> int:
        x &= unsigned
        return x - (1 << type.bits) if x >> (type.bits - 1) else x

    check(engine, "shl (M1, 16) {d} {x} {y}", type, [type, count], lambda x, n: x << n % modulo)
    check(
        engine,
        "shr (M1, 16) {d} {x} {y}",
        type,
        [type, count],
        lambda x, n: (x & unsigned) >> n % modulo,
    )
    check(
        engine,
        "asr (M1, 16) {d} {x} {y}",
        type,
        [type, count],
        lambda x, n: signed(x) >> n % modulo,
    )


@engines
@pytest.mark.parametrize("type", [UW, W, UD, D, UQ, Q], ids=str)
def test_rotates(type: Type, engine: str) -> None:
    def rotate(x: int, n: int) -> int:
        x, n = x & ((1 << type.bits) - 1), n % type.bits
        return x << n | x >> (type.bits - n)

    check(engine, "rol (M1, 16) {d} {x} {y}", type, [type, type], rotate, platform="pvc")
    check(
        engine,
        "ror (M1, 16) {d} {x} {y}",
        type,
        [type, type],
        lambda x, n: rotate(x, -n),
        platform="pvc",
    )


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else -1


@engines
@pytest.mark.parametrize("type", SMALL, ids=str)
def test_division(type: Type, engine: str) -> None:
    """x / 0 is all ones and x % 0 is x; the lowest number over -1 wraps."""
    check(engine, "div (M1, 16) {d} {x} {y}", type, [type, type], quotient)
    check(
        engine,
        "mod (M1, 16) {d} {x} {y}",
        type,
        [type, type],
        lambda x, y: x - y * quotient(x, y) if y else x,
    )


@engines
@pytest.mark.parametrize("second", [UD, D], ids=str)
@pytest.mark.parametrize("first", [UD, D], ids=str)
def test_wide_products(first: Type, second: Type, engine: str) -> None:
    sources = [first, second]
    for dst in (UD, D):
        check(engine, "mulh (M1, 16) {d} {x} {y}", dst, sources, lambda x, y: x * y >> 32)
    check(engine, "mul (M1, 16) {d} {x} {y}", Q, sources, lambda x, y: x * y)
    check(engine, "mul (M1, 16) {d} {x} {y}", UQ, sources, lambda x, y: x * y)


@engines
def test_three_sources(engine: str) -> None:
    for types in ([D, D, D], [UD, UD, UD], [W, W, D], [UB, B, W]):
        for dst in (D, UD, W):
            check(engine, "mad (M1, 16) {d} {x} {y} {z}", dst, types, lambda x, y, z: x * y + z)
            check(
                engine,
                "add3 (M1, 16) {d} {x} {y} {z}",
                dst,
                types,
                lambda x, y, z: x + y + z,
                platform="pvc",
            )
    check(engine, "mad.sat (M1, 16) {d} {x} {y} {z}", D, [D, D, D], lambda x, y, z: x * y + z)


RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


@engines
@pytest.mark.parametrize("second", SMALL, ids=str)
@pytest.mark.parametrize("first", SMALL, ids=str)
def test_comparison_of_values(first: Type, second: Type, engine: str) -> None:
    for name, holds in RELATIONS.items():
        template = f"cmp.{name} (M1, 16) {{d}} {{x}} {{y}}"
        check(engine, template, D, [first, second], lambda x, y, h=holds: -int(h(x, y)))


@engines
@pytest.mark.parametrize("type", [UQ, Q], ids=str)
def test_comparison_of_64_bits(type: Type, engine: str) -> None:
    for name, holds in RELATIONS.items():
        template = f"cmp.{name} (M1, 16) {{d}} {{x}} {{y}}"
        check(engine, template, D, [type, type], lambda x, y, h=holds: -int(h(x, y)))


def highest(x: int) -> int:
    return 32 - (x & 0xFFFFFFFF).bit_length()


@engines
def test_bit_counts(engine: str) -> None:
    none = 0xFFFFFFFF
    check(engine, "lzd (M1, 16) {d} {x}", UD, [UD], highest)
    check(engine, "fbh (M1, 16) {d} {x}", UD, [UD], lambda x: highest(x) if x else none)
    check(
        engine,
        "fbh (M1, 16) {d} {x}",
        UD,
        [D],
        lambda x: none if x in (0, -1) else highest(x if x > 0 else ~x),
    )
    check(engine, "fbl (M1, 16) {d} {x}", UD, [UD], lambda x: (x & -x).bit_length() - 1 & none)
    for type in (UB, UW, UD, D):
        ones = (1 << type.bits) - 1
        check(engine, "cbit (M1, 16) {d} {x}", UD, [type], lambda x, m=ones: (x & m).bit_count())
    check(engine, "bfrev (M1, 16) {d} {x}", UD, [UD], lambda x: int(f"{x:032b}"[::-1], 2))


@engines
def test_bit_fields(engine: str) -> None:
    def extract(w: int, o: int, x: int) -> int:
        return (x & 0xFFFFFFFF) >> o % 32 & ((1 << w % 32) - 1)

    def extract_signed(w: int, o: int, x: int) -> int:
        w, field = w % 32, extract(w, o, x)
        return field - (1 << w) if w and field >> (w - 1) else field

    def insert(w: int, o: int, x: int, base: int) -> int:
        mask = ((1 << w % 32) - 1) << o % 32
        return base & ~mask | x << o % 32 & mask

    check(engine, "bfe (M1, 16) {d} {x} {y} {z}", UD, [UD, UD, UD], extract)
    check(engine, "bfe (M1, 16) {d} {x} {y} {z}", D, [D, D, D], extract_signed)
    check(engine, "bfi (M1, 16) {d} {x} {y} {z} {w}", UD, [UD, UD, UD, UD], insert)


@engines
def test_every_function_of_bfn(engine: str) -> None:
    """All 256 in one kernel, on operands that have every combination of bits."""
    sources = {"x": 0xAAAAAAAA, "y": 0xCCCCCCCC, "z": 0xF0F0F0F0}
    names = [*sources, *(f"d{table}" for table in range(256))]
    lines = [".version 4.1", '.kernel "k"', ".kernel_attr SimdSize=1"]
    lines += [f".decl {name} v_type=G type=ud num_elts=1" for name in names]
    lines += [
        f"    bfn.x{table:02x} (M1, 1) d{table}(0,0)<1> x(0,0)<0;1,0> y(0,0)<0;1,0> z(0,0)<0;1,0>"
        for table in range(256)
    ]
    kernel = parse("\n".join([*lines, "    ret (M1, 1)", ""])).kernels[0]
    before = {name: bits.to_bytes(4, "little") for name, bits in sources.items()}
    after = execute(kernel, before, names[3:], "pvc", ENGINES[engine])
    for table in range(256):
        want = sum((table >> k % 8 & 1) << k for k in range(32))
        assert int.from_bytes(after[f"d{table}"], "little") == want, f"bfn.x{table:02x}"


@engines
def test_dot_product_of_bytes(engine: str) -> None:
    def split(x: int, signed: bool) -> list[int]:
        lanes = [x >> 8 * k & 255 for k in range(4)]
        return [v - 256 if signed and v > 127 else v for v in lanes]

    for left in (UD, D):
        for right in (UD, D):

            def dot(z: int, x: int, y: int, left: Type = left, right: Type = right) -> int:
                a, b = split(x, left is D), split(y, right is D)
                return z + sum(p * q for p, q in zip(a, b, strict=True))

            template = "dp4a (M1, 16) {d} {x} {y} {z}"
            check(engine, template, D, [D, left, right], dot, platform="pvc")
            template = "dp4a.sat (M1, 16) {d} {x} {y} {z}"
            check(engine, template, D, [D, left, right], dot, platform="pvc")
