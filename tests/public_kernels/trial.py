"""What becomes of one source on one device: built, checked, lowered, launched, compared."""

from __future__ import annotations

import contextlib
import json
import resource
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu import native, zebin
from eumu.compare.nans import unequal
from eumu.errors import Severity
from public_kernels.cases import ORDERED, Case, Run, Task, conflicts, keep, smaller, ways
from public_kernels.in_turn import in_turn
from public_kernels.sources import Text, build
from public_kernels.witness import compared

_NATIVE = ("skl", "bxt")
_NANS = (0x7FC00000, 0xFFC00000)  # what arithmetic makes of operands that are no NaNs


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a kernel, or of the whole source where `kernel` is empty.

    `stage` is where it ended: build, check, rules (of native words), launch (on the interpreter),
    engines, levels, pocl, intel.  `outcome` is a word that the table counts, `detail` says more.
    `seconds` of the processor went by in this process since the result before.
    """

    source: str
    kernel: str
    device: str
    level: str
    stage: str
    outcome: str
    detail: str = ""
    seconds: float = 0.0


def preload() -> None:
    """Load what every task needs, once for all the processes that follow."""
    for module in ("eumu.exec.jit.host.engine", "eumu.runtime", "eumu.checking", "pyopencl"):
        with contextlib.suppress(ImportError):
            import_module(module)


def trial(task: Task) -> str:
    """The results as lines of JSON."""
    return "\n".join(json.dumps(asdict(r)) for r in _trial(task))


def _used() -> float:
    """Seconds of the processor that this process and the ended ones below it used."""
    spent = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in spent)


def _trial(task: Task) -> Iterator[Result]:
    last = _used()

    def result(
        stage: str, outcome: str, detail: str = "", kernel: str = "", level: str = ""
    ) -> Result:
        nonlocal last
        before, last = last, _used()
        seconds = round(last - before, 2)
        path = str(task.source.path)
        return Result(path, kernel, task.device, level, stage, outcome, detail[:600], seconds)

    try:
        given = keep(task, "options", lambda: task.options)
        built, options = build(task.source, task.device, given)
        keep(task, "options", lambda: options, again=True)
    except eumu.BuildError as error:
        yield result("build", "refused", str(error).splitlines()[0] if str(error) else "")
        return
    try:
        elf = zebin.read(built.elf, task.source.path.name)
    except eumu.FormatError as error:  # no kernel is left by the preprocessor
        yield result("build", "empty", str(error))
        return
    errors = [d for d in eumu.check(built.elf, task.device) if d.severity is Severity.ERROR]
    for d in errors:
        yield result("check", "error", f"{d.code}: {d}")
    if not errors:
        yield result("check", "fine")
    yield from _rules(task, elf, result)
    try:
        program = eumu.load(built.elf)
    except eumu.EumuError as error:
        yield result("load", type(error).__name__, str(error))
        return
    for kernel in program.kernels:
        for stage, outcome, detail, level in _kernel(task, program, kernel, options):
            yield result(stage, outcome, detail, kernel.name, level)


def _rules(task: Task, elf: zebin.Zebin, result: Any) -> Iterator[Result]:
    """Whether the compiler's native words break no rule that is not its own."""
    if task.device not in _NATIVE:
        return
    for kernel in elf.kernels:
        found = native.check(kernel.text, task.device, "observed", kernel.name)
        for d in [d for d in found if d.severity is Severity.ERROR][:3]:
            yield result("rules", "error", f"{d.code}: {d}", kernel.name)


