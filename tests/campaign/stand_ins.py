"""What tests of campaigns give to workers: functions in the place of real work."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from eumu.campaign.tasks import DIFFERS, SAME, Result, Task
from eumu.campaign.worker import Answer

PLANTED = 7  # this program differs


def answer(task: Task) -> Answer:
    """Each program is the same but for the planted one; no process is started."""
    kinds = {f"{task.kind}/{task.device}/{PLANTED}": (DIFFERS, "native on interp", "D0[0] is 1")}
    results = [Result(name, *kinds.get(name, (SAME,))) for name in task.programs]
    return Answer(results, 0.5)


def once_killed(task: Task) -> Answer:
    """The worker that first gets a task whose path is no file yet dies with it."""
    mark = Path(task.path)
    if task.path and not mark.exists():
        mark.write_text("died", encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(task)


def waited(seconds: float) -> tuple[float, float]:
    """The processor time of a worker before and after it has waited."""
    first = time.process_time()
    time.sleep(seconds)
    return first, time.process_time()
