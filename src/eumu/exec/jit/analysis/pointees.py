"""Which root a register-indirect access means.

Addresses are made of one root's address and an offset; which one is followed through the registers
without regard to the order of operations.  It is only what is tried first: an address that leaves
its root takes the slow path, which knows all of them.
"""

from __future__ import annotations

from eumu.ir import Function, Root
from eumu.ir.operations.state import Indirect, OnRoot, Read, RootAddress, Write, addressed


def pointees(function: Function) -> dict[int, Root]:
    """By the address value of an access, the only root that its address was made of."""
    roots: dict[str, set[str]] = {}  # what registers hold addresses of
    named = addressed(function)
    pointed: dict[int, Root] = {}
    before = -1
    while named and before != (before := sum(map(len, roots.values()))):
        for block in function.blocks:
            values: dict[int, set[str]] = {}
            for op in block.ops:
                made = set().union(*(values.get(a.id, ()) for a in op.args))
                if isinstance(op, OnRoot):
                    if isinstance(op, RootAddress):
                        made = {op.root.name}
                    elif isinstance(op, Read):
                        made = roots.get(op.root.name, set())
                    elif isinstance(op, Write) and made:
                        roots.setdefault(op.root.name, set()).update(made)
                elif isinstance(op, Indirect):
                    pointers = values.get(op.args[0].id, set())
                    if len(pointers) == 1:
                        pointed[op.args[0].id] = named[min(pointers)]
                    else:
                        pointed.pop(op.args[0].id, None)
                for value in op.results if made and op.name != "read_indirect" else ():
                    values[value.id] = set(made)
    return pointed
