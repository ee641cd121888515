"""Payloads of threads that each have bytes of their own.

Those are the threads of the media pipeline.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from eumu.device.commands import MediaJob, MediaThread, WalkerJob
from eumu.device.commands.jobs import GRF
from eumu.exec.grid import TABLE_DWORDS, Payload


def payload_of_rows(rows: Sequence[bytes]) -> Payload:
    """Each thread of a grid with bytes of its own."""
    return Payload((0,) * 8, None, 0, len(rows[0]), b"", rows=tuple(rows))


def header_bytes(words: Sequence[int], job: WalkerJob | MediaJob) -> bytes:
    """r0, with what it has for every thread: tables, and where scratch space is."""
    full = list(words)
    for dword, place in zip(TABLE_DWORDS, tables_of(job), strict=True):
        full[dword] |= place
    return struct.pack("<8I", *full)


def tables_of(job: WalkerJob | MediaJob) -> tuple[int, int]:
    """Where the tables of samplers and of surfaces are, as the header says it."""
    descriptor = job.descriptor
    return descriptor.sampler_state_pointer & ~31, descriptor.binding_table_pointer & ~31


def media_row(thread: MediaThread, job: MediaJob) -> bytes:
    """The payload of a media thread."""
    return header_bytes(_media_header(thread), job) + thread.data + bytes(-len(thread.data) % GRF)


def _media_header(thread: MediaThread) -> list[int]:
    """The header's words of a media thread: its coordinates, and its group if it has one."""
    words = [0] * 8
    words[1] = thread.x | thread.y << 16
    words[2] = thread.color << 16
    if thread.group is not None:
        words[6] = thread.group
    return words
