"""The steps of loads and stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eumu.exec.interp.memory import Memory, Request
from eumu.exec.interp.site import Site
from eumu.exec.interp.values import Lanes, Run, Slots, Step, full
from eumu.exec.races import READ, WRITE
from eumu.ir import Op, Space


def surface_of(op: Op, site: Site) -> Callable[[Slots], Lanes | None]:
    """Takes the surface index, the last argument of an access of that space, from the slots."""
    if op.attrs["space"] is not Space.SURFACE:
        return lambda v: None
    s = site.slot(op.args[-1])
    return lambda v: v[s]


def load(op: Op, site: Site, memory: Memory) -> Step:
    type, count = op.attrs["type"], op.attrs["count"]
    a, m = site.slots(op.args[:2])
    surface, results = surface_of(op, site), site.slots(op.results)

    def step(v: Slots, run: Run) -> None:
        request = Request(op, run, v[a], v[m], type.size, count)
        out = _loaded(request, memory, surface(v), type.dtype)
        for k, r in enumerate(results):
            v[r] = request.spread(out[:, k])

    return step


def _loaded(request: Request, memory: Memory, surface: Lanes | None, dtype: np.dtype[Any]) -> Lanes:
    """The elements of every active lane, [lanes, elements]."""
    out = np.zeros((len(request.address), request.count), dtype)
    if request:
        for access in memory.resolve(request, surface):
            memory.note(request, access, READ)
            if isinstance(access.lanes, slice):
                return access.load(dtype)
            out[access.lanes] = access.load(dtype)
    return out


def store(op: Op, site: Site, memory: Memory) -> Step:
    count = op.attrs["count"]
    a, m, *data = site.slots(op.args[: 2 + count])
    surface, size = surface_of(op, site), op.args[2].type.size

    def step(v: Slots, run: Run) -> None:
        request = Request(op, run, v[a], v[m], size, count)
        if request:
            columns = [request.values(v[x]) for x in data]
            lanes = columns[0][:, None] if count == 1 else np.stack(columns, axis=1)
            for access in memory.resolve(request, surface(v)):
                memory.note(request, access, WRITE, lanes[access.lanes])
                access.store(lanes[access.lanes])

    return step


def load_block(op: Op, site: Site, memory: Memory) -> Step:
    type, count = op.result.type, op.result.width
    a, m = site.slots(op.args[:2])
    surface, r = surface_of(op, site), site.slot(op.result)

    def step(v: Slots, run: Run) -> None:
        request = Request(op, run, v[a], v[m], type.size, count)
        out = np.zeros((run.count, count), type.dtype)
        out[request.row] = _loaded(request, memory, surface(v), type.dtype)
        v[r] = out

    return step


def store_block(op: Op, site: Site, memory: Memory) -> Step:
    type, count = op.args[2].type, op.args[2].width
    a, m, x = site.slots(op.args[:3])
    surface = surface_of(op, site)

    def step(v: Slots, run: Run) -> None:
        request = Request(op, run, v[a], v[m], type.size, count)
        if request:
            blocks = full(v[x], run, count)[request.row]
            for access in memory.resolve(request, surface(v)):
                memory.note(request, access, WRITE, blocks[access.lanes])
                access.store(blocks[access.lanes])

    return step


MAKERS = {"load": load, "store": store, "load_block": load_block, "store_block": store_block}
