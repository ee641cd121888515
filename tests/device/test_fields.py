"""Every field of every command acts, is refused by name, or is in the table of those that do not.

Each field of a command is changed in batches that use it.  If nothing that can be seen changes
(memory, registers, what threads get, errors, findings), it must be in
`eumu.device.commands.unheeded.UNHEEDED`; and what is in that table does what the table says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import native
from eumu.device.chip import allocation, control_register
from eumu.device.chip.l3 import L3CNTLREG
from eumu.device.chip.pools import MAP_3X6
from eumu.device.commands import (
    COMMANDS,
    Command,
    Packet,
    drawing,
    encode,
    gpgpu,
    media,
    mi,
    render,
)
from eumu.device.commands.registers import (
    CS_GPR,
    PREDICATE_RESULT,
    PREDICATE_RESULT_1,
    PREDICATE_SRC0,
)
from eumu.device.commands.unheeded import UNHEEDED, WhenSet
from eumu.device.state.fields import State, title
from eumu.errors import EumuError
from eumu.exec.grid import Grid, RunStats
from eumu.runtime.batches import CommandQueue

# What is not modelled at all says so with its name.
NOT_MODELLED = {"3DPRIMITIVE"}
TABLED = 3  # batches in which a field of the table is changed
# Bytes of the scene from its base address on.
SCENE, DATA, BATCH = 0x20000, 0x10000, 0x18000
CODE = 0x1F000  # nothing is behind it, as code goes to the end of its allocation
SECOND, DESCRIPTORS, CURBE = 0x1C000, 0x0, 0x1000


class Scene:
    """A device whose memory has code, descriptors and data at known places, and runs nothing."""

    def __init__(self) -> None:
        self.device = eumu.Device("apl", "interp", memory_bytes=1 << 20)
        self.base = self.device.memory.allocate(SCENE, "the scene").start
        self.start = self.base - self.device.memory.base
        end = "(W) send (8|M0) null r127 0x27 0x02000010 {EOT}\n"
        stateless = "(W) send (2|M0) r5 r6 0xA 0x021108FF\n"  # 32-bit addresses
        code = native.encode(native.parse(3 * "nop\n" + stateless + end))
        self.image = np.zeros(SCENE, np.uint8)
        self.image[CODE : CODE + 16 * len(code)] = np.frombuffer(16 * code, np.uint8)
        self.image[CURBE : CURBE + 0x1000] = np.arange(0x1000) % 251
        self.image[DATA : DATA + 0x1000] = np.arange(0x1000) % 241
        second = encode([store(DATA + 0x100, 0x22222222, self.base), mi.MiBatchBufferEnd()])
        self.image[SECOND : SECOND + len(second)] = list(second)
        self.grids: list[Any] = []
        self.functions: dict[Any, Any] = {}  # lowered code, for all queues

    def see(self, scenario: Scenario, changed: Command | State) -> tuple[Any, ...]:
        """What a batch does with the changed command or descriptor in it."""
        arena = self.device.memory.arena
        arena[self.start : self.start + SCENE] = self.image
        self.grids.clear()
        commands = scenario.commands(self.base)
        if isinstance(changed, gpgpu.InterfaceDescriptorData):
            descriptor: Any = changed
        else:
            descriptor = scenario.descriptor
            commands[scenario.place] = put(commands[scenario.place], changed)
        data = descriptor.encode() * 2
        at = self.start + DESCRIPTORS
        arena[at : at + len(data)] = list(data)
        try:
            batch = encode([*commands, mi.MiBatchBufferEnd()])
        except EumuError as error:
            return ("error", str(error), getattr(error, "field", ""))
        at = self.start + BATCH
        arena[at : at + len(batch)] = list(batch)
        self.device.clock = eumu.device.chip.InstructionClock()  # type: ignore[attr-defined]
        queue = CommandQueue(self.device)
        queue._code._functions = self.functions
        self.device.run = self.take  # type: ignore[method-assign]
        seen: list[Any] = []
        try:
            report = queue.submit(self.base + BATCH)
            seen += [report.stop, report.interrupts, report.waves, report.occupancy]
            seen.append([f.message for f in report.findings])
        except EumuError as error:
            seen += ["error", str(error), getattr(error, "field", "")]
        context = queue.context
        memory = arena[self.start + DATA : self.start + DATA + 0x1000].tobytes()
        seen += [context.registers.items(), context.arbitration, context.csr_base, context.l3.row]
        return (*seen, memory, tuple(self.grids))

    def take(self, grid: Grid, snapshot: Any = None) -> tuple[RunStats, str]:
        self.grids.append(
            (
                *(grid.function.name, grid.function.width, grid.group_count, grid.local_size),
                *(grid.payload, grid.surfaces, grid.slm_bytes, grid.scratch_bytes > 0),
                *(grid.scratch_bytes, grid.state, grid.masks, grid.pool_map),
            )
        )
        return RunStats(10, 1, 1), "interp"


def put(old: Command | Packet, new: Command | State) -> Command | Packet:
    assert isinstance(new, Command)
    return Packet(new, old.inline) if isinstance(old, Packet) else new


@dataclass(frozen=True)
class Scenario:
    """A batch, made for a base address; the command at `place` is the one that is changed."""

    make: Callable[[int], list[Command | Packet]]
    place: int
    descriptor: gpgpu.InterfaceDescriptorData

    def commands(self, base: int) -> list[Command | Packet]:
        return self.make(base)


def store(offset: int, value: int, base: int) -> mi.MiStoreDataImm:
    return mi.MiStoreDataImm(address=base + offset, immediate_data=value)


def load(register: int, value: int) -> mi.MiLoadRegisterImm:
    return mi.MiLoadRegisterImm(register_offset=register, data_dword=value)


# ---- batches that start threads

IDD = gpgpu.InterfaceDescriptorData(
    constant_urb_entry_read_length=1,
    cross_thread_constant_data_read_length=1,
    number_of_threads_in_gpgpu_thread_group=2,
    barrier_enable=True,
    shared_local_memory_size=gpgpu.SharedLocalMemorySize.SLM_4K,
)
PLAIN = gpgpu.InterfaceDescriptorData(constant_urb_entry_read_length=1)
# As many threads as a subslice of the part has not, so that it matters where they may be.
WIDE = replace(
    IDD,
    number_of_threads_in_gpgpu_thread_group=40,
    global_barrier_enable=True,
    shared_local_memory_size=gpgpu.SharedLocalMemorySize.SLM_0K,
    barrier_enable=False,
)


def prologue(base: int, pipeline: int, **vfe: Any) -> list[Command | Packet]:
    """State, as drivers set it; nothing in it is 0 that could be something else."""
    prefixes = ("general_state", "surface_state", "dynamic_state", "indirect_object", "instruction")
    bases: dict[str, Any] = {}
    for prefix in (*prefixes, "bindless_surface_state"):
        bases[f"{prefix}_base_address"] = base
        bases[f"{prefix}_base_address_modify_enable"] = True
    bases["instruction_base_address"] = base + CODE
    for prefix in ("general_state", "dynamic_state", "indirect_object", "instruction"):
        bases[f"{prefix}_buffer_size"] = SCENE >> 12
        bases[f"{prefix}_buffer_size_modify_enable"] = True
    fields = {
        "maximum_number_of_threads": 40,
        "curbe_allocation_size": 128,
        "urb_entry_allocation_size": 8,
        "scratch_space_base_pointer": 0x4000,
        "per_thread_scratch_space": 1,
        **vfe,
    }
    return [
        mi.MiArbOnOff(arbitration_enable=False),
        gpgpu.MediaPoolState(),
        render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection(pipeline)),
        render.StateBaseAddress(**bases),
        render.PipeControl(
            state_cache_invalidation_enable=True, command_streamer_stall_enable=True
        ),
        render.ChromaKey(chromakey_table_index=1, chromakey_low_value=1, chromakey_high_value=2),
        gpgpu.MediaVfeState(**fields),
        gpgpu.MediaCurbeLoad(curbe_total_data_length=0x600, curbe_data_start_address=CURBE),
        gpgpu.MediaInterfaceDescriptorLoad(interface_descriptor_total_length=64),
        render.GpgpuCsrBaseAddress(gpgpu_csr_base_address=base),
        render.StateSip(system_instruction_pointer=base),
    ]


WALKER = gpgpu.GpgpuWalker(
    simd_size=gpgpu.SimdSize.SIMD16,
    thread_width_counter_maximum=1,
    thread_group_id_x_dimension=3,
    thread_group_id_y_dimension=2,
    thread_group_id_z_dimension=2,
    right_execution_mask=0xFF,
    bottom_execution_mask=0xFFFFFFFF,
)
OBJECT = Packet(media.MediaObject(scoreboard_x=1), bytes(range(16)))
RASTER = media.MediaObjectWalker(
    **{"block_resolution_x": 4, "block_resolution_y": 3},
    **{"global_resolution_x": 10, "global_resolution_y": 6},
    **{"local_outer_loop_stride_y": 1, "local_inner_loop_unit_x": 1},
    **{"local_loop_exec_count": 2, "global_inner_loop_unit_x": 4},
    **{"global_outer_loop_stride_y": 3, "global_loop_exec_count": 1},
    **{"middle_loop_extra_steps": 1, "local_mid_loop_unit_y": 1},
    use_scoreboard=True,
    scoreboard_mask=0xFF,
)
DELTAS = {
    f"scoreboard_{k}_delta_{axis}": -1 - (k + (axis == "y")) % 2 for k in range(8) for axis in "xy"
}
SCOREBOARD: dict[str, Any] = {"scoreboard_enable": True, "scoreboard_mask": 0xFF, **DELTAS}
POOLED = gpgpu.MediaPoolState(pool_enable=True, pool_map=MAP_3X6)
AGAIN: list[Command | Packet] = [WALKER, WALKER]


def compute(base: int) -> list[Command | Packet]:
    return [*prologue(base, 2), WALKER]


def wide(base: int) -> list[Command | Packet]:
    walker = replace(WALKER, thread_width_counter_maximum=39)
    return [*prologue(base, 2), walker]


def indirect(base: int) -> list[Command | Packet]:
    """Constants from memory, and threads in three dimensions."""
    walker = replace(
        WALKER,
        indirect_data_length=96,
        indirect_data_start_address=CURBE,
        thread_height_counter_maximum=0,
    )
    numbers = [load(0x2500 + 4 * k, 4 - k) for k in range(3)]
    return [*prologue(base, 2), *numbers, walker]


def commands_of(*objects: Command | Packet, **vfe: Any) -> Callable[[int], Any]:
    def make(base: int) -> list[Command | Packet]:
        return [*prologue(base, 1, **vfe), *objects]

    return make


def one(*commands: Command | Packet) -> Callable[[int], list[Command | Packet]]:
    """A batch with addresses that count from the scene's base."""

    def make(base: int) -> list[Command | Packet]:
        return [moved(c, base) for c in commands]

    return make


