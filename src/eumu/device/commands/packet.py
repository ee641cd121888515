"""What all commands share: the header dword, the length field, inline data behind the fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from eumu.device.state.fields import State, StateError
from eumu.records import dataclass

BIAS = 2  # dwords that the length field leaves out


class CommandError(StateError):
    """A batch that the command streamer would not accept; the message names command and place."""


class Command(State):
    """A command; its class has `CODE`, the header without fields, and `LENGTH`, the width in bits
    of the length field, 0 for a command of one dword.

    `MASK` says which bits of the header tell commands apart.
    """

    __slots__ = ()

    CODE = 0
    LENGTH = 0

    @classmethod
    def mask(cls) -> int:
        """Bits of the header that identify a command: type and opcodes."""
        return 0xFF800000 if cls.CODE >> 29 == 0 else 0xFFFF0000

    @classmethod
    def has_inline(cls) -> bool:
        """Whether data may follow the fields."""
        return False

    @classmethod
    @cache
    def reserved(cls) -> int:
        """Bits that neither a field nor the header has."""
        used = cls.mask() | (1 << cls.LENGTH) - 1
        for row in cls.rows():
            used |= (1 << row.bits.size) - 1 << 32 * row.bits.dword + row.bits.low
        return ~used & (1 << 32 * cls.DWORDS) - 1


class Inline(Command):
    """A command that may have data behind its fields."""

    __slots__ = ()

    @classmethod
    def has_inline(cls) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Packet:
    """A command with its inline data (whole dwords)."""

    command: Command
    inline: bytes = b""

    @property
    def size(self) -> int:
        """Bytes."""
        return self.command.size() + len(self.inline)

    def encode(self) -> bytes:
        kind = type(self.command)
        if len(self.inline) % 4:
            raise CommandError(
                f"{kind.TITLE}: {len(self.inline)} bytes of inline data, no whole dwords", "Inline"
            )
        if self.inline and not kind.has_inline():
            raise CommandError(f"{kind.TITLE} has no inline data", "Inline")
        data = bytearray(self.command.encode())
        length = self.size // 4 - BIAS if kind.LENGTH else 0
        if length >> kind.LENGTH:
            raise CommandError(f"{kind.TITLE} is too long: {self.size} bytes", "DWord Length")
        header = int.from_bytes(data[:4], "little") | kind.CODE | length
        data[:4] = header.to_bytes(4, "little")
        return bytes(data) + self.inline

    def lines(self) -> Iterator[str]:
        """Fields that are not zero, for people, then the inline data."""
        for row in self.command.rows():
            value = getattr(self.command, row.name)
            if value:
                yield f"{row.bits.place:<34} {row.title}: {_words(value, row.bits.address)}"
        for at in range(0, len(self.inline), 16):
            words = self.inline[at : at + 16]
            dwords = (words[k : k + 4] for k in range(0, len(words), 4))
            shown = " ".join(f"{int.from_bytes(d, 'little'):08x}" for d in dwords)
            yield f"{'inline':<34} {shown}"


def _words(value: object, is_address: bool) -> str:
    if isinstance(value, bool):
        return "yes"
    name = getattr(value, "name", None)
    if name is not None:
        return f"{int(value)} ({name})"  # type: ignore[call-overload]
    return f"{value:#x}" if is_address else str(value)
