"""Operand kinds of native code: each is one class with the operand's bits and text.

Signatures are annotated with the names below.
"""

from typing import Annotated

from eumu.ir import Value
from eumu.isa.gen9.bits import ACCESS_MODE, SRC0, SRC1
from eumu.isa.gen9.kinds.base import InstructionSite, Line, NativeKind
from eumu.isa.gen9.kinds.control import (
    ConditionKind,
    EarlyOutKind,
    ExecKind,
    OptionsKind,
    TernaryExecKind,
    braces,
)
from eumu.isa.gen9.kinds.destination import DestinationKind
from eumu.isa.gen9.kinds.macro import (
    MacroDestinationKind,
    MacroSourceKind,
    TernaryMacroSourceKind,
)
from eumu.isa.gen9.kinds.source import ElementsKind, LaneMaskKind, SourceKind
from eumu.isa.gen9.kinds.ternary import TernaryDestinationKind, TernarySourceKind
from eumu.isa.gen9.operands import Condition, Execution, InstructionOptions, MacroDestination
from eumu.isa.kinds import WritePlace

Exec = Annotated[Execution, ExecKind()]
Cond = Annotated[Condition | None, ConditionKind()]
Dst = Annotated[WritePlace, DestinationKind()]
OnlySrc = Annotated[Value, SourceKind(SRC0, last=True, only=True)]
WideOnlySrc = Annotated[Value, SourceKind(SRC0, last=True, only=True, wide=True)]
Src0 = Annotated[Value, SourceKind(SRC0, last=False)]
Src1 = Annotated[Value, SourceKind(SRC1, last=True)]
WideSrc0 = Annotated[Value, SourceKind(SRC0, last=False, wide=True)]
WideSrc1 = Annotated[Value, SourceKind(SRC1, last=True, wide=True)]
NeighbourSrc0 = Annotated[Value, SourceKind(SRC0, last=False, neighbours=True)]
NeighbourSrc1 = Annotated[Value, SourceKind(SRC1, last=True, neighbours=True)]
OnlyLogicSrc = Annotated[Value, SourceKind(SRC0, last=True, only=True, logic=True)]
LogicSrc0 = Annotated[Value, SourceKind(SRC0, last=False, logic=True)]
LogicSrc1 = Annotated[Value, SourceKind(SRC1, last=True, logic=True)]
Opts = Annotated[InstructionOptions, OptionsKind("AccWrEn", align16=True)]
# Where saturation, or modifiers of sources, do not exist.
PlainDst = Annotated[WritePlace, DestinationKind(saturates=False)]
PlainOnlySrc = Annotated[Value, SourceKind(SRC0, last=True, only=True, modifiers=False)]
PlainSrc0 = Annotated[Value, SourceKind(SRC0, last=False, modifiers=False)]
PlainSrc1 = Annotated[Value, SourceKind(SRC1, last=True, modifiers=False)]

TernaryExec = Annotated[Execution, TernaryExecKind()]
TernaryDst = Annotated[WritePlace, TernaryDestinationKind()]
TernarySrc0 = Annotated[Value, TernarySourceKind(0)]
TernarySrc1 = Annotated[Value, TernarySourceKind(1)]
TernarySrc2 = Annotated[Value, TernarySourceKind(2)]
TernaryMacroExec = Annotated[Execution, TernaryExecKind(macro=True)]
PlainTernaryExec = Annotated[Execution, TernaryExecKind(predicated=False)]
PlainTernaryDst = Annotated[WritePlace, TernaryDestinationKind(saturates=False)]
PlainTernarySrc0 = Annotated[Value, TernarySourceKind(0, modifiers=False)]
PlainTernarySrc1 = Annotated[Value, TernarySourceKind(1, modifiers=False)]
PlainTernarySrc2 = Annotated[Value, TernarySourceKind(2, modifiers=False)]
TernaryOpts = Annotated[InstructionOptions, OptionsKind("AccWrEn")]

MacroExec = Annotated[Execution, ExecKind(fixed=ACCESS_MODE.put(1))]
Quad = Annotated[Value, ElementsKind(SRC0, last=False, count=4)]
Planes = Annotated[Value, ElementsKind(SRC1, last=True, count=0)]
LaneMask = Annotated[Value, LaneMaskKind(SRC1, last=True, modifiers=False)]

EarlyOut = Annotated[Condition, EarlyOutKind()]
MacroDst = Annotated[MacroDestination, MacroDestinationKind(ternary=False)]
MacroSrc0 = Annotated[Value, MacroSourceKind(SRC0)]
MacroSrc1 = Annotated[Value, MacroSourceKind(SRC1)]
TernaryMacroDst = Annotated[MacroDestination, MacroDestinationKind(ternary=True)]
TernaryMacroSrc0 = Annotated[Value, TernaryMacroSourceKind(0)]
TernaryMacroSrc1 = Annotated[Value, TernaryMacroSourceKind(1)]
TernaryMacroSrc2 = Annotated[Value, TernaryMacroSourceKind(2)]

__all__ = [
    "Cond",
    "Dst",
    "EarlyOut",
    "Exec",
    "InstructionSite",
    "LaneMask",
    "Line",
    "LogicSrc0",
    "LogicSrc1",
    "MacroDst",
    "MacroExec",
    "MacroSrc0",
    "MacroSrc1",
    "NativeKind",
    "NeighbourSrc0",
    "NeighbourSrc1",
    "OnlyLogicSrc",
    "OnlySrc",
    "OptionsKind",
    "Opts",
    "PlainDst",
    "PlainOnlySrc",
    "PlainSrc0",
    "PlainSrc1",
    "PlainTernaryDst",
    "PlainTernaryExec",
    "PlainTernarySrc0",
    "PlainTernarySrc1",
    "PlainTernarySrc2",
    "Planes",
    "Quad",
    "Src0",
    "Src1",
    "TernaryDst",
    "TernaryExec",
    "TernaryExecKind",
    "TernaryMacroDst",
    "TernaryMacroExec",
    "TernaryMacroSrc0",
    "TernaryMacroSrc1",
    "TernaryMacroSrc2",
    "TernaryOpts",
    "TernarySrc0",
    "TernarySrc1",
    "TernarySrc2",
    "WideSrc0",
    "WideSrc1",
    "braces",
]
