"""The registry: what `@opcode` makes of a function, and how to find it again.

The function's signature is the operand list in binary order; each parameter is annotated with
an operand kind (an ``Annotated`` alias, see :mod:`eumu.isa.kinds`).  The template is the text form:
``{name}`` stands for a whole operand, ``{name.part}`` for a part that is written elsewhere (the
`.sat` of a destination), everything else is literal.  A template and a signature that disagree
fail when the module is imported.

The binary form is the opcode's number, then the sub-opcode where there is one, then the operands
in the signature's order.  Where the object file has another order, `layout` names it word by word:

=============== =========================================================================
``src0``        an operand
``data.size``   a part of an operand (its kind says which there are)
``sub``         the sub-opcode; ``sub&a0``: in these bits (hexadecimal) of the byte, the others 0
``sub&a0|mask`` … the others being those of the operand `mask`
``0000``        bytes that are always these (hexadecimal)
``sfid>3.5``    an operand (or constant) that only versions above 3.5 have
``-pred``       an operand that has no place: it is absent, or the instruction cannot be written
``none``        (the only word) no document describes a binary form
=============== =========================================================================
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, TypeVar, get_args, get_origin

from eumu.errors import InternalError
from eumu.ir.fidelity import EXACT as EXACT
from eumu.ir.fidelity import Fidelity as Fidelity
from eumu.isa.kinds.kind import Kind
from eumu.isa.limits import AS_DOCUMENTED, FrontEnd, Limits, TypeRow
from eumu.isa.limits import rows as rows
from eumu.records import dataclass

Body = Callable[..., None]
Declared = TypeVar("Declared", bound=Body)


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter of an instruction."""

    name: str
    kind: Kind
    index: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the template: literal text, or a field, or a part of one."""

    literal: str = ""
    field: Field | None = None
    part: str = ""


@dataclass(frozen=True, slots=True)
class LayoutSlot:
    """A stretch of the binary form: constant bytes, a (part of a) field, or the sub-opcode.

    The sub-opcode has the bits of `sub_bits` in its byte, which a field may share.  A slot with
    `above` is there in greater versions only.
    """

    constant: bytes = b""
    sub_bits: int = 0
    field: Field | None = None
    code: str = ""
    above: tuple[int, int] | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Opcode:
    """One instruction of an instruction set.  `sub` is the sub-opcode where there is one.

    `platforms` are the documented ones, None for all; `page` is that of the registry's document.
    """

    mnemonic: str
    number: int
    sub: int | None
    template: str
    pieces: tuple[Piece, ...]
    fields: tuple[Field, ...]
    body: Body
    doc: str
    types: tuple[TypeRow, ...]
    page: str
    fidelity: Fidelity
    platforms: frozenset[str] | None
    flow: bool
    slots: tuple[LayoutSlot, ...] | None
    limits: Limits = NO_LIMITS
    front_end: FrontEnd = AS_DOCUMENTED
    implied: int = 0  # operands in front that the body does not take

    def __str__(self) -> str:
        return self.mnemonic

    def __repr__(self) -> str:
        return f"<{self.mnemonic}>"

    def build(self, builder: Any, operands: Sequence[Any]) -> None:
        """Run the body on operands that are bound."""
        self.body(builder, *operands[self.implied :])

    def field(self, name: str) -> Field | None:
        return _by_name(self).get(name)

    def literal_after_mnemonic(self) -> str:
        """The literal suffix that tells `add3.o` from `add3`."""
        seen = False
        for piece in self.pieces:
            if seen:
                return piece.literal.split(" ")[0] if piece.literal else ""
            seen = piece.literal != "" and self.mnemonic in piece.literal
            if seen and piece.literal != self.mnemonic:
                return piece.literal[len(self.mnemonic) :].split(" ")[0]
        return ""


def _is_again(old: Body, new: Body) -> bool:
    """Whether a module is imported once more, as Ctrl-C ended its first import in the middle."""
    return old.__module__ == new.__module__ and old.__globals__ is not new.__globals__


@cache
def _by_name(opcode: Opcode) -> dict[str, Field]:
    return {field.name: field for field in opcode.fields}


_PIECE = re.compile(r"\{(\w+)(?:\.(\w+))?\}|([^{}]+)")
_MNEMONIC = re.compile(r"(?:\{[\w.]+\})?\s*([A-Za-z_]\w*)")


class Registry:
    """All instructions of one instruction set; `document` says where their pages are.

    `implied` are operands that a template may name and no signature has to: they come first.
    `families` are modules that declare instructions, with their mnemonics: a module is imported
    when one of its words is looked up, and all are where that does not say which.
    """

    def __init__(
        self,
        name: str,
        document: str,
        implied: Mapping[str, Any] | None = None,
        families: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.name, self.document, self.implied = name, document, implied or {}
        self._families = families or {}
        self._homes: dict[str, list[str]] = {}  # of words whose families may not be declared
        for family, words in self._families.items():
            for word in words:
                self._homes.setdefault(word, []).append(family)
        self.unmodelled: dict[str, str] = {}  # documented mnemonics without a row, and why
        self.spellings: dict[str, str] = {}  # words of the documents for other mnemonics
        self._by_mnemonic: dict[str, list[Opcode]] = {}
        self._by_number: dict[tuple[int, int | None], Opcode] = {}

    def opcode(
        self,
        number: int,
        template: str,
        *,
        sub: int | None = None,
        types: tuple[TypeRow, ...] = (),
        page: str | None = None,
        fidelity: Fidelity = EXACT,
        platforms: Iterable[str] | None = None,
        doc: str = "",
        flow: bool = False,
        layout: str | None = None,
        limits: Limits = NO_LIMITS,
        front_end: FrontEnd = AS_DOCUMENTED,
        implied: Mapping[str, Any] | None = None,
    ) -> Callable[[Declared], Declared]:
        """Declare an instruction; see the module for what is checked.

        `page` is that of the registry's document, "" for what no public page describes.  What a
        family has in common is a `functools.partial` of this.
        """

        def register(body: Declared) -> Declared:
            if page is None:
                where = f"{inspect.getsourcefile(body)}: {body.__name__}"
                raise InternalError(f"{where} has no page= (of {self.document})")
            fields = _fields(body, template, self.implied if implied is None else implied)
            words = layout if layout is not None else " ".join(("sub", *fields))
            self._add(
                Opcode(
                    _mnemonic(template),
                    number,
                    sub,
                    template,
                    _pieces(template, fields, body.__name__),
                    tuple(fields.values()),
                    body,
                    inspect.cleandoc(doc or body.__doc__ or ""),
                    types,
                    page,
                    fidelity,
                    None if platforms is None else frozenset(platforms),
                    flow,
                    _slots(words, fields, body.__name__, has_sub=sub is not None),
                    limits,
                    front_end,
                    len(fields) + 1 - body.__code__.co_argcount,
                )
            )
            return body

        return register

    def _add(self, opcode: Opcode) -> None:
        key = (opcode.number, opcode.sub)
        home = opcode.body.__module__
        if opcode.mnemonic not in self._families.get(home, (opcode.mnemonic,)):
            raise InternalError(
                f"{home} declares {opcode.mnemonic}; add that name to the row of"
                f" {home.rpartition('.')[2]} in contents.py beside it"
            )
        old = self._by_number.get(key)
        if old is not None and not _is_again(old.body, opcode.body):
            sub = "" if opcode.sub is None else f", sub-opcode {opcode.sub:#x},"
            raise InternalError(
                f"{self.name}: number {opcode.number:#x}{sub} of {opcode.mnemonic} is that of"
                f" {old.mnemonic}; docs/extending.md says which are free"
            )
        if not opcode.doc:
            raise InternalError(f"{self.name}: {opcode} has no manual line (a docstring)")
        self._by_number[key] = opcode
        same = [o for o in self._by_mnemonic.get(opcode.mnemonic, ()) if o is not old]
        same.append(opcode)
        same.sort(key=lambda o: -len(o.literal_after_mnemonic()))
        self._by_mnemonic[opcode.mnemonic] = same

    def find(self, mnemonic: str) -> list[Opcode]:
        """Every instruction that begins with this word, the longest literal suffix first."""
        for family in self._homes.get(mnemonic, ()):
            import_module(family)
        self._homes.pop(mnemonic, None)
        return self._by_mnemonic.get(mnemonic, [])

    def _declare_all(self) -> None:
        for family in self._families if self._homes else ():
            import_module(family)
        self._homes.clear()

    def on_page(self, page: str) -> list[Opcode]:
        """The instructions of a page of the documents, whatever its letters' case."""
        return [opcode for opcode in self if opcode.page.lower() == page.lower()]

    def documented(self, word: str) -> list[Opcode]:
        """The instructions that documents write so: in capitals, or as the page is called.

        >>> [str(opcode) for opcode in VISA.documented("PLN")]
        ['plane']
        """
        opcode = self.find(self.spellings.get(word.lower(), word.lower()))
        if opcode:
            return opcode
        opcode = self.on_page(word)
        return opcode if len(opcode) == 1 else []

    def by_number(self, number: int, sub: int | None = None) -> Opcode | None:
        if (number, sub) not in self._by_number:
            self._declare_all()
        return self._by_number.get((number, sub))

    def mnemonics(self) -> list[str]:
        self._declare_all()
        return sorted(self._by_mnemonic)

    def __iter__(self) -> Iterator[Opcode]:
        self._declare_all()
        return iter(sorted(self._by_number.values(), key=lambda o: (o.number, o.sub or 0)))

    def __len__(self) -> int:
        self._declare_all()
        return len(self._by_number)


