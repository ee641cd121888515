"""Messages of programs: what does not fit is refused, whatever the bytes are."""

from __future__ import annotations

import contextlib
import random
import socket
import struct

import pytest

from eumu.beside.door import ProtocolError
from eumu.drm import protocol
from eumu.drm.protocol import (
    Built,
    ContextCreated,
    ContextDestroyed,
    Message,
    Piece,
    Submission,
    Submitted,
    messages,
)

END = 1 << 40
PAGE = 4096


def received(*sent: bytes, end: int = END) -> list[Message]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"".join(sent))
        theirs.close()
        return list(messages(ours, end))


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", 8 + len(body), kind) + body


def submission(*objects: tuple[int, int, list[tuple[int, int]]], context: int = 1) -> bytes:
    """Objects: address, size, pieces."""
    body = struct.pack("<IIQQ", context, len(objects), 7, 0x1000)
    for handle, (address, size, pieces) in enumerate(objects, 1):
        body += struct.pack("<IIQQQ", handle, len(pieces), address, size, 0)
        body += b"".join(struct.pack("<QQ", *p) for p in pieces)
    return message(1, body)


def test_messages() -> None:
    good = submission((0x10000, 2 * PAGE, [(0, PAGE), (8 * PAGE, PAGE)]))
    assert received(message(2, bytes([1, 0, 0, 0, 0, 0, 0, 0])), good, message(3, bytes(8))) == [
        ContextCreated(1),
        Submission(
            1, 7, 0x1000, (Submitted(1, 0x10000, 8192, (Piece(0, PAGE), Piece(8 * PAGE, PAGE))),)
        ),
        ContextDestroyed(0),
    ]
    assert received(good[:-3]) == []  # the program went away in the middle


def test_programs_that_were_built() -> None:
    good = message(4, struct.pack("<Q", 3) + b"abc" + b"\x7fELF")
    assert received(good) == [Built(b"abc", b"\x7fELF")]
    with pytest.raises(ProtocolError, match="longer than its message"):
        received(message(4, struct.pack("<Q", 9) + b"abc"))


@pytest.mark.parametrize(
    "wrong",
    [
        submission((0x10001, PAGE, [(0, PAGE)])),
        submission((0, PAGE, [(0, PAGE)])),
        submission(((1 << 47) - PAGE, 2 * PAGE, [(0, 2 * PAGE)])),
        submission((0x10000, PAGE, [(0, 2 * PAGE)])),
        submission((0x10000, PAGE, [(4, PAGE)])),
        submission((0x10000, PAGE, [(END, PAGE)])),
        submission((0x10000, PAGE, [(0, PAGE), (PAGE, 0)])),
        submission((0x10000, 0, [])),
        submission((0x10000, PAGE, [(0, PAGE)]), context=1024),
        submission((0x10000, PAGE, [(0, PAGE)])) + bytes(8),
        message(1, bytes(24) + bytes(8)),
        message(1, struct.pack("<IIQQ", 1, 1 << 31, 1, 0)),
        message(1, struct.pack("<IIQQIIQQ", 1, 1, 1, 0, 1, 1 << 31, 0, 0)),
        message(5, bytes(8)),
        message(4, bytes(4)),
        message(2, bytes(4)),
        struct.pack("<II", 4, 1),
        struct.pack("<II", 1 << 31, 1),
    ],
)
def test_what_does_not_fit(wrong: bytes) -> None:
    with pytest.raises(ProtocolError):
        received(wrong)


def test_any_bytes() -> None:
    rng = random.Random(3)
    for _ in range(2000):
        sent = message(rng.randrange(5), rng.randbytes(rng.randrange(1, 80)))
        with contextlib.suppress(ProtocolError):
            received(sent)


def test_large_submissions_are_not_kept() -> None:
    """A program could make the process keep 64 messages of 64 MB, and what they became."""
    pieces = 1 << 15
    body = submission((0x10000, pieces * PAGE, [(k * PAGE, PAGE) for k in range(pieces)]))[8:]
    before = protocol._kept_objects.cache_info().currsize
    made = protocol._decode(1, body, pieces * PAGE)
    assert isinstance(made, Submission) and len(made.objects[0].pieces) == pieces
    assert protocol._kept_objects.cache_info().currsize == before
    small = submission((0x10000, PAGE, [(0, PAGE)]))[8:]
    first, second = (protocol._decode(1, small, END) for _ in range(2))
    assert isinstance(first, Submission) and isinstance(second, Submission)
    assert first.objects is second.objects
