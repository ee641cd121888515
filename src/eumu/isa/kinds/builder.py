"""The builder that instruction bodies are written against.

It is the IR builder plus what an instruction brings along: its execution size and mask, the
places its operands name, saturation and conversion on the way out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from eumu.errors import Unsupported
from eumu.ir import Block, Builder, Function, Region, Root, Terminator, Value
from eumu.ir.operations.lanes import bit_pattern
from eumu.isa.kinds.operands import ExecSize
from eumu.isa.kinds.variables import Declared
from eumu.platforms import Platform
from eumu.records import dataclass
from eumu.types import BF, BOOL, HF, UQ, F, Q, Type, integer


@dataclass(frozen=True, slots=True)
class WritePlace:
    """Where a body writes: elements of a root, or (with `address`) through a register address."""

    type: Type
    root: Root | None
    offset: int  # bytes; bits in a flag
    stride: int  # bytes
    saturate: bool = False
    address: Value | None = None


_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def is_apart(x: Value, y: Value) -> bool:
    """Whether one is an unsigned quadword and the other has a sign: no type holds both."""
    types = (x.type, y.type)
    return UQ in types and any(t.is_int and t.is_signed for t in types)


@dataclass(frozen=True, slots=True)
class Rows:
    """A raw operand: consecutive registers from a byte offset on.  No root stands for `%null`."""

    root: Root | None
    offset: int
    type: Type


class InstBuilder(Builder):
    """An IR builder at work on one instruction at a time.

    `exec` and `mask` are the instruction's execution size and its mask (execution mask and
    predicate); `mask` is what `write` and memory operations apply.
    """

    def __init__(self, function: Function, platform: Platform) -> None:
        super().__init__(function)
        self.platform = platform
        self.grf = platform.grf_bytes
        self.exec = ExecSize(1)
        self._predicate: Value | None = None
        self._mask: Value | None = None
        self.guard: Value | None = None  # one lane that must be set for anything to happen
        # Where 32-bit stateless addresses count from: General State Base Address, and how far from
        # it scratch space is.  None: they are in scratch space.
        self.general_state: Root | None = None
        self._once: tuple[Block | None, dict[tuple[object, ...], Value]] = (None, {})

    # ---- constants

    def const(self, type: Type, value: int | float | Sequence[int], width: int = 1) -> Value:
        """See :class:`eumu.ir.operations.lanes.LaneEmitter`; the same constant once a block."""
        lanes: int | tuple[int, ...]
        lanes = bit_pattern(type, value) if isinstance(value, (int, float)) else tuple(value)
        made, key = self._made_once(), (type.name, lanes, width)
        if key not in made:
            made[key] = super().const(type, value, width)
        return made[key]

    def is_zero(self, value: Value) -> bool:
        """Whether a value is known to be 0; integers only, as a float may be -0."""
        return self._made_once().get((value.type.name, 0, value.width)) is value

    def _made_once(self) -> dict[tuple[object, ...], Value]:
        """The constants of the current block."""
        if self._once[0] is not self.block:
            self._once = self.block, {}
        return self._once[1]

    # ---- masks

    def begin(self, exec: ExecSize) -> None:
        """Start an instruction: no predicate, the mask not yet computed."""
        self.exec, self._predicate, self._mask, self.guard = exec, None, None, None

    def predicate(self, mask: Value) -> None:
        """Predicate the instruction; `mask` covers its lanes."""
        self._predicate = mask

    def only_if(self, lane: Value) -> None:
        """Let what follows in the instruction happen if the lane is set, in no channel else."""
        self._mask, self.guard = self.and_(self.mask, self.splat(lane, self.width)), lane

    @contextmanager
    def only_where(self, lane: Value) -> Iterator[None]:
        """The same for a part of the instruction; what was to happen before holds, too."""
        mask, guard = self.mask, self.guard
        self.only_if(lane if guard is None else self.and_(guard, lane))
        yield
        self._mask, self.guard = mask, guard

    @property
    def width(self) -> int:
        """The execution size."""
        return self.exec.size

    @property
    def channel_mask(self) -> Value:
        """The execution mask alone (all lanes under NoMask)."""
        if self.exec.nomask:
            return self.const(BOOL, 1, self.width)
        return self.exec_mask(self.exec.offset, self.width)

    @property
    def mask(self) -> Value:
        """Execution mask and predicate."""
        if self._mask is None:
            mask = self.channel_mask
            if self._predicate is not None:
                mask = self._predicate if self.exec.nomask else self.and_(mask, self._predicate)
            self._mask = mask
        return self._mask

    @property
    def channels(self) -> Value:
        """The lanes of the thread that now execute, as the bits of one dword."""
        return self.mask_bits(self.exec_mask(0, self.function.width))

    def dispatch_masks(self, sr0: Root) -> None:
        """At the start of a thread: sr0.2 and sr0.3 have the lanes that it was dispatched with.

        The second one is another mask in pixel shaders only, of whole groups of four pixels.
        """
        lanes = self.channels
        for dword in (2, 3):
            self.write_root(sr0, Region.scalar(4 * dword), lanes, self.const(BOOL, 1))

    # ---- types

    def integer_type(self, *values: Value, exact: bool = False) -> Type:
        """The type that integers are computed in: at least 32 bits, the widest operand.

        With `exact`, wide enough that mixed signedness loses nothing (64-bit operands aside).
        """
        bits = max(32, *(v.type.bits for v in values))
        signed = any(v.type.is_signed for v in values)
        if exact and signed and any(v.type.bits == bits and not v.type.is_signed for v in values):
            return Q
        return integer(bits, signed=signed)

    def float_type(self, *values: Value, to: Type | None = None) -> Type:
        """The type that floats are computed in: the widest source; bf in f, and hf for a result
        `to` f, too: if the two are mixed, in sources or between these and the destination, the
        execution type is f."""
        best = max((v.type for v in values), key=lambda t: t.size)
        if best is HF and to is F:
            return F
        return F if best is BF or any(v.type is BF for v in values) else best

    def promote(
        self, *values: Value, exact: bool = False, to: Type | None = None
    ) -> tuple[Value, ...]:
        """All operands in their common execution type, which the destination's, `to`, may widen."""
        if any(v.type.is_float for v in values):
            if not all(v.type.is_float for v in values):
                raise Unsupported("an instruction that mixes float and integer sources")
            common = self.float_type(*values, to=to)
        else:
            common = self.integer_type(*values, exact=exact)
        return tuple(self.convert(v, common) for v in values)

    def relation(self, name: str, x: Value, y: Value) -> Value:
        """Where x compares with y as the name says: integers by the numbers that they are."""
        if not is_apart(x, y):
            return self.cmp(name, *self.promote(x, y, exact=True))
        if y.type is UQ:
            return self.relation(_TURNED[name], y, x)
        y = self.convert(y, Q)
        is_below = self.cmp("lt", y, self.const(Q, 0, y.width))
        above = self.const(BOOL, name in ("gt", "ge", "ne"), y.width)
        return self.select(is_below, above, self.cmp(name, x, self.convert(y, UQ)))

    def alternatives(self, dst: WritePlace, x: Value, y: Value) -> tuple[Value, Value]:
        """Two values of which each lane takes one, in one type: floats in the wider one, integers
        as the destination takes each, so that none is clamped or extended as the other is."""
        if x.type is y.type:
            return x, y
        if x.type.is_float or y.type.is_float:
            x, y = self.promote(x, y)
            return x, y
        x, y = (self.fit(v, dst.type, saturate=dst.saturate) for v in (x, y))
        return x, y

    def extreme(self, dst: WritePlace, x: Value, y: Value, *, least: bool) -> Value:
        """The lesser or the greater value of each lane: integers by the numbers that they are."""
        if is_apart(x, y):
            where = self.relation("lt" if least else "gt", x, y)
            return self.select(where, *self.alternatives(dst, x, y))
        x, y = self.promote(x, y, exact=True)
        return self.min(x, y) if least else self.max(x, y)

    # ---- results

    def write(self, dst: WritePlace, value: Value, mask: Value | None = None) -> None:
        """Convert to the destination's type, saturate if it says so, write the enabled lanes."""
        mask = self.mask if mask is None else mask
        if dst.type is BOOL:
            assert dst.root is not None
            self.write_flag(dst.root, dst.offset, value, mask)
            return
        value = self.fit(value, dst.type, saturate=dst.saturate)
        self.put(dst, value, mask)

    def put(self, dst: WritePlace, value: Value, mask: Value) -> None:
        """Write lanes that already have the destination's type."""
        if dst.address is not None:
            self.write_indirect(dst.address, value, mask, offset=dst.offset, hstride=dst.stride)
        elif dst.root is not None:
            self.write_root(dst.root, Region.strided(dst.offset, dst.stride), value, mask)

    def fit(self, value: Value, type: Type, *, saturate: bool) -> Value:
        """Conversion on the way to a destination: float to int always clamps."""
        if saturate and type.is_float:
            wide = F if type is BF else type
            return self.convert(self.unit_interval(self.fit(value, wide, saturate=False)), type)
        if BF in (value.type, type) and value.type is not type:
            value = self.convert(value, F)
        return self.convert(value, type, saturate=saturate or value.type.is_float)

    def unit_interval(self, x: Value) -> Value:
        """Float saturation: NaN is 0, then clamped to [0, 1]."""
        zero, one = (self.const(x.type, c, x.width) for c in (0.0, 1.0))
        positive = self.select(self.cmp("gt", x, zero), x, zero)
        return self.min(positive, one)

    # ---- raw operands

    def row_read(
        self, rows: Rows, offset: int, type: Type, width: int, stride: int | None = None
    ) -> Value:
        """Elements of a raw operand from byte `offset` in it on, packed or `stride` bytes apart."""
        if rows.root is None:
            return self.const(type, 0, width)
        region = Region.strided(rows.offset + offset, stride or type.size)
        return self.read(rows.root, region, type, width)

    def row_write(
        self, rows: Rows, offset: int, value: Value, mask: Value, stride: int | None = None
    ) -> None:
        """Write elements of a raw operand as `row_read` reads them; `%null` takes nothing."""
        if rows.root is not None:
            region = Region.strided(rows.offset + offset, stride or value.type.size)
            self.write_root(rows.root, region, value, mask)

    def registers(self, size: int) -> int:
        """`size` bytes rounded up to whole registers, in bytes."""
        return -(-size // self.grf) * self.grf

    def channel(self, size: int) -> int:
        """Bytes from one element of a lane to its next in a payload, for elements of `size` bytes.

        Messages of fewer lanes are laid out as those of the fewest lanes that the hardware has.
        """
        least = self.grf // 4
        return self.registers(max(self.width, least) * size)

    # ---- what lowering supplies

    def root(self, variable: Declared) -> tuple[Root, int]:
        """The root that holds a variable, and the variable's byte offset in it."""
        raise NotImplementedError

    def address_of(self, variable: Declared, offset: int) -> Value:
        """`&V[offset]`: a register-space address, or the index of a state variable."""
        raise NotImplementedError

    def dispatch_header(self, registers: int = 2) -> Root:
        """r0 and so on of the thread's payload, as a message without a header has them."""
        raise NotImplementedError

    def label(self, name: str) -> int:
        """The block that a label names."""
        raise NotImplementedError

    def callee(self, name: str) -> int:
        """The first block of a function that is called on the stack."""
        raise NotImplementedError

    def function_address(self, name: str) -> int | None:
        """The address of a function of the program, None if it has none of that name."""
        raise NotImplementedError

    def meet_partner(self) -> None:
        """Both threads of a pair come here; the instruction goes on in a new block."""
        raise NotImplementedError

    def go_on(self, name: str) -> int:
        """The instruction goes on in a new block, whose number it is; it may come back to it."""
        raise Unsupported("an instruction of several blocks where there is room for one")

    def wide_root(self, name: str, size: int) -> Root:
        """Bytes of the thread that are no variable, for what it shares with the other one."""
        raise NotImplementedError

    def next_block(self) -> int:
        """The block that begins after this instruction."""
        raise NotImplementedError

    def transfer(self, end: Terminator) -> None:
        """End the block; the next instruction is the last target."""
        self.terminate(replace(end, targets=(*end.targets, self.next_block())))
