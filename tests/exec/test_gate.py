"""The gate to the engines: a launch that memory does not bear out never runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eumu.errors import Fault, InternalError, LaunchError
from eumu.exec.gate import Admitted, admit, in_extents
from eumu.exec.grid import BufferSurface, Grid, StatePointers
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.snapshot import between_groups
from eumu.exec.state import thread_payloads
from eumu.ir import Input, Root, RootKind, Space
from eumu.ir.passes import fold_modes
from eumu.types import UD
from exec.launching import Host, Kernel, grid_of

ENGINES = [pytest.param(Interpreter(), id="interp"), pytest.param(Jit(workers=1), id="jit")]
WORD = (1 << 64) - 1


def made(**more: Any) -> tuple[Grid, Host]:
    """A launch that loads a dword in each lane from surface 3."""
    k = Kernel()
    k.b.load(Space.SURFACE, k.mul(k.lane(), k.number(UD, 4)), k.mask(), UD, 1, k.b.const(UD, 3))
    k.end()
    host = Host([np.arange(64, dtype=np.uint32)])
    more.setdefault("surfaces", {3: BufferSurface(host.addresses[0], 256)})
    return grid_of(fold_modes(k.function), host, **more), host


def payload(grid: Grid, **changes: Any) -> Grid:
    return replace(grid, payload=replace(grid.payload, **changes))


STATE = StatePointers(0, 0, 0)
WRONG: list[tuple[str, Any]] = [
    ("number of groups in x", lambda g: replace(g, group_count=(-4, 1, -1))),
    ("number of groups", lambda g: replace(g, group_count=(1 << 31, 1 << 31, 1 << 31))),
    ("size of a group in y", lambda g: replace(g, local_size=(16, 0, 1))),
    ("threads of a group", lambda g: replace(g, local_size=(1 << 20, 1, 1))),
    ("masks for the 1 threads", lambda g: replace(g, masks=(1, 1))),
    ("mask of a thread", lambda g: replace(g, masks=(1 << 16,))),
    ("mask of a thread", lambda g: replace(g, masks=(0,))),
    ("reads 288 bytes of payload", lambda g: payload(g, cross_thread=b"")),
    ("offset of cross-thread data", lambda g: payload(g, cross_thread_offset=-8)),
    ("size of a thread's payload", lambda g: payload(g, cross_thread_offset=1 << 30)),
    ("header of 4 dwords", lambda g: payload(g, r0=(0,) * 4)),
    ("dword of the header", lambda g: payload(g, r0=(1 << 32,) * 8)),
    ("offset of local ids", lambda g: payload(g, local_id_offset=-64)),
    ("pitch of local ids", lambda g: payload(g, local_id_pitch=2)),
    ("rows of local ids is 4", lambda g: payload(g, local_id_rows=4)),
    ("rows of local ids is -1", lambda g: payload(g, local_id_rows=-1)),
    ("2 pieces of .* for the 1 threads", lambda g: payload(g, pieces=(bytes(64), bytes(64)))),
    ("0 pieces of .* for the 1 threads", lambda g: payload(g, pieces=())),
    ("payloads of 288 bytes for 1 threads", lambda g: payload(g, rows=(b"",))),
    ("shared local memory", lambda g: replace(g, slm_bytes=-1)),
    ("scratch space", lambda g: replace(g, scratch_bytes=1 << 31)),
    ("fuel", lambda g: replace(g, fuel=1 << 70)),
    ("seed", lambda g: replace(g, seed=-5)),
    ("symbol 'x'", lambda g: replace(g, symbols={"x": 1 << 64})),
    ("index of surface -1", lambda g: replace(g, surfaces={-1: BufferSurface(0, 0)})),
    ("address of surface 3", lambda g: replace(g, surfaces={3: BufferSurface(1 << 64, 0)})),
    ("size of surface 3", lambda g: replace(g, surfaces={3: BufferSurface(0, -1)})),
    ("base address of states", lambda g: replace(g, state=replace(STATE, dynamic_state_base=-1))),
    ("binding table", lambda g: replace(g, state=replace(STATE, binding_table=1 << 40))),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("what", "change"), WRONG, ids=[what for what, _ in WRONG])
def test_a_number_that_cannot_be_is_named(what: str, change: Any, engine: Engine) -> None:
    grid, host = made()
    assert engine.run(grid, host).groups == 1
    with pytest.raises(LaunchError, match=what):
        engine.run(change(grid), host)


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_a_payload_ends_with_the_last_row_of_local_ids(rows: int) -> None:
    grid, host = made()
    words = {"cross_thread_offset": 64, "cross_thread": bytes(64), "local_id_offset": 128}
    grid = payload(grid, **words, local_id_rows=rows)
    for place in (64 + 64 * rows, 65 + 64 * rows):
        item = Input(Root("X", RootKind.GRF, 64), 0, place, 64)
        reads = replace(grid, function=replace(grid.function, inputs=[item]))
        if place % 64:
            with pytest.raises(LaunchError, match="bytes of payload"):
                admit(reads, host)
        else:
            admit(reads, host)
            assert thread_payloads(reads, 0, 1).shape == (1, 128 + 64 * rows)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("place", "size", "held"),
    [(0, 1 << 32, 256), (192, 65, 64), (-4, 64, 0), (256, 64, 0), (1 << 40, 64, 0), (-1, WORD, 0)],
)
def test_a_surface_ends_where_memory_does(
    place: int, size: int, held: int, strict: bool, engine: Engine
) -> None:
    grid, host = made()
    surface = BufferSurface(host.addresses[0] + place, size, strict)
    if held >= 64:
        engine.run(replace(grid, surfaces={3: surface}), host)
    surface = BufferSurface((host.addresses[0] + place + 4 * (held >= 64)) & WORD, size, strict)
    held = max(0, held - 4)
    if held >= 64:
        return
    with pytest.raises(Fault, match=f"in memory of surface 3: {held} of {size} bytes"):
        engine.run(replace(grid, surfaces={3: surface}), host)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_snapshot_is_of_the_grid(engine: Engine) -> None:
    grid, host = made(groups=4)
    with pytest.raises(LaunchError, match="first resident group is 100000; 0 to 4 is possible"):
        engine.run(grid, host, between_groups(100_000, 0))


def test_nobody_else_admits() -> None:
    grid, host = made()
    with pytest.raises(InternalError, match="admit"):
        Admitted(object(), grid, host, host.extents())


class Odd(Host):
    """Extents that are not sorted, or outside the arena."""

    def __init__(self, *rows: tuple[int, int]) -> None:
        super().__init__([np.zeros(64, np.uint8)])
        self.rows = rows

    def extents(self) -> Any:
        rows = np.array(self.rows, np.uint64) + np.uint64(self.base)
        return np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])


@pytest.mark.parametrize(
    "rows",
    [((0, 8), (4, 12)), ((32, 64), (0, 8)), ((8, 8),), ((0, 1 << 20),), ((WORD - 4095, 8),)],
)
def test_extents_must_lie_in_the_arena_in_order(rows: tuple[tuple[int, int], ...]) -> None:
    grid, _ = made(surfaces={})
    with pytest.raises(InternalError, match="overlap, or lie outside"):
        admit(grid, Odd(*rows))


def test_any_number_may_be_asked_for() -> None:
    extents = np.array([100], np.uint64), np.array([200], np.uint64)
    inside = [(100, 100), (199, 1), (100, 0)]
    outside = [(99, 1), (200, 0), (199, 2), (-1, 1), (1 << 64, 1), (150, WORD), (150, -1)]
    assert all(in_extents(extents, *pair) for pair in inside)
    assert not any(in_extents(extents, *pair) for pair in outside)
