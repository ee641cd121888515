"""Atomic operations: lanes in ascending order, each sees what the one before it left.

Lanes with different addresses do not meet and are done at once.  Lanes that share an address are
done in rounds, the k-th lane of every address in round k, or, where addresses are fewer than
rounds, address by address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.exec.interp.accesses import surface_of
from eumu.exec.interp.lanes import maximum, minimum
from eumu.exec.interp.memory import (
    ACCESSES,
    AddressSpaces,
    Bytes,
    MemoryAccess,
    MemoryRequest,
    Offsets,
    gather,
    scatter,
)
from eumu.exec.interp.values import Lanes, Run, Slots, Step
from eumu.exec.race_rows import ATOMIC_READ, ATOMIC_WRITE
from eumu.ir.operations.memory import Atomic
from eumu.records import dataclass

Change = Callable[[Lanes, list[Lanes]], Lanes]


_CHANGES: dict[str, Change] = {
    "add": lambda old, data: old + data[0],
    "sub": lambda old, data: old - data[0],
    "inc": lambda old, data: old + old.dtype.type(1),
    "dec": lambda old, data: old - old.dtype.type(1),
    "predec": lambda old, data: old - old.dtype.type(1),
    "and": lambda old, data: old & data[0],
    "or": lambda old, data: old | data[0],
    "xor": lambda old, data: old ^ data[0],
    "xchg": lambda old, data: data[0],
    "load": lambda old, data: old,
    "min": lambda old, data: minimum(old, data[0]),
    "max": lambda old, data: maximum(old, data[0]),
    "cmpxchg": lambda old, data: np.where(old == data[1], data[0], old),
}

# Operations whose results one after the other are a NumPy accumulation, which is in order.
_ACCUMULATE: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "inc": np.add,
    "dec": np.add,
    "predec": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
# Operations that leave either the old value or their first operand: whether they take the operand.
_TAKE: dict[str, Callable[..., bool]] = {
    "load": lambda old: False,
    "xchg": lambda old, x: True,
    "min": lambda old, x: not (old < x or x != x),
    "max": lambda old, x: not (old >= x or x != x),
    "cmpxchg": lambda old, x, y: old == y,
}
_STEP = {"inc": 1, "dec": -1, "predec": -1}


@ACCESSES.on(Atomic)
def atomic(memory: AddressSpaces, op: Atomic) -> Step:
    site, type, operation = memory.site, op.type, op.operation
    kind = ATOMIC_READ if operation == "load" else ATOMIC_WRITE
    a, m, *operands = site.slots((*op.args[:2], *op.data))
    surface, r = surface_of(op, site), site.slot(op.result)

    def step(v: Slots, run: Run) -> None:
        request = MemoryRequest(op, run, v[a], v[m], type.size)
        out = np.zeros(len(request.address), type.dtype)
        if request:
            data = [request.values(v[x]) for x in operands]
            for access in memory.resolve(request, surface(v)):
                memory.note(request, access, kind)
                _perform(operation, access, data, out)
        v[r] = request.spread(out)

    return step


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Lanes sorted by address (lane order within one): where each address starts, how many."""

    memory: Bytes
    offset: Offsets
    data: list[Lanes]
    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]
    dtype: np.dtype[Any]


def _perform(operation: str, access: MemoryAccess, data: list[Lanes], out: Lanes) -> None:
    """Do the operation for one access and put what it returns into `out`."""
    offset, lanes = access.offset[:, 0], np.arange(len(out))[access.lanes]
    if access.valid is not None:
        lanes, offset = lanes[access.valid[:, 0]], offset[access.valid[:, 0]]
        if not len(lanes):
            return
    if (offset & (out.dtype.itemsize - 1)).any():
        old = _one_by_one(operation, access.memory, offset, [x[lanes] for x in data], out.dtype)
        out[lanes] = _returned(operation, old)
        return
    order = np.argsort(offset, kind="stable")
    offset, lanes = offset[order], lanes[order]
    starts = np.flatnonzero(np.r_[True, offset[1:] != offset[:-1]])
    lengths = np.diff(np.r_[starts, len(offset)])
    work = _Sorted(access.memory, offset, [x[lanes] for x in data], starts, lengths, out.dtype)
    old = (_by_address if len(starts) < lengths.max() else _in_rounds)(operation, work)
    out[lanes] = _returned(operation, old)


def _returned(operation: str, old: Lanes) -> Lanes:
    return old - old.dtype.type(1) if operation == "predec" else old


def _in_rounds(operation: str, work: _Sorted) -> Lanes:
    change, old = _CHANGES[operation], np.zeros(len(work.offset), work.dtype)
    for k in range(int(work.lengths.max())):
        now = work.starts[work.lengths > k] + k
        before = gather(work.memory, work.offset[now], work.dtype)
        old[now] = before
        scatter(work.memory, work.offset[now], change(before, [x[now] for x in work.data]))
    return old


def _by_address(operation: str, work: _Sorted) -> Lanes:
    chain_of = _accumulated if operation in _ACCUMULATE else _taken
    old = np.zeros(len(work.offset), work.dtype)
    for start, length in zip(work.starts, work.lengths, strict=True):
        place, lanes = work.offset[start : start + 1], slice(start, start + length)
        before = gather(work.memory, place, work.dtype)
        chain = chain_of(operation, before, [x[lanes] for x in work.data], int(length))
        old[lanes] = chain[:-1]
        scatter(work.memory, place, chain[-1:])
    return old


def _accumulated(operation: str, before: Lanes, data: list[Lanes], count: int) -> Lanes:
    """The values of one address before each lane, and after the last."""
    steps = data[0] if data else np.full(count, _STEP[operation]).astype(before.dtype)
    chain = np.concatenate([before, steps])
    # Without its dtype NumPy would widen small integers.
    return np.asarray(_ACCUMULATE[operation].accumulate(chain, dtype=before.dtype))


def _taken(operation: str, before: Lanes, data: list[Lanes], count: int) -> Lanes:
    """The same for an operation of `_TAKE`: follows which lane's operand is there."""
    take, values = _TAKE[operation], np.concatenate([before, *data[:1]])
    listed, operands = values.tolist(), [x.tolist() for x in data]
    chosen, here = [0], 0
    for lane in range(count):
        if take(listed[here], *(x[lane] for x in operands)):
            here = lane + 1
        chosen.append(here)
    return values[chosen]


def _one_by_one(
    operation: str, memory: Bytes, offset: Offsets, data: list[Lanes], dtype: np.dtype[Any]
) -> Lanes:
    """Misaligned elements may overlap their neighbours: lane by lane."""
    change, old = _CHANGES[operation], np.zeros(len(offset), dtype)
    for k in range(len(offset)):
        at = offset[k : k + 1]
        old[k : k + 1] = before = gather(memory, at, dtype)
        scatter(memory, at, change(before, [x[k : k + 1] for x in data]))
    return old
