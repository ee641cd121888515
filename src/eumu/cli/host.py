"""`eumu run [options] -- COMMAND`: a host program for OpenCL on eumu's own driver."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence

from eumu.cl.options import Options
from eumu.cl.session import run
from eumu.cli.status import FAILED, FAULT, UsageError
from eumu.errors import Unsupported
from eumu.platforms import platform
from eumu.settings import CL_CHECK, CL_DEVICE, CL_ENGINE, FAULT_ENDS, TRACEBACK

__all__ = ["command", "parsed"]


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What `run … -- COMMAND` says."""
    parser = argparse.ArgumentParser(
        prog="eumu run",
        usage="eumu run [options] -- COMMAND ...",
        description="Runs a program for OpenCL on eumu's own driver.",
    )
    parser.add_argument("--device", metavar="D", help="pvc (default), dg2, skl, ...")
    parser.add_argument("--engine", choices=("jit", "interp"), help="the JIT where it can be used")
    parser.add_argument(
        "--check", action="store_true", help="find uses of undefined values, slower"
    )
    end = list(words).index("--")
    options = parser.parse_args(list(words[1:end]))
    options.command, options.program = "host", list(words[end + 1 :])
    return options


def command(options: argparse.Namespace) -> int:
    """The program's exit status, FAULT after a fault, else FAILED after findings if it is 0."""
    if not sys.platform.startswith("linux"):
        raise Unsupported("the OpenCL driver is for Linux")
    if not options.program:
        raise UsageError("what is to be run? eumu run -- COMMAND")
    outcome = run(options.program, _options(options))
    if outcome.faults:
        _say(f"eumu: {_count(outcome.faults, 'fault')} on the OpenCL device")
        return FAULT
    if outcome.findings:
        _say(f"eumu: {_count(outcome.findings, 'finding')}")
        return outcome.status or FAILED
    return outcome.status


def _options(options: argparse.Namespace) -> Options:
    return Options(
        device=platform(options.device or CL_DEVICE.get()).name,
        engine=options.engine or CL_ENGINE.get(),
        check=options.check or CL_CHECK.get(),
        aborts=FAULT_ENDS.get(),
        traceback=TRACEBACK.get(),
    )


def _say(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # the status says it, too
        print(text, file=sys.stderr, flush=True)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
