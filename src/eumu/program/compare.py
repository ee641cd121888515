"""Whether two programs are the same, whatever their variables are called and wherever they stood.

Declarations are compared by their place in the kernel, since two of them are never equal.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from eumu.isa.kinds.variables import Declared
from eumu.isa.spec import Opcode
from eumu.program.module import Inst, Kernel, Module

# Names may change where scopes are flattened or a word is reserved.
_NOT_COMPARED = {"name", "span"}


def difference(first: Module, second: Module) -> str:
    """The first difference in words, empty when the programs are the same."""
    if first.version != second.version:
        return f"versions {first.version} and {second.version}"
    if len(first.kernels) != len(second.kernels):
        return f"{len(first.kernels)} and {len(second.kernels)} kernels"
    for one, other in zip(first.kernels, second.kernels, strict=True):
        if inner := _kernel_difference(one, other):
            return f"kernel '{one.name}': {inner}"
    return ""


def _kernel_difference(first: Kernel, second: Kernel) -> str:
    if (first.name, first.is_function) != (second.name, second.is_function):
        return f"the other is '{second.name}'"
    if first.attributes != second.attributes:
        return f"attributes {first.attributes} and {second.attributes}"
    pairs = dict(zip(first.declarations, second.declarations, strict=False))
    for what in ("declarations", "inputs", "body"):
        one, other = getattr(first, what), getattr(second, what)
        if len(one) != len(other):
            return f"{len(one)} and {len(other)} items in {what}"
        same = _same_declaration if what == "declarations" else _same
        for index, (x, y) in enumerate(zip(one, other, strict=True)):
            if not same(x, y, pairs):
                return f"{what}[{index}]: {_shown(x)} and {_shown(y)}"
    return ""


def _shown(item: Any) -> str:
    return f"{item.opcode} {item.operands}" if isinstance(item, Inst) else repr(item)


def _same_declaration(x: Declared, y: Declared, pairs: dict[Declared, Declared]) -> bool:
    names = [f.name for f in fields(x) if f.compare and f.name not in _NOT_COMPARED]
    return type(x) is type(y) and all(
        _same(getattr(x, name), getattr(y, name), pairs) for name in names
    )


def _same(x: Any, y: Any, pairs: dict[Declared, Declared]) -> bool:
    if isinstance(x, Declared):
        return pairs.get(x, x) is y
    if type(x) is not type(y):
        return False
    if isinstance(x, tuple):
        return len(x) == len(y) and all(_same(v, w, pairs) for v, w in zip(x, y, strict=True))
    if is_dataclass(x) and not isinstance(x, Opcode):
        return all(
            _same(getattr(x, f.name), getattr(y, f.name), pairs) for f in fields(x) if f.compare
        )
    return bool(x == y)
