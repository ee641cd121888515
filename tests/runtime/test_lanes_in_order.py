"""Lanes of a program that has barriers, or sees its sub-groups, do not run ahead of each other."""

from __future__ import annotations

import numpy as np
import pytest

import eumu

SUB_GROUP_BARRIER = """
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
WAITING = """
kernel void meet(global int *out, int turns) {
  int me = get_local_id(0), seen = 0;
  if (me == 0)
    while ((seen = atomic_add(out + 64, 0)) == 0);
  else if (me == 63) {
    for (int i = 0; i < turns; i++) atomic_inc(out + 65);
    atomic_xchg(out + 64, 1000);
  }
"""
ENDS = {
    "barrier": "local int all; if (me == 0) all = seen; barrier(CLK_LOCAL_MEM_FENCE); seen = all;",
    "sum": "seen = sub_group_reduce_add(seen);",
}
TURNS = {"interp": 1000, "jit": 100_000}  # longer than it takes to see that state repeats


@pytest.mark.parametrize("device", ["skl", "pvc"])
@pytest.mark.parametrize("engine", TURNS)
@pytest.mark.parametrize("end", ENDS)
def test_a_lane_waits_for_another_thread(end: str, device: str, engine: str, ocloc: str) -> None:
    """The others of its thread wait for it, at a barrier or where they add up what they have."""
    dev = eumu.Device(device, engine=engine)
    source = f"{WAITING}{ENDS[end]} out[me] = seen; }}"
    kernel = eumu.build(source, dev, "-cl-std=CL3.0")["meet"]
    out = dev.array(np.zeros(66, np.int32))
    kernel.launch(dev, 64, 64, [out, TURNS[engine]], level="visa")
    values = out.numpy()[:64].tolist()
    first = 64 if end == "barrier" else values.count(1000)
    assert values == [1000] * first + [0] * (64 - first) and first in (8, 16, 32, 64)


@pytest.mark.parametrize("device", ["skl", "pvc"])
@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_lane_that_waits_for_another_thread(device: str, engine: str, ocloc: str) -> None:
    """The others of its thread wait at the barrier, for which the compiler makes no instruction."""
    dev = eumu.Device(device, engine=engine)
    kernel = eumu.build(SUB_GROUP_BARRIER, dev, "-cl-std=CL3.0")["meet"]
    out = dev.array(64, np.int32)
    kernel.launch(dev, 64, 64, [out])
    (value,) = set(out.numpy().tolist())
    assert value - 1000 in (8, 16, 32)


VOLATILE = """
__attribute__((noinline)) int seen(global volatile int *flag) { return flag[0]; }
kernel void meet(global volatile int *flag, global int *out) {
  local volatile int here;
  int me = get_local_id(0);
  if (me == 0) here = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (me == 0) while (seen(flag) == 0);
  if (me == 63) while (here == 0) flag[0] = 1;
  if (me == 0) here = 5;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[me] = here;
}
"""


@pytest.mark.parametrize("level", ["visa", "native"])
@pytest.mark.parametrize("options", ["", "-cl-opt-disable"])
@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_threads_that_wait_by_loads(engine: str, options: str, level: str, ocloc: str) -> None:
    dev = eumu.Device("skl", engine=engine)
    kernel = eumu.build(VOLATILE, dev, options)["meet"]
    flag, out = (dev.array(np.zeros(64, np.int32)) for _ in range(2))
    kernel.launch(dev, 64, 64, [flag, out], level=level, fuel=1 << 22)
    assert out.numpy().tolist() == [5] * 64
