"""The compiler's ELF ("zebin"): `read` reads one; `compile` makes one with an installed ocloc."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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
    from eumu.zebin.spirv import has_subgroup_barrier, promised_alignments, sees_subgroups

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
    "sees_subgroups",
    "smaller_groups",
]

# Loaded when first used: a program that is compiled already needs no compiler, for one.
_HOMES: Final = {
    **dict.fromkeys(("is_elf", "is_spirv"), "container"),
    **dict.fromkeys(("DebugLines", "damage", "read_lines"), "lines"),
    **dict.fromkeys(("Built", "compile", "inline_assembly"), "ocloc"),
    **dict.fromkeys(
        ("DataSection", "Function", "Kernel", "Relocation", "RelocationType"), "program"
    ),
    **dict.fromkeys(("Symbol", "SymbolKind", "Target", "Zebin"), "program"),
    **dict.fromkeys(("mentions", "smaller_groups"), "program"),
    "read": "reader",
    **dict.fromkeys(("has_subgroup_barrier", "promised_alignments", "sees_subgroups"), "spirv"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
