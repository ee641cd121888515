"""The command streamer: runs a batch from memory and hands thread work to dispatch.

What it remembers between commands is one record, :class:`Context`; it is what a context switch
saves.  A batch can stop early, at a semaphore that is not signalled or for preemption, and goes on
with another call of :meth:`Streamer.run`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from enum import Enum
from typing import Any, Final

from eumu.device.chip.clock import Clock
from eumu.device.chip.l3 import L3Control
from eumu.device.commands import drawing, gpgpu, media, mi, render
from eumu.device.commands.batch import Placed, decode, dwords_of
from eumu.device.commands.bus import Bus
from eumu.device.commands.jobs import Bases, MediaJob, WalkerJob
from eumu.device.commands.memory_interface import MemoryInterface, read_by
from eumu.device.commands.packet import Command, CommandError, Packet
from eumu.device.commands.predication import leaves_out
from eumu.device.commands.registers import PREDICATE_RESULT_1, Registers
from eumu.device.commands.rules import Watch
from eumu.device.commands.walker import media_job, walker_job
from eumu.errors import Severity
from eumu.records import dataclass

# A dispatcher runs a job; False: it was preempted, the same command runs again later.
Dispatch = Callable[[WalkerJob | MediaJob], bool]

_PAGE: Final = 12  # bits of a byte's place in a page
_PACKETS: Final = 1024  # that are kept decoded


class Stop(Enum):
    """Why a run ended."""

    END = "the batch has ended"
    SEMAPHORE = "a semaphore is not signalled"
    PREEMPTED = "preempted"


@dataclass(slots=True)
class Context:
    """All that outlives a command: state pointers, what is loaded, where the batch goes on.

    `returns` are the places after second-level batch starts, `ran` the ticks that it has run,
    `predication` is what the last MI_SET_PREDICATE said.
    """

    at: int | None = None
    returns: list[int] = field(default_factory=list)
    bases: Bases = field(default_factory=Bases)
    pipeline: int = 0
    vfe: gpgpu.MediaVfeState | None = None
    curbe: bytes = b""
    descriptors: bytes = b""
    pool_map: int | None = None
    csr_base: int = 0
    sip: int = 0
    arbitration: bool = True
    registers: Registers = field(default_factory=Registers)
    l3: L3Control = field(default_factory=lambda: L3Control(banks=2))
    ran: int = 0
    predication: mi.PredicateEnable = mi.PredicateEnable.NOOP_NEVER


class Streamer:
    """Runs batches on a bus; `dispatch` gets each job in order.

    A run of more than `most_commands` is an error: a batch may lead to itself.  `findings` are what
    the rules saw since it was last started or resumed, not all if there are very many; an error
    among them is raised as CommandError.
    """

    def __init__(
        self,
        bus: Bus,
        dispatch: Dispatch,
        invalidate: Callable[[], object] | None = None,
        *,
        l3_banks: int = 2,
        is_gen8: bool = False,
        most_commands: int = 1 << 16,
    ) -> None:
        self.bus, self.dispatch, self.most_commands = bus, dispatch, most_commands
        self.context = Context(bases=Bases(is_gen8=is_gen8), l3=L3Control(l3_banks))
        self.watch = Watch()
        self.preempt_wanted = False
        self._packets: dict[bytes, Packet] = {}  # of commands that came before
        self._memory = MemoryInterface(bus, self.context, invalidate)

    @property
    def clock(self) -> Clock:
        """What the timestamp registers read."""
        return self._memory.clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._memory.clock = clock

    @property
    def interrupts(self) -> int:
        """How many commands have notified the host."""
        return self._memory.interrupts

    @property
    def findings(self) -> list[Any]:
        return self.watch.found

    def start(self, address: int) -> Stop:
        """Run the batch at a device address."""
        self.begin(address)
        return self.run()

    def begin(self, address: int) -> None:
        """The batch at a device address comes next: what another one has left open is closed."""
        self.context.at = address
        self.context.returns.clear()
        self.context.predication = mi.PredicateEnable.NOOP_NEVER

    def run(self) -> Stop:
        """Go on where the batch stopped."""
        self.watch.found = []
        self._memory.context = self.context
        self._memory.begin()
        try:
            return self._run()
        finally:
            self._memory.end()

    def _run(self) -> Stop:
        for _ in range(self.most_commands):
            if self.context.at is None:
                return Stop.END
            stop = self._step(self._fetch(self.context.at))
            if stop is not None:
                return stop
        if self.context.at is None:
            return Stop.END
        raise CommandError(
            f"the batch has run {self.most_commands} commands and has not ended;"
            f" it is at {self.context.at:#x}",
            "length",
        )

    def _fetch(self, at: int) -> Placed:
        header = int.from_bytes(self.bus.read(at, 4, "the command streamer"), "little")
        dwords = dwords_of(header)
        data = self.bus.read(at, 4 * dwords, "the command streamer")
        packet = self._packets.get(data)
        if packet is not None:
            return Placed(at, packet)
        placed = decode(data, at, is_gen8=self.context.bases.is_gen8)
        if len(self._packets) >= _PACKETS:
            self._packets.clear()
        self._packets[data] = placed.packet
        return placed

    def _step(self, placed: Placed) -> Stop | None:
        command, context = placed.packet.command, self.context
        if self._may_preempt(command):
            return Stop.PREEMPTED
        following = placed.at + placed.packet.size
        if leaves_out(context.predication, placed, context.registers):
            context.at = following
            self._memory.clock.count(1)
            return None
        seen = len(self.watch.found)
        self.watch.before(placed, arbitration=context.arbitration)
        self._raise_errors(seen)
        register = read_by(command)
        if register is not None and not context.registers.means(register):
            self.watch.reads(placed, register)
        if isinstance(command, mi.MiSemaphoreWait) and not self._memory.is_signalled(command):
            return Stop.SEMAPHORE
        context.at = following
        self._memory.clock.count(1)
        match command:
            case mi.MiBatchBufferEnd():
                context.at = context.returns.pop() if context.returns else None
            case mi.MiConditionalBatchBufferEnd():
                if self._memory.ends(command):
                    context.at = context.returns.pop() if context.returns else None
            case mi.MiBatchBufferStart():
                self._jump(command, following)
            case gpgpu.GpgpuWalker() | media.MediaObject() | media.MediaObjectGrpid():
                return self._threads(placed)
            case media.MediaObjectPrt() | media.MediaObjectWalker():
                return self._threads(placed)
            case _:
                self._state(placed)
        return None

    def _may_preempt(self, command: Command) -> bool:
        """Preemption at the commands where it is documented, unless arbitration is off."""
        points = (
            mi.MiArbCheck,
            gpgpu.MediaStateFlush,
            render.PipeControl,
            mi.MiWaitForEvent,
            mi.MiSemaphoreWait,
            gpgpu.GpgpuWalker,
        )
        if not (self.preempt_wanted and self.context.arbitration and isinstance(command, points)):
            return False
        self.preempt_wanted = False
        return True

    def _raise_errors(self, seen: int) -> None:
        for finding in self.watch.found[seen:]:
            if finding.severity is Severity.ERROR:
                raise CommandError(finding.message, finding.code)

    def _jump(self, command: mi.MiBatchBufferStart, following: int) -> None:
        context = self.context
        if command.predication_enable and not context.registers.read(PREDICATE_RESULT_1) & 1:
            return
        is_second = (
            command.second_level_batch_buffer is mi.SecondLevelBatchBuffer.SECOND_LEVEL_BATCH
        )
        if context.returns and not is_second:
            raise CommandError(
                f"MI_BATCH_BUFFER_START at {following - 12:#x} starts a first-level batch"
                " inside a second-level one",
                "Second Level Batch Buffer",
            )
        if is_second and not context.returns:
            context.returns.append(following)
        context.at = command.batch_buffer_start_address

    def _threads(self, placed: Placed) -> Stop | None:
        context, command = self.context, placed.packet.command
        job: WalkerJob | MediaJob
        if isinstance(command, gpgpu.GpgpuWalker):
            if command.predicate_enable and not context.registers.predicate:
                return None
            job = walker_job(self.bus, context, placed)
        else:
            job = media_job(self.bus, context, placed)
        if job.descriptor.shared_local_memory_size and context.l3.is_programmed:
            self._check_slm(placed)
        seen = len(self.watch.found)
        self.watch.threads(placed, job.descriptor, pooled=context.pool_map is not None)
        self._raise_errors(seen)
        context.l3.dirty = True
        if not self.dispatch(job):
            context.at = placed.at
            return Stop.PREEMPTED
        return None

    def _check_slm(self, placed: Placed) -> None:
        if not self.context.l3.row.slm:
            raise CommandError(
                f"{placed.title} at {placed.at:#x}: its threads use shared local memory, which"
                " L3CNTLREG does not enable",
                "SLM Enable",
            )

    def _state(self, placed: Placed) -> None:
        context, command = self.context, placed.packet.command
        match command:
            case render.StateBaseAddress():
                context.bases = _rebase(context.bases, command)
            case render.ChromaKey():
                context.bases = _with_key(context.bases, command)
            case render.PipelineSelect():
                self._select(command, placed)
            case render.GpgpuCsrBaseAddress():
                context.csr_base = command.gpgpu_csr_base_address
            case render.StateSip():
                context.sip = command.system_instruction_pointer
            case gpgpu.MediaVfeState():
                context.vfe = command
            case gpgpu.MediaPoolState():
                context.pool_map = command.pool_map if command.pool_enable else None
            case gpgpu.MediaCurbeLoad():
                context.curbe = self._load_curbe(command, placed)
            case gpgpu.MediaInterfaceDescriptorLoad():
                context.descriptors = self._load_descriptors(command, placed)
            case drawing.DrawingState() | drawing.VfStatistics():
                pass  # nothing is drawn
            case drawing.Primitive():
                raise _drawn(placed)
            case mi.MiSetPredicate():
                context.predication = command.predicate_enable
            case mi.MiArbOnOff():
                context.arbitration = command.arbitration_enable
            case _:
                self._memory.run(placed)

    def _select(self, command: render.PipelineSelect, placed: Placed) -> None:
        """Bits 8 and 9, the mask of the selection, come together (Intel's media driver)."""
        mask = command.mask_bits & 3
        if mask in (1, 2):
            raise CommandError(
                f"PIPELINE_SELECT at {placed.at:#x}: Mask Bits are {command.mask_bits:#x}; both of"
                " the low two select a pipeline, and none keeps it",
                "Mask Bits",
            )
        if mask:
            self.context.pipeline = int(command.pipeline_selection)

    def _load_curbe(self, command: gpgpu.MediaCurbeLoad, placed: Placed) -> bytes:
        size, at = command.curbe_total_data_length, command.curbe_data_start_address
        if self.context.vfe is None:
            raise CommandError(
                f"MEDIA_CURBE_LOAD at {placed.at:#x} before MEDIA_VFE_STATE", "order"
            )
        room = 32 * self.context.vfe.curbe_allocation_size
        if size % 32 or size > room:
            raise CommandError(
                f"MEDIA_CURBE_LOAD at {placed.at:#x} loads {size} bytes; whole registers of 32"
                f" up to the {room} bytes that MEDIA_VFE_STATE allocates",
                "CURBE Total Data Length",
            )
        if at % 64:
            raise CommandError(
                f"MEDIA_CURBE_LOAD at {placed.at:#x}: {at:#x} is not a multiple of 64",
                "CURBE Data Start Address",
            )
        source = self.context.bases.reach("dynamic", at, size, placed.title)
        return self.bus.read(source, size, "MEDIA_CURBE_LOAD")

    def _load_descriptors(
        self, command: gpgpu.MediaInterfaceDescriptorLoad, placed: Placed
    ) -> bytes:
        size = command.interface_descriptor_total_length
        at = command.interface_descriptor_data_start_address
        if not size or size % 32 or at % 64:
            raise CommandError(
                f"MEDIA_INTERFACE_DESCRIPTOR_LOAD at {placed.at:#x}: {size} bytes at {at:#x};"
                " descriptors have 32 bytes and start on a multiple of 64",
                "Interface Descriptor Total Length",
            )
        source = self.context.bases.reach("dynamic", at, size, placed.title)
        return self.bus.read(source, size, "MEDIA_INTERFACE_DESCRIPTOR_LOAD")


def _drawn(placed: Placed) -> CommandError:
    return CommandError(
        f"{placed.title} at {placed.at:#x} draws, which is not modelled; Mesa's drivers also fill"
        " and copy buffers and images by draws (vkCmdFillBuffer, vkCmdCopyBuffer), where programs"
        " can map them or use a compute shader",
        "header",
    )


def _with_key(bases: Bases, command: render.ChromaKey) -> Bases:
    keys = list(bases.chroma_keys)
    value = command.chromakey_low_value, command.chromakey_high_value
    keys[command.chromakey_table_index] = value
    return replace(bases, chroma_keys=tuple(keys))


def _rebase(bases: Bases, command: render.StateBaseAddress) -> Bases:
    new = {
        "general": (command.general_state_base_address_modify_enable, "general_state"),
        "surface": (command.surface_state_base_address_modify_enable, "surface_state"),
        "dynamic": (command.dynamic_state_base_address_modify_enable, "dynamic_state"),
        "indirect": (command.indirect_object_base_address_modify_enable, "indirect_object"),
        "instruction": (command.instruction_base_address_modify_enable, "instruction"),
        "bindless": (
            command.bindless_surface_state_base_address_modify_enable,
            "bindless_surface_state",
        ),
    }
    changed = {
        name: getattr(command, f"{prefix}_base_address")
        for name, (is_set, prefix) in new.items()
        if is_set
    }
    if changed.keys() & {"bindless"}:
        changed["bindless_surfaces"] = command.bindless_surface_state_size + 1
    for name, prefix in (
        ("general_size", "general_state"),
        ("dynamic_size", "dynamic_state"),
        ("indirect_size", "indirect_object"),
        ("instruction_size", "instruction"),
    ):
        if getattr(command, f"{prefix}_buffer_size_modify_enable"):
            changed[name] = getattr(command, f"{prefix}_buffer_size") << _PAGE
    return replace(bases, **changed)
