"""`eumu blame`: the instruction with which two forms of a kernel begin to differ."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import eumu
from eumu.cli.compare import first_difference, forms_of, tolerance
from eumu.cli.options import compiler_options
from eumu.cli.status import UsageError
from eumu.compare import Blame, Difference, Launch, Side, blame, compare, reduce, tell
from eumu.compare.bug_report import (
    BugReport,
    behaviour,
    first_difference_of,
    parts_alike,
)
from eumu.compare.clean import clean_builds
from eumu.compare.reduce import REDUCING, read_source, write_source
from eumu.compare.sides import building, how_built
from eumu.compare.switches import switched_off
from eumu.writing import write_text
from eumu.zebin import compilers

_NO_SWITCH: Final = "no switch of the compiler makes the difference"


def command(options: argparse.Namespace) -> int:
    """Blame the first form that differs from the first one; FAILED if one does."""
    if options.other is None and options.other_options is not None:
        options.other = options.program
    if options.other is None and options.level is not None:
        raise UsageError("--level is of two programs; the forms of one have a level each")
    if options.bug_report is not None and not options.program.endswith(".cl"):
        raise UsageError("--bug-report is for OpenCL C (.cl)")
    launch, difference, status = first_difference(options, _forms(options), blame)
    if difference is not None:
        print(tell(difference))
        if options.other_options:
            _name_options(options, launch)
        if options.switches:
            _name_switches(difference, launch, tolerance(options))
        if options.bug_report is not None:
            _write_report(options, launch, difference)
    return status


def _forms(options: argparse.Namespace) -> Iterator[Side]:
    return forms_of(options) if options.other is None else _both(options)


def _write_report(options: argparse.Namespace, launch: Launch, found: Blame | Difference) -> None:
    """Write what `found` is in a source as short as can be."""
    rtol, whole = tolerance(options), _difference(found)
    with TemporaryDirectory() as work:
        path = Path(work, Path(options.program).name)
        words = {"program": str(path), "other": options.other and str(path)}
        shorter = argparse.Namespace(**{**vars(options), **words})

        def forms(source: str) -> list[Side]:
            write_source(path, source)
            with redirect_stdout(StringIO()):  # which builds are the same
                return list(_forms(shorter))

        def still(source: str) -> bool:
            try:
                made = forms(source)
                now = first_difference_of(made, launch, rtol)
                return parts_alike(whole, now) and clean <= clean_builds(made, launch)
            except (eumu.EumuError, UsageError):
                return False

        text = read_source(Path(options.program))
        clean = clean_builds(forms(text), launch)
        print(REDUCING, file=sys.stderr)
        source = reduce(text, still)
        made = forms(source)
        last = first_difference_of(made, launch, rtol) or found
        gives = list(behaviour(made, launch, _difference(last)))
        sides, device = _difference(last).sides, made[0].program.platform
        switches = [f"{n}={v}" for n, v in switched_off(*sides, launch, rtol=rtol)]
    name = device.name if device is not None else ""
    report = BugReport(source, name, _launched(options), last, gives, switches)
    write_text(options.bug_report, report.markdown())
    print(f"the report is in {options.bug_report}")


def _difference(found: Blame | Difference) -> Difference:
    return found.divergence if isinstance(found, Blame) else found


def _launched(options: argparse.Namespace) -> str:
    words = [f"--global {options.global_size}"]
    words += [f"--local {options.local_size}"] if options.local_size else []
    words += [f"--arg {arg}" for arg in options.args]
    return f"`{' '.join(words)}`"


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
    sides = _difference(found).sides
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
    level, is_source = options.level or "visa", path.endswith((".cl", ".spv"))
    if not is_source or target is None:
        return Side(label, program, level)
    again, compiler = building(path, target, chosen), compilers.choose(target)
    return Side(label, program, level, again=again, build=how_built(compiler, chosen))
