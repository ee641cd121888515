"""`eumu explain`: the manual page of an instruction, of a page of the documents, of a directive."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import Final

from eumu.cli.status import FAILED, FINE
from eumu.cli.terminal import Paint
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.manual import directive, page

__all__ = ["command"]

_IN_FULL: Final = 4  # of more instructions on a page there are only their first lines


def command(options: argparse.Namespace) -> int:
    """Print one page, or all names."""
    paint = Paint.for_stream(sys.stdout)
    if options.opcode is None:
        for name in VISA.mnemonics():
            print(f"{paint.bold(f'{name:<22}')} {_first_line(VISA.find(name)[0])}")
        return FINE
    word = options.opcode.partition(".")[0] or options.opcode
    by_page = VISA.on_page(word)  # a word of the documents, if it is in capitals
    found = (by_page if word.isupper() else []) or VISA.documented(word) or by_page
    if not found and (lines := directive(options.opcode)):
        print("\n".join(lines))
        return FINE
    if not found:
        close = difflib.get_close_matches(options.opcode, VISA.mnemonics(), 3, 0.5)
        guess = f"; near it: {', '.join(close)}" if close else ""
        print(
            f"eumu: error: no instruction {options.opcode!r} is modelled{guess}"
            " (`eumu explain` lists all)",
            file=sys.stderr,
        )
        return FAILED
    if len(found) > _IN_FULL:
        for opcode in found:
            print(f"{paint.bold(f'{opcode!s:<22}')} {_first_line(opcode)}")
        return FINE
    print("\n\n".join(_painted(opcode, paint) for opcode in found))
    return FINE


def _first_line(opcode: Opcode) -> str:
    return opcode.doc.partition("\n")[0]


def _painted(opcode: Opcode, paint: Paint) -> str:
    return "\n".join(page(opcode)).replace(opcode.mnemonic, paint.bold(opcode.mnemonic), 1)
