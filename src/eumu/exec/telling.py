"""The thread that tells a launch's progress: it must not wait for the launch."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Final

TELLING: Final[set[int]] = set()  # threads that are in a call of `progress`


def tell(progress: Callable[[int, int], object], done: int, groups: int) -> None:
    """Call `progress`."""
    here = get_ident()
    TELLING.add(here)
    try:
        progress(done, groups)
    finally:
        TELLING.discard(here)
