"""Register-indirect access: roots whose address is taken lie as bytes in the thread's record."""

from __future__ import annotations

from eumu.exec.jit.emit import int_type, lane_type, vector_literal, vector_of
from eumu.exec.jit.kernel import LOWERINGS, Kernel
from eumu.exec.jit.layout import FaultKind
from eumu.exec.jit.registers import bits_of_mask
from eumu.exec.jit.support import register_locate, register_loop
from eumu.ir import Op, Value


def _distances(op: Op, width: int) -> tuple[list[int], list[int]]:
    """Per element, the address lane it uses and its byte distance from there."""
    row, offset, hstride = op.attrs["row"], op.attrs["offset"], op.attrs["hstride"]
    inside = [offset + n % row * hstride for n in range(width)]
    if op.args[0].width > 1:
        return [n // row for n in range(width)], inside
    return [0] * width, [d + n // row * op.attrs["vstride"] for n, d in enumerate(inside)]


def _places(k: Kernel, address: Value, lanes: list[int], distances: list[int]) -> str:
    """The register-space address of every element, in memory as i64."""
    e, width = k.e, len(lanes)
    wide, vector = vector_of("i64", address.width), vector_of("i64", width)
    extended = e.op(f"zext {lane_type(address.type, address.width)} {k.vector(address)} to {wide}")
    spread = e.shuffle(extended, "i64", address.width, lanes)
    steps = vector_literal("i64", [str(d) for d in distances])
    place = k.scratchpad("registers", vector)
    e.do(f"store {vector} {e.op(f'add {vector} {spread}, {steps}')}, ptr {place}, align 8")
    return place


def _call(k: Kernel, op: Op, places: str, mask: str, data: str, value: Value, store: bool) -> None:
    """Run the lane loop; leave the thread if an element is outside every root."""
    e = k.e
    e.declarations["llvm.cttz.i64"] = "declare i64 @llvm.cttz.i64(i64, i1)"
    size = value.type.size
    roots = [(r.address, r.size, place) for r, place in k.registers.memory.values()]
    e.support["register.locate"] = register_locate(roots)
    name = f"register.{'write' if store else 'read'}.{size * 8}"
    e.support[name] = register_loop(name, size, store)
    site = k.site(op.inst, "indirect")
    bad = e.call(
        "i64",
        name,
        ("ptr", "%rec"),
        ("ptr", places),
        ("i64", mask),
        ("ptr", data),
    )
    none, out, on = e.op(f"icmp eq i64 {bad}, 0"), e.name("bad"), e.name("on")
    e.do(f"br i1 {none}, label %{on}, label %{out}, !prof !1")
    e.label(out)
    lane = e.op(f"call i64 @llvm.cttz.i64(i64 {bad}, i1 true)")
    first = e.op(f"getelementptr i64, ptr {places}, i64 {lane}")
    address = e.op(f"load i64, ptr {first}")
    k.fault(FaultKind.INDIRECT, site, bad, address)
    e.label(on)


def _read(k: Kernel, op: Op) -> None:
    value, e = op.result, k.e
    lanes, distances = _distances(op, value.width)
    places = _places(k, op.args[0], lanes, distances)
    mask = str((1 << value.width) - 1)
    if len(op.args) > 1 and not k.lanes(op.args[1]).full:
        mask = bits_of_mask(e, k.vector(op.args[1]), value.width, 64)
    block = vector_of(int_type(value.type, 1), value.width)
    data = k.scratchpad("data", block)
    e.do(f"store {block} {'0' if value.width == 1 else 'zeroinitializer'}, ptr {data}, align 8")
    _call(k, op, places, mask, data, value, store=False)
    k.plain(value, e.op(f"load {lane_type(value.type, value.width)}, ptr {data}, align 1"))


def _write(k: Kernel, op: Op) -> None:
    address, value, m = op.args
    e, width = k.e, value.width
    lanes = list(range(width)) if address.width == width else [0] * width
    distances = [op.attrs["offset"] + n * op.attrs["hstride"] for n in range(width)]
    places = _places(k, address, lanes, distances)
    full = k.lanes(m).full
    mask = str((1 << width) - 1) if full else bits_of_mask(e, k.vector(m), width, 64)
    data = k.scratchpad("data", vector_of(int_type(value.type, 1), width))
    e.do(f"store {lane_type(value.type, width)} {k.vector(value)}, ptr {data}, align 1")
    _call(k, op, places, mask, data, value, store=True)


LOWERINGS.update(read_indirect=_read, write_indirect=_write)
