"""Lane-wise float operations: LLVM text for `width` lanes, without fast-math, in any rounding mode.

Half operations to nearest are those of the host if it has them.  Else half and bfloat operations
are done in float where one more rounding cannot change the result (add, sub, mul, div, sqrt to
nearest; fma of halves, whose sum is rounded to odd), else in double.  Where instructions cannot
name a directed mode, it is set, used and taken back inside one small function that is never
inlined, so no other code can move into it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from eumu.exec.jit.codegen import embedded
from eumu.exec.jit.codegen.narrow import Words, narrow, narrow_double, to_odd, widen
from eumu.exec.jit.llvm.emit import (
    Emitter,
    int_type,
    lane_type,
    mangle,
    scalar_type,
    signed,
    vector_literal,
    vector_of,
)
from eumu.ir import Op, Rounding
from eumu.ir.operations.arithmetic import Compare, Convert, Rounded
from eumu.types import BF, DF, HF, F, Type

_LLVM_MODE = {Rounding.RTZ: 0, Rounding.RU: 2, Rounding.RD: 3}  # of llvm.set.rounding; nearest is 1
_PLAIN = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_NARROW = (HF, BF)


def mode_of(op: Rounded) -> Rounding:
    """The rounding mode; a kernel that never changes %cr0 rounds to nearest."""
    rounding = op.rounding
    return Rounding.RNE if rounding is Rounding.CR0 else rounding


def directed(e: Emitter, name: str, result: str, rounding: Rounding, *args: tuple[str, str]) -> str:
    """Call the constrained intrinsic `name` in a directed mode, through a function of its own."""
    types = [t for t, _ in args]
    overloads = [result] if name not in ("sitofp", "uitofp", "fptrunc") else [result, types[0]]
    mangled = ".".join(mangle(t) for t in overloads)
    function = f"directed.{name}.{rounding.name}.{mangled}"
    intrinsic = f"llvm.experimental.constrained.{name}.{mangled}"
    e.declarations[intrinsic] = (
        f"declare {result} @{intrinsic}({', '.join([*types, 'metadata', 'metadata'])})"
    )
    e.declarations["llvm.set.rounding"] = "declare void @llvm.set.rounding(i32)"
    parameters = [f"{t} %x{k}" for k, t in enumerate(types)]
    extra = ['metadata !"round.dynamic"', 'metadata !"fpexcept.strict"']
    e.support[function] = "\n".join(
        [
            f"define internal {result} @{function}({', '.join(parameters)}) noinline strictfp {{",
            f"  call void @llvm.set.rounding(i32 {_LLVM_MODE[rounding]}) strictfp",
            f"  %r = call {result} @{intrinsic}({', '.join(parameters + extra)}) strictfp",
            "  call void @llvm.set.rounding(i32 1) strictfp",
            f"  ret {result} %r",
            "}",
        ]
    )
    return e.call(result, function, *args)


def _basic(e: Emitter, name: str, scalar: str, width: int, mode: Rounding, *x: str) -> str:
    """add, sub, mul, div, sqrt or fma of floats or doubles."""
    vector = vector_of(scalar, width)
    if mode is not Rounding.RNE and e.embedded_rounding:
        return embedded.arithmetic(e, name, scalar, width, mode, *x)
    if mode is not Rounding.RNE:
        return directed(e, _PLAIN.get(name, name), vector, mode, *((vector, a) for a in x))
    if name in _PLAIN:
        return e.op(f"{_PLAIN[name]} {vector} {', '.join(x)}")
    return e.intrinsic(name, vector, *x)


def rounded(e: Emitter, op: Rounded, width: int, *x: str) -> str:
    """Any operation that rounds its exact result once."""
    type, mode = op.result.type, mode_of(op)
    if type not in _NARROW:
        return _basic(e, op.name, scalar_type(type), width, mode, *x)
    if type is HF and mode is Rounding.RNE and e.half_arithmetic:
        return _half(e, op.name, width, *x)
    single, double = vector_of("float", width), vector_of("double", width)
    wide = [widen(e, type, width, a) for a in x]
    if op.name != "fma" and mode is Rounding.RNE:
        return narrow(e, type, width, _basic(e, op.name, "float", width, mode, *wide), mode)
    if type is HF and mode is Rounding.RNE:
        return narrow(e, type, width, _fused_to_odd(e, width, *wide), mode)
    wider = [e.op(f"fpext {single} {a} to {double}") for a in wide]
    result = _basic(e, op.name, "double", width, mode, *wider)
    return narrow_double(e, type, width, result, mode)


def _half(e: Emitter, name: str, width: int, *x: str) -> str:
    """The same of halves, by the host's instructions, which never flush subnormal numbers."""
    words, halves = vector_of("i16", width), vector_of("half", width)
    operands = (e.bitcast(a, words, halves) for a in x)
    return e.bitcast(_basic(e, name, "half", width, Rounding.RNE, *operands), halves, words)


