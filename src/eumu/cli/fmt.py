"""`eumu fmt`: vISA text in its canonical layout, comments kept."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eumu import text
from eumu.cli.status import FAILED, FINE, UsageError
from eumu.errors import FormatError
from eumu.writing import write_text


def command(options: argparse.Namespace) -> int:
    """Parse, and print, rewrite or compare."""
    if options.file == "-":
        if options.in_place:
            raise UsageError("--in-place: standard input cannot be rewritten")
        name, data = "standard input", sys.stdin.buffer.read()
    else:
        name, data = options.file, Path(options.file).read_bytes()
    if data.startswith(b"\x7fELF"):
        raise UsageError(f"{name} is a compiled program; fmt takes vISA text (see `eumu info`)")
    try:
        source = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: byte {error.start:#x} is not UTF-8 text") from None
    printed = text.format_text(source, name)
    if options.check:
        if printed != source:
            print(f"{name} is not in canonical form", file=sys.stderr)
        return FINE if printed == source else FAILED
    if options.in_place:
        if printed != source:
            write_text(options.file, printed)
    else:
        sys.stdout.write(printed)
    return FINE
