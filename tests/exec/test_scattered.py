"""Lanes that read a private array with an index and store what they find anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from eumu.exec.jit.codegen import updates
from eumu.exec.jit.codegen.access import CompiledAccess
from eumu.exec.jit.llvm.lanes import Shape

_SOURCE = """
kernel void found(global const int *in, global int *out, int rows, int first) {
    int i = get_global_id(0), v[8];
    for (int k = 0; k < 8; k++)
        v[k] = in[i * 8 + k] * 3;
    for (int k = 0; k < rows; k++) {
        int at = in[i * 8 + (k & 7)];
        out[i * 4 + k + first] = v[at & 7];
    }
}
kernel void some(global const int *in, global int *out, int rows, int first) {
    int i = get_global_id(0), v[8];
    for (int k = 0; k < 8; k++)
        v[k] = in[i * 8 + k] + k;
    if (in[i * 8] & 1)
        for (int k = 0; k < rows; k++)
            out[i * 4 + k + first] = v[in[i * 8 + (k & 7)] & 7];
}
kernel void fewer(global const int *in, global int *out, int rows, int first) {
    int i = get_global_id(0), v[8], own = in[i * 8] & 3;
    for (int k = 0; k < 8; k++)
        v[k] = in[i * 8 + k] + k;
    for (int k = 0; k < rows; k++) {
        if (k > own)
            break;
        out[i * 4 + k + first] = v[in[i * 8 + (k & 7)] & 7];
    }
}
"""
_ITEMS, _ROWS = 96, 4
Kernels = dict[str, tuple[eumu.Device, eumu.Program]]


@pytest.fixture(scope="module", params=["skl", "pvc"])
def kernels(request: pytest.FixtureRequest) -> Kernels:
    made = {engine: eumu.Device(request.param, engine=engine) for engine in ("interp", "jit")}
    return {e: (device, eumu.build(_SOURCE, device)) for e, device in made.items()}


def _both(
    kernels: Kernels, name: str, items: int = _ITEMS, rows: int = _ROWS, first: int = 0
) -> list[list[object]]:
    """What two launches give on each engine: the result, or the fault."""
    said: list[list[object]] = []
    for device, program in kernels.values():
        here = list[object]()
        data = np.random.default_rng(5).integers(-(1 << 31), 1 << 31, _ITEMS * 8, np.int32)
        given, out = device.array(data), device.array(_ITEMS * _ROWS, np.int32)
        for _ in range(2):
            try:
                args = [given, out, rows, first]
                program[name].launch(device, items, items if items % 32 else 32, args)
                here.append(out.numpy().tobytes())
            except eumu.Fault as fault:
                here.append(str(fault))
        said.append(here)
    return said


@pytest.mark.parametrize("name", ["found", "some", "fewer"])
@pytest.mark.parametrize("items", [_ITEMS, 40, 7])
def test_lanes_get_what_they_have(kernels: Kernels, name: str, items: int) -> None:
    """Full threads, threads with few lanes, lanes that leave a loop with their addresses."""
    interp, jit = _both(kernels, name, items)
    assert interp == jit and len(jit) == 2 and np.frombuffer(jit[0], np.int32).any()  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["found", "some"])
@pytest.mark.parametrize("first", [-1, -3, 1, 100, 1 << 29])
def test_a_lane_outside_faults(kernels: Kernels, name: str, first: int) -> None:
    """In one group: before the array, behind it, and where addresses wrap."""
    interp, jit = _both(kernels, name, _ITEMS, _ROWS, first)
    assert interp == jit
    assert name == "some" or isinstance(jit[0], str)


def test_the_kernels_have_such_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    learn = updates.learn

    def noted(k: Any, access: CompiledAccess, shape: Shape, addresses: list[str]) -> None:
        made.append(access.address.width)
        learn(k, access, shape, addresses)

    monkeypatch.setenv("EUMU_CACHE", "off")
    monkeypatch.setattr(updates, "learn", noted)
    device = eumu.Device("pvc", engine="jit")
    arrays = [device.array(32 * 8, np.int32), device.array(32 * 4, np.int32)]
    for name in ("found", "some"):
        made.clear()
        eumu.build(_SOURCE, device)[name].launch(device, 32, 32, [*arrays, 4, 0])
        assert 32 in made, name
