"""Where lanes follow a pattern, what is outside is left to functions that kernels share."""

from __future__ import annotations

import re

import numpy as np
import pytest

import eumu
from eumu.exec.jit.driver import module
from eumu.exec.jit.host.target import host
from eumu.exec.jit.interface import Module

_SOURCE = """
kernel void runs(global const int *in, global const int *other, global int *out, int n, int from) {
    int i = get_global_id(0), sum = 0;
    for (int k = 0; k < n; k++)
        sum += in[i + k * 3 + from] ^ k;
    out[i] = sum;
}
kernel void some(global const int *in, global const int *other, global int *out, int n, int from) {
    int i = get_global_id(0);
    if (in[i] & 1)
        for (int k = 0; k < n; k++)
            out[i] += in[i + k * 3 + from] ^ k;
}
kernel void turns(global const int *in, global const int *other, global int *out, int n, int from) {
    int i = get_global_id(0), sum = 0;
    for (int k = 0; k < n; k++) {
        global const int *p = k & 1 ? in : other;
        sum += p[i + k + from];
    }
    out[i] = sum;
}
kernel void found(global const int *in, global const int *other, global int *out, int n, int from) {
    int i = get_global_id(0);
    for (int k = 0; k < n; k++)
        out[i] += other[(in[i + k] & 63) + from];
}
kernel void walks(global const int *in, global const int *other, global int *out, int n, int from) {
    int j = get_global_id(0), left = n;
    while (left-- > 0 && (in[j + from] & 3))
        j += 1 + (in[j] & 1);
    out[get_global_id(0)] = j;
}
kernel void pairs(global const int *in, global const int *other, global int *out, int n, int from) {
    int i = get_global_id(0);
    if (in[i] & 1)
        vstore2((int2)(i, n), i + from, out);
}
"""
_NAMES = ("runs", "some", "turns", "found", "walks", "pairs")
_ITEMS = 96
Kernels = dict[str, tuple[eumu.Device, eumu.Program]]


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    made = {engine: eumu.Device("pvc", engine=engine) for engine in ("interp", "jit")}
    return {e: (device, eumu.build(_SOURCE, device)) for e, device in made.items()}


def _both(kernels: Kernels, name: str, items: int, first: int) -> list[list[object]]:
    """What two launches give on each engine: the result, or the fault."""
    said: list[list[object]] = []
    for device, program in kernels.values():
        here = list[object]()
        data = np.random.default_rng(5).integers(-(1 << 31), 1 << 31, _ITEMS + 24, np.int32)
        given = [device.array(data), device.array(data[::-1].copy())]
        out = device.array(2 * _ITEMS, np.int32)
        for _ in range(2):
            try:
                args = [*given, out, 8, first]
                program[name].launch(device, items, items if items % 32 else 32, args)
                here.append(out.numpy().tobytes())
            except eumu.Fault as fault:
                here.append(str(fault))
        said.append(here)
    return said


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("items", [_ITEMS, 40, 7])
def test_lanes_get_what_they_have(kernels: Kernels, name: str, items: int) -> None:
    interp, jit = _both(kernels, name, items, 0)
    assert interp == jit and not isinstance(jit[0], str)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("first", [-1, 3, 4, 24, 1 << 28, 1 << 29, (1 << 31) - 80, -(1 << 31)])
def test_what_is_outside_is_where_it_was(kernels: Kernels, name: str, first: int) -> None:
    """Before an array, behind it, with lanes off there, and where numbers wrap in some lanes."""
    interp, jit = _both(kernels, name, _ITEMS, first)
    assert interp == jit


def _modules(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[Module]:
    """What is made of kernels, whose threads are full."""
    monkeypatch.setenv("EUMU_CACHE", "off")
    made = list[Module]()
    build = module.build

    def noted(*given: object) -> Module:
        made.append(build(*given))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(module, "build", noted)
    device = eumu.Device("pvc", engine="jit")
    program = eumu.build(_SOURCE, device)
    for name in names:
        arrays = [device.array(np.zeros(_ITEMS + 24, np.int32)) for _ in range(2)]
        args = [*arrays, device.array(2 * _ITEMS, np.int32), 8, 0]
        program[name].launch(device, _ITEMS, 32, args)
    return made


def _spread(text: str) -> int:
    return len(re.findall(r"call .*@llvm\.masked\.(?:gather|scatter)\.", text))


def test_what_follows_a_pattern_is_not_gathered_in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be elsewhere each time is: data, a pattern that was a guess, pairs of some lanes."""
    if not host().target.gathers:
        pytest.skip("without wide vectors nothing is gathered in line")
    counts = {n: _spread(_modules(monkeypatch, n)[0].text) for n in _NAMES}
    assert (counts["runs"], counts["turns"]) == (0, 0)
    assert counts["found"] and counts["walks"] and counts["pairs"]


def test_kernels_with_loops_have_the_driver_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = _modules(monkeypatch, "runs", "turns")
    for made in (first, second):
        defined = re.findall(r"^define .*?@([\w.]+)\(", made.text, re.MULTILINE)
        assert "thread" in defined and not {"run", "again", "prepare", "group"} & {*defined}
    drivers = [o for o in first.support if re.search(r"^define .*@(run|again)\(", o, re.MULTILINE)]
    assert len(drivers) == 2 and {*drivers} <= {*second.support}
