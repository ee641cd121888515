"""MI commands that move data between registers and memory."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from typing import Final, Protocol

from eumu.device.chip.clock import TIMESTAMP_BITS, Clock, InstructionClock
from eumu.device.chip.l3 import L3CNTLREG, L3Control
from eumu.device.commands import gpgpu, mi, render
from eumu.device.commands.batch import Placed
from eumu.device.commands.bus import Bus
from eumu.device.commands.packet import Command, CommandError
from eumu.device.commands.registers import (
    CONTEXT_TIMESTAMP,
    CS_GPR,
    MASKED,
    NOP_ID,
    PREDICATE_DATA,
    PREDICATE_RESULT,
    PREDICATE_SRC0,
    PREDICATE_SRC1,
    TIMESTAMP,
    Registers,
    atomic,
    atomic_size,
    run_math,
)
from eumu.errors import LaunchError

_COMPARE: Final[dict[int, Callable[[int, int], bool]]] = {
    0: operator.gt,
    1: operator.ge,
    2: operator.lt,
    3: operator.le,
    4: operator.eq,
    5: operator.ne,
}
_DATA_SIZES: Final = {4: mi.DataSize.DWORD, 8: mi.DataSize.QWORD, 16: mi.DataSize.OCTWORD}
_M32: Final = (1 << 32) - 1
_M64: Final = (1 << 64) - 1
_REGISTERS: Final = 0x7F_FFFC  # bits of a register's offset


_CLOCKS: Final = {TIMESTAMP, TIMESTAMP + 4, CONTEXT_TIMESTAMP}


class _Context(Protocol):
    registers: Registers
    l3: L3Control
    ran: int
    vfe: gpgpu.MediaVfeState | None
    curbe: bytes
    descriptors: bytes


def read_by(command: Command) -> int | None:
    """The register that a command reads into memory or elsewhere."""
    match command:
        case mi.MiLoadRegisterReg():
            return command.source_register_address
        case mi.MiStoreRegisterMem():
            return command.register_address
        case mi.MiSemaphoreWait() if command.register_poll_mode:
            return command.semaphore_address & _M32
    return None


class MemoryInterface:
    """Runs the commands that touch only registers and memory."""

    def __init__(
        self, bus: Bus, context: _Context, invalidate: Callable[[], object] | None = None
    ) -> None:
        """`invalidate` is called when the state caches are to forget what they have."""
        self.bus, self.context, self._invalidate = bus, context, invalidate
        self.clock: Clock = InstructionClock()
        self.interrupts = 0
        self._began: int | None = None

    @property
    def _registers(self) -> Registers:
        return self.context.registers

    def begin(self) -> None:
        """The context runs from now on."""
        self._began = self.clock.now

    def end(self) -> None:
        """The context does not run any more."""
        self.context.ran, self._began = self._ran(), None

    def _ran(self) -> int:
        """Ticks that the context has run."""
        now = self.clock.now if self._began is not None else 0
        return self.context.ran + (now - (self._began or 0)) % (1 << TIMESTAMP_BITS)

    def _read(self, offset: int) -> int:
        """A register as commands see it."""
        if offset == CONTEXT_TIMESTAMP:
            return self._ran() & _M32
        if offset in _CLOCKS:
            return self.clock.now >> 8 * (offset - TIMESTAMP) & _M32
        return self._registers.read(offset)

    def is_signalled(self, command: mi.MiSemaphoreWait) -> bool:
        """Whether the memory (SAD) compares with the command's data (SDD) as asked for."""
        if command.register_poll_mode:
            value = self._read(command.semaphore_address & _M32)
        else:
            value = self._dword(command.semaphore_address, "MI_SEMAPHORE_WAIT")
        return _COMPARE[int(command.compare_operation)](value, command.semaphore_data_dword)

    def ends(self, command: mi.MiConditionalBatchBufferEnd) -> bool:
        """Whether the batch ends: the dword in memory is not greater than the command's."""
        what = "MI_CONDITIONAL_BATCH_BUFFER_END"
        value = self._dword(command.compare_address, what)
        if command.compare_mask_mode:
            value &= self._dword(command.compare_address + 4, what)
        return command.compare_semaphore and value <= command.compare_data_dword

    def run(self, placed: Placed) -> None:
        command, inline, registers = placed.packet.command, placed.packet.inline, self._registers
        match command:
            case mi.MiNoop():
                if command.identification_number_register_write_enable:
                    registers.write(NOP_ID, command.identification_number)
            case mi.MiArbCheck() | gpgpu.MediaStateFlush() | mi.MiWaitForEvent():
                pass  # work is done in order: there is nothing to wait for
            case mi.MiSemaphoreWait() | mi.MiSemaphoreSignal():
                pass  # a wait that got here is signalled; there is no other engine to signal
            case mi.MiUserInterrupt():
                self.interrupts += 1
            case mi.MiStoreDataImm():
                self._store(command, inline, placed)
            case mi.MiLoadRegisterImm():
                self._load_immediate(command, inline, placed)
            case mi.MiLoadRegisterMem():
                value = self._dword(command.memory_address, "MI_LOAD_REGISTER_MEM")
                self._set(command.register_address, value)
            case mi.MiLoadRegisterReg():
                value = self._read(command.source_register_address)
                self._set(command.destination_register_address, value)
            case mi.MiStoreRegisterMem():
                if not command.predicate_enable or registers.predicate:
                    value = self._read(command.register_address)
                    self._write(command.memory_address, value, 4, "MI_STORE_REGISTER_MEM")
            case mi.MiCopyMemMem():
                data = self.bus.read(command.source_memory_address, 4, "MI_COPY_MEM_MEM")
                self.bus.write(command.destination_memory_address, data, "MI_COPY_MEM_MEM")
            case mi.MiAtomic():
                self._atomic(command, inline, placed)
            case mi.MiMath():
                run_math(registers, struct.unpack(f"<{len(inline) // 4}I", inline))
            case mi.MiPredicate():
                self._predicate(command)
            case mi.MiFlushDw():
                self._flush(command, placed)
            case render.PipeControl():
                self._pipe_control(command)
            case _:
                raise CommandError(f"{placed.title} at {placed.at:#x} is not modelled", "header")

    def _flush(self, command: mi.MiFlushDw, placed: Placed) -> None:
        self.interrupts += command.notify_enable
        match command.post_sync_operation:
            case 0:
                return
            case 1:
                value = command.immediate_data
            case 3:
                value = self.clock.now
            case _:
                raise CommandError(
                    f"MI_FLUSH_DW at {placed.at:#x}: post-sync operation 2 is reserved",
                    "Post Sync Operation",
                )
        self._write(command.address, value, 8, "MI_FLUSH_DW")

    def _dword(self, address: int, what: str) -> int:
        return int.from_bytes(self.bus.read(address, 4, what), "little")

    def _write(self, address: int, value: int, size: int, what: str) -> None:
        self.bus.write(address, (value & (1 << 8 * size) - 1).to_bytes(size, "little"), what)

    def _store(self, command: mi.MiStoreDataImm, inline: bytes, placed: Placed) -> None:
        if len(inline) != 4 * command.store_qword:
            raise CommandError(
                f"MI_STORE_DATA_IMM at {placed.at:#x}: a dword has 4 dwords of command, a qword 5",
                "DWord Length",
            )
        data = command.immediate_data.to_bytes(4, "little") + inline
        if command.address % len(data):
            raise CommandError(
                f"MI_STORE_DATA_IMM at {placed.at:#x}: {command.address:#x} is not aligned",
                "Address",
            )
        self.bus.write(command.address, data, "MI_STORE_DATA_IMM")

    def _load_immediate(self, command: mi.MiLoadRegisterImm, inline: bytes, placed: Placed) -> None:
        if len(inline) % 8:
            raise CommandError(
                f"MI_LOAD_REGISTER_IMM at {placed.at:#x}: a register without data", "DWord Length"
            )
        pairs = [(command.register_offset, command.data_dword)]
        pairs += list(struct.iter_unpack("<II", inline))
        for offset, value in pairs:
            kept = 0
            for byte in range(4):
                if command.byte_write_disables >> byte & 1:
                    kept |= 0xFF << 8 * byte
            old = self._registers.read(offset)
            self._set(offset, old & kept | value & ~kept)

    def _set(self, offset: int, value: int) -> None:
        """Write a register, with what that does."""
        if offset in _CLOCKS:
            raise CommandError(f"register {offset:#x} is a clock: it is only read", "Register")
        if offset in MASKED:
            value = self._registers.read(offset) & ~(value >> 16) | value & value >> 16
        self._registers.write(offset, value)
        if offset == L3CNTLREG:
            try:
                self.context.l3.write(value)
            except LaunchError as error:
                raise CommandError(f"L3CNTLREG: {error}", "L3CNTLREG") from None

    def _atomic(self, command: mi.MiAtomic, inline: bytes, placed: Placed) -> None:
        opcode, size = command.atomic_opcode, atomic_size(command.atomic_opcode)
        if command.data_size != _DATA_SIZES[size]:
            raise CommandError(
                f"MI_ATOMIC at {placed.at:#x}: Data Size is {command.data_size.name}; opcode"
                f" {opcode:#x} has {size} bytes",
                "Data Size",
            )
        if len(inline) not in (0, 32) or bool(inline) != command.inline_data:
            raise CommandError(
                f"MI_ATOMIC at {placed.at:#x}: with inline data there are eight dwords of it",
                "Inline Data",
            )
        if inline:
            words = struct.unpack("<8I", inline)
            first, second = (sum(w << 32 * k for k, w in enumerate(words[n::2])) for n in (0, 1))
        else:
            first = self._registers.read64(CS_GPR)
            second = self._registers.read64(CS_GPR + 8)
        data = self.bus.read(command.memory_address, size, "MI_ATOMIC")
        old = int.from_bytes(data, "little")
        self._write(command.memory_address, atomic(opcode, old, first, second), size, "MI_ATOMIC")
        if command.return_data_control:
            self._registers.write64(CS_GPR, old)

    def _predicate(self, command: mi.MiPredicate) -> None:
        registers = self._registers
        first, second = registers.read64(PREDICATE_SRC0), registers.read64(PREDICATE_SRC1)
        if command.compare_operation is mi.PredicateCompare.DELTAS_EQUAL:
            state = first - second & _M64 == registers.read64(PREDICATE_DATA)
        else:
            state = {
                mi.PredicateCompare.TRUE: True,
                mi.PredicateCompare.FALSE: False,
                mi.PredicateCompare.SRCS_EQUAL: first == second,
            }[command.compare_operation]
        old = registers.predicate
        combined = {
            mi.CombineOperation.SET: state,
            mi.CombineOperation.AND: old and state,
            mi.CombineOperation.OR: old or state,
            mi.CombineOperation.XOR: old != state,
        }[command.combine_operation]
        if command.load_operation is mi.LoadOperation.KEEP:
            return
        inverse = command.load_operation is mi.LoadOperation.LOADINV
        registers.write(PREDICATE_RESULT, int(combined != inverse))

    def _load_after_synchronisation(self, command: render.PipeControl) -> None:
        """LRI Post Sync Operation: the low dword of the data into a register."""
        if command.post_sync_operation is not render.PostSyncOperation.NO_WRITE:
            raise CommandError(
                "PIPE_CONTROL has LRI Post Sync Operation and Post Sync Operation"
                f" {command.post_sync_operation.name}: only one of them is possible",
                "Post Sync Operation",
            )
        if command.address & ~_REGISTERS:
            raise CommandError(
                f"PIPE_CONTROL with LRI Post Sync Operation: {command.address:#x} is no register"
                " offset",
                "Address",
            )
        self._set(command.address, command.immediate_data & _M32)

    def _pipe_control(self, command: render.PipeControl) -> None:
        """Everything before it is done; what is left is the write after the synchronisation."""
        if command.dc_flush_enable and command.command_streamer_stall_enable:
            self.context.l3.dirty = False
        if command.state_cache_invalidation_enable and self._invalidate is not None:
            self._invalidate()
        self.interrupts += command.notify_enable
        if command.generic_media_state_clear:
            self.context.vfe, self.context.curbe, self.context.descriptors = None, b"", b""
        operation = command.post_sync_operation
        if command.lri_post_sync_operation:
            self._load_after_synchronisation(command)
        elif operation is render.PostSyncOperation.WRITE_IMMEDIATE_DATA:
            self._write(command.address, command.immediate_data, 8, "PIPE_CONTROL")
        elif operation is render.PostSyncOperation.WRITE_TIMESTAMP:
            self._write(command.address, self.clock.now, 8, "PIPE_CONTROL")
        elif operation is not render.PostSyncOperation.NO_WRITE:
            raise CommandError(
                f"PIPE_CONTROL with post-sync operation {operation.name}: there are no depth"
                " counts, since no pixels are drawn",
                "Post Sync Operation",
            )
