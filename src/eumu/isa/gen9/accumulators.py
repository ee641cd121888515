"""Accumulators.  What they hold beyond their visible bits has storage of its own:

* `acc.int`: a :q for each channel.  Products of dwords keep 64 bits, everything else wraps to 33;
* `acc.float`: acc0 and acc1 as they are;
* `mme`: the dwords of acc2 to acc9, of which two bits each are valid.

Reading an accumulator in the other family than it was written in is undefined on hardware; here it
gives what that family's storage holds.
"""

from __future__ import annotations

from eumu.errors import Unsupported
from eumu.ir import Region, Root, RootKind, Value
from eumu.isa.gen9.operands import (
    MacroDestination,
    MacroSource,
    NativeSource,
    Register,
)
from eumu.isa.gen9.registers import GRF_BYTES
from eumu.isa.gen9.thread import ACC_CHANNELS, ACCUMULATOR_DISABLE, NO_ACCUMULATOR, Thread
from eumu.types import UD, Q, Type


class Accumulators(Thread):
    """A thread with its accumulators."""

    @property
    def _int_acc(self) -> Root:
        return self._root("acc.int", RootKind.ARF, 8 * ACC_CHANNELS)

    @property
    def _float_acc(self) -> Root:
        return self._root("acc.float", RootKind.ARF, 2 * GRF_BYTES)

    @property
    def _mme(self) -> Root:
        return self._root("mme", RootKind.ARF, 8 * GRF_BYTES)

    def _read_accumulator(self, operand: NativeSource, place: Register) -> Value:
        number, type = place.number & 15, operand.type
        if number >= 2:
            if not type.is_int:
                raise self.wrong("type", f"acc{number} holds integers, not :{type}")
            value = self._read_region(self._mme, (number - 2) * GRF_BYTES + place.byte, operand)
            return self.and_(value, self.const(value.type, 3, self.width))
        if type.is_float:
            return self._read_region(self._float_acc, number * GRF_BYTES + place.byte, operand)
        lane, region = self._channel(place, type), operand.region
        if operand.swizzle is not None or region.vstride is None:
            raise Unsupported("an accumulator with a swizzle or an address")
        inner = Region(8 * lane, 8 * region.vstride, region.width, 8 * region.hstride)
        if self.width == 1:
            inner = Region.scalar(8 * lane)
        self.check_inside(self._int_acc, inner.offsets(self.width), 8)
        return self.read(self._int_acc, inner, Q, self.width)

    def _channel(self, place: Register, type: Type) -> int:
        """The channel at a place of acc0 or acc1: a register has 8 dwords or 16 words."""
        size = 2 if type.size <= 2 else 4
        return ((place.number & 1) * GRF_BYTES + place.byte) // size

    def accumulator(self, type: Type) -> Value:
        """The implicit source: acc0, and acc1 where it continues it."""
        if type.is_float:
            region = Region.packed(self._float_start(type), type.size)
            self.check_inside(self._float_acc, region.offsets(self.width), type.size)
            return self.read(self._float_acc, region, type, self.width)
        return self.read(self._int_acc, Region.packed(0, 8), Q, self.width)

    def _float_start(self, type: Type) -> int:
        """Where the instruction's channels are: quarters beyond the first find theirs in acc1."""
        if type.size == 8:
            return 0
        per_pair = 2 * GRF_BYTES // type.size
        return self.exec.offset % per_pair * type.size if self.width < per_pair else 0

    def write_accumulator(self, value: Value, *, product: bool = False) -> None:
        """The implicit destination; a `product` keeps 64 bits."""
        if value.type.is_float:
            region = Region.packed(self._float_start(value.type), value.type.size)
            self.check_inside(self._float_acc, region.offsets(self.width), value.type.size)
            self.write_root(self._float_acc, region, value, self._accumulator_mask())
            return
        self._write_int(Region.packed(0, 8), value, self._accumulator_mask(), product=product)

    def _accumulator_mask(self) -> Value:
        """The mask, off altogether where cr0 disables the implicit update."""
        if not self.may_disable_accumulator:
            return self.mask
        cr0 = self.read(self._root("%cr0", RootKind.ARF, 32), Region.scalar(0), UD, 1)
        off = self.and_(cr0, self.const(UD, ACCUMULATOR_DISABLE))
        return self.and_(self.mask, self.splat(self.cmp("eq", off, self.const(UD, 0)), self.width))

    def _write_int(self, region: Region, value: Value, mask: Value, *, product: bool) -> None:
        wide = self.convert(value, Q)
        if not product:
            up = self.const(Q, 31, self.width)
            wide = self.shr(self.shl(wide, up), up)
        self.check_inside(self._int_acc, region.offsets(self.width), 8)
        self.write_root(self._int_acc, region, wide, mask)

    def read_macro(self, operand: MacroSource) -> Value:
        """A register of a macro; the bits in its accumulator add nothing here."""
        region = Region.packed(operand.number * GRF_BYTES, operand.type.size)
        self.check_inside(self.file, region.offsets(self.width), operand.type.size)
        value = self.read(self.file, region, operand.type, self.width)
        return self.modified(value, negate=operand.negate, absolute=operand.absolute)

    def write_macro(self, operand: MacroDestination, value: Value) -> None:
        """A register of a macro, and zeros to the accumulator that goes with it."""
        type = operand.type
        region = Region.packed(operand.number * GRF_BYTES, type.size)
        self.check_inside(self.file, region.offsets(self.width), type.size)
        result = self.fit(value, type, saturate=operand.saturate)
        self.write_root(self.file, region, result, self.mask)
        if operand.accumulator < NO_ACCUMULATOR and self.width <= 8:
            zero = self.const(UD, 0, self.width)
            place = Region.packed(operand.accumulator * GRF_BYTES, 4)
            self.write_root(self._mme, place, zero, self.mask)
