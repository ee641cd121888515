"""One row per operation and terminator: how arguments and results hang together.

The words of a row: `x` the operation's type and width, `y` another type of the same width, `m`
a mask of the same width, `ud` and `uq` those types; a `1` behind a word means one lane, a `*` any
number of lanes, `..` any number of such values, `?` that it may be missing.  `a` is an address and
`s` a surface index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eumu.ir.function import Function, Op, Region, Root, RootKind
from eumu.ir.ops import ATOMICS, Form, Rounding, Space
from eumu.ir.text import format_value
from eumu.types import BF, BOOL, DF, HF, INTEGERS, UB, UD, B, D, F, Type

_INT = frozenset(INTEGERS)
_FLOAT = frozenset({HF, F, DF})
_NUMBER = _INT | _FLOAT
_DATA = _NUMBER | {BF}
ANY = _DATA | {BOOL}
_BITS = _INT | {BOOL}

Findings = Iterator[str]


@dataclass(frozen=True, slots=True)
class Row:
    """Types of `x`, words for arguments and results, and what else must hold."""

    types: frozenset[Type]
    args: str
    results: str
    also: Callable[[Function, Op], Findings] | None = None


# ---- what words cannot say


def _const(function: Function, op: Op) -> Findings:
    lanes, value = op.attrs["lanes"], op.result
    if len(lanes) not in (1, value.width):
        yield f"{len(lanes)} lanes for a width of {value.width}"
    if any(not 0 <= lane < 1 << max(value.type.bits, 1) for lane in lanes):
        yield f"a lane is no bit pattern of {value.type}"


def _shuffle(function: Function, op: Op) -> Findings:
    lanes = op.attrs["lanes"]
    if len(lanes) != op.result.width:
        yield f"{len(lanes)} lanes for a width of {op.result.width}"
    if any(not 0 <= lane < op.args[0].width for lane in lanes):
        yield f"a lane is outside the {op.args[0].width} lanes of {op.args[0]}"


def _concat(function: Function, op: Op) -> Findings:
    total = sum(value.width for value in op.args)
    if total != op.result.width or not op.args:
        yield f"the arguments have {total} lanes"


def _bitcast(function: Function, op: Op) -> Findings:
    source, target = op.args[0], op.result
    if BOOL in (source.type, target.type):
        yield "a mask has no bytes"
    elif source.width * source.type.size != target.width * target.type.size:
        yield f"{format_value(source)} has another number of bytes"


def _known(function: Function, op: Op) -> Findings:
    root: Root = op.attrs["root"]
    if function.roots.get(root.name) != root:
        yield f"{root} is no root of the function"


def _state(function: Function, op: Op) -> Findings:
    root: Root = op.attrs["root"]
    region: Region = op.attrs["region"]
    yield from _known(function, op)
    if root.kind is RootKind.FLAG:
        yield f"{root} is a flag"
        return
    value = (op.results or op.args)[0]
    if region.width < 1:
        yield "the region has rows of no element"
        return
    offsets = region.offsets(value.width)
    if min(offsets) < 0 or max(offsets) + value.type.size > root.size:
        yield (
            f"bytes {min(offsets)}..{max(offsets) + value.type.size - 1} are outside the"
            f" {root.size} bytes of {root}"
        )


def _flag(function: Function, op: Op) -> Findings:
    root, offset = op.attrs["root"], op.attrs["offset"]
    yield from _known(function, op)
    width = (op.results or op.args)[0].width
    if root.kind is not RootKind.FLAG:
        yield f"{root} is no flag"
    elif offset < 0 or offset + width > root.size:
        yield f"bits {offset}..{offset + width - 1} are outside the {root.size} bits of {root}"


def _read_indirect(function: Function, op: Op) -> Findings:
    row, width = op.attrs["row"], op.result.width
    if row < 1 or op.args[0].width not in (1, -(-width // row)):
        yield f"{op.args[0].width} addresses for {width} elements in rows of {row}"


def _root_address(function: Function, op: Op) -> Findings:
    root: Root = op.attrs["root"]
    yield from _known(function, op)
    if root.kind is not RootKind.GRF:
        yield f"{root} is not in the register space"


def _cmp(function: Function, op: Op) -> Findings:
    if op.attrs["rel"] not in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield f"no relation {op.attrs['rel']!r}"


def _rounding(function: Function, op: Op) -> Findings:
    if not isinstance(op.attrs["rounding"], Rounding):
        yield f"no rounding {op.attrs['rounding']!r}"


def _convert(function: Function, op: Op) -> Findings:
    source, target = op.args[0].type, op.result.type
    yield from _rounding(function, op)
    if BOOL in (source, target) or (BF in (source, target) and F not in (source, target)):
        yield f"no conversion from {source} to {target}"


_DOT_ELEMENTS = {UD: (UB, B), D: (UB, B), F: (HF, BF, F)}


def _dot(function: Function, op: Op) -> Findings:
    x, b, a = op.args
    rows, group = op.attrs["rows"], op.attrs["group"]
    for value in (a, b):
        if value.type not in _DOT_ELEMENTS[x.type]:
            yield f"{format_value(value)} cannot be summed up in {x.type}"
    columns, rest = divmod(x.width, rows)
    depth, odd = divmod(b.width, columns * group) if columns else (0, 1)
    if rest or odd or a.width not in (rows * depth * group, rows * depth * columns * group):
        yield (
            f"{x.width} sums in {rows} rows do not go with {b.width} and {a.width} elements in"
            f" groups of {group}"
        )


def _at_most_32(function: Function, op: Op) -> Findings:
    mask = (op.args if op.name == "mask_bits" else op.results)[0]
    if mask.width > 32:
        yield f"a dword has no {mask.width} bits"


def _surface(function: Function, op: Op, data: int) -> Findings:
    """Memory operations: the surface index is there just when the space is SURFACE."""
    space = op.attrs["space"]
    if not isinstance(space, Space):
        yield f"no address space {space!r}"
        return
    extra = len(op.args) - 2 - data
    if extra != (space is Space.SURFACE):
        yield f"{len(op.args)} arguments in space {space.value}"
    elif extra and (op.args[-1].type, op.args[-1].width) != (UD, 1):
        yield f"the surface index {format_value(op.args[-1])} should be ud*1"


def _load(function: Function, op: Op) -> Findings:
    yield from _surface(function, op, 0)
    if len(op.results) != op.attrs["count"]:
        yield f"{len(op.results)} results for a count of {op.attrs['count']}"
    if any(value.type is not op.attrs["type"] for value in op.results):
        yield f"its results should be {op.attrs['type']}"


def _store(function: Function, op: Op) -> Findings:
    count = op.attrs["count"]
    yield from _surface(function, op, count)
    data = op.args[2 : 2 + count]
    if any((v.type, v.width) != (data[0].type, op.args[0].width) for v in data):
        yield "its data should have one type and the width of the address"


def _load_block(function: Function, op: Op) -> Findings:
    yield from _surface(function, op, 0)


def _store_block(function: Function, op: Op) -> Findings:
    yield from _surface(function, op, 1)


def _atomic(function: Function, op: Op) -> Findings:
    operation, type = op.attrs["operation"], op.attrs["type"]
    if operation not in ATOMICS:
        yield f"no atomic operation {operation!r}"
        return
    count = ATOMICS[operation]
    yield from _surface(function, op, count)
    data = (*op.args[2 : 2 + count], op.result)
    if any((v.type, v.width) != (type, op.args[0].width) for v in data):
        yield f"its data should be {type} with the width of the address"
    if type.is_float and operation in ("inc", "dec", "predec", "and", "or", "xor"):
        yield f"{operation} of {type}"


def _send(function: Function, op: Op) -> Findings:
    form: Form = op.attrs["form"]
    answer = [form.answer] if form.answer else []
    for values, sizes in ((op.args[4:], [*form.stretches, *answer]), (op.results, answer)):
        if [4 * value.width for value in values] != sizes:
            yield f"{[4 * value.width for value in values]} bytes where its form has {sizes}"


ROWS: dict[str, Row] = {
    "const": Row(ANY, "", "x", _const),
    "splat": Row(ANY, "x1", "x"),
    "shuffle": Row(ANY, "x*", "x*", _shuffle),
    "concat": Row(ANY, "x*..", "x*", _concat),
    "bitcast": Row(_DATA, "y*", "x*", _bitcast),
    "read": Row(_DATA, "", "x", _state),
    "partner": Row(_DATA, "", "x", _state),
    "write": Row(_DATA, "x m", "", _state),
    "read_flag": Row(ANY, "", "m", _flag),
    "write_flag": Row(ANY, "m m", "", _flag),
    "read_indirect": Row(_DATA, "ud* m?", "x", _read_indirect),
    "write_indirect": Row(_DATA, "ud1 x m", ""),
    "root_address": Row(ANY, "", "ud1", _root_address),
    "exec_mask": Row(ANY, "", "m"),
    "symbol": Row(ANY, "", "uq1"),
    "special": Row(_INT, "", "x"),
    **dict.fromkeys(("add", "sub", "mul", "div"), Row(_NUMBER, "x x", "x", _rounding)),
    **dict.fromkeys(("mul_high", "rem", "shl", "shr", "rotl"), Row(_INT, "x x", "x")),
    **dict.fromkeys(("and", "or", "xor"), Row(_BITS, "x x", "x")),
    "not": Row(_BITS, "x", "x"),
    **dict.fromkeys(("popcount", "clz", "ctz", "bitreverse"), Row(_INT, "x", "x")),
    **dict.fromkeys(("neg", "abs"), Row(_DATA, "x", "x")),
    **dict.fromkeys(("min", "max"), Row(_NUMBER, "x x", "x")),
    "cmp": Row(_NUMBER, "x x", "m", _cmp),
    "select": Row(ANY, "m x x", "x"),
    "convert": Row(_DATA, "y", "x", _convert),
    "fma": Row(_FLOAT, "x x x", "x", _rounding),
    **dict.fromkeys(("sqrt", "round"), Row(_FLOAT, "x", "x", _rounding)),
    "flush": Row(_FLOAT, "x", "x"),
    "dot": Row(frozenset({UD, D, F}), "x y* y*", "x", _dot),
    **dict.fromkeys(("any", "all"), Row(ANY, "m*", "m1")),
    "mask_bits": Row(ANY, "m*", "ud1", _at_most_32),
    "bits_mask": Row(ANY, "ud1", "m*", _at_most_32),
    "load": Row(_DATA, "a m s1?", "x..", _load),
    "store": Row(_DATA, "a m y*..", "", _store),
    "load_block": Row(_DATA, "a1 m1 s1?", "x*", _load_block),
    "store_block": Row(_DATA, "a1 m1 x* s1?", "", _store_block),
    "atomic": Row(_DATA, "a m y*..", "x", _atomic),
    "fence": Row(ANY, "", ""),
    "require": Row(ANY, "m1", ""),
    "message": Row(ANY, "m* y*..", "y*.."),
    "send": Row(frozenset({UD}), "ud1 ud1 m1 m* x*..", "x*..", _send),
    "report": Row(ANY, "m", ""),
}


# ---- terminators

# Words of the arguments, number of targets (None: one or more), attributes.
ENDS: dict[str, tuple[str, int | None, frozenset[str]]] = {
    "jump": ("", 1, frozenset()),
    "branch": ("m1", 2, frozenset()),
    "diverge": ("m*", 2, frozenset({"offset"})),
    "switch": ("ud1", None, frozenset()),
    "call": ("m*", 2, frozenset({"offset", "saves"})),
    "call_indirect": ("m* uq1", None, frozenset({"offset", "addresses", "saves"})),
    "ret": ("m*", 1, frozenset({"offset"})),
    "barrier": ("ud1..", 1, frozenset({"kind"})),
    "trap": ("", 0, frozenset({"reason"})),
}
