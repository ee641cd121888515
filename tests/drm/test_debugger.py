"""The debugger of records: where threads stop, and what they hold there."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.drm.debugger import Debugger, Left
from eumu.errors import Place
from eumu.runtime.batches import CommandQueue
from eumu.runtime.native_code import KnownCode
from kernels.build import PROGRAMS


def line_of(offset: int) -> Place:
    """Two instructions, or one and a half, a line."""
    number = 10 + offset // 32
    return Place("k.cl", number, text=f"text of line {number}")


Debugged = Callable[[str, str], tuple[str, Any]]


@pytest.fixture
def debugged(monkeypatch: pytest.MonkeyPatch) -> Debugged:
    """What the debugger says to a script, and the kernel's output."""
    return lambda name, script: _debugged(name, script, monkeypatch)


def _debugged(name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Any]:
    groups, size = 2, 64
    device = eumu.Device("skl", "interp")
    kernel = eumu.load(next(p for p in PROGRAMS if p.name == name).elf("skl"))[name]
    x = device.array(np.arange(groups * size, dtype=np.float32))
    y = device.array(np.zeros(groups * size, np.float32))
    arguments = [x, y, eumu.Local(4 * size) if name == "reduce" else 2.0]
    said = io.StringIO()

    def read(address: int, count: int) -> bytes | None:
        at = address - device.memory.base
        return device.memory.arena[at : at + count].tobytes() if 0 <= at < 1 << 40 else None

    device.observer = Debugger(read, io.StringIO(script.replace("X", hex(x.address))), said)
    known = KnownCode(name, line_of)
    # What lies in memory is to run, as a driver's.
    monkeypatch.setattr("eumu.runtime.batches.known_kernel", lambda *_: None)
    queue = CommandQueue(device, known=lambda code: known)
    given = (groups * size,), (size,), arguments
    try:
        queue.submit(kernel.submit(device, *given, level="native").batch)
    except Left:
        said.write("left\n")
    return said.getvalue(), y.numpy()


@pytest.mark.parametrize("name", ["saxpy", "reduce"])
def test_what_is_looked_at_runs_as_it_does_alone(name: str, debugged: Debugged) -> None:
    text, out = debugged(name, "step 7\nwhere\ncontinue\n")
    x = np.arange(128, dtype=np.float32)
    if name == "saxpy":
        assert (out == 2 * x).all()
    else:
        assert (out[:2] == x.reshape(2, 64).sum(1)).all()
    assert text.startswith(f"kernel {name}, thread 0 (0 of group 0), lanes 0xffffffff, 4 of 4 ")
    assert text.count("\n  k.cl:10: text of line 10\n  +0x0 ") == 1 and "+0x" in text


def test_registers_and_memory(debugged: Debugged) -> None:
    """r1 has the first local ids, whatever the compiler does; r0.4 … of r0 are the launch's."""
    text, _ = debugged("saxpy", "print r1 uw\nthread 3\np r1 uw\nx X 4 f\np nothing\np r1 x\nx 3\n")
    first, ids = " ".join(f"{k:#x}" for k in range(8)), " ".join(f"{k:#x}" for k in range(32, 40))
    assert f"print r1 uw\n  {first}\n" in text and f"p r1 uw\n  {ids}\n" in text
    assert "x X 4 f\n".replace("X", "") not in text and "\n  0.0 1.0 2.0 3.0\n" in text
    assert "has no nothing; r0 to r127, " in text and "no type 'x': ub, b," in text
    assert "0x3: not all of that is in buffers of this submission" in text


def test_breaks(debugged: Debugged) -> None:
    script = "break 13\nbreak +0x60 thread 2\nbreak 999\nbreak saxpy\nbreaks\nc\nc\ndelete\nc\n"
    text, out = debugged("saxpy", script)
    assert "nothing of saxpy is there; another kernel may have it\n(eumu) break saxpy" in text
    assert "line 13\nbyte 0x60, thread 2\nline 999\nsaxpy\n" in text
    stops = [line.strip() for line in text.splitlines() if line.startswith("  +0x")]
    assert [stop.split()[0] for stop in stops] == ["+0x0", "+0x60"] or len(stops) == 3
    assert (out == 2 * np.arange(128)).all()


def test_next_leaves_the_line_and_step_ends_with_the_thread(debugged: Debugged) -> None:
    text, _ = debugged("saxpy", "next\nnext\nstep 100000\nwhere\nc\n")
    lines = [line.split(":")[1] for line in text.splitlines() if line.startswith("  k.cl:")]
    assert lines == ["10", "11", "12"]
    assert "thread 0 of kernel saxpy has ended\n(eumu) where\nno thread runs\n" in text


def test_threads_that_go_other_ways(debugged: Debugged) -> None:
    """In the last rounds of a reduction some threads have nothing to do, then some lanes."""
    text, _ = debugged("reduce", "thread 2\n" + 100 * "s\n" + "q\n")
    here = [line for line in text.splitlines() if line.startswith("kernel reduce, thread 2 (0 of ")]
    assert len(here) == 100 and text.endswith("left\n")
    assert {line.rpartition(", ")[2] for line in here} > {"4 of 4 threads are here"}
    text, _ = debugged("reduce", 250 * "s\n" + "q\n")
    assert ", lanes 0x1," in text


@pytest.mark.parametrize("script", ["", "\n\n", "nonsense\n", "step x\nthread 99\nslm -1\nb 1 2\n"])
def test_mistakes_and_ends(script: str, debugged: Debugged) -> None:
    text, out = debugged("saxpy", script)
    assert (out == 2 * np.arange(128)).all()
    for said in ("no command 'nonsense'",) if "nonsense" in script else ():
        assert said in text


def test_help_knows_every_command(debugged: Debugged) -> None:
    text, _ = debugged("saxpy", "help\n")
    commands: dict[str, Callable[..., object]] = Debugger._commands
    assert all(name in text for name in commands if name != "help")
