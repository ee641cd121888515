"""Commands that start threads of the media pipeline."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from eumu.device.commands.packet import Inline
from eumu.device.state.fields import bits
from eumu.records import dataclass


class ThreadSynchronization(IntEnum):
    NONE = 0
    SPAWN_ROOT_THREAD = 1


class SliceDestinationSelect(IntEnum):
    SLICE_0 = 0
    SLICE_1 = 1
    SLICE_2 = 2


class SubsliceDestinationSelect(IntEnum):
    SUBSLICE_3 = 3
    SUBSLICE_2 = 2
    SUBSLICE_1 = 1
    SUBSLICE_0 = 0


@dataclass(frozen=True, slots=True)
class MediaObject(Inline):
    TITLE = "MEDIA_OBJECT"
    DWORDS = 6
    CODE = 0x71000000
    LENGTH = 16

    interface_descriptor_offset: Annotated[int, bits(1, 5, 0)] = 0
    children_present: Annotated[bool, bits(2, 31)] = False
    slice_destination_select_msbs: Annotated[int, bits(2, 26, 25)] = 0
    thread_synchronization: Annotated[ThreadSynchronization, bits(2, 24)] = (
        ThreadSynchronization.NONE
    )
    force_destination: Annotated[bool, bits(2, 22)] = False
    use_scoreboard: Annotated[bool, bits(2, 21)] = False
    slice_destination_select: Annotated[SliceDestinationSelect, bits(2, 20, 19)] = (
        SliceDestinationSelect.SLICE_0
    )
    subslice_destination_select: Annotated[SubsliceDestinationSelect, bits(2, 18, 17)] = (
        SubsliceDestinationSelect.SUBSLICE_0
    )
    indirect_data_length: Annotated[int, bits(2, 16, 0)] = 0
    indirect_data_start_address: Annotated[int, bits(3, 31, 0, address=True)] = 0
    scoreboard_y: Annotated[int, bits(4, 24, 16)] = 0
    scoreboard_x: Annotated[int, bits(4, 8, 0)] = 0
    scoreboard_color: Annotated[int, bits(5, 19, 16)] = 0
    scoreboard_mask: Annotated[int, bits(5, 7, 0)] = 0


@dataclass(frozen=True, slots=True)
class MediaObjectGrpid(Inline):
    TITLE = "MEDIA_OBJECT_GRPID"
    DWORDS = 7
    CODE = 0x71060000
    LENGTH = 16

    interface_descriptor_offset: Annotated[int, bits(1, 5, 0)] = 0
    slice_destination_select_msb: Annotated[bool, bits(2, 24)] = False
    end_of_thread_group: Annotated[bool, bits(2, 23)] = False
    force_destination: Annotated[bool, bits(2, 22)] = False
    use_scoreboard: Annotated[bool, bits(2, 21)] = False
    slice_destination_select: Annotated[SliceDestinationSelect, bits(2, 20, 19)] = (
        SliceDestinationSelect.SLICE_0
    )
    subslice_destination_select: Annotated[SubsliceDestinationSelect, bits(2, 18, 17)] = (
        SubsliceDestinationSelect.SUBSLICE_0
    )
    indirect_data_length: Annotated[int, bits(2, 16, 0)] = 0
    indirect_data_start_address: Annotated[int, bits(3, 31, 0, address=True)] = 0
    scoreboard_y: Annotated[int, bits(4, 24, 16)] = 0
    scoreboard_x: Annotated[int, bits(4, 8, 0)] = 0
    scoreboard_color: Annotated[int, bits(5, 19, 16)] = 0
    scoreboard_mask: Annotated[int, bits(5, 7, 0)] = 0
    group_id: Annotated[int, bits(6, 31, 0)] = 0


class PrtFenceType(IntEnum):
    ROOT_THREAD_QUEUE = 0
    VFE_STATE_FLUSH = 1


@dataclass(frozen=True, slots=True)
class MediaObjectPrt(Inline):
    """Twelve dwords of inline data follow."""

    TITLE = "MEDIA_OBJECT_PRT"
    DWORDS = 4
    CODE = 0x71020000
    LENGTH = 16

    interface_descriptor_offset: Annotated[int, bits(1, 5, 0)] = 0
    children_present: Annotated[bool, bits(2, 31)] = False
    prt_fence_needed: Annotated[bool, bits(2, 23)] = False
    prt_fence_type: Annotated[PrtFenceType, bits(2, 22)] = PrtFenceType.ROOT_THREAD_QUEUE


class GroupIdLoopSelect(IntEnum):
    NO_GROUPS = 0
    COLOR_GROUPS = 1
    INNERLOCAL_GROUPS = 2
    MIDLOCAL_GROUPS = 3
    OUTERLOCAL_GROUPS = 4
    INNERGLOBAL_GROUPS = 5


@dataclass(frozen=True, slots=True)
class MediaObjectWalker(Inline):
    TITLE = "MEDIA_OBJECT_WALKER"
    DWORDS = 17
    CODE = 0x71030000
    LENGTH = 16

    interface_descriptor_offset: Annotated[int, bits(1, 5, 0)] = 0
    thread_synchronization: Annotated[ThreadSynchronization, bits(2, 24)] = (
        ThreadSynchronization.NONE
    )
    masked_dispatch: Annotated[int, bits(2, 23, 22)] = 0
    use_scoreboard: Annotated[bool, bits(2, 21)] = False
    indirect_data_length: Annotated[int, bits(2, 16, 0)] = 0
    indirect_data_start_address: Annotated[int, bits(3, 31, 0)] = 0
    group_id_loop_select: Annotated[GroupIdLoopSelect, bits(5, 31, 8)] = GroupIdLoopSelect.NO_GROUPS
    scoreboard_mask: Annotated[int, bits(5, 7, 0)] = 0
    color_count_minus_one: Annotated[int, bits(6, 27, 24)] = 0
    middle_loop_extra_steps: Annotated[int, bits(6, 20, 16)] = 0
    local_mid_loop_unit_y: Annotated[int, bits(6, 13, 12, signed=True)] = 0
    mid_loop_unit_x: Annotated[int, bits(6, 9, 8, signed=True)] = 0
    global_loop_exec_count: Annotated[int, bits(7, 27, 16)] = 0
    local_loop_exec_count: Annotated[int, bits(7, 11, 0)] = 0
    block_resolution_y: Annotated[int, bits(8, 26, 16)] = 0
    block_resolution_x: Annotated[int, bits(8, 10, 0)] = 0
    local_start_y: Annotated[int, bits(9, 26, 16)] = 0
    local_start_x: Annotated[int, bits(9, 10, 0)] = 0
    local_outer_loop_stride_y: Annotated[int, bits(11, 27, 16, signed=True)] = 0
    local_outer_loop_stride_x: Annotated[int, bits(11, 11, 0, signed=True)] = 0
    local_inner_loop_unit_y: Annotated[int, bits(12, 27, 16, signed=True)] = 0
    local_inner_loop_unit_x: Annotated[int, bits(12, 11, 0, signed=True)] = 0
    global_resolution_y: Annotated[int, bits(13, 26, 16)] = 0
    global_resolution_x: Annotated[int, bits(13, 10, 0)] = 0
    global_start_y: Annotated[int, bits(14, 27, 16, signed=True)] = 0
    global_start_x: Annotated[int, bits(14, 11, 0, signed=True)] = 0
    global_outer_loop_stride_y: Annotated[int, bits(15, 27, 16, signed=True)] = 0
    global_outer_loop_stride_x: Annotated[int, bits(15, 11, 0, signed=True)] = 0
    global_inner_loop_unit_y: Annotated[int, bits(16, 27, 16, signed=True)] = 0
    global_inner_loop_unit_x: Annotated[int, bits(16, 11, 0, signed=True)] = 0
