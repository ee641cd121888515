"""Commands of the render engine that are no media commands: state, synchronisation."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from eumu.device.commands.packet import Command
from eumu.device.state.fields import bits
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class StateBaseAddress(Command):
    TITLE = "STATE_BASE_ADDRESS"
    DWORDS = 19
    CODE = 0x61010000
    LENGTH = 8

    general_state_base_address: Annotated[int, bits(1, 31, 12, last=2, address=True)] = 0
    general_state_mocs: Annotated[int, bits(1, 10, 4)] = 0
    general_state_base_address_modify_enable: Annotated[bool, bits(1, 0)] = False
    stateless_data_port_access_mocs: Annotated[int, bits(3, 22, 16)] = 0
    surface_state_base_address: Annotated[int, bits(4, 31, 12, last=5, address=True)] = 0
    surface_state_mocs: Annotated[int, bits(4, 10, 4)] = 0
    surface_state_base_address_modify_enable: Annotated[bool, bits(4, 0)] = False
    dynamic_state_base_address: Annotated[int, bits(6, 31, 12, last=7, address=True)] = 0
    dynamic_state_mocs: Annotated[int, bits(6, 10, 4)] = 0
    dynamic_state_base_address_modify_enable: Annotated[bool, bits(6, 0)] = False
    indirect_object_base_address: Annotated[int, bits(8, 31, 12, last=9, address=True)] = 0
    indirect_object_mocs: Annotated[int, bits(8, 10, 4)] = 0
    indirect_object_base_address_modify_enable: Annotated[bool, bits(8, 0)] = False
    instruction_base_address: Annotated[int, bits(10, 31, 12, last=11, address=True)] = 0
    instruction_mocs: Annotated[int, bits(10, 10, 4)] = 0
    instruction_base_address_modify_enable: Annotated[bool, bits(10, 0)] = False
    general_state_buffer_size: Annotated[int, bits(12, 31, 12)] = 0
    general_state_buffer_size_modify_enable: Annotated[bool, bits(12, 0)] = False
    dynamic_state_buffer_size: Annotated[int, bits(13, 31, 12)] = 0
    dynamic_state_buffer_size_modify_enable: Annotated[bool, bits(13, 0)] = False
    indirect_object_buffer_size: Annotated[int, bits(14, 31, 12)] = 0
    indirect_object_buffer_size_modify_enable: Annotated[bool, bits(14, 0)] = False
    instruction_buffer_size: Annotated[int, bits(15, 31, 12)] = 0
    instruction_buffer_size_modify_enable: Annotated[bool, bits(15, 0)] = False
    bindless_surface_state_base_address: Annotated[int, bits(16, 31, 12, last=17, address=True)] = 0
    bindless_surface_state_mocs: Annotated[int, bits(16, 10, 4)] = 0
    bindless_surface_state_base_address_modify_enable: Annotated[bool, bits(16, 0)] = False
    bindless_surface_state_size: Annotated[int, bits(18, 31, 12)] = 0


class PipelineSelection(IntEnum):
    PIPELINE_3D = 0
    MEDIA = 1
    GPGPU = 2


@dataclass(frozen=True, slots=True)
class PipelineSelect(Command):
    TITLE = "PIPELINE_SELECT"
    DWORDS = 1
    CODE = 0x69040000
    LENGTH = 0

    mask_bits: Annotated[int, bits(0, 15, 8)] = 0
    force_media_awake: Annotated[bool, bits(0, 5)] = False
    media_sampler_dop_clock_gate_enable: Annotated[bool, bits(0, 4)] = False
    pipeline_selection: Annotated[PipelineSelection, bits(0, 1, 0)] = PipelineSelection.PIPELINE_3D


@dataclass(frozen=True, slots=True)
class ChromaKey(Command):
    """A range of colours for samplers with this ChromaKey Index."""

    TITLE = "3DSTATE_CHROMA_KEY"
    DWORDS = 4
    CODE = 0x79040000
    LENGTH = 8

    chromakey_table_index: Annotated[int, bits(1, 31, 30)] = 0
    chromakey_low_value: Annotated[int, bits(2, 31, 0)] = 0
    chromakey_high_value: Annotated[int, bits(3, 31, 0)] = 0


@dataclass(frozen=True, slots=True)
class StateSip(Command):
    TITLE = "STATE_SIP"
    DWORDS = 3
    CODE = 0x61020000
    LENGTH = 8

    system_instruction_pointer: Annotated[int, bits(1, 31, 4, last=2, address=True)] = 0


class AddressType(IntEnum):
    PPGTT = 0
    GGTT = 1


class LriPostSyncOperation(IntEnum):
    NO_LRI_OPERATION = 0
    MMIO_WRITE_IMMEDIATE_DATA = 1


class PostSyncOperation(IntEnum):
    NO_WRITE = 0
    WRITE_IMMEDIATE_DATA = 1
    WRITE_PS_DEPTH_COUNT = 2
    WRITE_TIMESTAMP = 3


@dataclass(frozen=True, slots=True)
class PipeControl(Command):
    TITLE = "PIPE_CONTROL"
    DWORDS = 6
    CODE = 0x7A000000
    LENGTH = 8

    flush_llc: Annotated[bool, bits(1, 26)] = False
    destination_address_type: Annotated[AddressType, bits(1, 24)] = AddressType.PPGTT
    lri_post_sync_operation: Annotated[LriPostSyncOperation, bits(1, 23)] = (
        LriPostSyncOperation.NO_LRI_OPERATION
    )
    store_data_index: Annotated[bool, bits(1, 21)] = False
    command_streamer_stall_enable: Annotated[bool, bits(1, 20)] = False
    global_snapshot_count_reset: Annotated[bool, bits(1, 19)] = False
    tlb_invalidate: Annotated[bool, bits(1, 18)] = False
    generic_media_state_clear: Annotated[bool, bits(1, 16)] = False
    post_sync_operation: Annotated[PostSyncOperation, bits(1, 15, 14)] = PostSyncOperation.NO_WRITE
    depth_stall_enable: Annotated[bool, bits(1, 13)] = False
    render_target_cache_flush_enable: Annotated[bool, bits(1, 12)] = False
    instruction_cache_invalidate_enable: Annotated[bool, bits(1, 11)] = False
    texture_cache_invalidation_enable: Annotated[bool, bits(1, 10)] = False
    indirect_state_pointers_disable: Annotated[bool, bits(1, 9)] = False
    notify_enable: Annotated[bool, bits(1, 8)] = False
    pipe_control_flush_enable: Annotated[bool, bits(1, 7)] = False
    dc_flush_enable: Annotated[bool, bits(1, 5)] = False
    vf_cache_invalidation_enable: Annotated[bool, bits(1, 4)] = False
    constant_cache_invalidation_enable: Annotated[bool, bits(1, 3)] = False
    state_cache_invalidation_enable: Annotated[bool, bits(1, 2)] = False
    stall_at_pixel_scoreboard: Annotated[bool, bits(1, 1)] = False
    depth_cache_flush_enable: Annotated[bool, bits(1, 0)] = False
    address: Annotated[int, bits(2, 15, 2, last=3, address=True)] = 0
    immediate_data: Annotated[int, bits(4, 31, 0, last=5)] = 0


@dataclass(frozen=True, slots=True)
class GpgpuCsrBaseAddress(Command):
    TITLE = "GPGPU_CSR_BASE_ADDRESS"
    DWORDS = 3
    CODE = 0x61040000
    LENGTH = 8

    gpgpu_csr_base_address: Annotated[int, bits(1, 31, 12, last=2, address=True)] = 0
