"""A program and the libraries that it is linked with: what a name of one file means.

Names mean what Level Zero's `zeModuleDynamicLink` makes of them: a file's own definition, or else
what another file exports, which is every global symbol that it defines.  Where several files have a
definition of one name, each is called by a title of its own, so that code of several files can be
one program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from eumu.errors import BuildError, LaunchError
from eumu.isa.kinds.control import StringKind
from eumu.platforms import of_product_family
from eumu.program import Inst
from eumu.program import Kernel as Code
from eumu.records import dataclass
from eumu.zebin import Function, Kernel, Symbol, Zebin

HOW_TO_EXPORT = "it exports its functions if it is built with -library-compilation"


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that a kernel may reach: its file's number, and the title it goes by."""

    file: int
    title: str
    function: Function


class Linkage:
    """The files of a program, itself first; LaunchError or BuildError if they do not go together.

    A program alone is the same with one file, and every title is the symbol's name.
    """

    def __init__(self, files: Sequence[Zebin]) -> None:
        self.files = tuple(files)
        self._check_targets()
        self._defined = [_defined(file) for file in self.files]
        self._exporters = self._exports()
        self._meanings = [self._titles(k) for k in range(len(self.files))]
        self._symbols = {
            self.title(k, symbol.name): (k, symbol)
            for k, file in enumerate(self.files)
            for symbol in _in_order(file.symbols)
        }

    def title(self, file: int, name: str) -> str:
        """What a name in a file is called among all of them."""
        return self._meanings[file].get(name, name)

    def find(self, title: str) -> tuple[int, Symbol] | None:
        """The file that defines what goes by a title, and the symbol in it."""
        return self._symbols.get(title)

    def is_defined(self, file: int, name: str) -> bool:
        """Whether a name that a file mentions means anything."""
        return name in self._defined[file] or name in self._exporters

    def shared(self) -> Iterator[Callee]:
        """The functions that several kernels may reach, in the order of their addresses."""
        for k, file in enumerate(self.files):
            for function in file.functions_of(""):
                yield Callee(k, self.title(k, function.name), function)

    def callees(self, kernel: Kernel) -> list[Callee]:
        """What a kernel of the program itself may reach: what is shared, then its own."""
        own = (f for f in self.files[0].functions if f.owner == kernel.name)
        return [*self.shared(), *(Callee(0, self.title(0, f.name), f) for f in own)]

    def titled(self, file: int, code: Code, title: str) -> Code:
        """Code of a file under its title, with the titles of all names in it."""
        named = {n: t for n, t in self._meanings[file].items() if n != t}
        if named:
            body = tuple(_renamed(i, named) if isinstance(i, Inst) else i for i in code.body)
            code = replace(code, body=body)
        return replace(code, name=title)

    def _check_targets(self) -> None:
        first, *others = self.files
        for file in others:
            if file.target.product_family != first.target.product_family:
                raise LaunchError(
                    f"{file.name} is for {_device(file)}, and {first.name} for {_device(first)};"
                    " compile both for one device"
                )

    def _exports(self) -> dict[str, list[int]]:
        """The files that export a name, as far as another file needs it."""
        needed = {s.name for file in self.files for s in file.symbols if not s.is_defined}
        exports: dict[str, list[int]] = {}
        for k, file in enumerate(self.files):
            for symbol in file.symbols:
                if symbol.is_defined and symbol.is_global and symbol.name in needed:
                    exports.setdefault(symbol.name, []).append(k)
        for name, several in exports.items():
            if len(several) > 1:
                names = " and ".join(self.files[k].name for k in several)
                raise BuildError(f"{name!r} is defined in {names}, and another file needs one")
        return exports

    def _titles(self, file: int) -> Mapping[str, str]:
        """The title of each name that a file defines or needs."""
        own = {name: self._title_of(file, name) for name in self._defined[file]}
        needed = (n for n in self._exporters if n not in own)
        return own | {name: self._title_of(self._exporters[name][0], name) for name in needed}

    def _title_of(self, file: int, name: str) -> str:
        several = sum(name in defined for defined in self._defined) > 1
        return f"{name}@{file}" if several else name


def _defined(file: Zebin) -> set[str]:
    symbols = {s.name for s in file.symbols if s.is_defined}
    return symbols | {f.name for f in file.functions}


def _in_order(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Those that are defined; the last one of a name is what `Zebin.symbol` finds."""
    defined = [s for s in reversed(symbols) if s.is_defined]
    return sorted(defined, key=lambda s: s.is_global)


def _device(file: Zebin) -> str:
    family = file.target.product_family
    target = None if family is None else of_product_family(family)
    return str(target or "an unknown device")


def _renamed(inst: Inst, titles: Mapping[str, str]) -> Inst:
    """An instruction whose names of functions and variables are titles."""
    pairs = zip(inst.opcode.fields, inst.operands, strict=True)
    operands = tuple(
        titles.get(operand, operand) if isinstance(field.kind, StringKind) else operand
        for field, operand in pairs
    )
    return inst if operands == inst.operands else replace(inst, operands=operands)
