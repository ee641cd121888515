"""Threads of the media pipeline run in waves that respect the scoreboard; groups of them meet.

M3, M5 and M6 of the checklist, on kernels that see in memory who ran before whom.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eumu
from device.test_streamer import walker, wavefront
from eumu.device.commands import (
    Command,
    CommandError,
    MediaThread,
    Packet,
    gpgpu,
    media,
    mi,
    packets,
    render,
)
from eumu.device.commands.jobs import Bases, MediaJob
from eumu.device.commands.media_walker import Deltas, dependencies
from eumu.errors import LaunchError
from eumu.exec.state import thread_payloads
from runtime.test_batches import Driver, native_code

ENGINES = ["interp", "jit"]
ENABLE = "base_address_modify_enable"


class Pipeline:
    """One kernel of native code as threads of the media pipeline.

    `rows` are the payloads, behind the header, of the threads of group 0 of an ordinary launch.
    """

    def __init__(self, engine: str, name: str, sizes: tuple[int, int], args: list[Any]) -> None:
        self.driver = Driver("apl", engine)
        self.device = self.driver.device
        self.arrays = [self.device.array(a) if isinstance(a, np.ndarray) else a for a in args]
        kernel = eumu.load(f"tests/kernels/bin/apl/{name}.bin")[name]
        launch = kernel.submit(self.device, *sizes, self.arrays, level="native")
        self.driver.kept.append(launch)
        grid = replace(launch.grid(), group_count=(1, 1, 1))
        rows = [row.tobytes()[32:] for row in thread_payloads(grid, 0, 1)]
        self.rows = [row + bytes(-len(row) % 32) for row in rows]
        self.slm_bytes = grid.slm_bytes
        self.code = self.driver.place(native_code(name, name, "apl"), "native code")
        self.surfaces = next(
            p.packet.command.surface_state_base_address  # type: ignore[attr-defined]
            for p in packets(launch.bytes)
            if p.title == "STATE_BASE_ADDRESS"
        )

    def start(self, *, in_curbe: bool, vfe: dict[str, Any], **descriptor: Any) -> list[Command]:
        """Everything before the threads; with the payload of thread 0 in the CURBE."""
        row = self.rows[0] if in_curbe else b""
        data = gpgpu.InterfaceDescriptorData(
            constant_urb_entry_read_length=len(row) // 32, **descriptor
        )
        dynamic = self.driver.place(data.encode().ljust(64, b"\0") + row, "the dynamic state")
        bases: dict[str, Any] = {
            **{"surface_state_base_address": self.surfaces, f"surface_state_{ENABLE}": True},
            **{"dynamic_state_base_address": dynamic, f"dynamic_state_{ENABLE}": True},
            **{"instruction_base_address": self.code, f"instruction_{ENABLE}": True},
        }
        curbe = gpgpu.MediaCurbeLoad(curbe_total_data_length=len(row), curbe_data_start_address=64)
        return [
            mi.MiArbOnOff(arbitration_enable=False),
            render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection.MEDIA),
            render.StateBaseAddress(**bases),
            render.PipeControl(state_cache_invalidation_enable=True),
            gpgpu.MediaVfeState(
                maximum_number_of_threads=107,
                urb_entry_allocation_size=256,
                curbe_allocation_size=len(row) // 32,
                **vfe,
            ),
            *([curbe] if row else []),
            gpgpu.MediaInterfaceDescriptorLoad(interface_descriptor_total_length=32),
        ]


# The dependency patterns by their public names: deltas of the neighbours that a thread waits for.
PATTERNS = {"wavefront": [(-1, 0), (0, -1)], "wavefront26": [(-1, 0), (1, -1)]}


def scoreboard(deltas: list[tuple[int, int]]) -> dict[str, Any]:
    fields: dict[str, Any] = {"scoreboard_enable": True, "scoreboard_mask": (1 << len(deltas)) - 1}
    for k, (x, y) in enumerate(deltas):
        fields |= {f"scoreboard_{k}_delta_x": x, f"scoreboard_{k}_delta_y": y}
    return fields


def longest_paths(given: np.ndarray[Any, Any], reach: int) -> np.ndarray[Any, Any]:
    """What the kernel `wavefront` computes, cell after cell."""
    height, width = given.shape
    cells = np.zeros_like(given)
    for y in range(height):
        for x in range(width):
            left = cells[y, x - 1] if x else 0
            above = cells[y - 1, min(x + reach, width - 1)] if y else 0
            cells[y, x] = max(left, above) + given[y, x]
    return cells


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("order", ["wavefront order", "raster order"])
def test_m6_each_thread_sees_what_it_waited_for(engine: str, pattern: str, order: str) -> None:
    """Whatever the order of the walker, the scoreboard makes the results those of one thread."""
    width, height, reach = 11, 7, int(pattern == "wavefront26")
    given = np.random.default_rng(1).integers(1, 100, (height, width)).astype(np.int32)
    cells = np.full((height, width), -1000, np.int32)
    seen = np.zeros(1 + given.size, np.int32)
    arguments = [cells, seen, given, width, reach]
    pipeline = Pipeline(engine, "wavefront", (32, 32), arguments)
    deltas = PATTERNS[pattern]
    command = wavefront(width, height, 1 + reach)
    if order == "raster order":
        command = walker(
            **{"block_resolution_x": width, "block_resolution_y": height},
            **{"global_resolution_x": width, "global_resolution_y": height},
            **{"global_inner_loop_unit_x": width, "local_loop_exec_count": height - 1},
        )
    command = replace(command, use_scoreboard=True, scoreboard_mask=(1 << len(deltas)) - 1)
    start = pipeline.start(in_curbe=True, vfe=scoreboard(deltas))
    report = pipeline.driver.queue.submit(pipeline.driver.batch(*start, command))
    assert report.threads == given.size and report.engines == {engine}
    assert (pipeline.arrays[0].numpy() == longest_paths(given, reach)).all()
    # In what order they ran: the kernel wrote it down.
    count, *ran = pipeline.arrays[1].numpy().tolist()
    assert count == given.size and sorted(ran) == list(range(given.size))
    when = {(place % width, place // width): k for k, place in enumerate(ran)}
    for x, y in when:
        for dx, dy in deltas:
            assert (x + dx, y + dy) not in when or when[x + dx, y + dy] < when[x, y]
    # As few waves as there can be: the longest chain of dependencies.
    assert len(report.waves) == width + (1 + reach) * (height - 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_without_a_scoreboard_are_one_wave(engine: str) -> None:
    given = np.arange(24, dtype=np.int32)[None]
    arguments = [np.zeros(24, np.int32), np.zeros(25, np.int32), given, 24, 0]
    pipeline = Pipeline(engine, "wavefront", (32, 32), arguments)
    command = replace(walker(), block_resolution_y=1, global_resolution_y=1)
    start = pipeline.start(in_curbe=True, vfe={})
    report = pipeline.driver.queue.submit(pipeline.driver.batch(*start, command))
    assert [len(wave) for wave in report.waves] == [4] and report.groups == 4


def test_waves_of_random_scoreboards() -> None:
    """No thread is in the wave of one that it waits for, or before it; none is lost."""
    rng = random.Random(9)
    data = gpgpu.InterfaceDescriptorData()
    for _ in range(300):
        places = [
            (rng.randrange(6), rng.randrange(6), rng.randrange(2))
            for _ in range(rng.randrange(1, 40))
        ]
        deltas = tuple(
            (rng.randrange(-8, 8), rng.randrange(-8, 8)) for _ in range(rng.randrange(9))
        )
        after = dependencies(places, Deltas(deltas))
        threads = tuple(MediaThread(*p, k.to_bytes(4, "little")) for k, p in enumerate(places))
        waves = MediaJob("test", 0, data, Bases(), threads, after).waves()
        level = {t.data: n for n, wave in enumerate(waves) for t in wave}
        assert sorted(level) == sorted(t.data for t in threads)
        assert sum(map(len, waves)) == len(threads)
        for thread, waited in zip(threads, after, strict=True):
            assert all(level[threads[k].data] < level[thread.data] for k in waited)
            if level[thread.data]:
                assert any(level[threads[k].data] == level[thread.data] - 1 for k in waited)


# ---- groups of media threads


def group_of(pipeline: Pipeline, number: int, *, is_ended: bool = True) -> list[Packet]:
    """A MEDIA_OBJECT_GRPID for each row; each thread has its payload inline."""
    last = len(pipeline.rows) - 1
    return [
        Packet(
            media.MediaObjectGrpid(
                end_of_thread_group=is_ended and k == last, scoreboard_x=number, group_id=number
            ),
            row,
        )
        for k, row in enumerate(pipeline.rows)
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_of_a_group_meet_and_share_memory(engine: str) -> None:
    """A reduction: shared local memory, and a barrier of the threads of one group id."""
    x = np.arange(512, dtype=np.float32)
    arguments = [x, np.zeros(4, np.float32), eumu.Local(512)]
    pipeline = Pipeline(engine, "reduce", (512, 128), arguments)
    assert len(pipeline.rows) > 1
    start = pipeline.start(
        in_curbe=False,
        vfe={},
        barrier_enable=True,
        number_of_threads_in_gpgpu_thread_group=len(pipeline.rows),
        shared_local_memory_size=gpgpu.SharedLocalMemorySize.SLM_1K,
    )
    groups = [packet for number in (0, 2) for packet in group_of(pipeline, number)]
    report = pipeline.driver.queue.submit(pipeline.driver.batch(*start, *groups))
    assert [len(wave) for wave in report.waves] == [len(pipeline.rows)] * 2
    sums = x.reshape(4, 128).sum(axis=1)
    assert (pipeline.arrays[1].numpy() == sums * [1, 0, 1, 0]).all()


def test_groups_that_do_not_end() -> None:
    arguments = [np.zeros(512, np.float32), np.zeros(4, np.float32), eumu.Local(512)]
    pipeline = Pipeline("interp", "reduce", (512, 128), arguments)
    start = pipeline.start(in_curbe=False, vfe={})
    open_group = group_of(pipeline, 0, is_ended=False)
    queue, batch = pipeline.driver.queue, pipeline.driver.batch
    with pytest.raises(CommandError, match=r"batch ends before .* has ended thread group 0"):
        queue.submit(batch(*start, *open_group))
    with pytest.raises(CommandError, match=r"of group 1 comes before .* thread group 0"):
        queue.submit(batch(*start, *open_group, *group_of(pipeline, 1)))
    with pytest.raises(CommandError, match="another kernel, descriptor or payload"):
        longer = replace(group_of(pipeline, 0)[-1], inline=bytes(4096))
        queue.submit(batch(*start, *open_group, longer))
    many = [p for _ in range(20) for p in open_group] + group_of(pipeline, 0)
    with pytest.raises(LaunchError, match="no subslice of bxt-3x6 can hold"):
        queue.submit(batch(*start, *many))
    with pytest.raises(CommandError, match=r"has 4 threads; with a barrier as many as .*: 5"):
        uneven = pipeline.start(
            in_curbe=False,
            vfe={},
            barrier_enable=True,
            number_of_threads_in_gpgpu_thread_group=5,
        )
        queue.submit(batch(*uneven, *group_of(pipeline, 0)))
    with pytest.raises(CommandError, match="no group, and the descriptor sets Barrier Enable"):
        barrier = pipeline.start(in_curbe=True, vfe={}, barrier_enable=True)
        stall = render.PipeControl(command_streamer_stall_enable=True)
        queue.submit(batch(stall, *barrier, media.MediaObject()))
