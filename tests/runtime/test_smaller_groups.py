"""Launches whose groups at the end are smaller: what each work item is told of itself."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

import eumu
from eumu.errors import Fault, LaunchError, Unsupported
from eumu.exec.grid import RunStats
from eumu.runtime import Device, Kernel, build
from eumu.zebin import smaller_groups

# A row for each work item: sizes and ids, and how many items of its group came.
SOURCE = """
kernel void tell(global uint *out, uint w, uint h) {
  local uint come;
  if (get_local_id(0) + get_local_id(1) + get_local_id(2) == 0) come = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc((volatile local uint *)&come);
  barrier(CLK_LOCAL_MEM_FENCE);
  size_t x = get_global_id(0);
  size_t y = get_global_id(1) - get_global_offset(1), z = get_global_id(2) - get_global_offset(2);
  size_t i = (z * h + y) * w + x - get_global_offset(0);
  global uint *row = out + 10 * i;
  for (uint d = 0; d < 3; d++) row[d] = get_local_size(d), row[3 + d] = get_group_id(d);
  row[6] = get_enqueued_local_size(0), row[7] = get_num_groups(0), row[8] = x, row[9] = come;
}
kernel void beyond(global uint *out) { out[get_global_id(0) == 98 ? 5000 : 0] = 1; }
"""
Dim3 = tuple[int, int, int]


def rows(whole: Dim3, local: Dim3, offset: Dim3) -> np.ndarray:
    """What `tell` is to write, uint32[z, y, x, 10]."""
    found = np.zeros((*reversed(whole), 10), np.uint32)
    for z, y, x in product(*map(range, reversed(whole))):
        group = x // local[0], y // local[1], z // local[2]
        size = [min(n, all - g * n) for g, n, all in zip(group, local, whole, strict=True)]
        count = -(-whole[0] // local[0])
        found[z, y, x] = *size, *group, local[0], count, x + offset[0], prod(size)
    return found


def told(kernel: Kernel, device: Device, sizes: tuple[Dim3, Dim3, Dim3], via: str) -> np.ndarray:
    whole, local, offset = sizes
    out = device.array(np.zeros((*reversed(whole), 10), np.uint32))
    arguments = [out, whole[0], whole[1]]
    kernel.launch(device, whole, local, arguments, global_offset=offset, via=via)
    return out.numpy()


@pytest.mark.parametrize(("name", "engine"), [("skl", "jit"), ("skl", "interp"), ("pvc", "jit")])
def test_each_item_knows_its_group(name: str, engine: str, ocloc: str) -> None:
    device = Device(name, engine)
    kernel = build(SOURCE.encode(), device=device, options="-cl-std=CL2.0")["tell"]
    for sizes in (
        ((100, 1, 1), (32, 1, 1), (5, 0, 0)),
        ((9, 5, 7), (4, 5, 2), (1, 2, 3)),
        ((3, 1, 1), (8, 1, 1), (0, 0, 0)),
    ):
        for via in ("record", "commands") if name == "skl" else ("record",):
            assert (told(kernel, device, sizes, via) == rows(*sizes)).all(), (sizes, via)


def test_a_fault_in_the_last_group_names_its_item(ocloc: str) -> None:
    device = Device("pvc")
    program = build(SOURCE.encode(), device=device, options="-cl-std=CL3.0")
    with pytest.raises(Fault) as caught:
        program["beyond"].launch(device, 100, 32, [device.array(np.zeros(100, np.uint32))])
    finding = caught.value.finding
    assert finding.global_id == (98, 0, 0) and finding.group == (3, 0, 0)


def test_a_launch_of_parts_is_stopped_and_resumed(ocloc: str, tmp_path: object) -> None:
    device = Device("pvc")
    kernel = build(SOURCE.encode(), device=device, options="-cl-std=CL2.0")["tell"]
    out = device.array(np.zeros((100, 10), np.uint32))
    device.preempt(groups=2)
    assert kernel.launch(device, 100, 32, [out, 100, 1]).preempted
    with pytest.raises(Unsupported, match="last groups are smaller"):
        device.checkpoint(f"{tmp_path}/held")
    assert not out.numpy()[64:].any()
    device.resume()
    expected = rows((100, 1, 1), (32, 1, 1), (0, 0, 0))
    assert (out.numpy() == expected[0, 0]).all()


def test_what_is_refused(ocloc: str) -> None:
    device = Device("pvc")
    source = SOURCE.replace("get_enqueued_local_size", "get_local_size").encode()
    kernel = build(source, device=device)["tell"]
    arguments = [device.array(np.zeros(1000, np.uint32)), 100, 1]
    with pytest.raises(LaunchError, match=r"100 in x does not divide .* -cl-std=CL2.0 or newer"):
        kernel.launch(device, 100, 32, arguments)


def test_options_that_allow_them() -> None:
    allowed = (
        "-cl-std=CL2.0",
        "-cl-std=CL1.2 -cl-std=CL3.0",
        "-g -cl-std=CLC++",
        "-cl-std=CLC++2021",
    )
    assert all(smaller_groups(options) for options in allowed)
    refused = ("", "-cl-std=CL1.2", "-cl-std=CL2.0 -cl-uniform-work-group-size")
    assert not any(smaller_groups(options) for options in refused)


def test_what_several_parts_find_is_one_finding() -> None:
    one = eumu.Finding("undefined", "r0 is read", count=3)
    other = eumu.Finding("undefined", "r0 is read", count=2)
    stats = RunStats.of_parts([RunStats(5, 2, 1, (one,)), RunStats(7, 3, 2, (other,))])
    assert (stats.instructions, stats.threads, stats.groups) == (12, 5, 3)
    assert [finding.count for finding in stats.findings] == [5]
