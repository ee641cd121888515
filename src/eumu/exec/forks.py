"""What engines do in a child process, which has none of the threads of its parent."""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet


class _Forked(Protocol):
    def forked(self) -> None:
        """In a child, which has no other threads: none of them has a lock, or makes code."""


_TOLD: Final[WeakSet[_Forked]] = WeakSet()


def tell_children(engine: _Forked) -> None:
    """Call `engine.forked` in each child process, for as long as there is the engine."""
    _TOLD.add(engine)


def _forked() -> None:
    for engine in list(_TOLD):
        engine.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
