"""Rectangles of bytes: rows that lie inside a linear surface are copied, others byte by byte."""

from __future__ import annotations

from eumu.device.compiled.frame import begin, finish
from eumu.device.compiled.writer import Body, Module
from eumu.device.surfaces.layout import Layout
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class MessageBlock:
    """A block of `width` bytes and `height` rows, `pitch` apart in the message."""

    width: int
    height: int
    pitch: int
    layout: Layout
    clamps: bool
    writes: bool

    @property
    def texel(self) -> int:
        """Bytes."""
        return self.layout.format.bytes


def moving(block: MessageBlock, _: int) -> str:
    """LLVM text of a block's message: x, y, and the rows or the result."""
    module = Module(1)
    b = begin(module)
    rows = b.at("%data", b.field("argument", 3) if block.writes else b.field("result"))
    if not block.writes:
        size = ("i64", str(block.pitch * block.height))
        b.call("void", "llvm.memset.p0.i64", ("ptr", rows), ("i8", "0"), size, ("i1", "false"))
    mask = b.load("i8", b.at("%data", b.field("mask")))
    b.do(f"br i1 {b.op(f'icmp ne i8 {mask}, 0')}, label %some, label %end")
    b.label("some")
    x, y = (
        b.op(f"sext i32 {b.load('i32', b.at('%data', b.field('argument', n)))} to i64")
        for n in (1, 2)
    )
    if block.writes:  # the model says what is wrong with others
        low = b.op(f"and i64 {x}, 3")
        b.do(f"br i1 {b.op(f'icmp eq i64 {low}, 0')}, label %aligned, label %bad")
        b.label("bad")
        b.do("ret i32 2")
        b.label("aligned")
    _rows(b, block, rows, x, y)
    b.label("end")
    return finish(b)


def _rows(b: Body, block: MessageBlock, rows: str, x: str, y: str) -> None:
    """A loop over rows; each is copied whole if it can be."""
    extent = [b.op(f"sext i32 {b.field('extent', n)} to i64") for n in range(2)]
    after = b.op(f"add i64 {x}, {block.width}")
    whole = b.op(f"icmp sge i64 {x}, 0")
    whole = b.op(f"and i1 {whole}, {b.op(f'icmp sle i64 {after}, {extent[0]}')}")
    if block.layout.tiles:  # four bytes together lie in one column of a tile
        together = block.width % 4 == 0 and not block.texel & (block.texel - 1)
        low = (b.wide(x) + b.alone("level", 3)) & 3
        aligned = b.op(f"icmp eq i64 {low.name}, 0")
        whole = b.op(f"and i1 {whole}, {aligned}") if together else "false"
    last = b.op(f"sub i64 {extent[1]}, 1")
    base = b.pointer("base")
    start = b.current_label()
    b.do("br label %row")
    b.label("row")
    b.do(f"%r = phi i64 [ 0, %{start} ], [ %r.next, %row.end ]")
    line = b.op(f"add i64 {y}, %r")
    near = b.intrinsic("smin", "i64", b.intrinsic("smax", "i64", line, "0"), last)
    there = b.op(f"getelementptr i8, ptr {rows}, i64 {b.op(f'mul i64 %r, {block.pitch}')}")
    if not block.clamps:
        inside = b.op(f"icmp eq i64 {near}, {line}")
        b.do(f"br i1 {inside}, label %row.inside, label %row.end")
        b.label("row.inside")
    b.do(f"br i1 {whole}, label %row.whole, label %octets")
    b.label("row.whole")
    if block.layout.tiles:
        _dwords(b, block, there, base, x, near)
    else:
        place = _offset(b, block, x, near)
        _copy(b, block, there, b.op(f"getelementptr i8, ptr {base}, i64 {place}"))
    b.do("br label %row.end")
    b.label("octets")
    _octets(b, block, there, base, x, near, extent[0])
    b.do("br label %row.end")
    b.label("row.end")
    b.do("%r.next = add i64 %r, 1")
    b.do(f"%r.more = icmp ult i64 %r.next, {block.height}")
    b.do("br i1 %r.more, label %row, label %end")


