"""Disjoint sets of numbers, many united at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.intp]]


class UnitedSets:
    """The numbers below `count`, at first each in a set of its own.

    A set is a tree whose root is its least member, so that no order of unions makes a circle.
    """

    def __init__(self, count: int) -> None:
        self._parent: Numbers = np.arange(count)

    def unite(self, first: Numbers, second: Numbers) -> None:
        """Unite the set of each number in `first` with that of its partner in `second`."""
        a, b = self._least(first), self._least(second)
        while (differ := a != b).any():
            a, b = a[differ], b[differ]
            # Of several partners of one root the last is kept; the others are met again.
            self._parent[np.maximum(a, b)] = np.minimum(a, b)
            a, b = self._least(a), self._least(b)

    def all(self) -> Numbers:
        """The least member of the set of each number."""
        self._parent = self._least(self._parent.copy())
        return self._parent

    def _least(self, members: Numbers) -> Numbers:
        parent, found = self._parent, members
        while ((above := parent[found]) != found).any():
            parent[found] = found = parent[above]  # paths become half as long
        return found
