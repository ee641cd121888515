"""Functions so long that their code is made quickly: every access is a call, and little is known.

Here the bound is lowered, so that short functions are made so, too; and masks of lanes that wait
are kept in memory, as where there are many.
"""

from __future__ import annotations

import numpy as np
import pytest

from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.driver import blocks, module
from eumu.fuzz.hostile import Memory, build, difference, grids
from eumu.fuzz.machine import differences
from exec import test_abreast, test_waiting
from exec.launching import on_memory
from random_kernels.run import NEWER, bundle


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")


@pytest.fixture
def _long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONG", 0)


@pytest.fixture
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_MANY", -1)


@pytest.mark.usefixtures("_long")
@pytest.mark.parametrize("number", [0, NEWER])
def test_random_kernels(number: int) -> None:
    found = differences(bundle(number), Jit().processor.hasty())
    assert not found, found


@pytest.mark.usefixtures("_long")
@pytest.mark.parametrize("seed", [1, 15])
def test_hostile_kernels(seed: int) -> None:
    """Faults are the interpreter's to the last word, and nothing beside arrays is written."""
    interpreter, jit = Interpreter(), Jit(workers=1, processor=Jit().processor.hasty())
    memory = Memory()
    for grid in grids(seed, build(seed), memory, 50):
        assert not difference(grid, memory, interpreter, jit)
        assert memory.is_whole()


@pytest.mark.usefixtures("_in_memory")
def test_lanes_that_wait_in_memory() -> None:
    """Each lane in turn takes a lock; others wait, and give way again and again."""
    test_waiting.test_a_lock_that_each_lane_takes()
    test_waiting.test_a_lane_waits_for_a_later_one()


@pytest.mark.usefixtures("_in_memory")
def test_threads_with_lanes_that_wait_in_memory() -> None:
    """What one thread leaves in its record is nothing to the next one that gets the record."""
    test_waiting.test_a_lock_of_lanes_of_several_threads_and_groups(1)


@pytest.mark.usefixtures("_in_memory")
def test_a_version_of_some_blocks() -> None:
    """What runs behind threads side by side looks for lanes in its own blocks only."""
    test_abreast.test_random_loops(5)


@pytest.mark.usefixtures("_in_memory", "_long")
def test_both() -> None:
    for host in on_memory(test_waiting.lock_kernel(True), [np.zeros(2, np.uint32)], fuel=1 << 24):
        assert host.read(0).tolist() == [0, sum(range(1, 17))]
