"""Native code in device memory: what lies at a Kernel Start Pointer, lowered once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from eumu.device.commands import CommandError, MemoryBus
from eumu.device.memory import Memory
from eumu.exec.checks import UNDEFINED
from eumu.exec.gate import in_extents
from eumu.ir import Function
from eumu.ir.passes import find_undefined
from eumu.runtime.device import Device

_GRF: Final = 32
_MOST_CODE: Final = 1 << 20  # bytes of a kernel
_MOST_FUNCTIONS: Final = 64  # that are kept lowered; the one used longest ago leaves first


class NativeCode:
    """The kernels that a queue has met; `title` knows the names of some by their code."""

    def __init__(
        self, device: Device, bus: MemoryBus, title: Callable[[bytes], str | None] | None = None
    ) -> None:
        self.device, self._bus, self._title = device, bus, title
        self._functions: dict[tuple[bytes, int, int, int], Function] = {}
        self._known: dict[int, bytes] = {}  # code by its address

    def function(
        self, address: int, simd: int, payload: int, general_state: int | None = None
    ) -> Function:
        """The code at an address, lowered; the same bytes are the same function.

        Where 32-bit stateless addresses count from follows on byte `general_state` of what a thread
        gets, on the last one if it is not said.
        """
        from eumu import native
        from eumu.lower_native import counts_from_general_state, lower

        code, at = self._code(address), payload if general_state is None else general_state
        key = code, simd, payload, at
        function = self._functions.pop(key, None)
        if function is None:
            title = self._title(code) if self._title is not None else None
            program = native.decode(code, self.device.platform, title or f"code_{address:x}")
            is_needed = counts_from_general_state(program)
            function = lower(program, simd, payload, general_state=at if is_needed else None)
            if UNDEFINED in self.device.check:
                function = find_undefined(function)
            while len(self._functions) >= _MOST_FUNCTIONS:
                del self._functions[next(iter(self._functions))]
        self._functions[key] = function
        return function

    def _code(self, address: int) -> bytes:
        """The code of a kernel; what was at its place before is compared, not decoded again."""
        data, known = _bytes_at(self.device.memory, self._bus, address), self._known.get(address)
        if known is None or not data.startswith(known):
            from eumu.native.extent import code_size

            known = self._known[address] = data[: code_size(data)]
        if not known:
            there = "only zeros" if not any(data[:_GRF]) else data[:_GRF].hex(" ", 8)
            raise CommandError(f"no code is at {address:#x}: {there}", "Kernel Start Pointer")
        return known


def _bytes_at(memory: Memory, bus: MemoryBus, address: int) -> bytes:
    """Bytes from an address on to the end of the allocation."""
    starts, ends = memory.extents()
    if not in_extents((starts, ends), address, 1):
        raise CommandError(
            f"the Kernel Start Pointer leads to {address:#x}: {memory.describe(address)}",
            "Kernel Start Pointer",
        )
    end = int(ends[starts.searchsorted(np.uint64(address), side="right") - 1])
    return bus.read(address, min(end - address, _MOST_CODE), "the instruction cache")
