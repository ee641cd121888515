"""Rules 1 to 3: sizes of operands, regioning parameters, registers that a region spans."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.isa.gen9.registers import GRF_BYTES
from eumu.isa.gen9.traits import Trait
from eumu.native.rules.rule import Finding, rule
from eumu.native.rules.subject import Subject, View


def regions(s: Subject) -> Iterator[View]:
    """The sources that have a region in Align1 mode with one start."""
    if not s.is_align16 and s.is_computing:
        yield from (v for v in s.registers_of_sources if v.vstride is not None)


@rule("1.1", "execution size times the largest element is at most 64 bytes")
def largest_element(s: Subject) -> Iterator[Finding]:
    if s.dst is None or not s.is_computing:
        return
    views = (s.dst, *s.registers_of_sources)
    worst = max(views, key=lambda v: v.type.size)
    if s.size * worst.type.size > 64:
        allowed = 64 // worst.type.size
        yield Finding(
            worst.name, f"{s.size} channels of :{worst.type} are too many; at most {allowed}"
        )


@rule("1.2", "a destination narrower than the execution type is aligned and strided to it")
def narrow_destination(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or s.is_ternary or s.size == 1 or s.is_mixed_float or not s.is_computing:
        return
    width, size = s.exec_type.size, dst.type.size
    if width <= size or (size == 1 and dst.hstride == 1 and s.is_raw_move):
        return
    if size == 1 and dst.hstride == 1:
        return  # rule 4.1
    ratio = width // size
    # The compiler gives byte results of byte operations a stride of a dword.
    enough = dst.hstride % ratio == 0 and size == 1 and s.observed
    if dst.hstride != ratio and not enough:
        yield Finding("dst", f"stride {dst.hstride} of :{dst.type}; {ratio} under :{s.exec_type}")
    if size > 2 and not s.is_align16 and dst.pointer is None and dst.byte % width:
        yield Finding("dst", f"byte {dst.byte} is not a multiple of {width}, as :{s.exec_type} is")


def _rows(s: Subject) -> Iterator[View]:
    """The sources that have rows in Align1 mode, each with an address of its own or not."""
    if not s.is_align16 and s.is_computing:
        yield from s.registers_of_sources


@rule("2.1", "the execution size is at least the width")
def width_fits(s: Subject) -> Iterator[Finding]:
    for v in _rows(s):
        if s.size < v.width:
            yield Finding(v.name, f"width {v.width} is over the execution size; at most {s.size}")


@rule("2.2", "one row: the vertical stride is width times horizontal stride")
def one_row(s: Subject) -> Iterator[Finding]:
    for v in regions(s):
        if s.size == v.width and v.width > 1 and v.hstride and v.vstride != v.width * v.hstride:
            yield Finding(v.name, f"vertical stride {v.vstride}; must be {v.width * v.hstride}")


@rule("2.4", "width 1 goes with horizontal stride 0")
def width_one(s: Subject) -> Iterator[Finding]:
    for v in _rows(s):
        # The compiler gives the strides of rule 6.1.1 to rows of one element, too.
        if v.width == 1 and v.hstride and not (s.observed and s.is_wide):
            yield Finding(v.name, f"horizontal stride {v.hstride} with width 1; must be 0")


@rule("2.5", "one channel of width 1: both strides are 0")
def one_element(s: Subject) -> Iterator[Finding]:
    for v in regions(s):
        if s.size == v.width == 1 and (v.vstride or v.hstride):
            yield Finding(v.name, f"strides {v.vstride} and {v.hstride}; must be 0 and 0")


@rule("2.6", "no strides: the width is 1")
def no_strides(s: Subject) -> Iterator[Finding]:
    for v in regions(s):
        if v.vstride == 0 and v.hstride == 0 and v.width != 1:
            yield Finding(v.name, f"width {v.width} without strides; must be 1")


@rule("2.7", "the stride of a destination is not 0")
def destination_stride(s: Subject) -> Iterator[Finding]:
    if s.dst is not None and s.is_computing and s.dst.hstride == 0:
        yield Finding("dst", "stride 0; must be 1, 2 or 4")


@rule("2.8", "a row does not cross registers")
def row_in_register(s: Subject) -> Iterator[Finding]:
    for v in regions(s):
        if v.register is None or v.is_scalar or s.size < v.width:
            continue
        offsets = v.offsets(s.size)
        for first in range(0, s.size, v.width):
            row = offsets[first : first + v.width]
            if row[0] // GRF_BYTES != (row[-1] + v.type.size - 1) // GRF_BYTES:
                start = row[0] % GRF_BYTES
                message = f"the row from byte {start} on ends behind its register"
                yield Finding(v.name, f"{message}; a row has at most {GRF_BYTES - start} bytes")
                break


@rule("G.element", "a subregister is a whole element of its type")
def whole_element(s: Subject) -> Iterator[Finding]:
    if s.dst is None or s.options.align16 or s.is_macro or not s.is_computing:
        return
    for v in (s.dst, *s.sources):
        if v.byte % v.type.size:
            message = f"byte {v.byte} of :{v.type}; must be a multiple of {v.type.size}"
            yield Finding(v.name, message)


@rule("3.1", "a source spans at most two registers")
def source_registers(s: Subject) -> Iterator[Finding]:
    for v in regions(s):
        if v.register is not None and v.registers(s.size) > 2:
            yield Finding(v.name, f"{v.registers(s.size)} registers; at most 2")


@rule("3.2", "a destination spans at most two registers")
def destination_registers(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or dst.is_null or not s.is_computing:
        return
    # The compiler writes over more than two registers indirectly.
    if dst.register is None and s.observed:
        return
    if dst.registers(s.size) > 2:
        yield Finding("dst", f"{dst.registers(s.size)} registers; at most 2")


@rule("3.3", "math splits a destination of two registers evenly")
def even_split(s: Subject) -> Iterator[Finding]:
    dst = s.dst
    if dst is None or dst.register is None or not s.has(Trait.MATH) or s.size == 1:
        return
    offsets = dst.offsets(s.size)
    first = sum(offset < GRF_BYTES for offset in offsets)
    if dst.registers(s.size) == 2 and first != s.size // 2:
        yield Finding("dst", f"{first} channels in the first register; must be {s.size // 2}")
