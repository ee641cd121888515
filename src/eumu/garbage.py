"""Python's garbage collector, while many objects are made that all stay.

It looks through the young ones whenever there are 700 more, and finds nothing: a tenth to a fifth
of the time that a kernel takes from its text to its code.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

SELDOM: Final = 100_000  # objects more than at the last look

_LOCK = Lock()
_inside = 0  # how many threads are there
_usual = 0


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let garbage be looked for seldom; as before, once the last thread has left."""
    global _inside, _usual
    with _LOCK:
        if not _inside:
            _usual = gc.get_threshold()[0]
            if 0 < _usual < SELDOM:
                gc.set_threshold(SELDOM)
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside and 0 < _usual < SELDOM and gc.get_threshold()[0] == SELDOM:
                gc.set_threshold(_usual)


def _forked() -> None:
    """In a child, which has no other threads: none of them has the lock, or is inside."""
    global _LOCK, _inside
    _LOCK = Lock()
    if _inside and gc.get_threshold()[0] == SELDOM:
        gc.set_threshold(_usual)
    _inside = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
