"""What is said of a user's program: places in it, diagnostics, and the record of one mistake."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from functools import lru_cache
from typing import Final

from eumu.records import dataclass

# What a launch may be found to do wrong: the codes of faults and findings, in few words.
CODES: Final = {
    "out-of-bounds": "an access outside of every array, surface, local memory or scratch space",
    "null-pointer": "an access through a null pointer",
    "use-after-free": "an access to memory that has been freed",
    "unbound-surface": "an access through a surface that is not bound",
    "register-address": "a write through a register address outside of every variable",
    "divergent-barrier": "a barrier that not all work items of a group reach",
    "named-barrier": "a wrong use of a named barrier",
    "deadlock": "threads that wait for each other",
    "endless-loop": "more instructions than a thread may run",
    "timeout": "more time than the launch may take",
    "call-depth": "calls without end",
    "call-target": "a call of what is no function",
    "message": "a message that cannot be answered",
    "trap": "a place in machine code where nothing can run",
    "undefined": "a use of what nothing has written",
    "uninitialized": "a use of memory of the device that nothing has written",
    "misaligned": "an access at an address that its message or the language forbids",
    "division-by-zero": "a division of integers by zero",
    "read-only": "a write to memory that must only be read",
    "write-only": "a read of memory that must only be written",
    "printf-overflow": "text that found no room in the buffer of printf",
    "leak": "memory that nobody freed",
    "race": "accesses of different work items to the same byte that nothing orders",
    "divergent-copy": "an async copy that the work items of a group do not make alike",
    "divergent-wait": "a wait for events that the work items of a group do not make alike",
    "copy-not-waited": "an async copy that nobody waited for",
    "wait-event": "a wait for an event that no copy gave",
    "array-index": "an index outside of an array",
}


# Terminals obey these characters: a program's text and names must not speak to them.
_CONTROLS: Final = {
    **{c: 0x2400 + c for c in range(32) if c not in b"\t\n"},
    **{c: 0xFFFD for c in range(0x80, 0xA0)},
    0x7F: 0x2421,
}


def plain(text: str) -> str:
    r"""A text without characters that control a terminal; each has a picture of the same width.

    >>> plain("a\x1b[31mb")
    'a␛[31mb'
    """
    return text if text.isprintable() else text.translate(_CONTROLS)


@lru_cache(maxsize=4)  # a text with many errors would be split once for each
def _lines(text: str) -> list[str]:
    return text.split("\n")


@dataclass(frozen=True, slots=True)
class Source:
    """A named text that spans point into."""

    name: str
    text: str = field(repr=False)

    def line(self, number: int) -> str:
        """The text of a line counted from 1, or an empty string past the end."""
        lines = _lines(self.text)
        return lines[number - 1].rstrip("\r") if 1 <= number <= len(lines) else ""


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a source; lines and columns count from 1, the end column is exclusive."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"


class Severity(Enum):
    """How bad a diagnostic is; only an error stops a build."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about the user's program.

    `code` is stable and short (``parse``, ``undeclared``); `spec` names the page of the rule.
    """

    code: str
    message: str
    span: Span | None = None
    severity: Severity = Severity.ERROR
    notes: tuple[str, ...] = ()
    spec: str = ""

    def __str__(self) -> str:
        return render(self)


def render(diagnostic: Diagnostic) -> str:
    """`file:line:column: error: message`, the source line, a caret, and the notes."""
    where = f"{diagnostic.span}: " if diagnostic.span else ""
    page = f" (vISA {diagnostic.spec})" if diagnostic.spec else ""
    lines = [f"{where}{diagnostic.severity.value}: {diagnostic.message}{page}"]
    if diagnostic.span is not None:
        lines += excerpt(diagnostic.span)
    lines += [f"  note: {note}" for note in diagnostic.notes]
    return plain("\n".join(lines))


_WIDEST: Final = 200  # characters of a line that are shown; programs write sources in one line


def excerpt(span: Span) -> list[str]:
    """The line of a span with carets below it; nothing of an empty line."""
    text = span.source.line(span.line)
    if not text.strip():
        return []
    end = span.end_column if span.end_line == span.line else len(text) + 1
    text, first, last = _window(text, span.column - 1, end - 1)
    pad = "".join("\t" if c == "\t" else " " for c in text[:first])
    return [f"  {text}", f"  {pad}{'^' * max(1, last - first)}"]


def _window(text: str, first: int, last: int) -> tuple[str, int, int]:
    """The part of a long line that has the columns `first` to `last`, and where they are there."""
    if len(text) <= _WIDEST:
        return text, first, last
    begin = max(0, min(first - _WIDEST // 4, len(text) - _WIDEST))
    end = begin + _WIDEST
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    shift = len(before) - begin
    return before + text[begin:end] + after, first + shift, min(last, end) + shift


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's source that an instruction comes from, as far as the compiler says.

    `column` counts from 1, None if it is not known; `function` is whose line it is; `inlined` are
    the calls through which it came into the kernel, innermost first.  `text` is the line itself.
    """

    file: str
    line: int
    column: int | None = None
    function: str = ""
    inlined: tuple[Place, ...] = ()
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")

    @property
    def words(self) -> str:
        """The place, whose line it is, and how it came there."""
        name = f" in {self.function}" if self.function else ""
        calls = "".join(
            f", inlined at {call}" + (f" in {call.function}" if call.function else "")
            for call in self.inlined
        )
        return f"{self}{name}{calls}"

    def excerpt(self) -> list[str]:
        """The line with a caret below its column, or below all of it."""
        if not self.text.strip():
            return []
        source = Source(self.file, "\n" * (self.line - 1) + self.text)
        begin = len(self.text) - len(self.text.lstrip()) + 1
        column, end = self.column or begin, len(self.text.rstrip()) + 1
        if not 1 <= column < end:
            column = begin
        last = column + 1 if self.column else end
        return excerpt(Span(source, self.line, column, self.line, last))


