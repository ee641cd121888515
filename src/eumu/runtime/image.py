"""A program's variables in the memory of one device, and the addresses of its symbols."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from eumu.addresses import function_address
from eumu.errors import BuildError, Unsupported
from eumu.runtime.array import Array, Holder
from eumu.zebin import DataSection, Symbol, SymbolKind, Zebin


class Image:
    """The data sections of a program, allocated and relocated; they live as long as this does."""

    def __init__(self, program: Zebin, device: Holder) -> None:
        self._program = program
        self._sections = {s.name: _allocate(s, program, device) for s in program.data}
        for section in program.data:
            data = np.frombuffer(section.relocated(self._address), np.uint8)
            self._sections[section.name].memory[: len(data)] = data

    def section(self, name: str) -> Array | None:
        """The memory of a section, None if the program has none of that name."""
        return self._sections.get(name)

    def base(self, section: str) -> int:
        """The address of a section, 0 if the program has none of that name."""
        found = self._sections.get(section)
        return 0 if found is None else found.address

    def variables(self) -> dict[str, Array]:
        """The sections that code may write, by name."""
        return {s.name: self._sections[s.name] for s in self._program.data if s.writable}

    def addresses(self, names: Iterable[str]) -> dict[str, int]:
        """The addresses of symbols that code refers to."""
        return {name: self._address(self._find(name)) for name in names}

    def _find(self, name: str) -> Symbol:
        symbol = self._program.symbol(name)
        if symbol is None:
            raise BuildError(f"{self._program.name}: the code refers to {name!r}, no symbol is it")
        return symbol

    def _address(self, symbol: Symbol) -> int:
        if not symbol.is_defined:
            raise BuildError(
                f"{self._program.name}: {symbol.name!r} is defined nowhere: a function without a"
                " body, or a builtin that the compiler's library lacks"
            )
        names = [f.name for f in self._program.functions_of("")]
        if symbol.kind is SymbolKind.FUNCTION and symbol.name in names:
            return function_address(names.index(symbol.name))
        if symbol.section not in self._sections:
            what = "function" if symbol.kind is SymbolKind.FUNCTION else "symbol"
            raise Unsupported(f"the address of {what} {symbol.name!r} in {symbol.section}")
        return self.base(symbol.section) + symbol.value


def _allocate(section: DataSection, program: Zebin, device: Holder) -> Array:
    """Room for a section; `size` may exceed its initial bytes, the rest is zero."""
    label = f"{section.name} of {program.name}"
    access = "rw" if section.writable else "r"
    return Array.allocate(device, (section.size,), np.dtype(np.uint8), label, access=access)
