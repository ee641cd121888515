"""What is found out once of each function, for the latest functions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from eumu.ir import Function

T = TypeVar("T")
_KEPT: Final = 256


class Facts(Generic[T]):
    """Answers by the identity of a function; functions are kept with them, but not for ever.

    When another function is asked for, those are forgotten whose kernels are gone.
    """

    def __init__(self, find: Callable[[Function], T]) -> None:
        self._find = find
        self._known: OrderedDict[int, tuple[Function, T]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, function: Function) -> T:
        """What there is to know of a function."""
        key = id(function)
        kept = self._known.get(key)
        if kept is not None:
            return kept[1]
        fact = self._find(function)
        with self._lock:
            for gone in [key for key, (known, _) in self._known.items() if known.is_orphan]:
                del self._known[gone]
            fact = self._known.setdefault(key, (function, fact))[1]
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return fact
