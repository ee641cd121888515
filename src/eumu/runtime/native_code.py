"""Native code in device memory: what lies at a Kernel Start Pointer, lowered once."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from eumu.device.commands import CommandError, MemoryBus
from eumu.device.memory import Memory
from eumu.errors import Place
from eumu.exec.checks import UNDEFINED
from eumu.exec.gate import in_extents
from eumu.exec.grid import Dim3
from eumu.ir import Function
from eumu.ir.passes import find_undefined
from eumu.records import dataclass
from eumu.runtime.device import Device

if TYPE_CHECKING:
    from eumu.native.program import Instruction, Program

_GRF: Final = 32
_MOST_CODE: Final = 1 << 20  # bytes of a kernel
_MOST_FUNCTIONS: Final = 64  # that are kept lowered; the one used longest ago leaves first


@dataclass(frozen=True, slots=True)
class KnownCode:
    """What a driver's program says of native code in memory.

    `line_of` is the line of the source that the code at an offset comes from.  `offset_at` are the
    places of the first global ids, x, y, z, in the constants that all threads have.  `lockstep`:
    lanes of a thread may count on running together.
    """

    name: str
    line_of: Callable[[int], Place | None] | None = None
    offset_at: Dim3 | None = None
    lockstep: bool = True

    def global_offset(self, constants: bytes) -> Dim3 | None:
        """The first global ids of a launch; None if they are not among its constants."""
        if self.offset_at is None or not all(
            0 <= at <= len(constants) - 4 for at in self.offset_at
        ):
            return None
        x, y, z = (struct.unpack_from("<I", constants, at)[0] for at in self.offset_at)
        return x, y, z


class NativeCode:
    """The kernels that a queue has met; `known` says what programs tell of their code."""

    def __init__(
        self,
        device: Device,
        bus: MemoryBus,
        known: Callable[[bytes], KnownCode | None] | None = None,
    ) -> None:
        self.device, self._bus, self._ask = device, bus, known
        self._told: dict[bytes, KnownCode | None] = {}  # of the kernels whose functions are kept
        self._functions: dict[tuple[bytes, int, int, int], Function] = {}
        self._known: dict[int, bytes] = {}  # code by its address
        self._decoded: tuple[bytes, tuple[Instruction, ...]] = b"", ()  # what was met last

    def function(
        self, address: int, simd: int, payload: int, general_state: int | None = None
    ) -> Function:
        """The code at an address, lowered; the same bytes are the same function.

        Where 32-bit stateless addresses count from follows on byte `general_state` of what a thread
        gets, on the last one if it is not said.
        """
        from eumu.lower_native import counts_from_general_state, lower

        code, at = self._code(address), payload if general_state is None else general_state
        key = code, simd, payload, at
        function = self._functions.pop(key, None)
        if function is None:
            told = self._told[code] = self._ask(code) if self._ask is not None else None
            name = told.name if told is not None else f"code_{address:x}"
            program = self._program(code, name)
            function = lower(
                *(program, simd, payload),
                general_state=at if counts_from_general_state(program) else None,
                line_of=told.line_of if told is not None else None,
            )
            function.lockstep = told is None or told.lockstep
            if UNDEFINED in self.device.check:
                function = find_undefined(function)
            while len(self._functions) >= _MOST_FUNCTIONS:
                oldest = next(iter(self._functions))
                del self._functions[oldest]
                if not any(kept[0] == oldest[0] for kept in self._functions):
                    del self._told[oldest[0]]
        self._functions[key] = function
        return function

    def global_offset(self, address: int, constants: bytes) -> Dim3 | None:
        """The first global ids of a launch of the code at an address; None if nobody knows."""
        told = self._told.get(self._known.get(address, b""))
        return None if told is None else told.global_offset(constants)

    def _program(self, code: bytes, name: str) -> Program:
        """Code is decoded where it is met first, to see where it ends."""
        from eumu.native.gen8 import require
        from eumu.native.program import Program
        from eumu.native.words import decode, native_platform

        if code != self._decoded[0]:
            return decode(code, self.device.platform, name)
        target = native_platform(self.device.platform)
        require(self._decoded[1], target, name)
        return Program(self._decoded[1], target, name)

    def _code(self, address: int) -> bytes:
        """The code of a kernel; what was at its place before is compared, not decoded again."""
        data, kept = _bytes_at(self.device.memory, self._bus, address), self._known.get(address)
        if kept is None or not data.startswith(kept):
            from eumu.native.extent import code_of, size_of

            code = code_of(data, self.device.platform)
            kept = self._known[address] = data[: size_of(code)]
            self._decoded = kept, code
        if not kept:
            there = "only zeros" if not any(data[:_GRF]) else data[:_GRF].hex(" ", 8)
            raise CommandError(f"no code is at {address:#x}: {there}", "Kernel Start Pointer")
        return kept


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
