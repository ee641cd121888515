"""What came of running again what a program had submitted."""

from __future__ import annotations

from dataclasses import field

from eumu.errors import Finding
from eumu.records import dataclass


@dataclass(slots=True)
class ReplayOutcome:
    """What came of a record.

    `lines` counts cache lines that changed, `differ` are addresses of those that became other than
    in the record; `by_program` counts those that changed in the record alone, as the program may
    have written them meanwhile.  `other_ends` are steps with a fault in one of both only.
    """

    steps: int = 0
    walkers: int = 0
    lines: int = 0
    other_ends: int = 0
    differ: list[int] = field(default_factory=list)
    by_program: int = 0
    faults: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    page: str | None = None
    is_capture: bool = False  # what the GPU did is not in the file
    is_cut: bool = False  # the file ends within a step
    is_left: bool = False  # the user has left before its end

    def lines_of_text(self) -> list[str]:
        """What people are told, the first line first."""
        started = f"{self.walkers} commands that start threads, {self.lines} cache lines changed"
        if self.is_left:
            started += "; left before the end"
        if self.is_capture:
            return [f"{self.steps} batches, {started}; a capture does not say what they became"]
        lines = [
            f"{self.steps} steps, {started}, {len(self.differ)} of them not as in the record;"
            f" {self.by_program} changed in the record alone"
        ]
        if self.is_cut:
            lines.append(
                "  the record ends within a step: who wrote it was stopped, or its disk was full"
            )
        if self.other_ends:
            lines.append(
                f"  {self.other_ends} steps have a fault here or in the record, not in both"
            )
        return lines + [f"  the line at {address:#x} differs" for address in self.differ[:5]]
