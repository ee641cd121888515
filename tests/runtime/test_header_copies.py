"""Functions that ask for ids copy the header r0, into a variable that is declared too short."""

from __future__ import annotations

import numpy as np
import pytest

import eumu

SOURCE = """
int f(global int *x, int n) __attribute__((noinline));
int f(global int *x, int n) { return x[get_global_id(0)] * n + (int)get_group_id(0); }
kernel void k(global int *x, int n) { x[get_global_id(0)] = f(x, n) + f(x, 1); }
"""


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", ["skl", "dg2", "pvc"])
@pytest.mark.usefixtures("ocloc")
def test_functions_know_their_work_item(device: str, engine: str) -> None:
    gpu = eumu.Device(device, engine)
    x = gpu.array(np.arange(256, dtype=np.int32))
    eumu.build(SOURCE, device)["k"].launch(gpu, 256, 32, [x, 5])
    i = np.arange(256)
    assert (x.numpy() == i * 6 + 2 * (i // 32)).all()
