"""Lanes that are one number apart are compared with one number by their first or last one.

Limits are at, below and above each end of the lanes, and lanes wrap at both ends of their type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.exec.jit.codegen import one_way
from eumu.ir import RootKind, Value
from eumu.types import BOOL, UB, UD, UQ, UW, B, D, Q, Type, W
from exec.launching import Kernel, on_both

WIDTH: Final = 16
RELATIONS: Final = ("lt", "le", "gt", "ge", "eq", "ne")
COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
KINDS: Final = {UB: "u1", B: "i1", UW: "u2", W: "i2", UD: "u4", D: "i4", UQ: "u8", Q: "i8"}
Mask = Callable[[Kernel, Value, Value], Value]  # of lanes and a limit


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """What scalars said of masks."""
    found: list[str | None] = []
    every = one_way.every

    def noted(*args: Any) -> str | None:
        found.append(every(*args))
        return found[-1]

    monkeypatch.setattr(one_way, "every", noted)
    return found


def numbers(type: Type, step: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """First lanes and limits, one of each for a group."""
    reach, size = step * (WIDTH - 1), 1 << type.bits
    ends = (type.minimum, type.maximum, 0, 40)
    firsts = {e + d for e in ends for d in (-abs(reach) - 1, -abs(reach), -abs(reach) + 1, -1, 0)}
    firsts |= {type.minimum + abs(reach) + d for d in (-1, 0, 1)}
    pairs = [
        (first, limit)
        for first in sorted(firsts)
        for end in (first, first + reach)
        for limit in (end - 1, end, end + 1)
    ]
    pairs += [(first, limit) for first in sorted(firsts) for limit in ends[:2]]
    raw = np.array([[n % size for n in pair] for pair in pairs], np.uint64)
    kinds = raw.astype(f"u{type.size}").view(KINDS[type])
    return kinds[:, 0].copy(), kinds[:, 1].copy()


def kernel(type: Type, step: int, mask: Mask, ways: tuple[str, str]) -> Kernel:
    """Result = 1 in lanes that go to `then`, else 2."""
    k = Kernel("start", "then", "else", "end", width=WIDTH)
    k.root("FLAG", 32, RootKind.FLAG)
    k.root("V", 4 * WIDTH)
    group, constants = k.group_id(), [step * n % (1 << type.bits) for n in range(WIDTH)]
    lanes = k.add(k.input(0, group, type), k.lanes(type, *constants))
    k.go("diverge", *ways, mask=mask(k, lanes, k.input(1, group, type)))
    for label, number in (("then", 1), ("else", 2)):
        k.at(label)
        k.result(2, k.item(WIDTH), k.number(UD, number))
        k.go("jump", "end")
    k.at("end")
    k.end()
    return k


def run(
    type: Type, step: int, mask: Mask, *, is_reversed: bool = False
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Lanes and limits of all groups, and which lanes were in the mask."""
    ways = ("else", "then") if is_reversed else ("then", "else")
    first, limit = numbers(type, step)
    out = np.zeros((len(first), WIDTH), np.uint32)
    host = on_both(kernel(type, step, mask, ways), [first, limit, out], len(first), WIDTH)
    distances = np.array([step * n % (1 << type.bits) for n in range(WIDTH)], np.uint64)
    with np.errstate(over="ignore"):
        lanes = first[:, None] + distances.astype(f"u{type.size}").view(KINDS[type])
    return lanes, limit[:, None], host.read(2) == 1 + is_reversed


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("type", KINDS, ids=str)
def test_limits(type: Type, relation: str, told: list[str | None]) -> None:
    for step, is_swapped in ((1, False), (-3, True), (0, False)):
        is_reversed = step == -3

        def mask(k: Kernel, x: Value, limit: Value, is_swapped: bool = is_swapped) -> Value:
            return k.b.cmp(relation, *((limit, x) if is_swapped else (x, limit)))

        lanes, limit, found = run(type, step, mask, is_reversed=is_reversed)
        sides = (limit, lanes) if is_swapped else (lanes, limit)
        np.testing.assert_array_equal(found, COMPARE[relation](*sides))
    is_ordered = relation not in ("eq", "ne")
    assert [t is not None for t in told] == [
        type.bits <= 32 and (is_ordered or step == 0) for step in (1, -3, 0)
    ]


def through_a_flag(k: Kernel, mask: Value, written: Value | None = None, offset: int = 0) -> Value:
    flag = k.function.roots["FLAG"]
    k.b.write_flag(flag, offset, mask, written or k.mask())
    return k.b.read_flag(flag, 0, WIDTH)


