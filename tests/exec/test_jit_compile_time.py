"""What compiling costs is bounded: by the size of what LLVM gets, and by limits of a process.

Programs that LLVM once never ended on compile in a process of their own, within a time.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import eumu
from ctrl_c.run import answer_time
from eumu.errors import Fault, Unsupported
from eumu.exec.jit.analysis import dataflow
from eumu.exec.jit.driver import module
from eumu.exec.jit.driver.module import build
from eumu.exec.jit.host import compiler, target
from eumu.exec.jit.host.compiler_process import CompilerProcess, Exceeded
from eumu.exec.jit.host.target import Effort, Processor, compile_object, host, optimised
from eumu.exec.jit.interface import Special
from eumu.exec.jit.llvm import constants
from eumu.exec.jit.llvm.emit import Emitter
from eumu.exec.jit.llvm.layout import Context
from eumu.exec.tiered import tiered
from eumu.ir import Function, Op, verify
from eumu.platforms import platform
from random_kernels import isolated

LIMIT = 60.0  # seconds; they take less than one


def _repeated_bytes(mask: tuple[int, ...]) -> str:
    """Arithmetic on 64 bytes, before and after some of them are moved."""
    e = Emitter(fenced_bytes=host().target.fenced_bytes)
    source = e.op("load <64 x i8>, ptr %p, align 1")
    before = e.op(f"add <64 x i8> {source}, splat (i8 3)")
    moved = e.shuffle(before, "i8", 64, mask)
    after = e.op(f"xor <64 x i8> {moved}, splat (i8 -1)")
    e.do(f"store <64 x i8> {after}, ptr %p, align 1")
    e.do("ret void")
    lines = (*e.declarations.values(), "define void @run(ptr %p) #0 {", *e.lines, "}\n")
    return "\n".join(lines)


def _compile(text: str) -> str:
    return "" if compile_object(text, host()) else "no code"


@pytest.mark.parametrize(("stride", "width"), [(0, 2), (1, 2), (1, 4), (2, 4), (2, 8), (4, 8)])
@pytest.mark.parametrize("unit", [1, 8])
def test_repeated_bytes(stride: int, width: int, unit: int) -> None:
    """Elements of `unit` bytes in the order of the region <stride;width,0>, and in groups."""
    for first in (0, 16):
        groups = range(64 // unit)
        starts = [first + k // width * stride * unit for k in groups]
        repeats = tuple(s + n for s in starts for n in range(unit))
        if max(repeats) < 64:
            assert not isolated.call(_compile, _repeated_bytes(repeats), LIMIT)


SPECIAL = Special(True, (), 0, 0, range(0), 0, 0, (0,) * 16)
HEAD = """.version 3.6
.kernel "k"
.decl A v_type=G type=uq num_elts=1 align=qword
.decl X v_type=G type=ud num_elts=16 align=GRF
.decl AT v_type=G type=uq num_elts=16 align=GRF
.decl P1 v_type=P num_elts=16
.input A offset=64 size=8
.kernel_attr SimdSize=16
.kernel_attr PerThreadInputSize=0
    mov (M1, 8) X(0,0)<1> 0x76543210:uv
    add (M1, 8) X(0,8)<1> X(0,0)<1;1,0> 0x8:ud
    mul (M1, 16) AT(0,0)<1> X(0,0)<1;1,0> 0x4:ud
    add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> A(0,0)<0;1,0>
