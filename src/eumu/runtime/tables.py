"""The tables of one launch: surfaces by binding-table index, samplers by their index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from eumu.device.state.sampler import BindingTableState, BorderColor, SamplerState
from eumu.errors import ArgumentError
from eumu.records import dataclass
from eumu.runtime.array import Array
from eumu.runtime.heaps import HeapSlot, StateHeaps
from eumu.runtime.media import MediaSampler

_SAMPLERS: Final = 16  # of a table


@dataclass(frozen=True, slots=True)
class BindlessBuffer:
    """A buffer and its state in the bindless heap."""

    state: HeapSlot
    array: Array


class Tables:
    """The binding table and the table of samplers of one launch.

    `surfaces` are slots of surface states by binding-table index, `samplers` states and border
    colours by their index, `media` states of the media sampler by the number of their argument.
    `sampler_numbers` are the indices that these get: the first that do not overlap others.
    `bindless` are buffers that the kernel names by a handle: arguments by their number, the
    program's variables by their section; `handles` the places of samplers that it names so, by
    their index.
    """

    def __init__(
        self,
        heaps: StateHeaps,
        surfaces: dict[int, HeapSlot],
        samplers: dict[int, tuple[SamplerState, BorderColor]],
        keep: Sequence[object] = (),
        media: Mapping[int, MediaSampler] = MappingProxyType({}),
        bindless: Mapping[int | str, BindlessBuffer] = MappingProxyType({}),
        handles: Collection[int] = (),
    ) -> None:
        self.bindless = bindless
        self.handles = {k: heaps.surfaces.take(SamplerState.size()) for k in handles}
        self._keep = [*surfaces.values(), *keep]
        entries = max(surfaces, default=0) + 1
        self._bindings = heaps.tables.take(4 * entries)
        table = bytearray(4 * entries)
        for index, slot in surfaces.items():
            entry = BindingTableState(surface_state_pointer=slot.offset)
            table[4 * index : 4 * index + 4] = entry.encode()
        self._bindings.write(bytes(table))
        taken = [(SamplerState.size() * k, SamplerState.size()) for k in samplers]
        smallest_first = sorted(media, key=lambda k: media[k].unit)  # their indices reach least far
        self.sampler_numbers = {k: _placed_media(media[k], taken) for k in smallest_first}
        end = max((start + size for start, size in taken), default=0)
        self._samplers = heaps.dynamic.take(max(end, SamplerState.size() * _SAMPLERS))
        self._borders: list[HeapSlot] = []
        states = bytearray(self._samplers.size)
        for index, sampler in media.items():
            place = sampler.unit * self.sampler_numbers[index]
            states[place : place + sampler.size] = sampler.state.encode()[: sampler.size]
        for index, (state, border) in samplers.items():
            place = SamplerState.size() * index
            states[place : place + SamplerState.size()] = self._placed(heaps, state, border)
            if index in self.handles:
                self.handles[index].write(bytes(states[place : place + SamplerState.size()]))
        self._samplers.write(bytes(states))
        self.pointers = heaps.pointers(self._bindings.offset, self._samplers.offset, self)

    def _placed(self, heaps: StateHeaps, state: SamplerState, border: BorderColor) -> bytes:
        """A sampler's bytes; its border colour gets a place of its own."""
        slot = heaps.dynamic.take(BorderColor.size())
        slot.write(border.encode())
        self._borders.append(slot)
        data = int.from_bytes(state.encode(), "little")
        pointer = SamplerState(border_color_pointer=slot.offset)
        data |= int.from_bytes(pointer.encode(), "little")
        return data.to_bytes(SamplerState.size(), "little")


def _placed_media(sampler: MediaSampler, taken: list[tuple[int, int]]) -> int:
    """The first index whose bytes nobody has; they are added to `taken`."""
    size = sampler.size
    for index in range(0, _SAMPLERS, sampler.step):
        start = sampler.unit * index
        if all(start + size <= first or first + length <= start for first, length in taken):
            taken.append((start, size))
            return index
    raise ArgumentError("more samplers than a table has room for")