def moved(command: Command | Packet, base: int) -> Command | Packet:
    if isinstance(command, Packet):
        found = moved(command.command, base)
        assert isinstance(found, Command)
        return Packet(found, command.inline)
    changes = {
        row.name: getattr(command, row.name) + base
        for row in command.rows()
        if row.bits.address and row.bits.last != row.bits.dword and getattr(command, row.name)
    }
    return replace(command, **changes)  # type: ignore[type-var]


L3_ROW = load(L3CNTLREG, control_register(allocation(False, True, 1)))
L3_OTHER = load(L3CNTLREG, control_register(allocation(False, True, 2)))
STAMP = render.PipeControl(post_sync_operation=render.PostSyncOperation(3), address=DATA)
PIPELINED = Packet(drawing.DrawingState(sub_opcode=0x10), bytes(24))
FLUSHED = render.PipeControl(dc_flush_enable=True, command_streamer_stall_enable=True)
THREADS: list[tuple[Callable[[int], Any], gpgpu.InterfaceDescriptorData]] = [
    (compute, IDD),
    *(
        (commands_of(replace(RASTER, scoreboard_mask=1 << k), **SCOREBOARD), PLAIN)
        for k in range(8)
    ),
    (indirect, IDD),
    (wide, WIDE),
    (commands_of(OBJECT), PLAIN),
    (
        commands_of(
            Packet(
                media.MediaObject(
                    indirect_data_length=32,
                    indirect_data_start_address=CURBE,
                    force_destination=True,
                    use_scoreboard=True,
                ),
                bytes(4),
            ),
            **SCOREBOARD,
        ),
        PLAIN,
    ),
    (
        commands_of(
            Packet(
                media.MediaObjectGrpid(
                    group_id=4,
                    scoreboard_x=1,
                    indirect_data_length=32,
                    indirect_data_start_address=CURBE,
                ),
                bytes(4),
            ),
            Packet(
                media.MediaObjectGrpid(
                    group_id=4,
                    end_of_thread_group=True,
                    scoreboard_x=2,
                    use_scoreboard=True,
                    force_destination=True,
                    indirect_data_length=32,
                    indirect_data_start_address=CURBE,
                ),
                bytes(4),
            ),
            **SCOREBOARD,
        ),
        PLAIN,
    ),
    (
        commands_of(
            Packet(
                media.MediaObjectGrpid(
                    group_id=4, scoreboard_x=1, use_scoreboard=True, scoreboard_mask=1
                ),
                bytes(4),
            ),
            Packet(
                media.MediaObjectGrpid(
                    group_id=4,
                    end_of_thread_group=True,
                    scoreboard_x=2,
                    use_scoreboard=True,
                ),
                bytes(4),
            ),
            **{**SCOREBOARD, "scoreboard_0_delta_y": 0},
        ),
        replace(PLAIN, shared_local_memory_size=gpgpu.SharedLocalMemorySize.SLM_1K),
    ),
    (commands_of(Packet(media.MediaObjectPrt(), bytes(48))), PLAIN),
    (commands_of(RASTER, **SCOREBOARD), PLAIN),
    (commands_of(replace(RASTER, use_scoreboard=False, middle_loop_extra_steps=0)), PLAIN),
]


