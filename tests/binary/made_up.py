"""Runs a kernel of an object file on both engines, with arguments that fit what it does with them.

A surface that pictures are read from or written to is an image, one with two planes if the kernel
asks for the second; others are arrays.  Numbers are small.  As a kernel may want others (an offset,
a count, a mode), a few choices are tried, and every one that runs without a fault is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any, Final

import numpy as np

import eumu
from eumu.exec.interp import Interpreter
from eumu.isa.kinds.variables import Declared
from eumu.platforms import Platform
from eumu.program import Kernel
from eumu.runtime.parameters import Parameter, Passing

WIDTH, ROWS = 256, 128  # of images, in texels
BYTES: Final = 1 << 18  # of arrays
FUEL: Final = 20_000  # instructions of a thread
_BUFFERS: Final = ("oword", "gather_scaled", "scatter_scaled", "gather4_scaled", "scatter4_scaled")
_BUFFERS_TOO: Final = ("dword_atomic", "gather", "scatter", "qw_")
_MESSAGES: Final = {"movs", "addr_add"}  # a surface that a message names by a number
_TYPED: Final = ("typed_atomic", "gather4_typed", "scatter4_typed")
# What stands in arrays, and what numbers are.
CHOICES: Final = (("bytes", 8), ("small", 1), ("small", 0), ("zeros", 0), ("bytes", 64))
# How a thread knows its place; one that does not ask runs alone.
_PLACES: Final = {"%thread_x", "%thread_y", "%group_id_x", "%group_id_y", "%r0"}
_WORSE: Final = ("agrees", "depends on order", "differs")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a kernel.

    `verdict` is agrees, depends on order, differs, refused, faults or no platform; `reason` says
    why.  Of `tried` choices `ran` had no fault; in the best of them so many surfaces were written.
    """

    verdict: str
    reason: str = ""
    ran: int = 0
    tried: int = 0
    instructions: int = 0
    written: int = 0
    surfaces: int = 0

    def __str__(self) -> str:
        text = f"{self.verdict}: {self.reason}" if self.reason else self.verdict
        if not self.ran:
            return text
        return (
            f"{text}; {self.ran} of {self.tried} choices ran, {self.instructions} instructions,"
            f" {self.written} of {self.surfaces} surfaces written"
        )


@dataclass(frozen=True, slots=True)
class _Result:
    instructions: int
    surfaces: list[np.ndarray[Any, Any]]
    written: int

    def same(self, other: _Result) -> bool:
        pairs = zip(self.surfaces, other.surfaces, strict=True)
        equal = all(np.array_equal(x, y) for x, y in pairs)
        return equal and self.instructions == other.instructions


def run(data: bytes, code: Kernel, target: Platform | None, choices: int) -> Outcome:
    """What becomes of one kernel of an object file with the first so many choices."""
    if target is None:
        return Outcome("no platform", "eumu has no platform of this number")
    kernel = eumu.load(data, device=target)[code.name]
    uses = uses_of(code)
    try:
        sizes = _sizes(code, kernel, target)
    except eumu.Unsupported as error:
        return Outcome("refused", _short(error))
    refusals, faults, verdicts, results = [], [], ["agrees"], []
    for filling, number in CHOICES[:choices]:
        launch = partial(_launch, kernel, target, uses, filling, number)
        try:
            results.append(launch(sizes, "interp"))
            verdicts.append(_compared(launch, sizes, results[-1]))
        except eumu.Unsupported as error:  # a message that this choice made
            refusals.append(_short(error))
        except (eumu.Fault, eumu.LaunchError) as error:
            faults.append(_short(error))
    tried = len(CHOICES[:choices])
    if not results:
        verdict, reasons = ("refused", refusals) if refusals else ("faults", faults)
        return Outcome(verdict, reasons[0], 0, tried)
    best = max(results, key=lambda r: r.written)
    facts = len(results), tried, best.instructions, best.written, len(best.surfaces)
    verdict = max(verdicts, key=_WORSE.index)
    reason = "threads write to one place" if verdict == "depends on order" else ""
    return Outcome(verdict, reason, *facts)


def _compared(launch: Callable[[Any, str], _Result], sizes: Any, first: _Result) -> str:
    """The fast engine's results against the interpreter's.

    Results depend on order if the interpreter's own are others when groups run one at a time, and
    a thread alone computes the same on both engines.
    """
    try:
        if first.same(launch(sizes, "jit")):
            return "agrees"
    except eumu.Fault:
        return "differs"
    in_turn = launch(sizes, "one group at a time")
    alone = launch((1, None), "interp").same(launch((1, None), "jit"))
    return "depends on order" if alone and not first.same(in_turn) else "differs"


