"""Stores past the caches: into arrays that are large and are not read."""

from __future__ import annotations

import re

import numpy as np
import pytest

from eumu.exec.jit import Jit
from eumu.exec.jit.codegen import streaming
from eumu.exec.jit.driver.module import build
from eumu.exec.jit.host import launch as launching
from eumu.exec.jit.host import target
from eumu.exec.jit.host.specials import specialise
from eumu.ir import Space
from eumu.ir.passes import fold_modes
from eumu.types import DF, UB, UD, UW, Type
from exec.launching import Host, Kernel, grid_of, on_both

WIDTH = 32
GROUPS = 100


@pytest.fixture(autouse=True)
def _arrays_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")
    monkeypatch.setattr(launching, "_LARGE", 256)


def shifted(type: Type, shift: int, *, again: bool = False) -> Kernel:
    """Array 1, from element `shift` on, is twice array 0; `again` increases it afterwards."""
    k = Kernel(width=WIDTH)
    here = k.item(WIDTH)
    there = k.add(here, k.number(UD, shift))
    x = k.input(0, here, type)
    k.result(1, there, k.add(x, x))
    if again:
        k.result(1, there, k.add(k.input(1, there, type), k.number(type, 1)))
    k.end()
    return k


@pytest.mark.parametrize("type", [UB, UW, UD, DF], ids=str)
@pytest.mark.parametrize("shift", [0, 1, 16, 64])
@pytest.mark.parametrize("again", [False, True])
def test_results(type: Type, shift: int, again: bool) -> None:
    dtype = np.dtype(f"{'f' if type is DF else 'u'}{type.size}")
    x = (np.arange(WIDTH * GROUPS) % 100).astype(dtype)
    out = np.zeros(len(x) + 64, dtype)
    host = on_both(shifted(type, shift, again=again), [x, out], GROUPS, WIDTH)
    np.testing.assert_array_equal(host.read(1)[shift : shift + len(x)], 2 * x + int(again))


def test_some_lanes_store() -> None:
    k = Kernel(width=WIDTH)
    here = k.item(WIDTH)
    x = k.input(0, here, UD)
    k.result(1, here, x, k.b.cmp("gt", x, k.number(UD, 5)))
    k.end()
    x = np.arange(WIDTH * GROUPS, dtype=np.uint32) % 97
    x[: 50 * WIDTH] += 6
    host = on_both(k, [x, np.zeros_like(x)], GROUPS, WIDTH)
    np.testing.assert_array_equal(host.read(1), np.where(x > 5, x, 0))


def code(k: Kernel, features: str, local: int = WIDTH) -> str:
    function = fold_modes(k.function)
    size = local * GROUPS
    host = Host([np.zeros(size + pad, np.uint32) for pad in (0, 64, 0)])
    processor = target.Processor("x86_64-unknown-linux-gnu", "x86-64", features)
    special = specialise(grid_of(function, host, GROUPS, local, slm_bytes=8 * WIDTH))
    return str(target.assembly(build(function, special, processor.target).text, processor))


@pytest.mark.parametrize("features", ["", "+avx,+avx2", "+avx512f,+avx512vl,+avx512bw,+avx512dq"])
def test_the_code_has_them_on_every_processor(features: str) -> None:
    text = code(shifted(UD, 0), features)
    assert re.search(r"movnt", text)
    assert re.search(r"movnt(.*\n)*.*(mfence|lock)", text)  # a locked instruction waits, too


@pytest.mark.parametrize(
    ("cpu", "features"), [("x86-64", ""), ("haswell", "+avx2,+avx,+f16c,+fma")]
)
@pytest.mark.parametrize("type", [UB, UD, DF], ids=str)
def test_results_with_smaller_vectors(type: Type, cpu: str, features: str) -> None:
    if cpu == "haswell" and not target.host().has("avx2"):
        pytest.skip("this host has no AVX2")
    if not target.host().triple.startswith("x86_64"):
        pytest.skip("this host is no x86-64")
    processor = target.Processor(target.host().triple, cpu, features)
    dtype = np.dtype(f"{'f' if type is DF else 'u'}{type.size}")
    x = (np.arange(WIDTH * GROUPS) % 100).astype(dtype)
    function = fold_modes(shifted(type, 0).function)
    host = Host([x, np.zeros_like(x)])
    Jit(processor=processor).run(grid_of(function, host, GROUPS, WIDTH), host)
    np.testing.assert_array_equal(host.read(1), 2 * x)


def test_what_others_wait_for_is_stored_in_order() -> None:
    k = Kernel(width=WIDTH)
    here = k.item(WIDTH)
    k.result(1, here, k.input(0, here, UD))
    assert streaming.may_stream(k.function)
    k.b.fence("group")
    k.result(1, here, here)
    k.end()
    assert not streaming.may_stream(k.function)
    assert "movnt" not in code(k, "")


def test_the_size_of_the_cache() -> None:
    assert 1 << 16 <= target.large() <= 1 << 34


def turned(scope: str = "local", *, again: bool = False) -> Kernel:
    """Groups of two threads: array 1 is twice array 0, and array 2 what the other thread has there.

    With `again` it is what the other thread has in array 1, and array 1 is changed afterwards.
    """
    k = Kernel("entry", "behind", "last", width=WIDTH)
    local, here = k.local_id(), k.item(2 * WIDTH)
    x = k.input(0, here, UD)
    k.b.store(Space.SLM, k.mul(local, k.number(UD, 4)), k.mask(), [x])
    k.result(1, here, k.add(x, x))
    k.b.fence(scope)
    k.go("barrier", "behind", kind="sync")
    k.at("behind")
    other = k.b.xor(k.local_id(), k.number(UD, WIDTH))
    (y,) = k.b.load(Space.SLM, k.mul(other, k.number(UD, 4)), k.mask(), UD)
    here = k.item(2 * WIDTH)
    if again:
        y = k.input(1, k.b.xor(here, k.number(UD, WIDTH)), UD)
    k.result(2, here, y)
    k.go("barrier", "last", kind="sync")
    k.at("last")
    if again:
        here = k.item(2 * WIDTH)
        k.result(1, here, k.add(k.input(1, here, UD), k.number(UD, 1)))
    k.end()
    return k


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("again", [False, True])
def test_results_around_barriers(again: bool, workers: int) -> None:
    """What goes past the caches before a barrier is there for the group's threads behind it."""
    size = 2 * WIDTH * GROUPS
    x = np.random.default_rng(5).integers(0, 1 << 30, size, np.uint32)
    host = Host([x, np.zeros(size, np.uint32), np.zeros(size, np.uint32)])
    function = fold_modes(turned(again=again).function)
    grid = grid_of(function, host, GROUPS, 2 * WIDTH, slm_bytes=8 * WIDTH)
    Jit(workers=workers).run(grid, host)
    others = x.reshape(-1, 2, WIDTH)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(host.read(1), 2 * x + int(again))
    np.testing.assert_array_equal(host.read(2), others * (1 + int(again)))


def test_local_fences_let_stores_pass() -> None:
    """One processor runs the threads of a group; a fence of all memory is for others, too."""
    assert streaming.may_stream(turned().function)
    assert not streaming.may_stream(turned("global").function)
    assert "movnt" in code(turned(), "", 2 * WIDTH)
    assert "movnt" not in code(turned("global"), "", 2 * WIDTH)
