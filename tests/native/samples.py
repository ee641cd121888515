"""The sample files of this folder, and Intel's assembler where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from eumu.zebin.elf import parse as parse_elf

HERE = Path(__file__).parent
KERNELS = HERE.parent / "kernels" / "bin"


def rows(name: str) -> list[str]:
    """The lines of a sample file without comments."""
    lines = (HERE / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith(("#", "//"))]


def words(name: str) -> list[tuple[int, str]]:
    """Word and text of each line `digits text`."""
    pairs = [line.split(maxsplit=1) for line in rows(name)]
    return [(int(digits, 16), text) for digits, text in pairs]


def plain(text: str) -> list[str]:
    """The lines of a text with single blanks and without comments."""
    lines = (" ".join(re.sub(r"//.*", "", line).split()) for line in text.splitlines())
    return [line for line in lines if line]


def kernel_files(platform: str) -> list[Path]:
    return sorted((KERNELS / platform).glob("*.bin"))


def native_sections(path: Path) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the native code of a compiled program."""
    for section in parse_elf(path.read_bytes(), path.name).sections:
        if section.name.startswith(".text") and section.data:
            yield section.name, section.data


def iga64() -> str:
    """Intel's assembler; skips the test where it is not installed."""
    found = shutil.which("iga64")
    if found is None:
        pytest.skip("iga64 (Debian package libigc-tools) is not installed")
    return found


def run_iga64(mode: str, data: bytes, folder: Path) -> bytes:
    """What `iga64 -p=9` makes of a file, `-a` assembled or `-d` disassembled."""
    given, made = folder / "given", folder / "made"
    given.write_bytes(data)
    command = [iga64(), "-p=9", mode, "-q", str(given), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made.read_bytes()
