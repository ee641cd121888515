"""The command line: from its words to a command, and the exit status of errors."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from eumu.cli import blas
from eumu.cli.parsing import parser
from eumu.cli.status import FAILED, FAULT, FINE, INTERRUPTED, USAGE, UsageError
from eumu.cli.terminal import Paint, take_any_text
from eumu.cli.words import joined
from eumu.errors import (
    EumuError,
    Fault,
    InternalError,
    LaunchError,
    SettingError,
    UnknownDevice,
)
from eumu.garbage import SELDOM
from eumu.settings import TRACEBACK


def entry() -> int:
    """`main` as a process of its own.

    Nearly all that a command makes lives to its end: garbage is looked for seldom, and not in what
    is left then, which would take a quarter of a short command's time.
    """
    gc.set_threshold(SELDOM)
    take_any_text(sys.stdin, sys.stdout, sys.stderr)
    try:
        status = main()
    finally:
        gc.freeze()
    if status == INTERRUPTED:  # nothing is waited for, such as LLVM's work in another thread
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    paint = Paint.for_stream(sys.stderr)
    try:
        words = sys.argv[1:] if argv is None else argv
        _check_words(words)
        options = _parsed(words)
        if options.command is None:
            parser().print_help()
            return USAGE
        with blas.one_thread():
            room = import_module(f"eumu.cli.{options.command}")
        command: Callable[[argparse.Namespace], int] = room.command
        return command(options)
    except SystemExit as stop:  # argparse has said what is wrong, or printed the help
        return stop.code if isinstance(stop.code, int) else USAGE
    except KeyboardInterrupt:
        print("eumu: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except Exception as error:
        if _shows_traceback():
            raise
        print(paint.error(_message(error)), file=sys.stderr)
        return _status(error)


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    room = {"run": "host", "compare": "doors"}.get(words[0]) if words else None
    if room and "--" in words:  # behind it are a program's words
        options: argparse.Namespace = import_module(f"eumu.cli.{room}").parsed(words)
        return options
    return parser(words[0] if words else "").parse_args(list(joined(words)))


def _check_words(words: Sequence[str]) -> None:
    """UsageError for words that no system passes on, so that each of them can name a file."""
    for number, word in enumerate(words, 1):
        if "\0" in word:
            raise UsageError(f"word {number} of the command line has a byte of 0 in it")
        try:
            os.fsencode(word)
        except UnicodeEncodeError:
            raise UsageError(f"word {number} of the command line has no bytes here") from None


def _shows_traceback() -> bool:
    try:
        return TRACEBACK.get()
    except EumuError:  # which is no reason to lose the error that is to be shown
        return False


def _message(error: Exception) -> str:
    if isinstance(error, InternalError) or not isinstance(error, (EumuError, OSError, UsageError)):
        return (
            f"eumu: internal error: {type(error).__name__}: {error}\n"
            "  this is a bug in eumu; EUMU_TRACEBACK=1 shows where"
        )
    if isinstance(error, OSError) and not isinstance(error, EumuError):
        where = f"{error.filename}: " if error.filename else ""
        return f"eumu: error: {where}{error.strerror or error}"
    if isinstance(error, Fault):
        return f"eumu: {error}"
    return f"eumu: error: {error}"


def _status(error: Exception) -> int:
    if isinstance(error, Fault):
        return FAULT
    if isinstance(error, EumuError):
        return USAGE if isinstance(error, (LaunchError, UnknownDevice, SettingError)) else FAILED
    return USAGE if isinstance(error, (UsageError, OSError)) else FAILED
