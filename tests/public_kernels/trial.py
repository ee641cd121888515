"""What becomes of one source on one device: built, checked, lowered, launched, compared."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu import native, zebin
from eumu.compare.nans import unequal
from eumu.errors import Severity
from eumu.runtime.parameters import Passing, element_type
from public_kernels.arguments import values
from public_kernels.races import Races
from public_kernels.sources import Text, build
from random_kernels.isolated import call

FUEL = 100_000
_NATIVE = ("skl", "bxt")
# Where made-up arguments have no defined result: (file, kernel) -> why.
EXPLAINED = {
    ("Particles.cl", "calcHash"): "places divided by cells of no size become integers",
}


@dataclass(frozen=True, slots=True)
class Task:
    """A source for a device; `fast` asks for the compiled engine beside the interpreter."""

    source: Text
    device: str
    options: str = ""
    others: bool = False
    fast: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a kernel, or of the whole source where `kernel` is empty.

    `stage` is where it ended: build, check, rules (of native words), lower, launch, engines,
    levels, pocl, intel.  `outcome` is a word that the table counts, `detail` says more.
    """

    source: str
    kernel: str
    device: str
    level: str
    stage: str
    outcome: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """What a launch left: arrays and images of their own types, or how it ended."""

    memory: tuple[NDArray[Any], ...] = ()
    ending: str = ""
    detail: str = ""


def preload() -> None:
    """Load what every task needs, once for all the processes that follow."""
    for module in ("eumu.exec.jit.engine", "eumu.runtime", "eumu.checking", "pyopencl"):
        with contextlib.suppress(ImportError):
            import_module(module)


def trial(task: Task) -> str:
    """The results as lines of JSON."""
    return "\n".join(json.dumps(asdict(r)) for r in _trial(task))


def _trial(task: Task) -> Iterator[Result]:
    def result(
        stage: str, outcome: str, detail: str = "", kernel: str = "", level: str = ""
    ) -> Result:
        path = str(task.source.path)
        return Result(path, kernel, task.device, level, stage, outcome, detail[:600])

    try:
        built, options = build(task.source, task.device, task.options)
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
    runs: dict[str, Run] = {}
    for level in levels:
        slow = runs[level] = launch(task, program, kernel.name, level, "interp")
        if not task.fast:
            yield "launch", slow.ending or "ran", slow.detail, level
            continue
        fast = launch(task, program, kernel.name, level, "jit")
        if fast.ending != slow.ending:
            outcome = f"endings differ: {fast.ending or 'ran'} / {slow.ending or 'ran'}"
            yield "launch", outcome, f"{fast.detail} | {slow.detail}", level
            continue
        yield "launch", slow.ending or "ran", slow.detail, level
        if not slow.ending:
            yield "engines", *_verdict(task, program, kernel, level, fast, slow), level
    if len(runs) == 2 and not any(r.ending for r in runs.values()):
        yield "levels", *_verdict(task, program, kernel, "native", *runs.values()), "both"
    witness = task.source.witness if task.others and not runs["visa"].ending else ""
    if witness:
        yield witness, *_other(witness, task, program, kernel, options, runs["visa"]), "visa"


def sizes(task: Task, kernel: eumu.Kernel) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Global and local sizes."""
    if needed := kernel.required_local_size:
        return (needed[0] * 2, *needed[1:]), needed
    return ((32, 4), (16, 2)) if task.source.dimensions == 2 else ((64,), (32,))


def launch(
    task: Task, program: eumu.Program, name: str, level: str, engine: str, observer: Any = None
) -> Run:
    """One launch on a device of its own."""
    kernel = program[name]
    device = eumu.Device(task.device, engine, sink=lambda text: None)
    device.observer = observer
    try:
        given = values(device, kernel)
        kernel.launch(device, *sizes(task, kernel), given, level=level, fuel=FUEL)
    except eumu.Fault as error:
        return Run(ending="fault", detail=str(error).splitlines()[0])
    except eumu.Unsupported as error:
        return Run(ending="Unsupported", detail=str(error))
    except eumu.EumuError as error:
        return Run(ending=type(error).__name__, detail=str(error))
    kept = [v for v in given if isinstance(v, (eumu.Array, eumu.Image))]
    return Run(tuple(np.ascontiguousarray(v.numpy()).reshape(-1).copy() for v in kept))


def _verdict(
    task: Task, program: eumu.Program, kernel: eumu.Kernel, level: str, one: Run, two: Run
) -> tuple[str, str]:
    """Whether two runs left the same; if not, what may have made the difference."""
    pairs = list(zip(one.memory, two.memory, strict=True))
    wrong = [n for n, (a, b) in enumerate(pairs) if unequal(a, b).any()]
    if not wrong:
        return "same", ""
    if not any(_differ_as_floats(*pairs[n]) for n in wrong):
        return "NaNs read as integers", f"arrays {wrong}"
    return _excuse(task, program, kernel, level) or "different", f"arrays {wrong}"


def _differ_as_floats(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether more differs than NaNs: structures and arrays of integers may hold floats."""
    if a.nbytes % 4:
        return True
    return bool(unequal(a.view(np.uint8).view(np.float32), b.view(np.uint8).view(np.float32)).any())


def _excuse(task: Task, program: eumu.Program, kernel: eumu.Kernel, level: str) -> str:
    races = Races()
    launch(task, program, kernel.name, level, "interp", races)
    if races.found & {"threads", "lanes"}:
        return "race"
    return "atomics in another order" if "atomic" in races.found else ""


def _other(
    name: str, task: Task, program: eumu.Program, kernel: eumu.Kernel, options: str, run: Run
) -> tuple[str, str]:
    """Another implementation's results for the same arguments.

    It has a process of its own: a kernel with races may take it out of its arrays.
    """
    from public_kernels.others import Other

    def ask(_: None) -> str:
        try:
            theirs = Other.of(name, task.source, options).run(kernel, *sizes(task, kernel))
        except RuntimeError as error:
            return f"no {error}"
        pointers = [p for p in kernel.args if p.passing is Passing.BUFFER]
        return repr(max(map(distance, pointers, run.memory, theirs), default=0.0))

    answer = call(ask, None)
    if answer.startswith("no "):
        return "refused", answer[3:]
    if not answer[0].isdigit():
        return _excuse(task, program, kernel, "visa") or "dies", answer
    worst = float(answer)
    if worst <= 1e-3:
        return "same", f"{worst:.1e}"
    if reason := EXPLAINED.get((task.source.path.name, kernel.name)):
        return "undefined", reason
    return _excuse(task, program, kernel, "visa") or "different", f"off by {worst:.1e}"


def distance(parameter: eumu.Parameter, a: NDArray[Any], b: NDArray[np.uint8]) -> float:
    """The largest difference, in parts of the largest magnitude; integers differ by 1 or 0."""
    known = element_type(parameter.type_name.replace("*", " ").split(";")[0].strip())
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


def tasks(
    sources: list[Text], devices: list[str], fast: list[str], options: str, *, others: bool
) -> Iterator[Task]:
    """Every source for every device; other implementations are asked once for a source."""
    for number, device in enumerate(devices):
        for source in sources:
            yield Task(source, device, options, others and number == 0, device in fast)


def name(path: str) -> str:
    """A source as tables name it."""
    return "/".join(Path(path).parts[-3:])
