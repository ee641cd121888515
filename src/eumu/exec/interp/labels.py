"""Labels of values: from which instructions that are not exact each lane of a value comes.

Labels are uint64 that broadcast to [threads, width] as values do, None where there are none.  Roots
have one for each byte (a flag: for each bit), memory has one for each byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from eumu.exec.fidelity import Followed, Sink, labels
from eumu.exec.interp.values import Lanes, Mask, Placed, Run, full
from eumu.exec.race_rows import ATOMIC_WRITE, WRITE
from eumu.exec.state import ThreadState
from eumu.ir import Function, Space
from eumu.ir.operations.memory import Access
from eumu.records import dataclass

Bits = NDArray[np.uint64]
_NONE: Final = np.uint64(0)
_PAGE_BITS: Final = 12
_PAGE: Final = 1 << _PAGE_BITS
_OF_GROUPS: Final = frozenset({Space.SLM, Space.SCRATCH})


class _Request(Protocol):
    """Which lanes of which threads access memory."""

    run: Run
    size: int
    count: int
    address: Lanes

    @property
    def op(self) -> Access: ...
    @property
    def row(self) -> Lanes: ...
    def values(self, x: Lanes) -> Lanes: ...
    def spread(self, flat: Lanes) -> Lanes: ...


@dataclass(slots=True)
class Accessing:
    """The access that is being done: labels of its data, those that lanes have because of where and
    whether they access, and those of what it has loaded."""

    data: Sequence[Bits | None]
    steered: Bits | None = None
    request: _Request | None = None
    loaded: Bits | None = None  # [active lanes, elements]


def root_labels(name: str) -> str:
    """What the labels of a root are called among a thread's arrays."""
    return f"labels of {name}"


