"""Commands that start threads, with everything that their threads get gathered from memory.

The payload of compute threads is the PRM's: the cross-thread constants stand first in the CURBE (or
in the indirect data, if the command has some), then a piece for each thread of a group.  Media
threads get the CURBE, then the inline or indirect data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from eumu.device.commands import gpgpu, media
from eumu.device.commands.batch import Placed
from eumu.device.commands.bus import Bus
from eumu.device.commands.gpgpu import (
    InterfaceDescriptorData,
    MediaVfeState,
    ScoreboardType,
    SliceDisable,
)
from eumu.device.commands.jobs import GRF, Bases, MediaJob, MediaThread, WalkerJob
from eumu.device.commands.media_walker import Deltas, dependencies, walk
from eumu.device.commands.packet import CommandError
from eumu.device.commands.registers import (
    BINDLESS_BASE_SELECT,
    DISPATCH_DIMENSIONS,
    GT_MODE,
    Registers,
)
from eumu.device.commands.unheeded import refused
from eumu.device.state import gen8
from eumu.device.state.fields import StateError

_SIZE = InterfaceDescriptorData.DWORDS * 4
_MOST_SCRATCH = 11  # the code of 2 MB


class _State(Protocol):
    """What the streamer knows when threads start."""

    bases: Bases
    pipeline: int
    vfe: MediaVfeState | None
    curbe: bytes
    descriptors: bytes
    pool_map: int | None
    registers: Registers


def _wrong(placed: Placed, what: str, field: str = "order") -> CommandError:
    return CommandError(f"{placed.title} at {placed.at:#x}: {what}", field)


def _descriptor(state: _State, placed: Placed, index: int) -> InterfaceDescriptorData:
    wanted = "GPGPU" if isinstance(placed.packet.command, gpgpu.GpgpuWalker) else "Media"
    if state.pipeline != {"Media": 1, "GPGPU": 2}[wanted]:
        raise _wrong(placed, f"the pipeline is not selected; PIPELINE_SELECT {wanted} comes first")
    if state.vfe is None:
        raise _wrong(placed, "MEDIA_VFE_STATE comes first")
    data = state.descriptors[index * _SIZE : (index + 1) * _SIZE]
    if len(data) < _SIZE:
        there = len(state.descriptors) // _SIZE
        raise _wrong(
            placed,
            f"interface descriptor {index} is not loaded; there are {there}",
            "Interface Descriptor Offset",
        )
    try:
        return _decoded(data, is_gen8=state.bases.is_gen8)
    except StateError as error:
        raise _wrong(placed, f"descriptor {index}: {error}", error.field) from None


@lru_cache(maxsize=4096)
def _decoded(data: bytes, *, is_gen8: bool) -> InterfaceDescriptorData:
    """Drivers write the same descriptors again and again."""
    found = InterfaceDescriptorData.decode(gen8.interface_descriptor(data) if is_gen8 else data)
    if (unknown := refused(found)) is not None:
        raise unknown
    return found


def _scratch(state: _State) -> tuple[int, int]:
    """Address and bytes a thread; the code 0 is 1 KB if there is a base, each step doubles it up to
    2 MB (Mesa's compiler, of MEDIA_VFE_STATE)."""
    vfe = state.vfe
    if vfe is None or not vfe.scratch_space_base_pointer:
        return 0, 0
    if vfe.per_thread_scratch_space > _MOST_SCRATCH:
        raise CommandError(
            f"MEDIA_VFE_STATE: Per Thread Scratch Space is {vfe.per_thread_scratch_space}; a thread"
            f" has 2 MB at most, which is {_MOST_SCRATCH}",
            "Per Thread Scratch Space",
        )
    size = 1024 << vfe.per_thread_scratch_space
    base = state.bases.reach("general", vfe.scratch_space_base_pointer, size, "MEDIA_VFE_STATE")
    return base, size


def _kernel(state: _State, placed: Placed, descriptor: InterfaceDescriptorData) -> int:
    return state.bases.reach("instruction", descriptor.kernel_start_pointer, 16, placed.title)


def _check_threads(state: _State, placed: Placed, threads: int) -> None:
    """As many threads as a group has must fit at once."""
    most = state.vfe.maximum_number_of_threads + 1 if state.vfe else 0
    if threads > most:
        raise _wrong(
            placed,
            f"a group of {threads} threads; MEDIA_VFE_STATE lets {most} run at once",
            "Maximum Number of Threads",
        )


def _bases(state: _State) -> Bases:
    selected = bool(state.registers.read(GT_MODE) & BINDLESS_BASE_SELECT)
    return replace(state.bases, bindless_samplers=selected)


def walker_job(bus: Bus, state: _State, placed: Placed) -> WalkerJob:
    """The job of a GPGPU_WALKER."""
    command = placed.packet.command
    assert isinstance(command, gpgpu.GpgpuWalker)
    descriptor = _descriptor(state, placed, command.interface_descriptor_offset)
    counters = (
        command.thread_width_counter_maximum + 1,
        command.thread_height_counter_maximum + 1,
        command.thread_depth_counter_maximum + 1,
    )
    threads = counters[0] * counters[1] * counters[2]
    if threads != descriptor.number_of_threads_in_gpgpu_thread_group:
        raise _wrong(
            placed,
            f"{threads} threads a group; the interface descriptor says"
            f" {descriptor.number_of_threads_in_gpgpu_thread_group}",
            "Thread Width Counter Maximum",
        )
    _check_threads(state, placed, threads)
    cross, pieces = _constants(bus, state, placed, command, descriptor, threads)
    job = WalkerJob(
        kernel=_kernel(state, placed, descriptor),
        descriptor=descriptor,
        bases=_bases(state),
        simd=8 << command.simd_size,
        first=(
            command.thread_group_id_starting_x,
            command.thread_group_id_starting_y,
            command.thread_group_id_starting_resume_z,
        ),
        last=_dimensions(state, command),
        counters=counters,
        right_mask=command.right_execution_mask,
        bottom_mask=command.bottom_execution_mask,
        cross_thread=cross,
        per_thread=pieces,
        scratch=_scratch(state),
        pool_map=state.pool_map,
        slices=state.vfe.slice_disable if state.vfe else SliceDisable.ALL_SUBSLICES_ENABLED,
    )
    _check_lanes(placed, job)
    return job


def _check_lanes(placed: Placed, job: WalkerJob) -> None:
    """Each thread has a lane: nothing public says whether one without any is started."""
    for thread in range(job.threads if job.groups else 0):
        if not job.lanes(thread):
            raise _wrong(
                placed,
                f"thread {thread} of its groups has no lane: Right Execution Mask is"
                f" {job.right_mask:#x}, Bottom Execution Mask is {job.bottom_mask:#x}, for"
                f" {job.simd} lanes",
                "Right Execution Mask",
            )


def _dimensions(state: _State, command: gpgpu.GpgpuWalker) -> tuple[int, int, int]:
    """Where the group ids end: the command's numbers, or those of the dispatch registers."""
    if command.indirect_parameter_enable:
        x, y, z = (state.registers.read(offset) for offset in DISPATCH_DIMENSIONS)
        return x, y, z
    return (
        command.thread_group_id_x_dimension,
        command.thread_group_id_y_dimension,
        command.thread_group_id_z_dimension,
    )


def _constants(
    bus: Bus,
    state: _State,
    placed: Placed,
    command: gpgpu.GpgpuWalker,
    descriptor: InterfaceDescriptorData,
    threads: int,
) -> tuple[bytes, tuple[bytes, ...]]:
    """Cross-thread constants and the piece of each thread."""
    cross = GRF * descriptor.cross_thread_constant_data_read_length
    piece = GRF * descriptor.constant_urb_entry_read_length
    need = cross + piece * threads
    if command.indirect_data_length:
        if descriptor.constant_urb_entry_read_offset:
            raise _wrong(
                placed,
                "the constants are indirect data, and the interface descriptor has a place in the"
                f" CURBE for them: {descriptor.constant_urb_entry_read_offset}",
                "Constant URB Entry Read Offset",
            )
        offset, size = command.indirect_data_start_address, command.indirect_data_length
        start = state.bases.reach("indirect", offset, size, placed.title)
        data = bus.read(start, command.indirect_data_length, "GPGPU_WALKER")
    else:
        data = state.curbe[GRF * descriptor.constant_urb_entry_read_offset :]
    if len(data) < need:
        source = "indirect data has" if command.indirect_data_length else "CURBE has"
        raise _wrong(
            placed,
            f"the {source} {len(data)} bytes; {need} are read: {cross} for all threads and"
            f" {piece} for each of {threads}",
            "Indirect Data Length",
        )
    pieces = tuple(data[cross + piece * t : cross + piece * (t + 1)] for t in range(threads))
    return data[:cross], pieces


_Media = media.MediaObject | media.MediaObjectGrpid | media.MediaObjectPrt | media.MediaObjectWalker


def media_job(bus: Bus, state: _State, placed: Placed) -> MediaJob:
    """The job of one of the MEDIA_OBJECT commands."""
    command = placed.packet.command
    assert isinstance(command, _Media)
    descriptor = _descriptor(state, placed, command.interface_descriptor_offset)
    if descriptor.cross_thread_constant_data_read_length:
        raise _wrong(
            placed,
            "the interface descriptor has constants of all threads of a group, which threads of"
            " GPGPU_WALKER alone have here",
            "Cross Thread Constant Data Read Length",
        )
    curbe = _media_curbe(state, placed, descriptor)
    data = _media_data(bus, state, placed)
    room = GRF * state.vfe.urb_entry_allocation_size if state.vfe else 0
    if len(data) > room:
        raise _wrong(
            placed,
            f"{len(data)} bytes of inline and indirect data; a URB entry that MEDIA_VFE_STATE"
            f" allocates has {room}",
            "URB Entry Allocation Size",
        )
    if not curbe and not data:
        raise _wrong(placed, "threads need a payload: CURBE, inline or indirect data", "payload")
    walked = _walked(command)
    threads = tuple(MediaThread(*place, curbe + data, group) for place, group in walked)
    deltas = _deltas(state, placed, command)
    _check_groups(placed, descriptor, threads)
    sizes = Counter(t.group for t in threads if t.group is not None)
    _check_threads(state, placed, max(sizes.values(), default=1))
    return MediaJob(
        placed.title,
        _kernel(state, placed, descriptor),
        descriptor,
        _bases(state),
        threads,
        dependencies([place for place, _ in walked], deltas),
        _scratch(state),
        state.pool_map,
        isinstance(command, media.MediaObjectGrpid) and command.end_of_thread_group,
        deltas.pairs,
        _destination(command),
        state.vfe.slice_disable if state.vfe else SliceDisable.ALL_SUBSLICES_ENABLED,
    )


def _walked(command: _Media) -> list[tuple[tuple[int, int, int], int | None]]:
    """Coordinates, color and group of each thread."""
    if isinstance(command, media.MediaObjectWalker):
        return list(walk(command))
    if isinstance(command, media.MediaObjectPrt):
        return [((0, 0, 0), None)]
    group = command.group_id if isinstance(command, media.MediaObjectGrpid) else None
    return [((command.scoreboard_x, command.scoreboard_y, command.scoreboard_color), group)]


def _deltas(state: _State, placed: Placed, command: _Media) -> Deltas:
    """Where the threads are that the scoreboard makes a thread wait for."""
    if isinstance(command, media.MediaObjectPrt) or not command.use_scoreboard or not state.vfe:
        return Deltas(())
    if not state.vfe.scoreboard_enable:
        raise _wrong(
            placed, "Use Scoreboard is set, MEDIA_VFE_STATE has it disabled", "Use Scoreboard"
        )
    if state.vfe.scoreboard_type is not ScoreboardType.STALLING:
        raise _wrong(
            placed,
            "the scoreboard of MEDIA_VFE_STATE is non-stalling: threads would start at once and"
            " wait by their dependency register, which is not modelled",
            "Scoreboard Type",
        )
    return Deltas.of(state.vfe, command.scoreboard_mask)


def _check_groups(
    placed: Placed, descriptor: InterfaceDescriptorData, threads: Sequence[MediaThread]
) -> None:
    """Only groups have barriers and shared local memory."""
    if any(t.group is None for t in threads):
        wanted = {
            "Barrier Enable": descriptor.barrier_enable,
            "Global Barrier Enable": descriptor.global_barrier_enable,
            "Shared Local Memory Size": bool(descriptor.shared_local_memory_size),
        }
        for field in (name for name, is_set in wanted.items() if is_set):
            raise _wrong(
                placed, f"its threads have no group, and the descriptor sets {field}", field
            )
    sizes = Counter(t.group for t in threads)
    number = descriptor.number_of_threads_in_gpgpu_thread_group
    is_whole = isinstance(placed.packet.command, media.MediaObjectWalker)
    if descriptor.barrier_enable and is_whole and set(sizes.values()) - {number}:
        raise _wrong(
            placed,
            f"groups of {', '.join(map(str, sorted(set(sizes.values()))))} threads; with barriers"
            f" all have as many as the interface descriptor says: {number}",
            "Number of Threads in GPGPU Thread Group",
        )


def _destination(command: _Media) -> tuple[int, int] | None:
    """The slice and the subslice where a thread must run."""
    if isinstance(command, media.MediaObject) and command.force_destination:
        high = command.slice_destination_select_msbs << 2
        return high | command.slice_destination_select, command.subslice_destination_select
    if isinstance(command, media.MediaObjectGrpid) and command.force_destination:
        high = command.slice_destination_select_msb << 2
        return high | command.slice_destination_select, command.subslice_destination_select
    return None


def _media_curbe(state: _State, placed: Placed, descriptor: InterfaceDescriptorData) -> bytes:
    start = GRF * descriptor.constant_urb_entry_read_offset
    size = GRF * descriptor.constant_urb_entry_read_length
    data = state.curbe[start : start + size]
    if len(data) < size:
        raise _wrong(
            placed,
            f"the descriptor reads {size} bytes of CURBE from {start} on;"
            f" {len(state.curbe)} are loaded",
            "Constant URB Entry Read Length",
        )
    return data


def _media_data(bus: Bus, state: _State, placed: Placed) -> bytes:
    command, inline = placed.packet.command, placed.packet.inline
    if isinstance(command, media.MediaObjectPrt) and len(inline) != 48:
        raise _wrong(placed, f"{len(inline) // 4} dwords of inline data; there are 12", "length")
    if isinstance(command, media.MediaObjectPrt):
        return inline
    assert isinstance(command, media.MediaObject | media.MediaObjectGrpid | media.MediaObjectWalker)
    length = command.indirect_data_length
    if not length:
        return inline
    if isinstance(command, media.MediaObjectWalker):
        raise _wrong(placed, "it takes no indirect data", "Indirect Data Length")
    start = state.bases.reach("indirect", command.indirect_data_start_address, length, placed.title)
    return inline + bus.read(start, length, placed.title)
