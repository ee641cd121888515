"""`eumu run [options] -- COMMAND`: a host program for OpenCL on eumu's own driver."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from eumu.cl.options import ClOptions, recorded
from eumu.cl.session import run
from eumu.cli.gpu import free_page
from eumu.cli.options import CHECK, add_format
from eumu.cli.status import FAILED, FAULT, FINE, UsageError
from eumu.errors import Finding, FormatError, Unsupported
from eumu.exec.checks import CHECKS, checks
from eumu.platforms import platform
from eumu.reports.formats import FORMATS
from eumu.reports.formats import RunOutcome as Told
from eumu.settings import (
    CL_CHECK,
    CL_DEVICE,
    CL_ENGINE,
    COMPUTE_UNITS,
    FAULT_ENDS,
    HARDWARE_BOUNDS,
    TRACEBACK,
)
from eumu.writing import write_text


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What `run … -- COMMAND` says."""
    parser = argparse.ArgumentParser(
        prog="eumu run",
        usage="eumu run [options] -- COMMAND ...",
        description="Run an OpenCL program on eumu's own driver.",
    )
    parser.add_argument("--device", metavar="D", help="pvc (default), dg2, skl, ...")
    parser.add_argument("--engine", choices=("jit", "interp"), help="by default jit if available")
    parser.add_argument(
        CHECK,
        metavar="WHAT",
        help=f"find mistakes in kernels and calls (slower): {', '.join(CHECKS)}, joined by commas,"
        " or all; without a value the cheap checks",
    )
    parser.add_argument(
        "--hardware-bounds",
        action="store_true",
        help="local memory and buffers end where those of hardware do, which rounds their sizes up;"
        " outside a surface, reads give 0 and writes have no effect; by default each is a fault",
    )
    add_format(parser)
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write the findings to a .json, .sarif or .xml (JUnit) file; or to a .html file a"
        " report of all kernels, which then run on the interpreter",
    )
    end = list(words).index("--")
    own_words = [f"{CHECK}=cheap" if word == CHECK else word for word in words[1:end]]
    options = parser.parse_args(own_words)
    options.command, options.program = "host", list(words[end + 1 :])
    return options


def command(options: argparse.Namespace) -> int:
    """The program's exit status, FAULT after a fault, else FAILED after findings if it is 0; so is
    it where a file that the user asked for is not whole."""
    if not sys.platform.startswith("linux"):
        raise Unsupported("the OpenCL driver is for Linux")
    if not options.program:
        raise UsageError("no command to run: eumu run -- COMMAND")
    options.format, options.page = _report(options)
    with tempfile.TemporaryFile(buffering=0) as file:
        os.set_inheritable(file.fileno(), True)
        door_options = replace(_options(options), records=file.fileno())
        outcome = run(options.program, door_options)
        findings = tuple(_kept(file.fileno(), is_whole=not outcome.lost))
    is_bad = outcome.findings or outcome.lost
    status = FAULT if outcome.faults else outcome.status or (FAILED if is_bad else FINE)
    if outcome.faults and door_options.tells:
        beyond = any(f.code == "out-of-bounds" for f in findings) and door_options.strict_bounds
        hint = "; --hardware-bounds: memory ends where that of hardware does" * beyond
        _say(f"eumu: {_count(outcome.faults, 'fault')} on the OpenCL device{hint}")
    elif outcome.findings and door_options.tells:
        _say(f"eumu: {_count(outcome.findings, 'finding')}")
    if options.format != "text":
        facts = {
            "device": door_options.device,
            "engine": door_options.engine or "jit",
            "exit": outcome.status,
        }
        told = Told(options.program[0], "", findings, status, facts=facts)
        _write(FORMATS[options.format](told), options)
    return status


def _kept(file: int, *, is_whole: bool) -> Iterator[Finding]:
    """The findings in a file; where it is known not to be whole, those before the first gap."""
    try:
        yield from recorded(file)
    except FormatError:
        if is_whole:
            raise


_FILES: Final = {".json": "json", ".sarif": "sarif", ".xml": "junit"}


def _report(options: argparse.Namespace) -> tuple[str, str | None]:
    """The format of findings, and the page about kernels: what --report is, by its name."""
    if options.report is None:
        return options.format, None
    ending = Path(options.report).suffix
    if ending in _FILES:
        return _FILES[ending], None
    if ending != ".html":
        endings = ", ".join([".html", *_FILES])
        raise UsageError(f"--report {options.report}: its name ends with none of {endings}")
    return options.format, free_page(options.report)


def _write(text: str, options: argparse.Namespace) -> None:
    """Findings for machines go to the file of --report, or to standard output."""
    if options.report is None or options.page is not None:
        if text:
            print(text)
        return
    try:
        write_text(options.report, text)
    except OSError as error:
        raise UsageError(f"--report {options.report}: {error.strerror}") from None


def _options(options: argparse.Namespace) -> ClOptions:
    return ClOptions(
        device=platform(options.device or CL_DEVICE.get()).name,
        engine=options.engine or CL_ENGINE.get(),
        check=tuple(sorted(checks(options.check or CL_CHECK.get() or False))),
        aborts=FAULT_ENDS.get(),
        traceback=TRACEBACK.get(),
        units=COMPUTE_UNITS.get(),
        strict_bounds=not (options.hardware_bounds or HARDWARE_BOUNDS.get()),
        report=options.page,
        tells=options.format == "text" or options.report is not None,
    )


def _say(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # the status says it, too
        print(text, file=sys.stderr, flush=True)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
