"""Calls of slow functions in cold paths: what they get, and that registers outlive them.

The first access of each site to an array goes by such a call.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.addresses import BTI_SLM, DEVICE_BASE, SCRATCH_STATE
from eumu.errors import Fault
from eumu.exec.grid import BufferSurface
from eumu.exec.jit.driver.module import build
from eumu.exec.jit.host.loaded import Loaded
from eumu.exec.jit.host.target import Effort, assembly, compile_object, host
from eumu.exec.jit.interface import Special
from eumu.exec.jit.llvm.attention import KEEPING, KEEPS
from eumu.ir import Space, Value
from eumu.ir.passes import fold_modes
from eumu.types import UD, UQ
from exec.launching import Kernel, on_both

ARRAYS = 20  # more vectors than an AVX2 processor has registers
SPECIAL = Special(True, (), 0, 0, range(0), 256, 0, (0,) * 16)
WIDTHS = pytest.mark.parametrize("width", [8, 16, 32])
MEMORY = {BTI_SLM: "shared local memory", SCRATCH_STATE: "scratch space", 0: "surface 0"}
STEPS = pytest.mark.parametrize("step", [0, 4, 12, 64])


def places(k: Kernel, argument: int, step: int) -> Value:
    """Addresses in an array that are equally far apart, whatever its address is."""
    lanes = k.b.const(UQ, [step * lane for lane in range(k.width)], k.width)
    return k.add(k.argument(argument), lanes)


def sums(width: int, step: int) -> Kernel:
    """Adds up an element of each array a lane; all are loaded first."""
    k = Kernel(width=width, arguments=ARRAYS + 1)
    found = []
    for array in range(ARRAYS):
        k.inst(array)
        found += k.b.load(Space.FLAT, places(k, array, step), k.mask(), UD)
    total = k.number(UD, 0)
    for number, x in enumerate(found, 1):
        total = k.add(total, k.mul(x, k.number(UD, number)))
    k.result(ARRAYS, k.lane(), total)
    k.end()
    return k


def data(bytes_: int) -> list[NDArray[np.uint32]]:
    r = np.random.default_rng(5)
    return [r.integers(0, 1 << 32, bytes_ // 4, np.uint32) for _ in range(ARRAYS)]


@WIDTHS
@STEPS
def test_registers_outlive_the_calls(width: int, step: int) -> None:
    arrays = data(step * (width - 1) + 4)
    got = on_both(sums(width, step), [*arrays, np.zeros(width, np.uint32)], 2, width)
    picked = [a[np.arange(width) * step // 4] for a in arrays]
    wanted = sum(x * np.uint32(number) for number, x in enumerate(picked, 1))
    assert (got.read(ARRAYS) == wanted).all()


@pytest.mark.parametrize("effort", Effort)
@pytest.mark.parametrize("type", ["i1", "i8", "i64", "ptr"])
def test_what_such_a_function_returns_arrives(type: str, effort: Effort) -> None:
    """Quickly made code once restored the register that the result was in: no fuel ran out."""
    text = f"""
