"""Commands that start threads, with everything that their threads get gathered from memory.

The payload of compute threads is the PRM's: the cross-thread constants stand first in the CURBE (or
in the indirect data, if the command has some), then a piece for each thread of a group.  Media
threads get the CURBE, then the inline or indirect data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from eumu.device.commands import gpgpu, media
from eumu.device.commands.batch import Placed
from eumu.device.commands.bus import Bus
from eumu.device.commands.gpgpu import InterfaceDescriptorData, MediaVfeState
from eumu.device.commands.jobs import GRF, Bases, MediaJob, MediaThread, WalkerJob
from eumu.device.commands.media_walker import Deltas, dependencies, positions
from eumu.device.commands.packet import CommandError
from eumu.device.commands.registers import (
    BINDLESS_BASE_SELECT,
    DISPATCH_DIMENSIONS,
    GT_MODE,
    Registers,
)
from eumu.device.state.fields import StateError

__all__ = ["media_job", "walker_job"]

_SIZE = InterfaceDescriptorData.DWORDS * 4


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
        return InterfaceDescriptorData.decode(data)
    except StateError as error:
        raise _wrong(placed, f"descriptor {index}: {error}", error.field) from None


def _scratch(state: _State) -> tuple[int, int]:
    """Address and bytes a thread; the code 0 is 1 KB if there is a base, each step doubles it."""
    vfe = state.vfe
    if vfe is None or not vfe.scratch_space_base_pointer:
        return 0, 0
    base = state.bases.general + vfe.scratch_space_base_pointer
    return base, 1024 << vfe.per_thread_scratch_space


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
    cross, pieces = _constants(bus, state, placed, command, descriptor, threads)
    return WalkerJob(
        kernel=state.bases.instruction + descriptor.kernel_start_pointer,
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
        start = state.bases.indirect + command.indirect_data_start_address
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


def media_job(bus: Bus, state: _State, placed: Placed) -> MediaJob:
    """The job of one of the MEDIA_OBJECT commands."""
    command = placed.packet.command
    assert isinstance(
        command,
        media.MediaObject | media.MediaObjectGrpid | media.MediaObjectPrt | media.MediaObjectWalker,
    )
    descriptor = _descriptor(state, placed, command.interface_descriptor_offset)
    curbe = _media_curbe(state, placed, descriptor)
    data = _media_data(bus, state, placed)
    if not curbe and not data:
        raise _wrong(placed, "threads need a payload: CURBE, inline or indirect data", "payload")
    group = command.group_id if isinstance(command, media.MediaObjectGrpid) else None
    if isinstance(command, media.MediaObjectWalker):
        places = list(positions(command))
    elif isinstance(command, media.MediaObjectPrt):
        places = [(0, 0, 0)]
    else:
        places = [(command.scoreboard_x, command.scoreboard_y, command.scoreboard_color)]
    threads = tuple(MediaThread(x, y, color, curbe + data, group) for x, y, color in places)
    after: tuple[tuple[int, ...], ...] = ((),) * len(threads)
    if not isinstance(command, media.MediaObjectPrt) and command.use_scoreboard and state.vfe:
        if not state.vfe.scoreboard_enable:
            raise _wrong(
                placed, "Use Scoreboard is set, MEDIA_VFE_STATE has it disabled", "Use Scoreboard"
            )
        deltas = Deltas.of(state.vfe, command.scoreboard_mask)
        after = dependencies(places, deltas)
    kernel = state.bases.instruction + descriptor.kernel_start_pointer
    ends = isinstance(command, media.MediaObjectGrpid) and command.end_of_thread_group
    return MediaJob(
        placed.title,
        kernel,
        descriptor,
        _bases(state),
        threads,
        after,
        _scratch(state),
        state.pool_map,
        ends,
    )


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
    start = state.bases.indirect + command.indirect_data_start_address
    return inline + bus.read(start, length, placed.title)
