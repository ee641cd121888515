"""`eumu build`: OpenCL C or SPIR-V to the compiler's ELF."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eumu.cli.status import FINE, UsageError
from eumu.cli.terminal import Paint
from eumu.errors import render
from eumu.platforms import platform
from eumu.writing import write_whole
from eumu.zebin import container, ocloc


def command(options: argparse.Namespace) -> int:
    """Compile and write; nothing is written where there is an error."""
    source = Path(options.source)
    data = source.read_bytes()
    output = options.output or str(source.with_suffix(".bin"))
    if container.is_elf(data):
        raise UsageError(f"{source} is a compiled program already")
    target = platform(options.device)
    built = ocloc.compile(
        data, target, options.build_options, name=source.name, directory=source.parent, lines=True
    )
    paint = Paint.for_stream(sys.stderr)
    for warning in built.warnings:
        print(paint.error(render(warning)), file=sys.stderr)
    if output == "-":
        sys.stdout.buffer.write(built.elf)
        return FINE
    write_whole(output, built.elf)
    print(f"{output}: for {target} ({target.title}), by {built.compiler}", file=sys.stderr)
    return FINE
