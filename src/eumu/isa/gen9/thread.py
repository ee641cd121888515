"""The state of a native thread as roots, its masks, and regions of its registers.

The register file is one root of 128 registers at register-space address 0, so that an address in
a0 is one of that space.  Flags are two roots of 32 bits.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from eumu.errors import BuildError, Diagnostic, Span, Unsupported
from eumu.ir import Function, Region, Root, RootKind, Value
from eumu.isa.gen9.operands import (
    Execution,
    FlagMask,
    NativeSource,
)
from eumu.isa.gen9.registers import GRF_BYTES
from eumu.isa.kinds import InstBuilder
from eumu.isa.kinds.operands import ExecSize
from eumu.platforms import Platform
from eumu.types import BOOL, D, Type

GRF_COUNT: Final = 128
# Bit of cr0.0 under which AccWrEn updates no accumulator.
ACCUMULATOR_DISABLE: Final = 1 << 1


class Kinds(IntEnum):
    """Kinds of architecture registers."""

    NULL = 0x0
    A0 = 0x1
    ACC = 0x2
    FLAG = 0x3
    CE = 0x4
    CR0 = 0x8
    IP = 0xA
    TM0 = 0xC


# Names and sizes of what is plain storage; `%cr0` is what the pass over float modes knows.
STORAGE: Final = {
    0x1: ("a0", 32),
    0x5: ("msg", 8 * 32),
    0x6: ("sp", 32),
    0x7: ("%sr0", 2 * 32),
    0x8: ("%cr0", 32),
    0x9: ("n0", 32),
    0xB: ("tdr0", 32),
    0xD: ("fc", 5 * 32),
    0xF: ("dbg0", 32),
}
ACC_CHANNELS: Final = 32
NO_ACCUMULATOR: Final = 8  # the code of a macro operand without one
_GROUP: Final = {"2h": 2, "4h": 4, "8h": 8, "16h": 16, "32h": 32}


class Thread(InstBuilder):
    """An IR builder at work on one native instruction at a time."""

    def __init__(self, function: Function, platform: Platform) -> None:
        super().__init__(function, platform)
        self.file = self._root("grf", RootKind.GRF, GRF_COUNT * GRF_BYTES)
        self.offset = self.next_offset = 0  # of the instruction, in bytes
        self.execution = Execution(1)  # of the instruction
        self.flags_mask: Value | None = None  # what the predicate says
        self.span: Span | None = None
        self.dst_stride = 0  # bytes from channel to channel of the destination
        self.may_disable_accumulator = False
        self._align16_channel = 0

    def _root(self, name: str, kind: RootKind, size: int) -> Root:
        root = self.function.roots.get(name)
        if root is None:
            root = self.function.roots[name] = Root(name, kind, size)
        return root

    def dispatch_header(self, registers: int = 2) -> Root:
        return self.file

    def wrong(self, code: str, message: str) -> BuildError:
        """A fault of the program at this instruction."""
        return BuildError.of([Diagnostic(code, message, self.span)])

    def floats(self, *values: Value, to: Type | None = None) -> tuple[Value, ...]:
        """Sources in their common type, which must be one of floats; `to`: see `promote`."""
        self._check_types("floats", [v for v in values if not v.type.is_float])
        return self.promote(*values, to=to)

    def integers(self, *values: Value) -> None:
        """Raise unless all sources are integers."""
        self._check_types("integers", [v for v in values if not v.type.is_int])

    def _check_types(self, what: str, others: list[Value]) -> None:
        if others:
            raise self.wrong("type", f"this instruction takes {what}, not :{others[0].type}")

    # ---- masks

    def execute(self, operand: Execution) -> None:
        """Start an instruction: channels, mask, predicate."""
        self.execution = operand
        self.begin(ExecSize(operand.size, operand.offset, operand.nomask))
        self.flags_mask = None
        if operand.predicate is not None:
            self.flags_mask = self._flag_mask(operand.predicate)
            self.predicate(self.flags_mask)

    def choose(self) -> Value | None:
        """The predicate as a choice of operands: it masks nothing."""
        self.begin(self.exec)
        return self.flags_mask

    def enable(self, channels: int | None) -> None:
        """Align16: leave on those of every four channels that the low bits of `channels` say."""
        if channels not in (None, 15):
            assert channels is not None
            self.restrict([channels >> k % 4 & 1 for k in range(self.width)])

    def restrict(self, lanes: list[int]) -> None:
        """Turn off the lanes that are 0."""
        self._mask = self.and_(self.mask, self.const(BOOL, lanes, self.width))

    def _flag(self, flag: int) -> Root:
        return self._root(f"f{flag >> 1}", RootKind.FLAG, 32)

    def _flag_bits(self, flag: int, width: int) -> int:
        """The first bit that the instruction's channels have in a flag."""
        start = flag % 2 * 16 + self.exec.offset
        if start + width > 32:
            raise self.wrong(
                "flag",
                f"{width} channels from {self.exec.offset} do not fit f{flag >> 1}.{flag % 2}",
            )
        return start

    def _flag_mask(self, mask: FlagMask) -> Value:
        bits = self._combined(mask)
        return self.not_(bits) if mask.invert else bits

    def _combined(self, mask: FlagMask) -> Value:
        width, mode = self.width, mask.mode
        start = self._flag_bits(mask.flag, width)
        root = self._flag(mask.flag)
        if mode in ("", *"xyzw"):
            bits = self.read_flag(root, start, width)
            if not mode or width < 4:
                return bits
            channel = "xyzw".index(mode)
            return self.shuffle(bits, [k // 4 * 4 + channel for k in range(width)])
        if mode in ("anyv", "allv"):
            both = [
                self.read_flag(self._flag(f), start, width)
                for f in (mask.flag & 1, mask.flag & 1 | 2)
            ]
            return self.or_(*both) if mode == "anyv" else self.and_(*both)
        size = _GROUP[mode[3:]]
        combine = self.any if mode.startswith("any") else self.all
        groups = []
        first = start // size * size
        while first < start + width:
            count = min(first + size, start + width) - max(first, start)
            groups.append(self.splat(combine(self.read_flag(root, first, size)), count))
            first += size
        return self.concat(groups)

    # ---- regions

    def modified(self, x: Value, *, negate: bool, absolute: bool, logic: bool = False) -> Value:
        """Modifiers of a source; short integers are widened, so that they do not wrap."""
        if (negate or absolute) and x.type.is_int and x.type.size < 4:
            x = self.convert(x, D)
        if logic and negate:
            return self.not_(x)
        if absolute and (x.type.is_float or x.type.is_signed):
            x = self.abs(x)
        return self.neg(x) if negate else x

    def _read_region(self, root: Root, byte: int, operand: NativeSource) -> Value:
        """A region of a root that is bytes."""
        type, size = operand.type, operand.type.size
        if operand.swizzle is not None:
            return self._read_swizzled(root, byte, operand)
        region = operand.region
        if region.vstride is None:
            raise self.wrong("region", "a region with an address for each row needs an address")
        if self.width == 1:
            inner = Region.scalar(byte)
        else:
            inner = Region(byte, region.vstride * size, region.width, region.hstride * size)
        self.check_inside(root, inner.offsets(self.width), size)
        return self.read(root, inner, type, self.width)

    def check_inside(self, root: Root, offsets: tuple[int, ...], size: int) -> None:
        """Raise unless the elements are bytes of the root."""
        if max(offsets) + size > root.size:
            what = "the register file" if root is self.file else root.name
            raise self.wrong(
                "region",
                f"the operand reaches byte {max(offsets) + size - 1} of {what}, which has"
                f" {root.size} bytes",
            )

    def _read_swizzled(self, root: Root, byte: int, operand: NativeSource) -> Value:
        """Align16: four channels at a time, permuted."""
        assert operand.swizzle is not None
        per_group = 2 if operand.type.size == 8 else 4
        vstride = operand.region.vstride or 0
        order = channels_of(operand.swizzle, operand.type)
        if order is None:
            raise Unsupported("a swizzle that takes 64-bit elements apart")
        lanes = [k // per_group * vstride + order[k % per_group] for k in range(self.width)]
        return self._read_lanes(root, byte, operand.type, lanes)

    def _read_lanes(self, root: Root, byte: int, type: Type, lanes: list[int]) -> Value:
        count = max(lanes) + 1
        region = Region.packed(byte, type.size)
        self.check_inside(root, region.offsets(count), type.size)
        packed = self.read(root, region, type, count)
        return packed if lanes == list(range(count)) else self.shuffle(packed, lanes)


def channels_of(swizzle: int, type: Type) -> list[int] | None:
    """Element for each channel of a group; None if 64-bit elements are taken apart."""
    order = [swizzle >> 2 * k & 3 for k in range(4)]
    if type.size < 8:
        return order
    pairs = [(order[0], order[1]), (order[2], order[3])]
    if any(low % 2 or high != low + 1 for low, high in pairs):
        return None
    return [low // 2 for low, _ in pairs]
