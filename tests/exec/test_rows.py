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
