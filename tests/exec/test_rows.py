"""Loads of several elements a lane from anywhere: rows, lanes that are off, lanes outside."""

from __future__ import annotations

import numpy as np
import pytest

import eumu
from eumu.exec.jit.codegen import rows
from eumu.exec.jit.host.target import host

_SOURCE = """
#define ROWS(NAME, TYPE, LOAD) \\
kernel void NAME(global const TYPE *in, global const int *which, global ulong *out) { \\
    int i = get_global_id(0), at = which[i]; \\
    ulong sum = 7; \\
    if (at >= 0) { LOAD } \\
    out[i] = sum; \\
}
#define SUM(N) for (int k = 0; k < N; k++) sum = sum * 5 + p[k];
ROWS(two, uint, uint2 x = vload2(at, in); uint *p = (uint *)&x; SUM(2))
ROWS(three, uint, uint3 x = vload3(at, in); uint *p = (uint *)&x; SUM(3))
ROWS(four, uint, uint4 x = vload4(at, in); uint *p = (uint *)&x; SUM(4))
ROWS(eight, uint, uint8 x = vload8(at, in); uint *p = (uint *)&x; SUM(8))
ROWS(quads, ulong, ulong4 x = vload4(at, in); ulong *p = (ulong *)&x; SUM(4))
"""
_COUNTS = {"two": 2, "three": 3, "four": 4, "eight": 8, "quads": 4}
_LANES, _WORDS = 64, 1 << 12
Kernels = dict[str, tuple[eumu.Device, eumu.Program]]


@pytest.fixture(scope="module", params=["skl", "pvc"])
def kernels(request: pytest.FixtureRequest) -> Kernels:
    made = {engine: eumu.Device(request.param, engine=engine) for engine in ("interp", "jit")}
    return {e: (device, eumu.build(_SOURCE, device)) for e, device in made.items()}


def _both(kernels: Kernels, name: str, *which: np.ndarray) -> list[object]:
    """What each launch gives, first those of the interpreter."""
    said: list[object] = []
    data = np.random.default_rng(2).integers(0, 256, 4 * _WORDS, np.uint8)
    for device, program in kernels.values():
        given = device.array(data.view(np.uint64 if name == "quads" else np.uint32))
        out = device.array(_LANES, np.uint64)
        for some in which:
            try:
                arrays = [given, device.array(some.astype(np.int32)), out]
                program[name].launch(device, _LANES, _LANES, arrays)
                said.append(out.numpy().tobytes())
            except eumu.Fault as fault:
                said.append(str(fault))
    return said


def _anywhere(name: str, seed: int) -> np.ndarray:
    room = 4 * _WORDS // (_COUNTS[name] * (8 if name == "quads" else 4))
    return np.random.default_rng(seed).integers(0, room, _LANES)


@pytest.mark.parametrize("name", _COUNTS)
def test_rows_from_anywhere(kernels: Kernels, name: str) -> None:
    which = _anywhere(name, 1)
    some = np.where(np.arange(_LANES) % 5 == 2, -(1 << 29), which)
    said = _both(kernels, name, which, some, which[::-1])
    assert said[:3] == said[3:] and all(isinstance(x, bytes) for x in said)


@pytest.mark.parametrize("name", ["three", "eight"])
@pytest.mark.parametrize("lane", [0, 7, 8, 31, 32, _LANES - 1])
def test_a_lane_outside(kernels: Kernels, name: str, lane: int) -> None:
    which = _anywhere(name, 1)
    bad = which.copy()
    bad[lane] = 4 * _WORDS // (4 * _COUNTS[name])  # its last element is behind the end
    off = np.where(np.arange(_LANES) % 5 == 2, -(1 << 29), bad)
    said = _both(kernels, name, which, bad, off)
    assert said[:3] == said[3:] and isinstance(said[1], str)


def test_the_kernels_load_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    if not host().target.gathers:
        pytest.skip("without wide vectors lanes are loaded one by one")
    made: list[int] = []
    load = rows.load

    def noted(k: object, pointers: str, mask: object, type: object, count: int, n: int) -> object:
        made.append(count)
        return load(k, pointers, mask, type, count, n)  # type: ignore[arg-type]

    monkeypatch.setenv("EUMU_CACHE", "off")
    monkeypatch.setattr(rows, "load", noted)
    device = eumu.Device("pvc", engine="jit")
    program = eumu.build(_SOURCE, device)
    for name, count in _COUNTS.items():
        made.clear()
        type = np.uint64 if name == "quads" else np.uint32
        arrays = [device.array(_WORDS, type), device.array(_LANES, np.int32)]
        program[name].launch(device, _LANES, _LANES, [*arrays, device.array(_LANES, np.uint64)])
        if name != "quads":  # the compiler loads two and two
            assert bool(made) == (count > 2), name


