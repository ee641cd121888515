"""Commands that start threads of compute kernels, and the interface descriptor."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from eumu.device.commands.packet import Command
from eumu.device.state.fields import State, bits
from eumu.records import dataclass


class ResetGatewayTimer(IntEnum):
    MAINTAIN = 0
    RESET = 1


class SliceDisable(IntEnum):
    ALL_SUBSLICES_ENABLED = 0
    ONLY_SLICE_0_ENABLED = 1
    ONLY_SLICE_0_SUBSLICE_0_ENABLED = 3


class ScoreboardType(IntEnum):
    STALLING = 0
    NON_STALLING = 1


@dataclass(frozen=True, slots=True)
class MediaVfeState(Command):
    TITLE = "MEDIA_VFE_STATE"
    DWORDS = 9
    CODE = 0x70000000
    LENGTH = 16

    scratch_space_base_pointer: Annotated[int, bits(1, 15, 10, last=2, address=True)] = 0
    stack_size: Annotated[int, bits(1, 7, 4)] = 0
    per_thread_scratch_space: Annotated[int, bits(1, 3, 0)] = 0
    maximum_number_of_threads: Annotated[int, bits(3, 31, 16)] = 0
    number_of_urb_entries: Annotated[int, bits(3, 15, 8)] = 0
    reset_gateway_timer: Annotated[ResetGatewayTimer, bits(3, 7)] = ResetGatewayTimer.MAINTAIN
    slice_disable: Annotated[SliceDisable, bits(4, 1, 0)] = SliceDisable.ALL_SUBSLICES_ENABLED
    urb_entry_allocation_size: Annotated[int, bits(5, 31, 16)] = 0
    curbe_allocation_size: Annotated[int, bits(5, 15, 0)] = 0
    scoreboard_enable: Annotated[bool, bits(6, 31)] = False
    scoreboard_type: Annotated[ScoreboardType, bits(6, 30)] = ScoreboardType.STALLING
    scoreboard_mask: Annotated[int, bits(6, 7, 0)] = 0
    scoreboard_3_delta_y: Annotated[int, bits(7, 31, 28, signed=True)] = 0
    scoreboard_3_delta_x: Annotated[int, bits(7, 27, 24, signed=True)] = 0
    scoreboard_2_delta_y: Annotated[int, bits(7, 23, 20, signed=True)] = 0
    scoreboard_2_delta_x: Annotated[int, bits(7, 19, 16, signed=True)] = 0
    scoreboard_1_delta_y: Annotated[int, bits(7, 15, 12, signed=True)] = 0
    scoreboard_1_delta_x: Annotated[int, bits(7, 11, 8, signed=True)] = 0
    scoreboard_0_delta_y: Annotated[int, bits(7, 7, 4, signed=True)] = 0
    scoreboard_0_delta_x: Annotated[int, bits(7, 3, 0, signed=True)] = 0
    scoreboard_7_delta_y: Annotated[int, bits(8, 31, 28, signed=True)] = 0
    scoreboard_7_delta_x: Annotated[int, bits(8, 27, 24, signed=True)] = 0
    scoreboard_6_delta_y: Annotated[int, bits(8, 23, 20, signed=True)] = 0
    scoreboard_6_delta_x: Annotated[int, bits(8, 19, 16, signed=True)] = 0
    scoreboard_5_delta_y: Annotated[int, bits(8, 15, 12, signed=True)] = 0
    scoreboard_5_delta_x: Annotated[int, bits(8, 11, 8, signed=True)] = 0
    scoreboard_4_delta_y: Annotated[int, bits(8, 7, 4, signed=True)] = 0
    scoreboard_4_delta_x: Annotated[int, bits(8, 3, 0, signed=True)] = 0


@dataclass(frozen=True, slots=True)
class MediaCurbeLoad(Command):
    TITLE = "MEDIA_CURBE_LOAD"
    DWORDS = 4
    CODE = 0x70010000
    LENGTH = 16

    curbe_total_data_length: Annotated[int, bits(2, 16, 0)] = 0
    curbe_data_start_address: Annotated[int, bits(3, 31, 0)] = 0


@dataclass(frozen=True, slots=True)
class MediaInterfaceDescriptorLoad(Command):
    TITLE = "MEDIA_INTERFACE_DESCRIPTOR_LOAD"
    DWORDS = 4
    CODE = 0x70020000
    LENGTH = 16

    interface_descriptor_total_length: Annotated[int, bits(2, 16, 0)] = 0
    interface_descriptor_data_start_address: Annotated[int, bits(3, 31, 0, address=True)] = 0


@dataclass(frozen=True, slots=True)
class MediaPoolState(Command):
    """`pool_map` has a byte for each subslice: bits 2:0 for units 0 to 2, 6:4 for 3 to 5."""

    TITLE = "MEDIA_POOL_STATE"
    DWORDS = 6
    CODE = 0x70050000
    LENGTH = 16

    pool_enable: Annotated[bool, bits(1, 31)] = False
    pool_map: Annotated[int, bits(2, 31, 0)] = 0


@dataclass(frozen=True, slots=True)
class MediaStateFlush(Command):
    TITLE = "MEDIA_STATE_FLUSH"
    DWORDS = 2
    CODE = 0x70040000
    LENGTH = 16

    flush_to_go: Annotated[bool, bits(1, 7)] = False
    watermark_required: Annotated[bool, bits(1, 6)] = False
    interface_descriptor_offset: Annotated[int, bits(1, 5, 0)] = 0


class SimdSize(IntEnum):
    SIMD8 = 0
    SIMD16 = 1
    SIMD32 = 2


@dataclass(frozen=True, slots=True)
class GpgpuWalker(Command):
    TITLE = "GPGPU_WALKER"
    DWORDS = 15
    CODE = 0x71050000
    LENGTH = 8

    indirect_parameter_enable: Annotated[bool, bits(0, 10)] = False
    predicate_enable: Annotated[bool, bits(0, 8)] = False
    interface_descriptor_offset: Annotated[int, bits(1, 5, 0)] = 0
    indirect_data_length: Annotated[int, bits(2, 16, 0)] = 0
    indirect_data_start_address: Annotated[int, bits(3, 31, 6, address=True)] = 0
    simd_size: Annotated[SimdSize, bits(4, 31, 30)] = SimdSize.SIMD8
    thread_depth_counter_maximum: Annotated[int, bits(4, 21, 16)] = 0
    thread_height_counter_maximum: Annotated[int, bits(4, 13, 8)] = 0
    thread_width_counter_maximum: Annotated[int, bits(4, 5, 0)] = 0
    thread_group_id_starting_x: Annotated[int, bits(5, 31, 0)] = 0
    thread_group_id_x_dimension: Annotated[int, bits(7, 31, 0)] = 0
    thread_group_id_starting_y: Annotated[int, bits(8, 31, 0)] = 0
    thread_group_id_y_dimension: Annotated[int, bits(10, 31, 0)] = 0
    thread_group_id_starting_resume_z: Annotated[int, bits(11, 31, 0)] = 0
    thread_group_id_z_dimension: Annotated[int, bits(12, 31, 0)] = 0
    right_execution_mask: Annotated[int, bits(13, 31, 0)] = 0
    bottom_execution_mask: Annotated[int, bits(14, 31, 0)] = 0


class DenormMode(IntEnum):
    FTZ = 0
    SETBYKERNEL = 1


class ThreadPriority(IntEnum):
    NORMAL_PRIORITY = 0
    HIGH_PRIORITY = 1


class FloatingPointMode(IntEnum):
    IEEE_754 = 0
    ALTERNATE = 1


class SamplerCount(IntEnum):
    NONE = 0
    FROM_1_TO_4 = 1
    FROM_5_TO_8 = 2
    FROM_9_TO_12 = 3
    FROM_13_TO_16 = 4


class RoundingMode(IntEnum):
    RTNE = 0
    RU = 1
    RD = 2
    RTZ = 3


class SharedLocalMemorySize(IntEnum):
    SLM_0K = 0
    SLM_1K = 1
    SLM_2K = 2
    SLM_4K = 3
    SLM_8K = 4
    SLM_16K = 5
    SLM_32K = 6
    SLM_64K = 7


@dataclass(frozen=True, slots=True)
class InterfaceDescriptorData(State):
    TITLE = "INTERFACE_DESCRIPTOR_DATA"
    DWORDS = 8

    kernel_start_pointer: Annotated[int, bits(0, 15, 6, last=1, address=True)] = 0
    denorm_mode: Annotated[DenormMode, bits(2, 19)] = DenormMode.FTZ
    single_program_flow: Annotated[bool, bits(2, 18)] = False
    thread_priority: Annotated[ThreadPriority, bits(2, 17)] = ThreadPriority.NORMAL_PRIORITY
    floating_point_mode: Annotated[FloatingPointMode, bits(2, 16)] = FloatingPointMode.IEEE_754
    illegal_opcode_exception_enable: Annotated[bool, bits(2, 13)] = False
    mask_stack_exception_enable: Annotated[bool, bits(2, 11)] = False
    software_exception_enable: Annotated[bool, bits(2, 7)] = False
    sampler_state_pointer: Annotated[int, bits(3, 31, 5, address=True)] = 0
    sampler_count: Annotated[SamplerCount, bits(3, 4, 2)] = SamplerCount.NONE
    binding_table_pointer: Annotated[int, bits(4, 15, 5, address=True)] = 0
    binding_table_entry_count: Annotated[int, bits(4, 4, 0)] = 0
    constant_urb_entry_read_length: Annotated[int, bits(5, 31, 16)] = 0
    constant_urb_entry_read_offset: Annotated[int, bits(5, 15, 0)] = 0
    rounding_mode: Annotated[RoundingMode, bits(6, 23, 22)] = RoundingMode.RTNE
    barrier_enable: Annotated[bool, bits(6, 21)] = False
    shared_local_memory_size: Annotated[SharedLocalMemorySize, bits(6, 20, 16)] = (
        SharedLocalMemorySize.SLM_0K
    )
    global_barrier_enable: Annotated[bool, bits(6, 15)] = False
    number_of_threads_in_gpgpu_thread_group: Annotated[int, bits(6, 9, 0)] = 0
    cross_thread_constant_data_read_length: Annotated[int, bits(7, 7, 0)] = 0
