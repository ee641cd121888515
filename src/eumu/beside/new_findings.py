"""Findings of a program's launches, each mistake at a place in the code once, however often its
kernel runs, and whatever numbers and buffers it has then."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from eumu.errors import Finding

_NUMBERS: Final = re.compile(r"0x[0-9a-f]+|\d+")


class New:
    """Knows which findings it has seen.

    >>> new, twice = New(), Finding("undefined", "why", "k", None, (0, 0, 0), 0, ())
    >>> len(list(new.of([twice, twice])))
    1
    """

    def __init__(self) -> None:
        self._seen: set[Hashable] = set()

    def __len__(self) -> int:
        return len(self._seen)

    def of(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Those that come for the first time."""
        for finding in findings:
            key = _key(finding)
            if key not in self._seen:
                self._seen.add(key)
                yield finding


def _key(finding: Finding) -> Hashable:
    """What a mistake is and where; one without a place is what its words are."""
    place = _place(finding)
    if place is None:
        return finding.code, finding.kernel, finding.reason
    reason = _NUMBERS.sub("", finding.reason)
    return finding.code, reason, place, tuple(map(_place, finding.related))


def _place(finding: Finding) -> tuple[str, int] | None:
    """The code that made a finding, wherever it lies in memory, and the place in it."""
    if finding.span is not None:
        return finding.span.source.text, finding.span.line
    return (finding.file, finding.line) if finding.place is not None else None
