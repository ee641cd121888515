"""A program's variables in the memory of one device, and the addresses of its symbols."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from eumu.addresses import function_address
from eumu.errors import BuildError, Unsupported
from eumu.runtime.array import Array, Holder
from eumu.runtime.libraries import HOW_TO_EXPORT, Linkage
from eumu.zebin import DataSection, Symbol, SymbolKind, Zebin


class Image:
    """The data sections of a program and its libraries, allocated and relocated.

    They live as long as this does.  Sections are the program's own unless another file is asked
    for, by its number.
    """

    def __init__(self, linked: Linkage, device: Holder) -> None:
        self._linked = linked
        self._functions = {c.title: k for k, c in enumerate(linked.shared())}
        self._sections = {
            (k, s.name): _allocate(s, file, device)
            for k, file in enumerate(linked.files)
            for s in file.data
        }
        for k, file in enumerate(linked.files):
            for section in file.data:
                data = np.frombuffer(section.relocated(partial(self._needed, k)), np.uint8)
                self._sections[k, section.name].memory[: len(data)] = data

    def section(self, name: str, file: int = 0) -> Array | None:
        """The memory of a section, None if the file has none of that name."""
        return self._sections.get((file, name))

    def has(self, name: str) -> bool:
        """Whether any of the files has such a section."""
        return any(section == name for _, section in self._sections)

    def base(self, section: str, file: int = 0) -> int:
        """The address of a section, 0 if the file has none of that name."""
        address = self.section(section, file)
        return 0 if address is None else address.address

    def variables(self) -> dict[str, Array]:
        """The sections that code may write, by name; those of libraries with the file's."""
        return {
            (f"{s.name} of {file.name}" if k else s.name): self._sections[k, s.name]
            for k, file in enumerate(self._linked.files)
            for s in file.data
            if s.writable
        }

    def addresses(self, titles: Iterable[str]) -> dict[str, int]:
        """The addresses of symbols that code refers to, by the titles that it has for them."""
        return {title: self._titled(title) for title in titles}

    def _titled(self, title: str) -> int:
        symbols = self._linked.find(title)
        if symbols is None:
            raise BuildError(undefined(self._linked.files[0].name, f"the code uses {title!r}"))
        return self._address(*symbols)

    def _needed(self, file: int, symbol: Symbol) -> int:
        """The address of a symbol that the data of a file needs."""
        where = (file, symbol)
        if not symbol.is_defined:
            elsewhere = self._linked.find(self._linked.title(file, symbol.name))
            if elsewhere is None:
                name = self._linked.files[file].name
                raise BuildError(undefined(name, f"its variables use {symbol.name!r}"))
            where = elsewhere
        return self._address(*where)

    def _address(self, file: int, symbol: Symbol) -> int:
        if symbol.kind is SymbolKind.FUNCTION:
            index = self._functions.get(self._linked.title(file, symbol.name))
            if index is not None:
                return function_address(index)
        if (file, symbol.section) not in self._sections:
            what = "function" if symbol.kind is SymbolKind.FUNCTION else "symbol"
            raise Unsupported(f"the address of {what} {symbol.name!r} in {symbol.section}")
        return self.base(symbol.section, file) + symbol.value


def undefined(program: str, what: str) -> str:
    """The message that nothing defines what a program uses."""
    return (
        f"{program}: {what}, defined nowhere: a function without a body, a builtin that the"
        " compiler's library lacks, or what another file exports (load(…, libraries=[…]),"
        f" --library FILE; {HOW_TO_EXPORT})"
    )


def _allocate(section: DataSection, program: Zebin, device: Holder) -> Array:
    """Room for a section; `size` may exceed its initial bytes, the rest is zero."""
    label = f"{section.name} of {program.name}"
    access = "rw" if section.writable else "r"
    return Array.allocate(device, (section.size,), np.dtype(np.uint8), label, access=access)