def _fused_to_odd(e: Emitter, width: int, a: str, b: str, c: str) -> str:
    """``a * b + c`` of halves as a float, rounded to odd.

    A product of halves is exact in float.  So is what the sum lost: no number of them is near the
    ends of float's range (Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
    """
    vector = vector_of("float", width)
    product = e.op(f"fmul {vector} {a}, {b}")
    total = e.op(f"fadd {vector} {product}, {c}")
    second = e.op(f"fsub {vector} {total}, {product}")
    first = e.op(f"fsub {vector} {total}, {second}")
    losses = (
        e.op(f"fsub {vector} {product}, {first}"),
        e.op(f"fsub {vector} {c}, {second}"),
    )
    lost = e.op(f"fadd {vector} {', '.join(losses)}")
    return to_odd(e, width, total, "float", lost)


_ROUND = {
    Rounding.RNE: "roundeven",
    Rounding.RU: "ceil",
    Rounding.RD: "floor",
    Rounding.RTZ: "trunc",
}


def integral(e: Emitter, op: Rounded, width: int, x: str) -> str:
    """The operation `round`."""
    type, name = op.result.type, _ROUND[mode_of(op)]
    if type in _NARROW:
        result = e.intrinsic(name, vector_of("float", width), widen(e, type, width, x))
        return narrow(e, type, width, result, Rounding.RNE)
    return e.intrinsic(name, lane_type(type, width), x)


_EXPONENT = {HF: 0x7C00, BF: 0x7F80, F: 0x7F800000, DF: 0x7FF << 52}


def flush(e: Emitter, op: Op, width: int, x: str) -> str:
    type = op.result.type
    vector, w = lane_type(type, width), Words(e, type.bits, width)
    bits = e.bitcast(x, vector, w.type)
    tiny = w.cmp("eq", w.op("and", bits, _EXPONENT[type]), 0)
    sign = w.op("and", bits, 1 << (type.bits - 1))
    return e.bitcast(w.select(tiny, sign, bits), w.type, vector)


def neg(e: Emitter, op: Op, width: int, x: str) -> str:
    type = op.result.type
    if type in _NARROW:
        return Words(e, 16, width).op("xor", x, 0x8000)
    return e.op(f"fneg {lane_type(type, width)} {x}")


def absolute(e: Emitter, op: Op, width: int, x: str) -> str:
    type = op.result.type
    if type in _NARROW:
        return Words(e, 16, width).op("and", x, 0x7FFF)
    return e.intrinsic("fabs", lane_type(type, width), x)


def _comparable(e: Emitter, type: Type, width: int, *x: str) -> tuple[str, list[str]]:
    if type in _NARROW:
        return vector_of("float", width), [widen(e, type, width, a) for a in x]
    return lane_type(type, width), list(x)


