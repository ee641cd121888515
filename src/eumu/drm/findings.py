"""Findings of checked runs, each place in the code once, however often its kernel runs; and the
files that engine processes leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from eumu.errors import Finding
from eumu.writing import utf8, write_new


class New:
    """Knows which findings it has seen.

    >>> new, twice = New(), Finding("undefined", "why", "k", None, (0, 0, 0), 0, ())
    >>> len(list(new.of([twice, twice])))
    1
    """

    def __init__(self) -> None:
        self._seen: set[tuple[str, str, int]] = set()

    def __len__(self) -> int:
        return len(self._seen)

    def of(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Those that come for the first time."""
        for finding in findings:
            key = finding.reason, *_place(finding)
            if key not in self._seen:
                self._seen.add(key)
                yield finding


def _place(finding: Finding) -> tuple[str, int]:
    """The code that made a finding, wherever it lies in memory, and the place in it."""
    if finding.span is None:
        return finding.kernel, 0
    return finding.span.source.text, finding.span.line


def write_findings(
    path: str, number: int, form: str, findings: Sequence[Finding], *, faulted: bool, gpu: str
) -> str:
    """Write what a program's kernels did wrong in a format of `eumu run`; the name of the file.

    OSError as of files.
    """
    from eumu.reports.formats import FORMATS, RunOutcome

    status = 3 if faulted else int(bool(findings))
    outcome = RunOutcome(f"process {number}", "", tuple(findings), status, facts={"device": gpu})
    return write_new(path, number, utf8(FORMATS[form](outcome) + "\n"))
