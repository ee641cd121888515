"""Roots put aside while a callee that may be active already runs in a new frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from eumu.exec.interp.labels import root_labels
from eumu.exec.interp.values import Lanes
from eumu.exec.state import ThreadState
from eumu.ir import Root
from eumu.records import dataclass

Threads = NDArray[np.intp]


@dataclass(slots=True)
class _Copy:
    """What the roots held in some threads: arrays [threads, row bytes]."""

    threads: Threads
    roots: dict[str, Lanes]


class Saved:
    """Copies of roots by the depth of the frame that the call left."""

    def __init__(self, state: ThreadState, labels: Mapping[str, Lanes]) -> None:
        """`labels` are arrays beside those of roots, by names that `root_labels` gives them."""
        self._state, self._arrays = state, {**state.roots, **labels}
        self._copies: dict[int, list[_Copy]] = {}

    def start(self) -> None:
        """Forget the threads that ran before."""
        self._copies.clear()

    def export(self) -> list[tuple[int, Threads, dict[str, Lanes]]]:
        """All copies: depth, threads, rows by root."""
        return [
            (depth, copy.threads, copy.roots)
            for depth, copies in self._copies.items()
            for copy in copies
        ]

    def load(self, copies: Iterable[tuple[int, Threads, dict[str, Lanes]]]) -> None:
        """Take up what `export` gave; roots of bits come as bytes."""
        self._copies.clear()
        for depth, threads, roots in copies:
            typed = {n: rows.view(self._arrays[n].dtype) for n, rows in roots.items()}
            self._copies.setdefault(depth, []).append(_Copy(threads, typed))

    def put(self, threads: Threads, roots: Iterable[Root]) -> None:
        """Copy roots of threads that are about to enter a frame."""
        state = self._state
        slots = [(root.name, root_labels(root.name)) for root in roots]
        names = [name for pair in slots for name in pair if name in self._arrays]
        for depth in np.unique(state.depth[threads]):
            same = threads[state.depth[threads] == depth]
            copy = {name: self._arrays[name][same] for name in names}
            self._copies.setdefault(int(depth), []).append(_Copy(same, copy))

    def take(self, depth: int, threads: Threads) -> None:
        """Put the copies of that depth back into threads that have left the frame above it."""
        kept = []
        for copy in self._copies.get(depth, ()):
            back = np.isin(copy.threads, threads)
            for name, rows in copy.roots.items() if back.any() else ():
                self._arrays[name][copy.threads[back]] = rows[back]
                copy.roots[name] = rows[~back]
            copy.threads = copy.threads[~back]
            if len(copy.threads):
                kept.append(copy)
        if depth in self._copies:
            self._copies[depth] = kept
