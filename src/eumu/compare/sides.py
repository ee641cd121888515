"""The forms of a kernel: which builds there are, and at which level each runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu.compare.record import Recorder
from eumu.errors import BuildError
from eumu.platforms import Platform, platform
from eumu.records import dataclass
from eumu.runtime.images import Image
from eumu.zebin import compilers, ocloc

LEVELS: Final = ("visa", "native")
TEXT_PLATFORM: Final = "pvc"  # runs what is made for no device
_OPTIONS: Final = (("-O2", ""), ("-O0", "-cl-opt-disable"))
_LARGE_GRF: Final = ("256 GRF", "-cl-intel-256-GRF-per-thread")
_CALL: Final = re.compile(r"\b(?:f|if)?call \(")
_WIDEST: Final = 32
_WIDTHS: Final = (None, 8, 16, _WIDEST)

Values = Callable[[eumu.Device, eumu.Kernel], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Launch:
    """What every form is given: sizes, and a function that makes the arguments on a device."""

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    values: Values
    fuel: int | None = None


# A build once more, with switches of the compiler.
Rebuild = Callable[[Mapping[str, str]], eumu.Program]


@dataclass(frozen=True, slots=True)
class Side:
    """One form: a program at a level, the engine that runs it, how a source is built `again`.

    `build` says how it is built without eumu: the compiler's release, options, and the width that
    is forced; empty of what is not built here.
    """

    label: str
    program: eumu.Program
    level: str
    engine: str = "interp"
    again: Rebuild | None = field(default=None, compare=False, repr=False)
    build: str = field(default="", compare=False)

    def run(
        self, launch: Launch, thread: int | None = None, recorder_of: type[Recorder] = Recorder
    ) -> FormOutcome:
        """Run it, on the interpreter watched; with a `thread`, also the way that it goes."""
        printed: list[str] = []
        target = self.program.platform or TEXT_PLATFORM
        device = eumu.Device(target, self.engine, sink=printed.append)
        kernel = self.program[launch.kernel]
        values = launch.values(device, kernel)
        recorder, fault = recorder_of(device.memory, thread), None
        if self.engine == "interp":
            device.observer = recorder
        sizes = launch.global_size, launch.local_size
        try:
            kernel.launch(device, *sizes, values, level=self.level, fuel=launch.fuel)
        except eumu.Fault as error:
            fault = error
        finally:
            device.observer = None
        arrays = {n: v for n, v in values.items() if isinstance(v, eumu.Array)}
        if self.program in device.images:
            arrays |= device.images[self.program].variables()
        memory = {n: np.ascontiguousarray(a.numpy()) for n, a in arrays.items()}
        places = {n: a.address for n, a in arrays.items()}
        for name, image in values.items():
            if isinstance(image, Image):
                memory[name] = np.ascontiguousarray(image.numpy())
        lines = sorted("".join(printed).splitlines())
        return FormOutcome(self, recorder, memory, places, lines, fault)


@dataclass(frozen=True, slots=True)
class FormOutcome:
    """What a run left, what it stored in which order, and where.

    `memory` has all arrays, images and variables of the program; those that are bytes in order have
    `places`.  Lines of printf are sorted, as groups may run in any order.
    """

    side: Side
    record: Recorder = field(repr=False)
    memory: dict[str, NDArray[Any]]
    places: dict[str, int]
    printed: list[str]
    fault: eumu.Fault | None


def sides(
    program: str | Path | bytes,
    device: str | None = None,
    options: str = "",
    kernel: str | None = None,
    same: Callable[[str, str], None] | None = None,
) -> Iterator[Side]:
    """The forms of a program, the one that the others are held against first.

    Of source (`.cl`) there are builds by every compiler that knows the device, with and without
    optimization, with the large register file where there is one, and with each SIMD width that
    the compiler can make of it, as far as they differ in the `kernel`; of an ELF file only the
    levels.  `same` is told of each build with another one's code, and which that is.
    """
    if isinstance(program, bytes) or not str(program).endswith((".cl", ".spv")):
        loaded = eumu.load(program, device=device)
        yield from levels(loaded, "", _levels(loaded.platform))
        return
    target = platform(device or "apl")
    seen: dict[tuple[bytes, ...], str] = {}
    told: set[str] = set()
    for compiler in _compilers(target):
        title = f"{compiler.version} " if len(_compilers(target)) > 1 else ""
        for name, more in (*_OPTIONS, *((_LARGE_GRF,) if target.has_lsc else ())):
            for width in _WIDTHS:
                try:
                    choice = target, f"{options} {more}", width, compiler
                    built = _built(Path(program), *choice)
                except BuildError:
                    if width is None and (name, more) == _OPTIONS[0]:
                        raise
                    continue  # the compiler does not make this kernel so wide
                if width == _WIDEST and _calls(built, kernel):
                    continue  # forced to it, code passes half of the lanes to functions
                kernels = [k for k in built.kernels if kernel in (None, k.name)]
                if not kernels:
                    continue  # where a width is forced, releases leave out kernels that cannot
                code = tuple(_code(built, k.name, target) for k in kernels)
                label = f"{title}{name} SIMD{kernels[0].simd_width}"
                first = seen.setdefault(code, label)
                if first is label:
                    again = partial(_built, Path(program), *choice)
                    how = how_built(compiler, f"{options} {more}", width)
                    yield from levels(built, f"{label} ", _levels(target), again, how)
                elif first != label and label not in told and same is not None:
                    told.add(label)
                    same(label, first)


def _compilers(target: Platform) -> tuple[compilers.Compiler, ...]:
    """Those that know the device, or the one that says that it does not."""
    able = tuple(c for c in compilers.installed() if target in c.devices)
    return able or (compilers.choose(target),)


def _levels(target: Platform | None) -> Sequence[str]:
    """Both where eumu runs the native code, too."""
    return LEVELS if target is None or target.has_native_level else LEVELS[:1]


def _calls(program: eumu.Program, kernel: str | None) -> bool:
    """Whether code of the kernel, or of any, calls a function."""
    elf = program.elf
    chosen = [k for k in elf.kernels if kernel in (None, k.name)] if elf else []
    return any(_CALL.search(k.visaasm) for k in chosen)


def _code(program: eumu.Program, kernel: str, target: Platform) -> bytes:
    """What tells builds apart: the native code, or the vISA where only that is run."""
    if program.elf is None:
        return b""
    made = next(k for k in program.elf.kernels if k.name == kernel)
    if "native" in _levels(target):
        return made.text
    lines = (line.partition("//")[0].rstrip() for line in made.visaasm.splitlines())
    return "\n".join(filter(None, lines)).encode()


def _built(
    path: Path,
    device: Platform,
    options: str,
    width: int | None,
    compiler: compilers.Compiler,
    switches: Mapping[str, str] | None = None,
) -> eumu.Program:
    """A source compiled for a width, or the one that the compiler chooses."""
    made = ocloc.compile(
        path.read_bytes(),
        device,
        options,
        name=path.name,
        directory=path.parent,
        simd_width=width,
        compiler=compiler,
        switches=switches,
    )
    return eumu.load(made.elf)


def building(source: str, device: Platform, options: str) -> Rebuild:
    """How a source is built once more, as it is without switches."""
    return partial(_built, Path(source), device, options, None, compilers.choose(device))


def how_built(compiler: compilers.Compiler, options: str, width: int | None = None) -> str:
    """A build in words that another person can follow."""
    options = " ".join(options.split())
    forced = f", {ocloc.SIMD_WIDTH}={width} in its environment" if width else ""
    return f"{compiler.version} with {f'`{options}`' if options else 'no options'}{forced}"


def levels(
    program: eumu.Program,
    prefix: str,
    wanted: Sequence[str] = LEVELS,
    again: Rebuild | None = None,
    build: str = "",
) -> Iterator[Side]:
    """A program at each level, and how it is built once more."""
    return (Side(f"{prefix}{level}", program, level, again=again, build=build) for level in wanted)
