"""Random OpenCL C: every compiler and several builds, levels, engines, other implementations."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import eumu
from eumu.campaign import implementations
from eumu.campaign.code import Code, code_of
from eumu.campaign.tasks import DIFFERS, REFUSED, SAME, UNSUPPORTED, Result, Task
from eumu.campaign.votes import Form, Value, culprits, right
from eumu.compare.sides import LEVELS
from eumu.errors import BuildError, LaunchError, Unsupported
from eumu.exec.host import Engine
from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import Processor, host
from eumu.fuzz.opencl.kernels import FEATURES, RandomKernel, kernel, source
from eumu.platforms import Platform, platform
from eumu.records import dataclass
from eumu.runtime.parameters import Passing
from eumu.zebin import compilers, ocloc

BATCH: Final = 16  # kernels of a task, which are one source: half of a small build is its start
_WIDTHS: Final = (8, 16, 32)
_UNOPTIMIZED: Final = "-cl-opt-disable"
_LARGE_GRF: Final = "-cl-intel-256-GRF-per-thread"
_FUEL: Final = 2_000_000  # in the interpreter, a minute
_N: Final = 2
_EFFORT: Final = 1  # of LLVM: with less it ends its process on some programs
_OPTIMIZED: Final = 4  # every so many batches the fast engine's code is optimised as in launches
_FORMAT: Final = "RGBA8_UINT"


@dataclass(frozen=True, slots=True)
class Build:
    """One way in which a source is compiled.

    `is_fast`: whether it runs on the fast engine, too, before anything differs.
    """

    compiler: compilers.Compiler
    options: str = ""
    width: int | None = None
    variant: bool = False
    is_fast: bool = False

    @property
    def label(self) -> str:
        width = f"SIMD{self.width}" if self.width else ""
        return " ".join(filter(None, (self.options or "-O2", width)))

    @property
    def is_usual(self) -> bool:
        return self.options in ("", _LARGE_GRF) and not self.variant and self.width is None

    def forms(self, target: Platform, seed: int, *, is_every: bool) -> Iterator[tuple[str, str]]:
        """Levels and engines of a kernel: the fast engine and unusual builds have one level."""
        levels = LEVELS if target.has_native_level else LEVELS[:1]
        one, other = levels[seed % len(levels)], levels[(seed + 1) % len(levels)]
        for level in levels:
            if is_every or self.is_usual or level == other:
                yield level, "interp"
            if (self.is_usual and is_every) or (self.is_fast and level == one):
                yield level, "jit"


def tasks(device: str, count: int, limit: float) -> Iterator[Task]:
    """Batches of `count` kernels or a few more, as of random vISA."""
    for first in range(0, count, BATCH):
        yield Task("random-opencl", device, first, BATCH, limit=limit)


def features(device: Platform) -> frozenset[str]:
    """What random kernels for a device may have."""
    left_out = {"image"} - ({"image"} if device.has_sampler else set())
    return FEATURES - left_out - (set() if device.has_double else {"double"})


def run(task: Task) -> Iterator[Result]:
    """What each kernel shows."""
    target = platform(task.device)
    seeds = range(task.first, task.first + task.count)
    kernels = [kernel(seed, features(target)) for seed in seeds]
    number = task.first // BATCH
    batch = _Batch(target, kernels, Jit(processor=_processor(number)))
    batch.ask_others(task.seconds)
    chosen = builds(target, number)
    batch.look(range(len(kernels)), chosen, is_every=False)
    batch.look(batch.differing, chosen, is_every=True)
    for k, (name, made) in enumerate(zip(task.programs, kernels, strict=True)):
        found = result(name, made, batch.seen[k], sorted(batch.notes[k]), batch.doubted(k))
        yield replace(found, builds=len(batch.built[k]))


def builds(target: Platform, number: int) -> list[Build]:
    """Those of a batch; the width and the release that the fast engine runs come in turn."""
    chosen: list[Build] = []
    widths = [w for w in _WIDTHS if target.grf_bytes == 32 or w > 8]
    able = [compiler for compiler in compilers.installed() if target in compiler.devices]
    for k, compiler in enumerate(able):
        chosen += [
            Build(compiler, is_fast=k == number // _OPTIMIZED % len(able)),
            Build(compiler, _UNOPTIMIZED),
            Build(compiler, variant=True),
            Build(compiler, "", widths[number % len(widths)]),
            *([Build(compiler, _LARGE_GRF)] if target.has_lsc else []),
        ]
    if not chosen:
        compilers.choose(target)  # says who knows what instead
    return chosen


def result(
    name: str,
    made: RandomKernel,
    seen: dict[Form, Value],
    notes: list[str],
    doubted: Mapping[Value, Form] = MappingProxyType({}),
) -> Result:
    """What the forms of a kernel show together; some may be known to store undefined values."""
    ran = [form for form in seen if form.is_build]
    if not ran:
        return Result(name, UNSUPPORTED if notes else REFUSED, "", "; ".join(notes[:2]))
    wrong = culprits(seen, doubted)
    if not wrong:
        return Result(name, SAME, "", f"not compared: {notes[0]}" if notes else "")
    undefined = (f"; {form} stores what nothing has written" for form in doubted.values())
    what = _described(made, seen, right(seen, doubted)) + "".join(undefined)
    return Result(name, DIFFERS, ", ".join(wrong), what)


def _described(made: RandomKernel, seen: dict[Form, Value], value: Value | None) -> str:
    """The first form that says something else than most, and where."""
    if value is None:
        value = next(iter(seen.values()))
    agree = next(form for form, shown in seen.items() if shown == value)
    form, other = next((f, shown) for f, shown in seen.items() if shown != value)
    if isinstance(other, str) or isinstance(value, str):
        return f"{form}: {_word(other)}; {agree}: {_word(value)}"
    at = next(k for k, (a, b) in enumerate(zip(value, other, strict=False)) if a != b) // 8
    a, b = (data[8 * at : 8 * at + 8][::-1].hex() for data in (other, value))
    output, item = divmod(at, made.global_size)
    return f"output {output} of work item {item}: {a} in {form}, {b} in {agree}"


def _word(value: Value) -> str:
    return value if isinstance(value, str) else "ends"


# ---- builds and their runs


def _processor(number: int) -> Processor:
    """The fast engine's of a batch: a few have LLVM optimise as launches do."""
    return host() if number % _OPTIMIZED == 0 else replace(host(), effort=_EFFORT, numbering=False)


