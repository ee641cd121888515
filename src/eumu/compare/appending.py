"""Operations behind a finished function's own, which read its variables."""

from __future__ import annotations

from eumu.ir import Builder, Function, Root, RootKind
from eumu.ir.function import Op
from eumu.isa.kinds.variables import Variable
from eumu.program import Kernel


def variables(kernel: Kernel) -> dict[str, Variable]:
    return {d.name: d for d in kernel.declarations if isinstance(d, Variable)}


def root_of(function: Function, variable: Variable) -> Root:
    root = function.roots.get(variable.name)
    if root is None:
        root = Root(variable.name, RootKind.GRF, variable.size, 0x7000_0000)
        function.roots[variable.name] = root
    return root


class Appender(Builder):
    """A builder whose value numbers follow those of a finished function."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        ops: list[Op] = [op for b in function.blocks for op in b.ops]
        self._count = 1 + max((v.id for op in ops for v in op.results), default=0)
