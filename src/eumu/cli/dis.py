"""`eumu dis`: an object file to vISA text, native code to assembly text, programs to both."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eumu import binary, text, zebin
from eumu.cli import native
from eumu.cli.status import FINE, UsageError
from eumu.platforms import platform
from eumu.writing import write_text


def command(options: argparse.Namespace) -> int:
    """Read and print."""
    if options.file == "-":
        name, data = "standard input", sys.stdin.buffer.read()
    else:
        name, data = options.file, Path(options.file).read_bytes()
    printed = _print(options, name, data)
    if options.output:
        write_text(options.output, printed)
    else:
        sys.stdout.write(printed)
    return FINE


def _print(options: argparse.Namespace, name: str, data: bytes) -> str:
    if zebin.is_elf(data):
        return native.of_program(options, name, data, options.level or "native")
    if options.level == "both":
        raise UsageError(f"--level both: {name} is no compiled program, which has both")
    if options.level == "native":
        return native.disassemble(options, name, data)
    if options.kernel:
        raise UsageError("--kernel chooses a kernel of a compiled program")
    grf = platform(options.device).grf_bytes if options.device else 32
    return text.print_module(binary.read(data, name, grf))
