"""Makes a source smaller as long as a property of it stays: delta debugging by lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def reduce(source: str, still: Callable[[str], bool], *, tries: int = 200) -> str:
    """The source with every line left out that `still` does not need, in at most `tries` trials.

    Stretches of lines are left out, long ones first.  The result has the property; if the source
    itself has not, it comes back as it is.
    """
    lines = source.splitlines()
    step = max(1, len(lines) // 2)
    while step and tries:
        k, changed = 0, False
        while k < len(lines) and tries:
            shorter = [*lines[:k], *lines[k + step :]]
            tries -= 1
            if shorter and still(_joined(shorter)):
                lines, changed = shorter, True
            else:
                k += step
        if not changed or step > len(lines):
            step = min(step, len(lines)) // 2
    return _joined(lines)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
