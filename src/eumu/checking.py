"""Checks programs of every form: vISA text, object files, the compiler's ELF, OpenCL C.

OpenCL C is compiled with debug information, whose marks lead from an instruction back to the line
of the source; so inline assembly is checked as the compiler has placed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Final, Protocol

from eumu import binary, verify, zebin
from eumu.errors import (
    ArgumentError,
    BuildError,
    Diagnostic,
    FormatError,
    Severity,
    Source,
    Span,
)
from eumu.platforms import Platform, of_product_family, platform
from eumu.program import Module
from eumu.text import print_module

# What vISA text, OpenCL C and SPIR-V are checked for where nothing says otherwise.
DEFAULT_DEVICE: Final = "pvc"
_LINE: Final = re.compile(r"\bline (\d+)\b")
# What the compiler says where its assembler refuses what an `__asm__` has.
_INLINE: Final = "inline assembly"
_FILE: Final = re.compile(r'\s*FILE\s+"((?:[^"\\]|\\.)*)"')
_LOCATION: Final = re.compile(r"\s*LOC\s+(\d{1,9})\b")
_ESCAPED: Final = re.compile(r"\\(.)")
_SOURCES: Final = (".cl", ".clcpp", ".ocl")


class Loaded(Protocol):
    """A program that `eumu.load` or `eumu.build` made."""

    @property
    def name(self) -> str: ...
    @property
    def elf(self) -> zebin.Zebin | None: ...


def check(
    program: Module | Loaded | bytes | str | PathLike[str],
    device: str | Platform | None = None,
    *,
    parity: bool = False,
    options: str = "",
) -> list[Diagnostic]:
    """All errors, warnings and notes for a program on a device; nothing runs.

    `program` is a module, a loaded program, the bytes of a program, or the path of one: vISA text,
    an object file (`.isa`), the compiler's ELF, OpenCL C (`.cl`) or SPIR-V.  An ELF file names its
    device; other programs are checked for `device` (default: pvc).  `options` are the compiler's.
    With `parity`, the findings are those of Intel's front end and no others.

    BuildError has the compiler's errors for a source, FormatError says why a file cannot be read.
    ArgumentError: the program was loaded from vISA text, which is not kept; check the text.
    """
    target = None if device is None else platform(device)
    if isinstance(program, Module):
        return verify.check(program, target or platform(DEFAULT_DEVICE), parity=parity)
    if isinstance(program, bytes):
        return _Input(program, "program", None, target, parity, options).check()
    if not isinstance(program, str | PathLike):
        if not hasattr(program, "elf"):
            raise ArgumentError(f"eumu checks no {type(program).__name__}")
        if program.elf is None:
            raise ArgumentError(f"{program.name} was loaded from text: check the file itself")
        return _Input(b"", program.name, None, target, parity, options).elf(program.elf)
    path = Path(fspath(program))
    return _Input(path.read_bytes(), str(program), path, target, parity, options).check()


class _Input:
    def __init__(
        self,
        data: bytes,
        name: str,
        path: Path | None,
        device: Platform | None,
        parity: bool,
        options: str,
    ) -> None:
        self.data, self.name, self.path = data, name, path
        self.given, self.parity, self.options = device, parity, options
        self.device = device or platform(DEFAULT_DEVICE)

    def check(self) -> list[Diagnostic]:
        data = self.data
        if zebin.is_elf(data):
            return self.elf(zebin.read(data, self.name))
        if zebin.is_spirv(data) or (self.path and self.path.suffix.lower() in _SOURCES):
            return self._source()
        if binary.is_object_file(data):
            return self._object_file()
        return self._text(self._decoded(), self.name)

    def _decoded(self) -> str:
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.name}: byte {error.start:#x} is not UTF-8 text") from None

    def _text(
        self, text: str, name: str, undefined: frozenset[str] = frozenset()
    ) -> list[Diagnostic]:
        return verify.check_text(text, name, self.device, parity=self.parity, undefined=undefined)

    def _object_file(self) -> list[Diagnostic]:
        """Places are those in the text that `eumu dis` prints."""
        module = binary.read(self.data, self.name, self.device.grf_bytes)
        if self.given is None and (made_for := binary.made_for(module)):
            self.device = made_for
            module = binary.read(self.data, self.name, self.device.grf_bytes)
        return self._text(print_module(module), self.name)

    def elf(self, elf: zebin.Zebin) -> list[Diagnostic]:
        """The findings in a compiled program."""
        family = elf.target.product_family
        made_for = None if family is None else of_product_family(family)
        self.device = made_for or self.device
        diagnostics = [] if self.parity else _unknown(elf)
        for name, text in _parts(elf):
            diagnostics += self._text(text, f"{self.name}:{name}.visaasm", frozenset(elf.undefined))
        return diagnostics

    # ---- sources

    def _source(self) -> list[Diagnostic]:
        is_text = not zebin.is_spirv(self.data)
        options = f"-g {self.options}".strip() if is_text else self.options
        directory = self.path.parent if self.path else None
        try:
            built = zebin.compile(
                self.data, self.device, options, name=self.name, directory=directory
            )
        except BuildError as error:
            if not is_text or not any(_INLINE in d.message for d in error.diagnostics):
                raise
            refused = self._refused(options, directory)
            if not refused:
                raise
            return refused
        if not is_text:
            return self.elf(zebin.read(built.elf, self.name))
        elf = zebin.read(built.elf, self.name)
        return [
            *built.warnings,
            *([] if self.parity else _unknown(elf)),
            *self._placed(_parts(elf), frozenset(elf.undefined)),
        ]

    def _refused(self, options: str, directory: Path | None) -> list[Diagnostic]:
        """The errors in inline assembly that the compiler refuses without saying where."""
        source = self.data.decode("utf-8", "replace")
        texts = zebin.inline_assembly(
            source, self.device, options, name=self.name, directory=directory
        )
        named = ((f"inline assembly {number}", text) for number, text in enumerate(texts, 1))
        return [d for d in self._placed(named, frozenset()) if d.severity is Severity.ERROR]

    def _placed(
        self, parts: Iterable[tuple[str, str]], undefined: frozenset[str]
    ) -> Iterable[Diagnostic]:
        """The findings in what the compiler made of a source, at the source's lines."""
        sources = _Sources(self.name, self.data.decode("utf-8", "replace"))
        diagnostics: dict[tuple[str, str, str], Diagnostic] = {}
        for name, text in parts:
            visa_name = f"{self.name}:{name}.visaasm"
            marks = _marks(text)
            for diagnostic in self._text(text, visa_name, undefined):
                placed = sources.place(diagnostic, marks)
                diagnostics.setdefault((placed.code, str(placed.span), placed.message), placed)
        return diagnostics.values()