def uses_of(code: Kernel) -> dict[str, set[str]]:
    """The instructions that name each surface; of media blocks, with their plane."""
    found: dict[str, set[str]] = {}
    for inst in code.instructions:
        plane = inst.operand("plane")
        for operand in inst.operands:
            for variable in _named(operand):
                if variable.category == "T":
                    word = inst.opcode.mnemonic + (f" {plane}" if plane else "")
                    found.setdefault(variable.name, set()).add(word)
    return found


def _named(operand: Any) -> Iterator[Declared]:
    if isinstance(operand, Declared):
        yield operand
    elif isinstance(operand, tuple | list):
        for part in operand:
            yield from _named(part)
    elif is_dataclass(operand):
        for field in fields(operand):
            yield from _named(getattr(operand, field.name))


def _launch(
    kernel: Any,
    target: Platform,
    uses: dict[str, set[str]],
    filling: str,
    number: int,
    sizes: tuple[Any, Any],
    engine: str,
) -> _Result:
    device = eumu.Device(target, engine="jit" if engine == "jit" else "interp")
    if engine not in ("jit", "interp"):
        device._engines["interp"] = Interpreter(batch_lanes=1)
    rng = np.random.default_rng(7)
    args = [_argument(device, p, uses, filling, number, rng) for p in kernel.args]
    flat = [x for a in args for x in (a if isinstance(a, tuple) else (a,))]
    surfaces = [x for x in flat if hasattr(x, "numpy")]
    before = [s.numpy().copy() for s in surfaces]
    report = kernel.launch(device, *sizes, args=args, fuel=FUEL)
    after = [s.numpy().copy() for s in surfaces]
    written = sum(not np.array_equal(x, y) for x, y in zip(before, after, strict=True))
    return _Result(report.instructions, after, written)


def _sizes(code: Kernel, kernel: Any, target: Platform) -> tuple[Any, Any]:
    """The sizes of a launch: groups of threads for a kernel whose threads meet at barriers."""
    ends = (b.end for b in kernel.function(target).blocks)
    if any(end is not None and end.name == "barrier" for end in ends):
        return (4, 2), (4, 1)
    named = {v.name for inst in code.instructions for o in inst.operands for v in _named(o)}
    return ((2, 2), None) if named & _PLACES else (1, None)


def _argument(
    device: eumu.Device,
    parameter: Parameter,
    uses: dict[str, set[str]],
    filling: str,
    number: int,
    rng: np.random.Generator,
) -> Any:
    if parameter.passing is Passing.SAMPLER:
        return device.sampler(filter="linear")
    if parameter.passing is Passing.BUFFER:
        used = uses.get(parameter.name, set())
        if used and all(word.startswith((*_BUFFERS, *_BUFFERS_TOO)) for word in used):
            return device.array(_filled(filling, rng))
        if used and used <= _MESSAGES:  # two references behind it, if it is for motion estimation
            return tuple(_image(device, used, rng) for _ in range(3))
        return _image(device, used, rng)
    if parameter.size <= 8:
        return number.to_bytes(parameter.size, "little")
    return np.full(parameter.size // 2, number, np.uint16).tobytes().ljust(parameter.size, b"\0")


def _filled(filling: str, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if filling == "zeros":
        return np.zeros(BYTES // 4, np.uint32)
    if filling == "small":
        return rng.integers(0, 8, BYTES // 4, np.uint32)
    return rng.integers(0, 100, BYTES, np.uint8).view(np.uint32)


def _image(device: eumu.Device, used: set[str], rng: np.random.Generator) -> Any:
    if any(word.startswith(_TYPED) for word in used):
        # A scoreboard: nothing is left to wait for.
        return device.image(np.zeros((ROWS, WIDTH), np.uint32), format="R32_UINT")
    if used & _MESSAGES or any(word.endswith(" 1") for word in used):
        pixels = rng.integers(0, 256, (ROWS * 3 // 2, WIDTH), np.uint8)
        return device.image(pixels, format="PLANAR_420_8")
    return device.image(rng.integers(0, 256, (ROWS, WIDTH), np.uint8), format="R8_UNORM")


def _short(error: Exception) -> str:
    """The first line of an error, without its place."""
    line = str(error).splitlines()[0]
    return line.split("unsupported: ")[-1].removeprefix("fault: ")
