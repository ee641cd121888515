"""Makes calls of the system fail, one after the other.

Python reports the calls that touch files, mappings and processes to audit hooks, and gives up the
call with whatever a hook raises.  A hook stays for ever, so all tests share this one.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["each_call_fails"]

_CALLS = frozenset(
    {
        *("open", "os.chmod", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir"),
        *("os.scandir", "os.truncate", "os.utime", "mmap.__new__", "os.fork", "os.posix_spawn"),
        *("subprocess.Popen", "tempfile.mkdtemp", "tempfile.mkstemp", "fcntl.flock"),
        *("socket.connect", "socket.__new__"),
    }
)
_left: int | None = None  # calls until one fails; None: none does
_failed = ""


def _hook(event: str, args: tuple[Any, ...]) -> None:
    global _left, _failed
    if _left is None or event not in _CALLS or _is_code(event, args):
        return
    if _left == 0:
        _left, _failed = None, f"{event}{args}"
        raise OSError(errno.ENOSPC, "No space left on device")
    _left -= 1


def _is_code(event: str, args: tuple[Any, ...]) -> bool:
    """Whether Python reads a module: that it cannot is not our matter."""
    return event == "open" and str(args[0]).endswith((".py", ".pyc", ".so"))


@contextmanager
def _failing(call: int) -> Iterator[None]:
    global _left, _failed
    _left, _failed = call, ""
    try:
        yield
    finally:
        _left = None


def each_call_fails(
    action: Callable[[], object],
    check: Callable[[str, BaseException | None], object],
    most: int = 1000,
) -> list[str]:
    """Run `action` until it makes no further call, each time with a later call failing.

    `check` gets the call that failed and what `action` raised, if it did.  The calls.
    """
    if _hook not in _installed:
        sys.addaudithook(_hook)
        _installed.append(_hook)
    calls: list[str] = []
    for call in range(most):
        raised: BaseException | None = None
        with _failing(call):
            try:
                action()
            except Exception as error:
                raised = error
        if not _failed:
            check("", raised)
            return calls
        calls.append(_failed)
        check(_failed, raised)
    raise AssertionError(f"more than {most} calls")


_installed: list[Callable[[str, tuple[Any, ...]], None]] = []
