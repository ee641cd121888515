"""Stack calls as the compiler emits them: recursion, and functions reached by address."""

from __future__ import annotations

from math import factorial
from pathlib import Path

import numpy as np
import pytest

import eumu

DATA = Path(__file__).parents[2] / "zebin" / "data"
DEVICES = ("pvc", "skl", "apl")
both = pytest.mark.parametrize("engine", ["interp", "jit"])


def own(n: int, p: list[int]) -> int:
    return p[n] if n <= 1 else n * own(n - 1, p)


def shared(n: int, p: list[int]) -> int:
    return p[n] if n <= 1 else shared(n - 1, p) + shared(n - 2, p)


@both
@pytest.mark.parametrize("device", DEVICES)
def test_recursion_in_a_function_of_one_kernel_and_through_an_address(
    device: str, engine: str
) -> None:
    dev = eumu.Device(device, engine=engine)
    kernel = eumu.load(DATA / f"symbols.{device}.bin")["calls_own"]
    values = [3, 6, 9, 0]
    buffer = dev.array(values, np.int32)
    assert kernel.launch(dev, 1, args=[buffer]).engine == engine
    assert buffer.numpy().tolist() == [own(6, values) + shared(9, values), 6, 9, 0]


@both
@pytest.mark.parametrize("device", DEVICES)
def test_lanes_of_a_recursion_are_at_different_depths(device: str, engine: str, ocloc: str) -> None:
    source = """
        __attribute__((noinline)) int fact(int n) { return n <= 1 ? 1 : n * fact(n - 1); }
        __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
        kernel void k(global int *a) {
            int i = get_global_id(0);
            int n = a[i];
            if (n & 1) a[i] = fact(n); else a[i] = fib(n) + fact(n / 2);
        }"""
    dev = eumu.Device(device, engine=engine)
    n = [k % 11 for k in range(80)]
    buffer = dev.array(n, np.int32)
    assert eumu.build(source, dev)["k"].launch(dev, 80, 40, [buffer]).engine == engine
    fib = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    want = [factorial(k) if k & 1 else fib[k] + factorial(k // 2) for k in n]
    assert buffer.numpy().tolist() == want
