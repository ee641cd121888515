"""The instruction with which two forms of a kernel begin to differ.

From the store that differs, each form is followed back through what was read: registers, flags,
memory that the group has written, and, where one form is the other with very little changed, the
branches that the thread took.  Of all that, the first instruction is to blame whose result the
other form never has.  In the form that is right it is what the other lacks.  Builds of different
compilers go different ways to the same end: of them the answer is where to look, not proof.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.compare.record import Store
from eumu.compare.report import describe
from eumu.compare.search import Difference, Divergence, compare, text_of
from eumu.compare.sides import Launch, Side
from eumu.compare.watch import Event, Watch, Where
from eumu.exec.blame import source_place
from eumu.ir import Function
from eumu.records import dataclass

_SHOWN = 8  # elements
_EDITED = 2  # instructions


@dataclass(frozen=True, slots=True)
class Suspect:
    """The first instruction of a form whose result the other one never has."""

    side: Side
    function: Function
    event: Event

    @property
    def text(self) -> str:
        """As the program has it."""
        return text_of(self.function, self.event.inst)

    @property
    def place(self) -> str:
        """Where it stands in the text, and which line of the source it comes from."""
        span = self.function.spans[self.event.inst]
        origin = source_place(self.function, self.event.inst)
        source = f", from {origin.file}:{origin.line}" if origin and origin.line else ""
        return f"{span or self.function.name}{source}"


@dataclass(frozen=True, slots=True)
class Blame:
    """Where memory differs, and what began it in each form; None where that has no such store."""

    divergence: Divergence
    suspects: tuple[Suspect | None, Suspect | None]


def blame(
    left: Side, right: Side, launch: Launch, *, rtol: float = 0.0
) -> Blame | Difference | None:
    """As of `compare`; what differs in memory is followed back."""
    difference = compare(left, right, launch, rtol=rtol)
    if not isinstance(difference, Divergence) or not any(difference.traces):
        return difference
    threads = [None if trace is None else trace.store.thread for trace in difference.traces]
    some = next(t for t in threads if t is not None)
    watches = [
        _watched(side, launch, some if thread is None else thread)
        for side, thread in zip(difference.sides, threads, strict=True)
    ]
    is_same = _are_alike(*watches)
    suspects: list[Suspect | None] = []
    for k, trace in enumerate(difference.traces):
        watch, other = watches[k], watches[1 - k]
        first = None
        if trace is not None and watch.function is not None:
            first = _first_new(watch, other, trace.store, is_same=is_same)
        event = first and Suspect(difference.sides[k], watch.function, first)  # type: ignore[arg-type]
        suspects.append(event or None)
    return Blame(difference, (suspects[0], suspects[1]))


def _first_new(watch: Watch, other: Watch, store: Store, *, is_same: bool) -> Event | None:
    """The first result that a store depends on and that the other form never has.

    Builds of other options have other addresses: of them, data are looked at first.
    """
    known = _Known(watch, other, is_same=is_same)
    for addresses in (True,) if is_same else (False, True):
        chain = _chain(watch.events, store.number, store.thread, ways=is_same, addresses=addresses)
        if (first := next(_new(chain, known), None)) is not None:
            return first
    return None


def _watched(side: Side, launch: Launch, thread: int) -> Watch:
    record = side.run(launch, thread, Watch).record
    assert isinstance(record, Watch)
    return record


def _are_alike(left: Watch, right: Watch) -> bool:
    """Whether lanes and blocks can be compared by number: one program was made of the other by
    changing, adding or leaving out very little."""
    shapes = [
        (f.width, len(f.blocks), f.grf_bytes)
        for w in (left, right)
        if (f := w.function) is not None
    ]
    if shapes[0] != shapes[-1]:
        return False
    pairs = zip(left.order, right.order, strict=True)
    return sum(abs(len(a) - len(b)) for a, b in pairs) <= _EDITED


# ---- back through what was read


class _Wanted:
    """Bytes whose value is asked for."""

    def __init__(self) -> None:
        self._roots: dict[tuple[int, str], NDArray[np.bool_]] = {}
        self._memory: defaultdict[Where, set[int]] = defaultdict(set)

    def add(self, event: Event, *, addresses: bool) -> None:
        """What an event has read, without or with what are only addresses of memory."""
        for part in event.access.reads if addresses else event.access.data:
            self._root(event.thread, part.root, int(part.columns.max()) + 1)[part.columns] = True
        for where, at, size in event.loaded:
            self._memory[where].update(range(at, at + size))

    def take(self, event: Event) -> set[int]:
        """Which values of an event are some of it; what was written as a whole is not asked for any
        more.
        """
        taken, writes = set(), list(event.writes)
        for k, part in enumerate(writes):
            end = int(part.columns.max()) + 1
            root = self._root(event.thread, part.root, end)
            if root[part.columns].any():
                taken.add(k)
                if part.whole and event.is_full:
                    root[part.columns] = False
        for k, (where, at, size) in enumerate(event.stored, len(writes)):
            wanted = self._memory.get(where)
            if wanted and not wanted.isdisjoint(range(at, at + size)):
                taken.add(k)
                wanted.difference_update(range(at, at + size))
        return taken

    def _root(self, thread: int, name: str, end: int) -> NDArray[np.bool_]:
        wanted = self._roots.get((thread, name), np.zeros(0, bool))
        if len(wanted) < end:
            wanted = np.concatenate([wanted, np.zeros(end - len(wanted), bool)])
            self._roots[thread, name] = wanted
        return wanted


@dataclass(frozen=True, slots=True)
class _Link:
    """An event that a store depends on, and which of its values the store depends on."""

    event: Event
    values: frozenset[int]


def _chain(
    events: Sequence[Event], number: int, thread: int, *, ways: bool, addresses: bool
) -> list[_Link]:
    """The events that a store depends on, in the order in which they were, with it."""
    at = next((k for k, e in enumerate(events) if e.thread == thread and number in e.stores), None)
    if at is None:
        return []
    last = events[at]
    wanted, threads = _Wanted(), {thread}
    chain = [_Link(last, frozenset(range(len(last.values))))]
    wanted.add(last, addresses=addresses)
    for event in reversed(events[:at]):
        is_way = ways and bool(event.way) and event.thread in threads
        if (taken := wanted.take(event)) or is_way:
            wanted.add(event, addresses=addresses)
            threads.add(event.thread)
            chain.append(_Link(event, frozenset(taken)))
    return chain[::-1]


# ---- what the other form has


class _Known:
    """The results of the other form.

    Where both have the same blocks, they are held against each other at the same place and time;
    in a block of which one form has more instructions, a result may be anywhere.  Where lanes lie
    otherwise, its elements may.
    """

    def __init__(self, watch: Watch, other: Watch, *, is_same: bool) -> None:
        self._is_same = is_same
        self._results = {event.result for event in other.events}
        self._at = {_time(event): (event.result, event.way) for event in other.events}
        self._alike: set[int] = set()
        self._elements: set[int] = set()
        if is_same:
            pairs = enumerate(zip(watch.order, other.order, strict=True))
            self._alike = {k for k, (a, b) in pairs if len(a) == len(b)}
        else:
            self._elements = {x for event in other.events for x in _elements(event.values)}

    def has(self, link: _Link) -> bool:
        event = link.event
        if not self._is_same:
            # The first instruction has what threads begin with, too: only what is wanted counts.
            values = (v for k, v in enumerate(event.values) if k in link.values)
            return all(x in self._elements for x in _elements(values))
        if event.block in self._alike:
            return self._at.get(_time(event)) == (event.result, event.way)
        return event.result in self._results


def _time(event: Event) -> tuple[int, int, int, int]:
    return event.thread, event.block, event.visit, event.number


def _elements(values: Iterable[tuple[int, bytes]]) -> Iterator[int]:
    """What was written as numbers with a sign: builds hold them in types of any width."""
    for size, data in values:
        for k in range(0, len(data), size):
            yield int.from_bytes(data[k : k + size], "little", signed=True)


def _new(chain: Sequence[_Link], seen: _Known) -> Iterator[Event]:
    """Those whose result is not known, in the order in which they were."""
    return (link.event for link in chain if not seen.has(link))


# ---- in words


def tell(result: Blame | Difference) -> str:
    """What differs, and what began it."""
    if not isinstance(result, Blame):
        return describe(result)
    lines = [describe(result.divergence)]
    if not any(result.suspects):
        return "\n".join([*lines, "each result that leads there is in both forms"])
    lines.append("the first result that leads there and that the other form never has:")
    for side, suspect in zip(result.divergence.sides, result.suspects, strict=True):
        if suspect is None:
            lines.append(f"  {side.label}: none")
            continue
        lines.append(f"  {side.label}: thread {suspect.event.thread}, {suspect.place}")
        lines.append(f"    > {suspect.text}")
        lines += [f"      {text}" for text in _values(suspect)]
    return "\n".join(lines)


def _values(suspect: Suspect) -> Iterator[str]:
    names = [part.root for part in suspect.event.writes]
    names += ["memory"] * len(suspect.event.stored)
    for name, (size, data) in list(zip(names, suspect.event.values, strict=True))[:_SHOWN]:
        kind: Any = f"<u{size}" if size in (1, 2, 4, 8) else np.uint8
        shown = [f"{x:#x}" for x in np.frombuffer(data, kind)[:_SHOWN].tolist()]
        yield f"{name}: {' '.join(shown)}{' …' if len(data) > _SHOWN * size else ''}"
