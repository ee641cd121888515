"""Check files: a program, and what the verifier must say of each line.

The first line names devices, `// devices: skl pvc`; `// parity` asks for the rules of Intel's front
end.  `// error: part of the message` (or `warning`, `note`) stands on the line of the finding, once
for each.  Findings that are not expected fail, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from eumu.errors import Diagnostic, render
from eumu.platforms import Platform, platform
from eumu.verify import check_text

_DEVICES = re.compile(r"// devices: ([\w ]+)")
_EXPECTED = re.compile(r"// (error|warning|note): (.*?)(?= // (?:error|warning|note):|$)")


@dataclass(frozen=True)
class Expected:
    """One `// error:` comment."""

    line: int
    severity: str
    part: str

    def fits(self, found: Diagnostic) -> bool:
        line = found.span.line if found.span else 0
        same = line == self.line and found.severity.value == self.severity
        return same and self.part in found.message


@dataclass(frozen=True)
class CheckFile:
    """A check file, read."""

    path: Path
    text: str
    devices: tuple[Platform, ...]
    parity: bool
    expected: tuple[Expected, ...]


def read(path: Path) -> CheckFile:
    """Parse the comments of a check file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    head = _DEVICES.match(lines[0])
    assert head is not None, f"{path.name} does not begin with '// devices:'"
    expected = [
        Expected(number, found[1], found[2].strip())
        for number, line in enumerate(lines, 1)
        for found in _EXPECTED.finditer(line)
    ]
    devices = tuple(platform(name) for name in head[1].split())
    return CheckFile(path, text, devices, "// parity" in lines, tuple(expected))


def findings(file: CheckFile, device: Platform) -> list[Diagnostic]:
    """What the verifier says of a file."""
    return check_text(file.text, file.path.name, device, parity=file.parity)


def differences(file: CheckFile, found: list[Diagnostic]) -> list[str]:
    """Findings without a comment, and comments without a finding."""
    missing = [
        f"{file.path.name}:{e.line}: no {e.severity} with '{e.part}'"
        for e in file.expected
        if not any(e.fits(d) for d in found)
    ]
    unexpected = [render(d) for d in found if not any(e.fits(d) for e in file.expected)]
    return missing + [f"not expected:\n{text}" for text in unexpected]
