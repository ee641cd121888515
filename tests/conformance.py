"""Writes docs/conformance.md: ``python tests/conformance.py``; `--check` only compares.

What the table says comes from the registry and from the tests: a cell is not filled in by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import newest_pages
from coverage_of_opcodes import is_run, is_written
from eumu.fuzz.vocabulary import is_executed, name
from eumu.isa.mathlib import BOUNDS
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.platforms import PLATFORMS

TARGET = Path(__file__).resolve().parents[1] / "docs" / "conformance.md"
# What became of kernels by both compilers; from runs that take longer than the tests.
COMPILERS = Path(__file__).with_name("kernels") / "compilers.md"
HEAD = """\
# Conformance

This page says which instructions of the vISA specification eumu implements and tests, how accurate
its math functions are, and which programs of Intel's compilers run. `python tests/conformance.py`
writes it from the registry and the tests, and a test compares it with them.

Each row of this table is a page of the specification. The columns mean:

* *parse, print*: a test reads the instruction, prints it, and reads the same again
  (`tests/corpus`, `tests/runs`, `tests/oracle`).
* *encode*: the object file can hold it (`tests/binary`).
* *interp, jit*: a test runs it on the interpreter and on the fast engine, and checks the results
  (`tests/runs`, `tests/oracle`, `tests/images`, and random programs of `tests/random_kernels`).
* *fidelity*: how close the result is to the hardware's ([fidelity.md](fidelity.md)).

A cell with "not" names the instructions for which this is not true; `–` means all of them.
"""


def pages() -> dict[str, list[Opcode]]:
    """The instructions of each page, in the order of their numbers."""
    found: dict[str, list[Opcode]] = {}
    for opcode in VISA:
        found.setdefault(opcode.page, []).append(opcode)
    return dict(sorted(found.items()))


def _cell(opcodes: list[Opcode], holds: Callable[[Opcode], bool]) -> str:
    missing = [name(o) for o in opcodes if not holds(o)]
    if not missing:
        return "yes"
    return "–" if len(missing) == len(opcodes) else f"not {', '.join(missing)}"


def _platforms(opcodes: list[Opcode]) -> str:
    groups: dict[frozenset[str] | None, list[str]] = {}
    for opcode in opcodes:
        groups.setdefault(opcode.platforms, []).append(name(opcode))
    by_size = sorted(
        groups, key=lambda platforms: (len(groups[platforms]), sorted(platforms or ()))
    )
    texts = [f"{', '.join(groups[platforms])}: {_range(platforms)}" for platforms in by_size[:-1]]
    last = _range(by_size[-1])
    return "; ".join([*texts, f"others: {last}" if texts else last])


def _range(platforms: frozenset[str] | None) -> str:
    if platforms is None:
        return "all"
    order = [p for p in PLATFORMS if p in platforms]
    later = list(PLATFORMS)[list(PLATFORMS).index(order[0]) :] if order else []
    return f"from {order[0]}" if order == later else " ".join(order)


def _fidelity(opcodes: list[Opcode]) -> str:
    levels: dict[str, list[str]] = {}
    for opcode in opcodes:
        levels.setdefault(str(opcode.fidelity), []).append(name(opcode))
    if len(levels) == 1:
        return next(iter(levels))
    return "; ".join(f"{', '.join(names)}: {level}" for level, names in levels.items())


def table() -> Iterator[str]:
    """A row for each page."""
    yield "| page | instructions | parse, print | encode | interp, jit | platforms | fidelity |"
    yield "|---|---|---|---|---|---|---|"
    for page, opcodes in pages().items():
        words = ", ".join(f"`{name(o)}`" for o in opcodes)
        cells = (
            *(page or "(on none)", words, _cell(opcodes, is_written)),
            _cell(opcodes, lambda o: o.slots is not None),
            _cell(opcodes, lambda o: is_executed(o) and is_run(o)),
            *(_platforms(opcodes), _fidelity(opcodes)),
        )
        yield f"| {' | '.join(cells)} |"


def functions() -> Iterator[str]:
    """The bounds of the math functions."""
    yield "| function | type | greatest error against mpmath, in ulp | over | beyond |"
    yield "|---|---|---|---|---|"
    for function, bounds in sorted(BOUNDS.items()):
        for type in sorted(bounds):
            bound = bounds[type]
            yield f"| `{function}` | {type} | {bound.ulp} | {bound.sweep} | {bound.beyond} |"


def document() -> str:
    executed = sum(is_executed(o) for o in VISA)
    run = sum(is_executed(o) and is_run(o) for o in VISA)
    summary = (
        f"{len(set(pages()) - {''})} pages, {len(VISA)} instructions and sub-opcodes:"
        f" {executed} are executed,"
        f" {run} of them are run by a test on both engines; {len(VISA.unmodelled)} more are refused"
        " by name."
    )
    refused = [f"| `{word}` | {why} |" for word, why in sorted(VISA.unmodelled.items())]
    lines = [
        *(HEAD, summary, "", *table(), ""),
        *("## Math functions", "", "The bounds of `eumu.isa.mathlib`, each from a sweep:", ""),
        *(*functions(), ""),
        *(f"## The documents at {newest_pages.TAG}", "", "Every page of the newest release:", ""),
        *("| page | executed | refused, and why |", "|---|---|---|", *newest_pages.rows(), ""),
        *("## Refused", "", "| instruction | why |", "|---|---|", *refused, ""),
        COMPILERS.read_text(),
    ]
    return "\n".join(lines)


def main() -> int:
    if "--check" in sys.argv[1:]:
        return 0 if TARGET.read_text() == document() else 1
    TARGET.write_text(document())
    return 0


if __name__ == "__main__":
    sys.exit(main())
