"""Atomic operations on shared local memory: lanes that meet, lanes that are off, lanes outside."""

from __future__ import annotations

import numpy as np
import pytest

import eumu

_ITEMS = 16  # of one thread: the order of threads is nobody's
# `which` names the word that a work item changes, `on` whether it does, `out` gets what it was.
_SOURCE = """
#define ITEMS 16
#define EACH(NAME, CHANGE) \\
kernel void NAME(global const int *which, global const int *on, global uint *out, \\
                 global uint *end) { \\
    local uint words[ITEMS]; \\
    int l = get_local_id(0); \\
    words[l] = 5 * l; \\
    barrier(CLK_LOCAL_MEM_FENCE); \\
    volatile local uint *p = &words[which[l]]; \\
    uint x = 3 * l + 1, was = 77; \\
    if (on[l]) was = CHANGE; \\
    barrier(CLK_LOCAL_MEM_FENCE); \\
    out[l] = was; \\
    end[l] = words[l]; \\
}
EACH(add, atomic_add(p, x))
EACH(sub, atomic_sub(p, x))
EACH(inc, atomic_inc(p))
EACH(dec, atomic_dec(p))
EACH(most, atomic_max(p, x))
EACH(least, (uint)atomic_min((volatile local int *)p, -(int)x))
EACH(both, atomic_and(p, x))
EACH(any, atomic_or(p, x))
EACH(other, atomic_xor(p, x))
EACH(new, atomic_xchg(p, x))
EACH(real, as_uint(atomic_xchg((volatile local float *)p, (float)x)))
EACH(same, atomic_cmpxchg(p, 5 * l, x))
EACH(unread, (atomic_add(p, x), 9))
"""
_KERNELS = _SOURCE.split("EACH(")[2:]
NAMES = [line.split(",")[0] for line in _KERNELS]


@pytest.fixture(scope="module", params=["skl", "pvc"])
def programs(request: pytest.FixtureRequest) -> dict[str, tuple[eumu.Device, eumu.Program]]:
    made = {engine: eumu.Device(request.param, engine=engine) for engine in ("interp", "jit")}
    return {e: (dev, eumu.build(_SOURCE, dev)) for e, dev in made.items()}


def _launch(device: eumu.Device, kernel: eumu.Kernel, which: list[int], on: list[int]) -> bytes:
    arrays = [device.array(np.array(x, np.int32)) for x in (which, on)]
    arrays += [device.array(_ITEMS, np.uint32) for _ in range(2)]
    kernel.launch(device, _ITEMS, _ITEMS, arrays)
    return arrays[2].numpy().tobytes() + arrays[3].numpy().tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_lanes_change_words_one_after_the_other(
    programs: dict[str, tuple[eumu.Device, eumu.Program]], name: str
) -> None:
    random = np.random.default_rng(8)
    own, one = list(range(_ITEMS)), [7] * _ITEMS
    some = random.integers(0, 6, _ITEMS).tolist()
    masks = [1] * _ITEMS, [0] * _ITEMS, [0, 1] * 8, (random.random(_ITEMS) < 0.3).astype(int)
    for which in (own, one, some, own[::-1]):
        for on in masks:
            found = {e: _launch(d, p[name], which, list(on)) for e, (d, p) in programs.items()}
            assert found["interp"] == found["jit"]
            _, end = np.frombuffer(found["jit"], np.uint32).reshape(2, -1)
            if name == "unread":
                wanted = 5 * np.arange(_ITEMS)
                np.add.at(wanted, which, np.where(on, 3 * np.arange(_ITEMS) + 1, 0))
                assert (end == wanted).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("index", [_ITEMS, -(1 << 29)])
def test_a_lane_outside_is_a_fault(
    programs: dict[str, tuple[eumu.Device, eumu.Program]], name: str, index: int
) -> None:
    which = list(range(_ITEMS))
    for lane in (0, 7, _ITEMS - 1):
        which[lane] = index
        said = []
        for device, program in programs.values():
            with pytest.raises(eumu.Fault) as fault:
                _launch(device, program[name], which, [1] * _ITEMS)
            said.append(str(fault.value))
        assert said[0] == said[1]
        which[lane] = lane
        _launch(*_of(programs["jit"], name), which, [1] * _ITEMS)


def _of(pair: tuple[eumu.Device, eumu.Program], name: str) -> tuple[eumu.Device, eumu.Kernel]:
    return pair[0], pair[1][name]


@pytest.mark.parametrize("name", NAMES)
def test_a_lane_that_is_off_may_point_anywhere(
    programs: dict[str, tuple[eumu.Device, eumu.Program]], name: str
) -> None:
    which, on = list(range(_ITEMS)), [1] * _ITEMS
    which[5], on[5] = -(1 << 29), 0
    found = {e: _launch(d, p[name], which, on) for e, (d, p) in programs.items()}
    assert found["interp"] == found["jit"]
