"""What compilers write is read: parsed, printed the same, checked without an error.

    python tests/kernels/written.py [--old] [--devices bmg,nvlp] [--options=-g,-cl-opt-disable]

builds every kernel of the tests and every rare feature with each of the options, and goes on until
all are built; nothing runs.  The compiler is the newest that `.ci/newest-ocloc` unpacks, or with
`--old` the one on the path.  A text that is refused is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "src")]

import eumu  # noqa: E402
from eumu import zebin  # noqa: E402
from eumu.errors import Severity  # noqa: E402
from eumu.platforms import platform  # noqa: E402
from eumu.text import parse, print_module  # noqa: E402
from eumu.zebin.compilers import VARIABLE  # noqa: E402
from kernels import feature_references, newest  # noqa: E402
from kernels.build import PROGRAMS, Program  # noqa: E402

OPTIONS = "-g,-cl-opt-disable"
# The inline assembly of these sources is; that of the latter has 16 lanes, however many there are.
WRONG_ON_PURPOSE = ("madw_too_small", "asm_simd16_in_simd32", "half_done")
FINE = ("clean", "not built", "refused")
REFUSED = "are not modelled"  # by name, with the reason


def complaints(data: bytes, device: str) -> Iterator[str]:
    """What is wrong with the text in an ELF, as far as eumu says."""
    program = eumu.load(data)
    assert program.elf is not None
    yield from (f"unknown: {what}" for what in program.elf.unknown)
    grf = platform(device).grf_bytes
    for piece in (*program.elf.kernels, *program.elf.functions):
        printed = print_module(parse(piece.visaasm, piece.name, grf))
        if print_module(parse(printed, piece.name, grf)) != printed:
            yield f"{piece.name} prints otherwise the second time"
    found = eumu.check(data, device)
    yield from (d.message for d in found if d.severity is Severity.ERROR)


def outcome(program: Program, device: str, options: str) -> str:
    """What became of a program: "clean", "not built", or what is wrong."""
    try:
        made = zebin.compile(
            program.path.read_text(),
            device,
            f"{program.options} {options}",
            getattr(program, "internal_options", ""),
            name=program.path.name,
        )
    except eumu.BuildError:
        return "not built"
    try:
        return next(complaints(made.elf, device), "clean")
    except eumu.EumuError as error:
        refused = REFUSED in str(error)
        return "refused" if refused else f"{type(error).__name__}: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--devices")
    parser.add_argument("--options", default=OPTIONS)
    chosen = parser.parse_args()
    path = shutil.which("ocloc") if chosen.old else str(newest.NEWEST)
    if path is None or not Path(path).exists():
        print("there is no such compiler; .ci/newest-ocloc .venv/newest-ocloc unpacks the newest")
        return 2
    os.environ[VARIABLE] = path
    devices = newest.OLD_DEVICES if chosen.old else newest.DEVICES
    if chosen.devices:
        devices = tuple(chosen.devices.split(","))
    every = (*PROGRAMS, *feature_references.PROGRAMS.values())
    programs = [p for p in every if p.name not in WRONG_ON_PURPOSE]
    bad = 0
    for device in devices:
        found: Counter[str] = Counter()
        for options in chosen.options.split(","):
            for program in programs:
                said = outcome(program, device, options)
                found[said if said in FINE else "wrong"] += 1
                if said not in FINE:
                    print(f"  {program.name} on {device} with {options}: {said}", flush=True)
        print(f"{device}: {dict(found)}", flush=True)
        bad += found["wrong"]
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
