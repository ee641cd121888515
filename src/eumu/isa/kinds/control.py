"""Execution size, predicate, condition, label: what steers an instruction.

Source: vISA pages "Execution control" and "Predication".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from eumu.ir import Value
from eumu.isa.kinds.builder import InstBuilder
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import (
    VARIABLE_CLASSES,
    pack_elements,
    pack_exec,
    pack_predicate,
    unpack_elements,
    unpack_exec,
    unpack_predicate,
)
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import STRING, integer_literal, quoted, string
from eumu.isa.kinds.operands import ExecSize, Predicate
from eumu.isa.kinds.variables import Declared, PredicateVariable
from eumu.isa.kinds.vector import variable

_MASK = re.compile(r"(M[1-8])(_NM)?\b|NoMask\b")
_COMBINE = re.compile(r"\.(any|all)\b")
_LABEL = re.compile(r"[A-Za-z_$@?][\w\-$@?]*")

SIZES = (1, 2, 4, 8, 16, 32)


class ExecKind(Kind):
    """`(16)`, `(M1, 16)`, `(M5_NM, 16)`, `(NoMask, 8)`.

    The code `elements` is that of `gather` and `scatter`.
    """

    manual = "lanes, 1 to 32: (16), (M1, 16); (M5, 16) from lane 16 on; (M1_NM, 16) without mask"
    example = "(M1, 16)"
    codes = ("elements",)

    def parse(self, cursor: Cursor, names: Names) -> ExecSize:
        cursor.expect("(", "and an execution size, as in (M1, 16)")
        offset, nomask = 0, False
        if match := cursor.match(_MASK):
            offset = 4 * (int(match.group(1)[1]) - 1) if match.group(1) else 0
            nomask = match.group(2) is not None or not match.group(1)
            cursor.expect(",", "between mask and execution size")
        start = cursor.skip()
        size = integer_literal(cursor)
        if size not in SIZES:
            cursor.fail(
                f"execution size {size} is not one of {', '.join(map(str, SIZES))}",
                start=start,
                code="exec-size",
            )
        if offset + size > 32:
            cursor.fail(
                f"M{offset // 4 + 1} with execution size {size} passes lane 31",
                start=start,
                code="exec-size",
            )
        cursor.expect(")")
        return ExecSize(size, offset, nomask)

    def print(self, operand: ExecSize) -> str:
        return f"(M{operand.offset // 4 + 1}{'_NM' if operand.nomask else ''}, {operand.size})"

    def pack(self, operand: ExecSize, out: Packer) -> None:
        pack_exec(operand, out)

    def unpack(self, source: Unpacker) -> ExecSize:
        return unpack_exec(source)

    def pack_code(self, code: str, operand: ExecSize, out: Packer) -> None:
        pack_elements(operand, out)

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> ExecSize:
        return unpack_elements(source)

    def join(self, parts: dict[str, Any]) -> ExecSize:
        return parts["elements"]  # type: ignore[no-any-return]

    def bind(self, operand: ExecSize, builder: InstBuilder) -> ExecSize:
        builder.begin(operand)
        return operand


class PredicateKind(Kind):
    """`(P1)`, `(!P1.any)`; masks every write of the body without being mentioned there.

    As a *condition* it is handed to the body as a mask instead, None when absent.
    """

    words = ("any", "all")
    manual = "nothing, or the lanes that run: (P1), (!P1), (P1.any), (P1.all)"
    optional = True

    def __init__(self, *, condition: bool = False) -> None:
        self.condition = condition

    def parse(self, cursor: Cursor, names: Names) -> Predicate | None:
        if not cursor.take("("):
            return None
        invert = cursor.take("!")
        predicate = variable(cursor, names, PredicateVariable, what="a predicate variable")
        combine = cursor.match(_COMBINE)
        cursor.expect(")")
        return Predicate(predicate, invert, combine.group(1) if combine else "")

    def print(self, operand: Predicate | None) -> str:
        if operand is None:
            return ""
        combine = f".{operand.combine}" if operand.combine else ""
        return f"({'!' if operand.invert else ''}{operand.variable.name}{combine}) "

    def pack(self, operand: Predicate | None, out: Packer) -> None:
        pack_predicate(operand, out)

    def unpack(self, source: Unpacker) -> Predicate | None:
        return unpack_predicate(source)

    def bind(self, operand: Predicate | None, builder: InstBuilder) -> Value | None:
        if operand is None:
            return None
        mask = predicate_mask(operand, builder, self.first_bit(builder), builder.width)
        if not self.condition:
            builder.predicate(mask)
        return mask

    def first_bit(self, builder: InstBuilder) -> int:
        """The bit of the predicate that is the instruction's first lane."""
        return builder.exec.offset


