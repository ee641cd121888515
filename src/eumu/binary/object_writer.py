"""Writes one object.

Names go into the pool of strings in the order in which the front end's own writer puts them: the
kernel's, the predefined variables', the declarations' with their attributes', the kernel's
attributes', then labels and strings as the code meets them; none is looked for in the pool first.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import ParamSpec

from eumu.binary import layout
from eumu.binary.attributes import STRINGS, decode_string, encode_string, pack_value, unpack_value
from eumu.binary.instructions import pack_instruction
from eumu.errors import Diagnostic, Span
from eumu.isa.kinds.bytes import EncodeError, Packer, Tables, Version
from eumu.isa.kinds.encoding import TYPE_CODES
from eumu.isa.kinds.variables import Declared, Variable
from eumu.program import Item, Kernel, KernelInput, LabelMark, ObjectForm, ScopeMark, SourceMark

Arguments = ParamSpec("Arguments")


class _Pool:
    """The strings of an object; those of a file that was read keep their places."""

    def __init__(self, form: ObjectForm | None) -> None:
        self.strings: list[bytes] = list(form.strings) if form else []
        self._expected = iter(form.names if form else ())

    def add(self, text: str) -> int:
        """The number of a string."""
        expected = next(self._expected, None)
        if expected is not None and decode_string(self.strings[expected]) == text:
            return expected
        self._expected = iter(())  # the program has changed since it was read
        data = encode_string(text)
        if b"\0" in data:
            raise EncodeError(f"the string {text!r} has a NUL")
        self.strings.append(data)
        return len(self.strings) - 1


class ObjectWriter:
    """Writes one kernel; what has no binary form is added to `diagnostics`."""

    def __init__(
        self, kernel: Kernel, version: Version, grf_bytes: int, diagnostics: list[Diagnostic]
    ) -> None:
        self._kernel, self._version, self._found = kernel, version, diagnostics
        form = kernel.form
        self._sizes = form.sizes if form else (0, 0)
        self._pool = _Pool(form)
        self._values = iter(form.values if form else ())
        self._numbers: dict[Declared, int] = {}
        # Labels by name: kind, number, the name in the pool, and the number of that.
        self._kinds = {m.name: m.kind for m in kernel.body if isinstance(m, LabelMark)}
        self._texts = dict(form.labels) if form else {}
        kept = [name for name in self._texts if name in self._kinds]
        self._labels = {name: number for number, name in enumerate(kept)}
        self._label_names: dict[str, int] = {}
        self._out = Packer(version, grf_bytes, self._numbers, self._label, self._pool.add)

    def write(self) -> tuple[bytes, int]:
        """The object, and the offset of its inputs in it."""
        kernel = self._kernel
        name = self._name(kernel)
        if kernel.form is None:
            for text in layout.POOL:
                self._pool.add(text)
        tables = self._tables()
        attributes = b"".join(
            self._guarded(kernel.span, self._attribute, a.name, a.value) for a in kernel.attributes
        )
        for item in kernel.body:
            self._item(item)
        code = bytes(self._out.data)
        begin = self._strings() + _pack("I", name) + tables(self._label_table())
        inputs = len(begin)
        begin += self._inputs()
        tail = bytes(self._sizes) if kernel.is_function else b""
        tail += self._counted("H", len(kernel.attributes), attributes, "attributes")
        entry = len(begin) + 8 + len(tail)
        return begin + _pack("II", len(code), entry) + tail + code, inputs

    def _name(self, kernel: Kernel) -> int:
        try:
            return self._pool.add(kernel.name)
        except EncodeError as error:
            self._found.append(Diagnostic("encoding", str(error), kernel.span))
            return 0

    def _guarded(
        self, span: Span | None, make: Callable[Arguments, bytes], *args: Arguments.args,
        **named: Arguments.kwargs,
    ) -> bytes:  # fmt: skip
        try:
            return make(*args, **named)
        except EncodeError as error:
            self._found.append(Diagnostic("encoding", str(error), span))
            return b""

    def _counted(self, format: str, count: int, entries: bytes, what: str) -> bytes:
        """A table: the number of entries, then the entries."""
        most = (1 << 8 * struct.calcsize(f"<{format}")) - 1
        if count > most:
            message = f"{count} {what}; the object file has at most {most}"
            self._found.append(Diagnostic("encoding", message, self._kernel.span))
            count = 0
        return _pack(format, count) + entries

    def _strings(self) -> bytes:
        strings = self._pool.strings
        return _pack("I", len(strings)) + b"".join(s + b"\0" for s in strings)

    # ---- tables

    def _tables(self) -> Callable[[bytes], bytes]:
        """All tables of variables; the table of labels, which is made later, stands among them."""
        numbers = Tables()
        entries: dict[type[Declared], list[bytes]] = {kind: [] for kind in numbers.variables}
        for declared in self._kernel.declarations:
            self._numbers[declared] = numbers.declare(declared)
            entry = self._guarded(declared.span, self._declaration, declared)
            entries[type(declared)].append(entry)

        def table(kind: type[Declared], format: str) -> bytes:
            what = f"variables v_type={kind.category}"
            return self._counted(format, len(entries[kind]), b"".join(entries[kind]), what)

        before = table(Variable, "I") + b"".join(table(*t) for t in layout.SMALL_TABLES)
        behind = b"".join(table(*t) for t in layout.STATE_TABLES)
        return lambda labels: before + labels + behind + _NO_VME

    def _declaration(self, declared: Declared) -> bytes:
        name = self._pool.add(declared.name)
        out = Packer(self._version, 0, self._numbers, self._label, self._pool.add)
        out.u32(name)
        if isinstance(declared, Variable):
            align = layout.ALIGNMENTS.index(None if declared.align == "byte" else declared.align)
            out.u8(TYPE_CODES.index(declared.type) | align << 4)
            out.u16(declared.count, "the number of elements")
            alias = 0 if declared.alias is None else out.variable(declared.alias)
            if declared.alias is not None and alias == 0:
                raise EncodeError("the object file has no aliases of %null")
            out.u32(alias)
            out.u16(declared.alias_offset, "the offset of an alias")
            out.u8(0)
        else:
            out.u16(declared.count, "the number of elements")
        out.u8(len(declared.attrs), "the number of attributes")
        return bytes(out.data) + b"".join(
            self._attribute(attribute, _number(attribute, value))
            for attribute, value in declared.attrs
        )

    def _attribute(self, name: str, value: int | str | None) -> bytes:
        index = self._pool.add(name)
        data = next(self._values, None)
        if data is None or unpack_value(name, data) not in (value, str(value)):
            self._values = iter(())  # the program has changed since it was read
            data = pack_value(name, value)
        return _pack("IB", index, len(data)) + data

    def _label_table(self) -> bytes:
        entries = b"".join(
            _pack("IBB", self._label_names[name], layout.LABEL_KINDS.index(self._kinds[name]), 0)
            for name in sorted(self._labels, key=self._labels.__getitem__)
        )
        return self._counted("H", len(self._labels), entries, "labels")

    def _inputs(self) -> bytes:
        kernel = self._kernel
        if kernel.is_function:
            if kernel.inputs:
                message = "the object file has inputs of kernels only"
                self._found.append(Diagnostic("encoding", message, kernel.inputs[0].span))
            return b""
        entries = [self._guarded(item.span, self._input, item) for item in kernel.inputs]
        format = "I" if self._version >= layout.MANY_INPUTS else "B"
        return self._counted(format, len(entries), b"".join(entries), "inputs")

    def _input(self, item: KernelInput) -> bytes:
        out = Packer(self._version, 0, self._numbers, self._label, self._pool.add)
        implicit = layout.implicit_code(item.implicit)
        if implicit is None:
            raise EncodeError(f"the implicit kind '{item.implicit}' has no code")
        if type(item.variable) not in layout.INPUTS:
            raise EncodeError(f"'{item.variable.name}' cannot be an input")
        out.u8(layout.INPUTS.index(type(item.variable)) | implicit << 3)
        out.u32(out.variable(item.variable))
        out.number("h", item.offset, "offset")
        out.u16(item.size, "size")
        return bytes(out.data)

    # ---- the code

    def _label(self, name: str) -> int:
        """The number of a label, which it gets when it is first met."""
        if name not in self._kinds:
            raise EncodeError(f"label '{name}' is not defined")
        if name not in self._label_names:
            self._label_names[name] = self._pool.add(self._texts.get(name, name))
        return self._labels.setdefault(name, len(self._labels))

    def _item(self, item: Item) -> None:
        out = self._out
        span = None if isinstance(item, SourceMark | ScopeMark) else item.span
        try:
            match item:
                case LabelMark():
                    out.u8(layout.LABEL_CODES[item.kind == "subroutine"])
                    out.label(item.name)
                case SourceMark(file=str(name)):
                    out.u8(layout.FILE)
                    out.string(name, "I")
                case SourceMark():
                    out.u8(layout.LOC)
                    out.u32(item.line or 0, "a line number")
                case ScopeMark():
                    pass  # the names of a scope are in the tables like all others
                case _:
                    pack_instruction(item, out)
        except EncodeError as error:
            self._found.append(Diagnostic("encoding", str(error), span))


_NO_VME = b"\0"


def _pack(format: str, *values: int) -> bytes:
    return struct.pack(f"<{format}", *values)


def _number(name: str, value: str | None) -> int | str | None:
    """The value of a variable's attribute, which the text has as a word."""
    if value is None or name in STRINGS or not value.lstrip("-").isdecimal():
        return value
    return int(value)
