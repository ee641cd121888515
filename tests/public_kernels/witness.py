"""Whether another implementation of OpenCL leaves the same for the same arguments."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.runtime.parameters import Passing
from public_kernels import others
from public_kernels.arguments import Way, element
from public_kernels.cases import Case, Run, conflicts, keep
from random_kernels.isolated import DIED, call

# Groups that public kernels are made for, with values of integers, and bytes of buffers in which
# rows of so many elements have room.
_MADE_FOR = (
    ((16, 16), 16, 1 << 16),
    ((256,), 16, 1 << 16),
    ((16,), 64, 1 << 20),
    ((32,), 64, 1 << 20),
    ((16, 4), 64, 1 << 20),
    ((16, 16), 256, 1 << 20),
    ((1,), 1, 1 << 16),
    ((32, 16), 512, 1 << 22),
)
_PATIENCE = 60.0  # seconds of the processor for launches of one kernel in other shapes
_NEAR = 1e-3  # of the largest magnitude, for floats of another implementation
# Where the result is not defined, or the other one is wrong: (file, kernel) -> why.
EXPLAINED = {
    ("Particles.cl", "calcHash"): "places divided by cells of no size become integers",
    ("parallelLinearBvh.cl", "assignMortonCodesAndAabbIndicies"): (
        "places divided by cells of no size become integers"
    ),
    ("parallelLinearBvh.cl", "plbvhLargeAabbAabbTest"): (
        "the order of work items at a counter says which pairs find room"
    ),
    ("histogram1024.cl", "histogram1024Kernel"): "shares of a range without width become integers",
    ("oclReduction_kernel.cl", "reduce0"): "PoCL's sums are not NumPy's, eumu's are",
    **{
        ("oclReduction_kernel.cl", f"reduce{k}"): "32 work items add up without barriers"
        for k in (4, 5, 6)
    },
    ("RadixSort32Kernels.cl", "PrefixScanKernel"): "64 work items add up without barriers",
    ("solveFriction.cl", "BatchSolveKernelFriction"): (
        "constraints of a batch have no body in common, as those that are made up have"
    ),
}


def compared(witness: str, case: Case, options: str, run: Run) -> tuple[str, str]:
    """The verdict, and how far the results are from each other."""
    theirs = _ask(witness, case, options)
    if isinstance(theirs, str) and not theirs.startswith(DIED):
        return "refused", theirs
    far = _far(case, run, theirs)
    if not far:
        return "same", ""
    if reason := EXPLAINED.get((case.task.source.path.name, case.kernel.name)):
        return "undefined", reason
    found = _undefined(case, options)
    if not found:
        return "different", far
    why = "not initialised" if found.startswith("Uninit") else "race"
    outcome, far_part = _in_parts(witness, case, options)
    if outcome == "different":
        return outcome, f"{far_part}; all: {far}"
    return f"{why}; {outcome}", f"{far}; {found}"


def _in_parts(witness: str, case: Case, options: str) -> tuple[str, str]:
    """The verdict on the first launch in which nothing is undefined, and how far it is off.

    If there is none: whether one is the same all the same that reads what nobody wrote, of which
    Oclgrind sees some too much (elements of vectors that are not written yet).
    """
    weak, start = "", time.process_time()
    for what, way in _others(case):
        if time.process_time() - start > _PATIENCE:
            break
        part = replace(case, way=way)
        mine = part.launch("visa", "interp")
        reason = mine.ending or _undefined(part, options)
        if reason and (weak or not reason.startswith("Uninit")):
            continue
        far = _far(part, mine, _ask(witness, part, options))
        if not reason:
            return ("different", f"one {what}: {far}") if far else (f"in one {what} the same", "")
        if not far:
            weak = f"in one {what} the same, which reads what nobody wrote"
    return weak or "undefined in parts, too", ""


def _others(case: Case) -> Iterator[tuple[str, Way]]:
    """Launches in which less may be undefined: of one group, of one work item, of other shapes.

    A kernel that divides its work into tiles, or adds up in a tree, is made for groups of one
    shape and for arrays of some size, which its host program knows.  With others, work items race,
    or read what none wrote.
    """
    yield "group", replace(case.way, global_size=case.way.local_size)
    if case.kernel.required_local_size is None:
        yield "work item", replace(case.way, global_size=(1,), local_size=(1,))
    needed = case.kernel.required_local_size
    for shape, number, nbytes in _MADE_FOR:
        if needed is None or len(shape) == 1:
            size = needed or shape
            what = f"group of {' x '.join(map(str, size))}, numbers {number}"
            yield what, Way(size, size, case.way.types, nbytes, number)


def _undefined(case: Case, options: str) -> str:
    """How work items race, or what else is undefined."""
    return ", ".join(sorted(conflicts(case, "visa"))) or _oclgrind(case, options)


def _far(case: Case, run: Run, theirs: str | list[NDArray[np.uint8]]) -> str:
    """How far the results are from each other, if too far."""
    if isinstance(theirs, str):
        return theirs
    pointers = [p for p in case.kernel.args if p.passing is Passing.BUFFER]
    elements = [element(p, case.way) for p in pointers]
    worst = max(map(distance, elements, run.memory, theirs), default=0.0)
    return f"off by {worst:.1e}" if worst > _NEAR else ""


def _ask(witness: str, case: Case, options: str) -> str | list[NDArray[np.uint8]]:
    """Another implementation's results, or why there are none.

    It has a process of its own: a kernel with races may take it out of its arrays.
    """

    def ask(_: None) -> str:
        try:
            theirs = others.Other.of(witness, case.task.source, options).run(case.kernel, case.way)
        except RuntimeError as error:
            return f"no {error}"
        return pickle.dumps(theirs).decode("latin-1")

    def answer() -> str | list[NDArray[np.uint8]]:
        text = call(ask, None)
        if text.startswith(("no ", DIED)):
            return text.removeprefix("no ")
        theirs: list[NDArray[np.uint8]] = pickle.loads(text.encode("latin-1"))
        return theirs

    made = keep(case.task, f"{witness} {case.kernel.name} {case.way}", answer)
    assert isinstance(made, (str, list))
    return made


def _oclgrind(case: Case, options: str) -> str:
    """What Oclgrind finds: lanes of a thread are work items there."""

    def ask(asked: str) -> str:
        try:
            given = case.task.source, options, case.kernel, case.way
            return others.undefined(*given, asked)
        except RuntimeError as error:
            return f"no {error}"

    for asked in others.UNDEFINED:
        what = f"{asked} {case.kernel.name} {case.way}"
        found = str(keep(case.task, what, partial(call, ask, asked)))
        if found and not found.startswith(("no ", DIED)):
            return found
    return ""


def distance(
    known: tuple[np.dtype[Any], int] | None, a: NDArray[Any], b: NDArray[np.uint8]
) -> float:
    """The largest difference, in parts of the largest magnitude; integers differ by 1 or 0."""
    if known is None and a.nbytes % 4 == 0:  # of structures, and of memory without a type
        return _floats(a.view(np.uint8).view(np.float32), b.view(np.float32))
    if known is None or known[0].kind != "f":
        return 0.0 if np.array_equal(a.view(np.uint8), b) else 1.0
    return _floats(a, b.view(known[0]))


def _floats(x: NDArray[Any], y: NDArray[Any]) -> float:
    with np.errstate(all="ignore"):
        x, y = x.astype(np.float64), y.astype(np.float64)
        if not np.array_equal(np.isfinite(x), np.isfinite(y)):
            return 1.0
        both = np.isfinite(x)
        if not both.any():
            return 0.0
        scale = max(float(np.max(np.abs(y[both]))), 1e-30)
        return float(np.max(np.abs(x[both] - y[both]))) / scale
