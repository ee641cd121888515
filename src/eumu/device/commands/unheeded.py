"""Fields of commands that do nothing here, each with the reason; every other field acts.

A field is *refused* if what it asks for is not modelled, *noted* (a finding) if it asks for
something that cannot happen here, and a *hint* if no result depends on it: work is done in order,
memory is coherent, and threads have the room that they need.  A test holds the table against what
the command streamer does: a field that neither acts nor stands here fails it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eumu.device.commands import drawing, gen8, gpgpu, media, mi, render
from eumu.device.state.fields import State, title
from eumu.device.state.unheeded import Unheeded, WhenSet, rows

_ORDER: Final = "commands and their threads end one after the other"
_COHERENT: Final = "memory is coherent here"
_POWER: Final = "it is about power"
_GGTT: Final = "there is one address space, and no global table"
_STATUS_PAGE: Final = "there is no hardware status page"
_CACHING: Final = "it says how memory is cached"
_EXCEPTION: Final = "no system routine runs for exceptions"
_SPAWNING: Final = (
    "threads that threads spawn are not modelled: no public description of Gen9 has the payload of"
    " their messages"
)
_ROOM: Final = "no result depends on how many threads run at once"
_PIXELS: Final = "no pixels are drawn"


def _global(*names: str) -> dict[str, Unheeded]:
    return rows(WhenSet.REFUSED, _GGTT, *names)


def _mocs(*names: str) -> dict[str, Unheeded]:
    return rows(WhenSet.HINT, _CACHING, *names)


_PIPE_CONTROL: Final = {
    **rows(WhenSet.REFUSED, _GGTT, "destination_address_type", only=render.AddressType.GGTT),
    **rows(WhenSet.REFUSED, _STATUS_PAGE, "store_data_index"),
    **rows(WhenSet.REFUSED, "there are no snapshot counts", "global_snapshot_count_reset"),
    **rows(
        WhenSet.HINT,
        _COHERENT,
        "flush_llc",
        "tlb_invalidate",
        "instruction_cache_invalidate_enable",
        "texture_cache_invalidation_enable",
        "vf_cache_invalidation_enable",
        "constant_cache_invalidation_enable",
    ),
    **rows(WhenSet.HINT, _ORDER, "pipe_control_flush_enable"),
    **rows(
        WhenSet.HINT,
        _PIXELS,
        "depth_stall_enable",
        "render_target_cache_flush_enable",
        "stall_at_pixel_scoreboard",
        "depth_cache_flush_enable",
    ),
    **rows(
        WhenSet.HINT,
        "it keeps pointers out of the context image of the 3D pipeline",
        "indirect_state_pointers_disable",
    ),
}
_STATE_BASE_ADDRESS: Final = {
    **_mocs(
        "general_state_mocs",
        "stateless_data_port_access_mocs",
        "surface_state_mocs",
        "dynamic_state_mocs",
        "indirect_object_mocs",
        "instruction_mocs",
        "bindless_surface_state_mocs",
    ),
}
_MEDIA_VFE_STATE: Final = {
    **rows(
        WhenSet.HINT,
        "no thread is told of a stack: Intel's driver writes the size of scratch space here, too",
        "stack_size",
    ),
    **rows(WhenSet.HINT, _ROOM, "number_of_urb_entries"),
    **rows(
        WhenSet.HINT, "the gateway's message for its time stamp is refused", "reset_gateway_timer"
    ),
}
_SELECTED: Final = rows(WhenSet.REFUSED, _SPAWNING, "children_present", "thread_synchronization")
_DESCRIPTOR: Final = {
    **rows(
        WhenSet.HINT,
        "cr0 decides: Mesa's drivers leave this field 0 and choose the mode there",
        "denorm_mode",
    ),
    **rows(WhenSet.HINT, _ORDER, "thread_priority"),
    **rows(
        WhenSet.HINT, "it says what to fetch early", "sampler_count", "binding_table_entry_count"
    ),
    **rows(WhenSet.REFUSED, "the other floating-point mode is not modelled", "floating_point_mode"),
    **rows(
        WhenSet.REFUSED,
        _EXCEPTION,
        "illegal_opcode_exception_enable",
        "mask_stack_exception_enable",
        "software_exception_enable",
    ),
    **rows(WhenSet.REFUSED, "kernels choose their rounding in cr0", "rounding_mode"),
    **rows(
        WhenSet.REFUSED,
        "a thread whose channels branch together is not modelled",
        "single_program_flow",
    ),
}
_EVENTS: Final = tuple(row.name for row in mi.MiWaitForEvent.rows())

_OF_GEN9: Final[Mapping[type[State], Mapping[str, Unheeded]]] = {
    mi.MiWaitForEvent: rows(WhenSet.NOTED, "there is no display: it does not wait", *_EVENTS),
    mi.MiSemaphoreWait: {
        **_global("memory_type"),
        **rows(WhenSet.HINT, "whoever resumes the batch looks at the memory", "wait_mode"),
    },
    mi.MiSemaphoreSignal: rows(
        WhenSet.NOTED,
        "there is no other engine to signal",
        *(row.name for row in mi.MiSemaphoreSignal.rows()),
    ),
    mi.MiBatchBufferStart: {
        **rows(
            WhenSet.REFUSED, _GGTT, "address_space_indicator", only=mi.AddressSpaceIndicator.GGTT
        ),
        **rows(WhenSet.REFUSED, "no register has an offset of batches", "add_offset_enable"),
        **rows(WhenSet.REFUSED, "there is no resource streamer", "resource_streamer_enable"),
    },
    mi.MiConditionalBatchBufferEnd: _global("use_global_gtt"),
    mi.MiStoreDataImm: {
        **_global("use_global_gtt"),
        **rows(WhenSet.REFUSED, "there is one core", "core_mode_enable"),
    },
    mi.MiLoadRegisterMem: {
        **_global("use_global_gtt"),
        **rows(WhenSet.HINT, _ORDER, "async_mode_enable"),
    },
    mi.MiStoreRegisterMem: _global("use_global_gtt"),
    mi.MiCopyMemMem: _global("use_global_gtt_source", "use_global_gtt_destination"),
    mi.MiAtomic: {
        **_global("memory_type"),
        **rows(WhenSet.HINT, _ORDER, "post_sync_operation", "cs_stall"),
    },
    mi.MiFlushDw: {
        **rows(WhenSet.REFUSED, _STATUS_PAGE, "store_data_index"),
        **rows(WhenSet.REFUSED, _GGTT, "destination_address_type", only=render.AddressType.GGTT),
        **rows(
            WhenSet.HINT,
            _COHERENT,
            "tlb_invalidate",
            "flush_llc",
            "video_pipeline_cache_invalidate",
        ),
    },
    render.StateBaseAddress: _STATE_BASE_ADDRESS,
    render.PipelineSelect: rows(
        WhenSet.HINT, _POWER, "force_media_awake", "media_sampler_dop_clock_gate_enable"
    ),
    render.StateSip: rows(WhenSet.HINT, _EXCEPTION, "system_instruction_pointer"),
    render.PipeControl: _PIPE_CONTROL,
    gpgpu.MediaVfeState: _MEDIA_VFE_STATE,
    gpgpu.MediaStateFlush: rows(
        WhenSet.HINT, _ORDER, "flush_to_go", "watermark_required", "interface_descriptor_offset"
    ),
    media.MediaObject: {**_SELECTED, **rows(WhenSet.HINT, _ORDER, "scoreboard_mask")},
    media.MediaObjectPrt: rows(
        WhenSet.REFUSED, _SPAWNING, "children_present", "prt_fence_needed", "prt_fence_type"
    ),
    media.MediaObjectWalker: {
        **rows(WhenSet.REFUSED, _SPAWNING, "thread_synchronization"),
        **rows(
            WhenSet.REFUSED,
            "no public description says which bits of the CURBE mask which threads",
            "masked_dispatch",
        ),
        **rows(WhenSet.HINT, "it takes no indirect data", "indirect_data_start_address"),
    },
    gpgpu.InterfaceDescriptorData: _DESCRIPTOR,
    **{
        kind: rows(WhenSet.HINT, _PIXELS, *(row.name for row in kind.rows()))
        for kind in (drawing.DrawingState, drawing.VfStatistics)
    },
}
_OF_GEN8: Final[dict[type[State], dict[str, Unheeded]]] = {
    kind: {
        name: row
        for name, row in _OF_GEN9.get(older, {}).items()
        if name in {row.name for row in kind.rows()}
    }
    for older, kind in gen8.COMMANDS.items()
}
_OF_GEN8[gen8.MediaVfeState] |= rows(
    WhenSet.HINT, "threads forward no messages to each other", "bypass_gateway_control"
)
_OF_GEN8[gen8.PipeControl] |= rows(
    WhenSet.HINT,
    "it clears what protected content is in caches and shared local memory; there is none",
    "protected_memory_disable",
)
UNHEEDED: Final[Mapping[type[State], Mapping[str, Unheeded]]] = {**_OF_GEN9, **_OF_GEN8}


_OF_KIND: Final = {
    kind: {
        state: tuple((name, row) for name, row in fields.items() if row.kind is kind)
        for state, fields in UNHEEDED.items()
    }
    for kind in WhenSet
}


def _set(state: State, kind: WhenSet) -> list[tuple[str, Unheeded]]:
    rows = _OF_KIND[kind].get(type(state), ())
    return [(name, row) for name, row in rows if row.concerns(getattr(state, name))]


def refused(state: State) -> Exception | None:
    """The error for the first field that asks for what is not modelled."""
    for name, row in _set(state, WhenSet.REFUSED):
        value = getattr(state, name)
        shown = getattr(value, "name", int(value))
        return state.error(name, f"is {shown}, which is not modelled: {row.reason}")
    return None


def noted(state: State) -> str:
    """What the fields ask for that does not happen here, "" for nothing."""
    fields = _set(state, WhenSet.NOTED)
    if not fields:
        return ""
    names = ", ".join(f"{title(name)} {int(getattr(state, name))}" for name, _ in fields)
    return f"{fields[0][1].reason} ({names})"
