"""Whether another implementation of OpenCL leaves the same for the same arguments."""

from __future__ import annotations

import pickle
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
    for what, way in _smaller(case):
        part = replace(case, way=way)
        mine = part.launch("visa", "interp")
        if mine.ending or _undefined(part, options):
            continue
        if far_part := _far(part, mine, _ask(witness, part, options)):
            return "different", f"one {what}: {far_part}; all: {far}"
        return f"{why}; in one {what} the same", f"{far}; {found}"
    return f"{why}; undefined in parts, too", f"{far}; {found}"


def _smaller(case: Case) -> Iterator[tuple[str, Way]]:
    """Launches of one group, and of one work item."""
    yield "group", replace(case.way, global_size=case.way.local_size)
    if case.kernel.required_local_size is None:
        yield "work item", replace(case.way, global_size=(1,), local_size=(1,))


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
