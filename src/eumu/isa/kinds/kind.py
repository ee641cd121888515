"""What every kind of operand answers: text, bytes, checks, and what a body receives."""

from __future__ import annotations

from typing import Any, Protocol

from eumu.errors import InternalError
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor


class Names(Protocol):
    """What a kind may ask while it parses: the program's version, the declarations in scope."""

    version: tuple[int, int]

    def find(self, name: str) -> Any: ...
    def suggest(self, name: str) -> str: ...
    def size_of(self, name: str) -> int | None: ...


class Kind:
    """One class of operand: its text, its bytes, and how a body receives it.

    `parts` names what can be written apart from the operand itself; a part is a field of the
    operand record and is parsed before it.  `codes` names what stands apart in the binary form.
    `manual` says to a user what may be written, `example` is one (`{name}` is the operand's name);
    `words` are those that may stand in the dotted word that a mnemonic begins.
    """

    manual: str = ""
    example: str = ""

    parts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    optional = False  # an absent operand is None
    default: Any = None

    def forms(self, classes: str) -> list[tuple[str, str]]:
        """`manual` and `example`, for each class of operand (by letter) that the kind may be."""
        return [(self.manual, self.example)]

    def parse(self, cursor: Cursor, names: Names) -> Any:
        raise InternalError(f"{type(self).__name__} has no text")

    def print(self, operand: Any) -> str:
        raise InternalError(f"{type(self).__name__} has no text")

    def parse_part(self, part: str, cursor: Cursor) -> Any:
        raise InternalError(f"{type(self).__name__} has no part {part}")

    def print_part(self, part: str, operand: Any) -> str:
        raise InternalError(f"{type(self).__name__} has no part {part}")

    def complete(self, cursor: Cursor, operand: Any) -> None:
        """Called where an operand has got its parts: they may not fit what was written later."""

    def pack(self, operand: Any, out: Packer) -> None:
        raise InternalError(f"{type(self).__name__} has no binary form")

    def unpack(self, source: Unpacker) -> Any:
        raise InternalError(f"{type(self).__name__} has no binary form")

    def pack_code(self, code: str, operand: Any, out: Packer) -> None:
        raise InternalError(f"{type(self).__name__} has no code {code}")

    def left_out(self, code: str, operand: Any) -> bool:
        """Whether the operand is the same without this code, for versions that do not have it."""
        return False

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> Any:
        """One of `codes`; `parts` has those before it."""
        raise InternalError(f"{type(self).__name__} has no code {code}")

    def join(self, parts: dict[str, Any]) -> Any:
        """The operand that its `codes` make."""
        raise InternalError(f"{type(self).__name__} has no codes")

    def bind(self, operand: Any, builder: Any) -> Any:
        """What the body gets for this operand."""
        return operand
