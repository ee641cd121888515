"""Loads whose addresses come again in each row of work items: a vector for all rows of a thread."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.exec.jit.analysis.slots import KnownValue
from eumu.exec.jit.codegen import memory
from eumu.exec.jit.llvm.lanes import Shape
from eumu.ir import Value
from eumu.types import UD

_SOURCE = """
#define BODY(TYPE, P) TYPE sum = 0; \\
    for (int k = 0; k < n; k++) { P; sum = sum * 3 + p[k * 16 + get_local_id(0)]; }
#define PLACE get_global_id(1) * get_global_size(0) + get_global_id(0)
kernel void plain(global const uint *a, global const uint *b, int n, global uint *out) {
    BODY(uint, global const uint *p = a)
    out[PLACE] = sum;
}
kernel void turns(global const uint *a, global const uint *b, int n, global uint *out) {
    BODY(uint, global const uint *p = k & 1 ? b : a)  // each turn in another array
    out[PLACE] = sum;
}
kernel void pairs(global const uint2 *a, global const uint2 *b, int n, global uint2 *out) {
    BODY(uint2, global const uint2 *p = a)
    out[PLACE] = sum;
}
kernel void apart(global const uint *a, global const uint *b, int n, global uint *out) {
    uint x = get_local_id(0);
    if (b[get_local_id(1)] & 1) x = 15 - x;  // rows of the same thread go other ways
    BODY(uint, global const uint *p = a - get_local_id(0) + x)
    out[PLACE] = sum;
}
kernel void wraps(global const uint *a, global const uint *b, int n, global uint *out) {
    local uint p[256];
    for (int y = get_local_id(1); y < 16; y += get_local_size(1))
        p[y * 16 + get_local_id(0)] = a[y * 16 + get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int k = 0; k < n; k++)
        sum = sum * 3 + p[(get_local_id(0) + k * 5) & 255];  // rows end in the midst of a vector
    out[PLACE] = sum;
}
kernel void tile(global const uint *a, global const uint *b, int n, global uint *out) {
    local uint p[256];
    for (int y = get_local_id(1); y < 16; y += get_local_size(1))
        p[y * 16 + get_local_id(0)] = a[y * 16 + get_local_id(0)] + get_group_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    BODY(uint, )
    out[PLACE] = sum;
}
"""
_SIZE = (16, 16)
Kernels = dict[str, tuple[eumu.Device, eumu.Program]]


@pytest.fixture(scope="module", params=["skl", "pvc"])
def kernels(request: pytest.FixtureRequest) -> Kernels:
    made = {engine: eumu.Device(request.param, engine=engine) for engine in ("interp", "jit")}
    return {e: (device, eumu.build(_SOURCE, device)) for e, device in made.items()}


def _both(kernels: Kernels, name: str, rows: int, turns: tuple[int, ...]) -> list[list[object]]:
    """What launches of so many turns over arrays of so many rows give, on each engine."""
    said: list[list[object]] = []
    kind = np.dtype((np.uint32, 2)) if name == "pairs" else np.dtype(np.uint32)
    for device, program in kernels.values():
        random, here = np.random.default_rng(3), list[object]()
        shape = (rows * 16, *kind.shape)
        a, b = (device.array(random.integers(0, 1 << 32, shape, np.uint32)) for _ in "ab")
        out = device.array((256, *kind.shape), np.uint32)
        for n in turns:
            try:
                program[name].launch(device, _SIZE, _SIZE, [a, b, n, out])
                here.append(out.numpy().tobytes())
            except eumu.Fault as fault:
                here.append(str(fault))
        said.append(here)
    return said


@pytest.mark.parametrize("name", ["plain", "turns", "pairs", "apart", "wraps", "tile"])
def test_rows_are_those_of_the_interpreter(kernels: Kernels, name: str) -> None:
    interp, jit = _both(kernels, name, 16, (16, 1, 60 if name == "wraps" else 7))
    assert interp == jit and all(isinstance(x, bytes) for x in jit)
    assert len(set(jit)) == 3


@pytest.mark.parametrize("name", ["plain", "turns", "pairs"])
def test_a_row_outside_is_the_fault_of_the_interpreter(kernels: Kernels, name: str) -> None:
    interp, jit = _both(kernels, name, 12, (12, 13, 40, 12))
    assert interp == jit
    assert [isinstance(x, str) for x in jit] == [False, True, True, False]


def test_the_kernels_have_such_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[tuple[int, int]] = []
    different = memory._different

    def noted(k: Any, address: Value, expected: Shape) -> int:
        widths.append((different(k, address, expected), expected.width))
        return widths[-1][0]

    monkeypatch.setenv("EUMU_CACHE", "off")
    monkeypatch.setattr(memory, "_different", noted)
    device = eumu.Device("pvc", engine="jit")
    program = eumu.build(_SOURCE, device)
    for name, kind in (("plain", 1), ("tile", 1), ("pairs", 2)):
        widths.clear()
        arrays = [device.array(256 * kind, np.uint32) for _ in range(3)]
        program[name].launch(device, _SIZE, _SIZE, [arrays[0], arrays[1], 1, arrays[2]])
        assert (16, 32) in widths, name


_TWICE = Shape(1, tuple(4 * (n % 16) for n in range(32)))


@pytest.mark.parametrize(
    ("given", "expected", "own"),
    [
        (_TWICE, _TWICE, 16),
        (_TWICE, replace(_TWICE, certain=False), 16),
        (replace(_TWICE, certain=False), _TWICE, 32),
        (replace(_TWICE, active=True), _TWICE, 32),
        (replace(_TWICE, offsets=(*_TWICE.offsets[:-1], 64)), _TWICE, 32),
        (_TWICE, replace(_TWICE, offsets=(*_TWICE.offsets[:-1], 64)), 32),
        (_TWICE, replace(_TWICE, groups=2), 64),
        (Shape(1, (0,) * 32), _TWICE, 32),
    ],
)
def test_what_is_certain_counts(given: Shape, expected: Shape, own: int) -> None:
    """An address made of lanes that come again comes again, though its affine form is a guess."""
    base, mask, address = (Value(n, UD, 32) for n in range(3))
    masked = SimpleNamespace(name="and", results=(address,), args=(base, mask))
    k: Any = SimpleNamespace(
        known={0: KnownValue(given), 1: KnownValue(Shape(1, (0,) * 32)), 2: KnownValue()},
        function=SimpleNamespace(blocks=[SimpleNamespace(ops=[masked])]),
        block=0,
        place=1,
    )
    assert memory._different(k, address, expected) == own
    assert memory._different(k, base, expected) == own
    masked.name = "load"
    assert memory._different(k, address, expected) == expected.width
