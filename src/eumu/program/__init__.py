"""A decoded program: plain frozen data, the same for every file format."""

from eumu.program.compare import difference
from eumu.program.module import (
    Attribute,
    GenBinary,
    Inst,
    Item,
    Kernel,
    KernelInput,
    LabelMark,
    Module,
    ObjectForm,
    ScopeMark,
    SourceMark,
)

__all__ = [
    "Attribute",
    "GenBinary",
    "Inst",
    "Item",
    "Kernel",
    "KernelInput",
    "LabelMark",
    "Module",
    "ObjectForm",
    "ScopeMark",
    "SourceMark",
    "difference",
]
