"""Typed atomics: lane after lane, each one operation on memory that other threads see whole."""

from __future__ import annotations

from typing import Final

from eumu.device.compiled.frame import begin, chunks, finish
from eumu.device.compiled.loads import LoadCoordinates, spot
from eumu.device.compiled.writer import Body, Module
from eumu.device.surfaces.typed import OPERATIONS
from eumu.exec.jit.llvm.vectors import Vector
from eumu.records import dataclass

_PLAIN: Final = {"add", "sub", "and", "or", "xor", "xchg"}


@dataclass(frozen=True, slots=True)
class Atomic:
    """An operation on texels of `bits` 16 or 32, `kind` unsigned, signed or float."""

    access: LoadCoordinates
    operation: str
    kind: str
    bits: int


def changing(atomic: Atomic, width: int) -> str:
    """LLVM text of the message; its result are the old texels, of `predec` the new ones."""
    b = begin(Module(width))
    access, type = atomic.access, f"i{atomic.bits}"
    places, flags, old = (b.op(f"alloca {t}, align 64") for t in (b.i, b.lanes("i8"), b.i))
    data = [b.op(f"alloca {b.i}, align 64") for _ in access.data]
    base = b.pointer("base")
    with chunks(b, [("i", 32)]) as lanes:
        at = spot(access, lanes)
        b.store(b.i, at.offsets(b, access.texels).name, places)
        b.store_flags(at.inside, flags)
        b.store(b.i, b.constant(0).name, old)
        for place, index in zip(data, access.data, strict=True):
            b.store(b.i, lanes.argument(index, "i").name, place)
        before = b.current_label()
        b.do("br label %each")
        b.label("each")
        b.do(f"%lane = phi i32 [ 0, %{before} ], [ %later, %done ]")
        flag = b.load("i8", b.op(f"getelementptr i8, ptr {flags}, i32 %lane"))
        b.do(f"br i1 {b.op(f'icmp ne i8 {flag}, 0')}, label %change, label %done")
        b.label("change")
        where = b.at(base, b.load("i32", b.op(f"getelementptr i32, ptr {places}, i32 %lane")))
        operands = [
            b.load(type, b.op(f"getelementptr i32, ptr {place}, i32 %lane")) for place in data
        ]
        seen = _changed(b, atomic, where, operands)
        if atomic.bits < 32:
            seen = b.op(f"zext {type} {seen} to i32")
        b.store("i32", seen, b.op(f"getelementptr i32, ptr {old}, i32 %lane"))
        b.do("br label %done")
        b.label("done")
        b.do("%later = add i32 %lane, 1")
        b.do(f"%again = icmp ult i32 %later, {width}")
        b.do("br i1 %again, label %each, label %changed")
        b.label("changed")
        lanes.result(0, b.vector("i", b.load(b.i, old)))
    return finish(b)


def _changed(b: Body, atomic: Atomic, where: str, operands: list[str]) -> str:
    """Do it in one lane; what its result is."""
    type, name, align = f"i{atomic.bits}", atomic.operation, atomic.bits // 8
    is_float = atomic.kind == "float" and name != "xchg"
    if name == "load":
        return b.op(f"load atomic {type}, ptr {where} monotonic, align {align}")
    if not is_float:
        if name in ("inc", "dec", "predec"):
            op = "add" if name == "inc" else "sub"
            old = b.op(f"atomicrmw {op} ptr {where}, {type} 1 monotonic, align {align}")
            return b.op(f"sub {type} {old}, 1") if name == "predec" else old
        if name in _PLAIN:
            return b.op(
                f"atomicrmw {name} ptr {where}, {type} {operands[0]} monotonic, align {align}"
            )
        if name in ("min", "max"):
            op = name if atomic.kind == "signed" else f"u{name}"
            return b.op(
                f"atomicrmw {op} ptr {where}, {type} {operands[0]} monotonic, align {align}"
            )
        pair = b.op(
            f"cmpxchg ptr {where}, {type} {operands[1]}, {type} {operands[0]} monotonic monotonic,"
            f" align {align}"
        )
        return b.op(f"extractvalue {{ {type}, i1 }} {pair}, 0")
    return _float_changed(b, name, where, operands)


def _float_changed(b: Body, name: str, where: str, operands: list[str]) -> str:
    """Operations on floats of 32 bits, tried until nobody came between."""
    again, on = b.name("again"), b.name("on")
    first = b.op(f"load atomic i32, ptr {where} monotonic, align 4")
    before = b.current_label()
    b.do(f"br label %{again}")
    b.label(again)
    b.do(f"%held = phi i32 [ {first}, %{before} ], [ %found, %{again} ]")
    names = (b.op(f"bitcast i32 {v} to float") for v in ("%held", *operands, "%held", "%held")[:3])
    old, x, y = (Vector(b, "f", v, 1) for v in names)
    bits = b.bits(OPERATIONS[name](b, old, x, y)).name
    pair = b.op(f"cmpxchg ptr {where}, i32 %held, i32 {bits} monotonic monotonic, align 4")
    b.do(f"%found = extractvalue {{ i32, i1 }} {pair}, 0")
    success = b.op(f"extractvalue {{ i32, i1 }} {pair}, 1")
    b.do(f"br i1 {success}, label %{on}, label %{again}")
    b.label(on)
    return bits if name == "predec" else "%held"
