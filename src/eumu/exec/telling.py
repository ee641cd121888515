"""The thread that tells a launch's progress: it must not wait for the launch."""

from __future__ import annotations

import threading
from collections.abc import Callable


class _Here(threading.local):
    is_telling = False


HERE = _Here()  # `is_telling`: whether this thread is in a call of `progress`


def tell(progress: Callable[[int, int], object], done: int, groups: int) -> None:
    """Call `progress`."""
    HERE.is_telling = True
    try:
        progress(done, groups)
    finally:
        HERE.is_telling = False
