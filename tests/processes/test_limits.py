"""Foreign programs end by themselves, also if what started them was killed."""

from __future__ import annotations

import ast
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

import eumu
from eumu import processes
from eumu.compare.finalizer import finalize_each

SOURCE = Path(eumu.__file__).parent
# What starts a process without `eumu.processes`, and why it may.
OTHERS = {
    "processes.py": "this is it",
    "beside/session.py": "the user's program, and the engine that ends with its connection",
    "cc/compile.py": "the C compiler, of eumu's own sources; building a wheel loads only this file",
    "campaign/worker.py": "eumu itself, which limits itself and ends when its parent does",
    "cli/doors.py": "the user's program",
    "drm/replay.py": "eumu itself, which the user waits for",
    "exec/jit/host/compiler_process.py": "eumu itself, which limits itself",
}
STARTING = ("subprocess.run", "subprocess.Popen", "subprocess.check_output")
SPIN = "import time\nwhile True: pass"
STARTS = (
    f"from eumu import processes; processes.run([{sys.executable!r}, '-c', {SPIN!r}], timeout=1)"
)


def _limits_told(seconds: float) -> str:
    told = "import resource; print(*resource.getrlimit(resource.RLIMIT_CPU))"
    how = {"capture_output": True, "encoding": "ascii"}
    # It looks when its standard input ends: the limit is set by then.
    asked = [sys.executable, "-c", f"import sys; sys.stdin.read(); {told}"]
    return str(processes.run(asked, timeout=seconds, input="", **how).stdout)


def test_only_these_start_processes_by_themselves() -> None:
    starting = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in STARTING:
                starting.add(path.relative_to(SOURCE).as_posix())
    assert starting == OTHERS.keys()


def test_a_process_outlives_a_killed_parent_for_its_limit_only() -> None:
    parent = subprocess.Popen([sys.executable, "-c", STARTS])
    child = 0
    deadline = time.monotonic() + 30
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    while not child and time.monotonic() < deadline:
        child = int((children.read_text("utf-8").split() or ["0"])[0])
        time.sleep(0.01)
    assert child
    limit = resource.prlimit(child, resource.RLIMIT_CPU)
    while limit[0] == resource.RLIM_INFINITY and time.monotonic() < deadline:
        limit = resource.prlimit(child, resource.RLIMIT_CPU)
    parent.kill()
    parent.wait()
    place = Path(f"/proc/{child}/stat")
    while time.monotonic() < deadline:
        if not place.exists() or place.read_text("utf-8").rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("it runs on")


def test_a_limit_is_in_whole_seconds_and_a_tighter_one_stays() -> None:
    assert _limits_told(61.5).split() == ["62", "67"]
    tighter = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (50, 63)); "
    asked = f"{tighter}import sys; sys.path.insert(0, {str(Path(__file__).parent)!r});"
    asked += "import test_limits; print(test_limits._limits_told(61.5))"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["50", "63"]


def test_what_comes_late_is_an_error_with_what_was_written() -> None:
    command = [sys.executable, "-c", "import time; print('early', flush=True); time.sleep(60)"]
    with pytest.raises(subprocess.TimeoutExpired) as late:
        processes.run(command, timeout=2, capture_output=True)
    assert late.value.output == b"early\n" and late.value.timeout == 2


@pytest.mark.parametrize(("seconds", "limit"), [(None, "12"), (2, "7")])
def test_the_finalizer_has_such_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float | None, limit: str
) -> None:
    stand_in, told = tmp_path / "GenX_IR", tmp_path / "told"
    stand_in.write_text(f"#!/bin/sh\nsleep 0.5\nulimit -Ht > {told}\nexit 3\n", encoding="ascii")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    list(finalize_each(["none"], jobs=1, timeout=7, seconds=seconds))
    assert told.read_text("utf-8") == f"{limit}\n"
