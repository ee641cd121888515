"""Random OpenCL C: every compiler and several builds, levels, engines, other implementations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import eumu
from eumu.campaign import implementations
from eumu.campaign.tasks import DIFFERS, REFUSED, SAME, UNSUPPORTED, Result, Task
from eumu.campaign.votes import Form, Value, culprits, right
from eumu.compare.sides import LEVELS
from eumu.errors import BuildError, LaunchError, Unsupported
from eumu.fuzz.opencl.kernels import FEATURES, RandomKernel, kernel, source
from eumu.platforms import Platform, platform
from eumu.runtime.parameters import Passing
from eumu.zebin import compilers, ocloc

BATCH: Final = 8  # kernels of a task, which are one source
_WIDTHS: Final = (8, 16, 32)
_UNOPTIMIZED: Final = "-cl-opt-disable"
_LARGE_GRF: Final = "-cl-intel-256-GRF-per-thread"
_FUEL: Final = 20_000_000
_N: Final = 2
_FORMAT: Final = "RGBA8_UINT"


@dataclass(frozen=True, slots=True)
class Build:
    """One way in which a source is compiled."""

    compiler: compilers.Compiler
    options: str = ""
    width: int | None = None
    variant: bool = False

    @property
    def label(self) -> str:
        width = f"SIMD{self.width}" if self.width else ""
        return " ".join(filter(None, (self.options or "-O2", width)))


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
    others = implementations.ask(kernels, task.limit * len(kernels))
    seen: list[dict[Form, Value]] = [{} for _ in kernels]
    notes: list[set[str]] = [set() for _ in kernels]
    for k, made in enumerate(kernels):
        answers = ((name, of.get(made.name)) for name, of in others.items())
        seen[k] |= {Form(name): bytes.fromhex(text) for name, text in answers if text is not None}
    for build in builds(target, task.first // BATCH):
        for k, (form, value) in _outcomes(build, kernels, target):
            if isinstance(value, Unsupported):
                notes[k].add(f"{form}: {value.what}")
            else:
                seen[k][form] = value
    for name, made, found, unsupported in zip(task.programs, kernels, seen, notes, strict=True):
        yield result(name, made, found, sorted(unsupported))


def builds(target: Platform, number: int) -> list[Build]:
    """Those of a batch: with and without optimization, one width of its own, more registers."""
    found: list[Build] = []
    widths = [w for w in _WIDTHS if target.grf_bytes == 32 or w > 8]
    for compiler in compilers.installed():
        if target not in compiler.devices:
            continue
        found += [Build(compiler), Build(compiler, _UNOPTIMIZED), Build(compiler, variant=True)]
        found.append(Build(compiler, "", widths[number % len(widths)]))
        if target.has_lsc and number % 2:
            found.append(Build(compiler, _LARGE_GRF))
    if not found:
        compilers.choose(target)  # says who knows what instead
    return found


def result(name: str, made: RandomKernel, seen: dict[Form, Value], notes: list[str]) -> Result:
    """What the forms of a kernel show together."""
    ran = [form for form in seen if form.is_build]
    if not ran:
        return Result(name, UNSUPPORTED if notes else REFUSED, "", "; ".join(notes[:2]))
    wrong = culprits(seen)
    if not wrong:
        return Result(name, SAME, "", f"not compared: {notes[0]}" if notes else "")
    return Result(name, DIFFERS, ", ".join(wrong), _described(made, seen))


def _described(made: RandomKernel, seen: dict[Form, Value]) -> str:
    """The first form that says something else than most, and where."""
    value = right(seen)
    if value is None:
        value = next(iter(seen.values()))
    agree = next(form for form, found in seen.items() if found == value)
    form, other = next((f, found) for f, found in seen.items() if found != value)
    if isinstance(other, str) or isinstance(value, str):
        return f"{form}: {_word(other)}; {agree}: {_word(value)}"
    at = next(k for k, (a, b) in enumerate(zip(value, other, strict=False)) if a != b) // 8
    a, b = (data[8 * at : 8 * at + 8][::-1].hex() for data in (other, value))
    output, item = divmod(at, made.global_size)
    return f"output {output} of work item {item}: {a} in {form}, {b} in {agree}"


def _word(value: Value) -> str:
    return value if isinstance(value, str) else "ends"


# ---- builds and their runs

_Outcome = tuple[int, tuple[Form, "Value | Unsupported"]]


def _outcomes(
    build: Build, kernels: Sequence[RandomKernel], target: Platform
) -> Iterator[_Outcome]:
    """What each kernel does in each form of a build; a kernel alone where not all can be built."""
    try:
        program = _compiled(build, kernels, target)
    except BuildError as error:
        if len(kernels) > 1:
            for k, one in enumerate(kernels):
                yield from ((k, found) for _, found in _outcomes(build, [one], target))
            return
        why = str(error).partition("\n")[0]
        form = Form(build.compiler.version, build.label, build.variant, "build")
        yield 0, (form, f"it is not built: {why}")
        return
    for k, made in enumerate(kernels):
        yield from ((k, found) for found in _ran(build, program, made, target))


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


def _ran(
    build: Build, program: eumu.Program, made: RandomKernel, target: Platform
) -> Iterator[tuple[Form, Value | Unsupported]]:
    name = f"{made.name}v" if build.variant else made.name
    if name not in program:
        return  # where a width is forced, releases leave out kernels that cannot have it
    if build.width == _WIDTHS[-1] and "call" in made.features:
        return  # forced to it, code passes half of the lanes to functions
    levels = LEVELS if target.generation == "gen9" else LEVELS[:1]
    plain = build.options in ("", _LARGE_GRF) and not build.variant and build.width is None
    for level in levels:
        for engine in ("interp", "jit") if plain else ("interp",):
            form = Form(build.compiler.version, build.label, build.variant, level, engine)
            try:
                yield form, launched(program, name, made, target, level, engine)
            except Unsupported as error:
                yield form, error
            except (BuildError, LaunchError) as error:
                yield form, f"refused: {str(error).partition(chr(10))[0]}"


def launched(
    program: eumu.Program,
    name: str,
    made: RandomKernel,
    target: Platform,
    level: str,
    engine: str,
) -> Value:
    """What a launch leaves, or its fault."""
    device = eumu.Device(target.name, engine)
    chosen = program[name]
    arrays = {n: device.array(a, name=n) for n, a in made.arrays().items()}
    given: dict[str, Any] = dict(arrays) | {"n": _N}
    given |= {n: device.image(t, format=_FORMAT, name=n) for n, t in made.images().items()}
    for parameter in chosen.args:
        if parameter.passing is Passing.SAMPLER:
            given[parameter.name] = device.sampler()
    sizes = (made.global_size,), (made.items,)
    try:
        chosen.launch(device, *sizes, given, level=level, fuel=_FUEL)
    except eumu.Fault as fault:
        return f"fault: {str(fault).partition(chr(10))[0]}"
    left = [arrays["out"].numpy().tobytes(), arrays["shared"].numpy().tobytes()]
    if "target" in given:
        left.append(given["target"].numpy().tobytes())
    return b"".join(left)
