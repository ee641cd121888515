"""Everything that eumu raises or reports, and how it is shown.

Two kinds of error are kept apart.  A *diagnostic* says that the user's program is wrong: it is a
value, many can be collected in one run, and it is rendered with the source line and a caret.  An
*exception* stops the call that was made::

    EumuError
    ├── BuildError          a program cannot be read or built; carries diagnostics (ValueError)
    │   └── FormatError     a container (ELF, .ze_info, object file) is malformed
    ├── UnknownDevice       no platform has this name (ValueError)
    ├── ToolMissing         an external tool such as ocloc is not installed (FileNotFoundError)
    ├── LaunchError         a launch was asked for with wrong arguments (ValueError)
    │   └── ArgumentError   … one argument has the wrong type, size or device (TypeError)
    ├── SettingError        an environment variable has a value that it cannot have (ValueError)
    ├── OutOfMemory         the device's memory is used up (MemoryError)
    ├── Unsupported         a documented feature that eumu does not model (NotImplementedError)
    ├── Fault               a kernel did something that hardware would not survive (RuntimeError)
    └── InternalError       eumu contradicts itself: a bug in eumu (AssertionError)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

__all__ = [
    "ArgumentError",
    "ArrayPlace",
    "BuildError",
    "Diagnostic",
    "EumuError",
    "Fault",
    "Finding",
    "FormatError",
    "InternalError",
    "LaunchError",
    "OutOfMemory",
    "Place",
    "SettingError",
    "Severity",
    "Source",
    "Span",
    "ToolMissing",
    "UnknownDevice",
    "Unsupported",
    "render",
    "shortened",
]


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
        lines += _excerpt(diagnostic.span)
    lines += [f"  note: {note}" for note in diagnostic.notes]
    return "\n".join(lines)


def _excerpt(span: Span) -> list[str]:
    text = span.source.line(span.line)
    if not text.strip():
        return []
    end = span.end_column if span.end_line == span.line else len(text) + 1
    pad = "".join("\t" if c == "\t" else " " for c in text[: span.column - 1])
    return [f"  {text}", f"  {pad}{'^' * max(1, end - span.column)}"]


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
        return _excerpt(Span(source, self.line, column, self.line, last))


Ids = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """What a finding says of memory: byte `offset` from the start of `array`, of `size` bytes.

    `element` is the number of the element there, of `item` bytes; `state` says where the offset
    lies: inside, before, after, or in memory that was freed.
    """

    array: str
    size: int
    offset: int
    item: int = 1
    state: str = "inside"

    @property
    def element(self) -> int:
        return self.offset // max(1, self.item)

    def __str__(self) -> str:
        count = self.size // max(1, self.item)
        what = f"array '{self.array}' has {self.size} bytes"
        elements = f"{count} elements of {self.item}, " if self.item > 1 else ""
        where = {"freed": "; it has been freed", "after": ", behind it", "before": ", before it"}
        number = f", element {self.element}" if self.item > 1 else ""
        return f"{what}: {elements}this is offset {self.offset}{number}{where.get(self.state, '')}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake in a program: what a fault, a finding of a checked run or a check says.

    `code` says of which kind it is (``undefined``, ``out-of-bounds``, ``race``); docs/checking.md
    lists them.  The place is that of the first work item that made it: `lanes` of a thread of a
    group, `work_items` of them at that place; `count` is how often threads made it in the whole
    launch.  `place` is the line of the source, `span` the instruction; `related` are other places
    that belong to it, such as the other access of a race.
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
        """The record of a check."""
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
        """The source's name if it is known, or else that of the vISA text; "" for neither."""
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
        """How many work items of the first thread made it, at that place and time."""
        return max(1, len(self.lanes))

    def __str__(self) -> str:
        return "\n".join(self._lines())

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
            lines += _excerpt(self.span)
        return lines + [f"  note: {note}" for note in self.remarks()]

    def remarks(self) -> list[str]:
        """The notes that follow the first line: who, how often, where in which memory."""
        times = f"; {self.count} times in all" if self.count > 1 else ""
        found = [f"in {self.where}{times}"] if self.where else []
        found += [self.work_item] if self.work_item else []
        if self.place is not None and self.place.function:
            found.append(f"at {self.place.words}")
        if self.place is not None and self.span is not None:
            found.append(f"the instruction is {self.span}: {self.text}")
        found += [str(self.memory)] if self.memory is not None else []
        for other in self.related:
            found += _related(other)
        return [*found, *self.notes]

    @property
    def text(self) -> str:
        """The instruction as it stands in the program."""
        line = self.span.source.line(self.span.line) if self.span else ""
        return " ".join(line.split("///")[0].split()) or self.instruction

    @property
    def where(self) -> str:
        """The kernel, group, thread and lanes in words, as far as they are known."""
        found = [f"kernel {self.kernel}"] if self.kernel else []
        found += [f"group {self.group}"] if self.group is not None else []
        found += [f"thread {self.thread}"] if self.thread is not None else []
        return ", ".join(found)

    @property
    def work_item(self) -> str:
        """The first work item and how many more, in words."""
        if self.global_id is None:
            return ""
        more = self.work_items - 1
        rest = f", and {more} more" if more else ""
        return f"work item {self.global_id}, local id {self.local_id}{rest}"


