"""One thread against a small memory: what an instruction does to registers and bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from numpy.typing import NDArray

from eumu.exec.grid import BufferSurface, Grid, Payload
from eumu.exec.host import Answer, Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.observe import Observer
from eumu.ir import Builder, Function, Region, Space
from eumu.lower import lower
from eumu.platforms import platform
from eumu.text import parse
from eumu.types import BOOL, TYPES, UB, UQ

Bytes = NDArray[np.uint8]

BASE = 0xB000_0000_0000
RESULTS = 0x8000  # where registers are put after the run, behind the memory under test
SIMD = 32
CHUNK = 64  # bytes of a register that are stored at once
ENGINES: dict[str, Engine] = {"interp": Interpreter(), "jit": Jit(workers=1)}
engine = "interp"  # what threads run on; the fixture of the same name sets it


class Arena:
    """Device memory that is one allocation; `Host` protocol."""

    progress: Callable[[int, int], object] | None = None
    observer: Observer | None = None

    def __init__(self, memory: Bytes, size: int) -> None:
        self.base = BASE
        self.arena: Bytes = np.zeros(size + 64, np.uint8)
        self.arena[: memory.size] = memory
        self._size = size

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        start = np.array([BASE], np.uint64)
        return start, start + np.uint64(self._size)

    def describe(self, address: int) -> str:
        return "the test's memory"

    def printed(self, text: str) -> None:
        raise AssertionError(text)


@dataclass
class Thread:
    """A thread of 32 lanes, `lanes` of them active, predicate P1 as `predicate` says.

    `registers` maps names to their bytes at entry; each becomes a variable of dwords, or of what
    follows a colon in the name.
    """

    platform: str
    memory: Bytes
    registers: dict[str, Bytes] = field(default_factory=dict)
    lanes: int = SIMD
    predicate: int = 0xFFFF_FFFF
    surfaces: dict[int, BufferSurface] = field(default_factory=dict)
    r0: dict[int, int] = field(default_factory=dict)
    answer: Answer | None = None  # to messages

    def run(self, *instructions: str) -> tuple[Bytes, dict[str, Bytes]]:
        """Memory and registers after the instructions."""
        grf = platform(self.platform).grf_bytes
        registers = {"PBITS": np.array([self.predicate], "<u4").view(np.uint8), **self.registers}
        payload = b"".join(bytes(r) for r in registers.values())
        kernel = parse(self._text(registers, grf, instructions), "test").kernels[0]
        function = lower(kernel, platform(self.platform))
        size = RESULTS + sum(r.size for r in registers.values())
        host = Arena(self.memory, size)
        host.message = self.answer
        places = _dump(function, registers)
        r0 = [0] * (grf // 4)
        for k, value in self.r0.items():
            r0[k] = value
        grid = Grid(
            function,
            (1, 1, 1),
            (self.lanes, 1, 1),
            Payload(tuple(r0), None, 0, grf, payload),
            self.surfaces,
            slm_bytes=4096,
            scratch_bytes=4096,
            fuel=10_000,
        )
        ENGINES[engine].run(grid, host)
        after = {n: host.arena[p : p + size].copy() for n, (p, size) in places.items()}
        return host.arena[: self.memory.size].copy(), after

    def _text(self, registers: dict[str, Bytes], grf: int, instructions: tuple[str, ...]) -> str:
        lines = [".version 4.1", '.kernel "test"']
        offset = grf
        inputs = []
        for name, data in registers.items():
            name, _, type = name.partition(":")
            count = data.size // TYPES[type or "ud"].size
            lines.append(f".decl {name} v_type=G type={type or 'ud'} num_elts={count} align=GRF")
            inputs.append(f".input {name} offset={offset} size={data.size}")
            offset += data.size
        lines += [
            f".decl P1 v_type=P num_elts={SIMD}",
            ".decl T6 v_type=T num_elts=1",
            ".decl A0 v_type=A num_elts=1",
        ]
        lines += inputs
        lines += [f".kernel_attr SimdSize={SIMD}", "entry:"]
        lines.append(f"    setp (M1_NM, {SIMD}) P1 PBITS(0,0)<0;1,0>")
        lines += [f"    {text}" for text in instructions]
        return "\n".join([*lines, "    ret (M1, 1)", ""])

    def active(self, exec: str) -> NDArray[np.bool_]:
        """Lanes of an execution size such as `M5, 16` that are active, without the predicate."""
        mask, _, size = exec.partition(", ")
        first = 4 * (int(mask[1]) - 1)
        lanes = np.arange(first, first + int(size))
        return (lanes < self.lanes) | mask.endswith("_NM")

    def predicated(self, exec: str) -> NDArray[np.bool_]:
        """Active lanes whose bit of P1 is set."""
        active = self.active(exec)
        first = 4 * (int(exec[1]) - 1)
        bits = self.predicate >> (first + np.arange(active.size)) & 1
        return active & (bits == 1)


def _dump(function: Function, registers: dict[str, Bytes]) -> dict[str, tuple[int, int]]:
    """Store every register before the first `ret`; where each one lies, and its size."""
    block = next(b for b in function.blocks if b.end and b.end.name == "ret")
    end, block.end = block.end, None
    builder = _Appender(function)
    builder.block = block
    places: dict[str, tuple[int, int]] = {}
    offset = RESULTS
    for key, data in registers.items():
        name = key.partition(":")[0]
        if name in function.roots:
            for start in range(0, data.size, CHUNK):
                count = min(CHUNK, data.size - start)
                value = builder.read(function.roots[name], Region.packed(start, 1), UB, count)
                address = builder.const(UQ, BASE + offset + start)
                builder.store_block(Space.FLAT, address, builder.const(BOOL, 1), value)
            places[name] = offset, data.size
        offset += data.size
    block.end = end
    return places


class _Appender(Builder):
    """A builder whose value numbers follow those of a finished function."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        ids = [v.id for b in function.blocks for op in b.ops for v in op.results]
        self._count = 1 + max(ids, default=0)


def slow(value: str) -> ParameterSet:
    """A parameter that the fast loop leaves out."""
    return pytest.param(value, marks=pytest.mark.slow)


def noise(seed: int, size: int) -> Bytes:
    """`size` bytes that are all alike nowhere."""
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)
