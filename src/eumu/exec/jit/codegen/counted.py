"""Counted turns: a thread that runs by itself checks what a loop loads once for many turns, too.

In front of the first turn the loads of the loop's first block are checked, and it is computed for
how many turns all of them stay inside, as in `turns`.  The block has two versions.  In so many
turns the first one runs, whose loads have no checks; then the other one, where each load has its
own, so a fault is found where it always is.  Lanes that have left the loop do not matter.

That pays where a turn compares lanes with the form that they probably have: a dozen instructions.
Where there are only extents to be compared with, short loops lose what long ones gain.
"""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.analysis import turns as found_turns
from eumu.exec.jit.analysis.turns import Loop
from eumu.exec.jit.codegen import fetching, observed, updates
from eumu.exec.jit.codegen.checks import check, conjunction, reach
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.merged import LEAST, local_accesses, two_versions
from eumu.exec.jit.codegen.turns import MOST, Checked, early, limits
from eumu.exec.jit.llvm.lanes import AffineForm
from eumu.exec.jit.llvm.layout import SiteWord
from eumu.records import dataclass

_MOST_OPERATIONS: Final = 500  # of a block that is worth two versions


@dataclass(frozen=True, slots=True)
class _Load:
    """A load and stack variables: its address in the first turn, and by how much it grows."""

    checked: Checked
    heads: tuple[str, ...]
    step: str


@dataclass(slots=True)
class _Counted:
    """A loop; stack variables of this turn's number, and of how many are checked."""

    loop: Loop
    turn: str
    count: str
    loads: tuple[_Load, ...] = ()


def declare(k: KernelLowering) -> None:
    """Find the loops that may be counted."""
    if k.untouched or k.facts.is_long:
        return
    for loop in found_turns.find(k.function, k.facts, partial=True):
        header = loop.blocks[0]
        block = k.function.blocks[header]
        is_ahead = any(b == header for b, _ in k.ahead)
        likely = k.analysis.likely.get(header)
        if likely is None or not likely.roots():
            continue
        is_short = len(block.ops) <= _MOST_OPERATIONS and len(local_accesses(block)) < LEAST
        apart = observed.deferred(k, header) or updates.deferred(k, header)
        if is_short and not is_ahead and not apart:
            k.counted[header] = _Counted(loop, k.e.alloca("i64", "0"), k.e.alloca("i64", "0"))


def loops(k: KernelLowering) -> set[tuple[int, int]]:
    """Ways back to the start of a loop, where turns are counted on."""
    return {(x.loop.blocks[-1], header) for header, x in k.counted.items()}


def begin(k: KernelLowering, header: int) -> bool:
    """At the start of a loop: check what its next turns load; whether there is something."""
    x: _Counted | None = k.counted.get(header)
    if x is None:
        return False
    k.shared_sites, start, label = {}, len(k.e.lines), k.e.current_label()
    found = early(k, x.loop, partial=True)
    if all(load.affine.sure == "true" for load in found):
        k.e.rewind(start, label)
        k.shared_sites = None
        del k.counted[header]
        return False
    e, fine, more = k.e, "true", str(MOST)
    for load in found:
        k.place = load.place
        addresses, (_, total) = list(load.affine.scalars), reach(load.access, load.affine.shape)
        is_fetched = len(addresses) == 1 and fetching.is_worth_it(k, load.access, total)
        word = SiteWord.SMALL_SPAN if is_fetched else SiteWord.WHOLE_SPAN
        ok, _ = check(k, load.access, load.affine, addresses, word)
        for condition in (ok, *sorted(set(load.sure) - {"true"})):
            fine = conjunction(e, fine, condition)
        for limit in limits(k, load, addresses):
            more = e.intrinsic("umin", "i64", more, limit)
    count = e.op(f"select i1 {fine}, i64 {e.op(f'add i64 {more}, 1')}, i64 0")
    e.do(f"store i64 {count}, ptr {x.count}")
    e.do(f"store i64 0, ptr {x.turn}")
    x.loads = tuple(_kept(k, load) for load in found)
    return True


def _kept(k: KernelLowering, load: Checked) -> _Load:
    def variable(text: str) -> str:
        name = k.e.alloca("i64", "0")
        k.e.do(f"store i64 {text}, ptr {name}")
        return name

    return _Load(load, tuple(variable(h) for h in load.affine.scalars), variable(load.step))


def lower(k: KernelLowering, index: int) -> bool:
    """Emit the first block of such a loop."""
    x: _Counted | None = k.counted.get(index)
    if x is None:
        return False
    e = k.e
    turn = e.op(f"load i64, ptr {x.turn}")
    e.do(f"store i64 {e.op(f'add i64 {turn}, 1')}, ptr {x.turn}")
    fine = e.op(f"icmp ult i64 {turn}, {e.op(f'load i64, ptr {x.count}')}")
    for load in x.loads:
        way = e.op(f"mul i64 {turn}, {e.op(f'load i64, ptr {load.step}')}")
        starts = [e.op(f"load i64, ptr {name}") for name in load.heads]
        heads = tuple(e.op(f"add i64 {start}, {way}") for start in starts)
        k.assured[index, load.checked.place] = AffineForm(load.checked.affine.shape, heads)
    two_versions(k, index, fine)
    k.assured, k.shared_sites = {}, None
    return True
