"""Lanes that are clamped to a number keep their affine form where none is beyond it.

Numbers are at, below and above each end of the lanes, and lanes wrap at both ends of their type.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.errors import Fault
from eumu.ir import Space
from eumu.types import UB, UD, UQ, UW, B, D, Q, Type, W
from exec.launching import RNE, Kernel, on_both

WIDTH: Final = 16
MIDDLE: Final = 64  # elements of an array before the one that is meant
KINDS: Final = {UB: "u1", B: "i1", UW: "u2", W: "i2", UD: "u4", D: "i4", UQ: "u8", Q: "i8"}


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")


def numbers(type: Type, step: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """First lanes and what they are clamped to, one of each for a group."""
    reach, size = step * (WIDTH - 1), 1 << type.bits
    far = abs(reach)
    firsts = {type.minimum + d for d in (0, 1, far - 1, far, far + 1)}
    firsts |= {type.maximum - d for d in (0, 1, far - 1, far, far + 1)} | {0, 30}
    pairs = [
        (first % size, (end + d) % size)
        for first in sorted(firsts)
        for end in (first, first + reach)
        for d in (-1, 0, 1)
    ]
    raw = np.array(pairs, np.uint64).astype(f"u{type.size}").view(KINDS[type])
    return raw[:, 0].copy(), raw[:, 1].copy()


def clamped(name: str, type: Type, step: int, *, is_swapped: bool, is_loop: bool) -> Kernel:
    """Array 2 = clamped lanes; array 3 = what it had so far from the first lane."""
    k = Kernel("start", "loop", "end", width=WIDTH)
    k.root("TURN", 4 * WIDTH)
    constants = [step * n % (1 << type.bits) for n in range(WIDTH)]
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "loop")
    k.at("loop")
    group = k.group_id()
    first, limit = (k.input(n, group, type) for n in (0, 1))
    lanes = k.add(first, k.lanes(type, *constants))
    y = getattr(k.b, name)(*((limit, lanes) if is_swapped else (lanes, limit)))
    k.result(2, k.item(WIDTH), y)
    distance = k.b.convert(k.b.sub(y, first, RNE), UD, rounding=RNE)
    low = k.b.and_(k.add(distance, k.number(UD, MIDDLE)), k.number(UD, 2 * MIDDLE - 1))
    place = k.address(3, k.add(low, k.mul(group, k.number(UD, 2 * MIDDLE))), 4)
    (old,) = k.b.load(Space.FLAT, place, k.mask(), UD)
    k.b.store(Space.FLAT, place, k.mask(), [k.add(old, k.number(UD, 1))])
    if is_loop:
        turn = k.add(k.get("TURN"), k.number(UD, 1))
        k.put("TURN", turn)
        k.go("diverge", "loop", "end", mask=k.b.cmp("lt", turn, k.number(UD, 3)))
    else:
        k.go("jump", "end")
    k.at("end")
    k.end()
    return k


@pytest.mark.parametrize("is_loop", [False, True])
@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("type", KINDS, ids=str)
def test_limits(type: Type, name: str, is_loop: bool) -> None:
    for step, is_swapped in ((1, False), (-3, True)):
        first, limit = numbers(type, step)
        out = np.zeros((len(first), WIDTH), KINDS[type])
        counts = np.zeros((len(first), 2 * MIDDLE), np.uint32)
        k = clamped(name, type, step, is_swapped=is_swapped, is_loop=is_loop)
        host = on_both(k, [first, limit, out, counts], len(first), WIDTH)
        distances = np.array([step * n % (1 << type.bits) for n in range(WIDTH)], np.uint64)
        with np.errstate(over="ignore"):
            lanes = first[:, None] + distances.astype(f"u{type.size}").view(KINDS[type])
        expected = (np.minimum if name == "min" else np.maximum)(lanes, limit[:, None])
        np.testing.assert_array_equal(host.read(2), expected)


def picture(width: int) -> Kernel:
    """Array 1 = the right neighbours in array 0, whose last one is its own; addresses as they are
    made of signed coordinates."""
    k = Kernel(width=WIDTH)
    x = k.b.convert(k.item(WIDTH), D, rounding=RNE)
    right = k.b.min(k.add(x, k.number(D, 1)), k.number(D, width - 1))
    k.inst(1)
    k.result(1, k.item(WIDTH), k.input(0, right, UD))
    k.end()
    return k


@pytest.mark.parametrize("lanes", [WIDTH, WIDTH - 1, 1])
def test_pictures(lanes: int) -> None:
    """Of the threads of a launch the last one clamps a lane, or only lanes that are off."""
    groups = 8
    data = np.arange(WIDTH * groups, dtype=np.uint32) + 7
    width = WIDTH * (groups - 1) + lanes
    host = on_both(picture(width), [data, np.zeros_like(data)], groups, lanes)
    read = host.read(1).reshape(groups, WIDTH)[:, :lanes]
    places = np.arange(WIDTH * groups).reshape(groups, WIDTH)[:, :lanes]
    np.testing.assert_array_equal(read, data[np.minimum(places + 1, width - 1)])


@pytest.mark.parametrize("missing", [1, 5, WIDTH - 1])
def test_a_fault_has_its_lanes(missing: int) -> None:
    """A picture that is as wide as it says but for some elements."""
    data = np.arange(4 * WIDTH, dtype=np.uint32)
    with pytest.raises(Fault, match="load of 4 bytes") as raised:
        on_both(picture(4 * WIDTH), [data[:-missing], np.zeros_like(data)], 4, WIDTH)
    assert raised.value.group == (3, 0, 0)
    assert raised.value.lanes == tuple(range(WIDTH - missing - 1, WIDTH))


def test_two_rows_of_a_group() -> None:
    """A thread has two rows of a group of 8 by 2: each is clamped by itself."""
    k = Kernel(width=WIDTH)
    x, y = (k.b.convert(k.get(n, UW), D, rounding=RNE) for n in "XY")
    column = k.b.max(k.b.sub(x, k.number(D, 1), RNE), k.number(D, 0))
    place = k.add(
        k.mul(y, k.number(D, 8)), k.mul(k.b.convert(k.group_id(), D, rounding=RNE), k.number(D, 16))
    )
    k.result(1, k.add(place, x), k.input(0, k.add(place, column), UD))
    k.end()
    data = np.arange(64, dtype=np.uint32)
    host = on_both(k, [data, np.zeros_like(data)], 4, (8, 2, 1))
    rows = data.reshape(8, 8)
    np.testing.assert_array_equal(host.read(1).reshape(8, 8), rows[:, [0, 0, 1, 2, 3, 4, 5, 6]])
