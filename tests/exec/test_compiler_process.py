"""Modules are compiled in other processes: whatever LLVM does there, this one goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.errors import InternalError, Unsupported
from eumu.exec.jit.driver import module
from eumu.exec.jit.host import compiler, compiler_process
from eumu.exec.jit.host.compiler_process import CompilerProcess
from eumu.exec.jit.host.target import compile_object, host

TEXT = "define void @run(ptr %p) #0 {\n  store i32 1, ptr %p\n  ret void\n}\n"
# LLVM ends its process over this function, with any effort.
BAD = 'define void @bad() #0 {\n  call void asm sideeffect "nonsense", ""()\n  ret void\n}\n'


@pytest.fixture(name="idle")
def _idle(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[CompilerProcess]]:
    """The processes that are kept; none at first."""
    kept: list[CompilerProcess] = []
    monkeypatch.setattr(compiler, "_IDLE", kept)
    yield kept
    for process in kept:
        process.end()


def _compile() -> None:
    assert compiler.compile_text(TEXT, host()) == compile_object(TEXT, host())


def test_one_process_makes_what_is_made_here(idle: list[CompilerProcess]) -> None:
    _compile()
    (process,) = idle
    _compile()
    assert idle == [process]


def test_one_that_is_expected_is_taken(idle: list[CompilerProcess]) -> None:
    compiler.expect()
    compiler.expect()
    (process,) = idle
    _compile()
    assert idle == [process]


@pytest.mark.usefixtures("idle")
def test_a_module_that_ends_llvm_is_unsupported() -> None:
    with pytest.raises(Unsupported, match=r"over 4 lines, .* ended with .LLVM ERROR: Inline"):
        compiler.compile_text(BAD, host())
    _compile()


@pytest.mark.usefixtures("idle")
def test_a_kernel_that_ends_llvm_is_interpreted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Twice, an assertion of LLVM over a vector ended the process of who launched a kernel."""
    build = module.build

    def bad(*given: Any) -> Any:
        made = build(*given)
        return replace(made, text=made.text + BAD)

    monkeypatch.setattr(module, "build", bad)
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path))
    device = eumu.Device("pvc", "jit")
    kernel = eumu.load("examples/saxpy.bin")["saxpy"]
    y = device.array(np.ones(64, np.float32))
    with pytest.warns(RuntimeWarning, match=r"compiling it: .* ended with .LLVM ERROR"):
        report = kernel.launch(device, 64, 32, [y, y, 2.0])
    assert report.engine == "interp"
    assert (y.numpy() == 3).all()


def test_what_llvm_refuses_is_said(idle: list[CompilerProcess]) -> None:
    _compile()
    (process,) = idle
    with pytest.raises(InternalError, match="invalid LLVM"):
        compiler.compile_text("define void @run() { ret i32 0 }\n", host())
    assert idle == [process]
    _compile()


def test_one_that_has_ended_is_not_asked(idle: list[CompilerProcess]) -> None:
    _compile()
    idle[0]._process.kill()
    idle[0]._process.wait()
    _compile()


def test_one_that_ends_when_it_is_asked_is_not_needed(
    idle: list[CompilerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends by itself when nobody has asked for a minute, which may be just now."""
    _compile()
    idle[0]._process.kill()
    monkeypatch.setattr(CompilerProcess, "is_usable", True)
    _compile()


def test_what_takes_long_is_taken_for_long(
    idle: list[CompilerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "_SHORT_S", 0)
    _compile()
    assert not idle


def test_after_many_texts_there_is_another_one(
    idle: list[CompilerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM keeps something of each."""
    monkeypatch.setattr(compiler_process, "_MOST_TEXTS", 2)
    _compile()
    (process,) = idle
    _compile()
    assert not idle
    assert process._process.returncode


@pytest.mark.parametrize("program", ["", "import nothing_of_this_name"])
def test_one_that_does_not_begin_is_not_needed(
    idle: list[CompilerProcess], monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", program)
    _compile()
    assert not idle


def test_a_program_with_python_inside_is_not_started_again(
    idle: list[CompilerProcess], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "office"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    compiler.expect()
    _compile()
    assert not idle
    assert not (tmp_path / "started").exists()


def test_threads_ask_processes_of_their_own(idle: list[CompilerProcess]) -> None:
    made: list[bytes] = []
    text = TEXT.replace("ret void", "store volatile i32 2, ptr %p\n" * 5000 + "ret void")
    threads = [
        threading.Thread(target=lambda: made.append(compiler.compile_text(text, host())))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [compile_object(text, host())] * 4
    assert 1 <= len(idle) <= 2


def test_whether_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_process, "_IDLE_S", 0)
    given, giver = os.pipe()
    assert not compiler_process._is_asked(given)
    os.write(giver, b"1")
    assert compiler_process._is_asked(given)
    os.read(given, 1)
    os.close(giver)
    assert compiler_process._is_asked(given)
    os.close(given)


_FORKS = """
import os
from eumu.exec.jit.host import compiler
from eumu.exec.jit.host.target import host
text = "define void @run() {\\n  ret void\\n}\\n"
compiler.compile_text(text, host())
(process,) = compiler._IDLE
child = os.fork()
if not child:
    assert not compiler._IDLE
    compiler.compile_text(text, host())
    compiler._end()
    os._exit(7)
assert os.waitpid(child, 0)[1] == 7 << 8
compiler.compile_text(text, host())
assert compiler._IDLE == [process]
print(process._process.pid)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks Linux for processes")
def test_a_child_has_its_own_and_all_end_with_their_programs() -> None:
    command = [sys.executable, "-W", "error", "-c", _FORKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    end = time.monotonic() + 10
    while Path("/proc", done.stdout.strip()).exists():
        assert time.monotonic() < end, "it goes on"
        time.sleep(0.05)
