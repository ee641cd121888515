"""Checks that a function keeps the contract of :mod:`eumu.ir.operations`, row by row."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from eumu.errors import InternalError
from eumu.ir.function import Block, Findings, Function, Op, RootKind, Terminator, Value
from eumu.ir.operations.arithmetic import Rounded, Rounding
from eumu.ir.operations.memory import Access, Space
from eumu.ir.operations.row import ANY, OPERATIONS, Row
from eumu.ir.text import format_op, format_terminator
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


def are_meant(function: Function, ops: Iterable[Op]) -> bool:
    """Whether operations have types and widths that they are defined on."""
    return not any(
        _word_findings(op, OPERATIONS[op.name]) or [*op.problems(function)] for op in ops
    )


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
            yield f"{value.typed} is defined as {defined[value.id].typed}"


def _check_op(function: Function, op: Op, defined: dict[int, Value], folded: bool) -> Findings:
    row = OPERATIONS.get(op.name)
    if row is None or not isinstance(op, row.kind):
        yield "no such operation"
        return
    yield from _check_defined(op.args, defined)
    for value in op.results:
        if value.id in defined:
            yield f"{value} is defined twice"
    if folded and isinstance(op, Rounded) and op.rounding in (Rounding.CR0, Rounding.KEPT):
        yield "its rounding is not folded"
    problems = _word_findings(op, row)
    yield from problems or op.problems(function)


# ---- words


class _Binding:
    """What the words of a row stand for in one operation."""

    def __init__(self, types: frozenset[Type], flat: bool) -> None:
        self.types, self.flat = types, flat
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
            yield f"{value.typed} should have {want} lanes"

    def _match_type(self, name: str, value: Value) -> Findings:
        address = UQ if self.flat else UD
        exact = {"m": BOOL, "ud": UD, "uq": UQ, "s": UD, "a": address}.get(name)
        if exact is not None and value.type is not exact:
            yield f"{value.typed} should be {exact}"
        if name != "x":
            return
        if value.type not in self.types:
            yield f"{value.typed} should be one of {_names(self.types)}"
        elif self.type is not None and value.type is not self.type:
            yield f"{value.typed} should be {self.type}"
        self.type = value.type

    def check(self, words: tuple[str, ...], values: tuple[Value, ...]) -> Findings:
        expanded = _expand(words, len(values))
        if expanded is None:
            yield f"it has {len(values)} values where it takes {' '.join(words) or 'none'}"
            return
        for word, value in zip(expanded, values, strict=True):
            yield from self.match(word, value)


def _names(types: Iterable[Type]) -> str:
    return " ".join(sorted(t.name for t in types))


# Operations whose words are kept, by all that a `_Binding` looks at: a function has few kinds.
_FINE: Final[set[tuple[object, ...]]] = set()
_MOST_FINE: Final = 1 << 14


def _word_findings(op: Op, row: Row) -> list[str]:
    """What the words of its row do not allow; not asked again where nothing was found."""
    flat = isinstance(op, Access) and op.space in (Space.FLAT, Space.FLAT_UNWRITTEN)
    shapes = [(value.type, value.width) for value in (*op.args, *op.results)]
    key = (op.name, flat, len(op.args), *shapes)
    if key in _FINE:
        return []
    binding = _Binding(row.types, flat)
    findings = [*binding.check(row.args, op.args), *binding.check(row.results, op.results)]
    if not findings:
        if len(_FINE) >= _MOST_FINE:
            _FINE.clear()
        _FINE.add(key)
    return findings


def _expand(words: tuple[str, ...], count: int) -> list[str] | None:
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
    yield from _check_defined(end.args, defined)
    yield from _Binding(ANY, flat=False).check(end.words, end.args)
    if len(end.targets) != end.ways if end.ways is not None else not end.targets:
        yield f"{len(end.targets)} targets"
    for target in end.targets:
        if not 0 <= target < len(function.blocks):
            yield f"there is no block {target} of {len(function.blocks)}"
    yield from end.problems(function)
