"""What Intel's front end (GenX_IR of IGC 1.0.12504, its verifier on) says of 2 057 small texts.

`parity/instructions.txt` has one statement a line, which stands between `parity/prelude.visaasm`
and a `ret`, and a letter for each platform; `parity/kernels.txt` has whole texts on one platform.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TABLES = Path(__file__).parent / "parity"
VERDICTS = {"a": "accepts", "r": "rejects", "c": "crashes"}
PARTS = {
    "{head}": '.version 4.1\n.kernel "k"\n',
    "{target}": '.kernel_attr Target="cm"\n',
    "{end}": '.function "f"\nM:\n ret (M1, 1)\n',
}
# Platforms of the front end without the type, which its prelude then does not declare.
WITHOUT_BF = ("BDW", "SKL", "ICLLP", "TGLLP")


@dataclass(frozen=True)
class Verdict:
    """A text, and what the front end does with it on one of its platforms."""

    platform: str
    verdict: str
    text: str
    shown: str


def _lines(name: str) -> list[str]:
    return (TABLES / name).read_text().splitlines()


def _unescaped(text: str) -> str:
    return text.replace("\\r", "\r").replace("\\n", "\n")


def instructions() -> Iterator[Verdict]:
    """The statements, each on the platforms that were asked."""
    head, *table = _lines("instructions.txt")
    platforms = head.removeprefix("# ").partition(":")[0].split()
    prelude = (TABLES / "prelude.visaasm").read_text()
    bf = next(line for line in prelude.splitlines(keepends=True) if "type=bf" in line)
    for line in table:
        letters, statement = line[: len(platforms)], line[len(platforms) :]
        body = f"{_unescaped(statement)}\n    ret (M1, 1)\n"
        for platform, letter in zip(platforms, letters, strict=True):
            if letter in VERDICTS:
                declared = prelude.replace(bf, "") if platform in WITHOUT_BF else prelude
                yield Verdict(platform, VERDICTS[letter], declared + body, statement.strip())


def kernels() -> Iterator[Verdict]:
    """The whole texts."""
    for line in _lines("kernels.txt")[1:]:
        platform, letter, text = line.split(" ", 2)
        whole = _unescaped(text)
        for word, part in PARTS.items():
            whole = whole.replace(word, part)
        yield Verdict(platform, VERDICTS[letter], whole, text)


def asked(genx_ir: str, text: str, platform: str) -> str:
    """What the front end does with a text now."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x.visaasm").write_text(text, encoding="utf-8", newline="")
        command = [genx_ir, "x.visaasm", "-platform", platform]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=600)
    return {0: "accepts", 1: "rejects", 2: "rejects"}.get(done.returncode, "crashes")
