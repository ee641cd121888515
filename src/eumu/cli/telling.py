"""How `eumu run` tells what it found: formats, suppressions, how many are shown, statuses."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import eumu
from eumu.cli.status import FAILED, FAULT, FINE, UsageError
from eumu.cli.terminal import Paint
from eumu.cli.values import from_zero
from eumu.errors import BuildError, Fault, Finding, Severity, shortened
from eumu.records import dataclass
from eumu.reports.formats import FAILS, FORMATS, RunOutcome
from eumu.reports.suppressions import Suppression, kept, parse


@dataclass(frozen=True, slots=True)
class Teller:
    """What the options of a command say of findings; `most` is 0 for all of them.

    `files` are those of `eumu check`; findings that `fails` has make the exit status.
    """

    format: str
    most: int
    rules: tuple[Suppression, ...]
    program: str
    files: tuple[str, ...] = ()
    fails: frozenset[Severity] = FAILS

    @classmethod
    def of(cls, options: argparse.Namespace) -> Teller:
        """Of `eumu run`, or of `eumu check`, for which a warning is no failure."""
        rules = parse(Path(options.suppressions)) if options.suppressions else ()
        most = from_zero("--max-findings", options.max_findings)
        if files := tuple(getattr(options, "files", ())):
            only_errors = frozenset({Severity.ERROR})
            return cls(options.format, most, rules, " ".join(files), files, only_errors)
        return cls(options.format, most, rules, options.program)

    @property
    def is_text(self) -> bool:
        """Whether people read it: what else is printed may stand beside it."""
        return self.format == "text"

    def tell(
        self,
        kernel: str,
        findings: Sequence[Finding],
        facts: dict[str, Any],
        *,
        faulted: bool = False,
    ) -> int:
        """Print findings, the fault last; the exit status."""
        ends = tuple(findings[-1:]) if faulted else ()
        wanted = (*kept(findings[: len(findings) - len(ends)], self.rules), *ends)
        failed = any(f.severity in self.fails for f in wanted)
        status = FAULT if faulted else FAILED if failed else FINE
        shown = wanted[: self.most] if self.most else wanted
        if ends and ends[0] not in shown:
            shown = (*shown[: max(0, self.most - 1)], *ends)
        omitted, suppressed = len(wanted) - len(shown), len(findings) - len(wanted)
        if self.is_text:
            self._list(shown, faulted=faulted)
            self._count(omitted, suppressed)
            return status
        record = self.program, kernel, shown, status, omitted, suppressed, facts
        outcome = RunOutcome(*record, self.files, self.fails)
        if text := FORMATS[self.format](outcome):
            print(text)
        return status

    def refused(self, error: BuildError) -> int:
        """Tell what is wrong with a program that cannot be built."""
        findings = [Finding.of(d) for d in error.diagnostics]
        if not any(f.severity is Severity.ERROR for f in findings):
            findings.append(Finding("build", str(error).splitlines()[0]))
        return self.tell("", findings, {}) or FAILED

    def _list(self, shown: Sequence[Finding], *, faulted: bool) -> None:
        if self.files:
            paint = Paint.for_stream(sys.stdout)
            for finding in shown:
                print(paint.error(_with_code(finding)))
            return
        for finding in shown[:-1] if faulted else shown:
            print(finding, file=sys.stderr)
        if faulted:
            paint = Paint.for_stream(sys.stderr)
            print(paint.error(f"eumu: {Fault.of(shown[-1])}"), file=sys.stderr)

    def _count(self, omitted: int, suppressed: int) -> None:
        if omitted:
            print(f"... and {omitted} more finding{'s' * (omitted > 1)}", file=sys.stderr)
        if suppressed:
            what = "finding is" if suppressed == 1 else "findings are"
            print(f"{suppressed} {what} suppressed", file=sys.stderr)


def _with_code(finding: Finding) -> str:
    """A finding of a check, its code at the end of the first line."""
    first, _, rest = str(finding).partition("\n")
    return f"{first} [{finding.code}]" + (f"\n{rest}" if rest else "")


@contextmanager
def time_limit(text: str | None, kernel: str) -> Iterator[None]:
    """A fault if what runs inside takes longer than so many seconds of wall time."""
    if text is None:
        yield
        return
    seconds = _seconds(text)
    if threading.current_thread() is not threading.main_thread():
        raise UsageError("--timeout needs the process's main thread")

    def ring(_: int, __: FrameType | None) -> None:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeUp:  # also if it comes as the last thing inside
        reason = f"time limit: the launch took longer than --timeout {text} (seconds)"
        raise eumu.Fault.of(Finding("timeout", reason, kernel)) from None
    finally:
        signal.signal(signal.SIGALRM, before)


class _TimeUp(BaseException):
    """The alarm: as Ctrl-C, nothing on its way takes it for a mistake."""


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 1e6:
        raise UsageError(f"--timeout {shortened(text)} is no number of seconds from 0.001 to 1e6")
    return value
