"""Reads one object: the pool of strings, the tables, the instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from eumu.binary import layout
from eumu.binary.attributes import Value, decode_string, unpack_value
from eumu.binary.instructions import InstructionReader
from eumu.errors import FormatError
from eumu.isa.kinds.bytes import U32, Unpacker
from eumu.isa.kinds.encoding import TYPE_CODES
from eumu.isa.kinds.variables import Declared, Variable
from eumu.isa.visa import VISA
from eumu.program import (
    Attribute,
    GenBinary,
    Inst,
    Item,
    Kernel,
    KernelInput,
    LabelMark,
    ObjectForm,
    SourceMark,
)
from eumu.records import dataclass

# Bytes that the entries of the tables have at least.
_VARIABLE, _SMALL, _LABEL_ENTRY, _INPUT, _ATTRIBUTE = 15, 7, 6, 9, 5

_LABEL = re.compile(r"[A-Za-z_$@?][\w$@?\-]*", re.ASCII)
_NO_LABEL = re.compile(r"[^\w$@?\-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Label:
    """An entry of the table of labels; `text` is the name that the file has for it."""

    name: str
    text: str
    kind: str


class ObjectReader:
    """Reads the object that `source` is bounded to."""

    def __init__(self, source: Unpacker, name: str, is_function: bool) -> None:
        self._source = source
        self._name, self._is_function = name, is_function
        self._begin = source.pos
        self._strings: tuple[bytes, ...] = ()
        # Of each declared variable: the numbers of its name and of its attributes' names, and the
        # attributes' values as bytes.
        self._names: dict[Declared, list[int]] = {}
        self._values: dict[Declared, list[bytes]] = {}
        self._labels: list[_Label] = []
        self._kinds: dict[str, str] = {}
        self._taken: dict[str, int] = {}

    def read(self, inputs_at: int, linkage: int, binaries: tuple[GenBinary, ...]) -> Kernel:
        source = self._source
        self._read_strings()
        name = self._name_index()
        declarations = self._read_tables()
        inputs = () if self._is_function else self._read_inputs(inputs_at)
        size, entry = source.u32("the size of the code"), source.u32("the entry")
        sizes = (0, 0)
        if self._is_function:
            sizes = source.u8("the size of arguments"), source.u8("the size of results")
        names, values, attributes = [name], [], []
        for declared in declarations:
            names += self._names[declared]
            values += self._values[declared]
        count = self._count("H", _ATTRIBUTE, "attributes")
        for attribute, index, value in self._read_attributes(count):
            names.append(index)
            values.append(value)
            attributes.append(Attribute(attribute, unpack_value(attribute, value)))
        self._check_entry(size, entry)
        body = self._read_body()
        labels = tuple((label.name, label.text) for label in self._labels)
        names += source.uses
        form = ObjectForm(self._strings, tuple(names), tuple(values), labels, linkage, sizes)
        return Kernel(
            self._name, declarations, inputs, tuple(attributes), body, self._is_function,
            gen_binaries=binaries, form=form,
        )  # fmt: skip

    # ---- strings

    def _read_strings(self) -> None:
        source = self._source
        at = source.pos
        count = source.u32("the number of strings")
        if count > source.end - source.pos:
            source.fail(f"{count} strings in {source.end - source.pos} bytes", at)
        strings = []
        for _ in range(count):
            end = source.data.find(0, source.pos, source.end)
            if end < 0:
                source.fail("a string without its end")
            strings.append(source.data[source.pos : end])
            source.pos = end + 1
        self._strings = tuple(strings)
        source.tables.strings = [decode_string(s) for s in strings]

    def _name_index(self) -> int:
        """The number of a string, which must exist."""
        source = self._source
        at, number = source.pos, source.u32("a name")
        if number >= len(self._strings):
            source.fail(f"string {number} is not one of {len(self._strings)}", at)
        return number

    def _count(self, format: str, least: int, what: str) -> int:
        """How many entries of at least `least` bytes follow."""
        source = self._source
        at = source.pos
        read = {"B": source.u8, "H": source.u16, "I": source.u32}[format]
        count = read(f"the number of {what}")
        if count * least > source.end - source.pos:
            source.fail(f"{count} {what} in {source.end - source.pos} bytes", at)
        return count

    # ---- tables

    def _read_tables(self) -> tuple[Declared, ...]:
        source = self._source
        declared: list[Declared] = []
        for _ in range(self._count("I", _VARIABLE, "variables")):
            declared.append(self._read_variable())
        for kind, format in layout.SMALL_TABLES:
            declared += self._read_small(kind, format)
        for _ in range(self._count("H", _LABEL_ENTRY, "labels")):
            self._read_label()
        for kind, format in layout.STATE_TABLES:
            declared += self._read_small(kind, format)
        at = source.pos
        if count := source.u8("the number of VME variables"):
            source.fail(f"{count} VME variables, which no version ever had", at)
        return self._in_order(declared)

    def _in_order(self, unordered: list[Declared]) -> tuple[Declared, ...]:
        """In the order of the text that was written, where the pool of strings tells it."""
        numbers: dict[type[Declared], list[int]] = {}
        for declared in unordered:
            numbers.setdefault(type(declared), []).append(self._names[declared][0])
        if all(n == sorted(set(n)) for n in numbers.values()):
            unordered = sorted(unordered, key=lambda d: self._names[d][0])
        return tuple(unordered)

    def _declare(self, declared: Declared, name: int) -> Declared:
        names, values, attrs = [name], [], []
        count = self._source.u8("the number of attributes")
        for attribute, index, value in self._read_attributes(count):
            names.append(index)
            values.append(value)
            attrs.append((attribute, _text(unpack_value(attribute, value))))
        if attrs:
            declared = replace(declared, attrs=tuple(attrs))
        self._names[declared], self._values[declared] = names, values
        self._source.tables.declare(declared)
        return declared

    def _read_variable(self) -> Declared:
        source = self._source
        at = source.pos
        name = self._name_index()
        byte, count = source.u8("a type"), source.u16("a number of elements")
        type, align = TYPE_CODES[byte & 15], byte >> 4
        if type.size == 0 or align >= len(layout.ALIGNMENTS) or count == 0:
            source.fail(f"{count} elements of type {type} with alignment {align}", at + 4)
        alias_at = source.pos
        alias, offset = source.u32("an alias"), source.u16("an alias")
        base = source.variable(Variable, alias, alias_at) if alias else None
        scope_at = source.pos
        if scope := source.u8("a scope"):
            source.fail(f"scope {scope}; there are only variables of a kernel", scope_at)
        text = source.tables.strings[name]
        declared = Variable(text, count, type, layout.ALIGNMENTS[align], base, offset)
        return self._declare(declared, name)

    def _read_small(self, kind: type[Declared], format: str) -> Iterator[Declared]:
        source = self._source
        for _ in range(self._count(format, _SMALL, f"variables v_type={kind.category}")):
            name, count = self._name_index(), source.u16("a number of elements")
            yield self._declare(kind(source.tables.strings[name], count), name)

    def _read_label(self) -> None:
        source = self._source
        index = self._name_index()
        kind = source.code(layout.LABEL_KINDS, "the kind of a label")
        if source.u8("the number of attributes"):
            source.fail("a label has attributes", source.pos - 1)
        text = source.tables.strings[index]
        label = _Label(self._label_name(text, kind), text, kind)
        self._labels.append(label)
        self._kinds[label.name] = kind
        source.tables.labels.append(label.name)
        source.tables.label_names.append(index)

    def _label_name(self, text: str, kind: str) -> str:
        """The name itself if it is the first of its kind and can be written as a label."""
        name = text
        if kind != "subroutine" and not _LABEL.fullmatch(text):
            name = "L_" + _NO_LABEL.sub("_", text)
        number = self._taken.get(name, 0)
        while number and f"{name}_{number}" in self._taken:
            number += 1
        self._taken[name] = number + 1
        if number:
            name = f"{name}_{number}"
            self._taken[name] = 1
        return name

    def _read_inputs(self, expected: int) -> tuple[KernelInput, ...]:
        source = self._source
        if source.pos != expected:
            source.fail(f"the inputs lie here; the header says at {expected:#x}")
        format = "I" if source.version >= layout.MANY_INPUTS else "B"
        count = self._count(format, _INPUT, "inputs")
        return tuple(self._read_input() for _ in range(count))

    def _read_input(self) -> KernelInput:
        source = self._source
        at = source.pos
        byte = source.u8("the kind of an input")
        if byte & 7 >= len(layout.INPUTS):
            source.fail(f"an input of class {byte & 7}; there are 0 to 2", at)
        number = source.u32("an input")
        variable: Declared = source.variable(layout.INPUTS[byte & 7], number, at + 1)
        if variable.predefined is not None:
            source.fail(f"the predefined {variable.name} is an input", at + 1)
        offset, size = source.i16("an input"), source.u16("an input")
        return KernelInput(variable, offset, size, layout.implicit_name(byte >> 3))

    def _read_attributes(self, count: int) -> Iterator[tuple[str, int, bytes]]:
        """Name, the number of the name in the pool, value."""
        source = self._source
        for _ in range(count):
            index = self._name_index()
            start = source.need(source.u8("the size of an attribute"), "an attribute")
            yield source.tables.strings[index], index, source.data[start : source.pos]

    # ---- the code

    def _check_entry(self, size: int, entry: int) -> None:
        source = self._source
        if source.pos != self._begin + entry:
            source.fail(f"the code begins here; the entry is at {self._begin + entry:#x}")
        if size != source.end - source.pos:
            source.fail(f"the code has {size} bytes; {source.end - source.pos} are left")

    def _read_body(self) -> tuple[Item, ...]:
        source = self._source
        body: list[Item] = []
        placed: set[str] = set()
        while source.pos < source.end:
            at, byte = source.pos, source.data[source.pos]
            if byte in layout.LABEL_CODES:
                source.pos += 1
                body.append(self._read_mark(placed, at))
            elif byte == layout.FILE:
                source.pos += 1
                body.append(SourceMark(file=source.string(U32)))
            elif byte == layout.LOC:
                source.pos += 1
                body.append(SourceMark(line=source.u32("a line number")))
            else:
                body.append(self._read_instruction())
        for number in source.labels:
            if self._labels[number].name not in placed:
                source.fail(f"label {number} ('{self._labels[number].text}') stands nowhere")
        return tuple(body)

    def _read_instruction(self) -> Inst:
        source = self._source
        try:
            return _instructions().read(source)
        except FormatError as error:
            if not source.data.endswith(_LOST, source.pos, source.end):
                raise
            raise FormatError(
                f"{error}; the code ends in zeros, as Intel's writers from September 2022 to"
                " September 2023 leave it, which lose operands"
            ) from None

    def _read_mark(self, placed: set[str], at: int) -> LabelMark:
        source = self._source
        code, name = source.data[at], source.label()
        kind = self._kinds[name]
        if name in placed:
            source.fail(f"label '{name}' stands twice", at)
        if code != layout.LABEL_CODES[kind == "subroutine"]:
            source.fail(f"label '{name}' is a {kind}, which opcode {code:#04x} is not for", at)
        placed.add(name)
        return LabelMark(name, kind)


_LOST = bytes(8)


@cache
def _instructions() -> InstructionReader:
    """Made for the first object file, as that declares all of vISA."""
    return InstructionReader(VISA)


def _text(value: Value) -> str | None:
    return None if value is None else str(value)
