"""`.decl`: variables of every class.

The order of what follows the name is fixed: `v_type=`, `type=` (general variables only),
`num_elts=`, `align=`, `alias=`, `attrs=`, and `v_name=` for surfaces and samplers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from eumu.errors import Span
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Names
from eumu.isa.kinds.literals import STRING, expression, string
from eumu.isa.kinds.variables import (
    AddressVariable,
    Declared,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
    by_type_name,
)
from eumu.text.names import IDENTIFIER, is_reserved
from eumu.types import BOOL, Kind, Type

_WORD = re.compile(r"\w+")
_REFERENCE = re.compile(r"%?[A-Za-z_]\w*")
KEYS = ("v_type", "type", "num_elts", "align", "alias", "attrs", "v_name")
_KEY = {key: re.compile(rf"{key}[ \t]*=") for key in KEYS}
_ANY_KEY = re.compile(rf"({'|'.join(KEYS)})\b")

# A general variable as the compiler prints it, in one step; all else is read token by token.
_USUAL = re.compile(
    r"([A-Za-z_]\w*) v_type=G type=([a-z]+) num_elts=([1-9]\d{0,3})(?: align=(\w+))?"
    r"(?: alias=<(%?\w+), (\d{1,9})>)?[ \t]*$",
    re.ASCII,
)

# The object file counts elements in 16 bits.
MAX_ELEMENTS = 0xFFFF
MAX_ADDRESSES = 16
PREDICATE_SIZES = (1, 2, 4, 8, 16, 32)

ATTRIBUTES = (
    *("Output", "Input", "Input_Output", "PayloadLiveOut"),
    *("NoWidening", "DoNotSpill", "Scope", "SurfaceUsage"),
)

# What the front end reads, and the name it prints.
ALIGNMENTS = {
    **{a: a for a in ("byte", "word", "dword", "qword", "oword", "hword", "GRF", "GRFx2")},
    **{"wordx32": "wordx32", "wordx64": "wordx64"},
    **{"32word": "wordx32", "64word": "wordx64", "2GRF": "GRFx2"},
}
_ALIGN_BYTES = ("byte", "word", "dword", "qword", "oword", "hword", "wordx32", "wordx64")


def parse_declaration(cursor: Cursor, names: Names) -> Declared:
    """What stands after `.decl`."""
    if (usual := _usual(cursor, names)) is not None:
        return usual
    start = cursor.skip()
    name = cursor.need(IDENTIFIER, "the name of a variable").group()
    if is_reserved(name):
        cursor.fail(f"'{name}' is a reserved word", start=start, code="name")
    if cursor.text.startswith(("$", "?", "@", "%"), cursor.pos):
        cursor.fail("a variable's name has letters, digits and '_'", start=cursor.pos, code="name")
    _key(cursor, "v_type")
    start = cursor.skip()
    category = cursor.need(_WORD, "G, A, P, S or T").group()
    read = _CATEGORIES.get(category)
    if read is None:
        cursor.fail(f"'{category}' is no class of variables; there are G, A, P, S, T", start=start)
    declared: Declared = read(cursor, names, name)
    if not cursor.at_end() and (match := _ANY_KEY.match(cursor.text, cursor.pos)):
        order = ", ".join(f"{key}=" for key in KEYS)
        cursor.fail(f"'{match[1]}=' cannot stand here; the order is {order}", start=cursor.pos)
    return declared


def _usual(cursor: Cursor, names: Names) -> Variable | None:
    match = _USUAL.match(cursor.text, cursor.pos)
    if match is None:
        return None
    name, type_name, count, align, base, offset_text = match.groups()
    type = by_type_name(type_name)
    alias, offset = names.find(base) if base else None, int(offset_text or 0)
    if is_reserved(name) or type is None or not _is_storable(type):
        return None
    if align is not None and align not in ALIGNMENTS:
        return None
    if base and not (isinstance(alias, Variable) and _is_inside(alias, offset)):
        return None
    cursor.pos = match.end()
    align = ALIGNMENTS[align] if align else None
    return Variable(name, int(count), type, align, alias, offset, span=_span(cursor))


def _is_storable(type: Type) -> bool:
    return type is not BOOL and type.kind is not Kind.PACKED


def _is_inside(base: Variable, offset: int) -> bool:
    """Whether an alias may begin here; predefined sizes depend on the platform."""
    return offset >= 0 and (offset < base.size or base.origin()[0].predefined is not None)


def _key(cursor: Cursor, key: str) -> None:
    cursor.need(_KEY[key], f"'{key}='")


def _count(cursor: Cursor, names: Names) -> int:
    _key(cursor, "num_elts")
    start = cursor.skip()
    count = expression(cursor, names)
    if not 1 <= count <= MAX_ELEMENTS:
        cursor.fail(f"num_elts is {count}; 1 to {MAX_ELEMENTS} is allowed", start=start)
    return count


def _general(cursor: Cursor, names: Names, name: str) -> Variable:
    type = _type(cursor)
    count = _count(cursor, names)
    align = _align(cursor, names) if cursor.match(_KEY["align"]) else None
    alias, offset = _alias(cursor, names) if cursor.match(_KEY["alias"]) else (None, 0)
    attrs = _attributes(cursor, names)
    return Variable(name, count, type, align, alias, offset, attrs=attrs, span=_span(cursor))


def _type(cursor: Cursor) -> Type:
    _key(cursor, "type")
    start = cursor.skip()
    word = cursor.need(_WORD, "an element type such as d or ud").group()
    type = by_type_name(word)
    if type is None or not _is_storable(type):
        cursor.fail(
            f"a variable cannot have type '{word}'; allowed are ub b uw w ud d uq q hf bf f df",
            start=start,
        )
    return type


def _align(cursor: Cursor, names: Names) -> str:
    start = cursor.skip()
    match = cursor.match(_WORD)
    if match is not None and match.group() in ALIGNMENTS:
        return ALIGNMENTS[match.group()]
    if match is not None and not match.group()[0].isdigit():
        words = ", ".join(dict.fromkeys(ALIGNMENTS.values()))
        cursor.fail(f"'{match.group()}' is no alignment; allowed are {words}", start=start)
    cursor.pos = start
    size = expression(cursor, names)
    if size < 1 or size & (size - 1) or size > 128:
        cursor.fail(f"an alignment of {size} bytes is no power of 2 up to 128", start=start)
    return _ALIGN_BYTES[size.bit_length() - 1]


def _alias(cursor: Cursor, names: Names) -> tuple[Variable, int]:
    """`<B, offset in bytes>`; the first byte must lie in B, the rest need not."""
    cursor.expect("<", "and the aliased variable, as in alias=<V32, 0>")
    start = cursor.skip()
    name = cursor.need(_REFERENCE, "the aliased variable").group()
    aliased: Any = names.find(name)
    if aliased is None:
        cursor.fail(
            f"'{name}' is not declared{names.suggest(name)}", start=start, code="undeclared"
        )
    if not isinstance(aliased, Variable):
        cursor.fail(f"'{name}' is no general variable", start=start)
    cursor.expect(",", "and the offset in bytes")
    start = cursor.skip()
    offset = expression(cursor, names)
    if not _is_inside(aliased, offset):
        cursor.fail(
            f"byte {offset} is not in '{name}', which has {aliased.size} bytes",
            start=start,
            code="alias",
        )
    cursor.expect(">")
    return aliased, offset


def _attributes(cursor: Cursor, names: Names) -> tuple[tuple[str, str | None], ...]:
    if not cursor.match(_KEY["attrs"]):
        return ()
    cursor.expect("{")
    attrs = [_attribute(cursor, names)]
    while cursor.take(","):
        attrs.append(_attribute(cursor, names))
    cursor.expect("}")
    return tuple(attrs)


def _attribute(cursor: Cursor, names: Names) -> tuple[str, str | None]:
    start = cursor.skip()
    name = cursor.need(_WORD, "an attribute").group()
    if name not in ATTRIBUTES:
        allowed = ", ".join(ATTRIBUTES)
        cursor.fail(f"unknown attribute '{name}'; known are {allowed}", start=start)
    if not cursor.take("="):
        return name, None
    if match := cursor.match(STRING):
        return name, string(cursor, match)
    return name, str(expression(cursor, names))


def _address(cursor: Cursor, names: Names, name: str) -> AddressVariable:
    start = cursor.skip()
    count = _count(cursor, names)
    most = MAX_ADDRESSES * (2 if names.version > (4, 1) else 1)  # Xe3p has twice as many
    if count > most:
        cursor.fail(f"num_elts is {count}; an address variable has 1 to {most}", start=start)
    return AddressVariable(name, count, attrs=_attributes(cursor, names), span=_span(cursor))


def _predicate(cursor: Cursor, names: Names, name: str) -> PredicateVariable:
    start = cursor.skip()
    count = _count(cursor, names)
    if count not in PREDICATE_SIZES:
        allowed = ", ".join(map(str, PREDICATE_SIZES))
        cursor.fail(f"num_elts is {count}; a predicate variable has {allowed}", start=start)
    return PredicateVariable(name, count, attrs=_attributes(cursor, names), span=_span(cursor))


def _state(
    make: type[SurfaceVariable] | type[SamplerVariable],
) -> Callable[[Cursor, Names, str], Declared]:
    def read(cursor: Cursor, names: Names, name: str) -> Declared:
        count = _count(cursor, names)
        alternate = None
        # Both orders exist: the compiler puts the name first, the grammar the attributes.
        if cursor.match(_KEY["v_name"]):
            alternate = cursor.need(_REFERENCE, "a name").group()
        attrs = _attributes(cursor, names)
        return make(name, count, alternate, attrs=attrs, span=_span(cursor))

    return read


def _span(cursor: Cursor) -> Span:
    text = cursor.text
    return cursor.span(len(text) - len(text.lstrip()))


_CATEGORIES: dict[str, Callable[[Cursor, Names, str], Declared]] = {
    "G": _general,
    "A": _address,
    "P": _predicate,
    "S": _state(SamplerVariable),
    "T": _state(SurfaceVariable),
}
