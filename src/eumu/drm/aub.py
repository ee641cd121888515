"""The driver's own captures ("AUB"): what it writes to memory, and what it submits, in one file.

Intel's driver writes one with `SetCommandStreamReceiver=1` (no GPU is needed then), or with 3
beside a GPU.  A file is a row of packets: memory in physical addresses, entries of page tables,
writes of registers.  A submission is a write of the Execlist Submit Port: a context's image in
memory says where its page tables and its ring are, and the ring which batches come.  What the GPU
made of them is not in the file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import field
from typing import BinaryIO, Final

from eumu.device.commands import packets
from eumu.device.commands.mi import MiBatchBufferStart
from eumu.drm.protocol import Piece, Submitted
from eumu.errors import FormatError, Unsupported
from eumu.records import dataclass

# Parts by the number in the first packet.
PARTS: Final = {12: "skl", 14: "apl", 16: "kbl", 17: "glk", 24: "cfl"}
_PAGE: Final = 4096
_ENTRY: Final = struct.Struct("<Q")
_FRAME: Final = 0x7F_FFFF_F000  # bits of an entry that say where a page is
_ADDRESS_BITS: Final = 39  # of physical addresses
_LEVELS: Final = 3  # tables above that of pages
_MOST_TABLES: Final = 1 << 18  # that are read while a file is; tables may lead to themselves
_MOST_PIECES: Final = 60_000  # of a context's memory; a process may have 65530 mappings
_VERSION, _REGISTER_WRITE, _REGISTER_POLL, _WRITE, _COMMENT = 0x0E, 0x03, 0x02, 0x06, 0x08
_MEMORY_TRACE: Final = 0x2E  # the kind of packet
_LEGACY: Final = 0x01
_PHYSICAL, _GLOBAL = 2, 4  # spaces of a write; those of page tables:
_TABLES: Final = frozenset({6, 8, 9, 10})
_SUBMIT_PORT: Final = 0x230  # from the base of an engine's registers on
_RENDER: Final = 0x2000
_BASES: Final = {0x12000: "video", 0x1C000: "second video", 0x1A000: "enhance", 0x22000: "copy"}
_PORT_WRITES: Final = (
    4  # of a submission: two contexts, the second one first, each high dword first
)
_VALID: Final = 1
# Of a context's image, dwords of the page behind its first.
_HEAD, _TAIL, _START, _CONTROL, _TABLE_HIGH, _TABLE_LOW = 5, 7, 9, 11, 0x31, 0x33
_IMAGE_DWORDS: Final = 0x34
_IN_RING: Final = frozenset(
    {"MI_NOOP", "MI_LOAD_REGISTER_IMM", "PIPE_CONTROL", "MI_USER_INTERRUPT", "MI_ARB_ON_OFF"}
)


def is_capture(head: bytes) -> bool:
    """Whether a file's first bytes are those of a capture."""
    return len(head) >= 4 and _kind(int.from_bytes(head[:4], "little"))[0] in (
        _MEMORY_TRACE,
        _LEGACY,
    )


def _kind(header: int) -> tuple[int, int]:
    """The kind of a packet, and which of that kind; (-1, -1) for what is none."""
    return (header >> 23 & 63, header >> 16 & 127) if header >> 29 == 7 else (-1, -1)


@dataclass(frozen=True, slots=True)
class Ready:
    """Batches that a context runs now, with the memory that its page tables show."""

    context: int
    batches: tuple[int, ...]
    objects: tuple[Submitted, ...]


@dataclass(slots=True)
class _Tables:
    """Entries of page tables, by their physical address; tables are apart from other memory."""

    name: str  # of the file
    entries: dict[int, int] = field(default_factory=dict)
    read: int = 0  # tables, so far

    def write(self, address: int, data: bytes) -> None:
        for k, (entry,) in enumerate(_ENTRY.iter_unpack(data)):
            self.entries[address + 8 * k] = entry

    def pages(self, table: int, level: int = _LEVELS, at: int = 0) -> Iterator[tuple[int, int]]:
        """Virtual and physical addresses of the pages that a table leads to, in order."""
        self.read += 1
        if self.read > _MOST_TABLES:
            raise FormatError(f"{self.name}: more than {_MOST_TABLES} page tables to read")
        for index in range(512):
            entry = self.entries.get(table + 8 * index, 0)
            if not entry & _VALID:
                continue
            place = at | index << (12 + 9 * level)
            if level:
                yield from self.pages(entry & _FRAME, level - 1, place)
            else:
                yield place, entry & _FRAME


