"""Threads whose stacks are as large as what runs on them needs.

A thread that Python starts has what the system gives by default: 8 MB mostly, far less where a
limit is low.  The memory behind a stack is taken page by page, when it is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Final

from eumu.errors import Unsupported

_ANYWHERE: Final = 64 << 10  # bytes that are left on any thread of the usual size
_PART: Final = 4  # of smaller ones a quarter is
USUAL: Final = 8 << 20  # of a thread of which nothing is known but that it may run Python
COMPILER: Final = 64 << 20  # LLVM goes as deep as expressions do
MOST: Final = 256 << 20  # that a kernel may take; each worker has as much
_PAGE: Final = 64 << 10  # a multiple of every system's
_STARTING = threading.RLock()  # a signal handler may launch something


def fits_anywhere(stack: int) -> bool:
    """Whether code that takes so much of a stack may run on any thread, as threads are now."""
    with _STARTING:
        least = _wanted() or _limit()
    return stack <= _ANYWHERE and stack <= least // _PART


def _wanted() -> int:
    """What this process asks of the system for each thread, 0 if nothing; under the lock."""
    wanted = threading.stack_size()  # which also sets it to 0
    threading.stack_size(wanted)
    return wanted


@cache
def _limit() -> int:
    """What the system gives a thread, in bytes."""
    try:
        import resource
    except ImportError:
        return USUAL
    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return USUAL if soft == resource.RLIM_INFINITY else soft


def refuse_large(stack: int) -> None:
    """Unsupported if code takes more of a stack than it gets."""
    if stack > MOST:
        raise Unsupported(f"{stack >> 20} MiB of stack for its machine code, of {MOST >> 20}")


def start(work: Callable[[], object], name: str, stack: int) -> None:
    """Start a daemon thread with a stack of so many bytes; Unsupported if there can be none."""
    size = -(-stack // _PAGE) * _PAGE
    with _STARTING:
        usual = _wanted()
        try:
            threading.stack_size(max(size, usual))
            threading.Thread(target=work, name=name, daemon=True).start()
        except (RuntimeError, ValueError) as error:
            raise Unsupported(f"a thread with {size >> 20} MiB of stack ({error})") from error
        finally:
            threading.stack_size(usual)
