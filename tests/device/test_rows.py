"""Rows of the checklist that the other tests of the machine have not, and that no row is missing.

G message gateway, T thread pools, C commands, P pre-emption, M media, L L3 and URB, SL shared local
memory.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import eumu
from device.test_streamer import (
    BASES,
    INVALIDATE,
    LOAD,
    MEDIA,
    OFF,
    VFE,
    media_machine,
)
from eumu.addresses import BTI_SLM
from eumu.device.chip import allocation, allocations, part
from eumu.device.chip.context_image import SLM_STRIDE, THREAD_STRIDE
from eumu.device.chip.pools import MAP_3X6
from eumu.device.commands import (
    COMMANDS,
    CommandError,
    Packet,
    decode,
    encode,
    gpgpu,
    media,
    packets,
)
from eumu.device.context import Residents, context_bytes, load, save
from eumu.device.dispatch import Needs
from eumu.device.profile import Profile
from eumu.device.state.fields import title
from eumu.exec.snapshot import Snapshot
from eumu.isa.messages.descriptor import describe
from eumu.runtime.board import URB_ROWS
from runtime.test_batches import Driver, native_code
from test_kernels import _load

CHECKLIST = {"G": 7, "T": 8, "C": 2, "P": 11, "M": 8, "L": 9, "SL": 7}
BXT = part("bxt-3x6")
_NAMES = re.compile(r"^def test_((?:[a-z]{1,2}\d+_)+)", re.M)


def test_every_row_has_a_test_with_its_name() -> None:
    named: set[str] = set()
    for file in Path(__file__).parents[1].rglob("test_*.py"):
        for found in _NAMES.findall(file.read_text()):
            named |= set(found.split("_"))
    rows = {f"{letter.lower()}{k + 1}" for letter, n in CHECKLIST.items() for k in range(n)}
    assert rows <= named, sorted(rows - named)


# ---- context switch


def test_p8_nothing_but_the_image_is_written() -> None:
    """The state goes to the address alone: no allocation, and no surface, takes part."""
    driver = Driver("apl")
    dev = driver.device
    x, out = dev.array(np.ones(2048, np.float32)), dev.array(np.zeros(16, np.float32))
    launch = _load("reduce", "apl")["reduce"].submit(
        dev, (2048,), (128,), [x, out, eumu.Local(512)]
    )
    image = driver.place(bytes(1 << 20), "the context")
    base = Packet(COMMANDS["GPGPU_CSR_BASE_ADDRESS"](gpgpu_csr_base_address=image))  # type: ignore[call-arg]
    batch = driver.batch(base, *[p.packet for p in packets(launch.bytes)][:-1])
    before = {a: dev.memory.view(a).tobytes() for a in dev.memory.live}
    driver.queue.preempt(after=200)
    driver.queue.submit(batch)
    after = {a: dev.memory.view(a).tobytes() for a in dev.memory.live}
    assert list(after) == list(before)
    assert [a.name for a in before if after[a] != before[a]] == ["the context"]
    driver.queue.resume()
    assert (out.numpy() == 128).all()


def snapshot_of(rng: np.random.Generator, size: int, threads: int, slm: int) -> Snapshot:
    groups = 3
    state = rng.integers(0, 256, (groups * threads, size), np.uint8)
    memory = rng.integers(0, 256, (groups, slm), np.uint8)
    return Snapshot(7, groups, 12345, state, memory, '{"x":1}')


@pytest.mark.parametrize("size", [1, 4092, THREAD_STRIDE - 4, THREAD_STRIDE, 20_000])
@pytest.mark.parametrize("mode", [None, MAP_3X6], ids=["legacy", "pooled"])
def test_p11_slots_hold_any_state(size: int, mode: int | None) -> None:
    """8 KB a thread, with its size in front; what does not fit stands behind the image."""
    residents = Residents.of(BXT, Needs(4, 4096, True), mode)
    snapshot = snapshot_of(np.random.default_rng(size), size, 4, 4096)
    memory = np.zeros(context_bytes(residents, snapshot), np.uint8)
    save(residents, snapshot, memory)
    found = load(residents, memory)
    assert (found.first, found.groups, found.instructions) == (7, 3, 12345)
    assert (found.threads == snapshot.threads).all() and (found.slm == snapshot.slm).all()
    assert found.shared == snapshot.shared
    at = residents.slot(1, 2)
    start = memory[at + 4 : at + 4 + min(size, THREAD_STRIDE - 4)]
    assert (start == snapshot.threads[6][: len(start)]).all()
    assert at >= SLM_STRIDE * BXT.slm_banks


# ---- media


MEDIA_COMMANDS = sorted(title for title in COMMANDS if title.startswith(("MEDIA_", "GPGPU_WALKER")))


@pytest.mark.parametrize("title", MEDIA_COMMANDS)
def test_m1_m2_media_commands_are_of_the_render_streamer(title: str) -> None:
    """Type 3, pipeline 2 (media): the video engines' commands are others."""
    header = int.from_bytes(encode([COMMANDS[title]()])[:4], "little")
    assert (header >> 29, header >> 27 & 3) == (3, 2)