define internal {KEEPING} {type} @kept(ptr %p, i64 %n) {KEEPS} {{
  %a = getelementptr {type}, ptr %p, i64 %n
  %b = load {type}, ptr %a
  ret {type} %b
}}
define void @run(ptr %p) {{
  %x = call {KEEPING} {type} @kept(ptr %p, i64 1)
  store {type} %x, ptr %p
  ret void
}}
"""
    loaded = Loaded([compile_object(text, host(), effort)], host(), has_again=False)
    size = {"i1": 1, "i8": 1}.get(type, 8)
    data = bytearray(size) + b"\1" * size
    place = (ctypes.c_ubyte * len(data)).from_buffer(data)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.run)(ctypes.addressof(place))
    assert data == b"\1" * 2 * size


@WIDTHS
@STEPS
@pytest.mark.parametrize("short", [0, 7, ARRAYS - 1])
def test_a_lane_outside_faults(width: int, step: int, short: int) -> None:
    """Each array has exactly what is loaded, but for one."""
    arrays = data(step * (width - 1) + 4)
    cut: list[NDArray[Any]] = [*arrays, np.zeros(width, np.uint32)]
    cut[short] = arrays[short].view(np.uint16)[:-1]
    with pytest.raises(Fault):
        on_both(sums(width, step), cut, 2, width)


@WIDTHS
@pytest.mark.parametrize("step", [0, 4, 12, -4])
@pytest.mark.parametrize("start", [0, 60, 256 - 4, 256, (1 << 32) - 4])
def test_local_memory(width: int, step: int, start: int) -> None:
    """Offsets of 32 bits come round."""
    k = Kernel(width=width, arguments=1)
    lanes = k.b.const(UD, [step * lane % (1 << 32) for lane in range(width)], width)
    k.b.store(Space.SLM, k.mul(k.lane(), k.number(UD, 4)), k.mask(), (k.lane(),))
    first = k.add(k.group_id(), k.number(UD, start))  # of group 0
    (x,) = k.b.load(Space.SLM, k.add(first, lanes), k.mask(), UD)
    k.result(0, k.lane(), x)
    k.end()
    end = (start + step * (width - 1)) % (1 << 32)
    arrays = [np.zeros(width, np.uint32)]
    if max(start, end) <= 252:
        on_both(k, arrays, 1, width, slm_bytes=256)
    else:
        with pytest.raises(Fault):
            on_both(k, arrays, 1, width, slm_bytes=256)


@WIDTHS
@pytest.mark.parametrize("index", [BTI_SLM, SCRATCH_STATE, 0])
@pytest.mark.parametrize("start", [252, 256, 1 << 20])
def test_memory_with_the_index_of_a_surface(width: int, index: int, start: int) -> None:
    """A fault says which memory it is, and surface 0 is another one."""
    k = Kernel(width=width)
    k.b.load(Space.SURFACE, k.number(UD, start), k.mask(), UD, surface=k.b.const(UD, index))
    k.end()
    surfaces = {0: BufferSurface(DEVICE_BASE + 256, 256)}
    more = {"surfaces": surfaces, "slm_bytes": 256, "scratch_bytes": 256}
    if start == 252:
        on_both(k, [np.zeros(64, np.uint32)], 1, width, **more)
    else:
        with pytest.raises(Fault, match=MEMORY[index]):
            on_both(k, [np.zeros(64, np.uint32)], 1, width, **more)


@STEPS
def test_lanes_equally_far_apart_are_one_number(step: int) -> None:
    assert calls(sums(16, step)) == {"load row": ARRAYS, "store row": 1}


@pytest.mark.parametrize(("step", "is_kept"), [(1_118_480, True), (1_118_484, False)])
def test_what_is_too_large_for_one_number_is_said_in_several(step: int, *, is_kept: bool) -> None:
    """Sixteen lanes take 2**24 bytes."""
    k = Kernel(arguments=2)
    k.result(1, k.lane(), k.b.load(Space.FLAT, places(k, 0, step), k.mask(), UD)[0])
    k.end()
    found = calls(k)
    assert found == ({"load row": 1, "store row": 1} if is_kept else {"store row": 1})
    large = np.arange(step * 15 // 4 + 1, dtype=np.uint32)
    got = on_both(k, [large, np.zeros(16, np.uint32)], 2, 16)
    assert (got.read(1) == large[:: step // 4]).all()
    with pytest.raises(Fault):
        on_both(k, [large[:-1], np.zeros(16, np.uint32)], 2, 16)


def test_a_slow_function_may_be_far_from_the_kernel() -> None:
    """Objects are more than 2 GiB apart sometimes: its address comes from a table."""
    text = build(fold_modes(sums(16, 4).function), SPECIAL, host().target).text
    code = assembly(text, host())
    found = re.findall(r"\w+\s+(slow\.load\S*)", code)
    assert found
    assert all("GOT" in name or "got" in name for name in found)


def calls(k: Kernel) -> dict[str, int]:
    """How often each kind of call is in the text of a kernel."""
    function = fold_modes(k.function)
    text = build(function, SPECIAL, host().target).text
    found = [f"{x[1]} {x[0]}" for x in re.findall(r"@kept\.(\w+)\(.*@slow\.(\w+)", text)]
    return {way: found.count(way) for way in sorted(set(found))}


def test_other_lanes_are_addresses_in_memory() -> None:
    k = Kernel(arguments=2)
    for lanes in ([4 * (lane ^ 1) for lane in range(16)], [60 - 4 * lane for lane in range(16)]):
        at = k.add(k.argument(0), k.b.const(UQ, lanes, 16))
        (x,) = k.b.load(Space.FLAT, at, k.mask(), UD)
        k.result(1, k.lane(), x)
    k.end()
    assert calls(k).keys() == {"load at", "store row"}