class _Batch:
    """Kernels of one source, and what each has shown in its forms."""

    def __init__(self, target: Platform, kernels: Sequence[RandomKernel], jit: Engine) -> None:
        self.target, self.kernels, self.jit = target, kernels, jit
        self.seen: list[dict[Form, Value]] = [{} for _ in kernels]
        self.notes: list[set[str]] = [set() for _ in kernels]
        self.built: list[set[Build]] = [set() for _ in kernels]
        self._ran: list[_Ran] = [{} for _ in kernels]
        self._programs: list[dict[str, eumu.Program]] = [{} for _ in kernels]  # that differ
        self._built_programs: dict[Build, dict[int, eumu.Program | str]] = {}

    @property
    def differing(self) -> list[int]:
        """Kernels whose forms do not all show the same."""
        return [k for k, shown in enumerate(self.seen) if culprits(shown)]

    def ask_others(self, seconds: float) -> None:
        """Run the kernels on other implementations."""
        for name, left in implementations.ask(self.kernels, seconds).items():
            for k, made in enumerate(self.kernels):
                text = left.get(made.name)
                if text is not None:
                    self.seen[k][Form(name)] = bytes.fromhex(text)

    def look(self, chosen: Sequence[int], builds: Iterable[Build], *, is_every: bool) -> None:
        """Run some of the kernels in the forms of builds that have not run yet."""
        for build in builds:
            programs = self._programs_of(build)
            for k in filter(programs.__contains__, chosen):
                program = programs[k]
                one = _Made(build, self.target, program, self._ran[k])
                if one.has(self.kernels[k]):
                    self.built[k].add(build)
                if is_every and isinstance(program, eumu.Program):
                    self._programs[k][one.title] = program
                for form, value in one.outcomes(
                    self.kernels[k], self.jit, self.seen[k].keys(), is_every=is_every
                ):
                    if isinstance(value, Unsupported):
                        self.notes[k].add(f"{form}: {value.what}")
                    else:
                        self.seen[k][form] = value

    def _programs_of(self, build: Build) -> dict[int, eumu.Program | str]:
        """A build's program of each kernel that it has, made once.

        A source with fewer kernels can have other code, and what goes wrong in it then goes right.
        """
        if build not in self._built_programs:
            every = range(len(self.kernels))
            chosen = [k for k in every if self.kernels[k].has_variant or not build.variant]
            programs = _programs(build, [self.kernels[k] for k in chosen], self.target)
            self._built_programs[build] = dict(zip(chosen, programs, strict=True))
        return self._built_programs[build]

    def doubted(self, k: int) -> dict[Value, Form]:
        """What comes of values that nothing has written, of a kernel whose forms differ; and a form
        that stores it.

        What anyone leaves without them is not doubted: code may copy such a value and not use it.
        """
        found: dict[Value, Form] = {}
        known = {value for form, value in self.seen[k].items() if not form.is_build}
        checked: dict[tuple[Code, str], bool] = {}
        for form, value in self.seen[k].items():
            program = self._programs[k].get(form.build)
            name = f"{self.kernels[k].name}{'v' * form.variant}"
            if program is None or name not in program or form.engine != "interp":
                continue
            if value in known:
                continue
            key = code_of(program, name, form.level), form.level
            if key not in checked:
                made = self.kernels[k]
                checked[key] = _is_undefined(program, name, made, self.target, form.level)
            if checked[key]:
                found.setdefault(value, form)
            else:
                known.add(value)
        return {value: form for value, form in found.items() if value not in known}


