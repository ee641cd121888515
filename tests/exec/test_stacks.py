"""Machine code never runs off the stack of the thread that it runs on, however much it takes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import llvmlite.binding as llvm
import numpy as np
import pytest

import eumu
from ctrl_c.long import Long
from ctrl_c.run import answer_time
from eumu.errors import Unsupported
from eumu.exec.jit.host import frames, launch, stacks
from eumu.exec.jit.host.target import compile_object, host, optimised
from eumu.exec.jit.host.workers import run_with_stack

COUNT = 600  # vectors that live at once; they take 150 KiB
GROUPS = 40
_HEAD = """.version 3.6
.kernel "k"
.decl A v_type=G type=uq num_elts=1 align=qword
.decl B v_type=G type=uq num_elts=1 align=qword
.decl I v_type=G type=ud num_elts=32 align=GRF
.decl AT v_type=G type=uq num_elts=32 align=GRF
.decl X v_type=G type=uq num_elts=32 align=GRF
{declared}.input A offset=64 size=8
.input B offset=72 size=8
.kernel_attr SimdSize=32
.kernel_attr PerThreadInputSize=0
    mov (M1, 8) I(0,0)<1> 0x76543210:uv
    add (M1, 8) I(0,8)<1> I(0,0)<1;1,0> 0x8:ud
    add (M1, 16) I(0,16)<1> I(0,0)<1;1,0> 0x10:ud
    shl (M1, 32) I(0,0)<1> I(0,0)<1;1,0> 0x3:ud
    add (M1, 32) AT(0,0)<1> I(0,0)<1;1,0> A(0,0)<0;1,0>
    lsc_load.ugm (M1, 32) X:d64 flat[AT]:a64
"""
_TAIL = """    add (M1, 32) AT(0,0)<1> I(0,0)<1;1,0> B(0,0)<0;1,0>
    lsc_store.ugm (M1, 32) flat[AT]:a64 X:d64
    ret (M1, 1)
"""


def living(count: int) -> str:
    """A kernel with so many vectors of 256 bytes, each of which is read when all are written."""
    names = [f"T{1000 + n}" for n in range(count)]
    declared = "".join(f".decl {n} v_type=G type=uq num_elts=32 align=GRF\n" for n in names)
    written = [
        f"    add (M1, 32) {name}(0,0)<1> X(0,0)<1;1,0> {3 * n + 1:#x}:ud\n"
        f"    xor (M1, 32) X(0,0)<1> {name}(0,0)<1;1,0> I(0,0)<1;1,0>\n"
        for n, name in enumerate(names)
    ]
    read = [
        f"    add (M1, 32) X(0,0)<1> X(0,0)<1;1,0> {name}(0,0)<1;1,0>\n"
        "    xor (M1, 32) X(0,0)<1> X(0,0)<1;1,0> I(0,0)<1;1,0>\n"
        for name in names
    ]
    return "".join([_HEAD.format(declared=declared), *written, *read, _TAIL])


def launched(engine: str, groups: int = GROUPS, count: int = COUNT) -> tuple[str, list[int]]:
    """The engine that ran it, and what it stored."""
    dev = eumu.Device("pvc", engine=engine)
    kernel = eumu.load(living(count).encode(), device="pvc")["k"]
    source, to = dev.array(np.arange(32, dtype=np.uint64)), dev.array(32, np.uint64)
    report = kernel.launch(dev, 32 * groups, local_size=32, args=[source, to])
    again = kernel.launch(dev, 32 * groups, local_size=32, args=[source, to])
    assert report.engine == again.engine
    return report.engine, to.numpy().tolist()


def main() -> None:
    """Launch it on a thread with a small stack; for a process of its own."""
    found: list[tuple[str, list[int]]] = []
    threading.stack_size(128 << 10)
    thread = threading.Thread(target=lambda: found.append(launched("jit")))
    thread.start()
    thread.join()
    assert threading.stack_size(0) == 128 << 10
    print(*found)


@pytest.mark.parametrize("workers", ["1", "3"])
def test_what_takes_more_than_a_thread_has(workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs on threads that have enough: the process once ended with SIGSEGV."""
    monkeypatch.setenv("EUMU_WORKERS", workers)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    ran = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str(("jit", launched("interp", 1)[1]))


def _refused(match: str) -> None:
    with pytest.warns(RuntimeWarning, match=match):
        assert launched("jit", 1, 300) == launched("interp", 1, 300)


def test_what_takes_too_much_goes_to_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "MOST", 1 << 12)
    _refused("MiB of stack for its machine code")


