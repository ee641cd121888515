"""Masked writes that do not keep other lanes: which they are, and that nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eumu.addresses import DEVICE_BASE
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.analysis.flow import analyse
from eumu.exec.jit.analysis.lanewise import free_writes
from eumu.ir import Block, Builder, Function, Region, Root, RootKind, Rounding, Space, Value
from eumu.ir.operations.ends import Diverge, Jump, Ret
from eumu.types import BOOL, UD, UQ, Type
from exec.jit_programs import EXTENT, SIZE, SLM, Memory, Program

RNE = Rounding.RNE
LANES = Region.packed(0, 4)


@pytest.fixture(scope="module", autouse=True)
def _no_disk_cache() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_CACHE", "off")
        yield


class Temporaries(Program):
    """Registers that mostly have one value a lane, written under masks, read by their own lane."""

    def _region(self, type: Type) -> Region:
        return LANES

    def mask(self) -> Value:
        b, choice = self.b, self.random.random()
        if choice < 0.05:
            return b.const(BOOL, 1, self.width)
        execute = b.exec_mask(0, self.width)
        if choice < 0.8:
            return execute
        return b.and_(execute, b.read_flag(self.random.choice(self.flags), 0, self.width))

    def statement(self) -> None:
        b, random = self.b, self.random
        b.inst += 1
        x, y, choice = self.value(UD), self.value(UD), random.random()
        if choice < 0.4:
            name = random.choice(("add", "mul", "xor", "min", "div"))
            rounded = (RNE,) if name in ("add", "mul", "div") else ()
            x = getattr(b, name)(x, y, *rounded)
        elif choice < 0.65:
            found = b.cmp(random.choice(("lt", "ge")), x, y)
            b.write_flag(random.choice(self.flags), 0, found, self.mask())
            return
        elif choice < 0.75:
            x = b.select(b.read_flag(self.flags[0], 0, self.width), x, y)
        elif choice < 0.95:
            place = b.and_(x, b.splat(b.const(UD, SLM // 2 - 4), self.width))
            if choice < 0.85:
                b.store(Space.SLM, place, b.exec_mask(0, self.width), [y])
                return
            (x,) = b.load(Space.SLM, place, self.mask(), UD)
        else:
            x = b.shuffle(x, [random.randrange(self.width) for _ in range(self.width)])
        b.write_root(random.choice(self.roots), LANES, x, self.mask())

    def _finish(self) -> None:
        b, width = self.b, self.width
        execute = b.exec_mask(0, width)
        one, zero = (b.splat(b.const(UD, n), width) for n in (1, 0))
        data = [b.read(root, LANES, UD, width) for root in self.roots]
        data += [b.select(b.read_flag(flag, 0, width), one, zero) for flag in self.flags]
        base = b.splat(b.const(UQ, DEVICE_BASE + EXTENT + SIZE // 2), width)
        for n, x in enumerate(data):
            offset = b.add(b.iota(UQ, width, 4), b.splat(b.const(UQ, 4 * n * width), width), RNE)
            b.store(Space.FLAT, b.add(base, offset, RNE), execute, [x])
        last = len(self.function.blocks) - 1
        b.terminate(Ret((b.const(BOOL, 1, width),), (last,), offset=0))


@given(st.integers(0, 1 << 30), st.booleans())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
def test_nobody_can_tell(seed: int, tail: bool) -> None:
    grid = Temporaries(Random(seed), branches=True).grid(tail=tail)
    memories = []
    for engine in (Interpreter(), Jit(workers=1)):
        memory = Memory(seed)
        engine.run(grid, memory)
        memories.append(memory.arena)
    assert (memories[0] == memories[1]).all()


def test_the_random_programs_have_such_writes() -> None:
    functions = [Temporaries(Random(seed), branches=True).function for seed in range(50)]
    assert sum(len(free_writes(f, analyse(f, lambda block, m: False))) for f in functions) > 50


WIDTH = 16
Body = Callable[[Builder, Root, Value], None]


def writes_in_branch(after: Body) -> bool:
    """Whether v = 1 in a branch, in some lanes, may write all of v; `after` is behind the join."""
    function = Function("branch", WIDTH, 32)
    v = Root("v", RootKind.GRF, 4 * WIDTH, 0x10000)
    flag = Root("f", RootKind.FLAG, WIDTH)
    function.roots |= {"v": v, "f": flag}
    b = Builder(function)
    blocks = [Block(f"b{n}") for n in range(3)]
    function.blocks += blocks
    b.block = blocks[0]
    b.terminate(Diverge((b.read_flag(flag, 0, WIDTH),), (1, 2), offset=0))
    b.block = blocks[1]
    execute = b.exec_mask(0, WIDTH)
    b.write_root(v, LANES, b.splat(b.const(UD, 1), WIDTH), execute)
    place = b.splat(b.const(UD, 0), WIDTH)
    b.store(Space.SLM, place, execute, [b.read(v, LANES, UD, WIDTH)])
    b.terminate(Jump((), (2,)))
    b.block = blocks[2]
    after(b, v, b.exec_mask(0, WIDTH))
    b.terminate(Ret((b.const(BOOL, 1, WIDTH),), (2,), offset=0))
    place_of_write = next(n for n, op in enumerate(blocks[1].ops) if op.name == "write")
    return (1, place_of_write) in free_writes(function, analyse(function, lambda block, m: False))


def nothing(b: Builder, v: Root, execute: Value) -> None:
    pass


def overwrites(b: Builder, v: Root, execute: Value) -> None:
    b.write_root(v, LANES, b.splat(b.const(UD, 2), WIDTH), execute)
    reads(b, v, execute)


def reads(b: Builder, v: Root, execute: Value) -> None:
    place = b.splat(b.const(UD, 4), WIDTH)
    b.store(Space.SLM, place, execute, [b.read(v, LANES, UD, WIDTH)])


def overwrites_some(b: Builder, v: Root, execute: Value) -> None:
    x = b.splat(b.const(UD, 2), WIDTH)
    b.write_root(v, LANES, x, b.and_(execute, b.cmp("lt", b.iota(UD, WIDTH), x)))
    reads(b, v, execute)


def stores_every_lane(b: Builder, v: Root, execute: Value) -> None:
    reads(b, v, b.const(BOOL, 1, WIDTH))


def overwrites_and_mixes_lanes(b: Builder, v: Root, execute: Value) -> None:
    overwrites(b, v, execute)
    found = b.cmp("lt", b.read(v, LANES, UD, WIDTH), b.iota(UD, WIDTH))
    b.write_root(v, LANES, b.splat(b.mask_bits(found), WIDTH), execute)


def overwrites_and_reads_a_lane(b: Builder, v: Root, execute: Value) -> None:
    overwrites(b, v, execute)
    x = b.read(v, Region.scalar(8), UD, 1)
    b.write_root(v, LANES, b.splat(x, WIDTH), execute)


@pytest.mark.parametrize(
    ("after", "free"),
    [
        (nothing, True),
        (overwrites, True),
        (reads, False),
        (overwrites_some, False),
        (stores_every_lane, False),
        (overwrites_and_mixes_lanes, False),
        (overwrites_and_reads_a_lane, False),
    ],
)
def test_what_is_behind_the_join_decides(after: Body, free: bool) -> None:
    assert writes_in_branch(after) is free
