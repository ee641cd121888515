"""No file and no package imports what imports it, and the packages of a room have an order.

An import that is there for types only counts, and so does one inside a function: whoever reads a
file has to know what it names.  What imports must not form is a circle of such knowledge, whether
Python could load it or not.  Where two files need each other's classes, one says by a `Protocol`
what it asks for, or the class moves to where both may know it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from layers.imports import circles, folded, graph
from layers.test_rooms import SOURCE

BENCH = SOURCE.parents[1] / "bench"

# Rooms with packages inside: top to bottom, what is on one line does not know each other.
INSIDE: dict[str, tuple[tuple[str, ...], ...]] = {
    "ir": (
        ("fidelity",),
        ("function",),
        ("operations",),
        ("builder", "text"),
        ("passes", "verify"),
    ),
    "exec": (
        ("attempt", "forks", "race_rows"),
        (
            "checks",
            "fidelity",
            "forms",
            "grid",
            "guarded",
            "joined",
            "snapshot",
            "telling",
            "unread",
        ),
        ("state",),
        ("observe",),
        ("host",),
        ("blame",),
        ("findings", "race_order"),
        ("races",),
        ("gate", "race_instrumentation", "words"),
        ("barrier_sides", "named"),
        ("gateway",),
        ("interp",),
        ("jit",),
        ("tiered",),
    ),
    "device": (
        ("allocator", "chip", "events", "lanes", "state"),
        ("memory", "dispatch", "surfaces"),
        ("context", "profile", "commands", "sampler", "vme"),
        ("compiled", "decoded"),
        ("functions",),
    ),
    "exec.jit": (
        ("llvm",),
        ("interface",),
        ("analysis",),
        ("codegen",),
        ("driver",),
        ("host",),
    ),
}


def test_no_circles() -> None:
    assert circles(graph(SOURCE, "eumu")) == []


def test_no_circles_in_the_benchmark() -> None:
    assert circles(graph(BENCH)) == []


@pytest.mark.parametrize("room", ["", *sorted(p.name for p in SOURCE.iterdir() if p.is_dir())])
def test_no_circles_of_packages(room: str) -> None:
    """A package's files taken together."""
    assert circles(folded(graph(SOURCE, "eumu"), room)) == []


@pytest.mark.parametrize("room", INSIDE)
def test_order_inside(room: str) -> None:
    rank = {name: k for k, storey in enumerate(INSIDE[room]) for name in storey}
    inside = folded(graph(SOURCE, "eumu"), room)
    assert sorted(rank) == sorted(inside), f"INSIDE[{room!r}] is to name what is in the room"
    for name, targets in inside.items():
        wrong = sorted(t for t in targets if rank[t] >= rank[name])
        assert not wrong, f"{room}/{name} imports {room}/{', '.join(wrong)}, which is not above it"


def test_the_check_can_fail(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    from b import g\n")
    (tmp_path / "b.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import c\n"
    )
    (tmp_path / "c.py").write_text("import a\n")
    (tmp_path / "d.py").write_text("from a import f\n")
    assert circles(graph(tmp_path)) == [["a", "b", "c"]]
    assert folded({"room.x.y": {"room.z"}, "room.z": set()}, "room") == {"x": {"z"}, "z": set()}