def unlimited(base: int) -> list[Command | Packet]:
    """Sizes of buffers that do not count, as nothing says that they do."""
    found = [*prologue(base, 2), WALKER]
    bases = found[3]
    assert isinstance(bases, render.StateBaseAddress)
    changes = {r.name: 0 for r in bases.rows() if "buffer_size" in r.name}
    found[3] = replace(bases, **changes)  # type: ignore[arg-type]
    return [*found[:-1], replace(WALKER, indirect_data_length=96), WALKER]


MEMORY: list[Callable[[int], list[Command | Packet]]] = [
    one(mi.MiNoop(identification_number=3)),
    one(mi.MiNoop(identification_number_register_write_enable=True)),
    one(mi.MiArbOnOff()),
    one(mi.MiWaitForEvent()),
    one(
        mi.MiSemaphoreWait(
            semaphore_address=DATA, compare_operation=mi.CompareOperation.SAD_LESS_THAN_SDD
        ),
        store(DATA + 8, 1, 0),
    ),
    one(mi.MiSemaphoreSignal()),
    one(
        load(PREDICATE_RESULT_1, 0),
        mi.MiBatchBufferStart(batch_buffer_start_address=SECOND),
        store(DATA + 8, 1, 0),
    ),
    one(
        mi.MiConditionalBatchBufferEnd(
            compare_semaphore=True, compare_address=DATA + 0xF0, compare_data_dword=0x02010000
        ),
        store(DATA + 16, 1, 0),
    ),
    one(
        mi.MiConditionalBatchBufferEnd(
            compare_semaphore=True, compare_address=DATA + 0xF0, compare_data_dword=0xFFFFFFFF
        ),
        store(DATA + 16, 1, 0),
    ),
    one(mi.MiSemaphoreWait(semaphore_address=DATA), store(DATA + 8, 1, 0)),
    one(mi.MiStoreDataImm(address=DATA)),
    one(mi.MiLoadRegisterImm(register_offset=CS_GPR, data_dword=0x1234)),
    one(
        load(CS_GPR, 0x01020304),
        mi.MiLoadRegisterImm(register_offset=CS_GPR, data_dword=0x05060708),
    ),
    one(mi.MiLoadRegisterMem(register_address=CS_GPR, memory_address=DATA + 4)),
    one(load(CS_GPR, 7), mi.MiLoadRegisterReg(CS_GPR, CS_GPR + 8)),
    one(
        load(CS_GPR, 7),
        mi.MiStoreRegisterMem(register_address=CS_GPR, memory_address=DATA),
    ),
    one(mi.MiCopyMemMem(destination_memory_address=DATA, source_memory_address=DATA + 4)),
    one(load(CS_GPR, 7), mi.MiAtomic(atomic_opcode=7, memory_address=DATA)),
    *(
        one(
            *(load(PREDICATE_SRC0 + 4 * k, v) for k, v in enumerate(values)),
            load(PREDICATE_RESULT, old),
            mi.MiPredicate(load_operation=mi.LoadOperation.LOAD, combine_operation=combine),
        )
        for values in ((1, 0, 1, 0), (1, 0, 2, 0))
        for old in (0, 1)
        for combine in mi.CombineOperation
    ),
    one(mi.MiFlushDw(post_sync_operation=1, address=DATA, immediate_data=5)),
    one(render.PipeControl(post_sync_operation=render.PostSyncOperation(1), address=DATA)),
    lambda base: [*prologue(base, 2), WALKER, FLUSHED, L3_ROW],
    unlimited,
    lambda base: [POOLED, *prologue(base, 2)[2:], WALKER],
    lambda base: [*prologue(base, 2), render.PipeControl(), WALKER],
    one(L3_ROW, render.PipelineSelect(mask_bits=3), L3_OTHER),
    lambda base: [*prologue(base, 2), gpgpu.MediaStateFlush(), *AGAIN],
    one(mi.MiSetPredicate(), load(CS_GPR, 7), mi.MiSetPredicate()),
    lambda base: [*prologue(base, 2), PIPELINED, drawing.VfStatistics(), WALKER],
    one(store(DATA + 8, 1, 0), drawing.Primitive()),
]