"""
TAIL = "    lsc_store.ugm (M1, 16) flat[AT]:a64 X:d32\n    ret (M1, 1)\n"


def crossing(count: int, *, ends: bool = True) -> str:
    """Jumps to anywhere, each of some lanes: every label may have lanes that wait."""
    lines = [
        f"L{n}:\n    cmp.eq (M1, 16) P1 X(0,0)<1;1,0> {3 * n + 1:#x}:ud\n"
        f"    (P1) goto (M1, 16) L{(7 * n + 1) % count}\n"
        "    add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0x1:ud\n"
        for n in range(count)
    ]
    return HEAD + "".join(lines) + (TAIL if ends else "    goto (M1, 16) L0\n" + TAIL)


def temporaries(count: int) -> str:
    """Variables that are written and read once, in a loop."""
    names = [f"T{n + 1000}" for n in range(count)]
    declared = [f".decl {n} v_type=G type=ud num_elts=16 align=GRF\n" for n in names]
    steps = [
        f"    mul (M1, 16) {n}(0,0)<1> X(0,0)<1;1,0> 0x9e3779b1:ud\n"
        f"    xor (M1, 16) X(0,0)<1> X(0,0)<1;1,0> {n}(0,0)<1;1,0>\n"
        for n in names
    ]
    again = "    cmp.eq (M1, 16) P1 X(0,0)<1;1,0> 0x12345678:ud\n    (P1) goto (M1, 16) again\n"
    head = HEAD.replace(".decl P1", "".join(declared) + ".decl P1")
    return head + "again:\n" + "".join(steps) + again + TAIL


def subroutines(count: int) -> str:
    """Each is called from two places: a return may lead behind any of them."""
    callers = [f"    (P1) call (M1, 16) S{n // 2}\n" for n in range(2 * count)]
    bodies = [
        f"S{n}:\n    mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0x9e3779b1:ud\n"
        f"    cmp.gt (M1, 16) P1 X(0,0)<1;1,0> {n << 22:#x}:ud\n    ret (M1, 16)\n"
        for n in range(count)
    ]
    compare = "    cmp.gt (M1, 16) P1 X(0,0)<1;1,0> 0x5:ud\n"
    return HEAD + compare + "".join(callers) + TAIL + "".join(bodies)


def text_of(source: str) -> str:
    kernel = eumu.load(source.encode(), device="pvc")["k"]
    return build(kernel.function(platform("pvc")), SPECIAL, host().target).text


def test_jumps_that_cross_cost_what_they_are() -> None:
    """Each jump once tested every other label: its text grew as the square of their number."""
    some, more = (text_of(crossing(count)).count("\n") for count in (40, 80))
    assert more < 2.2 * some


def test_what_one_block_alone_accesses_is_no_variable() -> None:
    few, many = (text_of(temporaries(count)).count("= alloca") for count in (10, 500))
    assert few == many


def test_what_waits_behind_calls_is_no_variable() -> None:
    """What each return may merge grew as the square of the number of calls."""
    few, many = (text_of(subroutines(count)).count("= alloca") for count in (40, 80))
    assert few == many


def test_faults_are_recorded_in_few_places() -> None:
    """Each call may be too deep, and may have used up the budget; 64 faults share a place, as one
    for all of a long function took LLVM a time that grew as the square."""

    def fault_words(count: int) -> int:
        place = f"getelementptr i64, ptr %ctx, i64 {int(Context.FAULT_LANES)}"
        thread = text_of(subroutines(count)).split("@thread(ptr noalias")[1].split("\n}")[0]
        return thread.count(place)

    assert fault_words(5) == fault_words(10) == 1
    assert fault_words(40) == 3  # 160 faults


def test_lowering_is_verified_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(
        verify, "_check_op", lambda function, op, *rest: iter(looked.append(op.name) or ())
    )

    def lower() -> int:
        looked.clear()
        eumu.load((HEAD + TAIL).encode(), device="pvc")["k"].function(platform("pvc"))
        return len(looked)

    assert lower() > 20, "tests are verified"
    monkeypatch.delenv("EUMU_VERIFY_IR")
    assert lower() == 0


def test_patterns_are_looked_for_once_in_code_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    run_block = dataflow.run_block

    def counted(function: Function, block: int, *rest: Any) -> Any:
        seen.append(block)
        return run_block(function, block, *rest)

    monkeypatch.setattr(dataflow, "run_block", counted)
    ladder = [
        f"L{n}:\n    cmp.eq (M1, 16) P1 X(0,0)<1;1,0> {n + 1:#x}:ud\n"
        f"    (P1) goto (M1, 16) L{min(20, n + 1 + n % 5)}\n    mov (M1, 16) X(0,0)<1> {n}:ud\n"
        for n in range(20)
    ]
    text_of(HEAD + "".join(ladder) + "L20:\n" + TAIL)
    # Certain and likely affine forms, of the complete and of the speculative version.
    assert all(seen.count(block) <= 4 for block in seen)


def test_a_block_that_begins_alike_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what is certain, what is likely, lowering, and all these of the speculative version."""
    seen: list[str] = []

    def counted(op: Op, *rest: Any) -> Any:
        seen.append(op.name)
        return know(op, *rest)

    know = dataflow.know
    monkeypatch.setattr(dataflow, "know", counted)
    monkeypatch.setattr("eumu.exec.jit.codegen.kernel.know", counted)
    function = eumu.load((HEAD + TAIL).encode(), device="pvc")["k"].function(platform("pvc"))
    operations = [op for block in function.blocks for op in block.ops]
    build(function, SPECIAL, host().target)
    writes = sum(not op.results for op in operations)  # lowering follows what they change, twice
    assert len(seen) == len(operations) + 2 * writes