def _extremum(relation: str, e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    type, mask = op.result.type, vector_of("i1", width)
    compared, (a, b) = _comparable(e, type, width, x, y)
    first = e.op(f"fcmp {relation} {compared} {a}, {b}")
    nan = e.op(f"fcmp uno {compared} {b}, {b}")
    chosen = e.op(f"or {mask} {first}, {nan}")
    vector = lane_type(type, width)
    return e.op(f"select {mask} {chosen}, {vector} {x}, {vector} {y}")


def minimum(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return _extremum("olt", e, op, width, x, y)


def maximum(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return _extremum("oge", e, op, width, x, y)


def cmp(e: Emitter, op: Compare, width: int, x: str, y: str) -> str:
    compared, (a, b) = _comparable(e, op.args[0].type, width, x, y)
    relation = {"ne": "une"}.get(op.rel, "o" + op.rel)
    return e.op(f"fcmp {relation} {compared} {a}, {b}")


def convert(e: Emitter, op: Convert, width: int, x: str) -> str:
    """To or from a float type."""
    source, target = op.args[0].type, op.result.type
    if not target.is_float:
        return _to_integer(e, source, target, width, x)
    if not source.is_float:
        return _from_integer(e, op, width, x)
    return _between_floats(e, op, width, x)


def _to_integer(e: Emitter, source: Type, target: Type, width: int, x: str) -> str:
    vector, (x,) = _comparable(e, source, width, x)
    result = int_type(target, width)
    name = "fptosi" if target.is_signed else "fptoui"
    if width == 1:
        return e.call(result, f"llvm.{name}.sat.{mangle(result)}.{mangle(vector)}", (vector, x))
    return _clamped(e, DF if source is DF else F, target, width, x)


def _clamped(e: Emitter, source: Type, target: Type, width: int, x: str) -> str:
    """Saturating conversion of vectors, for which LLVM would take the lanes one by one."""
    vector, result, mask = lane_type(source, width), int_type(target, width), vector_of("i1", width)

    def constant(value: float) -> str:
        bits = int.from_bytes(struct.pack("<d", value), "little")
        return vector_literal(scalar_type(source), [f"0x{bits:016X}"] * width)

    def integer(value: int) -> str:
        return vector_literal(f"i{target.bits}", [str(signed(value, target.bits))] * width)

    top = 1 << (target.bits - target.is_signed)
    digits = 53 if source is DF else 24
    spare = max(0, top.bit_length() - 1 - digits)
    highest = constant(float(top - (1 << spare)))
    lowest = constant(float(target.minimum))
    above = e.op(f"fcmp ogt {vector} {x}, {lowest}")
    raised = e.op(f"select {mask} {above}, {vector} {x}, {vector} {lowest}")
    below = e.op(f"fcmp olt {vector} {raised}, {highest}")
    inside = e.op(f"select {mask} {below}, {vector} {raised}, {vector} {highest}")
    name = "fptosi" if target.is_signed else "fptoui"
    value = e.op(f"{name} {vector} {inside} to {result}")
    if spare:  # the greatest integer is between two floats
        over = e.op(f"fcmp oge {vector} {x}, {constant(float(top))}")
        value = e.op(f"select {mask} {over}, {result} {integer(top - 1)}, {result} {value}")
    number = e.op(f"fcmp ord {vector} {x}, {x}")
    return e.op(f"select {mask} {number}, {result} {value}, {result} zeroinitializer")


def _from_integer(e: Emitter, op: Convert, width: int, x: str) -> str:
    source, target, mode = op.args[0].type, op.result.type, mode_of(op)
    name, vector = "sitofp" if source.is_signed else "uitofp", int_type(source, width)
    if target in _NARROW:
        x = _sticky(e, width, x, source) if source.bits == 64 else x
        double = vector_of("double", width)
        exact = e.op(f"{name} {vector} {x} to {double}")
        return narrow_double(e, target, width, exact, mode)
    result = lane_type(target, width)
    if mode is Rounding.RNE:
        return e.op(f"{name} {vector} {x} to {result}")
    rounded = _directed_conversion(e, name, source, target, width, mode, x)
    # LLVM expands unsigned conversions with a subtraction, whose zero is negative rounding down.
    return rounded if source.is_signed else e.intrinsic("fabs", result, rounded)


def _directed_conversion(
    e: Emitter, name: str, source: Type, target: Type, width: int, mode: Rounding, x: str
) -> str:
    kinds = scalar_type(source), scalar_type(target)
    if e.embedded_rounding and embedded.has_conversion(*kinds):
        return embedded.conversion(e, name, *kinds, width, mode, x)
    return directed(e, name, lane_type(target, width), mode, (lane_type(source, width), x))


def _sticky(e: Emitter, width: int, x: str, source: Type) -> str:
    """64-bit integers with the bits that a double cannot hold gathered in bit 11."""
    w = Words(e, 64, width)
    low = w.op("and", x, 0x7FF)
    kept = w.op("and", x, -0x800)
    gathered = w.op("or", kept, w.select(w.cmp("ne", low, 0), 0x800, 0))
    size = e.intrinsic("abs", w.type, x, extra="i1 false") if source.is_signed else x
    return w.select(w.cmp("ugt", size, 1 << 53), gathered, x)


def _between_floats(e: Emitter, op: Convert, width: int, x: str) -> str:
    source, target, mode = op.args[0].type, op.result.type, mode_of(op)
    single, double = vector_of("float", width), vector_of("double", width)
    if source is DF:
        if target in _NARROW:
            return narrow_double(e, target, width, x, mode)
        if mode is not Rounding.RNE:
            return _directed_conversion(e, "fptrunc", source, target, width, mode, x)
        return e.op(f"fptrunc {double} {x} to {single}")
    wide = widen(e, source, width, x) if source in _NARROW else x
    if target is F:
        return wide
    if target is DF:
        return e.op(f"fpext {single} {wide} to {double}")
    return narrow(e, target, width, wide, mode)


FLOAT_OPS: dict[str, Callable[..., str]] = {
    "add": rounded,
    "sub": rounded,
    "mul": rounded,
    "div": rounded,
    "fma": rounded,
    "sqrt": rounded,
    "round": integral,
    "flush": flush,
    "neg": neg,
    "abs": absolute,
    "min": minimum,
    "max": maximum,
    "cmp": cmp,
    "convert": convert,
}
