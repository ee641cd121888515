"""Threads of engine processes: one that has been started runs, or there is an error."""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable
from typing import Final

from eumu.errors import EumuError

_BEGINS_S: Final = 10.0  # far more than a thread needs, on a machine that does anything


class NoThread(EumuError, RuntimeError):
    """The system has no room for another thread."""


def start(work: Callable[[], object]) -> None:
    """Do something on a thread that ends with the process.  NoThread if none begins.

    `threading` waits for ever for a thread that has no memory for its first line.
    """
    begun = threading.Event()

    def run() -> None:
        begun.set()
        work()

    try:
        start_new_thread(run, ())
    except RuntimeError as error:
        raise NoThread(f"no thread can be had ({error})") from None
    if not begun.wait(_BEGINS_S):
        raise NoThread(f"a thread has not begun within {_BEGINS_S:g} s")
