"""Runs one thread of a vISA kernel, or a group: variables in, variables out.

Initial values arrive as kernel inputs, results leave through stores that are appended in IR, so
any engine can be asked.  Local ids are in the payload where compiled kernels have them; the group
has 1 KiB of shared local memory, a thread 1 KiB of scratch space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eumu.compare.appending import Appender, root_of, variables
from eumu.compare.memory import BASE, Buffer, FlatHost
from eumu.exec.grid import BufferSurface, Grid, Payload
from eumu.exec.host import Engine
from eumu.ir import Function, Input, Region, Rounding, Space
from eumu.isa.kinds.variables import Variable
from eumu.lower import lower
from eumu.platforms import platform
from eumu.program import Kernel
from eumu.types import BOOL, UB, UQ

__all__ = ["BASE", "LOCAL_BYTES", "Buffer", "FlatHost", "execute", "variables"]

LOCAL_BYTES = 1024  # of shared local memory, and of scratch space


def execute(
    kernel: Kernel,
    before: dict[str, bytes],
    results: list[str],
    platform_name: str,
    engine: Engine,
    lanes: int | None = None,
    threads: int = 1,
    functions: Sequence[Kernel] = (),
    buffers: Sequence[Buffer] = (),
    memory: Callable[[int, Sequence[Buffer]], Memory] | None = None,
) -> dict[str, bytes]:
    """Run threads of `lanes` lanes (all by default); the bytes of each result.

    `before` and `results` name variables and buffers.  Of several threads, the bytes of the second
    follow those of the first.  `memory` makes what a kernel with images needs.
    """
    function = lower(kernel, platform(platform_name), functions)
    known = variables(kernel)
    grf = function.grf_bytes
    pitch = -(-2 * function.width // grf) * grf
    start = grf + 3 * pitch
    variables_before = {n: data for n, data in before.items() if n in known}
    stored = [n for n in results if n in known]
    step = sum(known[n].size for n in stored)
    host = (memory or FlatHost)(max(64, step * threads), buffers)
    for buffer in buffers:
        host.fill(buffer, before.get(buffer.name, b""))
        if buffer.address:
            variables_before[buffer.address] = host.places[buffer.name].to_bytes(8, "little")
    payload = _with_inputs(function, known, variables_before, start)
    places = _with_results(function, known, stored, step, host.base)
    record = Payload((0,) * (grf // 4), grf, pitch, start, payload)
    local_size = ((threads - 1) * function.width + (lanes or function.width), 1, 1)
    surfaces = {
        b.surface: BufferSurface(host.places[b.name], b.size, strict=False)
        for b in buffers
        if b.surface is not None
    }
    grid = Grid(
        *(function, (1, 1, 1), local_size, record, surfaces),
        *(LOCAL_BYTES, LOCAL_BYTES),
        fuel=1_000_000,
    )
    host.run(grid, engine)
    rows = host.results[: step * threads].reshape(threads, step)
    after = {n: rows[:, o : o + known[n].size].tobytes() for n, o in places.items()}
    return after | {b.name: host.bytes_of(b) for b in buffers if b.name in results}


class Memory(Protocol):
    """Results from the address `base` on, and buffers at `places`."""

    base: int
    places: dict[str, int]

    def fill(self, buffer: Buffer, data: bytes) -> None: ...
    def bytes_of(self, buffer: Buffer) -> bytes: ...
    def run(self, grid: Grid, engine: Engine) -> None: ...
    @property
    def results(self) -> NDArray[np.uint8]: ...


def _with_inputs(
    function: Function, known: dict[str, Variable], before: dict[str, bytes], start: int
) -> bytes:
    """Append the initial values to the payload and the inputs of the function."""
    data = b""
    for name, initial in before.items():
        owner, offset = known[name].origin()
        root = root_of(function, owner)
        function.inputs.append(Input(root, offset, start + len(data), len(initial)))
        data += initial
    return data


def _with_results(
    function: Function, known: dict[str, Variable], results: list[str], step: int, base: int
) -> dict[str, int]:
    """Store the results before every `ret`, the last one counts; where each variable lies.

    Each thread has `step` bytes.
    """
    places: dict[str, int] = {}
    end = 0
    for name in results:
        places[name], end = end, end + known[name].size
    builder = Appender(function)
    for block in function.blocks:
        end = block.end
        if end is None or end.name != "ret":
            continue
        builder.block, block.end = block, None
        thread = builder.special("thread_id", UQ)
        first = builder.mul(thread, builder.const(UQ, step), Rounding.RNE)
        for name, offset in places.items():
            owner, start = known[name].origin()
            value = builder.read(
                root_of(function, owner), Region.packed(start, 1), UB, known[name].size
            )
            address = builder.add(first, builder.const(UQ, base + offset), Rounding.RNE)
            builder.store_block(Space.FLAT, address, builder.const(BOOL, 1), value)
        block.end = end
    return places
