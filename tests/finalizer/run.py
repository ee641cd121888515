"""Random kernels through Intel's finalizer: ``python tests/finalizer/run.py --count 5000``.

Each runs natively and as vISA on both engines.  With ``--log FILE`` verdicts are written down, one
a line, and the next call goes on where the last one stopped.  ``--small SEED`` makes the kernel of
a seed that differs small.  ``--pairwise`` runs every pairwise case of every vector instruction
instead.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from eumu.fuzz.finalized import FAMILY, FinalizedBundle, is_suited, program, smaller
from eumu.fuzz.statements import lines
from eumu.fuzz.verdicts import judge, verdicts
from finalizer import pairwise
from finalizer.witness import engines
from random_kernels import isolated

KERNELS = FAMILY  # of a process
LIMIT = 1200.0  # seconds of processor time for a process


def chunk(first: int) -> str:
    """The verdicts on the kernels from a seed on, one a line."""
    found = verdicts(range(first, first + KERNELS), thorough=True)
    return "\n".join(f"{s} {why}" for s, why in found)


def smallest(seed: int, tries: int) -> FinalizedBundle:
    """A small kernel that differs as that of a seed does."""
    made, going = program(seed), True
    while going and tries > 0:
        going = False
        for less in filter(_is_suited, smaller(made)):
            tries -= 1
            if judge(less).startswith("differs"):
                made, going = less, True
            if going or tries <= 0:
                break
    return made


def _is_suited(made: FinalizedBundle) -> bool:
    """Whether no statement of its became one of those that are known to differ."""
    (section,) = made.bundle.sections
    blocks = section.body, *(block for _, block in section.subroutines)
    return all(is_suited(list(lines(block))) for block in blocks)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=500, help="kernels (500)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--log", type=Path, help="verdicts, one a line")
    parser.add_argument(
        "--small", type=int, help="make the kernel of this seed small, nothing else"
    )
    parser.add_argument("--pairwise", action="store_true", help="pairwise cases, all of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    os.environ["EUMU_CACHE"] = "off"
    if arguments.small is not None:
        found = smallest(arguments.small, 200)
        print(judge(found), *lines(found.bundle.sections[0].body), sep="\n")
        for name, block in found.bundle.sections[0].subroutines:
            print(f"{name}:", *lines(block), sep="\n")
        return 0
    if arguments.pairwise:
        return every_case(arguments)
    first = max(logged(arguments.log), default=arguments.first - 1) + 1
    counts = Counter[str]()
    starts = range(first, first + arguments.count, KERNELS)
    for start, answer in isolated.each(chunk, starts, arguments.jobs, LIMIT):
        rows = answer.splitlines() if answer[:1].isdigit() else [f"{start} differs: {answer}"]
        if arguments.log is not None:
            with arguments.log.open("a") as log:
                log.write("\n".join(rows) + "\n")
        for row in rows:
            why = row.partition(" ")[2]
            counts[why.partition(":")[0] if why.startswith("differs") else why] += 1
            if why.startswith("differs"):
                print(row)
    for why, count in counts.most_common():
        print(f"{count:6} {why}")
    return 1 if counts["differs"] else 0


def every_case(arguments: argparse.Namespace) -> int:
    """All pairwise cases; 1 if something differs for a reason that is not known."""
    counts = Counter[str]()
    for opcode, answer in isolated.each(cases_of, pairwise.OPCODES, arguments.jobs, LIMIT):
        rows = answer.splitlines() if answer.startswith(opcode) else [f"{opcode} differs: {answer}"]
        if arguments.log is not None:
            with arguments.log.open("a") as log:
                log.write("\n".join(rows) + "\n")
        for row in rows:
            says = row.split(" ", 2)[-1]
            counts["differs" if says.startswith("differs") else says] += 1
            if says.startswith("differs"):
                print(row, flush=True)
    for says, count in counts.most_common():
        print(f"{count:6} {says}")
    return 1 if counts["differs"] else 0


def cases_of(opcode: str) -> str:
    """The verdicts on the cases of an instruction, one a line."""
    found = pairwise.verdicts(pairwise.every_case(opcode), list(engines().values()))
    return "\n".join(f"{opcode} {number} {says}" for number, says in found)


def logged(path: Path | None) -> set[int]:
    """The seeds that earlier calls have run."""
    if path is None or not path.exists():
        return set()
    return {int(line.split()[0]) for line in path.read_text().splitlines()}


if __name__ == "__main__":
    sys.exit(main())
