"""The step of `report`."""

from __future__ import annotations

import numpy as np

from eumu.exec.findings import Seen
from eumu.exec.interp.site import STEPS, BlockSite
from eumu.exec.interp.values import Lanes, Run, Slots, Step, full
from eumu.ir.operations.messages import Report


@STEPS.on(Report)
def report(site: BlockSite, op: Report) -> Step:
    m, width = site.slot(op.args[0]), op.args[0].width
    at = site.slots(op.args[1:])  # addresses and surface, if the finding has them

    def step(v: Slots, run: Run) -> None:
        if not v[m].any():
            return
        mask = full(v[m], run, width)
        hits = np.flatnonzero(mask.any(axis=1))
        row = hits[run.threads[hits].argmin()]
        group, member = divmod(int(run.threads[row]), site.state.threads_per_group)
        numbers = np.flatnonzero(mask[row])
        lanes = sum(1 << int(lane) for lane in numbers)
        address, surface = [*(_one(v[x], run, row, numbers[0]) for x in at), 0, 0][:2]
        where = site.first_group + group, member
        site.notebook.add(Seen(op, where, lanes, len(hits), address, surface))

    return step


def _one(x: Lanes, run: Run, row: np.intp, lane: np.intp) -> int:
    """A lane of a thread, or its only one."""
    width = x.shape[1]
    return int(full(x, run, width)[row, lane if width > 1 else 0])
