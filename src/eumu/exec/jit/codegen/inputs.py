"""The payload of a thread: what code is specialised on, and how it gets into roots."""

from __future__ import annotations

from collections.abc import Callable

from eumu.exec.jit.analysis.slots import Slot, slice_shape
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.interface import Special
from eumu.exec.jit.llvm.emit import Emitter, signed, vector_of
from eumu.exec.jit.llvm.lanes import Shape
from eumu.ir import Function, Input
from eumu.records import dataclass

# The pointer to a payload that has the bytes from one place to another.
Payload = Callable[[int, int], str]
# What is known of the local id at a place of a payload.
KnownIds = Callable[[int], "MemberId | None"]

_ID_BYTES = 2  # of a local id
_DWORD = 4  # bytes; of smaller parts many shuffles follow, which is better done near their load
OWN_DWORDS = (1, 2, 6, 7)  # of r0: the rest of it is the same for every thread


def input_slots(function: Function, special: Special) -> dict[Slot, Shape]:
    """Where the payload puts local ids that have a known shape."""
    slots = {}
    for dimension, shape in enumerate(special.local_ids):
        row = special.local_id_offset + dimension * special.local_id_pitch
        for argument in function.inputs:
            # Registers may hold a part of a row each.
            first = max(0, -(-(argument.payload_offset - row) // 2))
            last = min(function.width, (argument.payload_offset + argument.size - row) // 2)
            part = slice_shape(shape, first, last - first) if shape and first < last else None
            if part is not None:
                start = argument.offset + row - argument.payload_offset
                offsets = tuple(start + 2 * n for n in range(first, last))
                slots[Slot(argument.root.name, offsets, 2)] = part
    for argument in function.inputs:
        for dword, value in enumerate(special.r0):
            place = 4 * dword - argument.payload_offset
            fits = 0 <= place <= argument.size - 4
            if value is not None and dword not in OWN_DWORDS and fits:
                slot = Slot(argument.root.name, (argument.offset + place,), 4)
                slots[slot] = Shape(1, (0,), constant=value)
    return slots


def start(k: KernelLowering, special: Special, *, keeps_alive: bool, runs_once: bool) -> None:
    """The first instructions: payload into roots, all existing lanes execute.

    What threads share is loaded before their loop if a thread `runs_once` from begin to end.
    """
    e = k.e
    e.label("start")
    for root, place in k.registers.memory.values():
        pointer = e.op(f"getelementptr i8, ptr %rec, i64 {place}")
        e.do(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {root.size}, i1 false)")
    for argument in k.function.inputs:
        if argument.root.name in k.registers.memory:
            target = regs.byte_pointer(e, k.registers, argument.root, argument.offset)
            source = e.op(f"getelementptr i8, ptr %payload, i64 {argument.payload_offset}")
            regs.copy_bytes(e, target, source, argument.size)
    fill(k, lambda low, high: "%payload", special.common if runs_once else range(0))
    lanes = "%lanes" if k.width == 64 else e.op(f"trunc i64 %lanes to i{k.width}")
    if k.facts.full_threads:
        lanes = "-1"
    e.do(f"store i{k.width} {lanes}, ptr %em")
    if keeps_alive:
        e.do(f"store i{k.width} {lanes}, ptr %alive")
    e.do("br label %b0")


@dataclass(frozen=True, slots=True)
class MemberId:
    """A local id of a thread that runs abreast: a number; if `beyond` is a place in the payload of
    the first of them, what is there is to be added."""

    number: int
    beyond: int | None


def member_id(special: Special, member: int, place: int) -> MemberId | None:
    """What is known of the local id at a place of a member's payload."""
    known = zip(special.member_ids, special.local_ids, strict=True)
    for dimension, (ids, shape) in enumerate(known):
        row = special.local_id_offset + dimension * special.local_id_pitch
        lane, rest = divmod(place - row, _ID_BYTES)
        if ids is not None and shape is not None and not rest and 0 <= lane < shape.width:
            group, n = divmod(lane, len(shape.offsets))
            number = (ids.heads[member][group] + shape.offsets[n]) % (1 << 8 * _ID_BYTES)
            return MemberId(number, None if ids.all else row)
    return None


def _nothing(place: int) -> None:
    """Nothing is known of local ids."""


def fill(
    k: KernelLowering, payload: Payload, common: range = range(0), known: KnownIds = _nothing
) -> None:
    """Put a payload into roots; the bytes `common` are loaded before the loop over threads."""
    for argument in k.function.inputs:
        for part in k.registers.parts.get(argument.root.name, []):
            _fill(k, part, argument, payload, common)
    for slot, shape in k.facts.inputs.items():
        if shape.constant is None:
            _input_shadow(k, slot, shape, payload, known)


def _fill(
    k: KernelLowering, part: regs.RegisterSlice, argument: Input, payload: Payload, common: range
) -> None:
    """Copy what an input gives to a part; what all threads share is loaded before their loop."""
    e, offset = k.e, argument.offset
    low, high = max(part.start, offset), min(part.end, offset + argument.size)
    if low >= high:
        return
    place = argument.payload_offset + low - offset
    units = (high - low) // part.unit
    kind = vector_of(part.scalar, units)
    if part.unit >= _DWORD and place in common and place + high - low - 1 in common:
        source = e.once("ptr", f"getelementptr i8, ptr %common, i64 {place}")
        value = e.once(kind, f"load {kind}, ptr {source}, align 1")
    else:
        base = payload(place, place + high - low)
        source = e.op(f"getelementptr i8, ptr {base}, i64 {place}")
        value = e.op(f"load {kind}, ptr {source}, align 1")
    if units < part.count:
        first = (low - part.start) // part.unit
        whole = e.op(f"load {part.llvm}, ptr {part.variable}")
        if units == 1:
            value = e.op(f"insertelement {part.llvm} {whole}, {part.scalar} {value}, i64 {first}")
        else:
            where = [n - first if first <= n < first + units else -1 for n in range(part.count)]
            padded = e.shuffle(value, part.scalar, units, where)
            lanes = [part.count + n if w >= 0 else n for n, w in enumerate(where)]
            value = e.blend(whole, padded, part.scalar, part.count, lanes)
    e.do(f"store {part.llvm} {value}, ptr {part.variable}")


def _loaded(e: Emitter, payload: str, place: int) -> str:
    source = e.op(f"getelementptr i8, ptr {payload}, i64 {place}")
    return e.op(f"load i16, ptr {source}, align 1")


def _input_shadow(
    k: KernelLowering, slot: Slot, shape: Shape, payload: Payload, known: KnownIds
) -> None:
    e = k.e
    argument = next(
        i
        for i in k.function.inputs
        if i.root.name == slot.root and i.offset <= slot.offsets[0] < i.offset + i.size
    )
    heads, sure = k.shadow(slot, shape, "i16")
    for g, variable in enumerate(heads):
        lane = slot.offsets[g * len(shape.offsets)]
        place = argument.payload_offset + lane - argument.offset
        if shape.bound == max(shape.offsets):  # the first lane is 0 then
            e.do(f"store i16 0, ptr {variable}")
            continue
        id = known(place)
        if id is None:
            head = _loaded(e, payload(place, place + _ID_BYTES), place)
        elif id.beyond is None:
            head = str(signed(id.number, 8 * _ID_BYTES))
        else:
            head = e.op(f"add i16 {_loaded(e, '%payload', id.beyond)}, {id.number}")
        e.do(f"store i16 {head}, ptr {variable}")
    e.do(f"store i1 true, ptr {sure}")
