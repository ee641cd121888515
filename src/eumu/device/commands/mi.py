"""Memory interface commands: control flow of a batch, registers, memory."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from eumu.device.commands.packet import Command, Inline
from eumu.device.commands.render import AddressType
from eumu.device.state.fields import bits
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class MiNoop(Command):
    TITLE = "MI_NOOP"
    DWORDS = 1
    CODE = 0x00000000
    LENGTH = 0

    identification_number_register_write_enable: Annotated[bool, bits(0, 22)] = False
    identification_number: Annotated[int, bits(0, 21, 0)] = 0


@dataclass(frozen=True, slots=True)
class MiArbCheck(Command):
    TITLE = "MI_ARB_CHECK"
    DWORDS = 1
    CODE = 0x02800000
    LENGTH = 0


@dataclass(frozen=True, slots=True)
class MiArbOnOff(Command):
    TITLE = "MI_ARB_ON_OFF"
    DWORDS = 1
    CODE = 0x04000000
    LENGTH = 0

    arbitration_enable: Annotated[bool, bits(0, 0)] = True


@dataclass(frozen=True, slots=True)
class MiWaitForEvent(Command):
    TITLE = "MI_WAIT_FOR_EVENT"
    DWORDS = 1
    CODE = 0x01800000
    LENGTH = 0

    display_plane_1_c_vertical_blank_wait_enable: Annotated[bool, bits(0, 21)] = False
    display_plane_6_flip_pending_wait_enable: Annotated[bool, bits(0, 20)] = False
    display_plane_12_flip_pending_wait_enable: Annotated[bool, bits(0, 19)] = False
    display_plane_11_flip_pending_wait_enable: Annotated[bool, bits(0, 18)] = False
    display_plane_10_flip_pending_wait_enable: Annotated[bool, bits(0, 17)] = False
    display_plane_9_flip_pending_wait_enable: Annotated[bool, bits(0, 16)] = False
    display_plane_3_flip_pending_wait_enable: Annotated[bool, bits(0, 15)] = False
    display_plane_1_c_scan_line_wait_enable: Annotated[bool, bits(0, 14)] = False
    display_plane_1_b_vertical_blank_wait_enable: Annotated[bool, bits(0, 11)] = False
    display_plane_5_flip_pending_wait_enable: Annotated[bool, bits(0, 10)] = False
    display_plane_2_flip_pending_wait_enable: Annotated[bool, bits(0, 9)] = False
    display_plane_1_b_scan_line_wait_enable: Annotated[bool, bits(0, 8)] = False
    display_plane_8_flip_pending_wait_enable: Annotated[bool, bits(0, 7)] = False
    display_plane_7_flip_pending_wait_enable: Annotated[bool, bits(0, 6)] = False
    display_plane_1_a_vertical_blank_wait_enable: Annotated[bool, bits(0, 3)] = False
    display_plane_4_flip_pending_wait_enable: Annotated[bool, bits(0, 2)] = False
    display_plane_1_flip_pending_wait_enable: Annotated[bool, bits(0, 1)] = False
    display_plane_1_a_scan_line_wait_enable: Annotated[bool, bits(0, 0)] = False


class MemoryType(IntEnum):
    PER_PROCESS_GRAPHICS_ADDRESS = 0
    GLOBAL_GRAPHICS_ADDRESS = 1


class WaitMode(IntEnum):
    POLLING_MODE = 1
    SIGNAL_MODE = 0


class CompareOperation(IntEnum):
    SAD_GREATER_THAN_SDD = 0
    SAD_GREATER_THAN_OR_EQUAL_SDD = 1
    SAD_LESS_THAN_SDD = 2
    SAD_LESS_THAN_OR_EQUAL_SDD = 3
    SAD_EQUAL_SDD = 4
    SAD_NOT_EQUAL_SDD = 5


@dataclass(frozen=True, slots=True)
class MiSemaphoreWait(Command):
    TITLE = "MI_SEMAPHORE_WAIT"
    DWORDS = 4
    CODE = 0x0E000000
    LENGTH = 8

    memory_type: Annotated[MemoryType, bits(0, 22)] = MemoryType.PER_PROCESS_GRAPHICS_ADDRESS
    register_poll_mode: Annotated[bool, bits(0, 16)] = False
    wait_mode: Annotated[WaitMode, bits(0, 15)] = WaitMode.POLLING_MODE
    compare_operation: Annotated[CompareOperation, bits(0, 14, 12)] = (
        CompareOperation.SAD_GREATER_THAN_SDD
    )
    semaphore_data_dword: Annotated[int, bits(1, 31, 0)] = 0
    semaphore_address: Annotated[int, bits(2, 31, 2, last=3, address=True)] = 0


class TargetEngineSelect(IntEnum):
    RCS = 0
    VCS0 = 1
    BCS = 2
    VECS = 3
    VCS1 = 4


@dataclass(frozen=True, slots=True)
class MiSemaphoreSignal(Command):
    TITLE = "MI_SEMAPHORE_SIGNAL"
    DWORDS = 2
    CODE = 0x0D800000
    LENGTH = 8

    post_sync_operation: Annotated[bool, bits(0, 21)] = False
    target_engine_select: Annotated[TargetEngineSelect, bits(0, 17, 15)] = TargetEngineSelect.RCS
    target_context_id: Annotated[int, bits(1, 31, 0)] = 0


class SecondLevelBatchBuffer(IntEnum):
    FIRST_LEVEL_BATCH = 0
    SECOND_LEVEL_BATCH = 1


class AddressSpaceIndicator(IntEnum):
    GGTT = 0
    PPGTT = 1


@dataclass(frozen=True, slots=True)
class MiBatchBufferStart(Command):
    TITLE = "MI_BATCH_BUFFER_START"
    DWORDS = 3
    CODE = 0x18800000
    LENGTH = 8

    second_level_batch_buffer: Annotated[SecondLevelBatchBuffer, bits(0, 22)] = (
        SecondLevelBatchBuffer.FIRST_LEVEL_BATCH
    )
    add_offset_enable: Annotated[bool, bits(0, 16)] = False
    predication_enable: Annotated[bool, bits(0, 15)] = False
    resource_streamer_enable: Annotated[bool, bits(0, 10)] = False
    address_space_indicator: Annotated[AddressSpaceIndicator, bits(0, 8)] = (
        AddressSpaceIndicator.PPGTT
    )
    batch_buffer_start_address: Annotated[int, bits(1, 31, 2, last=2, address=True)] = 0


@dataclass(frozen=True, slots=True)
class MiBatchBufferEnd(Command):
    TITLE = "MI_BATCH_BUFFER_END"
    DWORDS = 1
    CODE = 0x05000000
    LENGTH = 0


class CompareMaskMode(IntEnum):
    COMPARE_MASK_MODE_DISABLED = 0
    COMPARE_MASK_MODE_ENABLED = 1


@dataclass(frozen=True, slots=True)
class MiConditionalBatchBufferEnd(Command):
    TITLE = "MI_CONDITIONAL_BATCH_BUFFER_END"
    DWORDS = 4
    CODE = 0x1B000000
    LENGTH = 8

    use_global_gtt: Annotated[bool, bits(0, 22)] = False
    compare_semaphore: Annotated[bool, bits(0, 21)] = False
    compare_mask_mode: Annotated[CompareMaskMode, bits(0, 19)] = (
        CompareMaskMode.COMPARE_MASK_MODE_DISABLED
    )
    compare_data_dword: Annotated[int, bits(1, 31, 0)] = 0
    compare_address: Annotated[int, bits(2, 31, 3, last=3, address=True)] = 0


@dataclass(frozen=True, slots=True)
class MiStoreDataImm(Inline):
    """With `store_qword` the high dword of the data is inline."""

    TITLE = "MI_STORE_DATA_IMM"
    DWORDS = 4
    CODE = 0x10000000
    LENGTH = 10

    use_global_gtt: Annotated[bool, bits(0, 22)] = False
    store_qword: Annotated[bool, bits(0, 21)] = False
    address: Annotated[int, bits(1, 15, 2, last=2, address=True)] = 0
    core_mode_enable: Annotated[bool, bits(1, 0)] = False
    immediate_data: Annotated[int, bits(3, 31, 0)] = 0


@dataclass(frozen=True, slots=True)
class MiLoadRegisterImm(Inline):
    """More pairs of register and data are inline."""

    TITLE = "MI_LOAD_REGISTER_IMM"
    DWORDS = 3
    CODE = 0x11000000
    LENGTH = 8

    byte_write_disables: Annotated[int, bits(0, 11, 8)] = 0
    register_offset: Annotated[int, bits(1, 22, 2, address=True)] = 0
    data_dword: Annotated[int, bits(2, 31, 0)] = 0


@dataclass(frozen=True, slots=True)
class MiLoadRegisterMem(Command):
    TITLE = "MI_LOAD_REGISTER_MEM"
    DWORDS = 4
    CODE = 0x14800000
    LENGTH = 8

    use_global_gtt: Annotated[bool, bits(0, 22)] = False
    async_mode_enable: Annotated[bool, bits(0, 21)] = False
    register_address: Annotated[int, bits(1, 22, 2, address=True)] = 0
    memory_address: Annotated[int, bits(2, 31, 2, last=3, address=True)] = 0


@dataclass(frozen=True, slots=True)
class MiLoadRegisterReg(Command):
    TITLE = "MI_LOAD_REGISTER_REG"
    DWORDS = 3
    CODE = 0x15000000
    LENGTH = 8

    source_register_address: Annotated[int, bits(1, 22, 2, address=True)] = 0
    destination_register_address: Annotated[int, bits(2, 22, 2, address=True)] = 0


@dataclass(frozen=True, slots=True)
class MiStoreRegisterMem(Command):
    TITLE = "MI_STORE_REGISTER_MEM"
    DWORDS = 4
    CODE = 0x12000000
    LENGTH = 8

    use_global_gtt: Annotated[bool, bits(0, 22)] = False
    predicate_enable: Annotated[bool, bits(0, 21)] = False
    register_address: Annotated[int, bits(1, 22, 2, address=True)] = 0
    memory_address: Annotated[int, bits(2, 31, 2, last=3, address=True)] = 0


@dataclass(frozen=True, slots=True)
class MiCopyMemMem(Command):
    TITLE = "MI_COPY_MEM_MEM"
    DWORDS = 5
    CODE = 0x17000000
    LENGTH = 8

    use_global_gtt_source: Annotated[bool, bits(0, 22)] = False
    use_global_gtt_destination: Annotated[bool, bits(0, 21)] = False
    destination_memory_address: Annotated[int, bits(1, 31, 2, last=2, address=True)] = 0
    source_memory_address: Annotated[int, bits(3, 31, 2, last=4, address=True)] = 0


class DataSize(IntEnum):
    DWORD = 0
    QWORD = 1
    OCTWORD = 2
    RESERVED = 3


@dataclass(frozen=True, slots=True)
class MiAtomic(Inline):
    """With `inline_data` eight dwords follow: operand 1 and 2, dword by dword in turns."""

    TITLE = "MI_ATOMIC"
    DWORDS = 3
    CODE = 0x17800000
    LENGTH = 8

    memory_type: Annotated[MemoryType, bits(0, 22)] = MemoryType.PER_PROCESS_GRAPHICS_ADDRESS
    post_sync_operation: Annotated[bool, bits(0, 21)] = False
    data_size: Annotated[DataSize, bits(0, 20, 19)] = DataSize.DWORD
    inline_data: Annotated[bool, bits(0, 18)] = False
    cs_stall: Annotated[bool, bits(0, 17)] = False
    return_data_control: Annotated[bool, bits(0, 16)] = False
    atomic_opcode: Annotated[int, bits(0, 15, 8)] = 0
    memory_address: Annotated[int, bits(1, 15, 2, last=2, address=True)] = 0


@dataclass(frozen=True, slots=True)
class MiMath(Inline):
    """One ALU instruction a dword, inline: opcode in 31:20, operands in 19:10 and 9:0."""

    TITLE = "MI_MATH"
    DWORDS = 1
    CODE = 0x0D000000
    LENGTH = 8


class PredicateCompare(IntEnum):
    TRUE = 0
    FALSE = 1
    SRCS_EQUAL = 2
    DELTAS_EQUAL = 3


class LoadOperation(IntEnum):
    KEEP = 0
    LOAD = 2
    LOADINV = 3


class CombineOperation(IntEnum):
    SET = 0
    AND = 1
    OR = 2
    XOR = 3


@dataclass(frozen=True, slots=True)
class MiPredicate(Command):
    TITLE = "MI_PREDICATE"
    DWORDS = 1
    CODE = 0x06000000
    LENGTH = 0

    load_operation: Annotated[LoadOperation, bits(0, 7, 6)] = LoadOperation.KEEP
    combine_operation: Annotated[CombineOperation, bits(0, 4, 3)] = CombineOperation.SET
    compare_operation: Annotated[PredicateCompare, bits(0, 1, 0)] = PredicateCompare.TRUE


class PredicateEnable(IntEnum):
    NOOP_NEVER = 0
    NOOP_ON_RESULT2_CLEAR = 1
    NOOP_ON_RESULT2_SET = 2
    NOOP_ON_RESULT_CLEAR = 3
    NOOP_ON_RESULT_SET = 4
    EXECUTE_WHEN_ONE_SLICE_ENABLED = 5
    EXECUTE_WHEN_TWO_SLICES_ARE_ENABLED = 6
    EXECUTE_WHEN_THREE_SLICES_ARE_ENABLED = 7
    NOOP_ALWAYS = 15


@dataclass(frozen=True, slots=True)
class MiSetPredicate(Command):
    TITLE = "MI_SET_PREDICATE"
    DWORDS = 1
    CODE = 0x00800000
    LENGTH = 0

    predicate_enable: Annotated[PredicateEnable, bits(0, 3, 0)] = PredicateEnable.NOOP_NEVER


@dataclass(frozen=True, slots=True)
class MiFlushDw(Command):
    TITLE = "MI_FLUSH_DW"
    DWORDS = 5
    CODE = 0x13000000
    LENGTH = 6

    store_data_index: Annotated[bool, bits(0, 21)] = False
    tlb_invalidate: Annotated[bool, bits(0, 18)] = False
    post_sync_operation: Annotated[int, bits(0, 15, 14)] = 0
    flush_llc: Annotated[bool, bits(0, 9)] = False
    notify_enable: Annotated[bool, bits(0, 8)] = False
    video_pipeline_cache_invalidate: Annotated[bool, bits(0, 7)] = False
    address: Annotated[int, bits(1, 15, 3, last=2, address=True)] = 0
    destination_address_type: Annotated[AddressType, bits(1, 2)] = AddressType.PPGTT
    immediate_data: Annotated[int, bits(3, 31, 0, last=4)] = 0


@dataclass(frozen=True, slots=True)
class MiUserInterrupt(Command):
    TITLE = "MI_USER_INTERRUPT"
    DWORDS = 1
    CODE = 0x01000000
    LENGTH = 0
