"""Tasks in processes of their own: deaths, time limits, second tries, and what they say of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eumu.campaign.tasks import DIED, LATE, SAME, Task
from eumu.campaign.worker import CHILD, WorkerError, perform
from eumu.errors import ToolMissing

# A process that says that all programs are the same.
FINE = """
import json, os, signal, sys, time
task = json.loads(sys.stdin.read())
seeds = range(task["first"], task["first"] + task["count"])
{extra}
rows = [{{"program": f"random-visa/skl/{{s}}", "kind": "the same"}} for s in seeds]
print(json.dumps({{"results": rows, "seconds": 0.25}}))
"""
DIES = "os.kill(os.getpid(), signal.SIGSEGV) if 2 in seeds else None"


def child(extra: str = "") -> tuple[str, str]:
    return "-c", FINE.format(extra=extra)


def shown(task: Task, extra: str = "") -> dict[str, tuple[str, str]]:
    found = perform(task, child(extra)).results
    return {r.program.rpartition("/")[2]: (r.kind, r.what) for r in found}


def test_one_program_that_dies_leaves_the_others() -> None:
    found = shown(Task("random-visa", "skl", 1, 3), DIES)
    assert found["2"] == (DIED, f"it ended by signal {signal.SIGSEGV.value}")
    assert {found["1"], found["3"]} == {(SAME, "")}


def test_what_fails_once_gets_another_try(tmp_path: Path) -> None:
    mark = tmp_path / "tried"
    extra = f"m = {str(mark)!r}\nif not os.path.exists(m): open(m, 'w'); sys.exit('no')"
    assert shown(Task("random-visa", "skl", 5), extra) == {"5": (SAME, "")}


def test_an_exit_status_is_told() -> None:
    found = shown(Task("random-visa", "skl", 5), "sys.exit('gone wrong')")
    assert found == {"5": (DIED, "exit status 1: gone wrong")}


def test_a_program_without_an_end_is_late() -> None:
    """One that works, by processor time; one that waits, by the clock, with much patience."""
    busy = "os.kill(os.getpid(), signal.SIGXCPU)"
    (found,) = shown(Task("random-visa", "skl", 5, limit=1.0), busy).values()
    assert found == (LATE, "no end after 1 s of processor time")
    (found,) = shown(Task("random-visa", "skl", 5, limit=0.05), "time.sleep(60)").values()
    assert found == (LATE, "no end after 1 s, most of them without work")


def test_a_worker_that_cannot_work_gives_no_results() -> None:
    """The real process, which looks at versions and tools first."""
    with pytest.raises(WorkerError, match=r"the campaign 99\.0"):
        perform(Task("random-visa", "skl", 5, version="99.0"))


def test_without_the_finalizer_there_are_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(ToolMissing, match="libigc-tools"):
        perform(Task("random-visa", "skl", 5))


def test_the_process_of_a_task_ends_with_its_worker() -> None:
    """Also where the worker is gone before its process has begun to look."""
    say = (sys.executable, "-c", "import os; print(os.getpid())")
    gone = subprocess.run(say, capture_output=True, check=True)
    command = (sys.executable, *CHILD, gone.stdout.decode().strip(), "60")
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:  # which waits for its task
        assert process.wait(60) == 1
