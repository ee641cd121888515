"""What the shim and the engine process say to each other; `shim.c` has the same layouts.

The shim greets with two files, the device's memory and a page of counters, and gets the facts of
the part that is played.  From then on messages go one way, each behind its length; what has been
done is written to the counters.  The program is not trusted: what does not fit is `ProtocolError`,
and ends the engine process.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from eumu.beside.door import ProtocolError
from eumu.beside.peer import close_files, received
from eumu.drm.parts import Gpu
from eumu.records import dataclass

VERSION: Final = 3
CONTEXTS: Final = 1024
CONTROL_BYTES: Final = 64 + 32 * CONTEXTS
ADDRESS_END: Final = 1 << 47
_PAGE: Final = 4096
_MAGIC: Final = b"eumu-drm"
_HELLO: Final = struct.Struct("<8sII")
_FACTS: Final = struct.Struct("<8IQ")
_HEAD: Final = struct.Struct("<II")
_CONTEXT: Final = struct.Struct("<II")
_SUBMIT: Final = struct.Struct("<IIQQ")
_OBJECT: Final = struct.Struct("<IIQQQ")
_BUILT: Final = struct.Struct("<Q")
_MOST_BYTES: Final = 64 << 20
_MOST_KEPT: Final = 256 << 10  # of a message whose objects are kept for the next one
_SUBMITTED, _CREATED, _DESTROYED, _BUILT_PROGRAM = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Piece:
    """`size` bytes of the memory's file from `offset` on."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Submitted:
    """An object of a submission: `size` bytes at a GPU address, made of pieces in order.

    `wanted` are the bytes that the program asked for, 0 where nobody knows.
    """

    handle: int
    address: int
    size: int
    pieces: tuple[Piece, ...]
    wanted: int = 0

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(frozen=True, slots=True)
class Submission:
    """A batch at a GPU address; `sequence` counts those of its context from 1 on."""

    context: int
    sequence: int
    batch: int
    objects: tuple[Submitted, ...]


@dataclass(frozen=True, slots=True)
class ContextCreated:
    context: int


@dataclass(frozen=True, slots=True)
class ContextDestroyed:
    context: int


@dataclass(frozen=True, slots=True)
class Built:
    """A program that was built: its source, empty where there is none, and what it became."""

    source: bytes
    binary: bytes


Message = Submission | ContextCreated | ContextDestroyed | Built


def greeting(peer: socket.socket) -> tuple[list[int], bool]:
    """Receive the shim's greeting: the descriptors of memory and counters, and whether the driver
    chooses addresses of its own, from low ones on."""
    data, fds = received(peer, _HELLO.size, 2)
    magic, version, is_low = _HELLO.unpack(data)
    if magic != _MAGIC or version != VERSION:
        close_files(fds)
        raise ProtocolError(
            f"the preloaded library speaks version {version}, this process {VERSION}"
        )
    return fds, bool(is_low)


def welcome(gpu: Gpu, memory_bytes: int) -> bytes:
    """The answer to a greeting."""
    units = 1, gpu.subslices, gpu.eus
    return _FACTS.pack(
        VERSION, gpu.chip, gpu.revision, *units, gpu.hertz, gpu.pooled_eus, memory_bytes
    )


def messages(peer: socket.socket, memory_end: int) -> Iterator[Message]:
    """What the shim sends, until it closes; `memory_end` is the size of the memory's file."""
    while head := _receive(peer, _HEAD.size):
        size, kind = _HEAD.unpack(head)
        if not _HEAD.size < size <= _MOST_BYTES:
            raise ProtocolError(f"a message of {size} bytes")
        body = _receive(peer, size - _HEAD.size)
        if body is None:
            return
        yield _decode(kind, body, memory_end)


def _receive(peer: socket.socket, size: int) -> bytes | None:
    """So many bytes; None if the other side is gone."""
    parts = bytearray()
    while len(parts) < size:
        try:
            data = peer.recv(size - len(parts))
        except ConnectionResetError:  # it comes once, then the end
            continue
        if not data:
            return None
        parts += data
    return bytes(parts)


def _decode(kind: int, body: bytes, memory_end: int) -> Message:
    try:
        if kind == _SUBMITTED:
            return _submission(body, memory_end)
        if kind == _BUILT_PROGRAM:
            return _built(body)
        context, _ = _CONTEXT.unpack(body)
    except struct.error as error:
        raise ProtocolError(f"message {kind} has {len(body)} bytes: {error}") from None
    _check_context(context)
    if kind == _CREATED:
        return ContextCreated(context)
    if kind == _DESTROYED:
        return ContextDestroyed(context)
    raise ProtocolError(f"no message has number {kind}")


def _built(body: bytes) -> Built:
    (size,) = _BUILT.unpack_from(body)
    if size > len(body) - _BUILT.size:
        raise ProtocolError(f"a source of {size} bytes is longer than its message")
    end = _BUILT.size + size
    return Built(body[_BUILT.size : end], body[end:])


def _check_context(context: int) -> None:
    if not 0 <= context < CONTEXTS:
        raise ProtocolError(f"context {context}; there are {CONTEXTS}")


def _submission(body: bytes, memory_end: int) -> Submission:
    context, count, sequence, batch = _SUBMIT.unpack_from(body)
    _check_context(context)
    make = _kept_objects if len(body) <= _MOST_KEPT else _objects
    return Submission(context, sequence, batch, make(body[_SUBMIT.size :], count, memory_end))


def _objects(body: bytes, count: int, memory_end: int) -> tuple[Submitted, ...]:
    """The objects of a submission."""
    at, objects = 0, []
    for _ in range(count):
        handle, pieces, address, size, wanted = _OBJECT.unpack_from(body, at)
        at += _OBJECT.size
        if pieces > (len(body) - at) // 16:
            raise ProtocolError(f"object {handle} has {pieces} pieces, more than its message")
        flat = struct.unpack_from(f"<{2 * pieces}Q", body, at)
        at += 16 * pieces
        made = Submitted(handle, address, size, tuple(map(Piece, flat[::2], flat[1::2])), wanted)
        _check_object(made, memory_end)
        objects.append(made)
    if at != len(body):
        raise ProtocolError(f"{len(body) - at} bytes behind the last object")
    return tuple(objects)


_kept_objects: Final = lru_cache(maxsize=64)(_objects)  # a loop submits the same again and again


def _check_object(made: Submitted, memory_end: int) -> None:
    """Whole pages of the file at whole pages of the address space, as many as the object has."""
    numbers = [made.address, made.size, *(n for p in made.pieces for n in (p.offset, p.size))]
    ends = (p.offset + p.size for p in made.pieces)
    if (
        any(n % _PAGE for n in numbers)
        or not _PAGE <= made.address < made.end <= ADDRESS_END
        or sum(p.size for p in made.pieces) != made.size
        or any(end > memory_end for end in ends)
        or not all(p.size for p in made.pieces)
        or made.wanted > made.size
    ):
        raise ProtocolError(
            f"object {made.handle}: {made.size} bytes at {made.address:#x} in {made.pieces[:4]}"
        )
