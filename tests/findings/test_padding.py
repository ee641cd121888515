"""The fourth element of a vector of three is padding in memory: storing it is no use of it."""

from __future__ import annotations

import numpy as np
import pytest

import eumu
from eumu.errors import Finding

CLEAN = """
typedef struct { float3 a; int b; float3 c; } Parts;

kernel void floats(global float3 *out, global const float *a) {
    int i = get_global_id(0);
    float3 v = (float3)(a[i], a[i] + 1, a[i] * 2);
    v = v * 2.0f + (float3)(1, 2, 3);
    out[i] = v;
}

kernel void longs(global long3 *out, global const float *a) {
    int i = get_global_id(0);
    long n = a[i];
    long3 v = (long3)(n, n + 1, n * 2);
    v += v.yzx;
    out[i] = v;
}

kernel void uniform(global float3 *out, global const float *a) {
    float3 v = (float3)(a[0], a[1], a[2]);
    out[0] = v;
    out[1] = v * v;
}

kernel void shared(global float *out, global const float *a) {
    local float3 held[64];
    int i = get_local_id(0);
    held[i] = (float3)(a[i], a[i] + 1, 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    float3 other = held[get_local_size(0) - 1 - i];
    out[get_global_id(0)] = other.x + other.y * other.z;
}

kernel void structures(global Parts *out, global const float *a) {
    int i = get_global_id(0);
    Parts parts;
    parts.a = (float3)(a[i]);
    parts.b = i;
    parts.c = parts.a * 2.0f;
    out[i] = parts;
}
"""
WRONG = """
kernel void padding(global float *out, global const float *a) {
    int i = get_global_id(0);
    float3 v = (float3)(a[i], a[i] + 1, 2);
    v *= 2.0f;
    float4 *four = (float4 *)&v;
    out[i] = four->w + 1.0f;
}

kernel void shared(global float *out, global const float *a) {
    local float3 held[64];
    int i = get_local_id(0);
    held[i] = (float3)(a[i], a[i] + 1, 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = ((local float *)held)[4 * (15 - i) + 3] + 1;
}
"""
NAMES = ("floats", "longs", "uniform", "shared", "structures")
OPTIONS = ("", "-cl-opt-disable")
DEVICES = ("skl", "dg2", "pvc")


def found(text: str, name: str, device: str, options: str, engine: str) -> tuple[Finding, ...]:
    check = "uninitialized" if engine == "interp" else "undefined"
    board = eumu.Device(device, engine=engine, check=check)
    kernel = eumu.build(text, device=device, options=options)[name]
    out = np.zeros(1024, np.uint64 if name == "longs" else np.uint32)
    arrays = [board.array(out), board.array(np.ones(64, np.float32))]
    return kernel.launch(board, (32,), (16,), arrays).findings


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("device", DEVICES)
def test_padding_is_stored(device: str, options: str, engine: str, ocloc: str) -> None:
    for name in NAMES:
        assert not found(CLEAN, name, device, options, engine), name


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("device", ["dg2", "pvc", "bmg"])
def test_padding_in_code_of_the_newest_compiler(
    device: str, options: str, newest_ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It joins two vectors to one block, and moves what nothing was put into."""
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    for name in NAMES:
        assert not found(CLEAN, name, device, options, "interp"), name


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "line"), [("padding", 7), ("shared", 15)])
def test_a_use_of_padding(name: str, line: int, device: str, ocloc: str) -> None:
    (finding,) = found(WRONG, name, device, "-cl-opt-disable", "interp")
    assert finding.severity is eumu.errors.Severity.ERROR
    assert finding.place is not None and finding.place.line == line
