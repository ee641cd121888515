"""Runs a text on both levels and both engines, and says where memory differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from eumu.compare.differential import Pair, grid
from eumu.compare.harness import Harness, wrap
from eumu.exec.grid import BufferSurface
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.fuzz.witness import SCRATCH_BYTES, differences, engines
from eumu.ir import Function
from eumu.types import Type
from image_thread import DeviceHost
from runfile import Run, RunFile, _bytes
from visa_thread import LOCAL_BYTES, FlatHost, variables


@dataclass(frozen=True)
class Trial:
    """The runs of a run file that have the same number of threads."""

    file: RunFile
    runs: tuple[Run, ...]
    harness: Harness

    @property
    def name(self) -> str:
        return self.file.path.stem

    def types(self) -> dict[str, tuple[Type, int]]:
        """Type and elements of each variable, buffer and image."""
        found = {n: (v.type, v.count) for n, v in variables(self.file.kernel).items()}
        found |= {b.name: (t, b.size // t.size) for b, t in self.file.buffers}
        return found | {p.name: (t, prod(p.shape)) for p, t in self.file.pictures}


def trials(file: RunFile) -> Iterator[Trial]:
    """A run file as complete texts."""
    outer = {b.name for b, _ in file.buffers} | {p.name for p, _ in file.pictures}
    for threads in sorted({r.threads for r in file.runs}):
        runs = tuple(r for r in file.runs if r.threads == threads)
        named = {n for r in runs for n in (*r.before, *r.after)} - outer
        named |= {b.address for b, _ in file.buffers if b.address}
        yield Trial(file, runs, wrap(file.path.read_text(), sorted(named), threads))


def outcome(trial: Trial, run: Run, function: Function, engine: Engine) -> dict[str, bytes]:
    """What variables, buffers and images hold after a run."""
    file, harness, types = trial.file, trial.harness, trial.types()
    before = {n: _bytes(types[n][0], w, types[n][1]) for n, w in run.before.items()}
    buffers = [b for b, _ in file.buffers]
    host: FlatHost | DeviceHost = FlatHost(harness.size, buffers)
    if file.pictures:
        pictures = [p for p, _ in file.pictures]
        host = DeviceHost("skl", harness.size, buffers, pictures, file.filters, before)
    values = {n: data for n, data in before.items() if n in harness.places}
    for buffer in buffers:
        host.fill(buffer, before.get(buffer.name, b""))
        if buffer.address:
            values[buffer.address] = host.places[buffer.name].to_bytes(8, "little")
    put(host, harness.image(values))
    launch = grid(
        function,
        host.base,
        lanes=run.lanes,
        threads=run.threads,
        surfaces={
            b.surface: BufferSurface(host.places[b.name], b.size, strict=False)
            for b in buffers
            if b.surface is not None
        },
        slm_bytes=LOCAL_BYTES,
        scratch_bytes=SCRATCH_BYTES,
    )
    host.run(launch, engine)
    found = harness.results(bytes(host.results[: harness.size]))
    found |= {b.name: host.bytes_of(b) for b in buffers}
    addresses = {b.address for b in buffers}
    found = {n: data for n, data in found.items() if n not in addresses}
    return found | (host.pictures() if isinstance(host, DeviceHost) else {})


def put(host: FlatHost | DeviceHost, image: bytes) -> None:
    data = np.frombuffer(image, np.uint8)
    if isinstance(host, DeviceHost):
        host.start(data)
    else:
        host.arena[: data.size] = data


def compared(trial: Trial, pair: Pair) -> list[str]:
    """Every difference between the levels and the engines, in words."""
    found = []
    functions = {level: pair.function(level) for level in ("visa", "native")}
    for run in trial.runs:
        want = outcome(trial, run, functions["visa"], Interpreter())
        for level, function in functions.items():
            for name, engine in engines().items():
                if (level, name) != ("visa", "interp"):
                    got = outcome(trial, run, function, engine)
                    where = f"line {run.line}, {level} on {name}"
                    found += [f"{where}: {d}" for d in differences(trial.types(), want, got)]
    return found
