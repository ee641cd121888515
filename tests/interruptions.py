"""Ends an action at every line that it runs, one run for each, as Ctrl-C may."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["at_every_line"]


def at_every_line(
    action: Callable[[], object],
    check: Callable[[], object],
    where: tuple[str, ...],
    error: Callable[[], BaseException] = KeyboardInterrupt,
    most: int = 10_000,
) -> int:
    """Run `action` until it comes to its end, each time interrupted one line later, and `check`
    after each; lines count in files whose path contains one of `where`.  The number of runs.
    """
    for line in range(most):
        if not _ends_early(action, line, where, error):
            check()
            return line
        check()
    raise AssertionError(f"the action is longer than {most} lines")


def _ends_early(
    action: Callable[[], object],
    line: int,
    where: tuple[str, ...],
    error: Callable[[], BaseException],
) -> bool:
    left, made = line, None

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left, made
        if event == "line" and made is None and not _calls_nothing(frame):
            if left == 0:
                made = error()
                raise made
            left -= 1
        return local

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        is_inside = any(part in frame.f_code.co_filename for part in where)
        return local if is_inside else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except BaseException as raised:
        sys.settrace(before)
        if made is None or not _came_from(raised, made):
            raise
        _forget_frames(raised)
    finally:
        sys.settrace(before)
    return made is not None


def _calls_nothing(frame: FrameType) -> bool:
    """Whether the line is one where no signal is handled, and an exception would skip what must
    come: that of a `with`, to which tracing comes back when the block is left, and a bare `try:`.
    """
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return line.startswith("with ") or line == "try:"


def _forget_frames(error: BaseException | None) -> None:
    """What the frames of an exception hold is to be gone now, not at the next collection."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _came_from(raised: BaseException, made: BaseException) -> bool:
    """Whether an exception is the given one, or is what was said about it."""
    seen: BaseException | None = raised
    while seen is not None and seen is not made:
        seen = seen.__cause__ or seen.__context__
    return seen is made
