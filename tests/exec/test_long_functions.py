"""Functions so long that their code is made quickly: every access is a call, and little is known.

Here the bound is lowered, so that short functions are made so, too; and masks of lanes that wait
are kept in memory, as where there are many.
"""

from __future__ import annotations

import numpy as np
import pytest

from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.analysis.affine_forms import know
from eumu.exec.jit.analysis.flow import analyse
from eumu.exec.jit.analysis.slots import BlockState, Facts, KnownValue, Slot
from eumu.exec.jit.driver import blocks, module
from eumu.exec.jit.llvm.lanes import Shape
from eumu.fuzz.canaries import Memory
from eumu.fuzz.hostile import build, difference, grids
from eumu.fuzz.machine import differences
from eumu.ir import Block, Builder, Function, Region, Root, RootKind
from eumu.ir.operations.ends import Ret
from eumu.types import BOOL, UD
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
    for says in (False, True):
        test_waiting.test_a_lane_waits_for_a_later_one(says)


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


def test_what_is_written_is_no_longer_known() -> None:
    """The payload begins with numbers that are known, which a function may write over."""
    function, root = Function("long", 16, 32), Root("r0", RootKind.GRF, 32)
    b = Builder(function)
    b.block = Block("first")
    function.blocks.append(b.block)
    number, every = b.const(UD, 5), b.const(BOOL, 1)
    b.write_root(root, Region.scalar(8), number, every)
    write = b.block.ops[-1]
    b.terminate(Ret((b.const(BOOL, 1, 16),), (0,), offset=0))
    facts = Facts(analyse(function, lambda *_: True), 16, True, {}, is_long=True)
    state = BlockState({Slot("r0", (n,), 4): Shape(1, (0,), constant=7) for n in (4, 8)})
    know(write, [KnownValue(bits=(5,)), KnownValue(bits=(1,), full=True)], state, 0, facts)
    assert state.get(Slot("r0", (8,), 4)) is None
    assert state.get(Slot("r0", (4,), 4)) is not None
