"""Barriers that span subslices: a walker of native code whose threads all meet, and its warning.

Thread t puts t + 1 into element t, comes to the barrier, and then into element t of another array
what its right neighbour has put: without the barrier threads that run first would see zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from eumu import native
from eumu.device.commands import encode, gpgpu, mi, render
from eumu.runtime.batches import BatchReport, CommandQueue

THREADS = 40  # a subslice of the part has 36
BARRIER = """
(W) mov (8|M0) r20.0<1>:ud 0:ud
(W) and (1|M0) r20.2<1>:ud r0.2<0;1,0>:ud 0x8F000000:ud
(W) or (1|M0) r20.2<1>:ud r20.2<0;1,0>:ud {count}:ud
(W) mov (1|M0) n0.0<1>:ud 0:ud
(W) send (1|M0) null r20 0x3 0x02000004
(W) wait n0.0<0;1,0>:ud
"""
# Constants of a thread: its place, that of its neighbour, and where the result goes.
CODE = """
(W) mov (8|M0) r10.0<1>:q r1.0<0;1,0>:q
(W) mov (8|M0) r14.0<1>:q r1.1<0;1,0>:q
(W) mov (8|M0) r16.0<1>:q r1.2<0;1,0>:q
(W) mov (8|M0) r12.0<1>:ud r1.6<0;1,0>:ud
(W) sends (1|M0) null:w r10 r12 0x4C 0x04066EFF
{barrier}
(W) send (1|M0) r18 r14 0xC 0x04146EFF
(W) sends (1|M0) null:w r16 r18 0x4C 0x04066EFF
(W) send (8|M0) null r127 0x27 0x02000010 {{EOT}}
"""


def run(engine: str, barrier: str, **descriptor: Any) -> tuple[list[int], BatchReport]:
    """What the threads saw of their neighbours."""
    device = eumu.Device("apl", engine)
    values, seen = (device.array(np.zeros(THREADS, np.uint32)) for _ in range(2))
    rows = np.zeros((THREADS, 4), np.uint64)
    numbers = np.arange(THREADS)
    rows[:, 0] = values.address + 4 * numbers
    rows[:, 1] = values.address + 4 * ((numbers + 1) % THREADS)
    rows[:, 2] = seen.address + 4 * numbers
    rows[:, 3] = numbers + 1

    def place(data: bytes, name: str) -> int:
        allocation = device.memory.allocate(max(4096, len(data)), name)
        device.memory.view(allocation)[: len(data)] = list(data)
        return allocation.start

    code = place(native.encode(native.parse(CODE.format(barrier=barrier))), "code")
    loaded = gpgpu.InterfaceDescriptorData(
        constant_urb_entry_read_length=1,
        number_of_threads_in_gpgpu_thread_group=THREADS,
        **descriptor,
    ).encode()
    dynamic = place(loaded.ljust(64, b"\0") + rows.tobytes(), "dynamic state")
    bases = render.StateBaseAddress(
        dynamic_state_base_address=dynamic,
        dynamic_state_base_address_modify_enable=True,
        instruction_base_address=code,
        instruction_base_address_modify_enable=True,
    )
    batch = [
        render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection.GPGPU),
        bases,
        render.PipeControl(state_cache_invalidation_enable=True),
        gpgpu.MediaVfeState(
            maximum_number_of_threads=100, curbe_allocation_size=64, urb_entry_allocation_size=2
        ),
        gpgpu.MediaCurbeLoad(curbe_total_data_length=rows.nbytes, curbe_data_start_address=64),
        gpgpu.MediaInterfaceDescriptorLoad(interface_descriptor_total_length=32),
        gpgpu.GpgpuWalker(
            simd_size=gpgpu.SimdSize.SIMD8,
            thread_width_counter_maximum=THREADS - 1,
            **{f"thread_group_id_{axis}_dimension": 1 for axis in "xyz"},
            right_execution_mask=0xFF,
            bottom_execution_mask=0xFFFFFFFF,
        ),
        mi.MiBatchBufferEnd(),
    ]
    queue = CommandQueue(device)
    report = queue.submit(place(encode(batch), "a batch"))
    assert report.threads == THREADS
    return seen.numpy().tolist(), report


EXPECTED = [(t + 1) % THREADS + 1 for t in range(THREADS)]


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_threads_of_several_subslices_meet(engine: str) -> None:
    seen, report = run(engine, BARRIER.format(count=0), global_barrier_enable=True)
    assert seen == EXPECTED
    assert report.findings == []
    # On the whole part, of 108 threads: no subslice could hold a group.
    assert [sum(o.groups for o in row) for row in report.occupancy] == [2]


def test_without_the_barrier_they_do_not() -> None:
    """On the fast engine, where one thread runs after the other."""
    assert run("jit", "", global_barrier_enable=True)[0] != EXPECTED


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_count_in_the_message_is_warned_of(engine: str) -> None:
    """Barrier Count Enable, which barriers that span subslices must not have: once a command."""
    barrier = BARRIER.format(count=hex(1 << 15 | THREADS << 9))
    seen, report = run(engine, barrier, global_barrier_enable=True)
    assert seen == EXPECTED
    (finding,) = report.findings
    assert (finding.code, finding.severity.name) == ("barrier-count", "WARNING")
    assert "Barrier Count Enable" in finding.message
