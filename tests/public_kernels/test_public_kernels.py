"""The verdicts on a source: what is the same, what races, what is wrong."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from public_kernels import others, witness
from public_kernels.arguments import Way
from public_kernels.cases import Case, Run, Task
from public_kernels.sources import Text, build, sources
from public_kernels.trial import _differ, trial
from random_kernels.isolated import call

needs_ocloc = pytest.mark.skipif(shutil.which("ocloc") is None, reason="ocloc is not installed")

KERNELS = """
typedef float REAL;

kernel void scaled(global REAL *x, REAL by, int n) {
  int i = get_global_id(0);
  if (i < n) x[i] *= by;
}

kernel void last(global int *x) { x[0] = get_global_id(0); }

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void turns(global int *x) {
  x[0] = x[0] * 3 + get_local_id(0);
}

kernel void halves(global float *x) {  // lanes i and i + 16 of a thread
  int i = get_local_id(0) % 16;
  x[i] = x[i] * 2.0f + 1.0f;
}

kernel void far(global int *x) { x[20000 + get_global_id(0)] = 1; }

kernel void never(global int *x) { x[-1 - (int)get_global_id(0)] = 1; }
"""


def _outcomes(folder: Path, text: str = KERNELS) -> dict[tuple[str, str], str]:
    """The outcome of each stage of each kernel on skl."""
    task = Task(Text(folder / "some.cl", text), "skl", others=True, kept=folder)
    found = [json.loads(line) for line in trial(task).splitlines()]
    assert all(r["seconds"] >= 0 for r in found)
    return {(r["kernel"], r["level"] + " " + r["stage"]): r["outcome"] for r in found}


@needs_ocloc
def test_verdicts(tmp_path: Path) -> None:
    found = _outcomes(tmp_path)
    for kernel in ("scaled", "far"):
        for stage in ("visa engines", "native engines", "both levels"):
            assert found[kernel, stage] == "same"
    assert found["never", "visa launch"] == "fault"
    assert found["never", "native engines"] == found["never", "both levels"] == "both fault"
    assert found["turns", "visa engines"] == "race; threads in turn same"
    assert found["halves", "both levels"] == "same"
    if found["scaled", "visa pocl"] == "refused":
        pytest.skip("PoCL is not installed")
    assert found["scaled", "visa pocl"] == "same"
    # Lanes of a thread store what they loaded at once: work items of PoCL come one after another.
    assert found["halves", "visa pocl"] in ("race; in one work item the same", "different")
    if others.OCLGRIND.exists():  # which sees it; threads of skl do not show it
        assert found["halves", "visa pocl"] == "race; in one work item the same"


@needs_ocloc
@pytest.mark.skipif(not others.OCLGRIND.exists(), reason="oclgrind is not installed")
def test_oclgrind_says_what_is_undefined() -> None:
    """Oclgrind is a driver of OpenCL like others: a process asks one of them."""
    i = "get_global_id(0)"
    text = f"kernel void k(global int *x, local int *y) {{ x[{i} / 2] = {i}; x[99] = y[0]; }}"
    source = Text(Path("a.cl"), text)
    kernel = eumu.load(build(source, "skl", "")[0].elf).kernels[0]
    way = Way((32,), (32,))
    races, unwritten = (
        call(lambda asked: others.undefined(source, "", kernel, way, asked), asked)
        for asked in others.UNDEFINED
    )
    assert races == "Write-write data race at global memory"
    assert unwritten == "Uninitialized value written to global memory"


@needs_ocloc
def test_a_wrong_engine_is_no_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The difference is there in one thread, too."""
    launch = Case.launch

    def wrong(case: Case, level: str, engine: str, observer: Any = None) -> Run:
        run = launch(case, level, engine, observer)
        if engine == "interp" or not run.memory:
            return run
        return replace(run, memory=tuple(x + 1 for x in run.memory))

    monkeypatch.setattr(Case, "launch", wrong)
    text = KERNELS.partition("kernel void halves")[0]
    found = _outcomes(tmp_path, text)
    assert {found[k, "visa engines"] for k in ("scaled", "last", "turns")} == {"different"}


@pytest.mark.parametrize(
    ("wrong", "verdict"),
    [
        ({(64,)}, "race; in one group of 16 x 16, numbers 16 the same"),
        ({(64,), (16, 16)}, "different"),
    ],
)
def test_tiles_are_compared_in_groups_of_their_shape(
    wrong: set[tuple[int, ...]], verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All launches race but one; the other implementation differs in launches of one size."""
    program = eumu.load(Path(__file__).parents[1] / "kernels" / "bin" / "skl" / "saxpy.bin")
    (kernel,) = program.kernels
    case = Case(Task(Text(Path("a.cl"), ""), "skl"), program, kernel, Way((64,), (32,)))
    monkeypatch.setattr(witness, "_ask", lambda *_: [])
    monkeypatch.setattr(witness, "_far", lambda c, *_: "far" * (c.way.global_size in wrong))
    races = {1: "lanes", 2: ""}
    monkeypatch.setattr(witness, "_undefined", lambda c, _: races[len(c.way.local_size)])
    assert witness.compared("pocl", case, "", Run())[0] == verdict


def test_nans_in_structures_are_floats() -> None:
    """The signs of those that arithmetic makes are nobody's; other words are integers."""
    made, other = (np.array([5, nan], np.uint32) for nan in (0x7FC00000, 0xFFC00000))
    assert not _differ(made, other, is_words=True) and _differ(made, other, is_words=False)
    assert _differ(made, np.array([6, 0x7FC00000], np.uint32), is_words=True)
    assert _differ(made, np.array([5, 0xFFFFFFFF], np.uint32), is_words=True)


def test_sources_in_macros(tmp_path: Path) -> None:
    """Text that a host program makes a string of, with lines of the preprocessor in it."""
    (tmp_path / "a.cl").write_text("MSTRINGIFY(\n\\n#define N 3\n\nkernel void k() {}\n)\n")
    kernel = ["kernel", "void", "k()", "{}"]
    head = "#ifndef A\n#define A\nstatic const char* s = CONVERT_KERNEL_TO_STRING(\n"
    (tmp_path / "b.cl").write_text(head + "kernel void k() {}\n);\n\n#endif")
    found = [s.text.split() for s in sources(tmp_path)]
    assert found == [["#define", "N", "3", *kernel], kernel]


def test_sizes_and_types() -> None:
    """Each kernel is launched in the directions that it asks for."""
    line = "kernel void line() { get_global_id(0); }\n"
    rows = "kernel void rows() { get_group_id(1) * get_local_id(0); }\n"
    text = Text(Path("a.cl"), f"typedef unsigned T;\n#define T float\n{line}{rows}")
    assert (text.sizes("line"), text.sizes("rows")) == (((64,), (32,)), ((64, 2), (32, 1)))
    helped = Text(Path("a.cl"), "int y() { return get_local_id( 1 ); }\nkernel void k() { y(); }")
    assert helped.sizes("k") == ((32, 4), (16, 2))
    assert text.types("-DU=int -DT=double") == {"T": "float", "U": "int"}
