"""Register-indirect access: roots whose address is taken lie as bytes in the thread's record.

In line, elements are expected in the one root that the address was made of; what is not all there
goes through the slow functions.
"""

from __future__ import annotations

from functools import partial

from eumu.exec.jit.analysis.pointees import pointees
from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.codegen.registers import bits_of_mask, byte_pointer
from eumu.exec.jit.codegen.support import register_locate, register_loop
from eumu.exec.jit.llvm.emit import (
    int_type,
    lane_type,
    mangle,
    scalar_type,
    signed,
    vector_literal,
    vector_of,
)
from eumu.exec.jit.llvm.layout import FaultKind
from eumu.ir import Op, Root, Value
from eumu.ir.operations.state import ReadIndirect, WriteIndirect, addressed
from eumu.records import dataclass


def _distances(op: ReadIndirect, width: int) -> tuple[list[int], list[int]]:
    """Per element, the address lane it uses and its byte distance from there."""
    row, offset, hstride = op.row, op.offset, op.hstride
    inside = [offset + n % row * hstride for n in range(width)]
    if op.args[0].width > 1:
        return [n // row for n in range(width)], inside
    return [0] * width, [d + n // row * op.vstride for n, d in enumerate(inside)]


def _places(k: KernelLowering, address: Value, lanes: list[int], distances: list[int]) -> str:
    """The register-space address of every element, in memory as i64."""
    e, width = k.e, len(lanes)
    wide, vector = vector_of("i64", address.width), vector_of("i64", width)
    extended = e.op(f"zext {lane_type(address.type, address.width)} {k.vector(address)} to {wide}")
    spread = e.shuffle(extended, "i64", address.width, lanes)
    steps = vector_literal("i64", [str(d) for d in distances])
    place = k.scratchpad("registers", vector)
    e.do(f"store {vector} {e.op(f'add {vector} {spread}, {steps}')}, ptr {place}, align 8")
    return place


def _call(
    k: KernelLowering,
    op: Op,
    places: str,
    mask: str,
    data: str,
    value: Value,
    store: bool,
    first: int = 0,
) -> None:
    """Run the lane loop (its lane 0 is lane `first`); leave if one to write is in no root."""
    e = k.e
    e.declarations["llvm.cttz.i64"] = "declare i64 @llvm.cttz.i64(i64, i1)"
    size = value.type.size
    if "register.locate" not in e.support:
        places_of = k.registers.memory
        reached = [(r.address, r.size, places_of[n][1]) for n, r in addressed(k.function).items()]
        e.support["register.locate"] = register_locate(reached)
    name = f"register.{'write' if store else 'read'}.{size * 8}"
    e.support[name] = register_loop(name, size, store)
    bad = e.call(
        "i64",
        name,
        ("ptr", "%ctx"),
        ("ptr", "%rec"),
        ("ptr", places),
        ("i64", mask),
        ("ptr", data),
    )
    if not store:
        return  # what is in no root stays 0
    site = k.site(op.inst, "indirect")
    none, out, on = e.op(f"icmp eq i64 {bad}, 0"), e.name("bad"), e.name("on")
    e.do(f"br i1 {none}, label %{on}, label %{out}, !prof !1")
    e.label(out)
    lane = e.op(f"call i64 @llvm.cttz.i64(i64 {bad}, i1 true)")
    address = e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr {places}, i64 {lane}')}")
    bad = e.op(f"shl i64 {bad}, {first}") if first else bad
    k.fault(FaultKind.INDIRECT, site, bad, address)
    e.label(on)


def pointees_of(k: KernelLowering) -> dict[int, Root]:
    """The root that each address of an access is made of."""
    if k.pointees is None:
        k.pointees = pointees(k.function)
    return k.pointees


def expected(k: KernelLowering, address: Value, distances: list[int], size: int) -> Root | None:
    """The root to try in line, if 32 bits are enough to tell whether an element is in it."""
    root = pointees_of(k).get(address.id)
    if root is None or root.size < size:
        return None
    starts = [root.address - d for d in distances]
    return root if min(starts) >= 0 and max(starts) + root.size < 1 << 32 else None


def _inside(
    k: KernelLowering, root: Root, spread: str, distances: list[int], size: int
) -> tuple[str, str]:
    """Each element's offset in the root, as i32, and whether it lies inside."""
    e, width = k.e, len(distances)
    vector = vector_of("i32", width)
    steps = vector_literal("i32", [str(signed(d - root.address, 32)) for d in distances])
    offsets = e.op(f"add {vector} {spread}, {steps}")
    room = vector_literal("i32", [str(root.size - size)] * width)
    return offsets, e.op(f"icmp ule {vector} {offsets}, {room}")


def _all_inside(
    k: KernelLowering, root: Root, op: Op, lanes: list[int], distances: list[int], mask: str | None
) -> tuple[str, str]:
    """An i1, and the pointers of all elements: of those outside the mask to some place."""
    e, address, width = k.e, op.args[0], len(lanes)
    size = (op.result if op.results else op.args[1]).type.size
    spread = e.shuffle(k.vector(address), "i32", address.width, lanes)
    offsets, inside = _inside(k, root, spread, distances, size)
    vector, flags = vector_of("i32", width), vector_of("i1", width)
    if mask is not None:
        off = e.op(f"xor {flags} {mask}, {vector_literal('i1', ['true'] * width)}")
        inside = e.op(f"or {flags} {inside}, {off}")
        offsets = e.op(f"select {flags} {mask}, {vector} {offsets}, {vector} zeroinitializer")
    ok = e.op(f"icmp eq i{width} {bits_of_mask(e, inside, width, width)}, -1")
    wide = e.op(f"sext {vector} {offsets} to {vector_of('i64', width)}")
    base = byte_pointer(e, k.registers, root, 0)
    return ok, e.op(f"getelementptr i8, ptr {base}, {vector_of('i64', width)} {wide}")


@LOWERINGS.on(ReadIndirect)
def _read(k: KernelLowering, op: ReadIndirect) -> None:
    value, e = op.result, k.e
    lanes, distances = _distances(op, value.width)
    mask = None if len(op.args) < 2 or k.lanes(op.args[1]).full else k.vector(op.args[1])
    root = expected(k, op.args[0], distances, value.type.size)
    if root is None or value.width == 1 or op.args[0].width == 1 or not k.gathers:
        k.plain(value, _slow_read(k, op, lanes, distances, mask))
        return
    ok, pointers = _all_inside(k, root, op, lanes, distances, mask)
    fast, slow, join = (e.name(n) for n in ("fast", "slow", "join"))
    e.do(f"br i1 {ok}, label %{fast}, label %{slow}, !prof !1")
    e.label(fast)
    bits, vector = int_type(value.type, value.width), lane_type(value.type, value.width)
    quick = _gather(k, bits, value.width, pointers)
    if mask is not None:
        flags = vector_of("i1", value.width)
        quick = e.op(f"select {flags} {mask}, {bits} {quick}, {bits} zeroinitializer")
    quick = e.bitcast(quick, bits, vector)
    e.do(f"br label %{join}")
    e.label(slow)
    careful = _slow_read(k, op, lanes, distances, mask)
    after = e.current_label()
    e.do(f"br label %{join}")
    e.label(join)
    k.plain(value, e.op(f"phi {vector} [ {quick}, %{fast} ], [ {careful}, %{after} ]"))


def _gather(k: KernelLowering, bits: str, width: int, pointers: str) -> str:
    """The elements at all pointers."""
    e, kind, flags = k.e, vector_of("ptr", width), vector_of("i1", width)
    name = f"llvm.masked.gather.{mangle(bits)}.v{width}p0"
    e.declarations[name] = f"declare {bits} @{name}({kind}, {flags}, {bits})"
    ones = vector_literal("i1", ["true"] * width)
    return e.op(f"call {bits} @{name}({kind} align 1 {pointers}, {flags} {ones}, {bits} poison)")


def _slow_read(
    k: KernelLowering, op: Op, lanes: list[int], distances: list[int], mask: str | None
) -> str:
    value, e = op.result, k.e
    places = _places(k, op.args[0], lanes, distances)
    chosen = str((1 << value.width) - 1)
    if mask is not None:
        chosen = bits_of_mask(e, mask, value.width, 64)
    block = vector_of(int_type(value.type, 1), value.width)
    data = k.scratchpad("data", block)
    e.do(f"store {block} {'0' if value.width == 1 else 'zeroinitializer'}, ptr {data}, align 8")
    _call(k, op, places, chosen, data, value, store=False)
    return e.op(f"load {lane_type(value.type, value.width)}, ptr {data}, align 1")


@LOWERINGS.on(WriteIndirect)
def _write(k: KernelLowering, op: WriteIndirect) -> None:
    address, value, m = op.args
    width, mask = value.width, k.lanes(m)
    distances = [op.offset + n * op.hstride for n in range(width)]
    possible = mask.possible if width > 1 or mask.bits is not None else 1
    root = expected(k, address, distances, value.type.size)
    if root is None or possible is None or possible.bit_count() != 1 or address.width > 1:
        _flush(k)
        _slow_write(k, op, distances)
        return
    lane = possible.bit_length() - 1
    one = _Element(
        op, k.place, root, k.vector(address), distances[lane], lane, _lane(k, value, lane)
    )
    if mask.bits is None and not mask.full:
        _flush(k)
        on, join = k.e.name("on"), k.e.name("join")
        active = k.e.shuffle(k.vector(m), "i1", width, [lane])
        k.e.do(f"br i1 {active}, label %{on}, label %{join}")
        k.e.label(on)
        _write_elements(k, [one])
        k.e.do(f"br label %{join}")
        k.e.label(join)
        return
    first = k.delayed[0] if k.delayed else one
    if (first.root, first.op.args[1].type) != (root, value.type):
        _flush(k)
    k.delayed.append(one)
    k.emit_delayed = partial(_flush, k)


@dataclass(frozen=True, slots=True)
class _Element:
    """One lane to write; compilers take vectors of addresses apart into these."""

    op: Op
    place: int
    root: Root
    address: str
    distance: int
    lane: int
    data: str


def _lane(k: KernelLowering, value: Value, lane: int) -> str:
    lanes = k.lanes(value)
    affine = lanes.affine
    if affine is not None and affine.shape.uniform and affine.shape.exact:
        return affine.scalars[lane // len(affine.shape.offsets)]
    return k.e.shuffle(lanes.get(), scalar_type(value.type), value.width, [lane])


def _flush(k: KernelLowering) -> None:
    """Emit the writes that wait to be checked together."""
    waiting, k.delayed, k.emit_delayed = k.delayed, [], None
    if waiting:
        place = k.place
        _write_elements(k, waiting)
        k.place = place


def _write_elements(k: KernelLowering, elements: list[_Element]) -> None:
    """Write elements in order, one check for all of them."""
    e, width, root = k.e, len(elements), elements[0].root
    type = elements[0].op.args[1].type
    scalar = scalar_type(type)
    spread = _joined(k, "i32", [x.address for x in elements])
    data = _joined(k, scalar, [x.data for x in elements])
    offsets, inside = _inside(k, root, spread, [x.distance for x in elements], type.size)
    if width > 1:
        inside = e.op(f"icmp eq i{width} {bits_of_mask(e, inside, width, width)}, -1")
    fast, slow, join = (e.name(n) for n in ("fast", "slow", "join"))
    e.do(f"br i1 {inside}, label %{fast}, label %{slow}, !prof !1")
    e.label(fast)
    base = byte_pointer(e, k.registers, root, 0)
    for n in range(width):
        wide = e.op(f"zext i32 {_part(k, offsets, 'i32', width, n)} to i64")
        place = e.op(f"getelementptr i8, ptr {base}, i64 {wide}")
        e.do(f"store {scalar} {_part(k, data, scalar, width, n)}, ptr {place}, align 1")
    e.do(f"br label %{join}")
    e.label(slow)
    _slow_elements(k, elements, spread, data)
    e.do(f"br label %{join}")
    e.label(join)


def _joined(k: KernelLowering, scalar: str, items: list[str]) -> str:
    """A vector of scalars."""
    vector, joined = vector_of(scalar, len(items)), "poison"
    if len(items) == 1:
        return items[0]
    for n, item in enumerate(items):
        joined = k.e.op(f"insertelement {vector} {joined}, {scalar} {item}, i64 {n}")
    return joined


def _part(k: KernelLowering, joined: str, scalar: str, width: int, n: int) -> str:
    return joined if width == 1 else k.e.shuffle(joined, scalar, width, [n])


def _slow_elements(k: KernelLowering, elements: list[_Element], spread: str, data: str) -> None:
    """Each element by itself: each belongs to an instruction of its own."""
    e, width, type = k.e, len(elements), elements[0].op.args[1].type
    scalar = scalar_type(type)
    places, held = k.scratchpad("register", "i64"), k.scratchpad("element", "i64")
    for n, x in enumerate(elements):
        k.place = x.place
        wide = e.op(f"zext i32 {_part(k, spread, 'i32', width, n)} to i64")
        e.do(f"store i64 {e.op(f'add i64 {wide}, {x.distance}')}, ptr {places}")
        e.do(f"store {scalar} {_part(k, data, scalar, width, n)}, ptr {held}")
        _call(k, x.op, places, "1", held, x.op.args[1], store=True, first=x.lane)


def _slow_write(k: KernelLowering, op: Op, distances: list[int]) -> None:
    address, value, m = op.args
    e, width = k.e, value.width
    lanes = list(range(width)) if address.width == width else [0] * width
    places = _places(k, address, lanes, distances)
    full = k.lanes(m).full
    mask = str((1 << width) - 1) if full else bits_of_mask(e, k.vector(m), width, 64)
    data = k.scratchpad("data", vector_of(int_type(value.type, 1), width))
    e.do(f"store {lane_type(value.type, width)} {k.vector(value)}, ptr {data}, align 1")
    _call(k, op, places, mask, data, value, store=True)
