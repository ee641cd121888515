"""Lanes that load, change and store again: in registers with an index, in local memory.

Indices are mostly such that lanes keep apart; sometimes lanes meet, are elsewhere when they store,
or are outside, and sometimes what is loaded or made is used besides.  Each test runs as processors
have it that scatter fast, and as others have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eumu
from eumu.exec.jit.analysis import updates
from eumu.exec.jit.driver.module import build
from eumu.exec.jit.host.specials import specialise
from eumu.exec.jit.host.target import Processor, host
from eumu.ir import Region, Root, RootKind, Rounding, Space, Value
from eumu.ir.passes import fold_modes
from eumu.types import BOOL, UB, UD, UW, B, D, Type
from exec.jit_programs import SLM, Program
from exec.test_jit_indirect import check

RNE = Rounding.RNE
_ROWS = 8  # that an index chooses from


@pytest.fixture(scope="module", autouse=True, params=["one by one", "at once"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """How dwords are updated; nothing is read from disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_CACHE", "off")
        patch.setattr(Processor, "scatters", request.param == "at once")
        yield request.param


class Updates(Program):
    """A third of the statements are updates."""

    wild = False
    table: Root | None = None

    def statement(self) -> None:
        choice = self.random.random()
        if choice < 0.4:
            super().statement()
        elif choice < 0.7:
            self._in_registers()
        else:
            self._in_local_memory()

    def _fresh(self, size: int, kind: RootKind = RootKind.GRF) -> Root:
        return self._root(f"x{len(self.function.roots)}", kind, size)

    def _offsets(self, size: int) -> Value:
        """A row for each lane, and in it mostly the lane's own place."""
        b, random, width = self.b, self.random, self.width
        rows = 2 * _ROWS if self.wild and random.random() < 0.2 else _ROWS
        row = b.and_(self.value(UD), b.splat(b.const(UD, rows - 1), width))
        step = size * (width if random.random() < 0.8 else random.choice((1, width // 2)))
        own = b.iota(UD, width, size)
        if random.random() < 0.1:
            own = b.and_(self.value(UD), b.splat(b.const(UD, width - 1), width))
        return b.add(b.mul(row, b.splat(b.const(UD, step), width), RNE), own, RNE)

    def _changed(self, x: Value) -> Value:
        """Steps from what was loaded to what is stored, through registers of their own."""
        b, random, type = self.b, self.random, x.type
        for _ in range(random.randint(1, 3)):
            choice = random.random()
            if choice < 0.3:
                wide = b.convert(x, random.choice((UD, D)), rounding=RNE)
                x = self._pieces(wide, type) if random.random() < 0.5 else wide
                x = b.convert(x, type, rounding=RNE)
            elif choice < 0.4:
                x = b.not_(x)
            else:
                y = self.value(type)
                x = random.choice((b.xor, b.and_, lambda x, y: b.add(x, y, RNE)))(x, y)
            x = self._through(x)
        return x

    def _through(self, x: Value) -> Value:
        b, root = self.b, self._fresh(x.type.size * self.width)
        self._keep(root, x)
        if self.random.random() < 0.07:  # somebody else sees it
            other = b.read(root, Region.packed(0, x.type.size), x.type, self.width)
            b.write_root(self.roots[0], Region.packed(0, x.type.size), other, self.mask())
        return b.read(root, Region.packed(0, x.type.size), x.type, self.width)

    def _keep(self, root: Root, x: Value) -> None:
        mask = self.b.exec_mask(0, self.width)
        if self.random.random() < 0.3:
            mask = self.b.const(BOOL, 1, self.width)
        if self.random.random() < 0.05:
            mask = self.mask()
        self.b.write_root(root, Region.packed(0, x.type.size), x, mask)

    def _pieces(self, x: Value, type: Type) -> Value:
        """Some bytes of each lane, as another type."""
        root = self._fresh(x.type.size * self.width)
        self._keep(root, x)
        first = self.random.randrange(0, x.type.size, type.size)
        return self.b.read(root, Region.strided(first, x.type.size), type, self.width)

    def _in_registers(self) -> None:
        """A register with an index, as a compiler writes to it: one lane after the other."""
        b, random, width = self.b, self.random, self.width
        type = random.choice((UB, UW, UD, UD))
        if self.table is None:
            self.table = self._fresh(_ROWS * width * 4)
        places, table = self._fresh(4 * width, RootKind.ADDR), self.table
        start = b.splat(b.root_address(table, 0), width)
        every = b.const(BOOL, 1, width)
        address = b.add(start, self._offsets(type.size), RNE)
        x = b.read_indirect(
            address, type, width, b.exec_mask(0, width), offset=0, vstride=0, row=1, hstride=0
        )
        if random.random() < 0.3:
            address = b.add(start, self._offsets(type.size), RNE)
        b.write_root(places, Region.packed(0, 4), address, every)
        if random.random() < 0.1:  # what is loaded is stored to registers
            x = self._loaded(type)
        self._store_lanes(places, self._changed(x))
        shown = b.read_indirect(address, type, width, every, offset=0, vstride=0, row=1, hstride=0)
        self._write(shown)

    def _store_lanes(self, places: Root, x: Value) -> None:
        b, width, flag = self.b, self.width, self.flags[0]
        held = self._fresh(x.type.size * width)
        self._keep(held, x)
        for lane in range(width):
            b.inst += 1
            only = b.bits_mask(b.const(UD, 1 << lane, 1), 32)
            b.write_flag(flag, 0, only, b.const(BOOL, 1, 32))
            place = b.read(places, Region.scalar(4 * lane), UD, 1)
            mask = b.and_(b.exec_mask(0, width), b.read_flag(flag, 0, width))
            data = b.read(held, Region.scalar(x.type.size * lane), x.type, width)
            b.write_indirect(place, data, mask, offset=0, hstride=0)

    def _local(self, type: Type) -> Value:
        """Addresses in shared local memory."""
        address = self._offsets(type.size)
        if self.wild:
            return address
        most = self.b.const(UD, SLM // 2 - type.size)
        return self.b.and_(address, self.b.splat(most, self.width))

    def _loaded(self, type: Type) -> Value:
        return self.b.load(Space.SLM, self._local(type), self.b.exec_mask(0, self.width), type)[0]

    def _in_local_memory(self) -> None:
        b, random, width = self.b, self.random, self.width
        type = random.choice((UB, B, UW, UD, D))
        address = self._local(type)
        mask = b.exec_mask(0, width) if random.random() < 0.9 else self.mask()
        x = b.load(Space.SLM, address, mask, type)[0]
        b.inst += 1
        x = self._changed(x)
        if random.random() < 0.1:
            b.store(Space.SLM, self._offsets(type.size), self.mask(), [self.value(type)])
        b.inst += 1
        b.store(Space.SLM, address, b.exec_mask(0, width), [x])
        self._write(b.load(Space.SLM, address, mask, type)[0])


class Wild(Updates):
    wild = True


SETTINGS = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@given(st.integers(0, 1 << 30), st.booleans())
@SETTINGS
def test_straight_line(seed: int, tail: bool) -> None:
    check(Updates(Random(seed), branches=False), seed, tail=tail)


@given(st.integers(0, 1 << 30))
@SETTINGS
def test_branches_and_loops(seed: int) -> None:
    check(Updates(Random(seed), branches=True), seed, tail=False)


@given(st.integers(0, 1 << 30))
@SETTINGS
def test_lanes_outside(seed: int) -> None:
    check(Wild(Random(seed), branches=False), seed, tail=False)


def test_the_random_programs_have_updates() -> None:
    found = 0
    for seed in range(20):
        function = Updates(Random(seed), branches=False).function
        users = updates.users(function)
        found += sum(len(updates.find(function, n, users)) for n in range(len(function.blocks)))
    assert found > 20


def _loops(seed: int, scatters: bool) -> int:
    """The loops that update one lane after the other."""
    program = Updates(Random(seed), branches=False)
    grid = replace(program.grid(tail=False), function=fold_modes(program.function))
    target = replace(host().target, scatters=scatters)
    return len(re.findall(r"^lanes\d+:", build(grid.function, specialise(grid), target).text, re.M))


def test_dwords_are_updated_at_once_where_the_processor_scatters_fast() -> None:
    one_by_one, at_once = (sum(_loops(n, way) for n in range(12)) for way in (False, True))
    assert one_by_one > at_once > 0  # bytes and words are not


# ---- what compilers make of it

_ITEMS = 32
_SOURCE = """
kernel void bytes(global const int *to, global const int *from, global uint *out) {
    local uchar own[8 * 32];
    int l = get_local_id(0);
    for (int k = 0; k < 8; k++) own[k * 32 + l] = 3 * k + l;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int k = 0; k < 4; k++)
        own[to[k * 32 + l]] += 100 + k;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int k = 0; k < 8; k++) sum = sum * 5 + own[k * 32 + l];
    out[l] = sum;
}
kernel void dwords(global const int *to, global const int *from, global uint *out) {
    local uint own[8 * 32];
    int l = get_local_id(0);
    for (int k = 0; k < 8; k++) own[k * 32 + l] = 3 * k + l;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int k = 0; k < 4; k++)
        own[to[k * 32 + l]] += 100 * l + k;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int k = 0; k < 8; k++) sum = sum * 5 + own[k * 32 + l];
    out[l] = sum;
}
kernel void seen(global const int *to, global const int *from, global uint *out) {
    local uint own[8 * 32];
    int l = get_local_id(0);
    for (int k = 0; k < 8; k++) own[k * 32 + l] = 3 * k + l;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint last = 0;
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        last = own[to[k * 32 + l]];
        own[to[k * 32 + l]] = last + 100;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[l] = last * 1000 + own[l];
}
kernel void between(global const int *to, global const int *from, global uint *out) {
    local uint own[8 * 32];
    int l = get_local_id(0);
    for (int k = 0; k < 8; k++) own[k * 32 + l] = 3 * k + l;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        uint x = own[to[k * 32 + l]];
        own[from[k * 32 + l]] = 7 * k;
        own[to[k * 32 + l]] = x + 100;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int k = 0; k < 8; k++) sum = sum * 5 + own[k * 32 + l];
    out[l] = sum;
}
kernel void moved(global const int *to, global const int *from, global uint *out) {
    local ushort own[8 * 32];
    int l = get_local_id(0);
    for (int k = 0; k < 8; k++) own[k * 32 + l] = 3 * k + l;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int k = 0; k < 4; k++)
        own[to[k * 32 + l]] = own[from[k * 32 + l]] + 100;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int k = 0; k < 8; k++) sum = sum * 5 + own[k * 32 + l];
    out[l] = sum;
}
kernel void registers(global const int *to, global const int *from, global uint *out) {
    uint own[8];
    int l = get_local_id(0);
    for (int k = 0; k < 8; k++) own[k] = 3 * k + l;
#pragma unroll 1
    for (int k = 0; k < 4; k++)
        own[to[k * 32 + l] >> 5] = (own[from[k * 32 + l] >> 5] ^ l) + k;
    uint sum = 0;
    for (int k = 0; k < 8; k++) sum = sum * 5 + own[(l + k) & 7];
    out[l] = sum;
}
"""
Kernels = dict[str, tuple[eumu.Device, eumu.Program]]


@pytest.fixture(scope="module")
def kernels(way: str) -> Kernels:
    made = {engine: eumu.Device("pvc", engine=engine) for engine in ("interp", "jit")}
    return {e: (device, eumu.build(_SOURCE, device)) for e, device in made.items()}


def _both(kernels: Kernels, name: str, to: np.ndarray, start: np.ndarray) -> list[object]:
    said: list[object] = []
    for device, program in kernels.values():
        out = device.array(_ITEMS, np.uint32)
        arrays = [device.array(to), device.array(start), out]
        try:
            program[name].launch(device, _ITEMS, _ITEMS, arrays)
            said.append(out.numpy().tobytes())
        except eumu.Fault as fault:
            said.append(str(fault))
    return said


def _apart(seed: int = 3) -> np.ndarray:
    rows = np.random.default_rng(seed).integers(0, 8, (4, _ITEMS))
    return (rows * 32 + np.arange(_ITEMS)).astype(np.int32).reshape(-1)


@pytest.mark.parametrize("lane", range(_ITEMS))
def test_a_lane_outside_faults_and_a_lane_that_meets_another_does_not(
    kernels: Kernels, lane: int
) -> None:
    for name, place in product(("bytes", "dwords"), (256, -1, 1 << 29)):
        to = _apart()
        to[64 + lane] = place
        expected, found = _both(kernels, name, to, to)
        assert expected == found and "outside" in str(found)
    to = _apart()
    to[64 + lane] = 8 * 32  # behind the last element of a register
    expected, found = _both(kernels, "registers", to, to)
    assert expected == found and "register" in str(found)
    to = _apart()
    to[64 + lane] = to[64 + (lane + 5) % _ITEMS]
    for name in ("bytes", "dwords"):
        expected, found = _both(kernels, name, to, to)
        assert expected == found and isinstance(found, bytes)


@pytest.mark.parametrize("row", [0, 7])
def test_dwords_at_both_ends(kernels: Kernels, row: int) -> None:
    to = np.tile(row * 32 + np.arange(_ITEMS, dtype=np.int32), 4)
    for name in ("dwords", "registers"):
        expected, found = _both(kernels, name, to, to)
        assert expected == found and isinstance(found, bytes)


@pytest.mark.parametrize("name", ["moved", "registers", "seen", "between"])
def test_a_lane_that_stores_elsewhere(kernels: Kernels, name: str) -> None:
    to, start = _apart(), _apart()
    expected, found = _both(kernels, name, to, start)
    assert expected == found and isinstance(found, bytes)
    for lane in (0, 13, _ITEMS - 1):
        start[lane] = to[lane] ^ 32
        expected, found = _both(kernels, name, to, start)
        assert expected == found and isinstance(found, bytes)
