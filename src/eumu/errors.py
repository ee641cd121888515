"""The exceptions of eumu, and how diagnostics are printed.

Two kinds of error are kept apart.  A *diagnostic* says that the user's program is wrong: it is a
value, many can be collected in one run, and it is rendered with the source line and a caret.  An
*exception* stops the call that was made::

    EumuError
    ├── BuildError          a program cannot be read or built; carries diagnostics (ValueError)
    │   └── FormatError     a container (ELF, .ze_info, object file) is malformed
    ├── UnknownDevice       no platform has this name (ValueError)
    ├── ToolMissing         an external tool such as ocloc is not installed (FileNotFoundError)
    ├── LaunchError         the sizes or arguments of a launch are wrong (ValueError)
    │   └── ArgumentError   an argument has the wrong type, size or device (TypeError)
    ├── SettingError        an environment variable has a wrong value (ValueError)
    ├── OutOfMemory         the device's memory is used up (MemoryError)
    ├── Unsupported         a documented feature that eumu does not model (NotImplementedError)
    ├── Fault               a kernel misbehaved at run time (RuntimeError)
    └── InternalError       a bug in eumu (AssertionError)
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence

from eumu.findings import (
    ArrayPlace,
    Diagnostic,
    Finding,
    Ids,
    Place,
    Severity,
    Source,
    Span,
    excerpt,
    plain,
    related,
    render,
)

__all__ = [
    "ArgumentError",
    "ArrayPlace",
    "BuildError",
    "Diagnostic",
    "EumuError",
    "Fault",
    "Finding",
    "FormatError",
    "Ids",
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


class EumuError(Exception):
    """The base class of all exceptions of eumu; can be copied and pickled.

    Messages quote programs, but no characters that control a terminal.
    """

    def __str__(self) -> str:
        return plain(super().__str__())


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
        listed = tuple(diagnostics)
        errors = sum(d.severity is Severity.ERROR for d in listed)
        return cls(f"{errors} error{'s' * (errors != 1)} in the program", listed)


class FormatError(BuildError):
    """An ELF, `.ze_info` or object file is truncated, inconsistent or of another format."""


class NoKernel(FormatError):
    """The compiler's ELF of a program without kernels."""


class UnknownDevice(EumuError, ValueError):
    """No platform has this name; the message lists the names."""


class ToolMissing(EumuError, FileNotFoundError):
    """A required external tool is not installed; the message says how to install it."""


class LaunchError(EumuError, ValueError):
    """The sizes or arguments of a launch are wrong."""


class ArgumentError(LaunchError, TypeError):
    """A kernel argument has the wrong type, size or device."""


class SettingError(EumuError, ValueError):
    """An environment variable has a wrong value; `eumu.settings` lists the variables."""


class OutOfMemory(MemoryError, EumuError):  # in this order it has one `__new__`
    """The device's memory cannot hold another allocation."""


class Unsupported(EumuError, NotImplementedError):
    """A documented feature that eumu does not model; raised instead of a wrong answer.

    `is_late`: a part of the launch had already run.
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

    `finding` is its record: source line, work item, memory.  The place is also in the attributes
    `kernel`, `span` (the instruction), `group` (x, y, z), `thread` within the group, `lanes` and
    `address`.  `findings` are those of a checked run before the fault.
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
            "error", reason, kernel, span, group, thread, lanes, notes=notes, address=address
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
        finding = self.finding
        place = [finding.where] if finding.where else []
        if finding.lanes:
            word = "lane" if len(finding.lanes) == 1 else "lanes"
            place.append(f"{word} {ranges(finding.lanes)}")
        lines = [f"fault: {finding.reason}"]
        if finding.place is not None:
            lines.append(f"  at {finding.place.words}")
            lines += ["  " + line for line in finding.place.excerpt()]
        if place:
            lines.append("  in " + ", ".join(place))
        if finding.work_item:
            lines.append(f"  {finding.work_item}")
        if finding.span is not None:
            lines.append(f"  at {finding.span}")
            lines += ["  " + line for line in excerpt(finding.span)]
        memory = [str(finding.memory)] if finding.memory is not None else []
        others = [note for other in finding.related for note in related(other)]
        return "\n".join(lines + [f"  note: {n}" for n in (*memory, *others, *finding.notes)])


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
    """A bug in eumu; please report it with the program."""


def warn_caller(text: str) -> None:
    """A RuntimeWarning at the line of the user's code that has called eumu."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("eumu."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, RuntimeWarning, level)