def test_a_search_for_wide_constants_looks_at_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    refuse = constants._refuse
    monkeypatch.setattr(constants, "_refuse", lambda line: (looked.append(line), refuse(line)))
    text = text_of(HEAD + TAIL)
    constants.refuse_wide(text)
    assert len(looked) < text.count("\n") / 5


def test_constant_masks_are_found_in_one_pass() -> None:
    """For each operation its whole block was once looked through."""

    class Counted(list[Op]):
        passes = 0

        def __iter__(self) -> Iterator[Op]:
            Counted.passes += 1
            return super().__iter__()

    function = eumu.load((HEAD + TAIL).encode(), device="pvc")["k"].function(platform("pvc"))
    for block in function.blocks:
        block.ops = Counted(block.ops)
    assert module._full_masks(function)
    assert Counted.passes == len(function.blocks)


@pytest.fixture
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")


def launched(source: str, engine: str, fuel: int = 1 << 24) -> tuple[str, list[int]]:
    dev = eumu.Device("pvc", engine=engine)
    out = dev.array(16, np.uint32)
    report = eumu.load(source.encode(), device="pvc")["k"].launch(dev, 16, 16, [out], fuel=fuel)
    return report.engine, out.numpy().tolist()


@pytest.mark.usefixtures("_no_disk_cache")
@pytest.mark.parametrize("source", [crossing(40), temporaries(50)], ids=["jumps", "temporaries"])
def test_they_run_alike(source: str) -> None:
    engine, found = launched(source, "jit")
    assert engine == "jit"
    assert found == launched(source, "interp")[1]


@pytest.mark.usefixtures("_no_disk_cache")
@pytest.mark.parametrize("engine", ["jit", "interp"])
def test_jumps_that_cross_use_up_the_budget(engine: str) -> None:
    """The one place that looks for the next block is no way around the count."""
    with pytest.raises(Fault, match="instruction budget"):
        launched(crossing(40, ends=False), engine, fuel=100_000)


@pytest.mark.usefixtures("_no_disk_cache")
def test_too_many_crossing_jumps_are_interpreted() -> None:
    source = crossing(300)
    with pytest.warns(RuntimeWarning, match="places where lanes wait for each other"):
        engine, found = launched(source, "jit")
    assert engine == "interp"
    assert found == launched(source, "interp")[1]


def test_the_same_code_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _repeated_bytes((0,) * 64)
    here = compile_object(text, host(), Effort.LONG)
    monkeypatch.setattr(compiler, "LONG", 0)
    assert compiler.compile_text(text, host()) == here


@pytest.mark.usefixtures("_no_disk_cache")
def test_beyond_a_limit_the_interpreter_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "LONG", 0)
    monkeypatch.setenv("EUMU_COMPILE_MB", "60")
    with pytest.warns(RuntimeWarning, match=r"compiling it: .*EUMU_COMPILE_MB"):
        engine, found = launched(temporaries(20), "jit")
    assert engine == "interp"
    assert found == launched(temporaries(20), "interp")[1]


