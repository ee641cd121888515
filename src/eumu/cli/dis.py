"""`eumu dis`: an object file to vISA text, native code to assembly text."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eumu import binary, text, zebin
from eumu.cli import native
from eumu.cli.status import FINE, UsageError
from eumu.platforms import platform
from eumu.writing import write_whole

__all__ = ["command"]


def command(options: argparse.Namespace) -> int:
    """Read and print."""
    if options.file == "-":
        name, data = "standard input", sys.stdin.buffer.read()
    else:
        name, data = options.file, Path(options.file).read_bytes()
    printed = _print(options, name, data)
    if options.output:
        write_whole(options.output, printed.encode())
    else:
        sys.stdout.write(printed)
    return FINE


def _print(options: argparse.Namespace, name: str, data: bytes) -> str:
    if options.level == "native" or (options.level is None and zebin.is_elf(data)):
        return native.disassemble(options, name, data)
    if options.kernel:
        raise UsageError("--kernel chooses native code of a compiled program")
    grf = platform(options.device).grf_bytes if options.device else 32
    return text.print_module(binary.read(data, name, grf))
