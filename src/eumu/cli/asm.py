"""`eumu asm`: vISA text to an object file, native text to code."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eumu import binary, text
from eumu.cli import native
from eumu.cli.status import FINE, UsageError
from eumu.errors import FormatError
from eumu.platforms import platform
from eumu.writing import write_whole


def command(options: argparse.Namespace) -> int:
    """Parse and write; nothing is written when there is an error."""
    name, data = _input(options.file)
    if binary.is_object_file(data):
        raise UsageError(f"{name} is an object file already; asm takes vISA text")
    try:
        source = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: byte {error.start:#x} is not UTF-8 text") from None
    suffix, written = _assemble(options, name, source)
    if options.output == "-":
        sys.stdout.buffer.write(written)
    else:
        write_whole(options.output or _beside(options.file, suffix), written)
    return FINE


def _assemble(options: argparse.Namespace, name: str, source: str) -> tuple[str, bytes]:
    """The suffix and the contents of the file to write."""
    if options.level == "native":
        return ".dat", native.assemble(options, name, source)
    grf = platform(options.device).grf_bytes if options.device else None
    return ".isa", binary.write(text.parse(source, name, grf), grf or 32)


def _input(file: str) -> tuple[str, bytes]:
    if file == "-":
        return "standard input", sys.stdin.buffer.read()
    return file, Path(file).read_bytes()


def _beside(file: str, suffix: str) -> str:
    if file == "-":
        raise UsageError(f"standard input needs -o OUT{suffix}")
    return str(Path(file).with_suffix(suffix))
