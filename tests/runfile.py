"""Run files: a vISA kernel and what it must compute, in one file.

Comment lines at the top say what to run::

    // platforms: skl pvc
    // run: X=[1, 2, 3] Y=[10] -> Z=[11, 12, 13]
    // run lanes=5: X=[1] -> Z=[2, 2, 2, 2, 2, 0]
    // run threads=2: X=[1] -> Z=[1, 2, 1, 2]
    // buffer M: type=ud count=64 address=A surface=3
    // image I: surface=4 type=f shape=2x4 format=R32_FLOAT
    // sampler 0: filter=linear address=repeat
    // engines: interp
    // note: anything

Left of the arrow are initial values of declared variables, right of it what they hold when the
thread has ended.  A list shorter than its variable is repeated on the left and compared as far as
it goes on the right; `_` is a lane that may hold anything.  Values are integers, floats (`nan`,
`inf`, `-0.0`) or bit patterns (`0x…`).  One thread runs, with `lanes` lanes (all by default), or a
group of `threads` that all start with the same values; what they end with is listed one after the
other.  A `buffer` is memory that runs name as if it were a variable: the kernel finds its address
in the variable `address`, and by the index `surface`; accesses through that index outside the
buffer read 0 and write nothing.  An `image` is one that runs name, too: elements of `type` in the
`shape` of an array, with the other arguments of `Device.image`, or after `media=1` those of
`Device.media_image`; a `sampler` has those of `Device.sampler` or `Device.media_sampler`.
`engines` names those that can run the file, where not all can.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from eumu.compare.nans import unequal_bits
from eumu.errors import FormatError
from eumu.exec.host import Engine
from eumu.ir.operations.lanes import bit_pattern
from eumu.program import Kernel
from eumu.text import parse
from eumu.types import TYPES, Type
from image_thread import DeviceHost, Filter, Picture
from visa_thread import Buffer, execute, variables

_HEADER = re.compile(r"//\s*(platforms|engines|buffer|image|sampler|run|note)\b\s*([^:]*):\s*(.*)")
_BINDING = re.compile(r"([A-Za-z_]\w*)=(\[[^\]]*\]|\S+)")


@dataclass(frozen=True)
class Run:
    """One `// run:` line."""

    before: dict[str, list[str]]
    after: dict[str, list[str]]
    lanes: int | None
    line: int
    threads: int = 1


@dataclass(frozen=True)
class RunFile:
    """A parsed run file."""

    path: Path
    platforms: tuple[str, ...]
    runs: tuple[Run, ...]
    kernel: Kernel
    functions: tuple[Kernel, ...] = ()
    engines: tuple[str, ...] = ("interp", "jit")
    buffers: tuple[tuple[Buffer, Type], ...] = ()
    pictures: tuple[tuple[Picture, Type], ...] = ()
    filters: tuple[Filter, ...] = ()


def read(path: Path) -> RunFile:
    """Parse a run file; a malformed header is an error, not a skipped run."""
    text = path.read_text(encoding="utf-8")
    platforms: tuple[str, ...] = ("skl", "pvc")
    engines: tuple[str, ...] = ("interp", "jit")
    runs: list[Run] = []
    buffers: list[tuple[Buffer, Type]] = []
    pictures: list[tuple[Picture, Type]] = []
    filters: list[Filter] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _HEADER.match(line)
        if match is None:
            continue
        word, options, rest = match.groups()
        if word == "platforms":
            platforms = tuple(rest.split())
        elif word == "engines":
            engines = tuple(rest.split())
        elif word == "buffer":
            buffers.append(_buffer(options.strip(), rest))
        elif word == "image":
            pictures.append(_picture(options.strip(), rest))
        elif word == "sampler":
            filters.append(Filter(int(options), _arguments(rest)))
        elif word == "run":
            runs.append(_run(options, rest, number))
    if not runs:
        raise FormatError(f"{path.name} has no '// run:' line")
    kernels = parse(text, path.name).kernels
    (kernel,) = (k for k in kernels if not k.is_function)
    functions = tuple(k for k in kernels if k.is_function)
    return RunFile(
        *(path, platforms, tuple(runs), kernel, functions, engines),
        *(tuple(buffers), tuple(pictures), tuple(filters)),
    )


def _buffer(name: str, rest: str) -> tuple[Buffer, Type]:
    facts = dict(re.findall(r"(\w+)=(\w+)", rest))
    type = TYPES[facts["type"]]
    surface = int(facts["surface"]) if "surface" in facts else None
    size = type.size * int(facts["count"])
    return Buffer(name, size, facts.get("address", ""), surface), type


def _arguments(rest: str) -> dict[str, Any]:
    """Words, and numbers where they are some."""
    found = re.findall(r"(\w+)=(\S+)", rest)
    return {k: int(v) if v.isdigit() else v for k, v in found}


def _picture(name: str, rest: str) -> tuple[Picture, Type]:
    facts = _arguments(rest)
    shape = tuple(int(n) for n in str(facts.pop("shape")).split("x"))
    surface, type = facts.pop("surface"), TYPES[facts.pop("type")]
    return Picture(name, surface, shape, facts), type


def _run(options: str, rest: str, line: int) -> Run:
    left, arrow, right = rest.partition("->")
    if not arrow:
        raise FormatError(f"line {line}: a run needs '->'")
    numbers = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", options)}
    threads = numbers.get("threads", 1)
    return Run(_bindings(left), _bindings(right), numbers.get("lanes"), line, threads)


def _bindings(text: str) -> dict[str, list[str]]:
    return {
        name: [v.strip() for v in value.strip("[]").split(",")]
        for name, value in _BINDING.findall(text)
    }


def bits(type: Type, word: str) -> int:
    """The bit pattern that a word stands for."""
    if word.lower().startswith("0x"):
        return int(word, 16)
    if type.is_float and type.name != "bf":
        return bit_pattern(type, float(word))
    return int(word) & ((1 << type.bits) - 1)


def _bytes(type: Type, words: list[str], count: int) -> bytes:
    return b"".join(
        bits(type, words[k % len(words)]).to_bytes(type.size, "little") for k in range(count)
    )


def run(file: RunFile, wanted: Run, platform_name: str, engine: Engine) -> list[str]:
    """Run one line; every difference in words, an empty list when all is as it should be."""
    types = {n: (v.type, v.count) for n, v in variables(file.kernel).items()}
    types |= {b.name: (t, b.size // t.size) for b, t in file.buffers}
    types |= {p.name: (t, prod(p.shape)) for p, t in file.pictures}
    before = {n: _bytes(types[n][0], w, types[n][1]) for n, w in wanted.before.items()}
    host: DeviceHost | None = None

    def device(size: int, buffers: Sequence[Buffer]) -> DeviceHost:
        nonlocal host
        pictures = [p for p, _ in file.pictures]
        host = DeviceHost(platform_name, size, buffers, pictures, file.filters, before)
        return host

    after = execute(
        file.kernel,
        before,
        list(wanted.after),
        platform_name,
        engine,
        wanted.lanes,
        wanted.threads,
        file.functions,
        [buffer for buffer, _ in file.buffers],
        device if file.pictures else None,
    )
    if host is not None:
        after |= host.pictures()
    found = []
    for name, words in wanted.after.items():
        found += _compare(name, types[name][0], words, after[name])
    return found


def _compare(name: str, type: Type, words: list[str], memory: bytes) -> list[str]:
    found = []
    for k, word in enumerate(words):
        if word == "_":
            continue
        raw = memory[k * type.size : (k + 1) * type.size]
        got, want = int.from_bytes(raw, "little"), bits(type, word)
        if unequal_bits(type, *np.array([[got], [want]], f"u{type.size}")).any():
            found.append(f"{name}[{k}] is {_show(type, got)}, expected {_show(type, want)}")
    return found


def _show(type: Type, pattern: int) -> str:
    value: Any = pattern
    if type.is_float and type.name != "bf":
        value = np.array(pattern, f"u{type.size}").view(type.dtype)[()]
    elif type.is_signed and pattern > type.maximum:
        value = pattern - (1 << type.bits)
    return f"{value} ({pattern:#x})"


__all__ = ["Run", "RunFile", "read", "run"]