def _mnemonic(template: str) -> str:
    match = _MNEMONIC.match(template)
    if match is None:
        raise InternalError(f"template {template!r} has no mnemonic")
    return match.group(1)


def _fields(body: Body, template: str, implied: Mapping[str, Any]) -> dict[str, Field]:
    code = body.__code__
    fields: dict[str, Field] = {}
    names = code.co_varnames[1 : code.co_argcount]  # the first is the builder
    hints = {n: hint for n, hint in implied.items() if n not in names and f"{{{n}}}" in template}
    for name in (*hints, *names):
        hint = hints[name] if name in hints else _hint(body, name)
        kinds = [a for a in get_args(hint)[1:] if isinstance(a, Kind)]
        if get_origin(hint) is not Annotated or len(kinds) != 1:
            raise InternalError(f"{body.__name__}: parameter {name} has no operand kind")
        fields[name] = Field(name, kinds[0], len(fields))
    return fields


def _hint(body: Body, name: str) -> Any:
    """What a parameter's annotation names (`typing.get_type_hints` is slow at start-up)."""
    hint = body.__annotations__.get(name)
    return body.__globals__.get(hint) if isinstance(hint, str) else hint


def _pieces(template: str, fields: dict[str, Field], where: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    used: set[str] = set()
    for match in _PIECE.finditer(template):
        name, part, literal = match.groups()
        if literal is not None:
            pieces.append(Piece(literal))
            continue
        field = fields.get(name)
        if field is None:
            raise InternalError(f"{where}: template names {{{name}}}, the signature does not")
        if part and part not in field.kind.parts:
            raise InternalError(f"{where}: operand {name} has no part {part}")
        if not part and name in used:
            raise InternalError(f"{where}: template has {{{name}}} twice")
        used |= set() if part else {name}
        pieces.append(Piece(field=field, part=part or ""))
    if missing := set(fields) - used:
        raise InternalError(f"{where}: template lacks {sorted(missing)}")
    return tuple(pieces)


_SLOT = re.compile(r"(?:sub(?:&([0-9a-f]{2}))?(?:\||$))?(?:(\w+)(?:\.(\w+))?(?:>(\d+)\.(\d+))?)?")
_CONSTANT = re.compile(r"((?:[0-9a-f]{2})+)(?:>(\d+)\.(\d+))?")


def _slots(
    layout: str, fields: dict[str, Field], where: str, *, has_sub: bool
) -> tuple[LayoutSlot, ...] | None:
    if layout == "none":
        return None
    slots: list[LayoutSlot] = []
    missing = dict(fields)
    for word in layout.split():
        if (constant := _CONSTANT.fullmatch(word)) and word not in fields:
            above = (int(constant[2]), int(constant[3])) if constant[2] else None
            slots.append(LayoutSlot(bytes.fromhex(constant[1]), above=above))
        elif word.startswith("-"):
            missing.pop(word[1:], None)
        elif word != "sub" or has_sub:
            slot = _slot(word, fields, where)
            slots.append(slot)
            if slot.field is not None:
                missing.pop(slot.field.name, None)
    if missing:
        raise InternalError(f"{where}: layout lacks {sorted(missing)}")
    if has_sub != any(slot.sub_bits for slot in slots):
        raise InternalError(f"{where}: sub-opcode and layout disagree")
    return tuple(slots)


def _slot(word: str, fields: dict[str, Field], where: str) -> LayoutSlot:
    match = _SLOT.fullmatch(word)
    if match is None:
        raise InternalError(f"{where}: layout has '{word}'")
    bits, name, code, major, minor = match.groups()
    field = fields.get(name) if name else None
    if name and (field is None or (code and code not in field.kind.codes)):
        raise InternalError(f"{where}: layout names '{word}', the signature does not")
    sub_bits = int(bits or "ff", 16) if word.startswith("sub") and name != "sub" else 0
    above = (int(major), int(minor)) if major else None
    return LayoutSlot(b"", sub_bits, field, code or "", above)