class Labels:
    """The labels of a batch of groups."""

    def __init__(self, function: Function, state: ThreadState, followed: Followed) -> None:
        self.followed = followed
        self.own = {inst: np.uint64(bit) for inst, bit in labels(function).items()}
        self.arrays: dict[str, Bits] = {
            root_labels(name): np.zeros(array.shape, np.uint64)
            for name, array in state.roots.items()
        }
        self.labelled: set[str] = set()  # roots that may have some
        self.now = Accessing(())
        self._pages: dict[tuple[Space, int], Bits] = {}

    def start(self) -> None:
        """Other groups begin."""
        for name in self.labelled:
            self.arrays[root_labels(name)][...] = 0
        self.labelled.clear()
        self._pages = {key: page for key, page in self._pages.items() if key[0] not in _OF_GROUPS}

    # ---- what steers

    def use(self, inst: int, sink: Sink, labels: Bits | None, mask: Mask | None, run: Run) -> None:
        """Write down that an instruction uses values, in the lanes of the mask."""
        if labels is None:
            return
        hit = labels if mask is None else np.where(mask, labels, _NONE)
        hit = np.broadcast_to(hit, (run.count, hit.shape[1]))
        if count := np.count_nonzero(hit):
            sources = int(np.bitwise_or.reduce(hit, axis=None))
            self.followed.reached(inst, sink, sources, int(count))

    # ---- roots

    def read(self, name: str, threads: Lanes, columns: Lanes) -> Bits | None:
        """Labels of elements [threads, width] at bytes or bits `columns` [width, size]."""
        if name not in self.labelled:
            return None
        width, size = columns.shape
        labels = self.arrays[root_labels(name)][threads[:, None], columns.reshape(1, -1)]
        return any_of(labels.reshape(len(threads), width, size))

    def write(
        self,
        name: str,
        run: Run,
        columns: Lanes,
        new: Bits | None,
        mask: Mask,
        steered: Bits | None,
    ) -> None:
        """Set those of elements in the mask, and add `steered` to all that the mask may leave."""
        if name not in self.labelled and new is None:
            return
        (width, size), array = columns.shape, self.arrays[root_labels(name)]
        where = run.threads[:, None], columns.reshape(1, -1)
        old = array[where].reshape(run.count, width, size)
        bits = full(some(new), run, width)[..., None]
        merged = np.where(full(mask, run, width)[..., None], bits, old)
        if steered is not None:
            merged = merged | full(steered, run, width)[..., None]
        array[where] = merged.reshape(run.count, -1)
        if merged.any():
            self.labelled.add(name)

    # ---- memory

    def access(self, space: Space, request: _Request, place: Placed, kind: int) -> None:
        """An access is about to be done: the labels of what it loads, those of what it stores.

        A lane of an atomic operation sees what others have given to it.
        """
        now, merged = self.now, kind == ATOMIC_WRITE
        now.request = request
        if kind == WRITE or merged:
            new = self._stored(request, place)
            if new is not None or self._pages:
                self._store(space, place, request.size, some(new), merged=merged)
        if kind != WRITE and self._pages:
            if now.loaded is None:
                now.loaded = np.zeros((len(request.address), request.count), np.uint64)
            now.loaded[place.lanes] |= self._load(space, place, request.size)

    def _stored(self, request: _Request, place: Placed) -> Bits | None:
        """Labels of what is stored, [lanes, elements]."""
        data, steered = self.now.data, self.now.steered
        if steered is None and all(x is None for x in data):
            return None
        also = request.values(some(steered))[:, None]
        if request.op.name == "store_block":
            rows = full(some(data[0]), request.run, request.count)[request.row]
            return np.asarray((rows | also)[place.lanes])
        columns = [request.values(some(x)) for x in data] or [also[:, 0]]
        if request.op.name == "atomic":
            columns = [np.bitwise_or.reduce(columns)]
        return np.asarray((np.stack(columns, axis=1) | also)[place.lanes])

    def _bytes(self, place: Placed, size: int) -> tuple[Lanes, Lanes]:
        """The page and the byte there of each byte of each element, [lanes, elements, size]."""
        places = place.offset[..., None] + np.arange(size)
        return places >> _PAGE_BITS, places & (_PAGE - 1)

    def _load(self, space: Space, place: Placed, size: int) -> Bits:
        pages, inside = self._bytes(place, size)
        labels = np.zeros(pages.shape, np.uint64)
        for page in np.unique(pages).tolist():
            if (page_labels := self._pages.get((space, page))) is not None:
                here = pages == page
                labels[here] = page_labels[inside[here]]
        merged = np.bitwise_or.reduce(labels, axis=2)
        return merged if place.valid is None else np.where(place.valid, merged, _NONE)

    def _store(self, space: Space, place: Placed, size: int, new: Bits, *, merged: bool) -> None:
        """Set the labels of bytes, or (`merged`) add to them."""
        pages, inside = self._bytes(place, size)
        labels = np.broadcast_to(new[..., None], pages.shape)
        valid = np.ones(pages.shape, bool) if place.valid is None else place.valid[..., None]
        for page in np.unique(pages).tolist():
            here = (pages == page) & valid
            key = space, page
            if key not in self._pages and not labels[here].any():
                continue
            page_labels = self._pages.setdefault(key, np.zeros(_PAGE, np.uint64))
            if merged:
                np.bitwise_or.at(page_labels, inside[here], labels[here])
            else:
                page_labels[inside[here]] = labels[here]


def union(*parts: Bits | None) -> Bits | None:
    """All labels of some values."""
    present = [x for x in parts if x is not None]
    return reduce(np.bitwise_or, present) if present else None


def some(x: Bits | None) -> Bits:
    return np.zeros((1, 1), np.uint64) if x is None else x


def any_of(x: Bits | None) -> Bits | None:
    """The labels of all along the last axis; None if there are none."""
    if x is None:
        return None
    joined = np.bitwise_or.reduce(x, axis=x.ndim - 1)
    return joined if joined.any() else None


def of_thread(x: Bits | None) -> Bits | None:
    """The labels of all lanes of each thread, [threads, 1]."""
    joined = any_of(x)
    return None if joined is None else joined[:, None]
