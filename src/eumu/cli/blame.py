"""`eumu blame`: the instruction with which two forms of a kernel begin to differ."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import eumu
from eumu.cli.compare import first_difference, forms_of
from eumu.compare import Launch, Side, blame, compare, tell
from eumu.errors import BuildError, Unsupported


def command(options: argparse.Namespace) -> int:
    """Blame the first form that differs from the first one; FAILED if one does."""
    forms = forms_of(options) if options.other is None else _both(options)
    launch, found, status = first_difference(options, forms, blame)
    if found is not None:
        print(tell(found))
        if options.other_options:
            _name_options(options, launch)
    return status


def _name_options(options: argparse.Namespace, launch: Launch) -> None:
    """Say which options of the other build make the difference, left out one at a time."""
    first = next(_both(options))
    words = options.other_options.split()
    needed = []
    for k, word in enumerate(words):
        rest = " ".join((*words[:k], *words[k + 1 :]))
        try:
            program = eumu.load(options.other, device=options.device, options=rest)
            if compare(first, Side(rest, program, options.level), launch) is None:
                needed.append(word)
        except (Unsupported, BuildError):
            continue  # without it nothing is built: that says nothing
    if needed:
        print(f"without {' or '.join(needed)} there is no difference")


def _both(options: argparse.Namespace) -> Iterator[Side]:
    """Two programs, or one with other options of the compiler, each at the level that is asked."""
    given = options.build_options or ""
    other = given if options.other_options is None else options.other_options
    for path, words in ((options.program, given), (options.other, other)):
        program = eumu.load(path, device=options.device, options=words)
        label = f"{path} {words}".strip() if given != other else path
        yield Side(label, program, options.level)
