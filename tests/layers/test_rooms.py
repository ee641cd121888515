"""The house: a room imports only from rooms above it in this list, and from itself."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import eumu

SOURCE = Path(eumu.__file__).parent

# Top to bottom; a line is one storey, rooms on one storey do not know each other.
STOREYS: tuple[tuple[str, ...], ...] = (
    ("records",),
    ("findings",),
    ("errors",),
    ("types", "addresses", "settings", "writing", "garbage", "processes"),
    ("cache_folder",),
    ("cc",),
    ("platforms",),
    ("messages",),
    ("ir",),
    ("isa.limits",),
    ("isa.kinds",),
    ("isa.spec",),
    ("isa.mathlib",),
    ("isa.messages",),
    ("isa.visa", "isa.gen9"),
    ("program", "manual"),
    ("text", "binary", "native"),
    ("verify",),
    ("zebin",),
    ("lower", "lower_native", "checking"),
    ("exec",),
    ("device",),
    ("runtime",),
    ("reports", "lsp", "highlight", "compare", "pytesting"),
    ("fuzz",),
    ("campaign",),
    ("beside",),
    ("drm", "cl"),
    ("cli",),
)
RANK = {room: rank for rank, storey in enumerate(STOREYS) for room in storey}
# Beyond the order: engines know no opcode, the device no instruction.
FRONT_ENDS = {
    "isa.limits",
    "isa.spec",
    "isa.kinds",
    "isa.visa",
    "isa.gen9",
    "isa.mathlib",
    "isa.messages",
    "program",
    "text",
    "binary",
}
BLIND = {"exec": FRONT_ENDS | {"zebin", "lower"}, "device": FRONT_ENDS | {"zebin", "lower"}}


def room_of(module: str) -> str:
    """`isa.visa.arith` lives in `isa.visa`, `exec.jit.emit` in `exec`."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "isa" and len(parts) > 1 else parts[0]


def imports(path: Path) -> set[str]:
    """Rooms that a file imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("eumu"):
            base = (node.module or "").removeprefix("eumu").lstrip(".")
            if base in ("", "isa"):
                found |= {room_of(f"{base}.{a.name}".strip(".")) for a in node.names}
            else:
                found.add(room_of(base))
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.startswith("eumu.")]
            found |= {room_of(name.removeprefix("eumu.")) for name in names}
    return found


FILES = sorted(p for p in SOURCE.rglob("*.py") if p.parent != SOURCE or p.stem != "__init__")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_only_from_above(path: Path) -> None:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    here = room_of(".".join(p for p in parts if p != "__init__"))
    if here in ("__main__", "isa"):
        return
    assert here in RANK, f"room '{here}' has no storey"
    for room in imports(path):
        assert room == here or RANK[room] < RANK[here], f"{here} imports {room}"
        assert room not in BLIND.get(here, ()), f"{here} must not know {room}"


def test_the_check_can_fail() -> None:
    assert RANK["ir"] < RANK["exec"] and room_of("exec.jit.emit") == "exec"


def test_no_long_files() -> None:
    """400 lines are the aim; a file of 500 is to be split by what its parts mean."""
    lengths = {str(p.relative_to(SOURCE)): len(p.read_text().splitlines()) for p in FILES}
    assert {name: n for name, n in lengths.items() if n > 500} == {}


def test_the_table_of_rooms() -> None:
    """CONTRIBUTING.md has the storeys in this order, a row each."""
    page = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text()
    table = page.partition("| room |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [tuple(re.findall(r"`([\w.]+)`", row.split("|")[1])) for row in table]
    assert rows == list(STOREYS), "CONTRIBUTING.md: its table of rooms is not STOREYS"


def test_pages_name_files_that_there_are() -> None:
    root = SOURCE.parents[1]
    for page in ("CONTRIBUTING.md", "docs/extending.md"):
        named = set(re.findall(r"`((?:src|tests|docs|bench)/[\w/.]+)`", (root / page).read_text()))
        samples = {n for n in named if "NAME" in n or "CODE" in n or n.startswith("tests/runs/<")}
        missing = sorted(n for n in named - samples if not (root / n).exists())
        assert not missing, f"{page} names {', '.join(missing)}"


def test_benchmarks_are_no_folders_of_tests() -> None:
    """Both are on one path of imports, and a file goes before a folder that is no package."""
    root = SOURCE.parents[1]
    folders = {path.name for path in (root / "tests").iterdir() if path.is_dir()}
    assert not folders & {path.stem for path in (root / "bench").glob("*.py")}


# What gathers names for others: the errors that users catch, and what a broker asks of a door.
GATHERING = {"errors.py", "cl/door.py", "drm/door.py"}


def test_what_is_public_stands_in_one_place() -> None:
    """Users import from `eumu`, see docs/api.md; a package's `__init__` says what it gathers."""
    files = {
        str(p.relative_to(SOURCE))
        for p in FILES
        if p.stem != "__init__" and "\n__all__" in p.read_text()
    }
    assert files == GATHERING
