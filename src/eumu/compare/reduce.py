"""Makes a source smaller as long as a property of it stays: delta debugging by lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

REDUCING: Final = (
    "reducing; every step compiles and runs the kernel; Ctrl-C ends it with the shortest so far ..."
)
_SHORT: Final = (1, 2, 3)  # lines


class _Trials:
    """What is left of a source, and how many trials are left."""

    def __init__(self, lines: Sequence[str], still: Callable[[str], bool], tries: int) -> None:
        self.lines, self.still, self.tries = list(lines), still, tries

    def leave_out(self, count: int, step: int) -> bool:
        """Leave out stretches of `count` lines, which begin `step` lines apart.

        Says whether one went.
        """
        k, changed = 0, False
        while k < len(self.lines) and self.tries:
            shorter = [*self.lines[:k], *self.lines[k + count :]]
            self.tries -= 1
            if shorter and self.still(_joined(shorter)):
                self.lines, changed = shorter, True
            else:
                k += step
        return changed


def read_source(path: Path) -> str:
    """A source as text, whatever its encoding: `write_source` writes the same bytes."""
    return path.read_text("utf-8", "surrogateescape")


def write_source(path: Path, source: str) -> None:
    """Write what `read_source` has read, or a part of it."""
    path.write_text(source, "utf-8", "surrogateescape")


def reduce(source: str, still: Callable[[str], bool], *, tries: int = 200) -> str:
    """The source with every line left out that `still` does not need, in at most `tries` trials.

    Stretches of lines are left out, long ones first; short ones wherever they may begin, as a loop
    and its body have two lines.  The result has the property; if the source itself has not, it
    comes back as it is.  After Ctrl-C it is the shortest one so far.
    """
    trials = _Trials(source.splitlines(), still, tries)
    with suppress(KeyboardInterrupt):
        _shorten(trials)
    return _joined(trials.lines)


def _shorten(trials: _Trials) -> None:
    count = len(trials.lines) // 2
    while count > _SHORT[-1]:
        if not trials.leave_out(count, count):
            count //= 2
    # What had to stay may go when what needed it has gone.
    while any([trials.leave_out(count, 1) for count in _SHORT]) and trials.tries:
        pass


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
