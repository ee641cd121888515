"""How programs are run on the driver; what `eumu run --` was told."""

from __future__ import annotations

import os
from dataclasses import dataclass

from eumu.beside.door import FAULTED, FOUND

__all__ = ["Options"]


@dataclass(frozen=True, slots=True)
class Options:
    """How programs are run; `status` is where a byte goes for each fault and each finding."""

    device: str = "pvc"
    engine: str | None = None
    check: bool = False
    status: int | None = None
    aborts: bool = False
    traceback: bool = False

    def note_fault(self) -> None:
        self._note(FAULTED)

    def note_finding(self) -> None:
        self._note(FOUND)

    def _note(self, what: bytes) -> None:
        if self.status is not None:
            os.write(self.status, what)
