"""Accesses of local memory that are checked together before a block: results, and whose fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.exec.jit.codegen import merged

# Rows of 16 work items.  In each turn they begin to read at places of their own, but for one row:
# `where` says which, and how much farther.
_SOURCE = """
#define FILL(N) \\
    local uint p[N]; \\
    int x = get_local_id(0), y = get_local_id(1), l = y * 16 + x; \\
    for (int k = l; k < N; k += 256) p[k] = a[k] ^ get_group_id(0); \\
    uint sum = 0;
#define EACH_TURN \\
    _Pragma("unroll 1") \\
    for (int j = 0; j < n; j++) { \\
        int other = y ^ where[2 * j]; \\
        int at = 40 + y * 3 + where[2 * j + 1] * max(1 - other, 0); \\
        barrier(CLK_LOCAL_MEM_FENCE);
#define END } out[get_global_id(1) * 16 + x] = sum;
kernel void loads(global const uint *a, global const int *where, int n, global uint *out) {
    FILL(1024) EACH_TURN
        local const uint *q = p + at + x;
        sum = sum * 5 + (q[0] ^ q[16] * 3 ^ q[48] * 7 ^ q[7] * 11 ^ q[64] ^ q[-5] * 13);
    END
}
kernel void all_alike(global const uint *a, global const int *where, int n, global uint *out) {
    FILL(1024) EACH_TURN
        local const uint *q = p + at;
        sum = sum * 5 + (q[0] ^ q[16] * 3 ^ q[48] * 7 ^ q[7] * 11 ^ q[64] ^ q[-5] * 13) + x;
    END
}
kernel void both(global const uint *a, global const int *where, int n, global uint *out) {
    FILL(2048) EACH_TURN
        local const uint *q = p + at + x, *r = p + at;
        sum = sum * 5 + (q[0] ^ q[16] * 3 ^ q[48] * 7 ^ r[7] * 11 ^ r[64] ^ r[-5] * 13);
    END
}
kernel void stores(global const uint *a, global const int *where, int n, global uint *out) {
    FILL(2048) EACH_TURN
        local uint *q = p + at + x + y * 100;
        sum = sum * 5 + (q[0] ^ q[16] * 3);
        q[32] = sum;
        sum = sum * 3 + q[32] + q[48] * 7;
        q[16] = sum;
        q[0] = q[32] ^ sum;
    END
}
kernel void some(global const uint *a, global const int *where, int n, global uint *out) {
    FILL(1024) EACH_TURN
        local const uint *q = p + at + x;
        if (a[x + j & 15] & 3)
            sum = sum * 5 + (q[0] ^ q[16] * 3 ^ q[48] * 7 ^ q[7] * 11 ^ q[64] ^ q[-5] * 13);
    END
}
kernel void words(global const uint *a, global const int *where, int n, global uint *out) {
    FILL(1024) EACH_TURN
        local const ushort *q = (local const ushort *)p + at + x;
        local const uint2 *r = (local const uint2 *)(p + at) + x;
        sum = sum * 5 + (q[0] ^ q[16] * 3 ^ q[48] * 7 ^ q[7] * 11) + r[0].x + r[8].y * 5;
    END
}
"""
_NAMES = ("loads", "all_alike", "both", "stores", "some", "words")
_SIZE = (16, 16)
_TURNS = 5
Kernels = dict[str, tuple[eumu.Device, eumu.Program]]


def _kernels(device: str) -> Kernels:
    made = {engine: eumu.Device(device, engine=engine) for engine in ("interp", "jit")}
    return {e: (device, eumu.build(_SOURCE, device)) for e, device in made.items()}


@pytest.fixture(scope="module", params=["pvc", "skl"])
def kernels(request: pytest.FixtureRequest) -> Kernels:
    return _kernels(request.param)


def _where(row: int = 0, turn: int = 0, farther: int = 0) -> np.ndarray[Any, Any]:
    """In one turn a row begins farther away."""
    where = np.zeros((_TURNS, 2), np.int32)
    where[turn] = row, farther
    return where


def _both(kernels: Kernels, name: str, where: np.ndarray[Any, Any], groups: int = 2) -> list[str]:
    """What a launch gives on each engine: the result, or the fault."""
    said = []
    for device, program in kernels.values():
        random = np.random.default_rng(3)
        a = device.array(random.integers(0, 1 << 32, 2048, np.uint32))
        out = device.array(256 * groups, np.uint32)
        arguments = [a, device.array(where), np.int32(_TURNS), out]
        try:
            program[name].launch(device, (16, 16 * groups), _SIZE, arguments)
            said.append(out.numpy().tobytes().hex())
        except eumu.Fault as fault:
            said.append(str(fault))
    return said


@pytest.mark.parametrize("name", _NAMES)
def test_results_are_those_of_the_interpreter(kernels: Kernels, name: str) -> None:
    interp, jit = _both(kernels, name, _where())
    assert interp == jit
    assert len(jit) == 2 * 4 * 512


# Where a row begins to read, counted from the end of local memory, and from its beginning; what is
# far away wraps around, or has a high bit that pointers to local memory do not have.
_FROM_END = (-80, -79, -65, -64, -63, -49, -48, -33, -32, -31, -17, -16, -15, -1, 0, 5, -300)
_PLACES = (-1, 3, -16, 4, 5, 1 << 26, 1 << 29, -(1 << 26), 1 << 30)
_ELEMENTS = {"loads": 1024, "all_alike": 1024, "some": 1024, "words": 1024}


def _farther(name: str, row: int, number: int) -> int:
    """How much farther a row begins, so that it begins at one of these places."""
    size = _ELEMENTS.get(name, 2048)
    places = [size + place for place in _FROM_END] + [*_PLACES]
    if name == "stores":  # not where other rows are
        places = [place for place in places if -100 < place < 0 or 1700 < place < 3000]
    return places[number % len(places)] - 40 - row * (103 if name == "stores" else 3)


@pytest.mark.parametrize("name", _NAMES)
def test_a_row_outside_is_the_fault_of_the_interpreter(kernels: Kernels, name: str) -> None:
    """In each row, so in each thread and half of a thread, in the first turn and in later ones."""
    faults = 0
    for number in range(16 * 3):
        row, turn = number % 16, (0, 1, 4)[number // 16]
        farther = _farther(name, row, number * 7)
        interp, jit = _both(kernels, name, _where(row, turn, farther), 1)
        assert interp == jit, (row, turn, farther)
        faults += "outside" in jit
    assert faults > 12


def test_later_turns_are_not_reached(kernels: Kernels) -> None:
    for number in range(len(_FROM_END)):
        where = _where(3, 2, _farther("loads", 3, number))
        where[3], where[4] = (9, 2000), (1, 2000)
        interp, jit = _both(kernels, "loads", where)
        assert interp == jit


@dataclass
class _Seen:
    """What blocks were lowered with: groups of accesses that differ by constants."""

    sizes: list[int]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> _Seen:
    found = _Seen([])
    check = merged._check

    def noted(k: Any, index: int, group: Any, accesses: Any) -> str:
        found.sizes.append(len(accesses))
        return check(k, index, group, accesses)

    monkeypatch.setenv("EUMU_CACHE", "off")
    monkeypatch.setattr(merged, "_check", noted)
    return found


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("loads", [6]), ("all_alike", [6]), ("both", [3, 3]), ("stores", [6]), ("words", [4, 2])],
)
def test_the_kernels_have_merged_checks(seen: _Seen, name: str, sizes: list[int]) -> None:
    interp, jit = _both(_kernels("pvc"), name, _where())
    assert interp == jit
    assert seen.sizes == sizes


@pytest.mark.parametrize("name", _NAMES)
def test_no_access_is_outside_in_paranoid_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_PARANOID", "1")
    kernels = _kernels("pvc")
    for number in range(6):
        farther = _farther(name, 11, number * 7)
        interp, jit = _both(kernels, name, _where(11, number % _TURNS, farther), 1)
        assert interp == jit, farther
