"""Sources: immediates, registers, architecture registers, registers at an address."""

from __future__ import annotations

from eumu.errors import Unsupported
from eumu.ir import Region, Root, RootKind, Value
from eumu.isa.gen9.accumulators import Accumulators
from eumu.isa.gen9.operands import (
    Constant,
    NativeSource,
    Pointer,
    Register,
    TernarySource,
)
from eumu.isa.gen9.registers import ARF_OF_NUMBER, GRF_BYTES
from eumu.isa.gen9.thread import STORAGE, Kinds, channels_of
from eumu.isa.kinds.immediate import packed_lanes
from eumu.isa.kinds.operands import Immediate
from eumu.types import BOOL, UD, UQ, UW, Kind, Type


class Sources(Accumulators):
    """A thread that reads operands."""

    def read_source(
        self, operand: NativeSource | Constant, *, logic: bool = False, neighbours: bool = False
    ) -> Value:
        """The lanes of a source, modifiers applied; accumulators in their whole width."""
        if isinstance(operand, Constant):
            return self.constant(operand)
        if isinstance(operand.place, Pointer):
            # A predicate may choose between sources.
            value = self._read_pointer(operand, None if neighbours else self.channel_mask)
        elif operand.place.is_arf:
            value = self._read_architecture(operand, operand.place)
        else:
            byte = operand.place.number * GRF_BYTES + operand.place.byte
            value = self._read_region(self.file, byte, operand)
        return self.modified(value, negate=operand.negate, absolute=operand.absolute, logic=logic)

    def constant(self, operand: Constant) -> Value:
        """The lanes of an immediate: replicated, or a packed vector again and again."""
        type, bits, width = operand.type, operand.bits, self.width
        if type.kind is not Kind.PACKED:
            return self.const(type, (bits,) * width, width)
        # A channel takes the element that lies where its own does in the destination.
        lane_type, lanes = packed_lanes(Immediate(bits, type))
        step = max(1, self.dst_stride // lane_type.size)
        return self.const(lane_type, [lanes[k * step % len(lanes)] for k in range(width)], width)

    def address(self, pointer: Pointer, count: int = 1) -> Value:
        """`count` register-space addresses, the pointer's offset not included."""
        root = self._root("a0", RootKind.ARF, 32)
        if pointer.element + count > 16:
            raise self.wrong("region", f"{count} addresses from a0.{pointer.element} on")
        words = self.read(root, Region.packed(pointer.element * 2, 2), UW, count)
        base = self.splat(self.root_address(self.file, 0), count)
        return self.add(base, self.convert(words, UD))

    def read_registers(self, pointer: Pointer, count: int, lanes: Value | None) -> Value:
        """`count` dwords of whole registers at an address; 0 where the mask `lanes` is not set."""
        place = dict(offset=pointer.offset, vstride=0, row=count, hstride=4)
        return self.read_indirect(self._register(pointer), UD, count, lanes, **place)

    def write_registers(self, pointer: Pointer, x: Value, lanes: Value | None) -> None:
        """The inverse."""
        mask = self.const(BOOL, 1, x.width) if lanes is None else lanes
        address = self._register(pointer)
        self.write_indirect(address, x, mask, offset=pointer.offset, hstride=4)

    def _register(self, pointer: Pointer) -> Value:
        """The address of a register; the thread faults if none begins there."""
        address = self.address(pointer)
        inside = self.and_(self.add(address, self.const(UD, pointer.offset)), self.const(UD, 31))
        reason = "the registers of a message begin inside a register"
        self.require(self.cmp("eq", inside, self.const(UD, 0)), reason)
        return address

    def wide_root(self, name: str, size: int) -> Root:
        return self._root(name, RootKind.ARF, size)

    def _read_pointer(self, operand: NativeSource, mask: Value | None) -> Value:
        assert isinstance(operand.place, Pointer)
        region, size, width = operand.region, operand.type.size, self.width
        if operand.swizzle is not None:
            raise Unsupported("register-indirect sources in Align16 mode")
        many = region.vstride is None
        row = min(region.width, width) if many else width
        addresses = self.address(operand.place, -(-width // row))
        return self.read_indirect(
            addresses,
            operand.type,
            width,
            mask,
            offset=operand.place.offset,
            vstride=0 if region.vstride is None else region.vstride * size,
            row=row if many else region.width,
            hstride=region.hstride * size,
        )

    def _read_architecture(self, operand: NativeSource, place: Register) -> Value:
        kind, type, width = place.number >> 4, operand.type, self.width
        if kind == Kinds.NULL:
            return self.const(type, 0, width)
        if kind == Kinds.ACC:
            return self._read_accumulator(operand, place)
        if kind in STORAGE:
            name, size = STORAGE[kind]
            root = self._root(name, RootKind.ARF, size)
            return self._read_region(root, (place.number & 15) * GRF_BYTES + place.byte, operand)
        word = self._read_special(kind, place, type)
        return self.splat(self.convert(word, type), width)

    def _read_special(self, kind: int, place: Register, type: Type) -> Value:
        """Registers that are read as a whole: one lane."""
        if kind == Kinds.FLAG:
            if place.byte * 8 + type.bits > 32:
                raise self.wrong("flag", "a flag register has 32 bits")
            bits = self.read_flag(self._flag((place.number & 1) << 1), place.byte * 8, type.bits)
            return self.mask_bits(bits)
        if kind == Kinds.CE:
            return self.channels
        if kind == Kinds.IP:
            return self.const(UD, self.offset)
        if kind == Kinds.TM0:
            now = self.special("timestamp", UQ)
            if place.byte >= 8:
                return self.const(UD, 0)
            return self.convert(self.shr(now, self.const(UQ, 8 * place.byte)), UD)
        raise Unsupported(f"reading {ARF_OF_NUMBER[place.number][0].name}")

    # ---- three sources

    def ternary_source(self, operand: TernarySource) -> Value:
        """One of three sources."""
        byte, type = operand.number * GRF_BYTES + operand.byte, operand.type
        per_group = 2 if type.size == 8 else 4
        if operand.replicate:
            lanes = [0] * self.width
        else:
            order = channels_of(operand.swizzle, type)
            if order is None:
                raise Unsupported("a swizzle that takes 64-bit elements apart")
            channels = range(self._align16_channel, self._align16_channel + self.width)
            lanes = [k // per_group * per_group + order[k % per_group] for k in channels]
        if len(set(lanes)) == 1:
            region = Region.scalar(byte + lanes[0] * type.size)
            self.check_inside(self.file, region.offsets(1), type.size)
            value = self.read(self.file, region, type, self.width)
        else:
            value = self._read_lanes(self.file, byte, type, lanes)
        return self.modified(value, negate=operand.negate, absolute=operand.absolute)

    def elements(self, operand: NativeSource | Constant, count: int) -> Value:
        """Consecutive elements from a source's origin on, whatever its region."""
        if isinstance(operand, Constant) or isinstance(operand.place, Pointer):
            return self.splat(self.slice(self.read_source(operand), 0, 1), count)
        byte = operand.place.number * GRF_BYTES + operand.place.byte
        if operand.place.is_arf:
            raise Unsupported("planes in architecture registers")
        region = Region.packed(byte, operand.type.size)
        self.check_inside(self.file, region.offsets(count), operand.type.size)
        value = self.read(self.file, region, operand.type, count)
        return self.modified(value, negate=operand.negate, absolute=operand.absolute)
