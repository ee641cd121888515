"""Every lane operation on integers and masks against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.types import BOOL, DF, HF, INTEGERS, UD, UQ, UW, B, D, F, Q, Type, W
from exec.launching import RNE, Kernel, launch


def lanes_of(type: Type) -> list[int]:
    low, high, bits = type.minimum, type.maximum, type.bits
    values = {0, 1, 2, 3, 5, 7, bits - 1, bits, bits + 1, high, high - 1, low, low + 1, high // 2}
    values |= {0x55 & high, high // 3}
    if type.is_signed:
        values |= {-1, -2, -3, -7, -bits}
    return sorted(v for v in values if low <= v <= high)


def wrap(type: Type, value: int) -> int:
    value &= (1 << type.bits) - 1
    return value - (1 << type.bits) if value > type.maximum else value


def raw(type: Type, value: int) -> int:
    return value & ((1 << type.bits) - 1)


def truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return -quotient if (x < 0) != (y < 0) else quotient


BINARY: dict[str, Callable[[Type, int, int], int]] = {
    "add": lambda t, x, y: x + y,
    "sub": lambda t, x, y: x - y,
    "mul": lambda t, x, y: x * y,
    "div": lambda t, x, y: truncated(x, y) if y else -1,
    "rem": lambda t, x, y: x - truncated(x, y) * y if y else x,
    "and_": lambda t, x, y: x & y,
    "or_": lambda t, x, y: x | y,
    "xor": lambda t, x, y: x ^ y,
    "shl": lambda t, x, y: x << y % t.bits,
    "shr": lambda t, x, y: x >> y % t.bits,
    "rotl": lambda t, x, y: raw(t, x) << y % t.bits | raw(t, x) >> (t.bits - y % t.bits),
    "min": lambda t, x, y: min(x, y),
    "max": lambda t, x, y: max(x, y),
}
UNARY: dict[str, Callable[[Type, int], int]] = {
    "not_": lambda t, x: ~x,
    "neg": lambda t, x: -x,
    "abs": lambda t, x: abs(x),
    "popcount": lambda t, x: raw(t, x).bit_count(),
    "clz": lambda t, x: t.bits - raw(t, x).bit_length(),
    "ctz": lambda t, x: (raw(t, x) & -raw(t, x)).bit_length() - 1 if x else t.bits,
    "bitreverse": lambda t, x: int(f"{raw(t, x):0{t.bits}b}"[::-1], 2),
}
ROUNDED = {"add", "sub", "mul", "div"}


def apply(
    build: Callable[[Kernel, list[Any]], Any],
    inputs: list[tuple[Type, list[int]]],
    target: Type,
) -> list[int]:
    """Load one lane of each input per work item, compute, and give back the results."""
    count = len(inputs[0][1])
    k = Kernel()
    index = k.item(16)
    args = [k.input(n, index, type) for n, (type, _) in enumerate(inputs)]
    k.result(len(inputs), index, build(k, args))
    k.end()
    padded = -(-count // 16) * 16
    arrays: list[NDArray[Any]] = []
    for type, values in inputs:
        arrays.append(np.array([*values, *[1] * (padded - count)], type.dtype))
    arrays.append(np.zeros(padded, target.dtype))
    host, _ = launch(k, arrays, groups=padded // 16)
    result: list[int] = host.read(len(inputs)).tolist()
    return result[:count]


@pytest.mark.parametrize("type", INTEGERS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, type: Type) -> None:
    pairs = [(x, y) for x in lanes_of(type) for y in lanes_of(type)]
    rounding = {"rounding": RNE} if name in ROUNDED else {}
    got = apply(
        lambda k, args: getattr(k.b, name)(*args, **rounding),
        [(type, [x for x, _ in pairs]), (type, [y for _, y in pairs])],
        type,
    )
    want = [wrap(type, BINARY[name](type, x, y)) for x, y in pairs]
    assert dict(zip(pairs, got, strict=True)) == dict(zip(pairs, want, strict=True))


@pytest.mark.parametrize("type", INTEGERS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, type: Type) -> None:
    xs = lanes_of(type)
    got = apply(lambda k, args: getattr(k.b, name)(*args), [(type, xs)], type)
    assert got == [wrap(type, UNARY[name](type, x)) for x in xs]


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", INTEGERS, ids=str)
@pytest.mark.parametrize("saturate", [False, True])
def test_integer_conversion(source: Type, target: Type, saturate: bool) -> None:
    if source is target:
        return
    xs = lanes_of(source)
    got = apply(
        lambda k, args: k.b.convert(args[0], target, saturate=saturate, rounding=RNE),
        [(source, xs)],
        target,
    )
    clamped = [min(max(x, target.minimum), target.maximum) for x in xs]
    assert got == (clamped if saturate else [wrap(target, x) for x in xs])


RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
REALS = [0.0, -0.0, 1.0, -1.0, 1.5, float("inf"), -float("inf"), float("nan"), 0.125]


@pytest.mark.parametrize("type", [*INTEGERS, HF, F, DF], ids=str)
@pytest.mark.parametrize("rel", RELATIONS)
def test_comparison_and_selection(rel: str, type: Type) -> None:
    lanes: list[Any] = REALS if type.is_float else lanes_of(type)
    pairs = [(x, y) for x in lanes for y in lanes]

    def build(k: Kernel, args: list[Any]) -> Any:
        return k.b.select(k.b.cmp(rel, *args), k.number(D, 7), k.number(D, -7))

    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    got = apply(build, [(type, xs), (type, ys)], D)
    assert got == [7 if RELATIONS[rel](x, y) else -7 for x, y in pairs]


@pytest.mark.parametrize("type", [HF, F, DF], ids=str)
def test_float_minimum_and_maximum_choose_the_number(type: Type) -> None:
    pairs: list[tuple[Any, Any]] = [(x, y) for x in REALS for y in REALS]
    inputs: list[tuple[Type, Any]] = [(type, [x for x, _ in pairs]), (type, [y for _, y in pairs])]
    for name, holds in (("min", lambda x, y: x < y), ("max", lambda x, y: x >= y)):
        got = apply(lambda k, args, name=name: getattr(k.b, name)(*args), inputs, type)
        want = [x if holds(x, y) or y != y else y for x, y in pairs]
        stored = np.array(want, type.dtype).tolist()
        assert [repr(v) for v in got] == [repr(v) for v in stored]


@pytest.mark.parametrize(("type", "bits"), [(HF, 16), (F, 32), (DF, 64)])
def test_neg_and_abs_keep_every_bit_of_a_nan(type: Type, bits: int) -> None:
    integer = {16: UW, 32: UD, 64: UQ}[bits]
    sign = 1 << (bits - 1)
    patterns = [0, sign, 1, sign | 1, sign - 1, 2 * sign - 1, sign - 2, (sign - 1) ^ 1 << 3]
    for name, want in (("neg", lambda x: x ^ sign), ("abs", lambda x: x & (sign - 1))):
        got = apply(
            lambda k, args, name=name: k.b.bitcast(
                getattr(k.b, name)(k.b.bitcast(args[0], type)), integer
            ),
            [(integer, patterns)],
            integer,
        )
        assert got == [want(x) for x in patterns]


def test_masks_combine_like_booleans() -> None:
    cases = [(x, y) for x in (0, 1) for y in (0, 1)]

    def build(k: Kernel, args: list[Any]) -> Any:
        zero = k.number(D, 0)
        x, y = k.b.cmp("ne", args[0], zero), k.b.cmp("ne", args[1], zero)
        total = zero
        for place, mask in enumerate(
            [k.b.and_(x, y), k.b.or_(x, y), k.b.xor(x, y), k.b.not_(x), k.b.select(x, y, x),
             k.b.and_(k.true(), y), k.b.or_(x, k.true()), k.b.xor(k.true(), y)]
        ):  # fmt: skip
            bit = k.b.select(mask, k.number(D, 1 << place), zero)
            total = k.b.or_(total, bit)
        return total

    got = apply(build, [(D, [x for x, _ in cases]), (D, [y for _, y in cases])], D)
    want = [
        (x & y) | (x | y) << 1 | (x ^ y) << 2 | (1 - x) << 3 | (y if x else x) << 4
        | y << 5 | 1 << 6 | (1 - y) << 7
        for x, y in cases
    ]  # fmt: skip
    assert got == want


def run_lanes(build: Callable[[Kernel], Any], type: Type, width: int = 16) -> list[int]:
    """The lanes of one value, from a kernel of one thread."""
    k = Kernel(width=width)
    k.result(0, k.lane(), build(k))
    k.end()
    host, _ = launch(k, [np.zeros(width, type.dtype)], local=width)
    return list(host.read(0).tolist())


@pytest.mark.parametrize(
    "order",
    [
        list(range(15, -1, -1)),
        [0] * 16,
        [5] * 8 + [3] * 8,
        list(range(0, 16, 2)) + list(range(1, 16, 2)),
        list(range(8, 16)) + list(range(8)),
    ],
)
def test_shuffle_and_concat(order: list[int]) -> None:
    got = run_lanes(lambda k: k.b.shuffle(k.mul(k.lane(), k.number(UD, 3)), order), UD)
    assert got == [3 * lane for lane in order]
    parts = run_lanes(
        lambda k: k.b.concat([k.b.slice(k.local_id(), 12, 4), k.b.shuffle(k.lane(), order[:12])]),
        UD,
    )
    assert parts == [12, 13, 14, 15, *order[:12]]


def test_concat_of_uniform_and_constant_lanes() -> None:
    got = run_lanes(
        lambda k: k.b.concat([k.b.slice(k.group_id(), 0, 7), k.b.const(UD, 9, 8), k.lanes(UD, 4)]),
        UD,
    )
    assert got == [0] * 7 + [9] * 8 + [4]


def test_bitcast_changes_the_number_of_lanes() -> None:
    got = run_lanes(
        lambda k: k.b.bitcast(k.lanes(UQ, *[n << 32 | (n + 100) for n in range(8)]), UD), UD
    )
    assert got == [v for n in range(8) for v in (n + 100, n)]
    halves = run_lanes(
        lambda k: k.b.convert(
            k.b.slice(k.b.bitcast(k.b.const(UD, 0x8001_0002, 16), W), 3, 16), D, rounding=RNE
        ),
        D,
    )
    assert halves == [-32767, 2] * 8


def test_masks_and_bits() -> None:
    def through_bits(k: Kernel) -> Any:
        low = k.b.cmp("lt", k.local_id(), k.number(UD, 5))
        bits = k.b.mask_bits(low)
        flipped = k.b.xor(bits, k.lanes(UD, 0x8001))
        return k.b.select(k.b.bits_mask(flipped, 16), k.number(UD, 1), k.number(UD, 0))

    assert run_lanes(through_bits, UD) == [0, 1, 1, 1, 1, *[0] * 10, 1]
    assert run_lanes(lambda k: k.b.splat(k.b.mask_bits(k.true(7)), 16), UD) == [127] * 16


@pytest.mark.parametrize(("bound", "any_", "all_"), [(0, 0, 0), (1, 1, 0), (15, 1, 0), (16, 1, 1)])
def test_any_and_all(bound: int, any_: int, all_: int) -> None:
    def build(k: Kernel) -> Any:
        mask = k.b.cmp("lt", k.local_id(), k.number(UD, bound))
        one, zero = k.lanes(UD, 1), k.lanes(UD, 0)
        some = k.b.select(k.b.any(mask), one, zero)
        every = k.b.select(k.b.all(mask), one, zero)
        return k.b.splat(k.b.or_(some, k.b.shl(every, one)), 16)

    assert run_lanes(build, UD) == [any_ | all_ << 1] * 16


@pytest.mark.parametrize("type", [B, W, Q], ids=str)
def test_constants_have_the_lanes_given(type: Type) -> None:
    patterns = [n * 37 & 0xFF for n in range(16)]
    want = np.array(patterns, np.uint64).astype(type.dtype).tolist()
    assert run_lanes(lambda k: k.lanes(type, *patterns), type) == want
    assert BOOL.size == 0
