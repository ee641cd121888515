"""The files of findings that engine processes leave."""

from __future__ import annotations

from collections.abc import Sequence

from eumu.errors import Finding
from eumu.writing import utf8, write_new


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
