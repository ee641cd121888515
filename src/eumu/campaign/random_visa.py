"""Random vISA kernels: on both engines, and through Intel's finalizer where native code runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from eumu.campaign.tasks import DIFFERS, REFUSED, SAME, UNSUPPORTED, Result, Task
from eumu.errors import BuildError, Fault, Unsupported
from eumu.exec.jit.host.target import host
from eumu.fuzz import verdicts
from eumu.fuzz.generator import SIMD, Generator
from eumu.fuzz.machine import Bundle, differences
from eumu.fuzz.walking import Walker, Walks
from eumu.platforms import platform

BATCH: Final = 96  # kernels of a task, two families: a process takes seconds to start
_TOGETHER: Final = 16  # kernels in a text for both engines
_EFFORT: Final = 1  # of LLVM: with less it ends its process on some programs
_NATIVE: Final = ("skl", "bxt")
_NEWER_SIMD: Final = (16, 32)  # of the platforms whose registers have 64 bytes, from Xe2 on


def tasks(device: str, count: int, limit: float) -> Iterator[Task]:
    """Batches of `count` kernels or a few more: a batch is never divided, so that it stays one."""
    for first in range(0, count, BATCH):
        yield Task("random-visa", device, first, BATCH, limit=limit)


def run(task: Task) -> Iterator[Result]:
    """What each kernel shows."""
    seeds = range(task.first, task.first + task.count)
    if task.device not in _NATIVE:
        yield from _engines(task, seeds)
        return
    by_seed = dict(verdicts.verdicts(seeds, thorough=True, device=task.device, jobs=1))
    for name, seed in zip(task.programs, seeds, strict=True):
        yield result(name, by_seed[seed])


def result(name: str, verdict: str) -> Result:
    """A verdict on a kernel as a result."""
    if verdict == verdicts.SAME:
        return Result(name, SAME)
    if verdict.startswith("differs"):
        what = verdict.removeprefix("differs; ")
        where, colon, _ = what.partition(":")
        return Result(name, DIFFERS, where if colon and " on " in where else "a fault", what)
    if verdict.startswith(UNSUPPORTED):
        return Result(name, UNSUPPORTED, verdict.partition(": ")[2])
    return Result(name, REFUSED, verdict)


def _engines(task: Task, seeds: range) -> Iterator[Result]:
    """The interpreter and the fast engine side by side; kernels that are alike share a text."""
    newer = platform(task.device).order >= platform("bmg").order
    widths = _NEWER_SIMD if newer else SIMD
    for alike in _together(seeds, widths):
        for seed, wrong in _shown(task, widths[alike[0] % len(widths)], alike):
            name = task.programs[seed - task.first]
            yield Result(name, DIFFERS, "visa on jit", wrong) if wrong else Result(name, SAME)


def _walks(seed: int) -> bool:
    """Whether the kernel of a seed is a loop that steps through memory."""
    return seed % 5 == 4


def _together(seeds: Sequence[int], widths: Sequence[int]) -> Iterator[list[int]]:
    """Seeds of one SIMD size and family, as many as are compiled together."""
    for simd, walks in product(widths, (False, True)):
        alike = [s for s in seeds if widths[s % len(widths)] == simd and _walks(s) is walks]
        for start in range(0, len(alike), _TOGETHER):
            yield alike[start : start + _TOGETHER]


def _bundle(device: str, simd: int, first: int, seeds: Sequence[int]) -> Bundle:
    if _walks(seeds[0]):
        walks = (Walker(seed, device, simd, f"k{seed}").section() for seed in seeds)
        return Walks(device, simd, first, tuple(walks))
    made = (Generator(seed, device, simd, f"k{seed}").section() for seed in seeds)
    return Bundle(device, simd, first, tuple(made))


def _shown(task: Task, simd: int, seeds: Sequence[int]) -> Iterator[tuple[int, str]]:
    """What differs of each; what ends the run of many is looked for in halves of them."""
    bundle = _bundle(task.device, simd, task.first, seeds)
    try:
        shown = differences(bundle, replace(host(), effort=_EFFORT))
    except (BuildError, Fault, Unsupported) as error:
        if len(seeds) == 1:
            yield seeds[0], " ".join(str(error).split())[:200]
            return
        half = len(seeds) // 2
        yield from _shown(task, simd, seeds[:half])
        yield from _shown(task, simd, seeds[half:])
        return
    wrong = {d.group: d.what for d in reversed(shown)}
    yield from ((seed, wrong.get(k, "")) for k, seed in enumerate(seeds))
