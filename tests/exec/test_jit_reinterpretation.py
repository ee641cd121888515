"""Registers are read in other types than they were written in, whatever pattern their lanes have.

Each kind of pattern is written as each integer type and read, or cast, as every type; what is made
of it (moved, widened, added to, compared, used as lanes of other vectors) is stored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from eumu.ir import Space, Value
from eumu.types import BF, DF, HF, UB, UD, UQ, UW, B, D, F, Q, Type, W
from exec.launching import RNE, Kernel, on_both

WIDTH = 16
SIGNED: dict[Type, Type] = {UB: B, UW: W, UD: D, UQ: Q}
FLOATS: dict[int, tuple[Type, ...]] = {2: (HF, BF), 4: (F,), 8: (DF,)}
# Around them lanes change their sign, or become infinite, a NaN, a number.
HEADS = (0, 0x7FFF_FFF8, 0x7F7F_FFF9, 0xFF7F_FFF9, 0x7FC0_0000, 0xFFFF_FFF8, 0x7BFB_7BFB, 1)


@pytest.fixture(scope="module", autouse=True)
def _no_disk_cache() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_CACHE", "off")
        yield


def ids(k: Kernel, type: Type) -> Value:
    return k.b.convert(k.get("X", UW), type, rounding=RNE)


def head(k: Kernel, type: Type) -> Value:
    """A number for each group, as the type's highest bits."""
    word = k.input(0, k.group_id(), UD)
    if type.bits < 32:
        return k.b.convert(k.b.shr(word, k.number(UD, 32 - type.bits)), type, rounding=RNE)
    wide = k.b.convert(word, type, rounding=RNE)
    return k.b.shl(wide, k.number(type, 32)) if type.bits > 32 else wide


def affine(k: Kernel, type: Type, step: int) -> Value:
    return k.add(head(k, type), k.mul(ids(k, type), k.number(type, step)))


def steep(k: Kernel, type: Type) -> Value:
    """Of known bounds, which only the unsigned type holds."""
    return k.mul(ids(k, type), k.number(type, (type.maximum // 15) | 1))


def constant(k: Kernel, type: Type) -> Value:
    first = type.maximum // 2 - 7
    return k.lanes(type, *((first + n) & type.maximum for n in range(WIDTH)))


def halves(k: Kernel, type: Type) -> Value:
    """Two groups of lanes."""
    low = k.b.shuffle(ids(k, type), tuple(range(8)) * 2)
    return k.add(low, k.b.shuffle(head(k, type), tuple(range(WIDTH))))


PATTERNS: dict[str, Callable[[Kernel, Type], Value]] = {
    "uniform": head,
    "consecutive": lambda k, t: affine(k, t, 1),
    "strided": lambda k, t: affine(k, t, 4),
    "falling": lambda k, t: affine(k, t, -1 & t.maximum),
    "steep": steep,
    "constant": constant,
    "halves": halves,
}


def uses(k: Kernel, x: Value) -> list[Value]:
    """What may be made of a value by its lanes' pattern, or by each lane for itself."""
    type, b = x.type, k.b
    lanes = tuple(range(WIDTH))
    found = [
        x,
        b.shuffle(x, lanes[::-1]),
        b.shuffle(x, (*lanes[8:], *lanes[:8])),
        b.splat(b.shuffle(x, (9,)), WIDTH),
        b.concat([b.shuffle(x, lanes[:8]), b.shuffle(x, lanes[8:])]),
    ]
    third = b.cmp("lt", ids(k, UD), k.number(UD, 5))
    found.append(b.select(third, x, b.shuffle(x, lanes[::-1])))
    for other in (*SIGNED.items(), *((s, u) for u, s in SIGNED.items()), *FLOATS.values()):
        found += [b.bitcast(x, t) for t in other if t.size == type.size and t is not type]
    if type.is_int:
        found += [k.add(x, k.number(type, 3)), b.shl(x, k.number(type, 1))]
        found += [b.convert(x, wide, rounding=RNE) for wide in (UQ, Q, UW)]
    return found


CASES = [(name, branch) for branch in (False, True) for name in PATTERNS]
BRANCHES = ("strided", "steep", "constant")  # the patterns that are written in a branch as well


@pytest.mark.parametrize("type", SIGNED, ids=str)
@pytest.mark.parametrize(("pattern", "branch"), [c for c in CASES if not c[1] or c[0] in BRANCHES])
def test_read_in_every_type(pattern: str, type: Type, branch: bool) -> None:
    k = Kernel("start", "then", "end", width=WIDTH)
    k.root("V", type.size * WIDTH)
    written = PATTERNS[pattern](k, type)
    k.put("V", written, k.true())
    if branch:  # where some lanes execute the pattern is that of those
        k.go(
            "diverge", "then", "end", mask=k.b.cmp("lt", k.mul(*[ids(k, UD)] * 2), k.number(UD, 50))
        )
        k.at("then")
        k.put("V", PATTERNS[pattern](k, type))
    else:
        k.go("jump", "then")
        k.at("then")
    results: list[Value] = []
    for other in (type, SIGNED[type], *FLOATS.get(type.size, ())):
        results += uses(k, k.get("V", other))
    size = 8 * WIDTH * len(HEADS)  # bytes of a result of all groups
    for n, x in enumerate(results):
        place = k.add(k.address(1, k.item(WIDTH), x.type.size), k.number(UQ, n * size))
        k.b.store(Space.FLAT, place, k.mask(), [x])
    k.go("jump", "end")
    k.at("end")
    k.end()
    arrays = [np.array(HEADS, np.uint32), np.zeros(size * len(results), np.uint8)]
    assert on_both(k, arrays, groups=len(HEADS)).read(1).any()