def _long_text(count: int = 100_000) -> str:
    """Passes take longer than a second over so many stack variables."""
    variables = [
        f"  %a{n} = alloca i32\n  store i32 {n}, ptr %a{n}\n  %v{n} = load i32, ptr %a{n}\n"
        f"  store volatile i32 %v{n}, ptr %p\n"
        for n in range(count)
    ]
    return f"define void @run(ptr %p) {{\n{''.join(variables)}  ret void\n}}\n"


def test_compiling_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_COMPILE_SECONDS", "1")
    with pytest.raises(Unsupported, match="take more than 1 s"):
        compiler.compile_text(_long_text(), host())


def test_without_processes_it_is_compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "LONG", 0)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    text = _repeated_bytes((0,) * 64)
    assert compiler.compile_text(text, host()) == compile_object(text, host())


@pytest.mark.usefixtures("_no_disk_cache")
@pytest.mark.parametrize("source", [crossing(40), temporaries(50), subroutines(60)])
@pytest.mark.parametrize(
    "bound",
    ["host.compiler._VERY_LONG", "host.compiler._CAREFUL", "analysis.dataflow._MOST_EFFORT"],
)
def test_what_is_made_quickly_runs_alike(
    monkeypatch: pytest.MonkeyPatch, source: str, bound: str
) -> None:
    """Whether it is long, took too long, or has too much to know of it."""
    monkeypatch.setattr(compiler, "LONG", 0)
    monkeypatch.setattr(f"eumu.exec.jit.{bound}", 0)
    attempts: list[Effort] = []
    attempt = compiler._attempt

    def noted(text: str, *given: Any) -> bytes:
        if re.search(r"^define .* @thread\(", text, re.M):  # the kernel's own, not what many have
            attempts.append(given[-1])
        return attempt(text, *given)

    monkeypatch.setattr(compiler, "_attempt", noted)
    engine, found = launched(source, "jit")
    long, quick = Effort.LONG, Effort.QUICK
    wanted = {"_VERY_LONG": [quick], "_CAREFUL": [long, quick], "_MOST_EFFORT": [long]}
    assert (engine, attempts) == ("jit", wanted[bound.split(".")[-1]])
    assert found == launched(source, "interp")[1]


@pytest.mark.parametrize(
    ("lines", "is_patient", "wanted"),
    [
        (100, False, [(3, Effort.LONG)]),
        (100, True, [(30, Effort.LONG)]),
        (60_000, False, [(30, Effort.QUICK)]),
        (60_000, True, [(30, Effort.LONG)]),
        (150_000, True, [(30, Effort.QUICK)]),
    ],
)
def test_what_nobody_waits_for_may_take_long(
    monkeypatch: pytest.MonkeyPatch,
    lines: int,
    is_patient: bool,
    wanted: list[tuple[int, Effort]],
) -> None:
    """Behind a driver slower code runs meanwhile; it took 90 s of a launch that takes 0.1 s."""
    asked: list[tuple[int, Effort]] = []

    def attempt(text: str, processor: Processor, seconds: int, effort: Effort) -> bytes:
        asked.append((seconds, effort))
        return b""

    monkeypatch.setattr(compiler, "LONG", 0)
    monkeypatch.setattr(compiler, "_attempt", attempt)
    compiler.compile_text("\n" * lines, host().patient() if is_patient else host())
    assert asked == wanted


