"""Elements that a load brings and nobody looks at.

The compiler makes one message of loads that lie near each other, with the holes between them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from eumu.ir import Function, Op
from eumu.ir.operations.state import Partner, Read, RootAddress, Write

_PASSED_ON: Final = frozenset({"bitcast", "splat", "shuffle", "concat"})


def unread(function: Function) -> dict[int, frozenset[int]]:
    """By the identity of a load: the numbers of its elements that no code of the function reads."""
    looked = _looked_at(function)
    unused = {}
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
                    unused[id(op)] = idle
    return unused


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
        elif not isinstance(op, Write) or op.value.id != value:
            return False
        else:
            bytes_read, size = looked.get(op.root.name, set()), op.value.type.size
            if bytes_read is None or any(
                p + k in bytes_read for p in op.offsets for k in range(size)
            ):
                return False
    return True


def _looked_at(function: Function) -> dict[str, set[int] | None]:
    """The bytes of each root that are read; None where a register address may read any."""
    looked: dict[str, set[int] | None] = {}
    for block in function.blocks:
        for op in block.ops:
            if isinstance(op, RootAddress):
                looked[op.root.name] = None
            elif isinstance(op, (Read, Partner)):
                bytes_read = looked.setdefault(op.root.name, set())
                if bytes_read is not None:
                    for place in op.offsets:
                        bytes_read.update(range(place, place + op.value.type.size))
    return looked
