"""The golden lines of `tests/corpus` and the texts inside the compiled test kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from eumu import zebin
from kernels import build

CORPUS = Path(__file__).parents[1] / "corpus"


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it may be written and as it is printed; `labels` are those it may name.

    A `rejected` line is of the documents or of object files: Intel's front end refuses its text.
    """

    file: str
    number: int
    written: str
    printed: str
    platform: str
    labels: tuple[str, ...]
    rejected: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


@cache
def lines(folder: Path = CORPUS) -> tuple[Line, ...]:
    """Every golden line of a folder."""
    found: list[Line] = []
    for file in sorted(folder.glob("*.txt")):
        platform, labels, rejected = "SKL", ("L1",), False
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if line.startswith("# platform: "):
                platform, rejected = line.split()[2], False
            elif line.startswith("# rejected"):
                rejected = True
            elif line.startswith("# labels: "):
                labels = tuple(line.split()[2:])
            elif line.strip() and not line.startswith("#"):
                written, _, printed = (part.strip() for part in line.partition("=>"))
                forms = written, printed or written
                found.append(Line(file.name, number, *forms, platform, labels, rejected))
    return tuple(found)


def program(*statements: str, labels: tuple[str, ...] = ("L1",)) -> str:
    """The prelude of the golden lines, statements, and the labels that they may name."""
    prelude = (CORPUS / "prelude.visaasm").read_text()
    body = [*statements, *(f"{label}:" for label in labels), "ret (M1, 1)"]
    return prelude + "\n".join(body) + "\n"


@dataclass(frozen=True, slots=True)
class Text:
    """The vISA text of one kernel in a compiled program."""

    device: str
    program: str
    kernel: str
    text: str

    def __str__(self) -> str:
        return f"{self.device}-{self.program}"


@cache
def compiled(device: str, name: str) -> tuple[Text, ...]:
    """The texts of one program, one a kernel."""
    (program,) = (p for p in build.PROGRAMS if p.name == name)
    file = program.elf(device)
    elf = zebin.read(file.read_bytes(), file.name)
    found = [(k.name, k.visaasm) for k in elf.kernels]
    return tuple(Text(device, name, kernel, text) for kernel, text in found)


def programs() -> list[tuple[str, str]]:
    """(device, program) of every compiled program."""
    return [(d, p.name) for d in build.DEVICES for p in build.PROGRAMS if d not in p.cannot]