_APART = """
kernel void apart(global const uint4 *in, global ulong *out, int first) {
    int i = get_global_id(0);
    uint4 x = in[4 * (i + first) + 1];
    out[i] = x.x * 3 + x.y * 5 + x.z * 7 + x.w;
}
kernel void store(global uint2 *out, global const int *which) {
    int i = get_global_id(0), at = which[i];
    if (at >= 0) out[at] = (uint2)(i, 1000 + i);
}
kernel void halves(global uint *out, global const int *which) {
    int i = get_global_id(0), at = which[i];
    if (at >= 0) vstore2((uint2)(i, 1000 + i), 0, out + at);
}
kernel void local_pairs(global uint2 *out, global const int *which) {
    local uint data[128];
    int i = get_global_id(0), at = which[i];
    data[i] = data[i + 64] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at >= 0) vstore2((uint2)(i, 1000 + i), 0, data + at);
    barrier(CLK_LOCAL_MEM_FENCE);
    int from = at < 0 || at > 126 ? i : 126 - at;
    out[i] = (uint2)(data[from], data[from + 1]);
}
"""


@pytest.fixture(scope="module", params=["skl", "pvc"])
def pairs(request: pytest.FixtureRequest) -> Kernels:
    made = {engine: eumu.Device(request.param, engine=engine) for engine in ("interp", "jit")}
    return {e: (device, eumu.build(_APART, device)) for e, device in made.items()}


def _run(kernels: Kernels, name: str, size: int, *more: object) -> list[object]:
    """What each engine gives: all bytes of the array that is stored to, and the fault."""
    said: list[object] = []
    for device, program in kernels.values():
        out = device.array(size, np.uint32)
        args = [device.array(x.astype(np.int32)) if isinstance(x, np.ndarray) else x for x in more]
        fault = ""
        try:
            lanes = program[name].simd_width  # of one thread: between threads there is no order
            program[name].launch(device, lanes, lanes, [out, *args])
        except eumu.Fault as error:
            fault = str(error)
        said.append((out.numpy().tobytes(), fault))
    return said


@pytest.mark.parametrize("first", [0, 1, 2, 33, 63, 64, 65, -1, -64, 1 << 20])
def test_rows_at_known_distances(pairs: Kernels, first: int) -> None:
    """The array ends in the midst of lanes, or of a lane's row."""
    said: list[object] = []
    data = np.random.default_rng(3).integers(0, 1 << 32, 16 * 127 + 6, np.uint32)
    for device, program in pairs.values():
        given, out = device.array(data), device.array(_LANES, np.uint64)
        try:
            program["apart"].launch(device, _LANES, _LANES, [given, out, first])
            said.append(out.numpy().tobytes())
        except eumu.Fault as fault:
            said.append(str(fault))
    assert said[0] == said[1]
    assert isinstance(said[0], bytes) == (0 <= first <= 63)


@pytest.mark.parametrize("name", ["store", "halves", "local_pairs"])
@pytest.mark.parametrize("kind", ["all", "some", "one place", "overlapping"])
def test_pairs_are_stored_lane_by_lane(pairs: Kernels, name: str, kind: str) -> None:
    """Where lanes meet, the last one's stay; of `halves` the elements of two lanes overlap."""
    which = np.random.default_rng(4).permutation(_LANES)[::-1] // 2
    if kind == "some":
        which = np.where(np.arange(_LANES) % 3 == 1, -5, which)
    if kind == "one place":
        which[:] = 11
    if kind == "overlapping":
        which = which // 2 + np.arange(_LANES) % 3 % 2
    said = _run(pairs, name, 4 * _LANES, which)
    assert said[0] == said[1]


@pytest.mark.parametrize("name", ["store", "halves", "local_pairs"])
def test_a_pair_of_each_lane_outside(pairs: Kernels, name: str) -> None:
    """Also one that is half outside."""
    which, room = np.random.default_rng(4).permutation(_LANES), 2 * _LANES
    for lane in range(min(program[name].simd_width for _, program in pairs.values())):
        for bad in (_LANES if name == "store" else room - 1, 1 << 27):
            wrong = which.copy()
            wrong[lane] = bad
            said = _run(pairs, name, room, wrong)
            assert said[0][1] == said[1][1] != ""  # type: ignore[index]
