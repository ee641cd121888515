"""Long calls of libraries that know no Ctrl-C: another thread makes them, this one waits.

It has a large stack, as LLVM goes as deep as expressions do.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from eumu.exec.jit.host import stacks

T = TypeVar("T")

_RUNNING: Final[dict[threading.Lock, None]] = {}  # what is free when a call has ended
_ENDING: Final = threading.Event()  # no call begins any more


def apart(work: Callable[[], T]) -> T:
    """What `work` returns or raises; KeyboardInterrupt at once, and then `work` goes on unseen."""
    if _ENDING.is_set():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Lock()
    done.acquire()

    def run() -> None:
        _RUNNING[done] = None  # an interrupted caller cannot say whether this has begun
        try:
            if not _ENDING.is_set():
                results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            del _RUNNING[done]
            done.release()

    stacks.start(run, "eumu compiler", stacks.COMPILER)
    with done:
        pass
    if errors:
        raise errors[0]
    return results[0]


@atexit.register
def _wait() -> None:
    """A library must not be torn down while it works, but who ends by Ctrl-C ends by a signal."""
    if getattr(sys, "last_type", None) is not KeyboardInterrupt:
        _ENDING.set()
        for done in list(_RUNNING):
            with done:
                pass
