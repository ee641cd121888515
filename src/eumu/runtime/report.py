"""What a launch did."""

from __future__ import annotations

from dataclasses import dataclass

from eumu.errors import Finding


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one launch.

    `instructions` counts one for each instruction that a thread issued, whatever its width;
    `threads` are hardware threads (SIMD lanes are not counted); `printf` is what the kernel
    printed.  `seconds` is the time of the run itself.  `findings` are the mistakes that a checked
    run saw (``Device(check=True)``), in the order of the instructions.  `preempted` says that the
    launch was stopped: `Device.resume` goes on with it.  `made_by` is the compiler of the program.
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