Ids = tuple[int, int, int]


LOCAL_MEMORY: Final = "shared local memory"
SCRATCH: Final = "scratch space"
PRINTF_BUFFER: Final = "the printf buffer"
MEMORY: Final = "memory"  # of the device, where no array is
NO_ARRAYS: Final = frozenset({LOCAL_MEMORY, SCRATCH, PRINTF_BUFFER, MEMORY})


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """What a finding says of memory: byte `offset` from the start of `array`, of `size` bytes.

    `element` is the number of the element there, of `item` bytes; `state` says where the access
    lies: inside, before, after or across the end, or in memory that was freed.
    """

    array: str
    size: int
    offset: int
    item: int = 1
    state: str = "inside"

    @property
    def title(self) -> str:
        """What to call it in a sentence: what is no array of the host has no name."""
        return self.array if self.array in NO_ARRAYS else f"array '{self.array}'"

    @property
    def element(self) -> int:
        return self.offset // max(1, self.item)

    def __str__(self) -> str:
        count = self.size // max(1, self.item)
        what = f"{self.title} has {self.size} bytes"
        elements = f"{count} elements of {self.item}, " if self.item > 1 else ""
        behind = ", and goes on behind it" if self.offset < self.size else ", behind it"
        where = {"freed": "; it has been freed", "after": behind, "before": ", before it"}
        number = f", element {self.element}" if self.item > 1 else ""
        return f"{what}: {elements}this is offset {self.offset}{number}{where.get(self.state, '')}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake in a program: the record of a fault, of a checked run or of a check.

    `code` is the kind of mistake (``undefined``, ``out-of-bounds``, ``race``); docs/checking.md
    lists the codes.  The place is that of the first work item that made the mistake: `lanes` of a
    thread of a group, `work_items` of them at that place.  `count` is how often threads made it in
    the whole launch.  `place` is the source line, `span` the instruction; `related` are other
    places that belong to it, such as the other access of a race.
    """

    code: str
    reason: str
    kernel: str = ""
    span: Span | None = None
    group: Ids | None = None
    thread: int | None = None
    lanes: tuple[int, ...] = ()
    count: int = 1
    notes: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR
    place: Place | None = None
    instruction: str = ""
    global_id: Ids | None = None
    local_id: Ids | None = None
    address: int | None = None
    memory: ArrayPlace | None = None
    related: tuple[Finding, ...] = ()
    spec: str = ""

    @classmethod
    def of(cls, diagnostic: Diagnostic, kernel: str = "") -> Finding:
        """The finding for a diagnostic of a check."""
        d = diagnostic
        return cls(
            d.code,
            d.message,
            kernel,
            d.span,
            notes=d.notes,
            severity=d.severity,
            spec=d.spec,
        )

    @property
    def message(self) -> str:
        """What is wrong, in one line."""
        return self.reason

    @property
    def file(self) -> str:
        """The name of the source file, or else of the vISA text; "" if neither is known."""
        return self.place.file if self.place else self.span.source.name if self.span else ""

    @property
    def line(self) -> int:
        """The line in `file`, from 1; 0 if it is not known."""
        return self.place.line if self.place else self.span.line if self.span else 0

    @property
    def column(self) -> int:
        """The column in `line`, from 1; 0 if it is not known."""
        if self.place:
            return self.place.column or 0
        return self.span.column if self.span else 0

    @property
    def work_items(self) -> int:
        """The number of work items of the first thread that made it, at that place and time."""
        return max(1, len(self.lanes))

    def __str__(self) -> str:
        return plain("\n".join(self._lines()))

    def _lines(self) -> list[str]:
        if self.place is None and self.span is None:
            head: list[str] = []
        else:
            head = [str(self.place or self.span)]
        page = f" (vISA {self.spec})" if self.spec else ""
        lines = [f"{': '.join([*head, self.severity.value])}: {self.reason}{page}"]
        if self.place is not None:
            lines += self.place.excerpt()
        elif self.span is not None:
            lines += excerpt(self.span)
        return lines + [f"  note: {note}" for note in self.remarks()]

    def remarks(self) -> list[str]:
        """The notes after the first line: work items, count, place in memory."""
        times = f"; {self.count} times in all" if self.count > 1 else ""
        remarks = [f"in {self.where}{times}"] if self.where else []
        remarks += [self.work_item] if self.work_item else []
        if self.place is not None and self.place.function:
            remarks.append(f"at {self.place.words}")
        if self.place is not None and self.span is not None:
            remarks.append(f"the instruction is {self.span}: {self.text}")
        remarks += [str(self.memory)] if self.memory is not None else []
        for other in self.related:
            remarks += related(other)
        return [*remarks, *self.notes]

    @property
    def text(self) -> str:
        """The text of the instruction in the program."""
        line = self.span.source.line(self.span.line) if self.span else ""
        return " ".join(line.split("///")[0].split()) or self.instruction

    @property
    def where(self) -> str:
        """The kernel, group, thread and lanes as text, as far as known."""
        words = [f"kernel {self.kernel}"] if self.kernel else []
        words += [f"group {self.group}"] if self.group is not None else []
        words += [f"thread {self.thread}"] if self.thread is not None else []
        return ", ".join(words)

    @property
    def work_item(self) -> str:
        """The first work item and the number of others, as text."""
        if self.global_id is None:
            return ""
        more = self.work_items - 1
        rest = f", and {more} more" if more else ""
        return f"work item {self.global_id}, local id {self.local_id}{rest}"


def related(other: Finding) -> list[str]:
    """Another place that belongs to a finding, as a note."""
    first, *rest = other._lines()[: 3 if other.place or other.span else 1]
    words = first.replace(f"{other.severity.value}: ", "", 1)
    who = f" ({other.work_item}, {other.where.partition(', ')[2]})" if other.work_item else ""
    return ["\n".join([f"{words}{who}", *rest, *(f"    {note}" for note in other.notes)])]