def test_where_no_thread_can_be_had_the_interpreter_runs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = threading.Thread.start

    def none(thread: threading.Thread) -> None:
        if "deep" in thread.name:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", none)
    _refused("can't start new thread")


def test_fewer_threads_do_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    start, did = threading.Thread.start, []

    def one(thread: threading.Thread) -> None:
        if not thread.name.endswith(" 0"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", one)
    run_with_stack(did.append, 3, lambda: None, 1 << 20)
    assert did == [0]


def test_errors_and_interruptions_end_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        run_with_stack(lambda number: int(f"n{number}"), 2, lambda: None, 1 << 20)
    start, left = threading.Thread.start, threading.Event()

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_with_stack(lambda number: left.wait(60), 1, left.set, 1 << 20)
    assert left.is_set()


@pytest.mark.parametrize("name", ["loop", "loop on all workers", "loop of atomics"])
def test_ctrl_c_ends_what_runs_on_threads_of_its_own(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "_ANYWHERE", -1)
    monkeypatch.setenv("EUMU_WORKERS", "2")
    begun = []
    monkeypatch.setattr(
        launch, "run_with_stack", lambda *given: begun.append(1) or run_with_stack(*given)
    )
    long = Long("jit")
    for turn in range(60):  # compiling is interrupted first, and later each time: it may be slow
        assert answer_time(long.actions[name], 0.3 + 0.1 * turn) < 30
        if begun:
            break
    assert begun
    before = long.out.numpy()
    time.sleep(0.05)
    assert (long.out.numpy() == before).all()
    long.check()


@pytest.mark.parametrize(("least", "fits"), [(8 << 20, 64 << 10), (64 << 10, 16 << 10)])
def test_small_stacks_are_for_small_frames(
    least: int, fits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "_limit", lambda: least)
    assert stacks.fits_anywhere(fits)
    assert not stacks.fits_anywhere(fits + 1)


_WITH_FRAME = """
declare void @g(ptr)
define void @run() #0 {
  %%a = alloca [%d x i8], align %d
  call void @g(ptr %%a)
  ret void
}
"""
_TRIPLES = (
    ("x86_64-unknown-linux-gnu", "skylake-avx512"),
    ("x86_64-unknown-linux-gnu", "x86-64"),
    ("x86_64-apple-macosx", "x86-64"),
    ("aarch64-unknown-linux-gnu", "generic"),
    ("arm64-apple-macosx", "apple-m1"),
)


@pytest.mark.parametrize(("triple", "cpu"), _TRIPLES)
@pytest.mark.parametrize("effort", [0, 2])
@pytest.mark.parametrize("probed", ["", '"probe-stack"="inline-asm"'])
def test_what_frames_take_is_read_from_the_code(
    triple: str, cpu: str, effort: int, probed: str
) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, opt=effort, reloc="pic", codemodel="default"
    )
    for size in (2000, 4093, 5000, 9000, 40_000, 300_000, 8_623_232, 100_000_000):
        for align in (8, 64):
            text = _WITH_FRAME % (size, align)
            module = llvm.parse_assembly(f"{text}\nattributes #0 = {{ nounwind {probed} }}")
            module.triple = triple
            taken = frames.taken([machine.emit_object(module)], triple)
            assert size <= taken < 1.01 * size + 8192


def test_frames_of_other_machines_are_guessed_high() -> None:
    code = compile_object(_WITH_FRAME % (100, 8), host())
    assert frames.taken([code], "riscv64-unknown-linux-gnu") == 16 * len(code)


def test_no_frame_reaches_over_a_guard_page() -> None:
    """Code touches each page of its frame in turn: what is beyond the end stays as it is."""
    module = optimised(_WITH_FRAME % (100_000, 64), host())
    defined = [f for f in module.functions if not f.is_declaration]
    assert defined
    for function in defined:
        assert any(b'"probe-stack"="inline-asm"' in a for a in function.attributes)


def test_too_much_is_refused_with_the_reason() -> None:
    stacks.refuse_large(stacks.MOST)
    with pytest.raises(Unsupported, match="512 MiB of stack"):
        stacks.refuse_large(512 << 20)


if __name__ == "__main__":
    main()


def test_arithmetic_with_a_register_of_probes_is_no_frame() -> None:
    subtract = b"\x49\x81\xeb" + (1 << 30).to_bytes(4, "little")  # sub r11, 1 << 30
    assert frames.taken([subtract], "x86_64-unknown-linux-gnu") == 0
    assert frames.taken([b"\x49\x89\xe3" + subtract], "x86_64-unknown-linux-gnu") == 1 << 30