# What code did at a level on an engine: the same code of two builds runs once.
_Ran = dict[tuple[Code, str, str], "Value | Unsupported"]


@dataclass(frozen=True, slots=True)
class _Made:
    """A build with its program, or why there is none, and what the kernel's code did so far."""

    build: Build
    target: Platform
    program: eumu.Program | str
    ran: _Ran

    @property
    def title(self) -> str:
        """The build in the words of its forms."""
        return Form(self.build.compiler.version, self.build.label, self.build.variant).build

    def name(self, made: RandomKernel) -> str:
        return f"{made.name}v" if self.build.variant else made.name

    def has(self, made: RandomKernel) -> bool:
        """Whether the compiler has made code of the kernel.

        Where a width is forced, releases leave out kernels that cannot have it.
        """
        return not isinstance(self.program, str) and self.name(made) in self.program

    def outcomes(
        self, made: RandomKernel, jit: Engine, known: Container[Form], *, is_every: bool
    ) -> Iterator[tuple[Form, Value | Unsupported]]:
        """What the kernel does in some forms, or in every one, which says who is wrong."""
        build, program = self.build, self.program
        if isinstance(program, str):
            yield Form(build.compiler.version, build.label, build.variant, "build"), program
            return
        if not self.has(made):
            return
        if build.width == _WIDTHS[-1] and "call" in made.features:
            return  # forced to it, code passes half of the lanes to functions
        for level, engine in build.forms(self.target, made.seed, is_every=is_every):
            form = Form(build.compiler.version, build.label, build.variant, level, engine)
            if form in known:
                continue
            key = code_of(program, self.name(made), level), level, engine
            if key not in self.ran:
                self.ran[key] = self._outcome(program, made, level, engine, jit)
            yield form, self.ran[key]

    def _outcome(
        self, program: eumu.Program, made: RandomKernel, level: str, engine: str, jit: Engine
    ) -> Value | Unsupported:
        try:
            return launched(program, self.name(made), made, self.target, level, engine, jit)
        except Unsupported as error:
            return error
        except (BuildError, LaunchError) as error:
            return f"refused: {str(error).partition(chr(10))[0]}"


def _programs(
    build: Build, kernels: Sequence[RandomKernel], target: Platform
) -> list[eumu.Program | str]:
    """The program of each kernel: one of all where all can be built, else a kernel alone."""
    if not kernels:
        return []
    try:
        return [_compiled(build, kernels, target)] * len(kernels)
    except BuildError as error:
        if len(kernels) == 1:
            return [f"it is not built: {str(error).partition(chr(10))[0]}"]
    return [_programs(build, [one], target)[0] for one in kernels]


def _compiled(build: Build, kernels: Sequence[RandomKernel], target: Platform) -> eumu.Program:
    chosen = [k.variant() if build.variant else k for k in kernels]
    made = ocloc.compile(
        source(chosen),
        target,
        f"-w {build.options}".strip(),
        name="random.cl",
        simd_width=build.width,
        compiler=build.compiler,
    )
    return eumu.load(made.elf)


def launched(
    program: eumu.Program,
    name: str,
    made: RandomKernel,
    target: Platform,
    level: str,
    engine: str,
    jit: Engine,
) -> Value:
    """What a launch leaves, or its fault."""
    device = eumu.Device(target.name, engine)
    device.use("jit", jit)
    arguments = _arguments(program[name], made, device)
    try:
        _launch(program[name], made, device, arguments, level)
    except eumu.Fault as fault:
        return f"fault: {str(fault).partition(chr(10))[0]}"
    written = (arguments[n] for n in ("out", "shared", "target") if n in arguments)
    return b"".join(array.numpy().tobytes() for array in written)


def _arguments(chosen: eumu.Kernel, made: RandomKernel, device: eumu.Device) -> dict[str, Any]:
    arguments: dict[str, Any] = {n: device.array(a, name=n) for n, a in made.arrays().items()}
    arguments |= {n: device.image(t, format=_FORMAT, name=n) for n, t in made.images().items()}
    samplers = (p.name for p in chosen.args if p.passing is Passing.SAMPLER)
    return arguments | {"n": _N} | {name: device.sampler() for name in samplers}


def _launch(
    chosen: eumu.Kernel,
    made: RandomKernel,
    device: eumu.Device,
    arguments: dict[str, Any],
    level: str,
) -> eumu.Report:
    sizes = (made.global_size,), (made.items,)
    return chosen.launch(device, *sizes, arguments, level=level, fuel=_FUEL)


def _is_undefined(
    program: eumu.Program, name: str, made: RandomKernel, target: Platform, level: str
) -> bool:
    """Whether the kernel uses values that nothing has written; random programs write all."""
    device = eumu.Device(target.name, "interp", check="undefined")
    arguments = _arguments(program[name], made, device)
    try:
        report = _launch(program[name], made, device, arguments, level)
    except (eumu.Fault, BuildError, LaunchError, Unsupported):
        return False
    return bool(report.findings)
