"""Operand kinds: each is one class with the operand's text and the value that a body receives.

Signatures are annotated with the names below.  A type checker sees the first argument of each
`Annotated`, the registry sees the second.
"""

from typing import Annotated

from eumu.ir import Value
from eumu.isa.kinds.builder import InstBuilder, Rows, WritePlace
from eumu.isa.kinds.control import (
    BranchConditionKind,
    ChoiceKind,
    ConditionKind,
    ExecKind,
    HexByteKind,
    LabelKind,
    NumberKind,
    PredicateKind,
    StringKind,
)
from eumu.isa.kinds.operands import ExecSize
from eumu.isa.kinds.raw import RawKind, SurfaceKind
from eumu.isa.kinds.variables import SurfaceVariable
from eumu.isa.kinds.vector import DestinationKind, SourceKind

Exec = Annotated[ExecSize, ExecKind()]
Pred = Annotated[Value | None, PredicateKind()]
Cond = Annotated[Value | None, ConditionKind()]
BranchCond = Annotated[Value | None, BranchConditionKind()]
Dst = Annotated[WritePlace, DestinationKind()]
Src = Annotated[Value, SourceKind()]
WideSrc = Annotated[Value, SourceKind(wide=True)]
NeighbourSrc = Annotated[Value, SourceKind(neighbours=True)]
Scalar = Annotated[Value, SourceKind(scalar=True)]
Label = Annotated[int, LabelKind()]
Name = Annotated[str, StringKind()]
RawDst = Annotated[Rows, RawKind()]
RawSrc = Annotated[Rows, RawKind()]
Surface = Annotated[SurfaceVariable, SurfaceKind()]
RelOp = Annotated[str, ChoiceKind("comparison", "eq", "ne", "gt", "ge", "lt", "le")]
Table = Annotated[int, HexByteKind()]

__all__ = [
    "BranchCond",
    "ChoiceKind",
    "Cond",
    "Dst",
    "Exec",
    "InstBuilder",
    "Label",
    "Name",
    "NeighbourSrc",
    "NumberKind",
    "Pred",
    "RawDst",
    "RawSrc",
    "RelOp",
    "Rows",
    "Scalar",
    "Src",
    "Surface",
    "Table",
    "WideSrc",
    "WritePlace",
]