def both(k: Kernel, x: Value, limit: Value) -> Value:
    return k.b.and_(k.b.cmp("lt", x, limit), k.b.cmp("ge", x, k.number(D, (1 << 32) - 20)))


def either(k: Kernel, x: Value, limit: Value) -> Value:
    return k.b.or_(k.b.cmp("gt", x, limit), k.b.cmp("lt", x, k.number(D, (1 << 32) - 20)))


def chosen(k: Kernel, x: Value, limit: Value, numbers: tuple[int, ...] = (-1, 0)) -> Value:
    """As compilers chain conditions: numbers made of masks, and masks of numbers."""
    yes, no = (k.number(D, n % (1 << 32)) for n in numbers)
    k.put("V", k.b.select(k.b.cmp("lt", x, limit), yes, no), k.true())
    inside = k.b.cmp("ge", x, k.number(D, (1 << 32) - 20))
    k.put("V", k.b.select(inside, k.b.neg(k.get("V", D)), k.number(D, 0)), k.true())
    return k.b.cmp("ne", k.get("V", D), k.number(D, 0))


def chosen_otherwise(k: Kernel, x: Value, limit: Value) -> Value:
    """x >= limit or x < -20."""
    zero, one = k.number(D, 0), k.number(D, 1)
    k.put("V", k.b.select(k.b.cmp("lt", x, limit), zero, one), k.true())
    inside = k.b.cmp("lt", x, k.number(D, (1 << 32) - 20))
    k.put("V", k.b.select(inside, one, k.get("V", D)), k.true())
    return k.b.cmp("eq", k.get("V", D), zero)


def partly_written(k: Kernel, x: Value, limit: Value) -> Value:
    """The first lanes of a number are written anew."""
    chosen(k, x, limit)
    half = k.b.const(D, 0, WIDTH // 2)
    k.put("V", half, k.true(WIDTH // 2))
    return k.b.cmp("ne", k.get("V", D), k.number(D, 0))


COMBINED: Final[dict[str, tuple[Mask, Callable[[Any, Any], Any], bool]]] = {
    "and": (both, lambda x, y: (x < y) & (x >= -20), True),
    "not or": (lambda *a: a[0].b.not_(either(*a)), lambda x, y: ~((x > y) | (x < -20)), True),
    "chosen": (chosen, lambda x, y: (x < y) & (x >= -20), True),
    "chosen otherwise": (chosen_otherwise, lambda x, y: (x < y) & (x >= -20), True),
    "always chosen": (lambda *a: chosen(*a, (3, 5)), lambda x, y: (x >= -20) & (y == y), False),
    "chosen and written": (
        partly_written,
        lambda x, y: (x < y) & (x >= -20) & (np.arange(WIDTH) >= 8),
        False,
    ),
    "or": (either, lambda x, y: (x > y) | (x < -20), False),
    "not and": (lambda *a: a[0].b.not_(both(*a)), lambda x, y: ~((x < y) & (x >= -20)), False),
    "flag": (lambda *a: through_a_flag(a[0], both(*a)), lambda x, y: (x < y) & (x >= -20), True),
    "part of a flag": (
        lambda *a: through_a_flag(a[0], both(*a), a[0].lanes(BOOL, *[n < 8 for n in range(WIDTH)])),
        lambda x, y: (x < y) & (x >= -20) & (np.arange(WIDTH) < 8),
        False,
    ),
    "another part of a flag": (
        lambda *a: through_a_flag(a[0], both(*a), offset=16),
        lambda x, y: np.zeros(np.broadcast_shapes(x.shape, y.shape), bool),
        False,
    ),
}


@pytest.mark.parametrize("name", COMBINED)
def test_combined(name: str, told: list[str | None]) -> None:
    mask, expected, is_told = COMBINED[name]
    lanes, limit, found = run(D, 1, mask)
    np.testing.assert_array_equal(found, expected(lanes, limit))
    lanes, limit, found = run(D, 1, mask, is_reversed=True)
    np.testing.assert_array_equal(found, expected(lanes, limit))
    assert told[0] is not None if is_told else told[0] is None


def test_lanes_that_are_off() -> None:
    """The last thread of a group has lanes without work items."""

    def mask(k: Kernel, x: Value, limit: Value) -> Value:
        return k.b.cmp("lt", x, limit)

    first = np.arange(0, 40, dtype=np.int32)
    limit = np.full(40, 24, np.int32)
    k = kernel(D, 1, mask, ("then", "else"))
    for local in (1, 9, WIDTH - 1, WIDTH + 1):
        on_both(k, [first, limit, np.zeros((40, 2 * WIDTH), np.uint32)], 40, local)
