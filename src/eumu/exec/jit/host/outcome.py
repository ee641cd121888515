"""What a launch came to: a fault, findings, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eumu.errors import Finding
from eumu.exec.findings import Notebook
from eumu.exec.gate import Admitted
from eumu.exec.grid import Grid, RunStats
from eumu.exec.jit.host.launch import Compiled, Launch, Worker
from eumu.exec.jit.llvm.layout import Context, FaultKind
from eumu.exec.snapshot import Preempted, between_groups

ENGINE: Final = "jit"
_FAULT, _NONE = int(Context.FAULT), int(FaultKind.NONE)


def raise_fault(
    compiled: Compiled,
    admitted: Admitted,
    launch: Launch,
    workers: Sequence[Worker],
    findings: tuple[Finding, ...] = (),
) -> None:
    """The fault of the first group that has one, if there is one."""
    faulty = [w for w in workers if w.words[_FAULT] != _NONE]
    if not faulty:
        return
    from eumu.exec.jit.host.faults import Report

    worker = min(faulty, key=lambda w: w.get(Context.FAULT_GROUP))
    fault = Report(compiled, admitted, worker).of(launch.refusal(worker))
    fault.findings = findings
    raise fault


def findings_of(
    compiled: Compiled, admitted: Admitted, workers: Sequence[Worker]
) -> tuple[Finding, ...]:
    """What the reports of a checked function noted."""
    from eumu.exec.jit.host.faults import seen

    grid = admitted.grid
    sites = {n: compiled.module.sites[n] for n in compiled.reports}
    noted = (item for w in workers for item in seen(grid.function, sites, w.context))
    return Notebook(noted).findings(grid, admitted.host)


def stats_of(
    grid: Grid, done: int, instructions: int, findings: tuple[Finding, ...] = ()
) -> RunStats:
    """After so many groups, which are all of them or those before a stop."""
    if done < grid.groups:
        raise Preempted(between_groups(done, instructions, findings), ENGINE)
    return RunStats(instructions, done * grid.threads_per_group, done, findings)
