"""The node as a program sees it: answers, pages of the program, fork, hangs, the ends of processes.

The cases are in `node.c`; each runs in a process of its own, with an engine process of its own.
Those that need no options share one `eumu gpu`, whose start takes longer than they do.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drm.programs import HERE, TIMEOUT_S, command, compiled, run
from eumu.drm.parts import GPUS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="i915 is a driver of Linux")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(HERE / "node.c", tmp_path_factory.mktemp("node"))


PAGES = (
    "created",
    "adopted",
    "moved",
    "exchanged",
    "grown",
    "read_only",
    "written_meanwhile",
    "own_faults",
    "stack",
)
EACH = 'for case; do "$0" "$case" || echo "$case ends with $?"; done'


def test_cases(node: Path) -> None:
    cases = [*PAGES, "refused", "left_out", "forked", "forked_meanwhile"]
    cases += ["many", "threads"]
    done = run("sh", "-c", EACH, node, *cases)
    assert done.stdout.splitlines() == [f"{case} ok" for case in cases], done.stdout + done.stderr
    assert done.returncode == 0
    lost = "eumu: a submission is refused ({}), and its work is lost"
    told = [line.split(",")[0] for line in done.stderr.splitlines()]
    assert told[:2] == [
        lost.format(why).split(",")[0] for why in ("Bad address", "Invalid argument")
    ]
    assert told[2].startswith("eumu: the driver submits object ") and len(told) == 4
    assert told[3].endswith("stay shared with a child process: the GPU works on them")
    assert "it has closed; that is left out here" in done.stderr


@pytest.mark.parametrize("name", GPUS)
def test_answers(node: Path, name: str) -> None:
    done, part = run(node, "answers", options=("--device", name)), GPUS[name]
    assert done.returncode == 0, done.stdout + done.stderr
    said = dict(word.split("=") for word in done.stdout.split() if "=" in word)
    assert int(said["4"]) == part.chip and int(said["51"]) == part.hertz
    assert int(said["33"]) == part.subslices and int(said["34"]) == part.subslices * part.eus


def test_a_hang_is_told_and_other_contexts_go_on(node: Path) -> None:
    done = run(node, "hangs")
    assert "hangs ok" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 3
    assert "MI_STORE_DATA_IMM writes 4 bytes" in done.stderr and "1 fault" in done.stderr


def test_a_fault_that_nobody_reads_of_is_a_hang_all_the_same(node: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(command(node, "hangs"), stderr=writes, timeout=TIMEOUT_S, text=True)
    os.close(writes)
    assert done.returncode == 3


def test_a_fault_may_end_the_program(node: Path) -> None:
    done = run(node, "hangs", EUMU_FAULT="abort")
    assert done.returncode == 3 and "ok" not in done.stdout


def test_the_exit_status_is_the_programs() -> None:
    assert run("sh", "-c", "exit 5").returncode == 5
    assert run("sh", "-c", "kill -9 $$").returncode == 128 + 9
    done = run("no-such-command-anywhere")
    assert done.returncode != 0 and "no-such-command-anywhere" in done.stderr


def test_without_an_engine_process_there_is_no_gpu(node: Path, tmp_path: Path) -> None:
    from eumu.cc.build import library
    from eumu.cc.compile import DRM

    env = os.environ | {
        "LD_PRELOAD": str(library(DRM, tmp_path)),
        "EUMU_DRM_SOCKET": str(tmp_path / "none"),
    }
    done = subprocess.run([node, "created"], capture_output=True, text=True, env=env)
    assert done.returncode == 1 and "there is no GPU" in done.stderr


@pytest.fixture
def waiting(node: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that waits for a semaphore, in a process group of its own.

    Its engine process is there some time after the program was answered.
    """
    program = subprocess.Popen(
        command(node, "waits_for_ever"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert program.stdout is not None and program.stdout.readline() == "waiting\n"
        end = time.monotonic() + TIMEOUT_S
        while not any(map(_is_engine, list(_children(program.pid)))) and time.monotonic() < end:
            time.sleep(0.05)
        yield program
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)


def _children(pid: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        if int(fields[1]) == pid:
            yield int(path.parent.name)
            yield from _children(int(path.parent.name))


def _is_engine(pid: int) -> bool:
    """The broker's child, which has the broker's command line."""
    words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    parent = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1])
    return "eumu.beside.broker" in words and "broker" in Path(f"/proc/{parent}/cmdline").read_text(
        encoding="utf-8"
    )


def test_the_end_of_the_engine_process_is_a_hang(waiting: subprocess.Popen[str]) -> None:
    program = waiting
    (engine,) = filter(_is_engine, list(_children(program.pid)))
    os.kill(engine, signal.SIGKILL)
    out, err = program.communicate(timeout=TIMEOUT_S)
    assert "waits_for_ever ok" in out, out + err
    assert "the engine process has ended" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_program_is_the_end_of_all(
    node: Path, waiting: subprocess.Popen[str], number: signal.Signals
) -> None:
    program = waiting
    children = list(_children(program.pid))
    assert len(children) == 3  # the broker, the engine process, the program
    (app,) = (
        p for p in children if str(node) in Path(f"/proc/{p}/cmdline").read_text(encoding="utf-8")
    )
    if number is signal.SIGINT:
        os.killpg(program.pid, number)  # as a terminal does
    else:
        os.kill(app if number is signal.SIGKILL else program.pid, number)
    program.communicate(timeout=TIMEOUT_S)
    assert program.returncode == 128 + number
    end = time.monotonic() + TIMEOUT_S
    while any(Path(f"/proc/{p}").exists() for p in children) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [p for p in children if Path(f"/proc/{p}").exists()]
