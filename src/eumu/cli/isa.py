"""`eumu isa`: every instruction with its number, its platforms and how near the model is."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from eumu.cli.status import FINE
from eumu.cli.terminal import Paint
from eumu.highlight.textmate import grammar
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.platforms import PLATFORMS
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction; `opcode` is None where eumu knows no more than the name and a reason.

    `fidelity` is `exact`, `ulp`, `approximate` or `unsupported`, and `detail` the bound or reason.
    """

    mnemonic: str
    opcode: int | None
    sub: int | None
    platforms: tuple[str, ...]
    fidelity: str
    detail: str
    page: str
    text: str


def command(options: argparse.Namespace) -> int:
    """Print the table, or a grammar of its words for editors."""
    if options.format == "json":
        print(json.dumps([asdict(row) for row in table()], indent=1))
    elif options.format == "textmate":
        print(json.dumps(grammar(), indent=1))
    else:
        print("\n".join(_lines(table(), Paint.for_stream(sys.stdout))))
    return FINE


def table() -> list[Row]:
    """Every instruction by number, then those that are only named."""
    rows = [_row(opcode) for opcode in VISA]
    names = {opcode.mnemonic for opcode in VISA}
    rows += [
        Row(name, None, None, (), "unsupported", reason, "", "")
        for name, reason in sorted(VISA.unmodelled.items())
        if name not in names
    ]
    return rows


def _row(opcode: Opcode) -> Row:
    platforms = [p for p in PLATFORMS if opcode.platforms is None or p in opcode.platforms]
    return Row(
        name(opcode),
        opcode.number,
        opcode.sub,
        tuple(platforms),
        opcode.fidelity.level,
        opcode.fidelity.detail,
        opcode.page,
        opcode.template,
    )


def name(opcode: Opcode) -> str:
    """The mnemonic with the words that tell it from others of the same: `add3.o`."""
    return (opcode.mnemonic + opcode.literal_after_mnemonic()).rstrip(".")


def _lines(rows: Iterable[Row], paint: Paint) -> Iterator[str]:
    yield paint.bold(f"{'instruction':<28} {'opcode':<8} {'platforms':<24} fidelity")
    for row in rows:
        number = "-" if row.opcode is None else f"{row.opcode:02x}"
        sub = "" if row.sub is None else f".{row.sub:02x}"
        fidelity = f"{row.fidelity}: {row.detail}" if row.detail else row.fidelity
        yield f"{row.mnemonic:<28} {number + sub:<8} {_platforms(row):<24} {fidelity}"


def _platforms(row: Row) -> str:
    """`all`, `dg2 ...` for a platform and all later ones, or their names."""
    if row.opcode is None:
        return "-"
    names = list(PLATFORMS)
    if len(row.platforms) == len(names):
        return "all"
    first = names.index(row.platforms[0])
    if len(row.platforms) > 2 and list(row.platforms) == names[first:]:
        return f"from {row.platforms[0]} on"
    if len(row.platforms) > 2 and first == 0 and list(row.platforms) == names[: len(row.platforms)]:
        return f"up to {row.platforms[-1]}"
    return " ".join(row.platforms)
