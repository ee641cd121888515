"""Which roots a call must put aside, because its callee may be active already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from eumu.ir.function import Function, Root, Terminator
from eumu.ir.operations.ends import AnyCall
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Procedure:
    """A stack-called function: blocks `first` … `last`-1, and the roots that are its own."""

    first: int
    last: int
    roots: tuple[Root, ...]


def save_roots(function: Function, procedures: Sequence[Procedure]) -> None:
    """Set `saves` of every call whose callee can lead back to where the call stands."""
    entered = {p.first: p for p in procedures}
    callees = {p.first: set(_callees(function, p, entered)) for p in procedures}
    reached = {first: _closure(first, callees) for first in callees}
    for procedure in procedures:
        for index in range(procedure.first, procedure.last):
            end = function.blocks[index].end
            roots: list[Root] = []
            for target in _called(end, entered):
                if procedure.first in reached[target]:
                    roots += entered[target].roots
            if isinstance(end, AnyCall) and roots:
                function.blocks[index].end = replace(end, saves=tuple(roots))


def _called(end: Terminator | None, entered: dict[int, Procedure]) -> tuple[int, ...]:
    """The procedures that a terminator may call; a subroutine of the same procedure is none."""
    if not isinstance(end, AnyCall):
        return ()
    return tuple(target for target in end.targets[:-1] if target in entered)


def _callees(
    function: Function, procedure: Procedure, entered: dict[int, Procedure]
) -> Iterator[int]:
    for index in range(procedure.first, procedure.last):
        yield from _called(function.blocks[index].end, entered)


def _closure(first: int, callees: dict[int, set[int]]) -> set[int]:
    """The procedure and everything that it may call, directly or not."""
    seen, pending = {first}, [first]
    while pending:
        fresh = callees[pending.pop()] - seen
        seen |= fresh
        pending += fresh
    return seen
