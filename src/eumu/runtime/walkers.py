"""The payload of a walker's threads: what its commands give, without bytes for each thread of a
grid.

All groups have the same constants of threads.  Where these are local ids in the order x, y, z, as
for most kernels, the engines make them; where they are others (in tiles, for kernels with images),
the threads of one group are kept.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from eumu.device.commands import MediaJob, WalkerJob
from eumu.device.commands.jobs import GRF
from eumu.exec.grid import Dim3, Payload
from eumu.isa.messages.request import GENERAL_STATE_BYTES
from eumu.records import dataclass

_SCRATCH: Final = 5  # the dword of r0 that says where scratch space is


@dataclass(frozen=True, slots=True)
class GroupLanes:
    """The lanes of a group: its local size, and masks of its threads unless the last one alone has
    lanes off."""

    local_size: Dim3
    masks: tuple[int, ...] | None


def _pitch(simd: int) -> int:
    """Bytes of a row of local ids: whole registers."""
    return -(-2 * simd // GRF) * GRF


@lru_cache(maxsize=1024)
def local_size(
    pieces: tuple[bytes, ...], simd: int, masks: tuple[int, ...]
) -> tuple[int, int, int] | None:
    """The local size, if the constants of a group's threads are its ids in the order x, y, z."""
    pitch = _pitch(simd)
    if len(pieces[0]) != 3 * pitch or any(m != (1 << simd) - 1 for m in masks[:-1]):
        return None
    if masks[-1] & (masks[-1] + 1):
        return None  # not the first lanes
    items = (len(pieces) - 1) * simd + masks[-1].bit_count()
    rows = np.frombuffer(b"".join(pieces), np.uint16).reshape(len(pieces), 3, pitch // 2)
    x, y, z = (rows[:, axis, :simd].reshape(-1)[:items] for axis in range(3))
    lx, ly, lz = (int(ids.max()) + 1 for ids in (x, y, z))
    k = np.arange(items)
    is_plain = items == lx * ly * lz and not (
        (x != k % lx).any() or (y != k // lx % ly).any() or (z != k // (lx * ly)).any()
    )
    return (lx, ly, lz) if is_plain else None


def lanes_of(job: WalkerJob) -> GroupLanes:
    """What is on in each thread of a group, and the local size if the engines make its ids."""
    masks = tuple(job.lanes(t) for t in range(job.threads))
    size = local_size(job.per_thread, job.simd, masks)
    if size is not None:
        return GroupLanes(size, None)
    return GroupLanes((job.simd * job.threads, 1, 1), masks)


def payload_of(
    job: WalkerJob, lanes: GroupLanes, header: bytes, *, per_thread_first: bool
) -> Payload:
    """Header, then the constants in the order that the driver has."""
    piece = len(job.per_thread[0])
    ids, cross = GRF, GRF + piece
    if not per_thread_first:
        ids, cross = GRF + len(job.cross_thread), GRF
    return Payload(
        struct.unpack("<8I", header),
        ids if piece else None,
        _pitch(job.simd),
        cross,
        job.cross_thread,
        numbers_threads=True,
        pieces=job.per_thread if piece and lanes.masks is not None else None,
        tables_vary=True,
    )


def payload_with_general_state(payload: Payload, job: WalkerJob | MediaJob) -> Payload:
    """The same for code with 32-bit stateless addresses, see `lower_native.lower`.

    r0.5 says how far scratch space is from General State Base Address; as each thread has its own
    in the engines, that is the same place for all, and addresses there are in its own.
    """
    scratch = job.scratch[0] - job.bases.general if job.scratch[0] else 0
    size = job.scratch[1] if scratch else 0
    words = struct.pack("<QII", job.bases.general, scratch, size)
    words = words.ljust(GENERAL_STATE_BYTES, b"\0")
    if payload.rows is not None:
        rows = tuple(_with_scratch(row, scratch) + words for row in payload.rows)
        return replace(payload, cross_thread_offset=len(rows[0]), rows=rows)
    r0, ids = list(payload.r0), payload.local_id_offset
    r0[_SCRATCH] |= scratch
    if ids is not None and ids > payload.cross_thread_offset:
        ids += GENERAL_STATE_BYTES
    cross = payload.cross_thread + words
    return replace(payload, r0=tuple(r0), local_id_offset=ids, cross_thread=cross)


def _with_scratch(row: bytes, scratch: int) -> bytes:
    at = 4 * _SCRATCH
    word = struct.unpack_from("<I", row, at)[0] | scratch
    return row[:at] + struct.pack("<I", word) + row[at + 4 :]
