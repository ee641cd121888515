"""The native code of a kernel, and behind it that of the functions it may call by their address."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from eumu import native, zebin
from eumu.addresses import function_address
from eumu.isa.gen9.operands import BranchTarget
from eumu.native import Program
from eumu.platforms import Platform
from eumu.records import dataclass
from eumu.zebin import Relocation

_ALIGNMENT: Final = 64
_CALLERS: Final = frozenset({"jmpi", "call", "calla"})


@dataclass(frozen=True, slots=True)
class Linked:
    """Decoded code with its patches; `functions` are the bytes at which addresses lead."""

    code: Program
    relocations: tuple[Relocation, ...]
    functions: dict[int, int]


def link(program: zebin.Zebin, kernel: zebin.Kernel, target: Platform) -> Linked:
    """The code of a kernel; functions of all kernels are there if it calls addresses."""
    alone = native.decode(kernel.text, target, kernel.name)
    library = program.library
    if library is None or not _calls_addresses(alone):
        return Linked(alone, kernel.relocations, {})
    room = -(-len(kernel.text) // _ALIGNMENT) * _ALIGNMENT
    code = native.decode(kernel.text.ljust(room, b"\0") + library.text, target, kernel.name)
    moved = tuple(replace(r, offset=r.offset + room) for r in library.relocations)
    functions = {
        function_address(k): room + f.offset for k, f in enumerate(program.functions_of(""))
    }
    return Linked(code, kernel.relocations + moved, functions)


def _calls_addresses(code: Program) -> bool:
    return any(
        i.opcode.mnemonic in _CALLERS and not isinstance(i.operand("target"), BranchTarget)
        for i in code.instructions
    )
