"""Long calls of libraries that know no Ctrl-C: another thread makes them, this one waits."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from eumu.exec.jit.llvm.attention import is_main_thread

__all__ = ["apart"]

T = TypeVar("T")

_RUNNING: Final[dict[threading.Thread, None]] = {}  # by their order


def apart(work: Callable[[], T]) -> T:
    """What `work` returns or raises; KeyboardInterrupt at once, and then `work` goes on unseen."""
    if not is_main_thread():
        return work()
    found: list[T] = []
    errors: list[BaseException] = []
    done = threading.Lock()
    done.acquire()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            _RUNNING.pop(thread, None)
            done.release()

    thread = threading.Thread(target=run, name="eumu compiler", daemon=True)
    _RUNNING[thread] = None
    thread.start()
    with done:
        pass
    if errors:
        raise errors[0]
    return found[0]


@atexit.register
def _wait() -> None:
    """A library must not be torn down while it works, but who ends by Ctrl-C ends by a signal."""
    if getattr(sys, "last_type", None) is not KeyboardInterrupt:
        for thread in list(_RUNNING):
            thread.join()
