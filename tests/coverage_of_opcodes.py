"""Which instructions the tests write, and which they run on both engines.

Vector instructions are taken from the registry by `tests/oracle/test_pairwise.py`; the others are
found in run files, in the compiled kernels of the image tests, and by name in those of `ELSEWHERE`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from eumu import zebin
from eumu.fuzz.vocabulary import is_executed, is_vector, name
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.platforms import platform
from eumu.program import Inst, Kernel
from eumu.text import parse
from runfile import read

HERE = Path(__file__).parent
# Run files with what no object file can hold, and why it cannot.
TEXT_ONLY = {"lsc_typed_blocks", "lsc_counters", "lsc_caching"}
WITHOUT_A_FORM = "no document describes the binary form|the object file has two levels"
RUNS = HERE / "runs"
ENGINES = {"interp", "jit"}

# Tests that run instructions on both engines and name them: pattern -> file.
ELSEWHERE = {
    r"rt_\w+|urb_\w+": "isa/memory/test_render.py",
    r"raw_send\w*": "isa/test_sends.py",
    r"vme_\w+": "motion/test_instructions.py",
    r"avs|va|va\.\w+|va_skl_plus\.\w+": "images/test_media_engines.py",
}


@cache
def in_run_files() -> frozenset[Opcode]:
    """The instructions of all run files that both engines run."""
    found: set[Opcode] = set()
    for path in RUNS.rglob("*.visa"):
        file = read(path)
        if set(file.engines) >= ENGINES:
            for kernel in (file.kernel, *file.functions):
                found |= opcodes(kernel)
    return frozenset(found)


def opcodes(kernel: Kernel) -> set[Opcode]:
    return {item.opcode for item in kernel.body if isinstance(item, Inst)}


@cache
def in_compiled_images() -> frozenset[Opcode]:
    """The instructions of the compiled kernels that `tests/images` launches."""
    found: set[Opcode] = set()
    for path in sorted((HERE / "images" / "bin").glob("*/*.bin")):
        grf = platform(path.parent.name).grf_bytes
        elf = zebin.read(path.read_bytes(), path.name)
        for text in [k.visaasm for k in elf.kernels] + [f.visaasm for f in elf.functions]:
            for kernel in parse(text or "", path.name, grf).kernels:
                found |= opcodes(kernel)
    return frozenset(found)


@cache
def in_corpus() -> frozenset[str]:
    """The words that lines of the corpus begin with, predicates aside."""
    words: set[str] = set()
    for path in (HERE / "corpus").rglob("*.txt"):
        for line in path.read_text().splitlines():
            found = re.match(r"(?:\([^)]*\)\s*)?([a-z_]\w*(?:\.\w+)*)", line)
            if found:
                parts = found[1].split(".")
                words |= {".".join(parts[: k + 1]) for k in range(len(parts))}
                words |= {f"{parts[0]}.{part}" for part in parts[1:]}
    return frozenset(words)


def is_written(opcode: Opcode) -> bool:
    """Whether a test reads it, prints it and reads that again."""
    return is_vector(opcode) or name(opcode) in in_corpus() or opcode in in_run_files()


@cache
def _text(path: str) -> str:
    return (HERE / path).read_text()


def is_run(opcode: Opcode) -> bool:
    """Whether a test runs it on both engines."""
    if is_vector(opcode) or opcode in in_run_files() or opcode in in_compiled_images():
        return True
    paths = [path for pattern, path in ELSEWHERE.items() if re.fullmatch(pattern, name(opcode))]
    return any(re.search(rf"\b{re.escape(opcode.mnemonic)}\b", _text(path)) for path in paths)


def without_a_run() -> list[str]:
    return sorted(name(opcode) for opcode in VISA if is_executed(opcode) and not is_run(opcode))
