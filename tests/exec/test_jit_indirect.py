"""Register-indirect access on both engines: gathers, and lanes written one after the other."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eumu.errors import Fault
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.analysis.pointees import pointees
from eumu.exec.jit.host.target import Processor, host
from eumu.ir import Region, Root, RootKind, Rounding, Value
from eumu.types import BOOL, UB, UD, UQ, UW
from exec.jit_programs import Memory, Program

RNE = Rounding.RNE


@pytest.fixture(scope="module", autouse=True)
def _no_disk_cache() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_CACHE", "off")
        yield


class Tables(Program):
    """Half of the statements access a register through addresses, some of them beside it."""

    wild = False
    places: Root | None = None

    def statement(self) -> None:
        choice = self.random.random()
        if choice < 0.5:
            super().statement()
        elif choice < 0.75:
            self.b.inst += 1
            self._gather()
        else:
            self._serial()

    def _addresses(self, size: int) -> Value:
        """An element of that size, in a table of width * 8 bytes; rarely just outside."""
        b, random, width = self.b, self.random, self.width
        self.places = self.places or self._root("a", RootKind.GRF, 4 * width)
        table, reach = random.choice(self.roots[:2]), width * 8
        if self.wild and random.random() < 0.2:
            reach *= 2
        index = b.and_(self.value(UD), b.splat(b.const(UD, reach - size), width))
        start = b.splat(b.root_address(table, 0), width)
        return b.add(start, index, RNE)

    def _gather(self) -> None:
        b, type = self.b, self.random.choice((UB, UW, UD, UQ))
        shape = {"offset": 0, "vstride": 0, "row": 1, "hstride": 0}
        x = b.read_indirect(self._addresses(type.size), type, self.width, self.mask(), **shape)
        self._write(x)

    def _serial(self) -> None:
        """What a compiler makes of a vector of addresses to write to."""
        b, random, width = self.b, self.random, self.width
        type, flag = random.choice((UW, UD)), self.flags[0]
        addresses = self._addresses(type.size)
        assert self.places is not None
        b.write_root(self.places, Region.packed(0, 4), addresses, b.const(BOOL, 1, width))
        step, is_uniform, y = random.choice((0, 4)), random.random() < 0.5, self.value(type)
        for lane in range(width):
            b.inst += 1
            only = b.bits_mask(b.const(UD, 1 << lane, 1), 32)
            b.write_flag(flag, 0, only, b.const(BOOL, 1, 32))
            address = b.read(self.places, Region.scalar(4 * lane), UD, 1)
            mask = b.and_(b.exec_mask(0, width), b.read_flag(flag, 0, width))
            data = b.splat(b.shuffle(y, [lane]), width) if is_uniform else y
            b.write_indirect(address, data, mask, offset=-step * lane, hstride=step)


class Wild(Tables):
    wild = True


def check(program: Program, seed: int, *, tail: bool, processor: Processor | None = None) -> None:
    """Run a program on both engines and compare memory, counts and faults."""
    grid = program.grid(tail=tail)
    results = []
    for engine in (Interpreter(), Jit(workers=1, processor=processor)):
        memory = Memory(seed)
        try:
            outcome: object = engine.run(grid, memory)
        except Fault as fault:
            outcome = str(fault)
        results.append((outcome, memory.arena))
    (expected, want), (found, got) = results
    assert found == expected
    if not isinstance(expected, str):
        assert (want == got).all()


SETTINGS = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@given(st.integers(0, 1 << 30), st.booleans())
@SETTINGS
def test_straight_line(seed: int, tail: bool) -> None:
    check(Tables(Random(seed), branches=False), seed, tail=tail)


@given(st.integers(0, 1 << 30))
@SETTINGS
def test_branches(seed: int) -> None:
    check(Tables(Random(seed), branches=True), seed, tail=False)


@given(st.integers(0, 1 << 30))
@SETTINGS
def test_outside_of_all_registers(seed: int) -> None:
    check(Wild(Random(seed), branches=False), seed, tail=False)


@given(st.integers(0, 1 << 30))
@settings(SETTINGS, max_examples=4)
def test_without_wide_vectors(seed: int) -> None:
    here = host()
    features = ",".join(
        f"-{f[1:]}" if f[1:].startswith("avx512") else f for f in here.features.split(",")
    )
    narrow = Processor(here.triple, here.cpu, features)
    check(Tables(Random(seed), branches=False), seed, tail=False, processor=narrow)


def test_the_random_programs_have_such_accesses() -> None:
    functions = [Tables(Random(seed), branches=False).function for seed in range(20)]
    assert sum(len(pointees(f)) for f in functions) > 100
