"""`eumu explain`: the manual page of an instruction, made from its declaration."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator

from eumu.cli.status import FAILED, FINE
from eumu.cli.terminal import Paint
from eumu.isa.limits import EVERY_PLATFORM, By, TypeRow, before, since
from eumu.isa.spec import Field, Opcode
from eumu.isa.visa import VISA
from eumu.platforms import PLATFORMS
from eumu.types import TYPES, Type

__all__ = ["command", "example", "forms"]


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
    print("\n\n".join("\n".join(_page(opcode, paint)) for opcode in found))
    return FINE


def _first_line(opcode: Opcode) -> str:
    return opcode.doc.partition("\n")[0]


def example(opcode: Opcode) -> str:
    """An instruction as it may be written; variables are called like the operands they are for."""
    parts = [
        piece.literal if piece.field is None else forms(opcode, piece.field)[0][1]
        for piece in opcode.pieces
        if not piece.part  # a part may always be left out
    ]
    return "".join(parts).strip()


def _page(opcode: Opcode, paint: Paint) -> Iterator[str]:
    yield f"{paint.bold(opcode.mnemonic)}    {opcode.template}"
    yield ""
    yield from (f"  {line}".rstrip() for line in opcode.doc.splitlines())
    yield ""
    yield f"  example      {example(opcode)}"
    for field in opcode.fields:
        yield f"  {field.name:<12} {_operand(forms(opcode, field))}"
    for row in opcode.types:
        if row.by is not By.FRONT_END:
            yield f"  types        {_row(row)}"
    number = f"{opcode.number:#04x}" + ("" if opcode.sub is None else f", sub-opcode {opcode.sub}")
    yield f"  opcode       {number}"
    yield f"  platforms    {_platforms(opcode.platforms or EVERY_PLATFORM)}"
    yield f"  fidelity     {opcode.fidelity}"
    yield f"  page         vISA {opcode.page}"


def forms(opcode: Opcode, field: Field) -> list[tuple[str, str]]:
    """What an operand may be, in words and as an example, the usual form first."""
    classes = opcode.limits.operands.get(field.name, "")
    # The name of an instruction cannot be that of a variable.
    name = f"{field.name}0" if VISA.find(field.name) else field.name
    return [(words, sample.format(name=name)) for words, sample in field.kind.forms(classes)]


def _operand(found: list[tuple[str, str]]) -> str:
    if len(found) == 1:
        return found[0][0]
    *first, last = (f"{words} {sample}" for words, sample in found)
    return f"{', '.join(first)} or {last}"


def _row(row: TypeRow) -> str:
    """A row of a type map: what goes to what, operands with types of their own, platforms."""
    sides = (("dst", row.dst), ("sources", row.src))
    if row.dst and row.src:
        parts = [f"{_types(row.dst)} ← {_types(row.src)}"]
    else:
        parts = [f"{side} {_types(types)}" for side, types in sides if types]
    parts += [f"{name} {_types(types)}" for name, types in row.fields]
    everywhere = row.platforms == EVERY_PLATFORM
    return ", ".join(parts) + ("" if everywhere else f"  (on {_platforms(row.platforms)})")


def _platforms(names: frozenset[str]) -> str:
    """Platforms in order of appearance, as a stretch of them where they are one."""
    if names == EVERY_PLATFORM:
        return "all"
    order = list(PLATFORMS)
    found = [n for n in order if n in names]
    if len(found) > 2 and names == since(found[0]):
        return f"{found[0]} and later ({', '.join(found)})"
    if len(found) > 2 and names == before(order[len(found)]):
        return f"up to {found[-1]} ({', '.join(found)})"
    return ", ".join(found)


def _types(types: frozenset[Type]) -> str:
    return " ".join(t.name for t in TYPES.values() if t in types)
