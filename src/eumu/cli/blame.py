"""`eumu blame`: the instruction with which two forms of a kernel begin to differ."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

import eumu
from eumu.cli.compare import first_difference, forms_of, tolerance
from eumu.cli.options import compiler_options
from eumu.cli.status import UsageError
from eumu.compare import Blame, Difference, Launch, Side, blame, compare, tell
from eumu.compare.sides import building
from eumu.compare.switches import switched_off

_NO_SWITCH: Final = "no switch of the compiler makes the difference"


def command(options: argparse.Namespace) -> int:
    """Blame the first form that differs from the first one; FAILED if one does."""
    if options.other is None and options.other_options is not None:
        options.other = options.program
    if options.other is None and options.level is not None:
        raise UsageError("--level is of two programs; the forms of one have a level each")
    forms = forms_of(options) if options.other is None else _both(options)
    launch, difference, status = first_difference(options, forms, blame)
    if difference is not None:
        print(tell(difference))
        if options.other_options:
            _name_options(options, launch)
        if options.switches:
            _name_switches(difference, launch, tolerance(options))
    return status


def _name_options(options: argparse.Namespace, launch: Launch) -> None:
    """Say which options of the other build make the difference, left out one at a time."""
    first = next(_both(options))
    words, needed = options.other_options.split(), []
    for k, word in enumerate(words):
        rest = " ".join((*words[:k], *words[k + 1 :]))
        try:
            other = _side(options, rest, options.other, rest)
            if compare(first, other, launch, rtol=tolerance(options)) is None:
                needed.append(word)
        except eumu.EumuError:
            continue  # without it nothing is built or runs: that says nothing
    if needed:
        print(f"without {' or '.join(needed)} there is no difference")


def _name_switches(found: Blame | Difference, launch: Launch, rtol: float) -> None:
    """Say which parts of the compiler make the difference, switched off one at a time."""
    sides = (found.divergence if isinstance(found, Blame) else found).sides
    needed = [f"{name}={value}" for name, value in switched_off(*sides, launch, rtol=rtol)]
    print(f"with {' or '.join(needed)} there is no difference" if needed else _NO_SWITCH)


def _both(options: argparse.Namespace) -> Iterator[Side]:
    """Two programs, or one with other options of the compiler, each at the level that is asked."""
    own = options.build_options
    other = own if options.other_options is None else options.other_options
    for path, words in ((options.program, own), (options.other, other)):
        yield _side(options, f"{path} {words}".strip() if own != other else path, path, words)


def _side(options: argparse.Namespace, label: str, path: str, words: str) -> Side:
    chosen = compiler_options(options, words)
    program = eumu.load(path, device=options.device, options=chosen)
    target = program.platform
    is_source = path.endswith((".cl", ".spv"))
    again = building(path, target, chosen) if is_source and target is not None else None
    return Side(label, program, options.level or "visa", again=again)
