"""Walkers that come again: what differs from the last time counts, what does not is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import native
from eumu.device.commands import Packet, encode, packets, render
from eumu.errors import EumuError
from eumu.exec.grid import Grid
from kernels.build import PROGRAMS
from runtime.test_batches import END, Driver, native_code


class Loop(Driver):
    """Launches of saxpy, whose code stays where it is."""

    def __init__(self, engine: str) -> None:
        super().__init__("apl", engine)
        self.code = self.place(native_code("saxpy", "saxpy", "apl"), "native code")
        elf = next(p for p in PROGRAMS if p.name == "saxpy").elf("apl")
        self.saxpy = eumu.load(elf)["saxpy"]
        self.grids: list[Grid] = []
        run = self.device.run
        self.device.run = lambda grid, *more: (self.grids.append(grid), run(grid, *more))[1]  # type: ignore

    def launch(self, x: Any, y: Any, a: float, group: int = 64) -> None:
        """Tables are elsewhere each time."""
        given = (x.size,), (group,), [x, y, a]
        launch = self.saxpy.submit(self.device, *given, level="native")
        self.kept.append(launch)
        changed = []
        for placed in packets(launch.bytes):
            command = placed.packet.command
            if isinstance(command, render.StateBaseAddress):
                command = replace(command, instruction_base_address=self.code)
            changed.append(Packet(command, placed.packet.inline))
        self.queue.submit(self.place(encode(changed), "a batch"))

    def arrays(self, n: int = 256) -> tuple[Any, Any]:
        x = self.device.array(np.arange(n, dtype=np.float32))
        return x, self.device.array(np.zeros(n, np.float32))


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_what_a_launch_has_of_its_own(engine: str) -> None:
    loop = Loop(engine)
    x, y = loop.arrays()
    more = loop.arrays()
    loop.device.array(np.zeros(1 << 18, np.uint8)).free()
    want = np.arange(256, dtype=np.float32)
    for a in (2.0, 3.0, 3.0):
        loop.launch(x, y, a)
    assert (y.numpy() == 8 * want).all()
    loop.launch(*more, 5.0)  # other surfaces
    assert (more[1].numpy() == 5 * want).all() and (y.numpy() == 8 * want).all()
    loop.launch(x, y, 1.0, 32)  # other groups
    assert (y.numpy() == 9 * want).all()
    states = [grid.state for grid in loop.grids]
    headers = [grid.payload.r0 for grid in loop.grids]
    assert len(set(states)) == len(states)  # what a message would take its surfaces from
    assert [s.binding_table & ~31 for s in states if s] == [r0[4] for r0 in headers]
    second, third, fourth, fifth = loop.grids[1:]
    assert second.like is loop.grids[0] is third.like
    assert fourth.like is None is fifth.like


def test_other_code_at_the_same_place() -> None:
    loop = Loop("jit")
    x, y = loop.arrays()
    loop.launch(x, y, 2.0)
    other = bytes(native.encode(native.parse(END)))
    at = loop.code - loop.device.memory.base
    loop.device.memory.arena[at : at + len(other)] = list(other)
    loop.launch(x, y, 2.0)
    assert (y.numpy() == 2 * np.arange(256)).all()  # it has ended at once


def test_other_settings_of_the_device() -> None:
    loop = Loop("interp")
    x, y = loop.arrays()
    loop.launch(x, y, 2.0)
    loop.device.strict_bounds = not loop.device.strict_bounds
    loop.launch(x, y, 2.0)
    assert loop.grids[1].like is None and loop.grids[1].surfaces != loop.grids[0].surfaces


def test_what_other_tables_are_for() -> None:
    """A grid whose code may depend on the places of its tables has no others."""
    loop = Loop("interp")
    loop.launch(*loop.arrays(), 2.0)
    payload = replace(loop.grids[0].payload, tables_vary=False)
    grid = replace(loop.grids[0], payload=payload)
    with pytest.raises(EumuError, match="other tables"):
        grid.with_data(payload.cross_thread, (0, 32), grid.state)