def test_m4_media_object_prt() -> None:
    command = media.MediaObjectPrt(
        children_present=True, prt_fence_needed=True, prt_fence_type=media.PrtFenceType(1)
    )
    data = bytes(range(48))
    packet = Packet(command, data)
    assert len(packet.encode()) == 64 and decode(packet.encode()).packet == packet
    start = [OFF, MEDIA, BASES, INVALIDATE, VFE, LOAD]
    for field in ("children_present", "prt_fence_needed", "prt_fence_type"):
        alone = Packet(media.MediaObjectPrt(**{field: getattr(command, field)}), data)
        with pytest.raises(CommandError, match=f"{title(field)} .*which is not modelled"):
            media_machine().run(*start, alone)
    machine = media_machine()
    machine.run(*start, Packet(media.MediaObjectPrt(), data))
    (job,) = machine.jobs
    assert [(t.x, t.y, t.data, t.group) for t in job.threads] == [(0, 0, data, None)]
    with pytest.raises(CommandError, match=r"MEDIA_OBJECT_PRT.*11 dwords of inline data.*12"):
        media_machine().run(*start, Packet(media.MediaObjectPrt(), data[:44]))


# ---- L3, URB and shared local memory


def test_l9_the_urb_is_one_space_of_all_banks() -> None:
    """The URB that threads write has room in every configuration, and no seam between banks."""
    sizes = [row.total(2).urb for slm in (False, True) for row in allocations(False, slm)]
    assert (min(sizes), max(sizes)) == (32, 192)
    assert allocation(True, True, 1).total(1).urb == 64
    urb = eumu.Device("skl").urb
    assert urb.nbytes == URB_ROWS * 16 == 64 << 10
    rows = np.arange(4 * URB_ROWS, dtype=np.uint32).reshape(URB_ROWS, 4)
    urb.write(rows)
    start = urb.address - urb.device.memory.base
    assert urb.device.memory.arena[start : start + urb.nbytes].tobytes() == rows.tobytes()


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_sl4_an_atomic_is_one_operation(engine: str) -> None:
    """All lanes of a group count up dwords of shared local memory: no update is lost."""
    dev = eumu.Device("apl", engine)
    rng = np.random.default_rng(2)
    data = rng.integers(0, 4, 2048, np.uint8)  # four dwords for everybody
    source, bins = dev.array(data), dev.array(np.zeros(256, np.uint32))
    kernel = _load("histogram", "apl")["histogram"]
    kernel.launch(dev, (256,), (128,), [source, bins, data.size])
    assert (bins.numpy() == np.bincount(data, minlength=256)).all()
    dev.observer = profile = Profile(l3=None)
    kernel.launch(dev, (256,), (128,), [source, bins, data.size])
    atomics = profile.traffic["slm", "atomic"]
    assert atomics.lanes == data.size and atomics.messages <= data.size / 8


