"""What becomes of public object files: ``python tests/binary/public_objects.py FOLDER``.

FOLDER holds `.isa` files, or C sources that have object files in them as arrays of numbers, as
media drivers do.  Each is read, written, checked, lowered for the platform of its native code, and
each of its kernels runs on both engines with arguments that are made up (`made_up.py`); where NumPy
can say simply what a kernel computes, its results are held against that (`public_meanings.py`).
The table says which kernels agree, which are refused and why, and which fault.  ``--only WORD``
takes the files that have the word in their name, ``--choices N`` the first N choices of arguments.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import eumu
from binary.made_up import CHOICES, run
from binary.public_meanings import as_numpy
from eumu import binary, text
from eumu.platforms import Platform, platform
from eumu.program import Kernel, Module, difference

_ARRAY = re.compile(r"\b(\w+)\s*\[[^\]]*\][^={};]*=\s*\{([^{}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\b\d+\b")
_SOURCES = (".c", ".cpp", ".h")
# Intel's numbers of platforms that eumu has under another name: Ice Lake before its product.
_AKIN = {8: "icllp"}


def objects(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The object files in a folder and below, by name; those of the oldest versions too."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if path.suffix == ".isa":
            yield path.stem, path.read_bytes()
        elif path.suffix in _SOURCES:
            source = path.read_text("latin-1")
            if re.search(r"(?i)0x43\W+0x49\W+0x53\W+0x41|0x41534943", source):
                for name, data in _arrays(source):
                    yield f"{path.stem}.{name}", data


def _arrays(source: str) -> Iterator[tuple[str, bytes]]:
    """Arrays of bytes or dwords in C that hold object files."""
    for name, body in _ARRAY.findall(_COMMENT.sub("", source)):
        values = [int(x, 0) for x in _NUMBER.findall(body)]
        if values and max(values) < 1 << 32:
            wide = max(values) > 255
            data = struct.pack(f"<{len(values)}I", *values) if wide else bytes(values)
            starts = [m.start() for m in re.finditer(b"CISA", data)]
            for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
                yield f"{name}.{start}" if start else name, data[start:end]


@dataclass(frozen=True, slots=True)
class File:
    """An object file that could be read; `target` is None where its platform is not modelled."""

    name: str
    module: Module
    target: Platform | None

    @property
    def version(self) -> str:
        return "{}.{}".format(*self.module.version)


def made_for(module: Module) -> Platform | None:
    """The platform of the native code in a file."""
    numbers = {b.platform for k in module.kernels for b in k.gen_binaries}
    name = _AKIN.get(numbers.pop()) if len(numbers) == 1 else None
    return platform(name) if name else binary.made_for(module)


def as_written(data: bytes, module: Module, printed: Module) -> list[str]:
    """What is not the same after writing, and after printing and parsing; nothing is right."""
    wrong = []
    if module.tail.strip(b"\0"):
        wrong.append(f"{len(module.tail)} bytes behind the last object")
    if binary.write(module) != data:
        wrong.append("written otherwise")
    plain = tuple(replace(k, gen_binaries=()) for k in module.kernels)
    again = binary.read(binary.write(printed), module.name)
    if found := difference(replace(module, kernels=plain), again):
        wrong.append(f"differs as text: {found}")
    return wrong


class Table:
    """The lines of a run, and what they come to."""

    def __init__(self, choices: int = len(CHOICES)) -> None:
        self.choices = choices
        self.files: Counter[str] = Counter()
        self.kernels: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.numpy: Counter[str] = Counter()

    def file(self, name: str, data: bytes) -> File | None:
        """Read, write and check a file."""
        try:
            module = binary.read(data, name)
        except eumu.FormatError as error:
            self.files[f"cannot be read: {str(error).split(': ', 2)[-1]}"] += 1
            return None
        target = made_for(module)
        printed = text.parse(text.print_module(module), name)  # with the names that kernels have
        wrong = as_written(data, module, printed)
        if target is not None:
            found = eumu.check(data, target.name)
            errors = sum(str(f.severity) == "error" for f in found)
            wrong += [f"{errors} errors of the verifier"] * bool(errors)
        read = File(name, printed, target)
        self.files[f"{read.version} " + ("; ".join(wrong) or "decodes and encodes the same")] += 1
        return read

    def kernel(self, file: File, code: Kernel, data: bytes) -> None:
        """Run one kernel and print its line."""
        start = time.perf_counter()
        outcome = run(data, code, file.target, self.choices)
        self.kernels[outcome.verdict] += 1
        known = as_numpy(data, code.name, file.target) if file.target and outcome.ran else None
        words = {None: "", True: "; as NumPy says", False: "; NOT as NumPy says"}[known]
        if known is not None:
            self.numpy[words[2:]] += 1
        if outcome.reason:
            self.reasons[f"{outcome.verdict}: {outcome.reason}"] += 1
        where = f"{file.name.split('.')[0]:36} {file.version} {file.target or '-'!s:6}"
        seconds = time.perf_counter() - start
        print(f"{where} {code.name:28} {outcome}{words} ({seconds:.1f} s)", flush=True)

    def __str__(self) -> str:
        parts = []
        for title, counter in (
            ("files", self.files),
            ("kernels", self.kernels),
            ("reasons", self.reasons),
            ("kernels that NumPy knows", self.numpy),
        ):
            parts.append(f"{sum(counter.values())} {title}")
            parts += [f"{n:6} {what}" for what, n in counter.most_common()]
        return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--choices", type=int, default=len(CHOICES))
    options = parser.parse_args(arguments)
    table = Table(options.choices)
    for name, data in objects(options.folder):
        if options.only.lower() not in name.lower():
            continue
        file = table.file(name, data)
        for code in file.module.kernels if file else ():
            table.kernel(file, code, data)
    print(table)
    readable = (what for what in table.files if "cannot be read: version" not in what)
    wrong = table.kernels["differs"] + table.numpy["NOT as NumPy says"]
    return int(wrong > 0 or not all("same" in what for what in readable))


if __name__ == "__main__":
    sys.exit(main())