def _kernel(
    task: Task, program: eumu.Program, kernel: eumu.Kernel, options: str
) -> Iterator[tuple[str, str, str, str]]:
    levels = ("visa", "native") if task.device in _NATIVE else ("visa",)
    for way in ways(task, kernel, options):
        case = Case(task, program, kernel, way)
        runs = {"visa": case.launch("visa", "interp")}
        if runs["visa"].ending != "fault":
            break
    else:
        case = Case(task, program, kernel, next(ways(task, kernel, options)))
        runs = {"visa": case.launch("visa", "interp")}
    for level in levels:
        slow = runs[level] = runs.get(level) or case.launch(level, "interp")
        yield "launch", slow.ending or "ran", slow.detail, level
        if task.fast:
            yield "engines", *_engines(case, level, slow), level
    if len(runs) == 2:
        verdict = _verdict(case, ("native", "interp"), ("visa", "interp"), *reversed(runs.values()))
        yield "levels", *verdict, "both"
    witness = task.source.witness if task.others and not runs["visa"].ending else ""
    if witness:
        yield witness, *compared(witness, case, options, runs["visa"]), "visa"


def _engines(case: Case, level: str, slow: Run) -> tuple[str, str]:
    fast = case.launch(level, "jit")
    if fast.ending == "not compiled":
        return fast.ending, fast.detail
    return _verdict(case, (level, "jit"), (level, "interp"), fast, slow)


def _verdict(
    case: Case, first: tuple[str, str], second: tuple[str, str], one: Run, two: Run
) -> tuple[str, str]:
    """Whether two launches, each of a level and an engine, end alike and leave the same.

    If not, and threads race, smaller launches that do not race tell; if all race, the same launch
    on both with its threads in turn.
    """
    outcome, detail = _alike(case, one, two)
    if _is_fine(outcome) or not conflicts(case, second[0]) & ORDERED:
        return outcome, detail
    for what, way in smaller(case.kernel, case.way):
        part = replace(case, way=way)
        if conflicts(part, second[0]) & ORDERED:
            continue
        found, why = _alike(part, part.launch(*first), part.launch(*second))
        if not _is_fine(found):
            return found, f"in one {what}: {why}"
        return f"race; in one {what} {found}", detail
    with in_turn():
        found, why = _alike(case, case.launch(*first), case.launch(*second))
    if not _is_fine(found):
        return found, f"threads in turn: {why}; at once: {detail}"
    return f"race; threads in turn {found}", detail


def _is_fine(outcome: str) -> bool:
    return outcome == "same" or outcome.startswith("both ")


def _alike(case: Case, one: Run, two: Run) -> tuple[str, str]:
    """Whether two runs end alike and leave the same."""
    if one.ending != two.ending:
        outcome = f"endings differ: {one.ending or 'ran'} / {two.ending or 'ran'}"
        return outcome, f"{one.detail} | {two.detail}"
    if one.ending:
        return f"both {one.ending}", ""
    outcome, detail = _unequal(case, one, two)
    return outcome or "same", detail


def _unequal(case: Case, one: Run, two: Run) -> tuple[str, str]:
    """What differs, and in which arrays.

    Structures are words here.  A word that is a NaN in both runs, of those that arithmetic makes,
    is a float, whose sign is nobody's; in an array of integers it is a difference all the same.
    """
    runs = list(zip(one.memory, two.memory, case.structures(), strict=True))
    wrong = [n for n, (a, b, is_words) in enumerate(runs) if _differ(a, b, is_words=is_words)]
    if not wrong:
        return "", ""
    if not any(_differ(a, b, is_words=True) for a, b, _ in runs):
        return "NaNs read as integers", f"arrays {wrong}"
    return "different", f"arrays {wrong}"


def _differ(a: NDArray[Any], b: NDArray[Any], *, is_words: bool) -> bool:
    wrong = unequal(a, b)
    if is_words and a.nbytes % 4 == 0 and wrong.any():
        words = [x.view(np.uint8).view(np.uint32) for x in (a, b)]
        wrong = (words[0] != words[1]) & ~(np.isin(words, _NANS).all(axis=0))
    return bool(wrong.any())


def tasks(
    sources: list[Text],
    devices: list[str],
    fast: list[str],
    options: str,
    kept: Path,
    *,
    others: bool,
) -> Iterator[Task]:
    """Every source for every device."""
    for source in sources:
        for device in devices:
            yield Task(source, device, options, others, device in fast, kept)


def name(path: str) -> str:
    """A source as tables name it."""
    return "/".join(Path(path).parts[-3:])