def _unknown(elf: zebin.Zebin) -> list[Diagnostic]:
    """What the file has and eumu does not know: never an error by itself."""
    return [
        Diagnostic("elf-unknown", f"eumu does not know {what}", severity=Severity.NOTE)
        for what in elf.unknown
    ]


def _parts(elf: zebin.Zebin) -> Iterator[tuple[str, str]]:
    """Names and texts of the kernels and functions of a compiled program."""
    for kernel in elf.kernels:
        yield kernel.name, kernel.visaasm
    for function in elf.functions:
        yield function.name, function.visaasm


Mark = tuple[str, int]  # file, line


def _marks(text: str) -> dict[int, Mark]:
    """The line of the source that each line of vISA text comes from, as LOC and FILE say."""
    marks: dict[int, Mark] = {}
    file, line = "", 0
    for number, written in enumerate(text.split("\n"), 1):
        if mark := _FILE.match(written):
            file = _ESCAPED.sub(r"\1", mark[1])
        elif mark := _LOCATION.match(written):
            line = int(mark[1])
        elif file and line:
            marks[number] = file, line
    return marks


def _translated(sentence: str, marks: dict[int, Mark]) -> str:
    """A message with the source's lines for those of the vISA text."""

    def line(match: re.Match[str]) -> str:
        mark = marks.get(int(match[1]))
        return f"line {mark[1]}" if mark else f"line {match[1]} of the vISA text"

    return _LINE.sub(line, sentence)


class _Sources:
    """The files that marks name; they are read when they are needed."""

    def __init__(self, name: str, text: str) -> None:
        self._main = Source(name, text)
        self._files = {str(Path(name).absolute()): self._main, name: self._main}

    def place(self, diagnostic: Diagnostic, marks: dict[int, Mark]) -> Diagnostic:
        """The finding at the source's line, if there is one, with the instruction in a note."""
        span = diagnostic.span
        mark = marks.get(span.line) if span else None
        if span is None or mark is None:
            return diagnostic
        file, line = mark
        source = self._file(file)
        text = source.line(line)
        begin = len(text) - len(text.lstrip())
        there = Span(source, line, begin + 1, line, max(len(text.rstrip()), begin + 1) + 1)
        assembly = " ".join(span.source.line(span.line).split("///")[0].split())
        message, *more = (_translated(s, marks) for s in (diagnostic.message, *diagnostic.notes))
        notes = (f"the instruction is: {assembly}", *more)
        return replace(diagnostic, message=message, span=there, notes=notes)

    def _file(self, name: str) -> Source:
        source = self._files.get(name)
        if source is None:
            try:
                source = Source(name, Path(name).read_text("utf-8", "replace"))
            except OSError:  # a header that the compiler has inside
                source = Source(name, "")
            self._files[name] = source
        return source
