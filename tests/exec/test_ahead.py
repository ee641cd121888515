"""Loops whose lanes walk through memory: what is read ahead, and where it may not be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import eumu
from eumu.errors import Fault
from eumu.exec.jit.codegen import ahead
from eumu.exec.jit.codegen.rows import rows
from eumu.exec.jit.host.target import host
from eumu.ir import Space
from eumu.ir.operations.ends import Trap
from eumu.types import UD, UQ, UW, Type
from exec.launching import RNE, Kernel, on_both

# `stride` elements lie between the starts of lanes; `n` turns.
_SOURCE = """
#define WALK(NAME, TYPE, STEP, EXPRESSION) \\
kernel void NAME(global const TYPE *in, global uint *out, int stride, int n) { \\
    int i = get_global_id(0); \\
    uint sum = 0; \\
    _Pragma("unroll 1") \\
    for (int j = 0; j < n; j++) { \\
        TYPE x = in[i * stride + j * STEP]; \\
        sum = sum * 5 + (uint)(EXPRESSION); \\
    } \\
    out[i] = sum; \\
}
WALK(dwords, uint, 1, x)
WALK(floats, float, 1, as_uint(x))
WALK(bytes, uchar, 1, x)
WALK(words, ushort, 1, x)
WALK(quads, ulong, 1, x ^ x >> 32)
WALK(second, uint, 2, x)
WALK(third, ushort, 3, x)
WALK(fours, uint4, 1, x.s0 ^ x.s1 * 3 ^ x.s2 * 7 ^ x.s3 * 11)

