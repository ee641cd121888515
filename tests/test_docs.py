"""Examples in the documentation run: ```python blocks, and ```console blocks of `$ eumu ...`.

In console output a line `...` stands for any lines, and `...` within a line for any text.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)


def blocks(kind: str) -> list[tuple[Path, int, str]]:
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in _BLOCK.finditer(text):
            if match.group(1) == kind and "@opcode" not in match.group(2):
                found.append((page, text.count("\n", 0, match.start()) + 2, match.group(2)))
    return found


# Pages whose examples need a package that is optional.
NEEDS = {"campaign.md": "distributed"}


def label(value: object) -> str | None:
    return value.name if isinstance(value, Path) else str(value) if isinstance(value, int) else ""


@pytest.mark.parametrize(("page", "line", "code"), blocks("python"), ids=label)
def test_python(page: Path, line: int, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if needed := NEEDS.get(page.name):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    monkeypatch.chdir(ROOT)
    exec(compile("\n" * (line - 1) + code, str(page), "exec"), {"__name__": "docs"})


def pattern(expected: str) -> re.Pattern[str]:
    lines = []
    for line in expected.splitlines():
        lines.append(r"(?:.*\n)*?" if line == "..." else _inline(line) + r"\n")
    return re.compile("".join(lines) + r"\s*")


def _inline(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("..."))


@pytest.mark.parametrize(("page", "line", "session"), blocks("console"), ids=label)
def test_console(page: Path, line: int, session: str) -> None:
    for command, expected in re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", session):
        words = shlex.split(command)
        assert words[0] == "eumu", "documentation shows eumu's own commands"
        done = subprocess.run(
            [sys.executable, "-m", "eumu", *words[1:]],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=600,
        )
        output = done.stdout + done.stderr
        assert pattern(expected).fullmatch(output), f"{page.name}:{line}: got\n{output}"


_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    words = (
        re.sub(r"[^\w\- ]", "", h.lower())
        for h in _HEADING.findall(page.read_text(encoding="utf-8"))
    )
    return {w.strip().replace(" ", "-") for w in words}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=label)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


def test_the_page_of_the_package_has_no_links_into_the_repository() -> None:
    """It is read where there is none."""
    links = _LINK.findall((ROOT / "docs" / "package.md").read_text())
    assert [link for link in links if not link.startswith("https://")] == []
