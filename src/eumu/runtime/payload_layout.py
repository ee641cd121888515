"""Where the data of a payload lies: r0, local ids, what comes inline with the thread, the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eumu.errors import Unsupported
from eumu.ir import Input
from eumu.platforms import Platform
from eumu.records import dataclass
from eumu.zebin.ze_info import ARG_TYPES, KernelInfo, PayloadArgument, PerThreadPayloadArgument

_MOST_ALIGNED: Final = 128  # bytes that an argument is aligned to
_LEAST_GRF: Final = 32
_UNUSED: Final = "unused"


def payload_bytes(info: KernelInfo, platform: Platform) -> int:
    """Bytes of a thread's payload, whole registers: r0, local ids, cross-thread data."""
    grf = platform.grf_bytes
    end = grf + local_ids(info, grf)[0] + end_of_data(info) + _inline_gap(info, platform, ())
    return -(-end // grf) * grf


def _inline_gap(info: KernelInfo, platform: Platform, inputs: Sequence[Input]) -> int:
    """Unused bytes behind the part of the data that comes with the thread (the inline data).

    That part has registers of its own; where it does not fill them, the rest begins in the next.
    If the first argument there is aligned to more, as a local pointer to `int16` is by 22.43, the
    compiler leaves out registers, which only the places of the inputs tell.
    """
    inline, end = info.execution_env.inline_data_payload_size, end_of_data(info)
    if not inline or end <= inline:
        return 0
    start = platform.grf_bytes + local_ids(info, platform.grf_bytes)[0]
    places = [i.payload_offset - start for i in inputs if i.payload_offset >= start + inline]
    least = -inline % platform.grf_bytes
    gaps = range(least, least + _MOST_ALIGNED, _LEAST_GRF)
    slots = [(s.offset, s.offset + s.size) for s in info.payload_arguments]
    for gap in gaps:
        if all(any(a <= place - gap < b for a, b in slots) for place in places):
            return gap
    return least


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """Where `size` bytes of an argument by value lie: from `start` of it, at `offset` of the data.

    The data is a payload's, the same in all threads.
    """

    index: int
    start: int
    size: int
    offset: int


def value_places(
    info: KernelInfo, platform: Platform, inputs: Sequence[Input]
) -> tuple[ValuePlace, ...]:
    """Where values lie; one that is partly in the inline register is two."""
    inline = info.execution_env.inline_data_payload_size
    gap = _inline_gap(info, platform, inputs)
    places = []
    for slot in info.payload_arguments:
        if slot.arg_type != "arg_byvalue":
            continue
        start, first = start_in_argument(slot), min(slot.size, max(inline - slot.offset, 0))
        if first:
            places.append(ValuePlace(slot.arg_index, start, first, slot.offset))
        if rest := slot.size - first:
            offset = slot.offset + first + gap
            places.append(ValuePlace(slot.arg_index, start + first, rest, offset))
    return tuple(places)


def end_of_data(info: KernelInfo) -> int:
    """Bytes of the data of all threads, without gaps."""
    return max((s.offset + s.size for s in info.payload_arguments), default=0)


def start_in_argument(slot: PayloadArgument) -> int:
    """Where a slot's bytes begin in the argument's."""
    return max(slot.source_offset, 0)


def with_inline_register(
    data: bytes, info: KernelInfo, platform: Platform, inputs: Sequence[Input]
) -> bytes:
    """The data of all threads as registers have it."""
    inline = info.execution_env.inline_data_payload_size
    return data[:inline] + bytes(_inline_gap(info, platform, inputs)) + data[inline:]


def no_local_ids(size: int) -> PerThreadPayloadArgument:
    """Per-thread data that is there and means nothing."""
    return PerThreadPayloadArgument(_UNUSED, 0, size)


def local_ids(info: KernelInfo, grf: int) -> tuple[int, int, int]:
    """Bytes of local ids for a thread, the distance of their rows, and how many rows there are."""
    rows = info.per_thread_payload_arguments
    if rows and rows[0].arg_type == _UNUSED:
        return rows[0].size, 0, 0
    for row in rows:
        if row.arg_type != "local_id":
            meaning = ARG_TYPES.get(row.arg_type, "not known to eumu")
            raise Unsupported(f"kernel {info.name} takes {row.arg_type} ({meaning})")
    if not rows:
        return 0, 0, 0
    lanes = info.execution_env.simd_size
    pitch = -(-lanes * 2 // grf) * grf
    count, rest = divmod(rows[0].size, pitch)
    if rest or not 1 <= count <= 3:
        raise Unsupported(
            f"kernel {info.name} takes {rows[0].size} bytes of local ids for a thread;"
            f" one to three rows of {pitch} are modelled"
        )
    return rows[0].size, pitch, count
