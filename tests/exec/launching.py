"""Small IR kernels for tests: a host with buffers, and launches on the engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.addresses import DEVICE_BASE
from eumu.errors import Fault
from eumu.exec.grid import BufferSurface, Grid, Payload, RunStats
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import host as processor
from eumu.exec.observe import Observer
from eumu.fuzz.kernel import RNE, Kernel
from eumu.ir import Function
from eumu.ir.passes import fold_modes
from eumu.ir.verify import check

UNTOUCHED = 0xCC


@dataclass
class Host:
    """Device memory with one allocation per array, 256 bytes apart."""

    arrays: Sequence[NDArray[Any]]
    base: int = DEVICE_BASE
    progress: Callable[[int, int], object] | None = None
    observer: Observer | None = None
    addresses: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        place = 256
        for array in self.arrays:
            self.addresses.append(self.base + place)
            place += -(-array.nbytes // 256) * 256 + 256
        raw = np.full(place + 64, UNTOUCHED, np.uint8)
        first = -raw.ctypes.data % 64  # as device memory, which starts at a page
        self.arena = raw[first : first + place]
        for address, array in zip(self.addresses, self.arrays, strict=True):
            start = address - self.base
            self.arena[start : start + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        starts = np.array(self.addresses, np.uint64)
        return starts, starts + np.array([a.nbytes for a in self.arrays], np.uint64)

    def describe(self, address: int) -> str:
        return f"nearest to {address:#x}: some buffer"

    def printed(self, text: str) -> None:
        raise AssertionError("no test kernel prints")

    def read(self, k: int) -> NDArray[Any]:
        """Array k as the run left it."""
        start, array = self.addresses[k] - self.base, self.arrays[k]
        data = self.arena[start : start + array.nbytes].view(array.dtype)
        return data.reshape(array.shape)


def grid_of(
    function: Function,
    host: Host,
    groups: int | tuple[int, int, int] = 1,
    local: int | tuple[int, int, int] = 16,
    **more: Any,
) -> Grid:
    """A launch of `groups` groups of `local` work items with the host's arrays as arguments."""
    count = groups if isinstance(groups, tuple) else (groups, 1, 1)
    size = local if isinstance(local, tuple) else (local, 1, 1)
    pointers = np.array(host.addresses, np.uint64).tobytes()
    reach = max((i.payload_offset + i.size for i in function.inputs), default=0) - 256
    payload = Payload((0,) * 16, 64, 64, 256, pointers.ljust(reach, b"\0"))
    return Grid(function, count, size, payload, **more)


def launch(
    kernel: Kernel | Function,
    arrays: Sequence[NDArray[Any]] = (),
    groups: int | tuple[int, int, int] = 1,
    local: int | tuple[int, int, int] = 16,
    engine: Engine | None = None,
    **more: Any,
) -> tuple[Host, RunStats]:
    """Check, fold and run a kernel."""
    function = kernel.function if isinstance(kernel, Kernel) else kernel
    check(function)
    folded = fold_modes(function)
    check(folded, folded=True)
    host = Host(arrays)
    return host, (engine or Interpreter()).run(grid_of(folded, host, groups, local, **more), host)


def on_both(
    kernel: Kernel,
    arrays: Sequence[NDArray[Any]] = (),
    groups: int | tuple[int, int, int] = 1,
    local: int | tuple[int, int, int] = 16,
    **more: Any,
) -> Host:
    """Run a kernel on both engines, which must agree; a fault is raised again.

    Code of the fast engine that is quickly made must agree, too.
    """
    found: list[tuple[object, Host]] = []
    function = fold_modes(kernel.function)
    check(function, folded=True)
    for engine in (Interpreter(), Jit(workers=1, processor=processor().hasty()), Jit(workers=1)):
        host = Host(arrays)
        try:
            outcome: object = engine.run(grid_of(function, host, groups, local, **more), host)
        except Fault as fault:
            outcome = fault
        found.append((outcome, host))
    expected, want = found[0]
    for outcome, got in found[1:]:
        assert str(outcome) == str(expected), outcome
        assert (want.arena == got.arena).all() or isinstance(outcome, Fault)
    if isinstance(outcome, Fault):
        raise outcome
    return got


def on_memory(
    kernel: Kernel,
    arrays: Sequence[NDArray[Any]] = (),
    groups: int | tuple[int, int, int] = 1,
    local: int | tuple[int, int, int] = 16,
    **more: Any,
) -> list[Host]:
    """Run a kernel on each engine by itself: how long lanes wait for others may differ."""
    function = fold_modes(kernel.function)
    check(function, folded=True)
    hosts = []
    for engine in (Interpreter(), Jit(workers=1), Jit(workers=2)):
        hosts.append(Host(arrays))
        engine.run(grid_of(function, hosts[-1], groups, local, **more), hosts[-1])
    return hosts


__all__ = [
    "RNE",
    "UNTOUCHED",
    "BufferSurface",
    "Host",
    "Kernel",
    "grid_of",
    "launch",
    "on_both",
    "on_memory",
]
