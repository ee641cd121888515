"""Damaged inputs to every reader: ``python tests/mutated_inputs.py --count 1000000``.

Each reader gets good inputs of its kind with bytes or words changed, left out or put in twice.  It
reads them or raises an error of eumu's; anything else is printed with the input that did it, as is
an input that takes longer than ten seconds.  A part of it runs as tests/test_mutated_inputs.py.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, Final

from eumu import native, text, verify
from eumu.device.commands import packets, words
from eumu.device.commands.rules import check
from eumu.device.state.sampler import BindingTableState, SamplerState
from eumu.device.state.surface import SurfaceState
from eumu.device.surfaces.surface import Surface
from eumu.errors import EumuError
from eumu.platforms import platform

HERE: Final = Path(__file__).parent
LONGEST: Final = 10.0  # seconds
_TOKENS: Final = (
    *(b"(", b")", b"<1;1,0>", b"[", b"]", b":zz", b"\n", b"\0", b"\xff", b"-1", b"0x"),
    *(b"99999999999999999999", b".decl", b".kernel", b"bti(", b"]:a64", b"alias=<", b"/*"),
)
_WORDS: Final = (b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xff" * 8)


def damaged(random: Random, data: bytes, *, is_text: bool = False) -> bytes:
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at = random.randrange(len(made) + 1)
        kind = random.randrange(10)
        if kind == 0 and random.random() < 0.3:
            del made[at:]
        elif kind == 1:
            del made[at : at + random.randrange(1, 16)]
        elif kind == 2:
            made[at:at] = made[at : at + random.randrange(40)]
        elif kind < 5:
            some = random.choice(_TOKENS if is_text else _WORDS)
            made[at : at + random.choice((0, len(some)))] = some
        elif kind < 8 and made:
            made[at % len(made)] ^= 1 << random.randrange(8)
        else:
            made[at : at + 1] = bytes([random.randrange(256)])
    return bytes(made)


# ---- readers: what a damaged input does, and good inputs


@cache
def _texts() -> list[bytes]:
    from binary.test_malformed import SMALL

    files = sorted((HERE / "runs").rglob("*.visa"))[::9]
    return [SMALL.encode(), *(f.read_bytes() for f in files if f.stat().st_size < 3000)]


def _text(random: Random) -> Callable[[], object]:
    data = damaged(random, random.choice(_texts()), is_text=True)

    def read() -> None:
        module = text.parse(data.decode("utf-8", "replace"), "x.visaasm")
        verify.check(module, platform(random.choice(("skl", "pvc"))))
        text.print_module(module)

    return read


def _object(random: Random) -> Callable[[], object]:
    from binary.test_malformed import SEEDS, _survives

    data = damaged(random, random.choice(SEEDS))
    return lambda: _survives(data)


def _native(random: Random) -> Callable[[], object]:
    from native.test_fuzz import _word

    count = random.choice((1, 1, 2, 4))
    data = b"".join(_word(random) for _ in range(count))
    return lambda: native.decode(data, platform("skl"), "code")


def _container(random: Random) -> Callable[[], object]:
    from zebin.test_mutations import FILES, attempt

    data = damaged(random, random.choice(sorted(FILES.values())))
    return lambda: attempt(data)


@cache
def _debug() -> tuple[bytes, list[tuple[int, int]]]:
    """A program with debug sections, and where they lie."""
    from eumu.zebin.elf import parse

    data = (HERE / "zebin" / "data" / "lines.pvc.bin").read_bytes()
    sections = parse(data, "lines").sections
    found = [(s.offset, s.size) for s in sections if ".debug" in s.name and s.size]
    assert len(found) >= 6
    return data, found


def _lines(random: Random) -> Callable[[], object]:
    from eumu.drm.programs import DriverKernel, _lines_of_elf, _table
    from eumu.errors import Source

    whole, sections = _debug()
    data = bytearray(whole)
    for _ in range(random.choice((1, 2, 4, 16))):
        start, size = random.choice(sections)
        value = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        data[start + random.randrange(size)] = value

    def read() -> None:
        for lines in (partial(_lines_of_elf, bytes(data), "lines"), partial(_table, bytes(data))):
            kernel = DriverKernel("lines", bytes(64), Source("k.cl", ""))
            kernel.lines = lines
            kernel.line_of(0)

    return read


@cache
def _batches() -> list[bytes]:
    import numpy as np

    import eumu

    kernels = HERE / "kernels" / "bin" / "skl"
    device = eumu.Device("skl", memory_bytes=1 << 24)
    kernel = eumu.load(kernels / "saxpy.bin")["saxpy"]
    x, y = (device.array(np.zeros(64, np.float32)) for _ in range(2))
    with kernel.submit(device, (64,), (16,), [x, y, 1.0]) as made:
        return [made.bytes]


def _batch(random: Random) -> Callable[[], object]:
    data = damaged(random, random.choice(_batches()))

    def read() -> None:
        list(words(data, 0x1000))
        list(check(packets(data, 0x1000)))

    return read


def _state(random: Random) -> Callable[[], object]:
    kind: Any = random.choice((SurfaceState, SamplerState, BindingTableState))
    size = kind.size()
    data = bytes(a & b for a, b in zip(random.randbytes(size), random.randbytes(size), strict=True))
    data = data if random.random() < 0.9 else data[: random.randrange(size + 1)]

    def read() -> None:
        state = kind.decode(data)
        if kind is SurfaceState:
            surface = Surface.of(state)
            _ = surface.is_null or surface.size

    return read


def _checkpoint(random: Random) -> Callable[[], object]:
    from runtime.test_checkpoint import mutated, try_all

    data = mutated(random)

    def read() -> None:
        with tempfile.TemporaryDirectory() as folder:
            try_all(Path(folder) / "x.zip", data, "interp")

    return read


_LINE: Final = (
    *(
        "run",
        str(HERE.parent / "examples" / "saxpy.bin"),
        "--kernel",
        "saxpy",
        "--engine",
        "interp",
    ),
    *("--global", "64", "--local", "16", "--arg", "x=arange:float32:64"),
    *("--arg", "y=zeros:float32:64", "--arg", "a=2.5", "--fuel", "1000"),
)


def _line(random: Random) -> Callable[[], object]:
    """A command line; argparse ends with SystemExit, and messages go nowhere."""
    from eumu.cli import main

    given = list(_LINE)
    for _ in range(random.choice((1, 1, 2))):
        k = random.randrange(2, len(given))
        word = damaged(random, given[k].encode(), is_text=True)
        given[k] = word.decode("utf-8", "replace").replace("\0", "")
    if random.random() < 0.2:
        del given[random.randrange(2, len(given))]

    def read() -> None:
        out = io.StringIO()
        quiet = contextlib.redirect_stdout(out), contextlib.redirect_stderr(out)
        with quiet[0], quiet[1], contextlib.suppress(SystemExit):
            main(given)
        if "Traceback" in out.getvalue() or "internal error" in out.getvalue():
            raise AssertionError(out.getvalue())

    return read


Readers = Mapping[str, tuple[Callable[[Random], Callable[[], object]], int]]
READERS: Final[Readers] = {
    "native code": (_native, 400),
    "state": (_state, 200),
    "batch": (_batch, 150),
    "object file": (_object, 140),
    "text": (_text, 60),
    "container": (_container, 40),
    "debug lines": (_lines, 100),
    "checkpoint": (_checkpoint, 8),
    "command line": (_line, 2),
}


def attempts(first: int, count: int, readers: Readers = READERS) -> Iterator[tuple[str, str]]:
    """The reader of each input, and what is wrong with it, or nothing."""
    names = [name for name, (_, weight) in readers.items() for _ in range(weight)]
    for seed in range(first, first + count):
        random = Random(seed)
        name = random.choice(names)
        start, wrong = time.process_time(), ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                readers[name][0](random)()
        except EumuError as error:
            wrong = "" if str(error) else "an error without words"
        except Exception:
            wrong = traceback.format_exc()
        seconds = time.process_time() - start  # the machine may be busy
        if seconds > LONGEST:
            wrong += f"{seconds:.0f} seconds"
        yield name, f"seed {seed}, {name}: {wrong}" if wrong else ""


def _part(given: tuple[int, int, Readers]) -> tuple[Counter[str], list[str]]:
    made: Counter[str] = Counter()
    findings = []
    for name, wrong in attempts(*given):
        made[name] += 1
        findings += [wrong] if wrong else []
    return made, findings


def main(readers: Readers = READERS, description: str | None = __doc__) -> int:
    os.environ.setdefault("EUMU_VERIFY_IR", "on")
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first input")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    step = 2000
    parts = [
        (first, min(step, options.first + options.count - first), readers)
        for first in range(options.first, options.first + options.count, step)
    ]
    total: Counter[str] = Counter()
    bad = 0
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=10) as pool:
        for made, findings in pool.imap_unordered(_part, parts):
            total += made
            bad += len(findings)
            for finding in findings:
                print(finding, flush=True)
    print(dict(total))
    seconds, inputs = time.perf_counter() - start, sum(total.values())
    print(f"{inputs} inputs, {bad} findings, {seconds:.0f} s, {inputs / seconds:.0f} in a second")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
