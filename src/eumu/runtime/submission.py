"""A launch as a driver submits it: command bytes in device memory, and what comes back from them.

On Gen9 a :class:`Grid` can be written as a batch, with the heaps that the batch points to, and read
back by the command streamer.  What commands do not say comes from the kernel that stands at the
Kernel Start Pointer: code, payload offsets, addresses of symbols, the bound on instructions.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import field, replace
from math import prod
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from eumu.device.allocator import Allocation, Claim
from eumu.device.commands import (
    Command,
    CommandError,
    MediaJob,
    MemoryBus,
    Stop,
    Streamer,
    WalkerJob,
    encode,
    gpgpu,
    mi,
    render,
)
from eumu.device.commands.registers import BINDLESS_BASE_SELECT, GT_MODE
from eumu.device.dispatch import Needs
from eumu.device.memory import Memory
from eumu.device.state.fields import StateError
from eumu.device.state.sampler import BindingTableState
from eumu.device.state.surface import SurfaceState, SurfaceType
from eumu.errors import Diagnostic, LaunchError, Unsupported
from eumu.exec.grid import BufferSurface, Grid, StatePointers
from eumu.exec.state import existing_lanes, thread_payloads
from eumu.records import dataclass
from eumu.runtime.board import Board
from eumu.runtime.heaps import HEAP_BYTES, buffer_size, buffer_state
from eumu.runtime.payload import slm_code

_GRF: Final = 32
_MOST_THREADS: Final = 64  # of a group: the width counter of GPGPU_WALKER
_MOST_SURFACES: Final = 240
_BINDLESS: Final = HEAP_BYTES // 64  # states that the heap has room for
_SIMD: Final = {8: gpgpu.SimdSize.SIMD8, 16: gpgpu.SimdSize.SIMD16, 32: gpgpu.SimdSize.SIMD32}

# The kernels whose code lies in a device's memory, by address: a grid of each as a pattern.
_CODE: WeakKeyDictionary[Board, dict[int, Grid]] = WeakKeyDictionary()


@dataclass(slots=True)
class Submission:
    """One launch in device memory; freed by `close`, or at the end of a `with` block.

    `batch` is the device address of the command buffer, `size` its bytes.
    """

    device: Board
    batch: int
    size: int
    findings: list[Diagnostic] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack, repr=False)

    @classmethod
    def of(cls, device: Board, grid: Grid, code: bytes = bytes(64)) -> Submission:
        """Write a grid; `code` is what lies at the Kernel Start Pointer.

        LaunchError for platforms without these commands and for groups of more than 64 threads.
        """
        _check(device, grid)
        with ExitStack() as stack:
            writer = _Writer(device, grid, stack)
            kernel = writer.place(code or bytes(64), "kernel code")
            surface_base, table = writer.surfaces()
            commands = writer.commands(kernel.start, surface_base, *writer.dynamic(table))
            batch = writer.place(commands, "the batch buffer")
            kept = _CODE.setdefault(device, {})
            kept[kernel.start] = grid
            stack.callback(kept.pop, kernel.start, None)
            return cls(device, batch.start, len(commands), _stack=stack.pop_all())
        raise AssertionError

    @property
    def bytes(self) -> bytes:
        """The command buffer."""
        return MemoryBus(self.device.memory).read(self.batch, self.size, "a copy")

    def grid(self) -> Grid:
        """The launch as its bytes say it now."""
        grids, self.findings = grids_of(self.device, self.batch)
        if len(grids) != 1:
            raise LaunchError(f"the batch starts {len(grids)} grids, not one")
        return grids[0]

    def keep(self, resources: ExitStack) -> None:
        """Close these with the submission, which lasts from now on until then."""
        self._stack.push(resources)
        self.device.submitted.add(self._stack)

    def close(self) -> None:
        """Free the heaps and the batch."""
        self.device.submitted.discard(self._stack)
        self._stack.close()

    def __enter__(self) -> Submission:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def grids_of(device: Board, address: int) -> tuple[list[Grid], list[Diagnostic]]:
    """The grids that a batch at a device address starts, and what the rules say of the batch."""
    grids: list[Grid] = []
    bus = MemoryBus(device.memory)

    def take(job: WalkerJob | MediaJob) -> bool:
        if isinstance(job, MediaJob):
            raise Unsupported(f"{job.command}: threads of the media pipeline have no kernel here")
        grids.append(grid_of_walker(device, bus, job))
        return True

    streamer = Streamer(bus, take)
    stop = streamer.start(address)
    if stop is not Stop.END:
        raise LaunchError(f"the batch at {address:#x} stops: {stop.value}")
    return grids, list(streamer.findings)


def _check(device: Board, grid: Grid) -> None:
    if device.platform.generation != "gen9":
        raise LaunchError(
            f"{device.platform} has no GPGPU_WALKER of Gen9; via='commands' is for skl and bxt"
        )
    if grid.threads_per_group > _MOST_THREADS:
        raise LaunchError(
            f"a group has {grid.threads_per_group} threads;"
            f" GPGPU_WALKER starts at most {_MOST_THREADS}"
        )


class _Owner:
    """What room in memory is tied to; the stack that frees the room keeps it."""

    def release(self, memory: Memory, claim: Claim) -> None:
        """Give the room back."""
        memory.release(claim)


class _Writer:
    """Puts heaps into device memory; they are freed with `stack`."""

    def __init__(self, device: Board, grid: Grid, stack: ExitStack) -> None:
        self.device, self.grid, self._stack = device, grid, stack

    def place(self, data: bytes, name: str) -> Allocation:
        """A copy in memory, on a multiple of 4096 bytes."""
        memory, owner = self.device.memory, _Owner()
        claim = memory.claim(owner)  # until the stack has it, nobody else would free it
        size = max(4096, -(-len(data) // 4096) * 4096)
        allocation = memory.allocate(size, name, claim=claim)
        self._stack.callback(owner.release, memory, claim)
        memory.view(allocation)[: len(data)] = memoryview(data)
        return allocation

    def surfaces(self) -> tuple[int, int]:
        """Surface State Base, and the offset of the binding table from it."""
        state = self.grid.state
        if state is not None:
            return state.surface_state_base, state.binding_table
        table = self.grid.surfaces
        count = max(table, default=-1) + 1
        if count > _MOST_SURFACES:
            raise LaunchError(
                f"{count} binding table entries; at most {_MOST_SURFACES} are possible"
            )
        start = -(-4 * count // 64) * 64
        entries, states = b"", b""
        null = SurfaceState(surface_type=SurfaceType.NULL)
        for index in range(count):
            entries += BindingTableState(surface_state_pointer=start + 64 * index).encode()
            surface = table.get(index)
            states += (buffer_state(surface.address, surface.size) if surface else null).encode()
        heap = self.place(entries.ljust(start, b"\0") + states, "the surface state heap")
        return heap.start, 0

    def dynamic(self, binding_table: int) -> tuple[int, int, int]:
        """Dynamic State Base, the offset of the interface descriptor, and the size of the constants
        that follow it after 64 bytes."""
        cross, pieces = self._constants()
        state = self.grid.state
        descriptor = gpgpu.InterfaceDescriptorData(
            kernel_start_pointer=0,
            constant_urb_entry_read_length=len(pieces[0]) // _GRF,
            cross_thread_constant_data_read_length=len(cross) // _GRF,
            binding_table_pointer=binding_table,
            sampler_state_pointer=state.sampler_table if state is not None else 0,
            barrier_enable=Needs.of(self.grid).has_barrier,
            shared_local_memory_size=gpgpu.SharedLocalMemorySize(slm_code(self.grid.slm_bytes)),
            number_of_threads_in_gpgpu_thread_group=self.grid.threads_per_group,
        )
        data = descriptor.encode().ljust(64, b"\0") + cross + b"".join(pieces)
        if state is None:
            return self.place(data, "the dynamic state heap").start, 0, len(data) - 64
        slot = self.device.heaps.dynamic.take(len(data))
        slot.write(data)
        self._stack.callback(lambda kept: None, slot)
        return state.dynamic_state_base, slot.offset, len(data) - 64

    def _constants(self) -> tuple[bytes, list[bytes]]:
        """Constants of all threads, and those of each thread of a group."""
        payload = self.grid.payload
        rows = thread_payloads(self.grid, 0, 1)
        if payload.local_id_offset is None:
            pieces = [b""] * len(rows)
        else:
            size = payload.local_id_rows * payload.local_id_pitch
            own = rows[:, payload.local_id_offset : payload.local_id_offset + size]
            pieces = [row.tobytes() for row in own]
        cross = payload.cross_thread
        if len(cross) % _GRF or len(cross) // _GRF > 255:
            raise LaunchError(f"{len(cross)} bytes of cross-thread data cannot be loaded")
        return cross, pieces

    def commands(
        self, kernel: int, surface_base: int, dynamic_base: int, at: int, size: int
    ) -> bytes:
        """The batch, in the order that drivers use; at offset `at` from Dynamic State Base the
        descriptor, then `size` bytes of constants."""
        state = self.grid.state
        bindless = state.bindless_surface_state_base if state is not None else None
        batch = [
            *_pools(self.grid.pool_map),
            *_modes(state),
            render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection.GPGPU),
            render.StateBaseAddress(
                **_base("surface_state", surface_base),
                **_base("dynamic_state", dynamic_base),
                **_base("instruction", kernel),
                **_base("bindless_surface_state", bindless),
                bindless_surface_state_size=_BINDLESS - 1,
            ),
            render.PipeControl(
                command_streamer_stall_enable=True, state_cache_invalidation_enable=True
            ),
            self._vfe(size),
            *_curbe(at + 64, size),
            gpgpu.MediaInterfaceDescriptorLoad(
                interface_descriptor_total_length=32, interface_descriptor_data_start_address=at
            ),
            self._walker(),
            gpgpu.MediaStateFlush(),
            mi.MiBatchBufferEnd(),
        ]
        return encode(batch)

    def _vfe(self, size: int) -> gpgpu.MediaVfeState:
        """The scratch space is the engine's; a base that is not zero says that there is one."""
        scratch = _scratch_code(self.grid.scratch_bytes)
        return gpgpu.MediaVfeState(
            maximum_number_of_threads=self.device.platform.hardware_threads - 1,
            number_of_urb_entries=2,
            urb_entry_allocation_size=2,
            curbe_allocation_size=-(-size // 64) * 2,
            per_thread_scratch_space=max(scratch, 0),
            scratch_space_base_pointer=1024 if scratch >= 0 else 0,
        )

    def _walker(self) -> gpgpu.GpgpuWalker:
        lanes = existing_lanes(self.grid)[-1]
        first_x, first_y, first_z = self.grid.first_group
        x, y, z = self.grid.group_count
        return gpgpu.GpgpuWalker(
            simd_size=_SIMD[self.grid.function.width],
            thread_width_counter_maximum=self.grid.threads_per_group - 1,
            thread_group_id_starting_x=first_x,
            thread_group_id_starting_y=first_y,
            thread_group_id_starting_resume_z=first_z,
            thread_group_id_x_dimension=first_x + x,
            thread_group_id_y_dimension=first_y + y,
            thread_group_id_z_dimension=first_z + z,
            right_execution_mask=int(sum(1 << int(k) for k in np.flatnonzero(lanes))),
            bottom_execution_mask=0xFFFFFFFF,
        )


def _curbe(at: int, size: int) -> list[gpgpu.MediaCurbeLoad]:
    if not size:
        return []
    return [gpgpu.MediaCurbeLoad(curbe_total_data_length=size, curbe_data_start_address=at)]


def _pools(pool_map: int | None) -> list[gpgpu.MediaPoolState]:
    """Nothing in legacy mode, the default."""
    if pool_map is None:
        return []
    return [gpgpu.MediaPoolState(pool_enable=True, pool_map=pool_map)]


def _modes(state: StatePointers | None) -> list[Command]:
    """What else says how images are read."""
    if state is None:
        return []
    selected = BINDLESS_BASE_SELECT * state.bindless_samplers
    mode = mi.MiLoadRegisterImm(
        register_offset=GT_MODE, data_dword=BINDLESS_BASE_SELECT << 16 | selected
    )
    keys = [
        render.ChromaKey(
            chromakey_table_index=k, chromakey_low_value=low, chromakey_high_value=high
        )
        for k, (low, high) in enumerate(state.chroma_keys)
        if low or high
    ]
    return [mode, *keys]


def _base(name: str, address: int | None) -> dict[str, Any]:
    if address is None:
        return {}
    return {f"{name}_base_address": address, f"{name}_base_address_modify_enable": True}


def _scratch_code(size: int) -> int:
    """n for 1024 << n bytes at least, -1 for none."""
    return (max(size, 1024) - 1).bit_length() - 10 if size else -1


# ---- and back


def known_kernel(device: Board, address: int) -> Grid | None:
    """A launch of the kernel whose code a submission has put at an address."""
    return _CODE.get(device, {}).get(address)


def grid_of_walker(device: Board, bus: MemoryBus, job: WalkerJob) -> Grid:
    """The grid of a job; LaunchError or Unsupported for what no kernel here can be given."""
    pattern = known_kernel(device, job.kernel)
    if pattern is None:
        raise LaunchError(f"no kernel of this device starts at {job.kernel:#x}")
    if job.simd != pattern.function.width:
        raise LaunchError(
            f"GPGPU_WALKER runs SIMD{job.simd}; the kernel {pattern.function.name} has"
            f" {pattern.function.width} lanes"
        )
    cross_thread = _cross_thread(job, pattern)
    base, per_thread = job.scratch
    return replace(
        pattern,
        group_count=job.counts,
        first_group=job.first,
        local_size=_local_size(job, pattern),
        payload=replace(pattern.payload, cross_thread=cross_thread),
        surfaces=_surfaces(device, bus, job, pattern),
        state=_pointers(job, pattern),
        slm_bytes=job.slm_bytes,
        scratch_bytes=per_thread if base else 0,
        pool_map=job.pool_map,
    )


def _pointers(job: WalkerJob, pattern: Grid) -> StatePointers | None:
    """Where images and samplers are, for a kernel that uses some."""
    if pattern.state is None:
        return None
    return replace(
        pattern.state,
        surface_state_base=job.bases.surface,
        dynamic_state_base=job.bases.dynamic,
        bindless_surface_state_base=job.bases.bindless,
        binding_table=job.descriptor.binding_table_pointer,
        sampler_table=job.descriptor.sampler_state_pointer,
        chroma_keys=job.bases.chroma_keys,
        bindless_samplers=job.bases.bindless_samplers,
        bindless_surfaces=job.bases.bindless_surfaces,
    )


def _cross_thread(job: WalkerJob, pattern: Grid) -> bytes:
    need = max((i.payload_offset + i.size for i in pattern.function.inputs), default=0)
    need -= pattern.payload.cross_thread_offset
    if len(job.cross_thread) < need:
        raise LaunchError(
            f"the kernel {pattern.function.name} reads {need} bytes of cross-thread data;"
            f" the interface descriptor loads {len(job.cross_thread)}"
        )
    return job.cross_thread


def _local_size(job: WalkerJob, pattern: Grid) -> tuple[int, int, int]:
    """What the masks and the local ids of the threads say."""
    lanes = sum(job.lanes(t).bit_count() for t in range(job.threads))
    size = lanes, 1, 1
    pitch, offset = pattern.payload.local_id_pitch, pattern.payload.local_id_offset
    if offset is not None:
        ids = _ids(job, pitch)
        if ids.size:
            x, y, z = (int(axis.max()) + 1 for axis in ids)
            size = x, y, z
    whole = replace(pattern, local_size=size, group_count=(1, 1, 1))
    same = prod(size) == lanes and whole.threads_per_group == job.threads
    if same:
        expected = existing_lanes(whole)
        masks = [job.lanes(t) for t in range(job.threads)]
        same = all(
            masks[t] == sum(1 << int(k) for k in np.flatnonzero(expected[t]))
            for t in range(job.threads)
        )
    if same and offset is not None:
        rows = thread_payloads(whole, 0, 1)[:, offset : offset + 3 * pitch]
        payloads = np.array([np.frombuffer(p, np.uint8) for p in job.per_thread])
        used = np.repeat(np.tile(expected, (1, 3)).reshape(job.threads, 3, -1), 2, axis=2)
        width = used.shape[2]
        cut = (a.reshape(job.threads, 3, pitch)[:, :, :width] for a in (rows, payloads))
        left, right = cut
        same = bool((left[used] == right[used]).all())
    if not same:
        raise Unsupported(
            "masks and local ids that are not those of a box of work items, x fastest"
        )
    return size


def _ids(job: WalkerJob, pitch: int) -> NDArray[np.uint16]:
    """Local ids of the lanes that run, uint16[3, lanes]."""
    if any(len(piece) < 3 * pitch for piece in job.per_thread):
        raise LaunchError(
            f"the kernel takes {3 * pitch} bytes of local ids a thread;"
            f" the interface descriptor loads {len(job.per_thread[0])}"
        )
    axes = []
    for axis in range(3):
        lanes = [
            np.frombuffer(piece, np.uint16, job.simd, axis * pitch)[
                [bool(job.lanes(t) >> k & 1) for k in range(job.simd)]
            ]
            for t, piece in enumerate(job.per_thread)
        ]
        axes.append(np.concatenate(lanes))
    return np.array(axes)


def _surfaces(
    device: Board, bus: MemoryBus, job: WalkerJob, pattern: Grid
) -> dict[int, BufferSurface]:
    """The binding table's entries that the kernel uses."""
    surfaces = {}
    for index in pattern.surfaces:
        entry = BindingTableState.decode(
            bus.read(job.binding_table + 4 * index, 4, f"binding table entry {index}")
        )
        at = job.bases.surface + entry.surface_state_pointer
        try:
            state = SurfaceState.decode(bus.read(at, 64, f"surface state {index}"))
        except StateError as error:
            raise CommandError(f"surface {index}: {error}", error.field) from None
        if state.surface_type is SurfaceType.NULL:
            continue
        if state.surface_type is not SurfaceType.BUFFER:
            raise Unsupported(f"surface {index} is {state.surface_type.name}, not a buffer")
        size = buffer_size(state)
        address, strict = state.surface_base_address, device.strict_bounds
        surfaces[index] = BufferSurface(address, size, strict, constant=True)  # as any may be
    return surfaces
