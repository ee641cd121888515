"""Builds IR: one method per operation, types and widths checked at once."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from eumu.errors import InternalError
from eumu.ir.function import Block, Function, Op, Region, Root, Terminator, Value
from eumu.ir.ops import OPS, TERMINATORS, Form, Rounding, Space
from eumu.types import BF, BOOL, DF, HF, UD, UQ, F, Type

CR0 = Rounding.CR0


class Builder:
    """Appends operations to `block`, each marked with the instruction index `inst`.

    Values are numbered from `first` on.
    """

    def __init__(self, function: Function, first: int = 0) -> None:
        self.function = function
        self.block: Block | None = None
        self.inst = -1
        self._count = first

    # ---- plumbing

    def emit(
        self,
        name: str,
        args: Sequence[Value],
        shape: Sequence[tuple[Type, int]],
        /,
        **attrs: Any,
    ) -> tuple[Value, ...]:
        """Append an operation; `shape` gives type and width of each result."""
        spec = OPS.get(name)
        if spec is None or set(attrs) != set(spec.attrs):
            raise InternalError(f"IR operation {name} with attributes {sorted(attrs)}")
        if self.block is None or self.block.end is not None:
            raise InternalError(f"IR operation {name} outside a block")
        results = tuple(Value(self._count + k, t, w) for k, (t, w) in enumerate(shape))
        self._count += len(results)
        self.block.ops.append(Op(name, tuple(args), attrs, results, self.inst))
        return results

    def _one(
        self, name: str, args: Sequence[Value], type: Type, width: int, /, **attrs: Any
    ) -> Value:
        return self.emit(name, args, [(type, width)], **attrs)[0]

    def terminate(
        self,
        name: str,
        args: Sequence[Value] = (),
        targets: Sequence[int] = (),
        /,
        **attrs: Any,
    ) -> None:
        """End the current block."""
        if name not in TERMINATORS or self.block is None or self.block.end is not None:
            raise InternalError(f"IR terminator {name} cannot end this block")
        self.block.end = Terminator(name, tuple(args), tuple(targets), attrs, self.inst)

    def _same(self, name: str, *values: Value) -> Value:
        first = values[0]
        for v in values[1:]:
            if (v.type, v.width) != (first.type, first.width):
                raise InternalError(
                    f"IR {name}: {first.type}x{first.width} with {v.type}x{v.width}"
                )
        return first

    # ---- constants and lane shape

    def const(self, type: Type, value: int | float | Sequence[int], width: int = 1) -> Value:
        """A lane constant: an int (taken modulo the type), a float, or one bit pattern a lane."""
        if isinstance(value, (int, float)):
            return self._one("const", (), type, width, lanes=(bit_pattern(type, value),))
        if len(value) != width:
            raise InternalError(f"IR const of {len(value)} lanes for width {width}")
        return self._one("const", (), type, width, lanes=tuple(value))

    def iota(self, type: Type, width: int, step: int = 1) -> Value:
        """0, step, 2*step, … as integers."""
        mask = (1 << type.bits) - 1
        return self.const(type, [k * step & mask for k in range(width)], width)

    def splat(self, x: Value, width: int) -> Value:
        if x.width == width:
            return x
        if x.width != 1:
            raise InternalError(f"IR splat of {x.width} lanes")
        return self._one("splat", (x,), x.type, width)

    def shuffle(self, x: Value, lanes: Sequence[int]) -> Value:
        return self._one("shuffle", (x,), x.type, len(lanes), lanes=tuple(lanes))

    def slice(self, x: Value, start: int, width: int) -> Value:
        """Lanes start … start+width-1."""
        if start == 0 and width == x.width:
            return x
        return self.shuffle(x, range(start, start + width))

    def concat(self, parts: Sequence[Value]) -> Value:
        if len(parts) == 1:
            return parts[0]
        return self._one("concat", parts, parts[0].type, sum(p.width for p in parts))

    def bitcast(self, x: Value, type: Type) -> Value:
        if x.type is type:
            return x
        return self._one("bitcast", (x,), type, x.width * x.type.size // type.size)

    # ---- state

    def read(self, root: Root, region: Region, type: Type, width: int) -> Value:
        return self._one("read", (), type, width, root=root, region=region)

    def partner(self, root: Root, region: Region, type: Type, width: int) -> Value:
        """`read` of the other thread of the pair."""
        return self._one("partner", (), type, width, root=root, region=region)

    def write_root(self, root: Root, region: Region, x: Value, mask: Value) -> None:
        self._same("write", mask, Value(-1, BOOL, x.width))
        self.emit("write", (x, mask), (), root=root, region=region)

    def read_flag(self, root: Root, offset: int, width: int) -> Value:
        return self._one("read_flag", (), BOOL, width, root=root, offset=offset)

    def write_flag(self, root: Root, offset: int, x: Value, mask: Value) -> None:
        self._same("write_flag", x, mask)
        self.emit("write_flag", (x, mask), (), root=root, offset=offset)

    def read_indirect(
        self,
        addresses: Value,
        type: Type,
        width: int,
        mask: Value | None = None,
        *,
        offset: int,
        vstride: int,
        row: int,
        hstride: int,
    ) -> Value:
        return self._one(
            "read_indirect",
            (addresses, *([mask] if mask else [])),
            type,
            width,
            offset=offset,
            vstride=vstride,
            row=row,
            hstride=hstride,
        )

    def write_indirect(
        self, address: Value, x: Value, mask: Value, *, offset: int, hstride: int
    ) -> None:
        self.emit("write_indirect", (address, x, mask), (), offset=offset, hstride=hstride)

    def root_address(self, root: Root, offset: int) -> Value:
        return self._one("root_address", (), UD, 1, root=root, offset=offset)

    def exec_mask(self, offset: int, width: int) -> Value:
        return self._one("exec_mask", (), BOOL, width, offset=offset)

    def symbol(self, name: str) -> Value:
        if name not in self.function.symbols:
            self.function.symbols.append(name)
        return self._one("symbol", (), UQ, 1, name=name)

    def special(self, name: str, type: Type, width: int = 1) -> Value:
        return self._one("special", (), type, width, name=name)

    # ---- arithmetic

    def _rounded(self, name: str, rounding: Rounding, *args: Value) -> Value:
        x = self._same(name, *args)
        return self._one(name, args, x.type, x.width, rounding=rounding)

    def _plain(self, name: str, *args: Value) -> Value:
        x = self._same(name, *args)
        return self._one(name, args, x.type, x.width)

    def add(self, x: Value, y: Value, rounding: Rounding = CR0) -> Value:
        return self._rounded("add", rounding, x, y)

    def sub(self, x: Value, y: Value, rounding: Rounding = CR0) -> Value:
        return self._rounded("sub", rounding, x, y)

    def mul(self, x: Value, y: Value, rounding: Rounding = CR0) -> Value:
        return self._rounded("mul", rounding, x, y)

    def div(self, x: Value, y: Value, rounding: Rounding = CR0) -> Value:
        return self._rounded("div", rounding, x, y)

    def fma(self, x: Value, y: Value, z: Value, rounding: Rounding = CR0) -> Value:
        return self._rounded("fma", rounding, x, y, z)

    def sqrt(self, x: Value, rounding: Rounding = CR0) -> Value:
        return self._rounded("sqrt", rounding, x)

    def round(self, x: Value, rounding: Rounding) -> Value:
        return self._rounded("round", rounding, x)

    def mul_high(self, x: Value, y: Value) -> Value:
        return self._plain("mul_high", x, y)

    def rem(self, x: Value, y: Value) -> Value:
        return self._plain("rem", x, y)

    def and_(self, x: Value, y: Value) -> Value:
        return self._plain("and", x, y)

    def or_(self, x: Value, y: Value) -> Value:
        return self._plain("or", x, y)

    def xor(self, x: Value, y: Value) -> Value:
        return self._plain("xor", x, y)

    def not_(self, x: Value) -> Value:
        return self._plain("not", x)

    def shl(self, x: Value, y: Value) -> Value:
        return self._plain("shl", x, y)

    def shr(self, x: Value, y: Value) -> Value:
        return self._plain("shr", x, y)

    def rotl(self, x: Value, y: Value) -> Value:
        return self._plain("rotl", x, y)

    def popcount(self, x: Value) -> Value:
        return self._plain("popcount", x)

    def clz(self, x: Value) -> Value:
        return self._plain("clz", x)

    def ctz(self, x: Value) -> Value:
        return self._plain("ctz", x)

    def bitreverse(self, x: Value) -> Value:
        return self._plain("bitreverse", x)

    def neg(self, x: Value) -> Value:
        return self._plain("neg", x)

    def abs(self, x: Value) -> Value:
        return self._plain("abs", x)

    def min(self, x: Value, y: Value) -> Value:
        return self._plain("min", x, y)

    def max(self, x: Value, y: Value) -> Value:
        return self._plain("max", x, y)

    def flush(self, x: Value) -> Value:
        return self._plain("flush", x)

    def cmp(self, rel: str, x: Value, y: Value) -> Value:
        self._same("cmp", x, y)
        return self._one("cmp", (x, y), BOOL, x.width, rel=rel)

    def select(self, mask: Value, x: Value, y: Value) -> Value:
        self._same("select", x, y)
        return self._one("select", (mask, x, y), x.type, x.width)

    def convert(
        self, x: Value, type: Type, *, saturate: bool = False, rounding: Rounding = CR0
    ) -> Value:
        if x.type is type:
            return x
        return self._one("convert", (x,), type, x.width, saturate=saturate, rounding=rounding)

    def dot(self, x: Value, b: Value, a: Value, *, rows: int, group: int) -> Value:
        """x plus the product of a matrix of `rows` rows, a, and one of x.width/rows columns, b."""
        return self._one("dot", (x, b, a), x.type, x.width, rows=rows, group=group)

    # ---- masks

    def any(self, m: Value) -> Value:
        return self._one("any", (m,), BOOL, 1)

    def all(self, m: Value) -> Value:
        return self._one("all", (m,), BOOL, 1)

    def mask_bits(self, m: Value) -> Value:
        return self._one("mask_bits", (m,), UD, 1)

    def bits_mask(self, x: Value, width: int) -> Value:
        return self._one("bits_mask", (x,), BOOL, width)

    # ---- memory

    def load(
        self,
        space: Space,
        address: Value,
        mask: Value,
        type: Type,
        count: int = 1,
        surface: Value | None = None,
    ) -> tuple[Value, ...]:
        """`count` consecutive elements per lane, from `address` (bytes)."""
        args = (address, mask, *([surface] if surface else []))
        shape = [(type, address.width)] * count
        return self.emit("load", args, shape, space=space, type=type, count=count)

    def store(
        self,
        space: Space,
        address: Value,
        mask: Value,
        data: Sequence[Value],
        surface: Value | None = None,
    ) -> None:
        args = (address, mask, *data, *([surface] if surface else []))
        self.emit("store", args, (), space=space, count=len(data))

    def load_block(
        self,
        space: Space,
        address: Value,
        mask: Value,
        type: Type,
        count: int,
        surface: Value | None = None,
    ) -> Value:
        """`count` consecutive elements from one address, as lanes."""
        args = (address, mask, *([surface] if surface else []))
        return self._one("load_block", args, type, count, space=space)

    def store_block(
        self,
        space: Space,
        address: Value,
        mask: Value,
        data: Value,
        surface: Value | None = None,
    ) -> None:
        args = (address, mask, data, *([surface] if surface else []))
        self.emit("store_block", args, (), space=space)

    def atomic(
        self,
        operation: str,
        space: Space,
        address: Value,
        mask: Value,
        type: Type,
        data: Sequence[Value] = (),
        surface: Value | None = None,
    ) -> Value:
        args = (address, mask, *data, *([surface] if surface else []))
        return self._one(
            "atomic",
            args,
            type,
            address.width,
            space=space,
            type=type,
            operation=operation,
        )

    def message(
        self, record: object, mask: Value, data: Sequence[Value], shape: Sequence[tuple[Type, int]]
    ) -> tuple[Value, ...]:
        """Ask a shared function; `record` says what, `shape` the type and width of each result."""
        return self.emit("message", (mask, *data), shape, record=record)

    def require(self, lane: Value, reason: str) -> None:
        """The thread faults for `reason` unless the lane is set."""
        self.emit("require", (lane,), (), reason=reason)

    def send(
        self,
        form: Form,
        ex_desc: Value,
        desc: Value,
        enabled: Value,
        mask: Value,
        stretches: Sequence[Value],
        answer: Value | None,
    ) -> Value | None:
        """A message that is known at run time only; the answer's registers before and after."""
        old = [answer] if answer is not None else []
        args = (ex_desc, desc, enabled, mask, *stretches, *old)
        found = self.emit("send", args, [(UD, x.width) for x in old], form=form)
        return found[0] if found else None

    def fence(self, scope: str) -> None:
        self.emit("fence", (), (), scope=scope)

    def report(self, what: str, mask: Value, offset: int) -> None:
        """In the lanes of `mask`, counted from lane `offset` of the thread, `what` is undefined."""
        self.emit("report", (mask,), (), what=what, offset=offset)


_FLOAT_CODE = {HF: ("<e", "<H"), F: ("<f", "<I"), DF: ("<d", "<Q")}


def bit_pattern(type: Type, value: int | float) -> int:
    """The bits of a lane constant: floats are rounded to nearest, ints taken modulo the type."""
    if isinstance(value, float):
        if type is BF:
            return _short(value)
        if type not in _FLOAT_CODE:
            raise InternalError(f"float constant for {type}")
        pack, unpack = _FLOAT_CODE[type]
        return int(struct.unpack(unpack, struct.pack(pack, value))[0])
    if type is BOOL:
        return int(bool(value))
    if type.is_float:
        return bit_pattern(type, float(value))
    return value & ((1 << type.bits) - 1)


def _short(value: float) -> int:
    """The bits of a bf: the upper half of the f, which must have no other bits."""
    bits = bit_pattern(F, value)
    if bits & 0xFFFF:
        raise InternalError(f"{value} is no bf")
    return bits >> 16
