"""Vector operands: `V(r,c)<v;w,h>`, `r[A(0),0]<1;1,0>:d`, predicates, addresses, immediates.

Source: vISA page "Operands"; the text is what Intel's front end accepts and its compiler prints.
"""

from __future__ import annotations

import re
from typing import Any

from eumu.ir import Region, Value
from eumu.isa.kinds.builder import InstBuilder, WritePlace
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import (
    pack_destination,
    pack_source,
    unpack_destination,
    unpack_source,
)
from eumu.isa.kinds.immediate import (
    bind_immediate,
    parse_immediate,
    print_immediate,
    starts_immediate,
)
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import NAME, expression
from eumu.isa.kinds.modifiers import modified
from eumu.isa.kinds.operands import (
    AddressOf,
    AddressOperand,
    General,
    Immediate,
    Indirect,
    PredicateOperand,
    StateOperand,
)
from eumu.isa.kinds.variables import (
    AddressVariable,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
    by_type_name,
)
from eumu.isa.limits import DESTINATION, SOURCE
from eumu.records import dataclass
from eumu.types import BOOL, UD

_TYPE = re.compile(r":([A-Za-z]+)\b")
_INDIRECT = re.compile(r"r\[")
_MODIFIER = re.compile(r"\((-abs|abs|-|~)\)")
_SAT = re.compile(r"\.sat\b")

# The usual forms, in one step; whatever they do not fit is read token by token.
_SOURCE = re.compile(
    r"[ \t]*(?:\((-abs|abs|-|~)\))?([A-Za-z_%]\w*)\((\d{1,4}),(\d{1,4})\)"
    r"<(0|1|2|4|8|16|32);(1|2|4|8|16),(0|1|2|4)>",
    re.ASCII,
)
_DESTINATION = re.compile(r"[ \t]*([A-Za-z_%]\w*)\((\d{1,4}),(\d{1,4})\)<(1|2|4)>", re.ASCII)

# What else than a region of a variable may be written, by class of operand (eumu.isa.limits).
_OTHER_FORMS = {
    "p": ("a predicate variable", "P1"),
    "a": ("an address variable", "A0(0)<8>"),
    "&": ("the address of a variable", "&{name}"),
    "s": ("a surface or sampler", "T6(0)"),
}
_SOURCE_FORMS = {
    "r": ("those at an address", "r[A0(0),0]<1;1,0>:d"),
    "i": ("a constant", "2:d"),
    **_OTHER_FORMS,
}
_SCALAR_FORMS = {**_SOURCE_FORMS, "r": ("one at an address", "r[A0(0),0]<0;1,0>:d")}
_DESTINATION_FORMS = {"r": ("those at an address", "r[A0(0),0]<1>:d"), **_OTHER_FORMS}

_STRIDES = {"v": (0, 1, 2, 4, 8, 16, 32), "w": (1, 2, 4, 8, 16, 32), "h": (0, 1, 2, 4)}
_WHAT = {"v": "vertical stride", "w": "width", "h": "horizontal stride"}


# Since then messages to the sampler take pointers of 64 bits, too (Xe3p); no others do.
BY_POINTER = ("a surface variable", "a sampler variable")
BEFORE_POINTERS = (4, 1)
POINTERS = "pointers to states, as Xe3p has them, in other messages than those to the sampler are"


def variable(cursor: Cursor, names: Names, *kinds: type, what: str = "a variable") -> Any:
    """A declared name of one of these classes."""
    start = cursor.skip()
    name = cursor.need(NAME, what).group()
    declared = names.find(name)
    if declared is None:
        cursor.fail(
            f"'{name}' is not declared{names.suggest(name)}", start=start, code="undeclared"
        )
    if kinds and not isinstance(declared, kinds):
        if declared.category == "G" and what in BY_POINTER and names.version > BEFORE_POINTERS:
            cursor.fail(
                f"'{name}' is no {what.partition(' ')[2]}: {POINTERS} not modelled", start=start
            )
        cursor.fail(f"expected {what}, but '{name}' is a {_describe(declared)}", start=start)
    return declared


