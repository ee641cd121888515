"""Intel's vISA front end, which reads a text and prints what it read."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

_IDENTIFIER = re.compile(r"\s*///.*")
_LABEL_NUMBER = re.compile(r"_\d+\b")


def rejected(genx_ir: str, source: str, platform: str) -> str:
    """The complaint about a text, empty if there is none; the verifier runs."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x.visaasm").write_text(source, encoding="utf-8")
        command = [genx_ir, "x.visaasm", "-platform", platform]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        if done.returncode == 0:
            return ""
        output = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        return " ".join(output[1:4]) or f"status {done.returncode}"


def reading(genx_ir: str, source: str, platform: str) -> list[str]:
    """The statements that the front end read, as it prints them; empty if it refuses.

    Without comments, and without the number that it appends to every label.  The tool writes
    `<input>.visaasm` into its folder, so that must not be where the input is.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x.visaasm").write_text(source, encoding="utf-8")
        output = Path(folder, "output")
        output.mkdir()
        command = [genx_ir, "../x.visaasm", "-platform", platform]
        command += ["-noverifyCISA", "-dumpcommonisa"]
        subprocess.run(command, cwd=output, capture_output=True, check=False)
        printed = [file.read_text() for file in output.glob("*.visaasm")]
    found = []
    for line in "\n".join(printed).splitlines():
        statement = _LABEL_NUMBER.sub("", _IDENTIFIER.sub("", line)).strip()
        if statement and not statement.startswith("//"):
            found.append(statement)
    return found
