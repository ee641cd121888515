"""Lanes of a program with barriers of sub-groups run together."""

from __future__ import annotations

import numpy as np
import pytest

import eumu

SOURCE = """
kernel void meet(global int *out) {
  local atomic_int flag;
  int me = get_local_id(0);
  if (me == 0) atomic_init(&flag, 0);
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  if (get_sub_group_local_id() == 0) {
    if (get_sub_group_id() == 0)
      while (atomic_load(&flag) != 1000);
    else if (get_sub_group_id() == 1)
      for (int i = 0; i < 1000; i++) atomic_fetch_add(&flag, 1);
  }
  sub_group_barrier(CLK_LOCAL_MEM_FENCE);
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  out[me] = atomic_load(&flag) + sub_group_reduce_add(1);
}
"""


@pytest.mark.parametrize("device", ["skl", "pvc"])
@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_lane_that_waits_for_another_thread(device: str, engine: str, ocloc: str) -> None:
    """The others of its thread wait at the barrier, for which the compiler makes no instruction."""
    dev = eumu.Device(device, engine=engine)
    kernel = eumu.build(SOURCE, dev, "-cl-std=CL3.0")["meet"]
    out = dev.array(64, np.int32)
    kernel.launch(dev, 64, 64, [out])
    (value,) = set(out.numpy().tolist())
    assert value - 1000 in (8, 16, 32)
