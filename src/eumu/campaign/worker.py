"""What a worker does with a task: run it in a process of its own, in parts if that fails."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from typing import Final

from eumu.campaign.child import MISSING, PATIENCE, WRONG_VERSION
from eumu.campaign.tasks import DIED, LATE, Result, Task, failed
from eumu.errors import EumuError, ToolMissing
from eumu.records import dataclass
from eumu.settings import CACHE, WORKERS

# Random programs do not come up again: what is compiled of them is not kept.
_WITHOUT_CACHE: Final = ("random-visa", "random-opencl", "hostile")
_TAIL: Final = 200  # characters of what a process said last
CHILD: Final = ("-m", "eumu.campaign.child")


class WorkerError(EumuError, RuntimeError):
    """A worker cannot run tasks of this campaign: nothing that it says would be a result."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of a task, and the processor time that it took in seconds."""

    results: list[Result]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Failure:
    kind: str
    what: str


def perform(task: Task, child: tuple[str, ...] = CHILD) -> Answer:
    """Run a task.

    If a process with many programs dies or takes too long, each half of them gets one, and so on: a
    program takes no results of others with it.  By itself it gets another try.  Raises
    `WorkerError` and `ToolMissing` where this machine cannot run it.
    """
    answer = _once(task, child) if task.count > 1 else _tried(task, child)
    if isinstance(answer, Answer):
        return answer
    if task.count == 1:
        return Answer(failed(task, answer.kind, answer.what), 0.0)
    halves = [perform(half, child) for half in task.divided()]
    return Answer(
        [r for half in halves for r in half.results], sum(half.seconds for half in halves)
    )


def _tried(task: Task, child: tuple[str, ...]) -> Answer | _Failure:
    first = _once(task, child)
    return first if isinstance(first, Answer) else _once(task, child)


def _once(task: Task, child: tuple[str, ...]) -> Answer | _Failure:
    more = {WORKERS.name: "1"}
    if task.kind in _WITHOUT_CACHE:
        more[CACHE.name] = "off"
    limit = task.seconds
    try:
        done = subprocess.run(
            (sys.executable, *child, str(os.getpid()), str(math.ceil(limit))),
            input=task.encode(),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=os.environ | more,
            timeout=PATIENCE * limit,
            start_new_session=True,  # Ctrl-C is for the campaign
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _Failure(LATE, f"no end after {PATIENCE * limit:g} s, most of them without work")
    if done.returncode == WRONG_VERSION:
        raise WorkerError(done.stderr.strip())
    if done.returncode == MISSING:
        raise ToolMissing(done.stderr.strip())
    if done.returncode == -signal.SIGXCPU:
        return _Failure(LATE, f"no end after {limit:g} s of processor time")
    if done.returncode:
        return _Failure(DIED, _death(done))
    results = json.loads(done.stdout)
    return Answer([Result(**row) for row in results["results"]], results["seconds"])


def _death(done: subprocess.CompletedProcess[str]) -> str:
    """How a process ended, and its last line, which has no address or time in the usual cases."""
    if done.returncode < 0:
        return f"it ended by signal {-done.returncode}"
    last = done.stderr.strip().splitlines()[-1:] or [""]
    return f"exit status {done.returncode}: {last[0][:_TAIL]}"