def sends_of(code: bytes) -> list[tuple[int, int]]:
    """Shared function and descriptor of the sends in full words."""
    found = []
    for at in range(0, len(code) - 15, 16):
        word = int.from_bytes(code[at : at + 16], "little")
        compact, opcode = word >> 29 & 1, word & 0x7F
        if opcode in (0x31, 0x32, 0x33, 0x34) and not compact:
            found.append((word >> 24 & 15, word >> 96 & 0xFFFFFFFF))
    return found


def test_sl5_only_the_data_cluster_reaches_it() -> None:
    """Index 0xFE is shared local memory in messages of the data cache, and of no one else."""
    assert BTI_SLM == 0xFE
    (index,) = (f for f in describe(0xA, 0x02106EFE).fields if f.row.name.startswith("binding"))
    assert index.value == BTI_SLM and index.row.meanings[BTI_SLM] == "shared local memory"
    dev = eumu.Device("apl", "interp")
    dev.observer = profile = Profile(l3=None)
    x, out = dev.array(np.ones(512, np.float32)), dev.array(np.zeros(4, np.float32))
    arguments = [x, out, eumu.Local(512)]
    kernel = _load("reduce", "apl")["reduce"]
    kernel.launch(dev, (512,), (128,), arguments, level="native")
    assert {space for space, _ in profile.traffic} == {"slm", "surface"}
    sends = sends_of(native_code("reduce", "reduce", "apl"))
    data_ports = {0xA, 0xC}
    slm = [function for function, desc in sends if desc & 0xFF == BTI_SLM]
    assert slm and set(slm) <= data_ports


@pytest.mark.parametrize("mode", [None, MAP_3X6], ids=["legacy", "pooled"])
def test_sl6_units_of_several_subslices_share_a_bank(mode: int | None) -> None:
    """Two banks for three subslices: subslices 0 and 2 share one; or one for each pool."""
    needs = Needs(27, 16 << 10, True)
    residents = Residents.of(BXT, needs, mode)
    banks: dict[int, set[int]] = {}
    for index, placement in enumerate(residents.placements):
        address = residents.slm_address(index)
        assert address % SLM_STRIDE + needs.slm_bytes <= SLM_STRIDE
        banks.setdefault(placement.pool, set()).add(address // SLM_STRIDE)
        subslices = {slot.unit.subslice for slot in placement.slots}
        assert mode is not None or len(subslices) == 1
    assert banks == ({0: {0}, 1: {1}, 2: {0}} if mode is None else {0: {0}, 1: {1}})
    starts = [residents.slm_address(k) for k in range(residents.groups)]
    assert len(set(starts)) == len(starts) == (3 if mode is None else 4)


@pytest.mark.parametrize(
    ("asked", "code", "given"),
    [
        *((0, 0, 0), (1, 1, 1 << 10), (1024, 1, 1 << 10), (1025, 2, 2 << 10)),
        *((4096, 3, 4 << 10), (8000, 4, 8 << 10), (16384, 5, 16 << 10)),
        *((20000, 6, 32 << 10), (65536, 7, 64 << 10)),
    ],
)
def test_sl7_sizes_that_are_handed_out(asked: int, code: int, given: int) -> None:
    dev = eumu.Device("apl")
    x, out = dev.array(np.ones(64, np.float32)), dev.array(np.zeros(1, np.float32))
    if asked:
        kernel = _load("reduce", "apl")["reduce"]
        launch = kernel.submit(dev, (64,), (64,), [x, out, eumu.Local(asked)])
    else:
        launch = _load("saxpy", "apl")["saxpy"].submit(dev, (64,), (64,), [x, x, 1.0])
    heap = next(a for a in dev.memory.live if a.name == "the dynamic state heap")
    data = dev.memory.view(heap)[:32].tobytes()
    assert gpgpu.InterfaceDescriptorData.decode(data).shared_local_memory_size == code
    grid = launch.grid()
    assert grid.slm_bytes == given and Needs.of(grid).slm_bytes == given
