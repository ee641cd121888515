"""`eumu explain`: the manual page of an instruction."""

from __future__ import annotations

import argparse
import difflib
import sys

from eumu.cli.status import FAILED, FINE
from eumu.cli.terminal import Paint
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.manual import page

__all__ = ["command"]


def command(options: argparse.Namespace) -> int:
    """Print one page, or all names."""
    paint = Paint.for_stream(sys.stdout)
    if options.opcode is None:
        for name in VISA.mnemonics():
            print(f"{paint.bold(f'{name:<22}')} {_first_line(VISA.find(name)[0])}")
        return FINE
    found = VISA.find(options.opcode.lower().partition(".")[0])
    if not found:
        close = difflib.get_close_matches(options.opcode, VISA.mnemonics(), 3, 0.5)
        guess = f"; near it: {', '.join(close)}" if close else ""
        print(
            f"eumu: error: no instruction {options.opcode!r} is modelled{guess}"
            " (`eumu explain` lists all)",
            file=sys.stderr,
        )
        return FAILED
    print("\n\n".join(_painted(opcode, paint) for opcode in found))
    return FINE


def _first_line(opcode: Opcode) -> str:
    return opcode.doc.partition("\n")[0]


def _painted(opcode: Opcode, paint: Paint) -> str:
    return "\n".join(page(opcode)).replace(opcode.mnemonic, paint.bold(opcode.mnemonic), 1)