def scenarios() -> Iterator[Scenario]:
    """Each command of each batch is the one that is changed, once."""
    for make, descriptor in THREADS:
        for place in range(len(make(0))):
            yield Scenario(make, place, descriptor)
    for make in MEMORY:
        for place in range(len(make(0))):
            yield Scenario(make, place, IDD)


def plain(command: Command | Packet) -> Command:
    return command.command if isinstance(command, Packet) else command


def values(state: State, row: Any) -> Iterator[Any]:
    """Other values of a field."""
    now = getattr(state, row.name)
    if row.type is bool:
        yield not now
    elif issubclass(row.type, IntEnum):
        yield from (v for v in row.type if v != now)
    else:
        step = 1 << row.bits.low if row.bits.address else 1
        most = (1 << row.bits.size - row.bits.signed) - 1
        low = -most - 1 if row.bits.signed else 0
        for value in (*(now + k * step for k in (1, 2, -1, 16, most // 2)), 0, step):
            if low <= value <= most * step and value != now:
                yield value


def by_kind() -> dict[type[State], list[Scenario]]:
    found: dict[type[State], list[Scenario]] = {}
    for scenario in scenarios():
        found.setdefault(type(plain(scenario.make(0)[scenario.place])), []).append(scenario)
    starts = (gpgpu.GpgpuWalker, media.MediaObject, media.MediaObjectGrpid, media.MediaObjectWalker)
    found[gpgpu.InterfaceDescriptorData] = [s for k in starts for s in found[k]]
    return found


SCENARIOS = by_kind()
KINDS = {**COMMANDS, gpgpu.InterfaceDescriptorData.TITLE: gpgpu.InterfaceDescriptorData}


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


def names_it(seen: tuple[Any, ...], name: str) -> bool:
    return title(name) in repr(seen)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda k: k.TITLE)
def test_every_field_acts_or_is_in_the_table(scene: Scene, kind: type[State]) -> None:
    table = UNHEEDED.get(kind, {})
    assert set(table) <= {row.name for row in kind.rows()}
    idle, wrong = {row.name for row in kind.rows()}, []
    silent = {name for name, entry in table.items() if entry.kind is not WhenSet.HINT}
    cases = SCENARIOS.get(kind, [])
    assert cases or kind.TITLE in NOT_MODELLED or not kind.rows(), f"no batch has {kind.TITLE}"
    for number, scenario in enumerate(cases):
        if number >= TABLED and idle <= set(table):
            break
        is_descriptor = kind is gpgpu.InterfaceDescriptorData
        commands = scenario.make(scene.base)
        base: Any = scenario.descriptor if is_descriptor else plain(commands[scenario.place])
        before = scene.see(scenario, base)
        for row in kind.rows():
            entry = table.get(row.name)
            if row.name not in idle if entry is None else number >= TABLED:
                continue
            for value in values(base, row):
                seen = scene.see(scenario, replace(base, **{row.name: value}))
                if entry is None:
                    if seen != before:
                        idle.discard(row.name)
                        break
                elif entry.kind is WhenSet.HINT and seen != before:
                    wrong.append(f"{row.name}={value} is a hint, and does something: {seen}")
                elif names_it(seen, row.name):
                    silent.discard(row.name)
    assert not wrong, wrong[0]
    assert not silent, f"{kind.TITLE}: {sorted(silent)} are not named where they are refused"
    if kind.TITLE not in NOT_MODELLED:
        assert idle <= set(table), f"{kind.TITLE}: nothing depends on {sorted(idle - set(table))}"


def test_what_is_not_modelled_says_so(scene: Scene) -> None:
    for name in NOT_MODELLED:
        kind = COMMANDS[name]
        scenario = next(s for s in scenarios() if type(plain(s.make(0)[s.place])) is kind)
        seen = scene.see(scenario, plain(scenario.make(scene.base)[scenario.place]))
        assert f"{name} at" in repr(seen) and "is not modelled" in repr(seen)


def test_a_new_field_without_any_of_these_fails(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above sees a field that is decoded and then forgotten."""
    kind = media.MediaObjectWalker
    kept = {k: v for k, v in UNHEEDED[kind].items() if k != "indirect_data_start_address"}
    monkeypatch.setitem(UNHEEDED, kind, kept)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="indirect_data_start_address"):
        test_every_field_acts_or_is_in_the_table(scene, kind)
