"""What the driver's library and the engine process say to each other; `shim/driver.h` and
`shim/engine.c` have the same numbers.

Each request is answered before the next one comes.  A request is its length, its number and what
belongs to it; an answer its length, a status of OpenCL, and more.  The program is not trusted: what
does not fit is `ProtocolError`, and ends the engine process.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from eumu.beside.door import ProtocolError
from eumu.beside.peer import close_files, received

VERSION: Final = 5
_HEAD: Final = struct.Struct("<II")
_TAIL: Final = struct.Struct("<Ii")
HELLO: Final = struct.Struct("<IIIIQQ")
_MOST_BYTES: Final = 1 << 30
_ROOM: Final = 1 << 16


class RequestCode(IntEnum):
    HELLO = 1
    ALLOCATE = 2
    FREE = 3
    BUILD = 4
    DROP = 5
    LAUNCH = 6
    IMAGE = 7
    TEXEL = 8
    FREE_IMAGE = 9
    NOTE = 10
    WHERE = 11


class AllocationUse(IntEnum):
    """What an allocation is for."""

    BUFFER = 0
    SVM = 1
    HOST = 2
    DEVICE = 3
    SHARED = 4
    WRITE_ONLY = 5  # a buffer that kernels must not read, with a check


class Wanted(IntEnum):
    """What a build is to make."""

    PROGRAM = 0
    OBJECT = 1
    LINKED = 2
    LIBRARY = 3


class Form(IntEnum):
    """What a build is made from."""

    SOURCE = 0
    IL = 1
    BINARY = 2
    OBJECTS = 3


class Passed(IntEnum):
    """How the argument of a parameter comes with a launch's kernel."""

    VALUE = 0
    BUFFER = 1
    LOCAL = 2
    IMAGE = 3
    SAMPLER = 4


class Argument(IntEnum):
    """What stands before an argument of a launch."""

    VALUE = 0
    POINTER = 1
    LOCAL = 2
    IMAGE = 3
    SAMPLER = 4


class Mistake(IntEnum):
    """Of which kind a mistake is that the library notes."""

    FAILED = 0
    LEFT = 1
    MAPPED = 2
    CONSTANT = 3


class Status(IntEnum):
    """What OpenCL calls what became of a request."""

    SUCCESS = 0
    COMPILER_NOT_AVAILABLE = -3
    MEM_OBJECT_ALLOCATION_FAILURE = -4
    OUT_OF_RESOURCES = -5
    OUT_OF_HOST_MEMORY = -6
    IMAGE_FORMAT_NOT_SUPPORTED = -10
    BUILD_PROGRAM_FAILURE = -11
    COMPILE_PROGRAM_FAILURE = -15
    LINKER_NOT_AVAILABLE = -16
    LINK_PROGRAM_FAILURE = -17
    INVALID_VALUE = -30
    INVALID_BINARY = -42
    INVALID_BUILD_OPTIONS = -43
    INVALID_COMPILER_OPTIONS = -66
    INVALID_LINKER_OPTIONS = -67


class Fields:
    """Reads what a request has, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data
        self._at = 0

    def numbers(self, format: struct.Struct) -> tuple[int, ...]:
        """Numbers of a format; ProtocolError where the request ends before."""
        if len(self.data) - self._at < format.size:
            raise ProtocolError(f"a request of {len(self.data)} bytes ends too early")
        values = format.unpack_from(self.data, self._at)
        self._at += format.size
        return values

    def u32(self) -> int:
        return self.numbers(_U32)[0]

    def u64(self) -> int:
        return self.numbers(_U64)[0]

    def data_bytes(self) -> bytes:
        size = self.u32()
        if size > len(self.data) - self._at:
            raise ProtocolError(f"{size} bytes in a request of {len(self.data)}")
        self._at += size
        return self.data[self._at - size : self._at]

    def text(self) -> str:
        return self.data_bytes().decode("utf-8", "surrogateescape")

    def rest(self) -> bytes:
        return self.data[self._at :]

    @property
    def is_empty(self) -> bool:
        return self._at == len(self.data)


_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")


def packed(*parts: int | str | bytes) -> bytes:
    """Numbers of 32 bits, and texts and bytes behind their length.

    >>> packed(1, "ab").hex()
    '01000000020000006162'
    """
    made = []
    for part in parts:
        if isinstance(part, int):
            made.append(_U32.pack(part))
        else:
            data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
            made.append(_U32.pack(len(data)) + data)
    return b"".join(made)


def reply(peer: socket.socket, status: int, data: bytes = b"") -> None:
    """Answer a request."""
    peer.sendall(_TAIL.pack(_TAIL.size + len(data), status) + data)


def hello(peer: socket.socket) -> tuple[int, int, int]:
    """Receive the greeting: the descriptor of the memory, its address and its size."""
    data, fds = received(peer, HELLO.size, 1)
    _, kind, version, _, base, size = HELLO.unpack(data)
    if kind != RequestCode.HELLO or version != VERSION:
        close_files(fds)
        raise ProtocolError(f"the driver's library speaks version {version}, this one {VERSION}")
    return fds[0], base, size


def requests(peer: socket.socket) -> Iterator[tuple[RequestCode, bytes]]:
    """What the library asks, until it is gone."""
    while data := _received(peer, b"", _HEAD.size):
        size, number = _HEAD.unpack_from(data)
        if not _HEAD.size <= size <= _MOST_BYTES:
            raise ProtocolError(f"a request of {size} bytes")
        whole = _received(peer, data, size)
        if whole is None:
            return
        if len(whole) != size:
            raise ProtocolError("a request before the last one was answered")
        try:
            request = RequestCode(number)
        except ValueError:
            raise ProtocolError(f"no request has number {number}") from None
        yield request, whole[_HEAD.size :]


def _received(peer: socket.socket, data: bytes, size: int) -> bytes | None:
    """At least so many bytes; None if the other side is gone."""
    if len(data) >= size:
        return data
    parts = bytearray(data)
    while len(parts) < size:
        try:
            more = peer.recv(max(_ROOM, size - len(parts)))
        except ConnectionResetError:  # it comes once, then the end
            continue
        if not more:
            return None
        parts += more
    return bytes(parts)
