"""`eumu explain`: what an instruction, a page of the documents, a directive or a rule says."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable
from typing import Final

from eumu.cli.status import FAILED, FINE
from eumu.cli.terminal import Paint
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.manual import directive, native_page, page

_IN_FULL: Final = 4  # of more instructions on a page there are only their first lines


def command(options: argparse.Namespace) -> int:
    """Print one page, or all names."""
    paint = Paint.for_stream(sys.stdout)
    if options.level == "native":
        return _native(options.opcode, paint)
    if options.opcode is None:
        for name in VISA.mnemonics():
            print(f"{paint.bold(f'{name:<22}')} {_first_line(VISA.find(name)[0])}")
        return FINE
    word = options.opcode.partition(".")[0] or options.opcode
    by_page = VISA.on_page(word)  # a word of the documents, if it is in capitals
    opcodes = (by_page if word.isupper() else []) or VISA.documented(word) or by_page
    lines = directive(options.opcode)
    if not opcodes and not lines and (why := VISA.unmodelled.get(word.lower())):
        lines = [paint.bold(word.lower()), "", f"  Not modelled: {why}."]
    if not opcodes and not lines:
        opcodes = [o for o in VISA if o.page.startswith(f"{word.upper()}_")]  # pages of a family
    if not opcodes and lines:
        print("\n".join(lines))
        return FINE
    if not opcodes:
        close = difflib.get_close_matches(options.opcode, VISA.mnemonics(), 3, 0.5)
        guess = f"; near it: {', '.join(close)}" if close else ""
        print(
            f"eumu: error: no instruction {options.opcode!r} is modelled{guess}"
            " (`eumu explain` lists all)",
            file=sys.stderr,
        )
        return FAILED
    if len(opcodes) > _IN_FULL:
        for opcode in opcodes:
            print(f"{paint.bold(f'{opcode!s:<22}')} {_first_line(opcode)}")
        return FINE
    print("\n\n".join(_bold(opcode, page(opcode), paint) for opcode in opcodes))
    return FINE


def _native(name: str | None, paint: Paint) -> int:
    """One page of native code, a rule on it, or all names."""
    from eumu.isa.gen9 import GEN9
    from eumu.native.rules import RULES

    if name is None:
        for opcode in GEN9:
            print(f"{paint.bold(f'{_native_name(opcode):<22}')} {_first_line(opcode)}")
        for rule in RULES.values():
            print(f"{paint.bold(f'{rule.id:<22}')} {rule.title}")
        return FINE
    if name in RULES:
        rule = RULES[name]
        print(f"{paint.bold(rule.id)}    {rule.title}\n\n  page         {rule.page}")
        return FINE
    opcodes = [opcode for opcode in GEN9 if name in (_native_name(opcode), opcode.mnemonic)]
    if not opcodes:
        names = [*(_native_name(opcode) for opcode in GEN9), *RULES]
        close = difflib.get_close_matches(name, names, 3, 0.5)
        guess = f"; near it: {', '.join(close)}" if close else ""
        print(
            f"eumu: error: {name!r} is no native instruction and no rule{guess}"
            " (`eumu explain --level native` lists all)",
            file=sys.stderr,
        )
        return FAILED
    if len(opcodes) > _IN_FULL:
        for opcode in opcodes:
            print(f"{paint.bold(f'{_native_name(opcode):<22}')} {_first_line(opcode)}")
        return FINE
    pages = (_bold(opcode, native_page(opcode, GEN9.document), paint) for opcode in opcodes)
    print("\n\n".join(pages))
    return FINE


def _native_name(opcode: Opcode) -> str:
    """`add`, `math.inv`."""
    return f"{opcode.mnemonic}{opcode.literal_after_mnemonic()}"


def _first_line(opcode: Opcode) -> str:
    return opcode.doc.partition("\n")[0]


def _bold(opcode: Opcode, lines: Iterable[str], paint: Paint) -> str:
    return "\n".join(lines).replace(opcode.mnemonic, paint.bold(opcode.mnemonic), 1)
