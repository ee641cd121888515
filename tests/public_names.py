"""Writes docs/api.md: ``python tests/public_names.py``.

The page has what users may import, from `eumu.__all__`, with the first line of each docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import eumu

# Members that other rooms of the package ask for, and nobody else.
INSIDE = {
    "Array": {"allocate", "label", "of_allocation"},
    "Device": {"caches", "check_free", "heaps", "next_label", "run", "stops_next", "turn", "use"}
    | {"want_stop", "again", "plain", "run_again"},
    "Image": {"label", "surface"},
    "Kernel": {"resume"},
    "Parameter": {"error"},
    "Program": {"add", "image"},
}
TARGET = Path(__file__).resolve().parents[1] / "docs" / "api.md"
HEAD = """\
# The public API

This page lists all that a program may import from `eumu`, with the first line of each docstring;
`help(eumu.NAME)` shows the rest. Only the names of `eumu.__all__` and the members on this page are
public: everything else may change at any time. `python tests/public_names.py` writes the page, and
a test compares it with the package.
"""


def document() -> str:
    names = {name: getattr(eumu, name) for name in eumu.__all__}
    errors = {n: x for n, x in names.items() if isinstance(x, type) and issubclass(x, Exception)}
    functions = {n: x for n, x in names.items() if inspect.isfunction(x)}
    classes = {n: x for n, x in names.items() if n not in errors and n not in functions}
    lines = [HEAD, "## Functions", "", "| function | |", "|---|---|"]
    lines += [f"| `{name}` | {_first_line(x)} |" for name, x in functions.items()]
    for name, kind in classes.items():
        lines += ["", f"## `{name}`", "", _first_line(kind), ""]
        if is_dataclass(kind):
            shown = ", ".join(f"`{f.name}`" for f in fields(kind) if not f.name.startswith("_"))
            lines += [f"Fields: {shown}.", ""]
        rows = list(_members(kind))
        lines += ["| member | |", "|---|---|", *rows] if rows else []
    lines += ["", "## Exceptions", "", "| exception | is a | |", "|---|---|---|"]
    for name, kind in errors.items():
        bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
        lines.append(f"| `{name}` | {bases} | {_first_line(kind)} |")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def _members(kind: type) -> Iterator[str]:
    """Public methods and properties of a class, its bases' included, that say what they do."""
    for name in sorted(dir(kind)):
        member = inspect.getattr_static(kind, name)
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        owner = member.fget if isinstance(member, property) else member
        if name.startswith("_") or name in INSIDE.get(kind.__name__, ()):
            continue
        if not inspect.isfunction(owner) or not owner.__module__.startswith("eumu"):
            continue
        call = "" if isinstance(member, property) else "()"
        yield f"| `{name}{call}` | {_first_line(member)} |"


def _first_line(thing: object) -> str:
    """The first line of a docstring, with the bars of types kept out of the table's."""
    line = (inspect.getdoc(thing) or "").partition("\n")[0].replace("|", "\\|")
    return re.sub(r":\w+:`", "`", line)


if __name__ == "__main__":
    TARGET.write_text(document())
