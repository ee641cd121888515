"""The compiler's ELF ("zebin"): `read` reads one; `compile` makes one with an installed ocloc."""

from __future__ import annotations

from eumu.zebin.container import is_elf, is_spirv
from eumu.zebin.lines import DebugLines, damage, read_lines
from eumu.zebin.ocloc import Built, compile, inline_assembly
from eumu.zebin.program import (
    DataSection,
    Function,
    Kernel,
    Relocation,
    RelocationType,
    Symbol,
    SymbolKind,
    Target,
    Zebin,
    mentions,
    smaller_groups,
)
from eumu.zebin.reader import read
from eumu.zebin.spirv import has_subgroup_barrier, promised_alignments

__all__ = [
    "Built",
    "DataSection",
    "DebugLines",
    "Function",
    "Kernel",
    "Relocation",
    "RelocationType",
    "Symbol",
    "SymbolKind",
    "Target",
    "Zebin",
    "compile",
    "damage",
    "has_subgroup_barrier",
    "inline_assembly",
    "is_elf",
    "is_spirv",
    "mentions",
    "promised_alignments",
    "read",
    "read_lines",
    "smaller_groups",
]
