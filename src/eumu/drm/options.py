"""How programs are run on the virtual GPU; what `eumu gpu` was told."""

from __future__ import annotations

from typing import Final

from eumu.records import dataclass

_MEMORY_BYTES: Final = 4 << 30  # what the driver is told that there is


@dataclass(frozen=True, slots=True)
class DrmOptions:
    """How programs are run.

    `check` are names of checks, joined by commas (`eumu.exec.checks`).  `status` is where a byte
    goes for each fault and each finding, `dump` the directory of records, `report` the file of a
    page about the kernels, `findings` the file of what was found, in a `format` of
    `eumu.reports.formats`.  `units` are how many compute units programs are told of.
    """

    gpu: str = "skl"
    engine: str | None = None
    check: str = ""
    strict_bounds: bool = True
    log: str | None = None
    status: int | None = None
    aborts: bool = False
    traceback: bool = False
    memory_bytes: int = _MEMORY_BYTES
    dump: str | None = None
    report: str | None = None
    findings: str | None = None
    format: str = "json"
    units: int | None = None