def _copy(b: Body, block: MessageBlock, there: str, here: str) -> None:
    target, source = (here, there) if block.writes else (there, here)
    size = ("i64", str(block.width))
    b.call("void", "llvm.memcpy.p0.p0.i64", ("ptr", target), ("ptr", source), size, ("i1", "false"))


def _dwords(b: Body, block: MessageBlock, there: str, base: str, x: str, row: str) -> None:
    """A row of a tiled surface, four bytes at a time."""
    start = b.current_label()
    b.do("br label %dword")
    b.label("dword")
    b.do(f"%d = phi i64 [ 0, %{start} ], [ %d.next, %dword ]")
    place = _offset(b, block, b.op(f"add i64 {x}, %d"), row)
    here = b.op(f"getelementptr i8, ptr {base}, i64 {place}")
    mine = b.op(f"getelementptr i8, ptr {there}, i64 %d")
    target, source = (here, mine) if block.writes else (mine, here)
    b.store("i32", b.load("i32", source), target)
    b.do("%d.next = add i64 %d, 4")
    b.do(f"%d.more = icmp ult i64 %d.next, {block.width}")
    b.do("br i1 %d.more, label %dword, label %dwords.end")
    b.label("dwords.end")


def _octets(
    b: Body, block: MessageBlock, there: str, base: str, x: str, row: str, across: str
) -> None:
    """A row byte by byte; beyond an edge the last texel repeats, or nothing is done."""
    start = b.current_label()
    b.do("br label %octet")
    b.label("octet")
    b.do(f"%c = phi i64 [ 0, %{start} ], [ %c.next, %octet.end ]")
    left = b.op(f"add i64 {x}, %c")
    before, behind = (
        b.op(f"icmp slt i64 {left}, 0"),
        b.op(f"icmp sge i64 {left}, {across}"),
    )
    if block.clamps:
        rest = b.op(f"srem i64 {left}, {block.texel}")
        up = b.op(f"add i64 {rest}, {block.texel}")
        negative = b.op(f"icmp slt i64 {rest}, 0")
        rest = b.op(f"select i1 {negative}, i64 {up}, i64 {rest}")
        end = b.op(f"add i64 {b.op(f'sub i64 {across}, {block.texel}')}, {rest}")
        left = b.op(f"select i1 {behind}, i64 {end}, i64 {left}")
        left = b.op(f"select i1 {before}, i64 {rest}, i64 {left}")
    else:
        outside = b.op(f"or i1 {before}, {behind}")
        b.do(f"br i1 {outside}, label %octet.end, label %octet.inside")
        b.label("octet.inside")
    inside = "0"
    if block.layout.tiles and block.texel & (block.texel - 1):  # such a texel may leave its column
        inside = b.op(f"urem i64 {left}, {block.texel}")
        left = b.op(f"sub i64 {left}, {inside}")
    place = b.op(f"add i64 {_offset(b, block, left, row)}, {inside}")
    here = b.op(f"getelementptr i8, ptr {base}, i64 {place}")
    mine = b.op(f"getelementptr i8, ptr {there}, i64 %c")
    target, source = (here, mine) if block.writes else (mine, here)
    b.store("i8", b.load("i8", source), target)
    b.do("br label %octet.end")
    b.label("octet.end")
    b.do("%c.next = add i64 %c, 1")
    b.do(f"%c.more = icmp ult i64 %c.next, {block.width}")
    b.do("br i1 %c.more, label %octet, label %octets.end")
    b.label("octets.end")


def _offset(b: Body, block: MessageBlock, left: str, row: str) -> str:
    """Bytes from the base to a byte of a row."""
    start = (b.wide(v) + b.alone("level", 3 + n) for n, v in enumerate((left, row)))
    return block.layout.at(b.alone, *start).name
