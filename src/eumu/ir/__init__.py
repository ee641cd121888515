"""The intermediate representation that both engines run; they know nothing else of a program.

A :class:`Function` is a list of blocks in *program order*.  Values are lane vectors, live inside
one block, and are written once; whatever outlives a block lives in a *root* (a register variable,
a flag variable, an architecture register).  The execution mask is not a root: control flow is
one waiting block per lane, and **the lowest waiting block of a thread runs next**, with the lanes
that wait there.  See :mod:`eumu.ir.operations` for every operation.
"""

from eumu.ir.builder import Builder
from eumu.ir.function import (
    Block,
    Function,
    Input,
    Op,
    Region,
    Root,
    RootKind,
    Terminator,
    Value,
)
from eumu.ir.operations.arithmetic import Rounding
from eumu.ir.operations.memory import Space

__all__ = [
    "Block",
    "Builder",
    "Function",
    "Input",
    "Op",
    "Region",
    "Root",
    "RootKind",
    "Rounding",
    "Space",
    "Terminator",
    "Value",
]
