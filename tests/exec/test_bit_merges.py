"""``x & C | y & ~C`` under a mask: LLVM gives masked instructions the truth table of others."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

from eumu.exec.jit.host.loaded import Loaded
from eumu.exec.jit.host.target import assembly, compile_object, host
from eumu.exec.jit.llvm import bit_merges

_KEPT = {32: 0x7FFFFFFF, 64: 0x7FFFFFFFFFFFFFFF}
_WAYS = [way for way in itertools.product("ab", repeat=3) if way[0] != way[1]]
_HALVES = {
    "and": "%kept = and {type} %{y}, splat (i{bits} {kept})",
    "fabs": "%floats = bitcast {type} %{y} to {floats}\n"
    "%absolute = call {floats} @llvm.fabs.{mangled}({floats} %floats)\n"
    "%kept = bitcast {floats} %absolute to {type}",
}


def _module(lanes: int, bits: int, x: str, y: str, otherwise: str, kept: str) -> str:
    """Bits of x and of y where a mask is set, and one of them where it is not."""
    kind, floats = f"<{lanes} x i{bits}>", f"<{lanes} x {'float' if bits == 32 else 'double'}>"
    mangled = f"v{lanes}f{bits}"
    half = _HALVES[kept].format(
        type=kind, floats=floats, mangled=mangled, y=y, bits=bits, kept=_KEPT[bits]
    )
    return f"""
declare {floats} @llvm.fabs.{mangled}({floats})
define void @run(ptr %result, ptr %first, ptr %second, i64 %lanes) #0 {{
  %a = load {kind}, ptr %first, align 4
  %b = load {kind}, ptr %second, align 4
  %few = trunc i64 %lanes to i{lanes}
  %mask = bitcast i{lanes} %few to <{lanes} x i1>
  %sign = and {kind} %{x}, splat (i{bits} {-1 << bits - 1})
  {half}
  %both = or disjoint {kind} %sign, %kept
  %chosen = select <{lanes} x i1> %mask, {kind} %both, {kind} %{otherwise}
  store {kind} %chosen, ptr %result, align 4
  ret void
}}
"""


@pytest.mark.parametrize("kept", _HALVES)
@pytest.mark.parametrize(
    ("lanes", "bits"), [(16, 32), (8, 64), (8, 32), (4, 64), (4, 32), (2, 32), (32, 32), (16, 64)]
)
def test_merged_bits_under_a_mask(lanes: int, bits: int, kept: str) -> None:
    kind = np.dtype(f"u{bits // 8}")
    random = np.random.default_rng(lanes * bits)
    given = {
        name: random.integers(0, np.iinfo(kind).max, lanes, kind, endpoint=True) for name in "ab"
    }
    mask = int(random.integers(1, (1 << lanes) - 1))
    set_lanes = np.array([mask >> lane & 1 for lane in range(lanes)], bool)
    for x, y, otherwise in _WAYS:
        code = compile_object(_module(lanes, bits, x, y, otherwise, kept), host())
        loaded = Loaded([code], host(), has_again=False)
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_uint64)(loaded.run)
        got = np.zeros(lanes, kind)
        run(got.ctypes.data, given["a"].ctypes.data, given["b"].ctypes.data, mask)
        low = kind.type(_KEPT[bits])
        merged = (given[x] & ~low) | (given[y] & low)
        np.testing.assert_array_equal(got, np.where(set_lanes, merged, given[otherwise]))


@pytest.mark.parametrize("kept", _HALVES)
@pytest.mark.parametrize(("x", "y", "otherwise"), _WAYS)
def test_no_masked_table_reads_memory(x: str, y: str, otherwise: str, kept: str) -> None:
    if not host().has("avx512f"):
        pytest.skip("the host has no AVX-512")
    for line in assembly(_module(16, 32, x, y, otherwise, kept), host()).splitlines():
        assert not ("vpternlog" in line and "{%k" in line), line


def test_only_merges_are_fenced() -> None:
    text = """
define <4 x i32> @one(<4 x i32> %x, <4 x i32> %y) {
  %kept = and <4 x i32> %x, splat (i32 255)
  %z = or <4 x i32> %kept, %y
  ret <4 x i32> %z
}

define <4 x i32> @two(<4 x i32> %kept, <4 x i32> %y) {
  %rest = and <4 x i32> %y, splat (i32 255)
  %z = or <4 x i32> %kept, %rest
  ret <4 x i32> %z
}
"""
    assert bit_merges.fenced(text) is None


def test_values_are_those_of_their_function() -> None:
    """Names come again in each function of a module; nothing is known of parameters."""
    masked = "  %x = and <4 x i32> %a, splat (i32 5)\n  %y = and <4 x i32> %a, splat (i32 -6)\n"
    merge = "  %o = or <4 x i32> %x, %y\n  ret <4 x i32> %o\n}\n"
    first = f"\ndefine <4 x i32> @f(<4 x i32> %a) {{\n{masked}{merge}"
    second = f"\ndefine <4 x i32> @g(<4 x i32> %x, <4 x i32> %y) {{\n{merge}"
    for text in (first + second, second + first):
        fenced = bit_merges.fenced(text)
        assert fenced is not None and fenced.count("call <4 x float> @llvm.arithmetic.fence") == 1
    assert bit_merges.fenced(second) is None
