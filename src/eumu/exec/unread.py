"""Elements that a load brings and nobody looks at.

The compiler makes one message of loads that lie near each other, with the holes between them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from eumu.ir import Function, Op

__all__ = ["unread"]

_PASSED_ON: Final = frozenset({"bitcast", "splat", "shuffle", "concat"})


def unread(function: Function) -> dict[int, frozenset[int]]:
    """By the identity of a load: the numbers of its elements that no code of the function reads."""
    looked = _looked_at(function)
    found = {}
    for block in function.blocks:
        uses: dict[int, list[Op]] = defaultdict(list)
        for op in block.ops:
            for value in op.args:
                uses[value.id].append(op)
        ends = {value.id for value in block.end.args} if block.end else set()
        for op in block.ops:
            if op.name == "load" and len(op.results) > 1:
                idle = frozenset(
                    n
                    for n, value in enumerate(op.results)
                    if _is_idle(value.id, uses, ends, looked)
                )
                if idle:
                    found[id(op)] = idle
    return found


def _is_idle(
    value: int, uses: dict[int, list[Op]], ends: set[int], looked: dict[str, set[int] | None]
) -> bool:
    """Whether a value only comes into registers that nothing reads."""
    if value in ends:
        return False
    for op in uses[value]:
        if op.name in _PASSED_ON:
            if not _is_idle(op.result.id, uses, ends, looked):
                return False
        elif op.name != "write" or op.args[0].id != value:
            return False
        else:
            known = looked.get(op.attrs["root"].name, set())
            size, width = op.args[0].type.size, op.args[0].width
            places = op.attrs["region"].offsets(width)
            if known is None or any(p + k in known for p in places for k in range(size)):
                return False
    return True


def _looked_at(function: Function) -> dict[str, set[int] | None]:
    """The bytes of each root that are read; None where a register address may read any."""
    found: dict[str, set[int] | None] = {}
    for block in function.blocks:
        for op in block.ops:
            if op.name == "root_address":
                found[op.attrs["root"].name] = None
            elif op.name in ("read", "partner"):
                known = found.setdefault(op.attrs["root"].name, set())
                if known is not None:
                    value = op.result
                    for place in op.attrs["region"].offsets(value.width):
                        known.update(range(place, place + value.type.size))
    return found