def _related(other: Finding) -> list[str]:
    first, *rest = other._lines()[:3]
    words = first.replace(f"{other.severity.value}: ", "", 1)
    where = f" ({other.work_item}; {other.where})" if other.where else ""
    return [f"{words}{where}", *rest]


class EumuError(Exception):
    """The root of everything that eumu raises; copies and pickles as it is."""


def _revived(kind: type[EumuError], args: tuple[object, ...], state: dict[str, object]) -> object:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class BuildError(EumuError, ValueError):
    """A program cannot be read or built; `diagnostics` has every finding."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("\n".join([message, *(render(d) for d in self.diagnostics)]))

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic]) -> BuildError:
        """An error whose message counts the findings."""
        found = tuple(diagnostics)
        errors = sum(d.severity is Severity.ERROR for d in found)
        return cls(f"{errors} error{'s' * (errors != 1)} in the program", found)


class FormatError(BuildError):
    """A container is truncated, foreign or inconsistent."""


class UnknownDevice(EumuError, ValueError):
    """No platform has this name; the message lists the names."""


class ToolMissing(EumuError, FileNotFoundError):
    """An external tool is needed and not installed; the message says how to install it."""


class LaunchError(EumuError, ValueError):
    """A launch was asked for with sizes or arguments that cannot work."""


class ArgumentError(LaunchError, TypeError):
    """A kernel argument has the wrong type, size or device."""


class SettingError(EumuError, ValueError):
    """An environment variable has a value that it cannot have; `eumu.settings` lists them."""


class OutOfMemory(EumuError, MemoryError):
    """The device's memory cannot hold another allocation."""


class Unsupported(EumuError, NotImplementedError):
    """A documented feature that eumu does not model; never a wrong answer.

    `is_late` says that some of a launch had run already.
    """

    is_late = False

    def __init__(self, what: str, *, span: Span | None = None, spec: str = "") -> None:
        self.what, self.span, self.spec = what, span, spec
        where = f"{span}: " if span else ""
        page = f" (vISA {spec})" if spec else ""
        super().__init__(f"{where}unsupported: {what}{page}")

    def __reduce__(self) -> tuple[object, ...]:
        return _revived, (type(self), self.args, self.__dict__)


class Fault(EumuError, RuntimeError):
    """A kernel misbehaved at run time: out-of-bounds access, divergent barrier, endless loop.

    `finding` is the record of it: source line, work item, memory.  Attributes name the place, too:
    `kernel`, `span` (the instruction), `group` (x, y, z), `thread` within the group, the `lanes`
    concerned, the `address`; `findings` are those of a checked run until then.
    """

    findings: tuple[Finding, ...] = ()

    def __init__(
        self,
        reason: str,
        *,
        kernel: str = "",
        span: Span | None = None,
        group: Ids | None = None,
        thread: int | None = None,
        lanes: tuple[int, ...] = (),
        address: int | None = None,
        notes: tuple[str, ...] = (),
        finding: Finding | None = None,
    ) -> None:
        self.finding = finding or Finding(
            "fault", reason, kernel, span, group, thread, lanes, notes=notes, address=address
        )
        super().__init__(self._message())

    def __reduce__(self) -> tuple[object, ...]:
        return _revived, (type(self), self.args, self.__dict__)

    @classmethod
    def of(cls, finding: Finding) -> Fault:
        """The exception that a record is told by."""
        return cls(finding.reason, finding=finding)

    @property
    def code(self) -> str:
        return self.finding.code

    @property
    def reason(self) -> str:
        return self.finding.reason

    @property
    def kernel(self) -> str:
        return self.finding.kernel

    @property
    def span(self) -> Span | None:
        return self.finding.span

    @property
    def group(self) -> Ids | None:
        return self.finding.group

    @property
    def thread(self) -> int | None:
        return self.finding.thread

    @property
    def lanes(self) -> tuple[int, ...]:
        return self.finding.lanes

    @property
    def address(self) -> int | None:
        return self.finding.address

    @property
    def notes(self) -> tuple[str, ...]:
        return self.finding.notes

    def _message(self) -> str:
        found = self.finding
        place = [found.where] if found.where else []
        if found.lanes:
            word = "lane" if len(found.lanes) == 1 else "lanes"
            place.append(f"{word} {ranges(found.lanes)}")
        lines = [f"fault: {found.reason}"]
        if found.place is not None:
            lines.append(f"  at {found.place.words}")
            lines += ["  " + line for line in found.place.excerpt()]
        if place:
            lines.append("  in " + ", ".join(place))
        if found.work_item:
            lines.append(f"  {found.work_item}")
        if found.span is not None:
            lines.append(f"  at {found.span}")
            lines += ["  " + line for line in _excerpt(found.span)]
        memory = [str(found.memory)] if found.memory is not None else []
        others = [note for other in found.related for note in _related(other)]
        return "\n".join(lines + [f"  note: {n}" for n in (*memory, *others, *found.notes)])


def shortened(text: str, most: int = 60) -> str:
    """A text that a message quotes, cut where it is long.

    >>> shortened("9" * 5000, 10)
    "'9999999999…' (5000 characters)"
    """
    return repr(text) if len(text) <= most else f"{text[:most] + '…'!r} ({len(text)} characters)"


def ranges(numbers: Iterable[int]) -> str:
    """`0-3, 7` for 0, 1, 2, 3, 7."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}-{b}" if a < b else str(a) for a, b in runs)


class InternalError(EumuError, AssertionError):
    """eumu contradicts itself; please report it with the program."""
