"""The step of `report`."""

from __future__ import annotations

import numpy as np

from eumu.exec.findings import Seen
from eumu.exec.interp.site import STEPS, Site
from eumu.exec.interp.values import Run, Slots, Step, full
from eumu.ir.operations.messages import Report


@STEPS.on(Report)
def report(site: Site, op: Report) -> Step:
    m, width = site.slot(op.args[0]), op.args[0].width

    def step(v: Slots, run: Run) -> None:
        if not v[m].any():
            return
        mask = full(v[m], run, width)
        hits = np.flatnonzero(mask.any(axis=1))
        row = hits[run.threads[hits].argmin()]
        group, member = divmod(int(run.threads[row]), site.state.threads_per_group)
        lanes = sum(1 << int(lane) for lane in np.flatnonzero(mask[row]))
        site.notebook.add(Seen(op, (site.first_group + group, member), lanes, len(hits)))

    return step
