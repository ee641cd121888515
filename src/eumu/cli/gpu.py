"""`eumu gpu`: run a program on a virtual Intel GPU, under Intel's own driver."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys

from eumu.cli.status import FAILED, FAULT, FINE, UsageError
from eumu.drm.options import DrmOptions
from eumu.drm.session import missing_packages, run
from eumu.exec.checks import checks
from eumu.settings import COMPUTE_UNITS, FAULT_ENDS, TRACEBACK


def command(options: argparse.Namespace) -> int:
    """The program's exit status, FAULT after a fault, else FAILED after findings if it is 0; so is
    it where a file that the user asked for is not whole."""
    if options.check_driver:
        return _check_driver()
    words = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not words:
        raise UsageError("no command to run: eumu gpu -- COMMAND")
    outcome = run(words, _options(options))
    if outcome.faults:
        with contextlib.suppress(BrokenPipeError):  # the status says it, too
            print(
                f"eumu: {_count(outcome.faults, 'fault')} on the virtual GPU",
                file=sys.stderr,
                flush=True,
            )
        return FAULT
    if outcome.findings:
        with contextlib.suppress(BrokenPipeError):
            print(f"eumu: {_count(outcome.findings, 'finding')}", file=sys.stderr, flush=True)
        return outcome.status or FAILED
    return outcome.status or (FAILED if outcome.lost else FINE)


def _options(options: argparse.Namespace) -> DrmOptions:
    return DrmOptions(
        gpu=options.device,
        engine=options.engine,
        check=wanted(options.check),
        strict_bounds=not options.hardware_bounds,
        log=os.path.abspath(options.log) if options.log else None,
        aborts=FAULT_ENDS.get(),
        dump=None if options.dump is None else _directory(options.dump),
        traceback=TRACEBACK.get(),
        report=None if options.report is None else free_page(options.report),
        findings=None if options.findings is None else free_page(options.findings, "--findings"),
        format=options.format,
        units=COMPUTE_UNITS.get(),
    )


def wanted(text: str) -> str:
    """The names of the checks that a user asks for, joined by commas; LaunchError for others."""
    return ",".join(sorted(checks(text or False)))


def free_page(name: str, option: str = "--report") -> str:
    """The file of an option; engine processes make it, an old one is removed before."""
    path = os.path.abspath(name)
    try:
        if os.path.lexists(path):
            os.remove(path)
        with open(path, "x", encoding="utf-8"):
            pass
        os.remove(path)
    except OSError as error:
        raise UsageError(f"{option} {name}: {error.strerror}") from None
    return path


def _directory(name: str) -> str:
    """The directory for records, made if it is not there."""
    try:
        os.makedirs(name, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--dump {name}: {error.strerror}") from None
    return os.path.abspath(name)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _check_driver() -> int:
    missing = missing_packages()
    for line in missing:
        print(f"missing: {line}")
    if not missing:
        print("everything is installed that programs for OpenCL and Level Zero need")
    return FAILED if missing else FINE
