"""Compares what the compiler makes of every kernel with line tables and without.

    python tests/kernels/line_tables.py [--options "-g"] [--only NAME ...] [--log FILE]

compiles each program of `build.py` with every compiler that there is (ocloc, and the newest one
where it is unpacked), for devices of each, twice: as it is, and with `-gline-tables-only` (or the
options given).  What may differ are `FILE`, `LOC`, comments and the kernel's name in front; the
instructions of the vISA and the bytes of the machine code must be the same.  Today's compiler puts
a hash of all that it was given into the machine code (`-hashmovs`, two immediates that nothing
reads); that is left out.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "src")]

from eumu import zebin  # noqa: E402
from eumu.errors import BuildError  # noqa: E402
from eumu.zebin import compilers, ocloc  # noqa: E402
from kernels import newest  # noqa: E402
from kernels.build import PROGRAMS, Program  # noqa: E402

LINES = "-gline-tables-only"
_HASH = re.compile(r"-hashmovs (\d+) (\d+)")
DEVICES = {"ocloc": ("pvc", "skl"), "newest": ("pvc", "bmg")}


def instructions(visaasm: str) -> list[str]:
    """The statements of a text without what line tables add."""
    kept = (line.partition("//")[0].strip() for line in visaasm.splitlines())
    marks = ("FILE ", "LOC ", ".kernel ")
    return [line for line in kept if line and not line.startswith(marks)]


def without_hash(native: bytes, visaasm: str) -> bytes:
    """Machine code without the hash that the build options in a text name."""
    for numbers in _HASH.findall(visaasm):
        for number in numbers:
            native = native.replace(struct.pack("<I", int(number)), bytes(4), 1)
    return native


def code(data: bytes) -> dict[str, tuple[list[str], bytes]]:
    """vISA and machine code of each kernel and function."""
    elf = zebin.read(data, "built")
    return {
        **{k.name: (instructions(k.visaasm), without_hash(k.text, k.visaasm)) for k in elf.kernels},
        **{f.name: (instructions(f.visaasm), b"") for f in elf.functions},
    }


def difference(plain: bytes, with_lines: bytes) -> str:
    """In words; nothing if the code is the same."""
    before, after = code(plain), code(with_lines)
    if before.keys() != after.keys():
        return "other kernels"
    visa = [name for name in before if before[name][0] != after[name][0]]
    native = [name for name in before if before[name][1] != after[name][1]]
    words = [f"{kind} of {', '.join(n)}" for kind, n in (("vISA", visa), ("native", native)) if n]
    return "; ".join(words)


def compared(program: Program, device: str, compiler: compilers.Compiler, options: str) -> str:
    """What differs between two builds of one program."""
    made = []
    for more in ("", options):
        built = ocloc.compile(
            program.path.read_bytes(),
            device,
            f"{program.options} {more}".strip(),
            name=str(program.path),
            compiler=compiler,
        )
        made.append(built.elf)
    return difference(made[0], made[1])


def _compilers() -> Iterator[tuple[str, compilers.Compiler]]:
    yield "ocloc", compilers.Compiler(compilers.find())
    if newest.NEWEST.exists():
        yield "newest", compilers.Compiler(str(newest.NEWEST))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--options", default=LINES)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--log")
    given = parser.parse_args()
    counts = {"same": 0, "different": 0, "refused": 0}
    log = open(given.log, "a", encoding="utf-8") if given.log else sys.stdout  # noqa: SIM115
    for name, compiler in _compilers():
        for device in DEVICES[name]:
            for program in PROGRAMS:
                if given.only and program.name not in given.only:
                    continue
                try:
                    said = compared(program, device, compiler, given.options)
                    kind = "different" if said else "same"
                except BuildError as error:
                    said, kind = str(error).splitlines()[0], "refused"
                counts[kind] += 1
                if said:
                    print(
                        f"{compiler} {device} {program.name}: {kind}: {said}", file=log, flush=True
                    )
    print(counts, file=log, flush=True)
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