def test_quickly_made_code_grows_with_its_length_alone() -> None:
    """Variables that each block merges would be copied at the end of each."""
    count = 200
    lines = [f"  %v{k} = alloca <16 x i32>" for k in range(count)]
    lines += [f"  store <16 x i32> zeroinitializer, ptr %v{k}" for k in range(count)]
    lines.append("  br label %b0")
    for k in range(count):
        lines += [f"b{k}:", f"  %x{k} = load <16 x i32>, ptr %v{k}"]
        lines += [f"  %y{k} = add <16 x i32> %x{k}, splat (i32 {k})"]
        lines += [f"  store <16 x i32> %y{k}, ptr %v{(k + 7) % count}"]
        lines += [f"  %c{k} = icmp eq i32 %n, {k}"]
        lines += [f"  br i1 %c{k}, label %b{k * 7919 % count}, label %b{(k + 1) % count}"]
    text = "\n".join(["define void @run(i32 %n) {", *lines, "}", ""])
    assert len(compile_object(text, host(), Effort.QUICK)) < 100 * text.count("\n")


def test_first_launches_are_followed_by_patient_code() -> None:
    engine = tiered()
    assert engine._jit.processor == host().patient() and engine._hasty is not None
    assert engine._hasty.processor.is_hasty and not engine._hasty.processor.is_patient
    identities = {p.identity for p in (host(), host().patient(), host().hasty())}
    assert len(identities) == 3  # each has code of its own on disk


def _refusing(monkeypatch: pytest.MonkeyPatch, effort: Effort, *, by_itself: bool) -> list[Effort]:
    """What is asked of processes, which end when it is one `effort`."""
    make, asked = CompilerProcess.make, list[Effort]()

    def ending(self: CompilerProcess, text: str, *given: Any) -> bytes:
        asked.append(given[1])
        if given[1] is effort:
            raise Exceeded("UNREACHABLE executed", by_itself=by_itself)
        return make(self, text, *given)

    monkeypatch.setattr(CompilerProcess, "make", ending)
    return asked


@pytest.mark.parametrize("processor", [host(), host().hasty()], ids=["usual", "hasty"])
def test_what_ends_the_quick_way_goes_the_careful_one(
    monkeypatch: pytest.MonkeyPatch, processor: Processor
) -> None:
    """LLVM aborts on some modules when it generates code with no effort."""
    text = _repeated_bytes((0,) * 64)
    monkeypatch.setattr(compiler, "LONG", 0)
    monkeypatch.setattr(compiler, "_VERY_LONG", 0)
    asked = _refusing(monkeypatch, Effort.QUICK, by_itself=True)
    assert compiler.compile_text(text, processor) == compile_object(text, host(), Effort.LONG)
    assert asked == [Effort.QUICK, Effort.LONG]


class _Counted:
    """Pass managers of LLVM that say what is added to them and what is asked for whole."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.added: list[str] = []
        create, build = llvm.create_new_function_pass_manager, llvm.create_pass_builder
        monkeypatch.setattr(
            llvm, "create_new_function_pass_manager", lambda: self._watch(create(), "add_")
        )
        monkeypatch.setattr(
            llvm, "create_pass_builder", lambda *given: self._watch(build(*given), "getFunction")
        )

    def _watch(self, real: Any, prefix: str) -> Any:
        counted = self

        class Watched(type(real)):  # type: ignore[misc]
            def __getattribute__(self, name: str) -> Any:
                if name.startswith(prefix):
                    counted.added.append(name)
                return super().__getattribute__(name)

        real.__class__ = Watched
        return real


def test_long_modules_have_only_passes_whose_time_grows_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The third pass manager is of numbering, and of phi nodes there are many."""
    text = text_of(subroutines(40))
    monkeypatch.setattr(target, "_MOST_PHIS", 2)
    passes: dict[Effort, list[str]] = {}
    for effort in Effort:
        counted = _Counted(monkeypatch)
        optimised(text, host(), effort)
        passes[effort] = counted.added
        monkeypatch.undo()
        monkeypatch.setattr(target, "_MOST_PHIS", 2)
    assert "getFunctionPassManager" in passes[Effort.FULL]
    assert "getFunctionPassManager" not in passes[Effort.LONG] + passes[Effort.QUICK]
    assert passes[Effort.LONG].count("add_instruction_combine_pass") == 2
    assert "add_instruction_combine_pass" not in passes[Effort.QUICK]
    assert "add_dead_store_elimination_pass" not in passes[Effort.QUICK]


