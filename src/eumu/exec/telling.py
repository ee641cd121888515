"""The thread that tells a launch's progress: it must not wait for the launch."""

from __future__ import annotations

import threading
from collections.abc import Callable


class _Here(threading.local):
    is_telling = False


_HERE = _Here()


def tell(progress: Callable[[int, int], object], done: int, groups: int) -> None:
    """Call `progress`."""
    _HERE.is_telling = True
    try:
        progress(done, groups)
    finally:
        _HERE.is_telling = False


def is_telling() -> bool:
    """Whether this thread is in such a call."""
    return _HERE.is_telling