def predicate_mask(operand: Predicate, builder: InstBuilder, offset: int, width: int) -> Value:
    """The predicate's lanes from bit `offset`: combine first, then invert.

    `any` and `all` look at every bit of the variable, also at those that are no lanes of the
    instruction: Intel's finalizer makes `any16h` of a predicate of 16 for any execution size.
    """
    root, _ = builder.root(operand.variable)
    if operand.combine:
        every = builder.read_flag(root, 0, operand.variable.count)
        one = builder.any(every) if operand.combine == "any" else builder.all(every)
        mask = builder.splat(one, width)
    else:
        mask = builder.read_flag(root, offset, width)
    return builder.not_(mask) if operand.invert else mask


class ConditionKind(PredicateKind):
    """The predicate of `sel`."""

    manual = "nothing, or the lanes that it is true for: (P1), (!P1), (P1.any), (P1.all)"
    example = "(P1) "

    def __init__(self) -> None:
        super().__init__(condition=True)


class BranchConditionKind(ConditionKind):
    """The predicate of `goto`, `jmp`, calls and returns; a single lane is always the first bit."""

    def first_bit(self, builder: InstBuilder) -> int:
        return builder.exec.offset if builder.width > 1 else 0


class LabelKind(Kind):
    """A label by name or string; the body gets a block number."""

    manual = "a label"
    example = "{name}"

    def parse(self, cursor: Cursor, names: Names) -> str:
        if match := cursor.match(STRING):
            return string(cursor, match)
        return cursor.need(_LABEL, "a label").group()

    def print(self, operand: str) -> str:
        return operand if operand.isidentifier() and operand.isascii() else quoted(operand)

    def pack(self, operand: Any, out: Packer) -> None:
        out.label(operand)

    def unpack(self, source: Unpacker) -> Any:
        return source.label()

    def bind(self, operand: str, builder: Any) -> int:
        return int(builder.label(operand))


class StringKind(Kind):
    """A quoted string, or a bare name."""

    manual = "a name, or any text in quotes"
    example = '"{name}"'

    def parse(self, cursor: Cursor, names: Names) -> str:
        if match := cursor.match(STRING):
            return string(cursor, match)
        return cursor.need(_LABEL, "a name or a string").group()

    def print(self, operand: str) -> str:
        return quoted(operand)

    def pack(self, operand: str, out: Packer) -> None:
        out.string(operand)

    def unpack(self, source: Unpacker) -> str:
        return source.string()


class ChoiceKind(Kind):
    """One word out of a few, in either case; the body gets it in lower case.

    In bytes it is its number, counted from 0 or as `numbers` says; `usual` stands in examples.
    """

    def __init__(
        self, what: str, *words: str, numbers: Sequence[int] = (), usual: str = ""
    ) -> None:
        self.what, self.words = what, words
        self.numbers = tuple(numbers) or tuple(range(len(words)))
        self._pattern = re.compile(r"[A-Za-z0-9_]+")
        self.manual, self.example = f"one of {', '.join(words)}", usual or words[0]

    def parse(self, cursor: Cursor, names: Names) -> str:
        start = cursor.pos
        match = cursor.adjacent(self._pattern)
        word = match.group().lower() if match else ""
        if word not in self.words:
            cursor.fail(f"{self.what} '{word}' is not one of {', '.join(self.words)}", start=start)
        return word

    def print(self, operand: str) -> str:
        return operand

    def pack(self, operand: str, out: Packer) -> None:
        out.u8(self.numbers[self.words.index(operand)])

    def unpack(self, source: Unpacker) -> str:
        return self.words[source.one_of(self.numbers, self.what)]