kernel void written(global uint *in, global uint *out, int stride, int n) {
    int i = get_global_id(0);
    uint sum = 0;
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        sum = sum * 5 + in[i * stride + j];
        in[i * stride + j + 1] = sum;
    }
    out[i] = sum;
}
kernel void nested(global const uint *in, global uint *out, int stride, int n) {
    int i = get_global_id(0);
    uint sum = 0;
#pragma unroll 1
    for (int k = 0; k < (n & 1) + 2; k++)
#pragma unroll 1
        for (int j = k; j < n; j++)
            sum = sum * 5 + in[i * stride + j + 3 * k];
    out[i] = sum;
}
kernel void some_lanes(global const uint *in, global uint *out, int stride, int n) {
    int i = get_global_id(0);
    uint sum = 0;
    if (i % 3 != 1)
#pragma unroll 1
        for (int j = 0; j < n; j++)
            sum = sum * 5 + in[i * stride + j];
    out[i] = sum;
}
kernel void own_length(global const uint *in, global uint *out, int stride, int n) {
    int i = get_global_id(0);
    uint sum = 0;
#pragma unroll 1
    for (int j = 0; j < n - i; j++)
        sum = sum * 5 + in[i * stride + j];
    out[i] = sum;
}
kernel void wraps(global const uint *in, global uint *out, int stride, int n) {
    int i = get_global_id(0);
    uint sum = 0;
    ushort at = 65500 - i * 97;
#pragma unroll 1
    for (int j = 0; j < n; j++, at++)
        sum = sum * 5 + in[at];
    out[i] = sum;
}
#define AIMS(NAME, TURNS) \\
kernel void NAME(global const uint *in, global uint *out, global const ulong *starts, int n) { \\
    int i = get_global_id(0), m = TURNS; \\
    global const uint *p = (global const uint *)starts[i]; \\
    uint sum = 0; \\
    if (starts[i]) \\
        _Pragma("unroll 1") \\
        for (int j = 0; j < m; j++) \\
            sum = sum * 5 + p[j]; \\
    out[i] = sum; \\
}
AIMS(aims, n)
AIMS(leaves, n - i % 7)
"""
_LANES = 32
_OFF = [4, 17, 30]
_TYPES = {
    **dict.fromkeys(("bytes",), np.uint8),
    **dict.fromkeys(("words", "third"), np.uint16),
    **dict.fromkeys(("quads",), np.uint64),
}
Kernels = dict[str, tuple[eumu.Device, eumu.Program]]


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    made = {engine: eumu.Device("pvc", engine=engine) for engine in ("interp", "jit")}
    return {e: (device, eumu.build(_SOURCE, device)) for e, device in made.items()}


def _run(call: Callable[[], object], out: eumu.Array) -> object:
    try:
        call()
    except eumu.Fault as fault:
        return str(fault)
    return out.numpy().tobytes()


def _both(kernels: Kernels, name: str, stride: int, n: int, size: int = 1 << 16) -> list[object]:
    said = []
    data = np.random.default_rng(5).integers(0, 256, size * 8, np.uint8)
    for device, program in kernels.values():
        given = data.view(_TYPES.get(name, np.uint32))[:size]
        if name == "fours":
            given = data.view(np.uint32)[: size * 4 // 4 * 4]
        inputs, out = device.array(given.copy()), device.array(_LANES, np.uint32)
        arrays = [inputs, out, np.int32(stride), np.int32(n)]
        kernel = program[name]
        for _ in range(2):  # places learn their extents in the first
            said.append(
                _run(lambda k=kernel, d=device, a=arrays: k.launch(d, _LANES, _LANES, a), out)
            )
    assert said[0] == said[2] and said[1] == said[3]
    return said


_WALKS = ("dwords", "floats", "bytes", "words", "quads", "second", "third", "fours")


@pytest.mark.parametrize("name", _WALKS)
def test_walks(kernels: Kernels, name: str) -> None:
    for n in (0, 1, 3, 4, 19, 20, 36, 67):
        for stride in (67 * 3, 1000):
            (found, *_) = _both(kernels, name, stride, n)
            assert isinstance(found, bytes)


@pytest.mark.parametrize("name", ["written", "nested", "some_lanes", "own_length", "wraps"])
def test_loops_that_may_not_read_ahead_or_have_to_begin_again(kernels: Kernels, name: str) -> None:
    for n in (5, 40, 90):
        (found, *_) = _both(kernels, name, 211, n, 1 << 17)
        assert isinstance(found, bytes)


@pytest.mark.parametrize("name", ["aims", "leaves"])
@pytest.mark.parametrize("lane", [0, 1, 15, 16, _LANES - 1])
@pytest.mark.parametrize("turn", [0, 3, 4, 18, 19, 28])
def test_a_lane_that_walks_out_faults_in_its_turn(
    kernels: Kernels, name: str, lane: int, turn: int
) -> None:
    said: list[object] = []
    for device, program in kernels.values():
        words = device.array(np.arange(1 << 12, dtype=np.uint32))
        out = device.array(_LANES, np.uint32)
        starts = words.address + 4 * 50 * np.arange(_LANES, dtype=np.uint64)
        kernel = program[name]
        arrays = [words, out, device.array(starts), np.int32(36)]
        starts[_OFF] = 0
        for some in (starts, np.roll(starts, 3)):  # lanes that do not execute aim at nothing
            arrays[2] = device.array(some)
            kernel.launch(device, _LANES, _LANES, arrays)
            said.append(out.numpy().tobytes())
        starts[lane] = words.address + 4 * ((1 << 12) - turn)
        arrays[2] = device.array(starts)
        said.append(_run(lambda k=kernel, d=device, a=arrays: k.launch(d, _LANES, _LANES, a), out))
    assert said[:3] == said[3:] and isinstance(said[2], str)


_MASKS = ("all", "the same", "others")


def walk(type: Type, step: int, lanes: str, end: str, apart: int = 200) -> Kernel:
    """Lanes so many bytes apart walk on by some in each turn; what they load is hashed."""
    k = Kernel("entry", "loop", "done")
    for name in ("AT", "SUM"):
        k.root(name, 128)
    k.root("TURN", 64)
    first = k.add(k.argument(0), k.number(UQ, 8))
    number = k.b.convert(k.lane(), UQ, rounding=RNE)
    k.put("AT", k.add(first, k.mul(number, k.number(UQ, apart))))
    k.put("SUM", k.number(UQ, 0))
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "loop")
    k.at("loop")
    enabled = k.mask()
    if lanes != "all":
        some = k.add(k.lane(), k.get("TURN")) if lanes == "others" else k.lane()
        odd = k.b.cmp("ne", k.b.and_(some, k.number(UD, 1)), k.number(UD, 0))
        enabled = k.b.and_(enabled, odd)
    (x,) = k.b.load(Space.FLAT, k.get("AT", UQ), enabled, type)
    k.put("SUM", k.add(k.mul(k.get("SUM", UQ), k.number(UQ, 5)), k.b.convert(x, UQ, rounding=RNE)))
    k.put("AT", k.add(k.get("AT", UQ), k.number(UQ, step)))
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    more = k.b.cmp("lt", k.get("TURN"), k.number(UD, 40))
    k.go(end, "loop", "done", mask=more if end == "diverge" else k.b.shuffle(more, (0,)))
    k.at("done")
    k.result(1, k.lane(), k.get("SUM", UQ))
    k.end()
    return k


@pytest.mark.parametrize("lanes, end", [("all", "diverge"), *((x, "branch") for x in _MASKS)])
@pytest.mark.parametrize("type, step", [(UD, 4), (UD, 6), (UW, 5), (UQ, 12)], ids=str)
def test_steps_and_masks(type: Type, step: int, lanes: str, end: str) -> None:
    """A step may be no multiple of what is loaded, and other lanes may load in the next turn."""
    data = np.random.default_rng(1).integers(0, 256, 1 << 13, np.uint8)
    on_both(walk(type, step, lanes, end), [data, np.zeros(16, np.uint64)])


def test_a_trap_in_front_of_what_leads_there_is_no_loop() -> None:
    """Nothing follows a trap, so it has no edges; random native code has such blocks."""
    k = Kernel("entry", "wrong", "last")
    k.go("jump", "last")
    k.at("wrong")
    k.b.terminate(Trap(reason="of a test"))
    k.at("last")
    k.go("jump", "wrong")
    with pytest.raises(Fault, match="of a test"):
        on_both(k)


def test_the_kernels_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each walk has code that turns rows around; loops that change what they load have none."""
    if not host().target.gathers:
        pytest.skip("without wide vectors nothing reads ahead")
    made: list[str] = []

    def noted(name: str, *given: int) -> str:
        made.append(name)
        return rows(name, *given)

    monkeypatch.setenv("EUMU_CACHE", "off")
    monkeypatch.setattr(ahead, "rows", noted)
    device = eumu.Device("pvc", engine="jit")
    program = eumu.build(_SOURCE, device)
    for name in (*_WALKS, "nested", "wraps", "written", "own_length", "some_lanes"):
        made.clear()
        given = [
            device.array(1 << 16, _TYPES.get(name, np.uint32)),
            device.array(_LANES, np.uint32),
        ]
        program[name].launch(device, _LANES, _LANES, [*given, np.int32(1), np.int32(1)])
        assert bool(made) == (name != "written"), name