def _describe(declared: Any) -> str:
    return {
        "G": "general variable",
        "A": "address variable",
        "P": "predicate variable",
        "T": "surface variable",
        "S": "sampler variable",
    }[declared.category]


def _stride(cursor: Cursor, names: Names, which: str) -> int:
    start = cursor.skip()
    value = expression(cursor, names)
    _check_stride(cursor, which, value, start)
    return value


def _check_stride(cursor: Cursor, which: str, value: int, start: int) -> None:
    if value not in _STRIDES[which]:
        allowed = ", ".join(map(str, _STRIDES[which]))
        cursor.fail(f"{_WHAT[which]} {value} is not one of {allowed}", start=start, code="region")


def _offsets(cursor: Cursor, names: Names) -> tuple[int, int]:
    """`(row,col)`."""
    cursor.expect("(", "and row and column, as in V32(0,0)<1;1,0>")
    row = _offset(cursor, names, "row")
    cursor.expect(",", "between row and column")
    col = _offset(cursor, names, "column")
    cursor.expect(")")
    return row, col


def _offset(cursor: Cursor, names: Names, what: str) -> int:
    start = cursor.skip()
    value = expression(cursor, names)
    if value < 0:
        cursor.fail(f"{what} {value} is negative", start=start, code="region")
    return value


def _region(cursor: Cursor, names: Names) -> tuple[int | None, int, int]:
    """`<v;w,h>`, `<w,h>` or `<h>` of a source; one address per row without a vertical stride.

    The documents write `<;w,h>` where Intel's front end reads `<w,h>`.
    """
    cursor.expect("<", "and a region, as in <1;1,0>")
    if cursor.take(";"):
        width = _stride(cursor, names, "w")
        cursor.expect(",", "between width and horizontal stride")
        hstride = _stride(cursor, names, "h")
        cursor.expect(">")
        return None, width, hstride
    start = cursor.skip()
    first = expression(cursor, names)
    if cursor.take(";"):
        _check_stride(cursor, "v", first, start)
        width = _stride(cursor, names, "w")
        cursor.expect(",", "between width and horizontal stride")
        hstride = _stride(cursor, names, "h")
        cursor.expect(">")
        return first, width, hstride
    if cursor.take(","):
        _check_stride(cursor, "w", first, start)
        hstride = _stride(cursor, names, "h")
        cursor.expect(">")
        return None, first, hstride
    cursor.expect(">")
    _check_stride(cursor, "h", first, start)
    return None, 1, first


def _print_region(vstride: int | None, width: int, hstride: int) -> str:
    return f"<{width},{hstride}>" if vstride is None else f"<{vstride};{width},{hstride}>"


@dataclass(frozen=True, slots=True)
class _Access:
    """`r[A0(element),offset]`."""

    address: AddressVariable
    element: int
    offset: int


def _indirect(cursor: Cursor, names: Names) -> _Access:
    address = variable(cursor, names, AddressVariable, what="an address variable")
    element = _element(cursor, names, "an address variable, as in r[A0(0),0]")
    offset = expression(cursor, names) if cursor.take(",") else 0
    cursor.expect("]")
    return _Access(address, element, offset)


def _element(cursor: Cursor, names: Names, where: str) -> int:
    cursor.expect("(", f"and the element of {where}")
    element = _offset(cursor, names, "element")
    cursor.expect(")")
    return element


def _indirect_type(cursor: Cursor) -> Any:
    start = cursor.skip()
    suffix = cursor.need(_TYPE, "the element type of an indirect operand, as in :d")
    type = by_type_name(suffix.group(1))
    if type is None or type is BOOL or type.name in ("v", "uv", "vf"):
        cursor.fail(f"an indirect operand cannot have type ':{suffix.group(1)}'", start=start)
    return type


