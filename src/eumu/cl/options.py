"""How programs are run on the driver; what `eumu run --` was told."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass

from eumu.beside.door import FAULTED, FOUND
from eumu.errors import Finding

__all__ = ["Options", "recorded"]


@dataclass(frozen=True, slots=True)
class Options:
    """How programs are run; `status` is where a byte goes for each fault and each finding.

    `check` are names of checks.  Findings are told on standard error if `tells`, and `records` is a
    file that they go to as they are; `report` the page about all kernels.
    """

    device: str = "pvc"
    engine: str | None = None
    check: tuple[str, ...] = ()
    status: int | None = None
    records: int | None = None
    tells: bool = True
    report: str | None = None
    aborts: bool = False
    traceback: bool = False

    def record(self, finding: Finding) -> None:
        """Keep a finding for the command, if it asked for it."""
        if self.records is not None:
            data = pickle.dumps(finding)
            os.write(self.records, len(data).to_bytes(8, "little") + data)

    def note_fault(self) -> None:
        self._note(FAULTED)

    def note_finding(self) -> None:
        self._note(FOUND)

    def _note(self, what: bytes) -> None:
        if self.status is not None:
            os.write(self.status, what)


def recorded(file: int) -> Iterator[Finding]:
    """The findings that engine processes have kept in a file that nobody else can open."""
    end, at = os.fstat(file).st_size, 0
    while at < end:
        size = int.from_bytes(os.pread(file, 8, at), "little")
        yield pickle.loads(os.pread(file, size, at + 8))
        at += 8 + size
