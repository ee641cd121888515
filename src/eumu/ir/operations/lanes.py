"""Constants and moves of lanes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from eumu.errors import InternalError
from eumu.ir.function import Findings, Function, Op, Value
from eumu.ir.operations.row import ANY, DATA, Emitter, operation
from eumu.records import dataclass
from eumu.types import BF, BOOL, DF, HF, F, Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Const(Op):
    """A constant; `lanes` are bit patterns, one for each lane or one for all."""

    lanes: tuple[int, ...]

    def problems(self, function: Function) -> Findings:
        value = self.result
        if len(self.lanes) not in (1, value.width):
            yield f"{len(self.lanes)} lanes for a width of {value.width}"
        if any(not 0 <= lane < 1 << max(value.type.bits, 1) for lane in self.lanes):
            yield f"a lane is no bit pattern of {value.type}"

    @property
    def is_full(self) -> bool:
        """Whether it is a mask of every lane."""
        return self.result.is_mask and all(self.lanes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(Op):
    """Lane k of the result is lane `lanes[k]`."""

    lanes: tuple[int, ...]

    def problems(self, function: Function) -> Findings:
        if len(self.lanes) != self.result.width:
            yield f"{len(self.lanes)} lanes for a width of {self.result.width}"
        if any(not 0 <= lane < self.args[0].width for lane in self.lanes):
            yield f"a lane is outside the {self.args[0].width} lanes of {self.args[0]}"


@dataclass(frozen=True, slots=True)
class Concat(Op):
    def problems(self, function: Function) -> Findings:
        total = sum(value.width for value in self.args)
        if total != self.result.width or not self.args:
            yield f"the arguments have {total} lanes"


@dataclass(frozen=True, slots=True)
class Bitcast(Op):
    def problems(self, function: Function) -> Findings:
        source, target = self.args[0], self.result
        if BOOL in (source.type, target.type):
            yield "a mask has no bytes"
        elif source.width * source.type.size != target.width * target.type.size:
            yield f"{source.typed} has another number of bytes"


class LaneEmitter(Emitter):
    @operation("const", Const, ANY, "-> x")
    def const(self, type: Type, value: int | float | Sequence[int], width: int = 1) -> Value:
        """A constant: an int (modulo the type) or float for all lanes, or a bit pattern a lane."""
        if isinstance(value, (int, float)):
            lanes: tuple[int, ...] = (bit_pattern(type, value),)
        elif len(value) == width:
            lanes = tuple(value)
        else:
            raise InternalError(f"IR const of {len(value)} lanes for width {width}")
        return self.append(Const("const", (), self.fresh(type, width), self.inst, lanes=lanes))[0]

    def iota(self, type: Type, width: int, step: int = 1) -> Value:
        """The integers 0, step, 2*step, …, one per lane."""
        mask = (1 << type.bits) - 1
        return self.const(type, [k * step & mask for k in range(width)], width)

    @operation("splat", Op, ANY, "x1 -> x")
    def splat(self, x: Value, width: int) -> Value:
        """One lane, repeated `width` times."""
        if x.width == width:
            return x
        if x.width != 1:
            raise InternalError(f"IR splat of {x.width} lanes")
        return self.plain("splat", (x,), x.type, width)

    @operation("shuffle", Shuffle, ANY, "x* -> x*")
    def shuffle(self, x: Value, lanes: Sequence[int]) -> Value:
        """Result lane k is lane lanes[k]."""
        results = self.fresh(x.type, len(lanes))
        return self.append(Shuffle("shuffle", (x,), results, self.inst, lanes=tuple(lanes)))[0]

    def slice(self, x: Value, start: int, width: int) -> Value:
        """Lanes start … start+width-1."""
        if start == 0 and width == x.width:
            return x
        return self.shuffle(x, range(start, start + width))

    @operation("concat", Concat, ANY, "x*.. -> x*")
    def concat(self, parts: Sequence[Value]) -> Value:
        """The lanes of all arguments one after the other."""
        if len(parts) == 1:
            return parts[0]
        results = self.fresh(parts[0].type, sum(p.width for p in parts))
        return self.append(Concat("concat", tuple(parts), results, self.inst))[0]

    @operation("bitcast", Bitcast, DATA, "y* -> x*")
    def bitcast(self, x: Value, type: Type) -> Value:
        """The same bytes as another type; the width scales with the size."""
        if x.type is type:
            return x
        results = self.fresh(type, x.width * x.type.size // type.size)
        return self.append(Bitcast("bitcast", (x,), results, self.inst))[0]


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