class SourceKind(Kind):
    """A vector source; the body gets a value of `exec_size` lanes with modifiers applied.

    `scalar` operands give one lane, whatever their region.  In bytes an `address` operand is `&V`.
    Lanes use those of `neighbours` too, so that all are read, whatever the mask.  A `wide` negated
    unsigned dword has 33 bits, as in native code.
    """

    manual = "elements of a variable"
    example = "{name}(0,0)<1;1,0>"

    def __init__(
        self,
        *,
        scalar: bool = False,
        address: bool = False,
        neighbours: bool = False,
        wide: bool = False,
    ) -> None:
        self.scalar, self.address = scalar, address
        self.neighbours, self.wide = neighbours, wide
        if scalar:
            self.manual, self.example = "an element of a variable", "{name}(0,0)<0;1,0>"

    def forms(self, classes: str) -> list[tuple[str, str]]:
        others = _SCALAR_FORMS if self.scalar else _SOURCE_FORMS
        return [others.get(c, (self.manual, self.example)) for c in classes or SOURCE]

    def parse(self, cursor: Cursor, names: Names) -> Any:
        usual = _SOURCE.match(cursor.text, cursor.pos)
        if usual is not None and isinstance(declared := names.find(usual[2]), Variable):
            cursor.pos = usual.end()
            region = int(usual[5]), int(usual[6]), int(usual[7])
            return General(declared, int(usual[3]), int(usual[4]), *region, usual[1] or "")
        return self._parse_any(cursor, names)

    def _parse_any(self, cursor: Cursor, names: Names) -> Any:
        if cursor.match(_INDIRECT):
            return self._parse_indirect(cursor, names, "")
        match = cursor.match(_MODIFIER)
        if starts_immediate(cursor):
            if match is not None:
                cursor.fail("an immediate takes no modifier; write -5:d, ~5:d", start=match.start())
            return parse_immediate(cursor, names)
        if match is None and cursor.take("&"):
            return _address_of(cursor, names)
        modifier = match.group(1) if match else ""
        if cursor.match(_INDIRECT):
            return self._parse_indirect(cursor, names, modifier)
        return self._parse_variable(cursor, names, modifier)

    def _parse_variable(self, cursor: Cursor, names: Names, modifier: str) -> Any:
        start = cursor.skip()
        source = variable(cursor, names, what="a source operand")
        if isinstance(source, Variable):
            row, col = _offsets(cursor, names)
            vstride, width, hstride = _region(cursor, names)
            if vstride is None:
                cursor.fail("a source region is <v;w,h>, as in <1;1,0>", start=start, code="region")
            return General(source, row, col, vstride, width, hstride, modifier)
        if modifier:
            cursor.fail(f"a {_describe(source)} takes no modifier", start=start)
        return _other_operand(cursor, names, source)

    def _parse_indirect(self, cursor: Cursor, names: Names, modifier: str) -> Indirect:
        access = _indirect(cursor, names)
        vstride, width, hstride = _region(cursor, names)
        return Indirect(
            access.address, access.element, access.offset, vstride, width, hstride,
            _indirect_type(cursor), modifier,
        )  # fmt: skip

    def print(self, operand: Any) -> str:
        modifier = f"({operand.modifier})" if getattr(operand, "modifier", "") else ""
        match operand:
            case General():
                region = _print_region(operand.vstride, operand.width, operand.hstride)
                name = operand.variable.name
                return f"{modifier}{name}({operand.row},{operand.col}){region}"
            case Indirect():
                region = _print_region(operand.vstride, operand.width, operand.hstride)
                return f"{modifier}{_print_access(operand)}{region}:{operand.type.name}"
            case Immediate():
                return print_immediate(operand)
        return _print_other(operand)

    def pack(self, operand: Any, out: Packer) -> None:
        pack_source(operand, out, address=self.address)

    def unpack(self, source: Unpacker) -> Any:
        return unpack_source(source, address=self.address)

    def bind(self, operand: Any, builder: InstBuilder) -> Value:
        width = 1 if self.scalar else builder.width
        match operand:
            case General():
                region = Region.scalar(0) if self.scalar else None
                value = read_general(operand, builder, width, region)
                return modified(builder, value, operand, wide=self.wide)
            case Indirect():
                # Lanes that are off may hold any address; a scalar is read whatever the mask.
                masked = width == builder.width and not self.neighbours
                mask = builder.mask if masked else None
                value = _read_indirect(operand, builder, width, mask)
                return modified(builder, value, operand, wide=self.wide)
            case Immediate():
                return bind_immediate(operand, builder, width)
            case PredicateOperand():
                root, _ = builder.root(operand.variable)
                return builder.read_flag(root, builder.exec.offset, width)
            case AddressOf():
                return builder.splat(builder.address_of(operand.variable, operand.offset), width)
            case AddressOperand():
                return _read_lanes(builder, operand.variable, operand.element, operand.width, width)
        return _read_lanes(builder, operand.variable, operand.element, width, width)