class Capture:
    """Reads a file, writes what it has of memory to `fd`, by physical addresses, as it comes."""

    def __init__(self, file: BinaryIO, name: str, fd: int) -> None:
        self._file, self.name, self._fd = file, name, fd
        self._tables, self._global = _Tables(name), _Tables(name)
        self._port: list[int] = []
        self._heads: dict[int, int] = {}  # how far a context's ring has been read
        self._known: dict[int, tuple[Submitted, ...]] = {}  # by the table that leads to them
        self.part = self._first()

    def _first(self) -> str:
        """The part that the file is of."""
        kind, body = self._packet() or ((-1, -1), b"")
        if kind[0] == _LEGACY:
            raise Unsupported(f"{self.name}: captures of the format before memory traces")
        if kind != (_MEMORY_TRACE, _VERSION) or len(body) < 8:
            raise FormatError(f"{self.name}: this is no capture of Intel's driver")
        number = body[5]
        if number not in PARTS:
            raise Unsupported(
                f"{self.name}: a capture of device {number}; those of"
                f" {', '.join(f'{part} ({n})' for n, part in PARTS.items())} can be run"
            )
        return PARTS[number]

    def _packet(self) -> tuple[tuple[int, int], bytes] | None:
        """The next packet without its header; None at the end, and for what is cut off there."""
        header = self._file.read(4)
        if len(header) < 4:
            return None
        word = int.from_bytes(header, "little")
        size = 4 * (word & 0xFFFF)
        body = self._file.read(size)
        return (_kind(word), body) if len(body) == size else None

    def __iter__(self) -> Iterator[Ready]:
        """Submissions, in order; memory is what it was at that time."""
        while (packet := self._packet()) is not None:
            (kind, which), body = packet
            if kind != _MEMORY_TRACE:
                raise FormatError(f"{self.name}: no packet of a capture is of kind {kind}, {which}")
            try:
                if which == _WRITE:
                    self._write(body)
                elif which == _REGISTER_WRITE:
                    yield from self._register(body)
                elif which not in (_REGISTER_POLL, _COMMENT, _VERSION):
                    raise Unsupported(f"{self.name}: packet {which:#x} of a capture")
            except struct.error as error:
                raise FormatError(f"{self.name}: packet {which:#x} is too short: {error}") from None

    def _write(self, body: bytes) -> None:
        address, where, size = struct.unpack_from("<QII", body)
        data, space = body[16 : 16 + size], where >> 28
        if len(data) < size or address + size > 1 << _ADDRESS_BITS:
            raise FormatError(f"{self.name}: a write of {size} bytes at {address:#x}")
        if space == _PHYSICAL:
            os.pwrite(self._fd, data, address)
        elif space == _GLOBAL or space in _TABLES:
            if address % 8 or size % 8:
                raise FormatError(f"{self.name}: {size} bytes of page tables at {address:#x}")
            (self._global if space == _GLOBAL else self._tables).write(address, data)
            self._known.clear()
        else:
            raise Unsupported(f"{self.name}: memory of address space {space}")

    def _register(self, body: bytes) -> Iterator[Ready]:
        register, *_, value = struct.unpack_from("<5I", body)
        base = register - _SUBMIT_PORT
        if base in _BASES:
            raise Unsupported(f"{self.name}: submissions to the {_BASES[base]} engine")
        if base != _RENDER:
            return  # caches, and what the driver sets up once
        self._port.append(value)
        if len(self._port) == _PORT_WRITES:
            second_high, second, first_high, first = self._port
            self._port = []
            for context in (first_high << 32 | first, second_high << 32 | second):
                if context & _VALID:
                    yield self._ready(context & 0xFFFF_F000)

    # ---- contexts

    def _ready(self, context: int) -> Ready:
        image = struct.unpack(f"<{_IMAGE_DWORDS}I", self._read(context + _PAGE, 4 * _IMAGE_DWORDS))
        table = image[_TABLE_HIGH] << 32 | image[_TABLE_LOW]
        size, tail = (image[_CONTROL] & 0x1F_F000) + _PAGE, image[_TAIL] & 0x1F_FFF8
        head = self._heads.get(context, image[_HEAD] & 0x1F_FFFC)
        if not head < size or not tail < size:
            raise FormatError(f"{self.name}: a ring of {size} bytes from {head:#x} to {tail:#x}")
        ring = self._read(image[_START] & 0xFFFF_F000, size)
        self._heads[context] = tail
        words = ring[head:tail] if head <= tail else ring[head:] + ring[:tail]
        return Ready(context, tuple(self._batches(words)), self._objects(table))

    def _batches(self, ring: bytes) -> Iterator[int]:
        for placed in packets(ring):
            command = placed.packet.command
            if isinstance(command, MiBatchBufferStart):
                yield command.batch_buffer_start_address
            elif placed.title not in _IN_RING:
                raise Unsupported(f"{self.name}: {placed.title} in a ring")

    def _read(self, address: int, size: int) -> bytes:
        """Bytes at an address of the global table."""
        data = b""
        while len(data) < size:
            at = address + len(data)
            entry = self._global.entries.get(at // _PAGE * 8, 0)
            if not entry & _VALID:
                raise FormatError(f"{self.name}: no page is at {at:#x} of the global table")
            left = min(size - len(data), _PAGE - at % _PAGE)
            data += os.pread(self._fd, left, (entry & _FRAME) + at % _PAGE).ljust(left, b"\0")
        return data

    def _objects(self, table: int) -> tuple[Submitted, ...]:
        """What lies side by side is one object; pages side by side in memory are one piece."""
        if table not in self._known:
            runs: list[tuple[int, int, list[Piece]]] = []  # start, end, pieces
            count = 0
            for address, place in self._tables.pages(table & _FRAME):
                if runs and runs[-1][1] == address:
                    start, end, pieces = runs.pop()
                    last = pieces[-1]
                    if last.offset + last.size == place:
                        pieces[-1] = Piece(last.offset, last.size + _PAGE)
                    else:
                        pieces.append(Piece(place, _PAGE))
                        count += 1
                    runs.append((start, end + _PAGE, pieces))
                else:
                    runs.append((address, address + _PAGE, [Piece(place, _PAGE)]))
                    count += 1
                if count > _MOST_PIECES:
                    raise Unsupported(
                        f"{self.name}: memory of more than {_MOST_PIECES} pieces in a context"
                    )
            self._known[table] = tuple(
                Submitted(k, start, end - start, tuple(pieces))
                for k, (start, end, pieces) in enumerate(runs, 1)
            )
        return self._known[table]
