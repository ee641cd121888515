"""Destinations, flags, and how an instruction ends."""

from __future__ import annotations

from eumu.errors import Unsupported
from eumu.ir import Region, Root, RootKind, Value
from eumu.isa.gen9.operands import (
    Condition,
    Destination,
    Execution,
    InstructionOptions,
    Pointer,
    Register,
    TernaryDestination,
)
from eumu.isa.gen9.registers import ARF_OF_NUMBER, GRF_BYTES
from eumu.isa.gen9.sources import Sources
from eumu.isa.gen9.thread import STORAGE, Kinds
from eumu.isa.kinds import WritePlace
from eumu.records import dataclass
from eumu.types import BOOL, UD, integer


@dataclass(frozen=True, slots=True)
class Accumulator(WritePlace):
    """An explicit accumulator; `offset` is that of its float storage, `lane` that of the other."""

    lane: int = 0
    step: int = 1


@dataclass(frozen=True, slots=True)
class FlagPlace(WritePlace):
    """A flag register written as data; `offset` counts bits."""


class Results(Sources):
    """A thread that writes operands."""

    def destination(self, operand: Destination) -> WritePlace:
        """Where a destination lies."""
        self.enable(operand.channels)
        place, type = operand.place, operand.type
        stride = (1 if operand.channels is not None else operand.hstride) * type.size
        self.dst_stride = stride
        if isinstance(place, Pointer):
            address = self.address(place)
            return WritePlace(type, None, place.offset, stride, operand.saturate, address)
        if place.is_arf:
            return self._architecture(operand, place, stride)
        byte = place.number * GRF_BYTES + place.byte
        return self._bytes(self.file, byte, operand, stride)

    def link(self, operand: Destination) -> WritePlace:
        """Two dwords that a call writes, whatever its execution size is."""
        execution = self.execution
        self.execute(Execution(2, nomask=True))
        place = self.destination(operand)
        self.execute(execution)
        return WritePlace(UD, place.root, place.offset, UD.size, False, place.address)

    def _bytes(self, root: Root, byte: int, operand: Destination, stride: int) -> WritePlace:
        offsets = Region.strided(byte, stride).offsets(self.width)
        self.check_inside(root, offsets, operand.type.size)
        if stride == 0 and self.width > 1:
            raise self.wrong("region", "the channels of a destination lie in one place")
        return WritePlace(operand.type, root, byte, stride, operand.saturate)

    def _architecture(self, operand: Destination, place: Register, stride: int) -> WritePlace:
        kind, type = place.number >> 4, operand.type
        if kind in (Kinds.NULL, Kinds.TM0):  # what is written to tm0 is a pause: a hint
            return WritePlace(type, None, 0, stride, operand.saturate)
        if kind == Kinds.ACC:
            return self._accumulator_place(operand, place, stride)
        if kind == Kinds.FLAG:
            root = self._flag((place.number & 1) << 1)
            return FlagPlace(type, root, place.byte * 8, 0, operand.saturate)
        if kind in STORAGE:
            name, size = STORAGE[kind]
            root = self._root(name, RootKind.ARF, size)
            byte = (place.number & 15) * GRF_BYTES + place.byte
            return self._bytes(root, byte, operand, stride)
        raise Unsupported(f"writing {ARF_OF_NUMBER[place.number][0].name}")

    def _accumulator_place(self, operand: Destination, place: Register, stride: int) -> WritePlace:
        number, type = place.number & 15, operand.type
        if number >= 2:
            return self._bytes(self._mme, (number - 2) * GRF_BYTES + place.byte, operand, stride)
        byte = number * GRF_BYTES + place.byte
        if type.is_float:
            return self._bytes(self._float_acc, byte, operand, stride)
        lane, step = self._channel(place, type), max(operand.hstride, 1)
        return Accumulator(type, None, byte, stride, operand.saturate, None, lane, step)

    def finish(
        self,
        dst: WritePlace,
        value: Value,
        cond: Condition | None = None,
        options: InstructionOptions | None = None,
        *,
        product: bool = False,
    ) -> None:
        """The end of an instruction: flags, destination, accumulator.

        The condition is that of the value as it is written, saturated and converted; overflow is
        that of the exact value.
        """
        result = self.fit(value, dst.type, saturate=dst.saturate)
        if cond is not None:
            self.write_condition(cond, self.holds(cond.name, value, result))
        if isinstance(dst, Accumulator):
            region = Region.strided(8 * dst.lane, 8 * dst.step)
            self._write_int(region, value, self.mask, product=product)
        else:
            self.put(dst, result, self.mask)
        if options is not None and options.bit_28:
            self.write_accumulator(value, product=product)

    def write_condition(self, cond: Condition, holds: Value) -> None:
        """Set the flag's bits of the enabled channels."""
        start = self._flag_bits(cond.flag, self.width)
        self.write_flag(self._flag(cond.flag), start, holds, self.mask)

    def holds(self, name: str, exact: Value, result: Value) -> Value:
        """Where a condition holds for a result; `exact` is the value before it was made to fit."""
        zero = self.const(result.type, 0, result.width)
        if name == "un":
            if not result.type.is_float:
                return self.const(BOOL, 0, result.width)
            return self.cmp("ne", result, result)
        if name != "ov":
            return self.cmp(name, result, zero)
        if result.type.is_float:
            infinity = self.const(result.type, float("inf"), result.width)
            return self.cmp("eq", self.abs(result), infinity)
        if exact.type is result.type:
            return self.const(BOOL, 0, result.width)
        return self.cmp("ne", self.convert(self.convert(exact, result.type), exact.type), exact)

    def put(self, dst: WritePlace, value: Value, mask: Value) -> None:
        if not isinstance(dst, FlagPlace):
            super().put(dst, value, mask)
            return
        assert dst.root is not None
        count = min(dst.type.bits, 32)
        if dst.offset + count > 32 or self.width > 1:
            raise self.wrong("flag", "a flag register is written as one word or dword of it")
        word = self.convert(value, integer(dst.type.bits, signed=False))
        bits = self.bits_mask(self.convert(word, UD), count)
        self.write_flag(dst.root, dst.offset, bits, self.splat(mask, count))

    def ternary_destination(self, operand: TernaryDestination) -> WritePlace:
        """The destination of an instruction with three sources."""
        self.enable(operand.channels)
        byte, size = operand.number * GRF_BYTES + operand.byte, operand.type.size
        self._align16_channel = byte % 16 // size if operand.scalar else 0
        self.check_inside(self.file, Region.packed(byte, size).offsets(self.width), size)
        return WritePlace(operand.type, self.file, byte, size, operand.saturate)
