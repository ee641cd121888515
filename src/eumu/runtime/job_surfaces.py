"""Where the surfaces and samplers of a job are, as its state base addresses and tables say."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from eumu.device.commands import MediaJob, MemoryBus, WalkerJob
from eumu.device.commands.jobs import Bases
from eumu.device.state import gen8
from eumu.device.state.fields import StateError
from eumu.device.state.surface import SurfaceState, SurfaceType
from eumu.exec.grid import BufferSurface, StatePointers
from eumu.ir import Function
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.memory import Access, Space
from eumu.ir.operations.messages import Send
from eumu.runtime.heaps import buffer_size

_ENTRIES: Final = 240
Used = frozenset[int] | range  # indices
_SURFACES: Final = (Space.SURFACE, Space.SURFACE_UNWRITTEN)


def state_pointers(job: WalkerJob | MediaJob) -> StatePointers:
    return StatePointers(
        job.bases.surface,
        job.bases.dynamic,
        job.bases.bindless,
        job.descriptor.binding_table_pointer,
        job.descriptor.sampler_state_pointer,
        job.bases.chroma_keys,
        job.bases.bindless_samplers,
        job.bases.bindless_surfaces,
        job.bases.is_gen8,
    )


def used_surfaces(function: Function) -> Used:
    """The indices of surfaces that a function accesses as buffers: all if one is not constant.

    What a message accesses whose descriptors are made at run time, only these tell.
    """
    used = set[int]()
    for block in function.blocks:
        numbers: dict[int, int] = {}
        for op in block.ops:
            if isinstance(op, Const) and op.result.width == 1:
                numbers[op.result.id] = op.lanes[0]
            elif isinstance(op, Send):
                return range(_ENTRIES)
            elif isinstance(op, Access) and op.space in _SURFACES:
                if op.args[-1].id not in numbers:
                    return range(_ENTRIES)
                used.add(numbers[op.args[-1].id])
    return frozenset(used)


def buffer_surfaces(
    bus: MemoryBus, bases: Bases, table: int, used: Used, *, strict: bool
) -> dict[int, BufferSurface]:
    """The raw buffers of a binding table that are used; an entry that leads nowhere is none.

    How many entries there are nobody says: memory behind the last one is taken for more of them.
    Nor does anybody say which are of constants.
    """
    surfaces: dict[int, BufferSurface] = {}
    for offset, indices in _places(_binding_table(bus, bases.surface + table), used):
        if bus.has(bases.surface + offset, 64):
            data = bus.read(bases.surface + offset, 64, "a surface state")
            place = _buffer(data, is_gen8=bases.is_gen8)
            if place is not None:
                surfaces |= dict.fromkeys(indices, BufferSurface(*place, strict, constant=True))
    return dict(sorted(surfaces.items()))


@lru_cache(maxsize=4096)
def _buffer(data: bytes, *, is_gen8: bool) -> tuple[int, int] | None:
    """Address and size of a raw buffer, None for other surfaces and for what is no state."""
    try:
        state = SurfaceState.decode(gen8.surface(data) if is_gen8 else data)
    except StateError:
        return None
    if state.surface_type is not SurfaceType.BUFFER or not state.surface_base_address:
        return None
    return state.surface_base_address, buffer_size(state)


def _places(table: bytes, used: Used) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Offsets of surface states, and which entries of the table that are used lead to each."""
    places: dict[int, list[int]] = {}
    entries = struct.unpack(f"<{len(table) // 4}I", table)
    for index in sorted(used):
        if index < len(entries):
            places.setdefault(entries[index] & ~63, []).append(index)
    return tuple((offset, tuple(indices)) for offset, indices in places.items())


def _binding_table(bus: MemoryBus, at: int) -> bytes:
    """Its entries, as many as memory has."""
    for count in (_ENTRIES, _ENTRIES // 4, 16):
        if bus.has(at, 4 * count):
            return bus.read(at, 4 * count, "the binding table")
    return b""
