"""Rows: several elements that follow each other in each lane, loaded as a vector a lane.

What code wants are vectors of lanes, one for each element: rows are transposed in registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.emit import int_type, lane_type, vector_of
from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.layout import LINE, VOID_BYTES, Context
from eumu.types import Type

_LEAST = 3  # elements; fewer are gathered


def are_worth_it(type: Type, count: int) -> bool:
    """Whether so many elements a lane are loaded as rows."""
    return count >= _LEAST and count * type.size <= LINE


def or_zeros(k: KernelLowering, pointers: str, mask: str | None, width: int) -> str:
    """Pointers to zeros in lanes outside a mask; there are VOID_BYTES."""
    if mask is None:
        return pointers
    kind, nowhere = vector_of("ptr", width), k.e.splat(k.context(Context.ZEROS), "ptr", width)
    return k.e.op(f"select {vector_of('i1', width)} {mask}, {kind} {pointers}, {kind} {nowhere}")


def load(
    k: KernelLowering, pointers: str, mask: str | None, type: Type, count: int, width: int
) -> list[str]:
    """`count` vectors of elements; 0 in lanes that are off."""
    assert count * type.size <= VOID_BYTES
    kind = vector_of("ptr", width)
    places = k.scratchpad("pointers", kind)
    k.e.do(f"store {kind} {or_zeros(k, pointers, mask, width)}, ptr {places}, align 8")
    return _loaded(k, places, type, count, width)


def are_apart(type: Type, count: int, offsets: Sequence[int]) -> bool:
    """Whether so many elements a lane are loaded as rows where it is known how far they are apart:
    most bytes of vectors that reach from the first lane to the last would be for nothing."""
    reach = max(offsets) - min(offsets) + count * type.size
    return are_worth_it(type, count) and reach > 2 * len(offsets) * count * type.size


def load_known(
    k: KernelLowering, origin: str, offsets: Sequence[int], type: Type, count: int
) -> list[str]:
    """The same for lanes at such distances from one place; all are loaded."""
    e, width = k.e, len(offsets)
    places = k.scratchpad("known pointers", f"[{width} x ptr]")
    for lane, offset in enumerate(offsets):
        pointer = e.op(f"getelementptr i8, ptr {origin}, i64 {offset}")
        e.do(f"store ptr {pointer}, ptr {e.op(f'getelementptr ptr, ptr {places}, i64 {lane}')}")
    return _loaded(k, places, type, count, width)


def _loaded(k: KernelLowering, places: str, type: Type, count: int, width: int) -> list[str]:
    """What lies at pointers, element by element."""
    e, whole = k.e, 1 << (count - 1).bit_length()
    data = k.scratchpad("rows", vector_of(int_type(type, 1), whole * width))
    name = f"rows.{width}x{count}.{type.bits}"
    if name not in e.support:
        e.support[name] = rows(name, width, count, type.bits, attributes="alwaysinline")
    e.do(f"call void @{name}(ptr %ctx, ptr {places}, ptr {data})")
    vector, size = lane_type(type, width), width * type.size
    parts = (e.op(f"getelementptr i8, ptr {data}, i64 {n * size}") for n in range(count))
    return [e.op(f"load {vector}, ptr {part}, align 8") for part in parts]


def rows(
    name: str, lanes: int, count: int, bits: int, every: int = 1, attributes: str = "noinline"
) -> str:
    """A function that loads `count` elements in each lane, each `every` elements from the last, and
    stores them element by element, lanes side by side; as many as the next power of two."""
    f = FunctionBuilder(f"internal void @{name}(ptr %ctx, ptr %pointers, ptr %data) {attributes}")
    whole = 1 << (count - 1).bit_length()
    block = min(lanes, LINE * 8 // bits)
    for first in range(0, lanes, block):
        loaded = [_row(f, lane, count, bits, every) for lane in range(first, first + block)]
        chunk = min(LINE * 8 // bits, block * whole)
        parts = _turned(f, _packed(f, loaded, whole, bits, chunk), bits, chunk, block)
        for n, part in enumerate(parts):
            element, lane = divmod(n * chunk, block)
            place = (element * lanes + first + lane) * bits // 8
            target = f.op(f"getelementptr i8, ptr %data, i64 {place}")
            f.do(f"store {vector_of(f'i{bits}', chunk)} {part}, ptr {target}, align 1")
    f.do("ret void")
    return f.text()


def _row(f: FunctionBuilder, lane: int, count: int, bits: int, every: int) -> str:
    place = f.op(f"load ptr, ptr {f.elements(64, '%pointers', lane)}")
    length, scalar = (count - 1) * every + 1, f"i{bits}"
    whole = f.op(f"load {vector_of(scalar, length)}, ptr {place}, align 1")
    wanted = [*range(0, length, every)]
    missing = (1 << (count - 1).bit_length()) - count
    return f.shuffle(whole, scalar, length, wanted + [-1] * missing)


def _packed(f: FunctionBuilder, parts: list[str], size: int, bits: int, chunk: int) -> list[str]:
    """Neighbours joined until each has so many elements."""
    while size < chunk:
        pairs: Iterable[tuple[str, str]] = zip(parts[::2], parts[1::2], strict=True)
        parts = [f.blend(a, b, f"i{bits}", size, range(2 * size)) for a, b in pairs]
        size *= 2
    return parts


def _turned(f: FunctionBuilder, parts: list[str], bits: int, size: int, rows: int) -> list[str]:
    """All elements in the order of columns: the halves of all are interleaved, once for each bit of
    the number of rows, so that these bits come last in the number of a place."""
    low = [k // 2 + k % 2 * size for k in range(size)]
    for _ in range(rows.bit_length() - 1):
        if len(parts) == 1:
            halves = [k // 2 + k % 2 * size // 2 for k in range(size)]
            parts = [f.shuffle(parts[0], f"i{bits}", size, halves)]
            continue
        half = len(parts) // 2
        parts = [
            f.blend(a, b, f"i{bits}", size, lanes)
            for a, b in zip(parts[:half], parts[half:], strict=True)
            for lanes in (low, [k + size // 2 for k in low])
        ]
    return parts
