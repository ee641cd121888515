"""Checks that a function keeps the contract of :mod:`eumu.ir.ops`, row by row of `eumu.ir.rows`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from eumu.errors import InternalError
from eumu.ir.function import Block, Function, Op, RootKind, Terminator, Value
from eumu.ir.ops import OPS, TERMINATORS, Rounding, Space
from eumu.ir.rows import ANY, ENDS, ROWS, Findings, Row
from eumu.ir.text import format_op, format_terminator, format_value
from eumu.settings import VERIFY_IR
from eumu.types import BOOL, UD, UQ, Type


def verify(function: Function, *, folded: bool = False) -> list[str]:
    """What is wrong with a function, a sentence each; `folded`: no `Rounding.CR0` may be left."""
    findings = [f"{function.name}: {finding}" for finding in _check_roots(function)]
    for index, block in enumerate(function.blocks):
        for finding in _check_block(function, block, folded):
            findings.append(f"{function.name}, block {index} {block.label}: {finding}")
    return findings


def check(function: Function, *, folded: bool = False) -> None:
    """Raise `InternalError` with every finding of `verify`."""
    findings = verify(function, folded=folded)
    if findings:
        raise InternalError("\n".join(["the IR is malformed", *findings]))


def check_lowered(function: Function) -> None:
    """`check` with concrete rounding if ``EUMU_VERIFY_IR`` is on, as it is in tests: it takes a
    quarter of the time of lowering, and engines look at what memory they touch themselves."""
    if VERIFY_IR.get():
        check(function, folded=True)


def _check_roots(function: Function) -> Findings:
    """Names, register-space addresses and inputs; a function has a block to start with."""
    if not function.blocks:
        yield "it has no block"
    for name, root in function.roots.items():
        if name != root.name:
            yield f"{root} is listed as @{name}"
    grf = sorted(
        (root for root in function.roots.values() if root.kind is RootKind.GRF),
        key=lambda root: root.address,
    )
    for low, high in pairwise(grf):
        if low.address + low.size > high.address:
            yield f"{low} and {high} overlap in the register space"
    for item in function.inputs:
        if function.roots.get(item.root.name) != item.root:
            yield f"the input {item.root} is no root of the function"
        elif item.offset < 0 or item.offset + item.size > item.root.size:
            yield f"an input goes outside the {item.root.size} bytes of {item.root}"


def _check_block(function: Function, block: Block, folded: bool) -> Findings:
    defined: dict[int, Value] = {}
    for op in block.ops:
        for finding in _check_op(function, op, defined, folded):
            yield f"{format_op(op)}: {finding}"
        defined.update((value.id, value) for value in op.results)
    if block.end is None:
        yield "the block has no terminator"
        return
    for finding in _check_terminator(function, block.end, defined):
        yield f"{format_terminator(block.end)}: {finding}"


def _check_defined(args: Iterable[Value], defined: dict[int, Value]) -> Findings:
    for value in args:
        if value.id not in defined:
            yield f"{value} is not defined before its use in this block"
        elif defined[value.id] != value:
            yield f"{format_value(value)} is defined as {format_value(defined[value.id])}"


def _check_op(function: Function, op: Op, defined: dict[int, Value], folded: bool) -> Findings:
    spec, row = OPS.get(op.name), ROWS.get(op.name)
    if spec is None or row is None:
        yield "no such operation"
        return
    if set(op.attrs) != set(spec.attrs):
        yield f"its attributes are {sorted(spec.attrs)}"
        return
    yield from _check_defined(op.args, defined)
    for value in op.results:
        if value.id in defined:
            yield f"{value} is defined twice"
    if folded and op.attrs.get("rounding") in (Rounding.CR0, Rounding.KEPT):
        yield "its rounding is not folded"
    problems = _word_findings(op, row)
    yield from problems
    if row.also is not None and not problems:
        yield from row.also(function, op)


# ---- words


class _Binding:
    """What the words of a row stand for in one operation."""

    def __init__(self, op: Op, row: Row) -> None:
        self.op, self.row = op, row
        self.type: Type | None = None
        self.width: int | None = None

    def match(self, word: str, value: Value) -> Findings:
        name, lanes = (word[:-1], word[-1]) if word[-1] in "1*" else (word, "")
        yield from self._match_type(name, value)
        if lanes == "*":
            return
        want = 1 if lanes == "1" else self.width
        if want is None:
            self.width = value.width
        elif value.width != want:
            yield f"{format_value(value)} should have {want} lanes"

    def _match_type(self, name: str, value: Value) -> Findings:
        exact = {"m": BOOL, "ud": UD, "uq": UQ, "s": UD, "a": self._address()}.get(name)
        if exact is not None and value.type is not exact:
            yield f"{format_value(value)} should be {exact}"
        if name != "x":
            return
        if value.type not in self.row.types:
            yield f"{format_value(value)} should be one of {_names(self.row.types)}"
        elif self.type is not None and value.type is not self.type:
            yield f"{format_value(value)} should be {self.type}"
        self.type = value.type

    def _address(self) -> Type:
        return UQ if self.op.attrs.get("space") is Space.FLAT else UD


def _names(types: Iterable[Type]) -> str:
    return " ".join(sorted(t.name for t in types))


# Operations whose words are kept, by all that `_check_words` looks at: a function has few kinds.
_FINE: Final[set[tuple[object, ...]]] = set()
_MOST_FINE: Final = 1 << 14


def _word_findings(op: Op, row: Row) -> list[str]:
    """What `_check_words` finds; it is not asked again where it found nothing."""
    values = (*op.args, *op.results)
    shapes = [(value.type, value.width) for value in values]
    key = (op.name, op.attrs.get("space"), len(op.args), *shapes)
    if key in _FINE:
        return []
    findings = list(_check_words(op, row))
    if not findings:
        if len(_FINE) >= _MOST_FINE:
            _FINE.clear()
        _FINE.add(key)
    return findings


def _check_words(op: Op, row: Row) -> Findings:
    binding = _Binding(op, row)
    for words, values in ((row.args.split(), op.args), (row.results.split(), op.results)):
        expanded = _expand(words, len(values))
        if expanded is None:
            yield f"it has {len(values)} values where it takes {' '.join(words) or 'none'}"
            return
        for word, value in zip(expanded, values, strict=True):
            yield from binding.match(word, value)


def _expand(words: list[str], count: int) -> list[str] | None:
    """The words for `count` values, or None if there cannot be so many."""
    optional = [w for w in words if w.endswith("?")]
    plain = [w.rstrip("?") for w in words if not w.endswith("..")]
    repeated = [w for w in words if w.endswith("..")]
    if repeated:
        extra = count - len(plain)
        place = words.index(repeated[0])
        return plain[:place] + [repeated[0][:-2]] * extra + plain[place:] if extra >= 0 else None
    missing = len(words) - count
    if not 0 <= missing <= len(optional):
        return None
    return [w.rstrip("?") for w in words if w not in optional[len(optional) - missing :]]


def _check_terminator(function: Function, end: Terminator, defined: dict[int, Value]) -> Findings:
    if end.name not in TERMINATORS:
        yield "no such terminator"
        return
    words, targets, attrs = ENDS[end.name]
    if set(end.attrs) != attrs:
        yield f"its attributes are {sorted(attrs)}"
    yield from _check_defined(end.args, defined)
    as_op = Op(end.name, end.args, end.attrs, ())
    yield from _check_words(as_op, Row(ANY, words, ""))
    if len(end.targets) != targets if targets is not None else not end.targets:
        yield f"{len(end.targets)} targets"
    for target in end.targets:
        if not 0 <= target < len(function.blocks):
            yield f"there is no block {target} of {len(function.blocks)}"
    for root in end.attrs.get("saves", ()):
        if function.roots.get(root.name) != root:
            yield f"{root} is no root of the function"
    addresses = end.attrs.get("addresses")
    if addresses is not None and len(addresses) != len(end.targets) - 1:
        yield f"{len(addresses)} addresses for {len(end.targets) - 1} callees"
    if end.name == "barrier":
        yield from _check_barrier(end)


_NAMED_ARGUMENTS = {"sync": 0, "signal": 4, "wait": 1, "pair": 0}


def _check_barrier(end: Terminator) -> Findings:
    kind = end.attrs.get("kind")
    if kind not in _NAMED_ARGUMENTS:
        yield f"no barrier of kind {kind!r}"
    elif len(end.args) not in (0, _NAMED_ARGUMENTS[kind]):
        yield f"{len(end.args)} arguments of a {kind}"