def _other_operand(cursor: Cursor, names: Names, declared: Any) -> Any:
    """A predicate, address or state variable as an operand."""
    if isinstance(declared, PredicateVariable):
        return PredicateOperand(declared)
    if not isinstance(declared, AddressVariable):
        return StateOperand(declared, _element(cursor, names, "a state variable, as in T6(0)"))
    element = _element(cursor, names, "an address variable, as in A0(0)<1>")
    cursor.expect("<", "and the width of an address operand, as in A0(0)<1>")
    start = cursor.skip()
    width = expression(cursor, names)
    if width not in _STRIDES["w"]:
        allowed = ", ".join(map(str, _STRIDES["w"]))
        cursor.fail(f"width {width} is not one of {allowed}", start=start, code="address-width")
    cursor.expect(">")
    return AddressOperand(declared, element, width)


def _address_of(cursor: Cursor, names: Names) -> AddressOf:
    declared = variable(cursor, names, Variable, SurfaceVariable, SamplerVariable)
    offset = 0
    if cursor.take("["):
        offset = _offset(cursor, names, "offset")
        cursor.expect("]")
    return AddressOf(declared, offset)


def _print_access(operand: Indirect) -> str:
    return f"r[{operand.address.name}({operand.element}),{operand.offset}]"


def _print_other(operand: Any) -> str:
    match operand:
        case PredicateOperand():
            return str(operand.variable.name)
        case AddressOf():
            offset = f"[{operand.offset}]" if operand.offset else ""
            return f"&{operand.variable.name}{offset}"
        case AddressOperand():
            return f"{operand.variable.name}({operand.element})<{operand.width}>"
    return f"{operand.variable.name}({operand.element})"


def read_general(
    operand: General, builder: InstBuilder, width: int, region: Region | None = None
) -> Value:
    """The lanes of a general source, modifiers not yet applied."""
    root, base = builder.root(operand.variable)
    type = operand.type
    offset = base + operand.row * builder.grf + operand.col * type.size
    if region is None and width > 1:
        size = type.size
        region = Region(offset, operand.vstride * size, operand.width, operand.hstride * size)
    else:
        region = Region.scalar(offset)
    return builder.read(root, region, type, width)


