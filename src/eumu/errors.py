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
    "BuildError",
    "Diagnostic",
    "EumuError",
    "Fault",
    "Finding",
    "FormatError",
    "InternalError",
    "LaunchError",
    "OutOfMemory",
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
class Finding:
    """A mistake that a checked run saw, and that did not stop the kernel.

    `code` says of which kind it is (``undefined``).  The place is that of the first thread of the
    first group that made it; `count` is how often threads made it in the whole launch.
    """

    code: str
    reason: str
    kernel: str
    span: Span | None
    group: tuple[int, int, int]
    thread: int
    lanes: tuple[int, ...]
    count: int = 1
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f"kernel {self.kernel}, group {self.group}, thread {self.thread}"
        times = f"; {self.count} times in all" if self.count > 1 else ""
        notes = (f"in {place}{times}", *self.notes)
        return render(Diagnostic(self.code, self.reason, self.span, notes=notes))


class EumuError(Exception):
    """The root of everything that eumu raises."""


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


class Fault(EumuError, RuntimeError):
    """A kernel misbehaved at run time: out-of-bounds access, divergent barrier, endless loop.

    Attributes name the place: `kernel`, `span` (the instruction), `group` (x, y, z), `thread`
    within the group, the `lanes` concerned, the `address` and the nearest allocation; `findings`
    are those of a checked run until then.
    """

    findings: tuple[Finding, ...] = ()

    def __init__(
        self,
        reason: str,
        *,
        kernel: str = "",
        span: Span | None = None,
        group: tuple[int, int, int] | None = None,
        thread: int | None = None,
        lanes: tuple[int, ...] = (),
        address: int | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.reason, self.kernel, self.span = reason, kernel, span
        self.group, self.thread, self.lanes, self.address = (
            group,
            thread,
            lanes,
            address,
        )
        self.notes = notes
        super().__init__(self._message())

    def _message(self) -> str:
        place = []
        if self.kernel:
            place.append(f"kernel {self.kernel}")
        if self.group is not None:
            place.append(f"group {self.group}")
        if self.thread is not None:
            place.append(f"thread {self.thread}")
        if self.lanes:
            word = "lane" if len(self.lanes) == 1 else "lanes"
            place.append(f"{word} {ranges(self.lanes)}")
        lines = [f"fault: {self.reason}"]
        if place:
            lines.append("  in " + ", ".join(place))
        if self.span is not None:
            lines.append(f"  at {self.span}")
            lines += ["  " + line for line in _excerpt(self.span)]
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])


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
