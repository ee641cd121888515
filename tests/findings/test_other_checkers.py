"""What the table of other checkers in docs/checking.md says of eumu, where no other test does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu

SOURCE = """
kernel void local_unset(global int *o) {
    local int t[64];
    int l = get_local_id(0);
    if (l == 500) t[l] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    o[l] = t[l ^ 1] + 1;
}
kernel void used_before_the_wait(global int *o, global int *in) {
    local int t[64];
    int l = get_local_id(0);
    event_t e = async_work_group_copy(t, in, 64, 0);
    o[l] = t[l ^ 1];
    wait_group_events(1, &e);
}
kernel void beyond_local(global int *o, int n) {
    local int t[16];
    int l = get_local_id(0);
    t[l & 15] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    o[l] = t[(l & 15) + n];
}
kernel void beyond_private(global int *o, int n) {
    int a[8];
    for (int i = 0; i < 8; i++) a[i] = o[i];
    o[get_global_id(0)] = a[n];
}
"""


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", ["skl", "pvc"])
@pytest.mark.parametrize(
    ("name", "check", "more", "code"),
    [
        ("local_unset", "undefined", None, "undefined"),
        ("used_before_the_wait", "races,copies", np.ones(64, np.int32), "race"),
        ("beyond_local", "", 100_000, "out-of-bounds"),
        ("beyond_local", "indices", 5, "array-index"),
        ("beyond_private", "indices", 9, "array-index"),
    ],
)
def test_what_is_found(
    name: str, check: str, more: Any, code: str, device: str, engine: str, ocloc: str
) -> None:
    kernel = eumu.build(SOURCE, device, check=check or False)[name]
    dev = eumu.Device(device, engine=engine, check=check or False)
    args: list[Any] = [dev.array(np.ones(64, np.int32))]
    if more is not None:
        args.append(dev.array(more) if isinstance(more, np.ndarray) else more)
    try:
        found = kernel.launch(dev, 64, 64, args).findings
    except eumu.Fault as fault:
        found = (fault.finding, *fault.findings)
    assert code in {f.code for f in found}