def _read_indirect(
    operand: Indirect, builder: InstBuilder, width: int, mask: Value | None
) -> Value:
    size = operand.type.size
    row = width if operand.vstride is not None else min(operand.width, width)
    rows = -(-width // row)
    root, _ = builder.root(operand.address)
    addresses = builder.read(root, Region.packed(operand.element * 4, 4), UD, rows)
    many = operand.vstride is None
    return builder.read_indirect(
        addresses,
        operand.type,
        width,
        mask,
        offset=operand.offset,
        vstride=0 if operand.vstride is None else operand.vstride * size,
        row=row if many else operand.width,
        hstride=operand.hstride * size,
    )


def _read_lanes(builder: InstBuilder, variable: Any, element: int, count: int, width: int) -> Value:
    """`count` dword lanes of an address or state variable, repeated up to `width`."""
    root, _ = builder.root(variable)
    count = min(count, width)
    lanes = builder.read(root, Region.packed(element * 4, 4), UD, count)
    if count == width:
        return lanes
    return builder.shuffle(lanes, [k % count for k in range(width)])


class DestinationKind(Kind):
    """A vector destination; the body gets a :class:`WritePlace`."""

    manual = "elements of a variable"
    words = ("sat",)
    example = "{name}(0,0)<1>"
    parts = ("sat",)

    def forms(self, classes: str) -> list[tuple[str, str]]:
        others = _DESTINATION_FORMS
        return [others.get(c, (self.manual, self.example)) for c in classes or DESTINATION]

    def parse_part(self, part: str, cursor: Cursor) -> tuple[str, bool]:
        return "saturate", cursor.match(_SAT) is not None

    def print_part(self, part: str, operand: Any) -> str:
        return ".sat" if operand.saturate else ""

    def parse(self, cursor: Cursor, names: Names) -> Any:
        usual = _DESTINATION.match(cursor.text, cursor.pos)
        if usual is not None and isinstance(declared := names.find(usual[1]), Variable):
            cursor.pos = usual.end()
            return General(declared, int(usual[2]), int(usual[3]), 0, 1, int(usual[4]))
        if cursor.match(_INDIRECT):
            access = _indirect(cursor, names)
            hstride = self._hstride(cursor, names)
            type = _indirect_type(cursor)
            return Indirect(access.address, access.element, access.offset, 0, 1, hstride, type)
        declared = variable(cursor, names, what="a destination operand")
        if not isinstance(declared, Variable):
            return _other_operand(cursor, names, declared)
        # Intel's front end lets a destination, but no source, leave out (0,0).
        row, col = _offsets(cursor, names) if cursor.ahead("(") else (0, 0)
        return General(declared, row, col, 0, 1, self._hstride(cursor, names))

    def _hstride(self, cursor: Cursor, names: Names) -> int:
        cursor.expect("<", "and the stride of a destination, as in <1>")
        start = cursor.skip()
        stride = _stride(cursor, names, "h")
        if stride == 0:
            cursor.fail("the stride of a destination cannot be 0", start=start, code="region")
        cursor.expect(">")
        return stride

    def print(self, operand: Any) -> str:
        match operand:
            case General():
                name = operand.variable.name
                return f"{name}({operand.row},{operand.col})<{operand.hstride}>"
            case Indirect():
                return f"{_print_access(operand)}<{operand.hstride}>:{operand.type.name}"
        return _print_other(operand)

    def pack(self, operand: Any, out: Packer) -> None:
        pack_destination(operand, out)

    def unpack(self, source: Unpacker) -> Any:
        return unpack_destination(source)

    def bind(self, operand: Any, builder: InstBuilder) -> WritePlace:
        saturate = operand.saturate
        match operand:
            case General():
                root, base = builder.root(operand.variable)
                size = operand.type.size
                offset = base + operand.row * builder.grf + operand.col * size
                return WritePlace(operand.type, root, offset, operand.hstride * size, saturate)
            case Indirect():
                stride = operand.hstride * operand.type.size
                root, _ = builder.root(operand.address)
                address = builder.read(root, Region.scalar(operand.element * 4), UD, 1)
                return WritePlace(operand.type, None, operand.offset, stride, saturate, address)
            case PredicateOperand():
                root, _ = builder.root(operand.variable)
                return WritePlace(BOOL, root, builder.exec.offset, 0)
        root, _ = builder.root(operand.variable)
        return WritePlace(UD, root, operand.element * 4, 4)
