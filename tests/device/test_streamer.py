"""What the streamer does with batches in memory; rows of the checklist are named by their ids.

C commands, M media, P preemption, S state caching.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

import eumu
from device.command_values import FakeBus, random_batch
from eumu.device.chip import allocation, control_register, part
from eumu.device.chip.l3 import L3CNTLREG
from eumu.device.commands import (
    Command,
    CommandError,
    MediaJob,
    Packet,
    Stop,
    Streamer,
    WalkerJob,
    encode,
    gpgpu,
    media,
    mi,
    render,
)
from eumu.device.commands.batch import Placed
from eumu.device.commands.media_walker import positions
from eumu.device.commands.registers import CS_GPR
from eumu.device.commands.rules import Watch
from eumu.errors import LaunchError
from eumu.runtime.batches import CommandQueue

BATCH, DYNAMIC, DATA, CODE = 0x10000, 0x14000, 0x18000, 0x1C000
GPGPU = render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection.GPGPU)
MEDIA = render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection.MEDIA)
BASES = render.StateBaseAddress(
    dynamic_state_base_address=DYNAMIC,
    dynamic_state_base_address_modify_enable=True,
    indirect_object_base_address=DATA,
    indirect_object_base_address_modify_enable=True,
    instruction_base_address=CODE,
    instruction_base_address_modify_enable=True,
)
INVALIDATE = render.PipeControl(state_cache_invalidation_enable=True)
STALL = render.PipeControl(command_streamer_stall_enable=True)
VFE = gpgpu.MediaVfeState(
    maximum_number_of_threads=100, curbe_allocation_size=8, urb_entry_allocation_size=2
)
CURBE = gpgpu.MediaCurbeLoad(curbe_total_data_length=128, curbe_data_start_address=0x400)
LOAD = gpgpu.MediaInterfaceDescriptorLoad(interface_descriptor_total_length=64)
FLUSH = gpgpu.MediaStateFlush()
END = mi.MiBatchBufferEnd()
WALKER = gpgpu.GpgpuWalker(
    simd_size=gpgpu.SimdSize.SIMD16,
    thread_width_counter_maximum=1,
    thread_group_id_x_dimension=3,
    thread_group_id_y_dimension=2,
    thread_group_id_z_dimension=1,
    right_execution_mask=0x00FF,
    bottom_execution_mask=0xFFFFFFFF,
)
IDD = gpgpu.InterfaceDescriptorData(
    kernel_start_pointer=0x40,
    constant_urb_entry_read_length=1,
    cross_thread_constant_data_read_length=2,
    number_of_threads_in_gpgpu_thread_group=2,
    shared_local_memory_size=gpgpu.SharedLocalMemorySize.SLM_4K,
    barrier_enable=True,
)
OBJECT_IDD = gpgpu.InterfaceDescriptorData(kernel_start_pointer=0x80)
PROLOGUE = [GPGPU, BASES, INVALIDATE, VFE, CURBE, LOAD]


class Machine:
    """A streamer on a small memory; `jobs` are what it dispatched."""

    def __init__(self, descriptors: Iterable[gpgpu.InterfaceDescriptorData] = (IDD, IDD)) -> None:
        self.bus = FakeBus()
        self.jobs: list[Any] = []
        self.streamer = Streamer(self.bus, self.take)
        self.bus.write(DYNAMIC, b"".join(d.encode() for d in descriptors), "test")
        self.bus.write(DYNAMIC + 0x400, bytes(range(128)), "test")

    def take(self, job: WalkerJob | MediaJob) -> bool:
        self.jobs.append(job)
        return True

    def run(self, *commands: Command | Packet, at: int = BATCH) -> Stop:
        self.bus.write(at, encode([*commands, END]), "test")
        return self.streamer.start(at)

    @property
    def codes(self) -> list[str]:
        return [f.code for f in self.streamer.findings]


def test_c1_a_walker_gets_its_threads() -> None:
    machine = Machine()
    assert machine.run(*PROLOGUE, WALKER, FLUSH) is Stop.END
    (job,) = machine.jobs
    assert (job.kernel, job.simd, job.threads, job.groups) == (CODE + 0x40, 16, 2, 6)
    assert job.cross_thread == bytes(range(64))
    assert job.per_thread == (bytes(range(64, 96)), bytes(range(96, 128)))
    assert (job.lanes(0), job.lanes(1)) == (0xFFFF, 0x00FF)
    assert (job.slm_bytes, job.descriptor.barrier_enable) == (4096, True)
    assert machine.codes == []


def test_chroma_keys_are_a_table_of_the_context() -> None:
    machine = Machine()
    first = render.ChromaKey(
        chromakey_table_index=1, chromakey_low_value=0x10, chromakey_high_value=0xFFFFFFFF
    )
    last = render.ChromaKey(chromakey_table_index=3, chromakey_low_value=7, chromakey_high_value=9)
    assert machine.run(first, *PROLOGUE, last, WALKER, FLUSH) is Stop.END
    (job,) = machine.jobs
    assert job.bases.chroma_keys == ((0, 0), (0x10, 0xFFFFFFFF), (0, 0), (7, 9))


def test_c1_masks_of_two_dimensions() -> None:
    machine = Machine([IDD, IDD])
    four = gpgpu.InterfaceDescriptorData(number_of_threads_in_gpgpu_thread_group=4)
    machine.bus.write(DYNAMIC, four.encode(), "test")
    machine.run(
        *PROLOGUE,
        gpgpu.GpgpuWalker(
            thread_width_counter_maximum=1,
            thread_height_counter_maximum=1,
            right_execution_mask=0x0F,
            bottom_execution_mask=0x33,
        ),
    )
    assert [machine.jobs[0].lanes(t) for t in range(4)] == [0xFF, 0x0F, 0x33, 0x03]
    assert machine.jobs[0].groups == 0


def test_c1_indirect_data_instead_of_curbe() -> None:
    machine = Machine()
    machine.bus.write(DATA + 64, bytes(range(100, 228)), "test")
    machine.run(
        *PROLOGUE, replace(WALKER, indirect_data_length=128, indirect_data_start_address=64)
    )
    assert machine.jobs[0].cross_thread[0] == 100
    with pytest.raises(CommandError, match="64 bytes; 128 are read"):
        machine.run(*PROLOGUE, replace(WALKER, indirect_data_length=64))


@pytest.mark.parametrize(("code", "size"), [(0, 0), (1, 1024), (2, 2048), (7, 65536)])
def test_c2_slm_size_codes(code: int, size: int) -> None:
    machine = Machine(
        [replace(IDD, shared_local_memory_size=gpgpu.SharedLocalMemorySize(code))] * 2
    )
    machine.run(*PROLOGUE, WALKER)
    assert machine.jobs[0].slm_bytes == size


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ([WALKER], "PIPELINE_SELECT GPGPU"),
        ([GPGPU, BASES, INVALIDATE, WALKER], "MEDIA_VFE_STATE comes first"),
        ([GPGPU, BASES, INVALIDATE, VFE, WALKER], "descriptor 0 is not loaded; there are 0"),
        ([GPGPU, BASES, CURBE], "before MEDIA_VFE_STATE"),
        ([GPGPU, BASES, INVALIDATE, VFE, LOAD, WALKER], "CURBE has 0 bytes; 128 are read"),
        (
            [*PROLOGUE, gpgpu.GpgpuWalker(thread_width_counter_maximum=2)],
            "3 threads a group; the interface descriptor says 2",
        ),
        ([VFE, gpgpu.MediaCurbeLoad(curbe_total_data_length=288)], "loads 288 bytes"),
        ([VFE, gpgpu.MediaCurbeLoad(curbe_data_start_address=32)], "not a multiple of 64"),
        ([gpgpu.MediaInterfaceDescriptorLoad()], "0 bytes at 0x0"),
        ([mi.MiStoreDataImm(address=0x40)], "4 bytes at 0x40"),
        ([mi.MiBatchBufferStart(batch_buffer_start_address=4)], "4 bytes at 0x4"),
    ],
)
def test_illegal_orders_and_places(commands: list[Command], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        Machine().run(*commands)


def test_constants_come_from_one_place() -> None:
    """Fields of the descriptor for the CURBE beside indirect data; those of groups for media."""
    moved = replace(IDD, constant_urb_entry_read_offset=1)
    indirect = replace(WALKER, indirect_data_length=128)
    Machine().run(*PROLOGUE, indirect)
    with pytest.raises(CommandError, match="constants are indirect data") as caught:
        Machine([moved, moved]).run(*PROLOGUE, indirect)
    assert caught.value.field == "Constant URB Entry Read Offset"
    start = [OFF, MEDIA, BASES, INVALIDATE, VFE, LOAD]
    with pytest.raises(CommandError, match="constants of all threads of a group"):
        media_machine(cross_thread_constant_data_read_length=1).run(*start, BARRIER_OBJECT)


# ---- rules


def test_p2_curbe_reload_needs_a_flush() -> None:
    machine = Machine()
    machine.run(*PROLOGUE, WALKER, CURBE, WALKER)
    assert machine.codes == ["curbe-reload"]
    flushed = Machine()
    flushed.run(*PROLOGUE, WALKER, FLUSH, CURBE, WALKER)
    assert flushed.codes == []


def test_s8_a_new_base_needs_an_invalidation() -> None:
    machine = Machine()
    machine.run(GPGPU, BASES, VFE, CURBE, LOAD, WALKER)
    assert machine.codes == ["base-not-invalidated"]


BARRIER_OBJECT = Packet(
    media.MediaObjectGrpid(interface_descriptor_offset=1, end_of_thread_group=True), bytes(4)
)


def media_machine(**fields: Any) -> Machine:
    return Machine([OBJECT_IDD, gpgpu.InterfaceDescriptorData(**fields)])


OFF = mi.MiArbOnOff(arbitration_enable=False)


def test_m7_a_stall_before_the_next_vfe_state() -> None:
    start = [OFF, MEDIA, BASES, INVALIDATE, VFE, LOAD, BARRIER_OBJECT]
    with pytest.raises(CommandError, match="stalling PIPE_CONTROL"):
        media_machine(barrier_enable=True).run(*start, FLUSH, VFE)
    stalled = media_machine(barrier_enable=True)
    assert stalled.run(*start, STALL, VFE) is Stop.END and stalled.codes == []
    without = media_machine()
    assert without.run(*start, FLUSH, VFE) is Stop.END


def test_m8_global_and_linked_barriers() -> None:
    both = [replace(IDD, barrier_enable=False, global_barrier_enable=True), IDD]
    pool = gpgpu.MediaPoolState(pool_enable=True, pool_map=0x777000)
    second = replace(WALKER, interface_descriptor_offset=1)
    with pytest.raises(CommandError, match="global and linked"):
        Machine(both).run(pool, *PROLOGUE, WALKER, second)
    assert Machine(both).run(pool, *PROLOGUE, WALKER, STALL, second) is Stop.END
    assert Machine(both).run(*PROLOGUE, WALKER, second) is Stop.END  # local, not linked


def test_a_register_that_means_nothing_is_told() -> None:
    """What hardware counts there would be another number than 0, and nobody would know."""
    for command in (
        mi.MiStoreRegisterMem(register_address=0x2290, memory_address=DATA),
        mi.MiLoadRegisterReg(0x2290, CS_GPR),
    ):
        machine = Machine()
        machine.run(command)
        assert machine.codes == ["register"]
        assert "register 0x2290 reads as 0" in machine.streamer.findings[0].message
        machine.run(mi.MiLoadRegisterImm(register_offset=0x2290, data_dword=7), command)
        assert machine.codes == []
    machine = Machine()
    machine.run(*(mi.MiStoreRegisterMem(register_address=r, memory_address=DATA) for r in KNOWN))
    assert machine.codes == []


KNOWN = 0x2358, 0x235C, 0x23A8, CS_GPR, CS_GPR + 124, 0x2418, 0x7034, 0x2500


def test_t4_pools_belong_to_initialization() -> None:
    machine = Machine()
    machine.run(*PROLOGUE, WALKER, gpgpu.MediaPoolState(pool_enable=True, pool_map=0x777000))
    assert machine.codes == ["pool-while-busy"]
    assert machine.streamer.context.pool_map == 0x777000


def l3(value: int) -> mi.MiLoadRegisterImm:
    return mi.MiLoadRegisterImm(register_offset=L3CNTLREG, data_dword=value)


WITH_SLM = control_register(allocation(False, True, 1))
WITHOUT_SLM = control_register(allocation(False, False, 0))


def test_sl2_shared_local_memory_is_enabled_when_l3_is_flushed() -> None:
    flush = render.PipeControl(dc_flush_enable=True, command_streamer_stall_enable=True)
    assert Machine().run(l3(WITH_SLM), *PROLOGUE, WALKER) is Stop.END
    with pytest.raises(CommandError, match="flush L3 first"):
        Machine([replace(IDD, shared_local_memory_size=0)] * 2).run(
            l3(WITHOUT_SLM), *PROLOGUE, WALKER, l3(WITH_SLM)
        )
    machine = Machine([replace(IDD, shared_local_memory_size=0)] * 2)
    machine.run(l3(WITHOUT_SLM), *PROLOGUE, WALKER, flush, l3(WITH_SLM))
    assert machine.streamer.context.l3.urb_base == 64 << 10


def test_sl1_threads_with_slm_need_it_enabled() -> None:
    with pytest.raises(CommandError, match="L3CNTLREG does not enable"):
        Machine().run(l3(WITHOUT_SLM), *PROLOGUE, WALKER)


@pytest.mark.parametrize("name", ["bxt-2x6", "bxt-3x6"])
def test_l3_rows_are_those_of_the_part(name: str) -> None:
    """A part with one bank has rows of its own, and not those of several banks."""
    queue = CommandQueue(eumu.Device("bxt", part=name))
    is_single = part(name).l3_banks == 1
    for config in (1, 2, 3):
        row = allocation(is_single, True, config)
        queue.context.l3.write(control_register(row))
        assert queue.context.l3.row == row
    other = allocation(False, True, 4) if is_single else allocation(True, True, 2)
    with pytest.raises(LaunchError, match="not a validated configuration"):
        queue.context.l3.write(control_register(other))


def test_l3_only_validated_configurations() -> None:
    with pytest.raises(CommandError, match="not a validated configuration"):
        Machine().run(l3(0x12345678))


# ---- media


def test_m3_media_objects_need_a_payload() -> None:
    start = [OFF, MEDIA, BASES, INVALIDATE, VFE, LOAD]
    with pytest.raises(CommandError, match="need a payload"):
        media_machine().run(*start, media.MediaObject())
    inline = media_machine()
    inline.run(*start, Packet(media.MediaObject(scoreboard_x=3, scoreboard_y=4), b"abcd"))
    (thread,) = inline.jobs[0].threads
    assert (thread.x, thread.y, thread.data) == (3, 4, b"abcd")
    indirect = media_machine()
    indirect.bus.write(DATA + 32, b"indirect", "test")
    indirect.run(*start, media.MediaObject(indirect_data_length=8, indirect_data_start_address=32))
    assert indirect.jobs[0].threads[0].data == b"indirect"


def walker(**fields: Any) -> media.MediaObjectWalker:
    raster = {
        **{"block_resolution_x": 4, "block_resolution_y": 3},
        **{"global_resolution_x": 4, "global_resolution_y": 3},
        **{"local_outer_loop_stride_y": 1, "local_inner_loop_unit_x": 1},
        **{"local_loop_exec_count": 2, "global_inner_loop_unit_x": 4},
    }
    return media.MediaObjectWalker(**{**raster, **fields})


def places(command: media.MediaObjectWalker) -> list[tuple[int, int]]:
    return [(x, y) for x, y, _ in positions(command)]


def test_m5_raster_order() -> None:
    assert places(walker()) == [(x, y) for y in range(3) for x in range(4)]


def test_m5_blocks_are_cut_at_the_edge() -> None:
    found = places(walker(global_resolution_x=6))
    assert len(found) == len(set(found)) == 18
    assert found[12:] == [(x, y) for y in range(3) for x in (4, 5)]


def test_m5_colors() -> None:
    found = list(positions(walker(color_count_minus_one=1)))
    assert found[:3] == [(0, 0, 0), (0, 0, 1), (1, 0, 0)] and len(found) == 24


def test_m5_the_walker_takes_no_indirect_data() -> None:
    start = [OFF, MEDIA, BASES, INVALIDATE, VFE, LOAD]
    with pytest.raises(CommandError, match="no indirect data"):
        media_machine().run(*start, Packet(walker(indirect_data_length=8), bytes(8)))


def wavefront(width: int, height: int, slope: int) -> media.MediaObjectWalker:
    """Fronts that move `slope` columns left for each row down."""
    return walker(
        **{"block_resolution_x": width, "block_resolution_y": height},
        **{"global_resolution_x": width, "global_resolution_y": height},
        global_inner_loop_unit_x=width,
        local_loop_exec_count=width - 1 + slope * (height - 1),
        **{"local_outer_loop_stride_x": 1, "local_outer_loop_stride_y": 0},
        **{"local_inner_loop_unit_x": -slope, "local_inner_loop_unit_y": 1},
    )


# Left, upper left, above and, for the flatter front, upper right.
DEPENDENCIES = {1: [(-1, 0), (-1, -1), (0, -1)], 2: [(-1, 0), (-1, -1), (0, -1), (1, -1)]}


@pytest.mark.parametrize("slope", [1, 2], ids=["45 degrees", "26 degrees"])
@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 4), (2, 7), (13, 9)])
def test_m6_wavefronts_respect_dependencies(slope: int, width: int, height: int) -> None:
    order = places(wavefront(width, height, slope))
    assert sorted(order) == sorted((x, y) for x in range(width) for y in range(height))
    when = {place: k for k, place in enumerate(order)}
    for x, y in order:
        for dx, dy in DEPENDENCIES[slope]:
            if (x + dx, y + dy) in when:
                assert when[x + dx, y + dy] < when[x, y]


def test_m6_the_scoreboard_says_what_is_waited_for() -> None:
    vfe = gpgpu.MediaVfeState(
        maximum_number_of_threads=100,
        urb_entry_allocation_size=2,
        scoreboard_enable=True,
        scoreboard_mask=0b111,
        **{"scoreboard_0_delta_x": -1, "scoreboard_1_delta_y": -1, "scoreboard_2_delta_x": 1},
    )
    start = [OFF, MEDIA, BASES, INVALIDATE, vfe, LOAD]
    machine = media_machine()
    machine.run(*start, Packet(walker(use_scoreboard=True, scoreboard_mask=0b011), bytes(4)))
    (job,) = machine.jobs
    index = {(t.x, t.y): k for k, t in enumerate(job.threads)}
    assert job.after[index[0, 0]] == ()
    assert set(job.after[index[2, 1]]) == {index[1, 1], index[2, 0]}
    later = media_machine()
    later.run(*start, Packet(walker(use_scoreboard=True, scoreboard_mask=0b100), bytes(4)))
    assert not any(later.jobs[0].after)  # the thread to the right has not started yet
    with pytest.raises(CommandError, match="disabled"):
        media_machine().run(
            *[OFF, MEDIA, BASES, INVALIDATE, VFE, LOAD],
            Packet(walker(use_scoreboard=True), bytes(4)),
        )


# ---- batches


def test_second_level_batches_return() -> None:
    machine = Machine()
    store = mi.MiStoreDataImm(address=DATA, immediate_data=7)
    machine.bus.write(0x12000, encode([store, END]), "test")
    second = mi.MiBatchBufferStart(
        batch_buffer_start_address=0x12000,
        second_level_batch_buffer=mi.SecondLevelBatchBuffer.SECOND_LEVEL_BATCH,
    )
    assert machine.run(second, mi.MiStoreDataImm(address=DATA + 4, immediate_data=8)) is Stop.END
    assert (machine.bus.dword(DATA), machine.bus.dword(DATA + 4)) == (7, 8)


def test_chained_batches_do_not_return() -> None:
    machine = Machine()
    machine.bus.write(0x12000, encode([END]), "test")
    chain = mi.MiBatchBufferStart(batch_buffer_start_address=0x12000)
    assert machine.run(chain, mi.MiStoreDataImm(address=DATA, immediate_data=8)) is Stop.END
    assert machine.bus.dword(DATA) == 0


def test_an_endless_batch_ends() -> None:
    with pytest.raises(CommandError, match="has not ended"):
        Machine().run(mi.MiBatchBufferStart(batch_buffer_start_address=BATCH))


def test_how_long_a_batch_may_be_is_the_callers_choice() -> None:
    machine = Machine()
    long = [mi.MiNoop()] * 100
    machine.streamer.most_commands = 100
    with pytest.raises(CommandError, match="has run 100 commands and has not ended"):
        machine.run(*long)
    machine.streamer.most_commands = 101
    assert machine.run(*long) is Stop.END


def test_findings_of_one_run_are_not_without_end() -> None:
    """A batch may go round; an error behind many notes still stops it."""
    watch = Watch()
    note = Placed(BATCH, Packet(mi.MiSemaphoreSignal(target_context_id=1)))
    for _ in range(5000):
        watch.before(note, arbitration=True)
    assert [found.code for found in watch.found] == ["no-effect"] * 4096
    watch.before(Placed(BATCH, Packet(mi.MiStoreDataImm(use_global_gtt=True))), arbitration=True)
    assert watch.found[-1].code == "not-modelled"


def test_semaphores_wait_for_memory() -> None:
    machine = Machine()
    wait = mi.MiSemaphoreWait(
        semaphore_address=DATA,
        semaphore_data_dword=5,
        compare_operation=mi.CompareOperation.SAD_GREATER_THAN_OR_EQUAL_SDD,
    )
    assert (
        machine.run(wait, mi.MiStoreDataImm(address=DATA + 8, immediate_data=1)) is Stop.SEMAPHORE
    )
    assert machine.streamer.run() is Stop.SEMAPHORE
    machine.bus.write(DATA, (5).to_bytes(4, "little"), "test")
    assert machine.streamer.run() is Stop.END and machine.bus.dword(DATA + 8) == 1


# ---- preemption


POINTS = [mi.MiArbCheck(), FLUSH, STALL, mi.MiWaitForEvent(), WALKER, mi.MiSemaphoreWait()]


@pytest.mark.parametrize("command", POINTS, ids=lambda c: c.TITLE)
def test_p3_preemption_at_the_documented_commands(command: Command) -> None:
    machine = Machine()
    signalled = mi.MiStoreDataImm(address=0x10000 + 0xF000, immediate_data=1)
    if isinstance(command, mi.MiSemaphoreWait):
        command = mi.MiSemaphoreWait(semaphore_address=0x1F000)
    before = [GPGPU, BASES, VFE, CURBE, LOAD, signalled]
    machine.streamer.preempt_wanted = True
    assert machine.run(*before, command, mi.MiStoreDataImm(address=DATA)) is Stop.PREEMPTED
    assert machine.streamer.context.at == BATCH + len(encode(before))
    assert machine.streamer.run() is Stop.END


@pytest.mark.parametrize("command", [mi.MiNoop(), CURBE, BARRIER_OBJECT], ids=repr)
def test_p3_p5_others_defer_it(command: Any) -> None:
    machine = media_machine()
    machine.streamer.preempt_wanted = True
    assert machine.run(MEDIA, BASES, VFE, LOAD, command) is Stop.END
    assert machine.streamer.preempt_wanted


def test_p5_arbitration_off_blocks_it() -> None:
    machine = Machine()
    machine.streamer.preempt_wanted = True
    check = mi.MiArbCheck()
    assert machine.run(OFF, check, check, mi.MiArbOnOff(), check) is Stop.PREEMPTED
    assert machine.streamer.context.at == BATCH + 16
    noted = media_machine()
    noted.run(MEDIA, BASES, INVALIDATE, VFE, LOAD, BARRIER_OBJECT)
    assert noted.codes == ["media-preemption"]


# ---- registers


def register(number: int) -> int:
    return CS_GPR + 8 * number


def alu(code: int, first: int = 0, second: int = 0) -> bytes:
    return (code << 20 | first << 10 | second).to_bytes(4, "little")


def test_math_on_registers() -> None:
    machine = Machine()
    loads = b"".join(
        o.to_bytes(4, "little") + v.to_bytes(4, "little")
        for o, v in ((register(0) + 4, 0xFFFFFFFF), (register(1), 3))
    )
    program = b"".join(
        (
            *(alu(0x080, 0x20, 0), alu(0x080, 0x21, 1), alu(0x100), alu(0x180, 2, 0x31)),
            *(alu(0x180, 3, 0x33), alu(0x101), alu(0x180, 4, 0x31), alu(0x580, 5, 0x32)),
        )
    )
    machine.run(
        Packet(mi.MiLoadRegisterImm(register_offset=register(0), data_dword=0xFFFFFFFE), loads),
        Packet(mi.MiMath(), program),
        mi.MiStoreRegisterMem(register_address=register(2), memory_address=DATA),
    )
    registers = machine.streamer.context.registers
    assert registers.read64(register(2)) == 1  # 2^64 - 2 + 3
    assert registers.read64(register(3)) == (1 << 64) - 1  # carry
    assert registers.read64(register(4)) == (1 << 64) - 5
    assert registers.read64(register(5)) == (1 << 64) - 1  # not zero
    assert machine.bus.dword(DATA) == 1


@pytest.mark.parametrize(
    ("opcode", "old", "first", "new"),
    [
        *((0x07, 5, 0xFFFFFFFF, 4), (0x05, 0xFFFFFFFF, 0, 0), (0x06, 0, 0, 0xFFFFFFFF)),
        *((0x0A, 0xFFFFFFFF, 1, 1), (0x0C, 0xFFFFFFFF, 1, 0xFFFFFFFF), (0x09, 3, 10, 7)),
        *((0x01, 0xF0, 0x3C, 0x30), (0x04, 1, 9, 9), (0x0E, 7, 7, 99), (0x0E, 8, 7, 8)),
    ],
)
def test_atomics(opcode: int, old: int, first: int, new: int) -> None:
    machine = Machine()
    machine.bus.write(DATA, old.to_bytes(4, "little"), "test")
    inline = first.to_bytes(4, "little") + (99).to_bytes(4, "little") + bytes(24)
    atomic = mi.MiAtomic(atomic_opcode=opcode, memory_address=DATA, inline_data=True)
    machine.run(Packet(atomic, inline))
    assert machine.bus.dword(DATA) == new


def test_reserved_atomics() -> None:
    with pytest.raises(CommandError, match="reserved"):
        Machine().run(mi.MiAtomic(atomic_opcode=0x10, memory_address=DATA))


@pytest.mark.parametrize("count", [300, pytest.param(100_000, marks=pytest.mark.weekly)])
def test_random_streams_give_diagnostics_only(count: int) -> None:
    ends = set()
    for seed in range(count):
        rng = random.Random(seed)
        machine = Machine()
        batch = [rng.choice([*PROLOGUE, WALKER]) for _ in range(rng.randrange(8))]
        data = bytearray(encode([*batch, *random_batch(rng, 4), END]))
        for _ in range(rng.randrange(3)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        machine.bus.write(BATCH, bytes(data), "test")
        try:
            ends.add(machine.streamer.start(BATCH))
        except CommandError as error:
            assert error.field and str(error)
            ends.add(CommandError)
    assert {Stop.END, CommandError} <= ends


def test_findings_are_those_of_the_run() -> None:
    """A streamer that lives long keeps no more than a run finds."""
    machine = Machine()
    for _ in range(3):
        machine.run(*PROLOGUE, WALKER, CURBE)
        assert machine.codes == ["curbe-reload"]
        machine.run(FLUSH)
        assert machine.codes == []


# ---- fields that exclude each other, and values that no field has


def post_sync(**fields: Any) -> Machine:
    machine = Machine()
    machine.run(render.PipeControl(immediate_data=7, **fields))
    return machine


@pytest.mark.parametrize("operation", [o for o in render.PostSyncOperation if o])
def test_a_pipe_control_writes_once(operation: render.PostSyncOperation) -> None:
    lri = render.LriPostSyncOperation.MMIO_WRITE_IMMEDIATE_DATA
    machine = post_sync(lri_post_sync_operation=lri, address=CS_GPR)
    assert machine.streamer.context.registers.read(CS_GPR) == 7
    with pytest.raises(CommandError, match=f"Post Sync Operation {operation.name}: only one"):
        post_sync(lri_post_sync_operation=lri, address=CS_GPR, post_sync_operation=operation)
    with pytest.raises(CommandError, match="0x100002600 is no register offset"):
        post_sync(lri_post_sync_operation=lri, address=1 << 32 | CS_GPR)


@pytest.mark.parametrize("mask", range(8))
def test_both_mask_bits_select_a_pipeline(mask: int) -> None:
    machine, command = Machine(), replace(GPGPU, mask_bits=mask)
    if mask & 3 in (1, 2):
        with pytest.raises(CommandError, match="Mask Bits are"):
            machine.run(command)
    else:
        machine.run(command)
        assert machine.streamer.context.pipeline == (2 if mask & 3 else 0)


@pytest.mark.parametrize("code", range(16))
def test_scratch_space_of_a_thread_is_2_mb_at_most(code: int) -> None:
    vfe = replace(VFE, scratch_space_base_pointer=0x4000, per_thread_scratch_space=code)
    machine = Machine()
    batch = [vfe if c is VFE else c for c in PROLOGUE]
    if code > 11:
        with pytest.raises(CommandError, match=f"Per Thread Scratch Space is {code}"):
            machine.run(*batch, WALKER)
    else:
        machine.run(*batch, WALKER)
        assert machine.jobs[0].scratch == (0x4000, 1024 << code)


@pytest.mark.parametrize(
    ("masks", "thread"), [((0, 0xFFFF), 1), ((0xFFFF, 0), 0), ((0x00FF, 0xFF00), 1)]
)
def test_a_thread_without_lanes(masks: tuple[int, int], thread: int) -> None:
    """Nothing public says whether it is started; the engines said different things."""
    walker = replace(WALKER, right_execution_mask=masks[0], bottom_execution_mask=masks[1])
    with pytest.raises(CommandError, match=f"thread {thread} of its groups has no lane"):
        Machine().run(*PROLOGUE, walker)
    machine = Machine()
    machine.run(*PROLOGUE, replace(walker, thread_group_id_x_dimension=0))
    assert machine.jobs[0].groups == 0