class NumberKind(Kind):
    """A plain number within bounds."""

    def __init__(self, what: str, low: int, high: int) -> None:
        self.what, self.low, self.high = what, low, high
        self.manual, self.example = f"{what}, {low} to {high}", str(max(low, 1))

    def parse(self, cursor: Cursor, names: Names) -> int:
        start = cursor.skip()
        value = integer_literal(cursor)
        if not self.low <= value <= self.high:
            cursor.fail(f"{self.what} {value} is not in {self.low} to {self.high}", start=start)
        return value

    def print(self, operand: int) -> str:
        return str(operand)


class HexByteKind(Kind):
    """`x1e`: a byte in hexadecimal, as the function of `bfn`."""

    manual = "a byte in hexadecimal, x00 to xff"
    example = "xe8"
    _pattern = re.compile(r"x([0-9a-fA-F]{1,2})\b")

    def parse(self, cursor: Cursor, names: Names) -> int:
        match = cursor.adjacent(self._pattern)
        if match is None:
            cursor.fail("expected a byte such as xe8")
        return int(match.group(1), 16)

    def print(self, operand: int) -> str:
        return f"x{operand:02x}"

    def pack(self, operand: int, out: Packer) -> None:
        out.u8(operand)

    def unpack(self, source: Unpacker) -> int:
        return source.u8("a byte")


class LabelsKind(LabelKind):
    """`(L1, L2, …)`: 1 to 32 labels; the body gets their blocks."""

    manual = "1 to 32 labels: (L0, L1)"
    example = "(L0, L1)"
    codes = ("count", "labels")

    def parse(self, cursor: Cursor, names: Names) -> Any:
        cursor.expect("(", "and the labels of a switch")
        start = cursor.skip()
        labels = [super().parse(cursor, names)]
        while cursor.take(","):
            labels.append(super().parse(cursor, names))
        cursor.expect(")")
        if len(labels) > 32:
            cursor.fail(
                f"a switch has at most 32 labels, not {len(labels)}", start=start, code="labels"
            )
        return tuple(labels)

    def print(self, operand: Any) -> str:
        return f"({', '.join(super(LabelsKind, self).print(label) for label in operand)})"

    def pack_code(self, code: str, operand: Any, out: Packer) -> None:
        if code == "count":
            out.u8(len(operand), "the number of labels")
            return
        for label in operand:
            out.label(label)

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> Any:
        if code == "labels":
            return tuple(source.label() for _ in range(parts["count"]))
        at, count = source.pos, source.u8("the number of labels")
        if not 1 <= count <= 32:
            source.fail(f"a switch has 1 to 32 labels, not {count}", at)
        return count

    def join(self, parts: dict[str, Any]) -> Any:
        return parts["labels"]

    def bind(self, operand: Any, builder: Any) -> Any:
        return tuple(super(LabelsKind, self).bind(label, builder) for label in operand)


class VariableKind(Kind):
    """A variable of any class, by name."""

    manual = "a variable of any class"
    example = "{name}"

    def parse(self, cursor: Cursor, names: Names) -> Any:
        return variable(cursor, names)

    def print(self, operand: Any) -> str:
        return str(operand.name)

    def pack(self, operand: Declared, out: Packer) -> None:
        out.u8(VARIABLE_CLASSES.index(type(operand)) << 4)
        out.u32(out.variable(operand))

    def unpack(self, source: Unpacker) -> Declared:
        at, byte = source.pos, source.u8("the class of a variable")
        if byte & 15 or byte >> 4 >= len(VARIABLE_CLASSES):
            source.fail(f"{byte:#04x} is no class of variables", at)
        number = source.u32("a variable")
        return source.variable(VARIABLE_CLASSES[byte >> 4], number, at + 1)
