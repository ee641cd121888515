"""The step of `message`: the host answers for all threads that run."""

from __future__ import annotations

from eumu.errors import Unsupported
from eumu.exec.host import Answer, Refusal, fitting
from eumu.exec.interp.site import STEPS, BlockSite
from eumu.exec.interp.values import Run, Slots, Step, full
from eumu.ir.operations.messages import Message


@STEPS.on(Message)
def message(site: BlockSite, op: Message) -> Step:
    record = op.record
    answer: Answer | None = getattr(site.host, "message", None)
    if answer is None:
        raise Unsupported(f"{type(record).__name__} messages", span=site.span(op.inst))
    arguments, results = site.slots(op.args), site.slots(op.results)
    widths = [value.width for value in op.args]

    def step(v: Slots, run: Run) -> None:
        mask, *data = (full(v[k], run, w) for k, w in zip(arguments, widths, strict=True))
        threads = run.threads + site.first_group * site.state.threads_per_group
        try:
            answers = answer(record, threads, mask, data)
        except Refusal as wrong:
            lanes = site.lane_numbers(op, wrong.lanes)
            thread = int(run.threads[wrong.row])
            raise site.fault(
                wrong.reason,
                op.inst,
                thread,
                lanes,
                wrong.address,
                wrong.notes,
                code=wrong.code,
                memory=wrong.memory,
            ) from wrong
        for r, x in zip(results, fitting(op, answers), strict=True):
            v[r] = x

    return step
