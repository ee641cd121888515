"""The state of running threads and how a launch fills it: one layout for both engines.

A thread has its roots, one waiting block per lane and frame, and its scratch space; a thread group
has shared local memory.  `ThreadState` holds them for a batch of whole groups, thread-major.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Span
from eumu.exec.grid import Grid
from eumu.ir import Function, Root, RootKind
from eumu.ir.operations.memory import WRITTEN_SPACES, Access
from eumu.records import dataclass

Lanes = NDArray[Any]
Mask = NDArray[np.bool_]

# Waiting blocks that are no block: the lane is not in this frame; the thread is at a barrier.
DONE = np.iinfo(np.int32).max
BLOCKED = DONE - 1


def row_bytes(root: Root) -> int:
    """Bytes that a root takes per thread; whole quadwords, so that every lane type lines up."""
    return root.size if root.kind is RootKind.FLAG else -(-root.size // 8) * 8


@dataclass(slots=True)
class ThreadState:
    """State of `groups` thread groups of `threads_per_group` threads of `width` lanes.

    `roots` are uint8[threads, row_bytes], flags bool[threads, bits]; `pc` is the waiting block of
    each lane in the thread's top frame, int32[threads, width], `depth` the number of frames below
    it, and `frames[d]` the waiting blocks in frame d of the threads that have it below the top.
    `used` counts the instructions that each thread has run.
    """

    groups: int
    threads_per_group: int
    width: int
    roots: dict[str, Lanes]
    pc: NDArray[np.int32]
    depth: NDArray[np.int32]
    used: NDArray[np.int64]
    frames: list[NDArray[np.int32]]
    slm: NDArray[np.uint8]
    scratch: NDArray[np.uint8]
    slm_written: NDArray[np.uint8]  # of nothing unless the function follows what is written
    scratch_written: NDArray[np.uint8]

    @property
    def threads(self) -> int:
        return self.groups * self.threads_per_group

    @classmethod
    def allocate(cls, grid: Grid, groups: int) -> ThreadState:
        """Room for `groups` groups; the contents are set by `start`."""
        per_group, width = grid.threads_per_group, grid.function.width
        threads, shadows = groups * per_group, int(follows_memory(grid.function))
        roots: dict[str, Lanes] = {
            name: np.zeros((threads, row_bytes(root)), bool if _is_flag(root) else np.uint8)
            for name, root in grid.function.roots.items()
        }
        return cls(
            groups,
            per_group,
            width,
            roots,
            np.full((threads, width), DONE, np.int32),
            np.zeros(threads, np.int32),
            np.zeros(threads, np.int64),
            [],
            np.zeros((groups, _line(grid.slm_bytes)), np.uint8),
            np.zeros((threads, _line(grid.scratch_bytes)), np.uint8),
            np.zeros((groups, _line(grid.slm_bytes) * shadows), np.uint8),
            np.zeros((threads, _line(grid.scratch_bytes) * shadows), np.uint8),
        )

    def alive(self, rows: slice | NDArray[np.intp]) -> Mask:
        """Lanes that have not ended, bool[threads, width]."""
        outermost = self.pc[rows]
        if self.frames:
            called = self.depth[rows, None] > 0
            outermost = np.where(called, self.frames[0][rows], outermost)
        return np.asarray(outermost != DONE)

    def start(self, grid: Grid, first_group: int, groups: int) -> None:
        """Put groups first_group … first_group+groups-1 at their first block."""
        count = groups * self.threads_per_group
        memory = (self.slm, self.scratch, self.slm_written, self.scratch_written)
        for array in (*self.roots.values(), *memory, self.depth, self.used):
            array[...] = 0
        self.pc[...] = DONE
        lanes = np.tile(existing_lanes(grid), (groups, 1))
        self.pc[:count][lanes] = 0
        payload = thread_payloads(grid, first_group, groups)
        for item in grid.function.inputs:
            source = payload[:, item.payload_offset : item.payload_offset + item.size]
            target = self.roots[item.root.name][:count]
            target[:, item.offset : item.offset + source.shape[1]] = source


def bytes_per_thread(grid: Grid) -> int:
    """What one thread and its share of the group cost in memory."""
    roots = sum(row_bytes(root) for root in grid.function.roots.values())
    share = grid.slm_bytes // max(1, grid.threads_per_group)
    memory = (grid.scratch_bytes + share) * (1 + follows_memory(grid.function))
    return roots + memory + 16 * grid.function.width


def follows_memory(function: Function) -> bool:
    """Whether a function keeps account of what is written in shared local memory and scratch."""
    spaces = set(WRITTEN_SPACES.values())
    return any(
        isinstance(op, Access) and op.space in spaces
        for block in function.blocks
        for op in block.ops
    )


def existing_lanes(grid: Grid) -> Mask:
    """Lanes that have a work item, bool[threads_per_group, width]."""
    if grid.masks is not None:
        lanes = range(grid.function.width)
        return np.array([[bool(mask >> k & 1) for k in lanes] for mask in grid.masks])
    items = np.arange(grid.threads_per_group * grid.function.width)
    return (items < prod(grid.local_size)).reshape(grid.threads_per_group, -1)


def thread_payloads(grid: Grid, first_group: int, groups: int) -> NDArray[np.uint8]:
    """The payload of every thread of the groups, uint8[threads, payload.size]."""
    payload, per_group = grid.payload, grid.threads_per_group
    if payload.rows is not None:
        own = payload.rows[first_group * per_group : (first_group + groups) * per_group]
        return np.array([np.frombuffer(row, np.uint8) for row in own])
    rows = np.zeros((groups, per_group, payload.size), np.uint8)
    start = payload.cross_thread_offset
    rows[:, :, start : start + len(payload.cross_thread)] = list(payload.cross_thread)
    header = np.zeros((groups, len(payload.r0)), np.uint32)
    header[:] = payload.r0
    index = np.arange(first_group, first_group + groups)
    header[:, 1], header[:, 6], header[:, 7] = _group_ids(grid, index)
    rows[:, :, : 4 * len(payload.r0)] = header.view(np.uint8)[:, None, :]
    if payload.numbers_threads:
        rows[:, :, 8] = np.arange(per_group) & 0xFF
    if payload.local_id_offset is not None and payload.pieces is not None:
        pieces = np.frombuffer(b"".join(payload.pieces), np.uint8).reshape(per_group, -1)
        rows[:, :, payload.local_id_offset : payload.local_id_offset + pieces.shape[1]] = pieces
    elif payload.local_id_offset is not None:
        start, pitch = payload.local_id_offset, payload.local_id_pitch
        for dimension, ids in enumerate(local_ids(grid)):
            place = start + dimension * pitch
            rows[:, :, place : place + ids.shape[1] * 2] = ids.view(np.uint8)
    return rows.reshape(groups * per_group, payload.size)


def _group_ids(grid: Grid, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """x, y and z of groups by their index in the launch."""
    nx, ny, _ = grid.group_count
    x, y, z = grid.first_group
    return x + index % nx, y + index // nx % ny, z + index // (nx * ny)


def local_ids(grid: Grid) -> tuple[NDArray[np.uint16], ...]:
    """x, y and z of every lane's work item, uint16[threads_per_group, width]; 0 if it has none.

    As many of them as the payload has rows.
    """
    lx, ly, _ = grid.local_size
    exists = existing_lanes(grid)
    item = np.arange(exists.size).reshape(exists.shape)
    parts = (item % lx, item // lx % ly, item // (lx * ly))
    rows = grid.payload.local_id_rows
    return tuple(np.where(exists, part, 0).astype(np.uint16) for part in parts[:rows])


def _line(size: int) -> int:
    """A size rounded up to whole cache lines, so that elements of every piece line up."""
    return -(-size // 64) * 64


def _is_flag(root: Root) -> bool:
    return root.kind is RootKind.FLAG


def instruction_text(function: Function, inst: int) -> str:
    """How instruction `inst` reads in the program, for reports."""
    return function.texts[inst] if 0 <= inst < len(function.texts) else f"instruction {inst}"


def instruction_span(function: Function, inst: int) -> Span | None:
    """Where instruction `inst` stands in the program."""
    return function.spans[inst] if 0 <= inst < len(function.spans) else None
