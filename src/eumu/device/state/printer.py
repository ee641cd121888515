"""State objects in words: a line for each field that says something."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from eumu.device.state.fields import State


def lines(state: State, *, everything: bool = False) -> Iterator[str]:
    """The fields of an object; those that are 0 only if `everything` is wanted."""
    rows = [
        (row.title, _value(getattr(state, row.name)), row.bits.place)
        for row in state.rows()
        if everything or getattr(state, row.name) or issubclass(row.type, IntEnum)
    ]
    names = max((len(name) for name, _, _ in rows), default=0)
    values = max((len(value) for _, value, _ in rows), default=0)
    for name, value, place in rows:
        yield f"{name:<{names}}  {value:<{values}}  {place}"


def _value(value: Any) -> str:
    if isinstance(value, IntEnum):
        return f"{value.name} ({int(value)})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value < 4096 else f"{value:#x}"
