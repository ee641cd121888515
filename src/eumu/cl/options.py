"""How programs are run on the driver; what `eumu run --` was told."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, Final

from eumu import findings
from eumu.beside.door import FAULTED, FOUND, lose, note
from eumu.errors import FormatError
from eumu.findings import Finding
from eumu.records import dataclass

_SIZE: Final = 8  # bytes in front of a record


@dataclass(frozen=True, slots=True)
class ClOptions:
    """How programs are run; `status` is where a byte goes for each fault and each finding.

    `check` are names of checks.  Findings are told on standard error if `tells`, and `records` is a
    file that they go to as they are; `report` the page about all kernels.
    `units` are the compute units that programs are told of, if not those of the device.
    Without `strict_bounds`, memory ends where that of the hardware does.
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
    units: int | None = None
    strict_bounds: bool = True

    def record(self, finding: Finding) -> None:
        """Keep a finding for the command, if it asked for it."""
        if self.records is None:
            return
        data = pickle.dumps(finding)
        left = memoryview(len(data).to_bytes(_SIZE, "little") + data)
        try:
            while left:  # a disk that becomes full takes a part
                left = left[os.write(self.records, left) :]
        except OSError as error:
            lose(self.status, f"a finding cannot be kept: {error.strerror}")

    def note_fault(self) -> None:
        note(self.status, FAULTED)

    def note_finding(self) -> None:
        note(self.status, FOUND)


def recorded(file: int) -> Iterator[Finding]:
    """The findings that engine processes have kept in a file.

    FormatError for what no engine process has written; one that was killed may leave half a record.
    """
    end, at = os.fstat(file).st_size, 0
    while at + _SIZE <= end:
        size = int.from_bytes(os.pread(file, _SIZE, at), "little")
        data = os.pread(file, min(size, end), at + _SIZE)
        if len(data) < size:
            return
        yield _finding(data)
        at += _SIZE + size


def _finding(data: bytes) -> Finding:
    try:
        finding = _Records(io.BytesIO(data)).load()
    except Exception as error:  # whatever damaged bytes make of a record
        raise FormatError(f"a record of findings is damaged: {error!r}") from error
    if not isinstance(finding, Finding):
        raise FormatError(f"a record of findings has a {type(finding).__name__}")
    return finding


class _Records(pickle.Unpickler):
    """Makes records and what they are made of, nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        member = getattr(findings, name, None) if module == findings.__name__ else None
        if isinstance(member, type) and (is_dataclass(member) or issubclass(member, Enum)):
            return member
        raise FormatError(f"{module}.{name} is no part of a record")