def test_a_long_function_is_not_compiled_twice_and_not_inlined() -> None:
    def steps(count: int) -> str:
        return HEAD + "    mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0x9e3779b1:ud\n" * count + TAIL

    short, long = text_of(steps(50)), text_of(steps(1600))
    assert "@speculative(" in short
    assert "@speculative(" not in long
    (head,) = (line for line in long.splitlines() if line.startswith("define hidden i32 @thread"))
    assert " noinline" in head


def test_what_llvm_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "LONG", 0)
    with pytest.raises(eumu.InternalError, match="invalid LLVM"):
        compiler.compile_text("define void @run() { ret i32 0 }\n", host())


def _compilers() -> set[str]:
    """Processes of this one that compile."""
    found = Path("/proc/self/task").glob("*/children")
    numbers = {n for children in found for n in children.read_text().split()}
    return {n for n in numbers if b"compiler_process" in Path(f"/proc/{n}/cmdline").read_bytes()}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for processes")
@pytest.mark.parametrize("count", [6000, 100_000])
def test_ctrl_c_ends_the_process(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """The one that is kept, and one of a long module's own."""
    monkeypatch.setattr(compiler, "_IDLE", [])
    assert (4 * count < compiler.LONG) == (count == 6000)
    before = _compilers()
    with pytest.raises(AssertionError, match="by itself"):
        answer_time(lambda: None, 10)
    text = _long_text(count)
    seen: list[tuple[set[str], float]] = []

    def interrupt() -> None:
        while not (found := _compilers() - before):
            time.sleep(0.01)
        seen.append((found, time.perf_counter()))
        signal.setitimer(signal.ITIMER_REAL, 0.1, 1.0)

    watch = threading.Thread(target=interrupt, daemon=True)
    watch.start()
    answer_time(lambda: compiler.compile_text(text, host()), 600.0)
    watch.join()
    (found, sent) = seen[0]
    assert time.perf_counter() - sent < 30.0  # 0.4 on a machine that does nothing else
    assert len(found) == 1
    assert _compilers() == before


_ABANDONS = """
import os, sys, threading, time
from pathlib import Path
from eumu.exec.jit.host import compiler
from eumu.exec.jit.host.target import host
text = sys.stdin.read()
threading.Thread(target=compiler.compile_text, args=(text, host()), daemon=True).start()
def children():
    tasks = Path("/proc/self/task").iterdir()
    return [n for task in tasks for n in (task / "children").read_text().split()]
while not (found := children()):
    time.sleep(0.01)
stat = Path("/proc", found[0], "stat")
while int(stat.read_text().split()[13]) < 2 * os.sysconf("SC_CLK_TCK"):  # it has all of the text
    time.sleep(0.01)
print(*found, flush=True)
os._exit(0)
"""


def _runs(number: str) -> bool:
    """Whether there is a process that nobody has to collect only."""
    try:
        return Path("/proc", number, "stat").read_bytes().rsplit(b")", 1)[1].split()[0] != b"Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for processes")
def test_it_ends_with_whoever_waits_for_it() -> None:
    """An engine process may end while better code is made, which nobody will run."""
    command = [sys.executable, "-c", _ABANDONS]
    text = _long_text(500_000)  # takes half a minute
    said = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    (number,) = said.stdout.split()
    end = time.monotonic() + 10
    while _runs(number):
        assert time.monotonic() < end, "it goes on"
        time.sleep(0.05)


def test_code_in_a_hurry_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "LONG", 0)
    efforts: list[Effort] = []

    def noted(text: str, processor: Any, seconds: int, effort: Effort) -> bytes:
        efforts.append(effort)
        return b"code"

    monkeypatch.setattr(compiler, "_attempt", noted)
    assert compiler.compile_text("\n", host().hasty()) == b"code"
    assert efforts == [Effort.QUICK]


def test_a_function_has_a_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eumu.exec.jit.driver.module.MOST_OPERATIONS", 100)
    with pytest.raises(Unsupported, match="operations in the fast engine, which takes up to 100"):
        text_of(temporaries(50))
