"""What a launch did."""

from __future__ import annotations

from typing import Any

from eumu.errors import Finding
from eumu.records import dataclass


@dataclass(frozen=True)
class Report:
    """The outcome of one launch.

    `instructions` is the number of instructions that all threads issued, whatever their width.
    `threads` counts hardware threads, not SIMD lanes.  `seconds` is the wall time of the run
    itself.  `printf` is the text that the kernel printed.  `findings` are the mistakes that a
    checked run found (``Device(check=True)``), in the order of the instructions.  `preempted`: the
    launch was stopped, and `Device.resume` continues it.  `made_by` is the program's compiler.
    """

    kernel: str
    engine: str
    instructions: int
    threads: int
    groups: int
    seconds: float
    printf: str = ""
    findings: tuple[Finding, ...] = ()
    preempted: bool = False
    made_by: str = ""

    def __str__(self) -> str:
        return (
            f"{self.kernel}: {self.groups} groups, {self.threads} threads, "
            f"{self.instructions} instructions in {self.seconds:.3g} s ({self.engine})"
        )


def of_another_run(fields: dict[str, Any], seconds: float) -> Report:
    """A report with these fields of a launch that took so long: made at once."""
    fields["seconds"] = seconds
    made = object.__new__(Report)
    made.__dict__.update(fields)
    return made
