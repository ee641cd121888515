"""Random legal commands, and a small memory for the streamer."""

from __future__ import annotations

import random
from enum import IntEnum
from typing import Any

from eumu.device.commands import COMMANDS, Command, CommandError, Packet


def random_value(rng: random.Random, kind: Any, bits: Any) -> Any:
    if kind is bool:
        return rng.random() < 0.5
    if issubclass(kind, IntEnum):
        return rng.choice(list(kind))
    raw = rng.getrandbits(bits.size)
    if bits.signed:
        raw -= raw >> bits.size - 1 << bits.size
    return raw << bits.low if bits.address else raw


def random_packet(rng: random.Random, kind: type[Command]) -> Packet:
    values = {row.name: random_value(rng, row.type, row.bits) for row in kind.rows()}
    least = 4 if kind.TITLE == "MI_MATH" else 0
    inline = rng.randbytes(least + 4 * rng.randrange(4)) if kind.has_inline() else b""
    return Packet(kind(**values), inline)


def random_batch(rng: random.Random, count: int) -> list[Packet]:
    return [random_packet(rng, rng.choice(list(COMMANDS.values()))) for _ in range(count)]


class FakeBus:
    """`size` bytes from address `base` on."""

    def __init__(self, base: int = 0x10000, size: int = 0x10000) -> None:
        self.base, self.bytes = base, bytearray(size)

    def _place(self, address: int, size: int, what: str) -> int:
        if not self.base <= address <= self.base + len(self.bytes) - size:
            raise CommandError(f"{what}: {size} bytes at {address:#x}", "address")
        return address - self.base

    def read(self, address: int, size: int, what: str) -> bytes:
        at = self._place(address, size, what)
        return bytes(self.bytes[at : at + size])

    def write(self, address: int, data: bytes, what: str) -> None:
        at = self._place(address, len(data), what)
        self.bytes[at : at + len(data)] = data

    def dword(self, address: int) -> int:
        return int.from_bytes(self.read(address, 4, "test"), "little")
