"""Thread pools steer where groups run, in launches and in batches, and change no result (T4, T5).

The part is the PRM's example: three subslices of six units with six threads each.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.chip.pools import MAP_3X6
from eumu.device.commands import Packet, encode, gpgpu, mi, packets, render
from eumu.device.profile import Profile
from eumu.errors import LaunchError
from eumu.runtime.batches import CommandQueue
from eumu.runtime.submission import Submission
from runtime.test_batches import Driver, native_code
from test_kernels import _load

MODES = [pytest.param(None, id="legacy"), pytest.param(MAP_3X6, id="pooled")]


def reduction(dev: eumu.Device, **how: Any) -> tuple[Any, Any]:
    """16 groups of 128 work items, with shared local memory and barriers."""
    x = dev.array(np.arange(2048, dtype=np.float32), name="x")
    out = dev.array(np.zeros(16, np.float32), name="out")
    arguments = [x, out, eumu.Local(512)]
    kernel = _load("reduce", "apl")["reduce"]
    return kernel.launch(dev, (2048,), (128,), arguments, **how), out


SUMS = np.arange(2048, dtype=np.float32).reshape(16, 128).sum(axis=1)


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("via", ["record", "commands"])
def test_t5_results_do_not_depend_on_the_mode(engine: str, via: str) -> None:
    found = []
    for pools in (None, MAP_3X6, 0x117711):
        dev = eumu.Device("apl", engine, pools=pools)
        report, out = reduction(dev, via=via)
        found.append((out.numpy().tobytes(), report.instructions, report.groups))
    assert found[0] == found[1] == found[2]
    assert found[0][0] == SUMS.tobytes()


def test_t5_the_picture_follows_the_launch() -> None:
    pools = {}
    for mode in (None, MAP_3X6):
        dev = eumu.Device("apl", pools=mode)
        dev.observer = profile = Profile()
        reduction(dev, via="commands")
        schedule = profile.schedule(dev.part)
        pools[mode] = [p.threads for p in schedule.pools]
        assert len(schedule.placements) == 16
    assert pools == {None: [36, 36, 36], MAP_3X6: [54, 54]}


@pytest.mark.parametrize("mode", MODES)
def test_t4_a_checkpoint_keeps_the_pools(mode: int | None, tmp_path: Path) -> None:
    """Groups of 27 threads: three are resident in subslices, four in pools."""
    dev = eumu.Device("apl", pools=mode)
    dev.preempt(after=500)
    report, _ = reduction(dev)
    held = dev.suspended
    assert report.preempted and held is not None and held.grid.pool_map == mode
    used = {placement.pool for placement in held.residents.placements}
    assert used == (set(range(3)) if mode is None else {0, 1})
    dev.checkpoint(tmp_path / "grid")
    other = eumu.Device("apl")
    arrays = other.restore(tmp_path / "grid", _load("reduce", "apl")["reduce"])
    assert other.suspended is not None and other.suspended.grid.pool_map == mode
    other.resume()
    assert arrays["out"].numpy().tobytes() == SUMS.tobytes()


def large_groups(driver: Driver) -> tuple[Any, list[Packet]]:
    """Saxpy in two groups of 48 threads: more than the 36 of a subslice, fewer than a pool's 54."""
    dev = driver.device
    kernel = eumu.load("tests/kernels/bin/apl/saxpy.bin")["saxpy"]
    width = kernel.simd_width
    lanes = 48 * width
    x = dev.array(np.arange(2 * lanes, dtype=np.float32))
    y = dev.array(np.ones(2 * lanes, np.float32))
    driver.kept.append(x)
    submission = kernel.submit(dev, (512,), (256,), [x, y, 2.0], level="native")
    grid = submission.grid()
    sizes = (256).to_bytes(4, "little"), lanes.to_bytes(4, "little")
    assert sizes[0] in grid.payload.cross_thread
    payload = replace(grid.payload, cross_thread=grid.payload.cross_thread.replace(*sizes))
    launch = Submission.of(dev, replace(grid, local_size=(lanes, 1, 1), payload=payload))
    driver.kept += [submission, launch]
    base = driver.place(native_code("saxpy", "saxpy", "apl"), "native code")
    found = []
    for placed in packets(launch.bytes):
        command = placed.packet.command
        if isinstance(command, render.StateBaseAddress):
            command = replace(command, instruction_base_address=base)
        found.append(Packet(command, placed.packet.inline))
    return y, found[:-1]


def test_t1_t2_a_group_of_48_threads_needs_a_pool() -> None:
    driver = Driver("apl")
    y, launch = large_groups(driver)
    with pytest.raises(LaunchError, match=r"no subslice of bxt-3x6 can hold a group of 48 threads"):
        driver.queue.submit(driver.batch(*launch))
    assert (y.numpy() == 1).all()
    pooled = gpgpu.MediaPoolState(pool_enable=True, pool_map=MAP_3X6)
    report = driver.queue.submit(driver.batch(pooled, *launch))
    assert [o.groups for o in report.occupancy[0]] == [1, 1]
    assert (y.numpy() == 1 + 2 * np.arange(y.shape[0])).all()


def test_t4_t7_pools_are_state_of_the_context() -> None:
    """They last until another MEDIA_POOL_STATE; a new context is in legacy mode."""
    driver = Driver("apl")
    y, launch = large_groups(driver)
    pooled = gpgpu.MediaPoolState(pool_enable=True, pool_map=MAP_3X6)
    driver.queue.submit(driver.batch(pooled))
    driver.queue.submit(driver.batch(*launch))
    legacy = gpgpu.MediaPoolState(pool_map=MAP_3X6)
    for queue, batch in (
        (driver.queue, driver.batch(legacy, *launch)),
        (CommandQueue(driver.device), driver.batch(*launch)),
    ):
        with pytest.raises(LaunchError, match="no subslice"):
            queue.submit(batch)
    assert (y.numpy() == 1 + 2 * np.arange(y.shape[0])).all()


def test_t8_occupancy_of_a_batch() -> None:
    driver = Driver("apl")
    dev = driver.device
    x, out = dev.array(np.ones(512, np.float32)), dev.array(np.zeros(4, np.float32))
    kernel = _load("reduce", "apl")["reduce"]
    launch = kernel.submit(dev, (512,), (128,), [x, out, eumu.Local(16 << 10)])
    (held,) = driver.queue.submit(launch.batch).occupancy
    assert 4 * 128 // kernel.simd_width <= 36
    assert [(o.groups, o.limit) for o in held] == [(4, "shared local memory")] * 3


def test_t6_maps_that_a_device_cannot_have() -> None:
    with pytest.raises(LaunchError, match="empty"):
        eumu.Device("apl", pools=0)
    with pytest.raises(LaunchError, match="no thread pools"):
        eumu.Device("skl").pools = MAP_3X6
    dev = eumu.Device("apl", part="bxt-2x6", pools=0x7700)
    assert (dev.part.name, dev.pools) == ("bxt-2x6", 0x7700)
    driver = Driver("skl")
    x = driver.device.array(np.zeros(64, np.float32))
    kernel = _load("saxpy", "skl")["saxpy"]
    launch = kernel.submit(driver.device, (64,), (64,), [x, x, 1.0])
    commands = [p.packet for p in packets(launch.bytes)][:-1]
    pool = gpgpu.MediaPoolState(pool_enable=True, pool_map=MAP_3X6)
    batch = driver.place(encode([pool, *commands, mi.MiBatchBufferEnd()]), "a batch")
    with pytest.raises(LaunchError, match="no thread pools"):
        driver.queue.submit(batch)
