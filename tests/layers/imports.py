"""Which modules of a tree import which: read with `ast`, nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

Graph = dict[str, set[str]]


def _modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Dotted names below `root`; a package's name is that of its `__init__.py`."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        yield ".".join(p for p in parts if p != "__init__"), path


@cache
def graph(root: Path, package: str = "") -> Graph:
    """The modules below `root` that each of them imports, at any depth and under any condition.

    An import for types only counts: a file that names another's class cannot be read without it.
    `package` is what imports call the root; without one its files import each other by their names.
    """
    modules = dict(_modules(root))
    edges: Graph = {}
    for name, path in modules.items():
        wanted: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                base = node.module or ""
                wanted |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
                if f"{base}.{node.names[0].name}" in _named(package, modules):
                    wanted.discard(base)  # `from room import file` is about the file
            elif isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names}
        found = {_named(package, modules).get(w) for w in wanted}
        edges[name] = {m for m in found if m} - {name}
    return edges


def _named(package: str, modules: dict[str, Path]) -> dict[str, str]:
    """Modules by the names that imports have for them."""
    return {f"{package}.{m}".strip(".") if package else m: m for m in modules if m}


def circles(edges: Graph) -> list[list[str]]:
    """Groups of nodes that reach each other, sorted."""
    reach = {node: _reached(edges, node) for node in edges}
    groups = {frozenset(m for m in reach[n] if n in reach[m]) for n in edges if n in reach[n]}
    return sorted(sorted(group) for group in groups)


def _reached(edges: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(edges[start])
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += edges.get(node, ())
    return seen


def folded(edges: Graph, room: str) -> Graph:
    """A room's files and packages: what is in a package of the room counts as that package."""
    inside: Graph = {}
    depth = room.count(".") + 1
    for module, targets in edges.items():
        if not module.startswith(f"{room}."):
            continue
        here = module.split(".")[depth]
        there = {t.split(".")[depth] for t in targets if t.startswith(f"{room}.")}
        inside.setdefault(here, set()).update(there - {here})
    return inside
