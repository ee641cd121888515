"""Where the surfaces and samplers of a job are, as its state base addresses and tables say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from eumu.device.commands import CommandError, MediaJob, MemoryBus, WalkerJob
from eumu.device.commands.jobs import Bases
from eumu.device.state.fields import StateError
from eumu.device.state.surface import SurfaceState, SurfaceType
from eumu.exec.grid import BufferSurface, StatePointers
from eumu.runtime.heaps import buffer_size

__all__ = ["buffer_surfaces", "state_pointers"]

_ENTRIES: Final = 240


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
    )


def buffer_surfaces(
    bus: MemoryBus, bases: Bases, table: int, *, strict: bool
) -> dict[int, BufferSurface]:
    """The raw buffers of a binding table; an entry that leads nowhere may be one of none.

    How many entries there are nobody says: what is behind the last one is looked at, too, and much
    of it is the same.
    """
    found = {}
    known: dict[bytes, tuple[int, int] | None] = {}
    for index, entry in enumerate(_binding_table(bus, bases.surface + table)):
        if entry not in known:
            at = bases.surface + (int.from_bytes(entry, "little") & ~63)
            try:
                known[entry] = _buffer(bus.read(at, 64, "a surface state"))
            except CommandError:
                known[entry] = None
        place = known[entry]
        if place is not None:
            found[index] = BufferSurface(*place, strict)
    return found


@lru_cache(maxsize=4096)
def _buffer(data: bytes) -> tuple[int, int] | None:
    """Address and size of a raw buffer, None for other surfaces and for what is no state."""
    try:
        state = SurfaceState.decode(data)
    except StateError:
        return None
    if state.surface_type is not SurfaceType.BUFFER or not state.surface_base_address:
        return None
    return state.surface_base_address, buffer_size(state)


def _binding_table(bus: MemoryBus, at: int) -> Iterator[bytes]:
    """Its entries, as many as memory has."""
    for count in (_ENTRIES, _ENTRIES // 4, 16):
        try:
            data = bus.read(at, 4 * count, "the binding table")
        except CommandError:
            continue
        return (data[k : k + 4] for k in range(0, len(data), 4))
    return iter(())
