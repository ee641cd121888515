"""Batches: commands to bytes and back, and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import Final

from eumu.device.commands import drawing, gen8, gpgpu, media, mi, render
from eumu.device.commands.packet import BIAS, Command, CommandError, Packet
from eumu.device.state.fields import StateError
from eumu.records import dataclass


@cache
def _commands() -> dict[str, type[Command]]:
    commands = {}
    for module in (render, gpgpu, media, mi, drawing):
        for _, kind in sorted(vars(module).items()):
            if isinstance(kind, type) and issubclass(kind, Command) and kind.TITLE:
                commands[kind.TITLE] = kind
    return commands


COMMANDS: Final = _commands()  # by the documents' names
_MASKS: Final = (0xFFFF0000, 0xFF800000, 0xFE000000)
_BY_HEADER: Final = {(kind.mask(), kind.CODE): kind for kind in COMMANDS.values()}


@lru_cache(maxsize=1024)
def _kind(header: int) -> type[Command] | None:
    """The command that a header begins, None if there is none."""
    return next((k for m in _MASKS if (k := _BY_HEADER.get((m, header & m))) is not None), None)


def dwords_of(header: int) -> int:
    """How long the command with this header says it is; 1 for what is no command."""
    kind = _kind(header)
    return 1 if kind is None or not kind.LENGTH else (header & (1 << kind.LENGTH) - 1) + BIAS


@dataclass(frozen=True, slots=True)
class Placed:
    """A packet and the byte where it starts."""

    at: int
    packet: Packet

    @property
    def title(self) -> str:
        return type(self.packet.command).TITLE


def encode(items: Iterable[Packet | Command]) -> bytes:
    """The bytes of commands in a row."""
    return b"".join((i if isinstance(i, Packet) else Packet(i)).encode() for i in items)


def decode(data: bytes | memoryview, at: int = 0, *, is_gen8: bool = False) -> Placed:
    """The command in `data` from its first byte; `at` is what messages call that place.

    With `is_gen8` it is one of Gen8.  CommandError for unknown headers, wrong lengths, reserved
    bits and values.
    """
    if len(data) < 4:
        raise CommandError(f"the batch ends in the middle of a dword at {at:#x}", "length")
    header = int.from_bytes(data[:4], "little")
    kind = _kind(header)
    if kind is None:
        raise CommandError(f"no command has the header {header:#010x} (at {at:#x})", "header")
    if is_gen8:
        if kind in gen8.UNMODELLED:
            raise CommandError(f"{kind.TITLE} at {at:#x} is not modelled on Gen8", "header")
        kind = gen8.COMMANDS.get(kind, kind)
    dwords = dwords_of(header)
    if dwords < kind.DWORDS or (dwords > kind.DWORDS and not kind.has_inline()):
        least = "at least " if kind.has_inline() else ""
        raise CommandError(
            f"{kind.TITLE} at {at:#x} says it has {dwords} dwords; it has {least}{kind.DWORDS}",
            "DWord Length",
        )
    if len(data) < 4 * dwords:
        raise CommandError(
            f"{kind.TITLE} at {at:#x} has {dwords} dwords, {len(data) // 4} are there", "length"
        )
    body = bytes(data[: kind.size()])
    wrong = int.from_bytes(body, "little") & kind.reserved()
    if wrong:
        bit = (wrong & -wrong).bit_length() - 1
        raise CommandError(
            f"{kind.TITLE} at {at:#x}: reserved bit {bit % 32} of dword {bit // 32} is set",
            "reserved",
        )
    try:
        command = _decoded(kind.decode, body)
    except StateError as error:
        raise CommandError(f"{error} (at {at:#x})", error.field) from None
    return Placed(at, Packet(command, bytes(data[kind.size() : 4 * dwords])))


@lru_cache(maxsize=4096)
def _decoded(read: Callable[[bytes], Command], body: bytes) -> Command:
    """Drivers write the same commands again and again."""
    return read(body)


def packets(data: bytes, base: int = 0) -> Iterator[Placed]:
    """The commands of a batch in the order of its bytes, to MI_BATCH_BUFFER_END or the end."""
    at, view = 0, memoryview(data)  # the rest of it is no copy
    while at < len(data):
        placed = decode(view[at:], base + at)
        yield placed
        if isinstance(placed.packet.command, mi.MiBatchBufferEnd):
            return
        at += placed.packet.size


def words(data: bytes, base: int = 0) -> Iterator[str]:
    """A batch for people, one line a command and one a field that is not zero."""
    for placed in packets(data, base):
        yield f"{placed.at:#010x}  {placed.title}"
        yield from (f"            {line}" for line in placed.packet.lines())
