"""The steps of loads and stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eumu.exec.interp.memory import ACCESSES, AddressSpaces, MemoryRequest
from eumu.exec.interp.site import BlockSite
from eumu.exec.interp.values import Lanes, Run, Slots, Step, full
from eumu.exec.race_rows import READ, WRITE
from eumu.ir import Space
from eumu.ir.operations.memory import Access, Load, LoadBlock, Store, StoreBlock


def surface_of(op: Access, site: BlockSite) -> Callable[[Slots], Lanes | None]:
    """Takes the surface index, the last argument of an access of that space, from the slots."""
    if op.space not in (Space.SURFACE, Space.SURFACE_UNWRITTEN):
        return lambda v: None
    s = site.slot(op.args[-1])
    return lambda v: v[s]


@ACCESSES.on(Load)
def load(memory: AddressSpaces, op: Load) -> Step:
    site = memory.site
    type, count = op.type, op.count
    a, m = site.slots(op.args[:2])
    surface, results = surface_of(op, site), site.slots(op.results)

    def step(v: Slots, run: Run) -> None:
        request = MemoryRequest(op, run, v[a], v[m], type.size, count)
        out = _loaded(request, memory, surface(v), type.dtype)
        for k, r in enumerate(results):
            v[r] = request.spread(out[:, k])

    return step


def _loaded(
    request: MemoryRequest, memory: AddressSpaces, surface: Lanes | None, dtype: np.dtype[Any]
) -> Lanes:
    """The elements of every active lane, [lanes, elements]."""
    out = np.zeros((len(request.address), request.count), dtype)
    if request:
        for access in memory.resolve(request, surface):
            memory.note(request, access, READ)
            if isinstance(access.lanes, slice):
                return access.load(dtype)
            out[access.lanes] = access.load(dtype)
    return out


@ACCESSES.on(Store)
def store(memory: AddressSpaces, op: Store) -> Step:
    site = memory.site
    count = op.count
    a, m, *data = site.slots((*op.args[:2], *op.data))
    surface, size = surface_of(op, site), op.data[0].type.size

    def step(v: Slots, run: Run) -> None:
        request = MemoryRequest(op, run, v[a], v[m], size, count)
        if request:
            columns = [request.values(v[x]) for x in data]
            lanes = columns[0][:, None] if count == 1 else np.stack(columns, axis=1)
            for access in memory.resolve(request, surface(v)):
                memory.note(request, access, WRITE, lanes[access.lanes])
                access.store(lanes[access.lanes])

    return step


@ACCESSES.on(LoadBlock)
def load_block(memory: AddressSpaces, op: LoadBlock) -> Step:
    site = memory.site
    type, count = op.result.type, op.result.width
    a, m = site.slots(op.args[:2])
    surface, r = surface_of(op, site), site.slot(op.result)

    def step(v: Slots, run: Run) -> None:
        request = MemoryRequest(op, run, v[a], v[m], type.size, count)
        out = np.zeros((run.count, count), type.dtype)
        out[request.row] = _loaded(request, memory, surface(v), type.dtype)
        v[r] = out

    return step


@ACCESSES.on(StoreBlock)
def store_block(memory: AddressSpaces, op: StoreBlock) -> Step:
    site = memory.site
    (data,) = op.data
    type, count = data.type, data.width
    a, m, x = site.slots(op.args[:3])
    surface = surface_of(op, site)

    def step(v: Slots, run: Run) -> None:
        request = MemoryRequest(op, run, v[a], v[m], type.size, count)
        if request:
            blocks = full(v[x], run, count)[request.row]
            for access in memory.resolve(request, surface(v)):
                memory.note(request, access, WRITE, blocks[access.lanes])
                access.store(blocks[access.lanes])

    return step
