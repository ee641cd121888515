"""A launch through command bytes is the same launch; edited batches give the documented errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.commands import CommandError, Packet, encode, gpgpu, mi, packets
from eumu.errors import LaunchError, Unsupported
from eumu.runtime.submission import Submission, grids_of
from images.image_programs import elf
from kernels.case import Buffer, Case
from kernels.references import CASES
from test_kernels import _argument, _load

# One case for each way in which a launch can look.
NAMES = (
    *("saxpy-part-of-a-thread", "sgemm", "reduce-small-groups", "atomics"),
    *("struct_argument", "print_values", "private_array", "local_pointers", "work_items"),
)
CHOSEN = [case for case in CASES if case.id in NAMES]


def test_the_names_are_cases() -> None:
    assert {case.id for case in CHOSEN} == set(NAMES)


def _bits(array: np.ndarray[Any, Any]) -> bytes:
    return array.tobytes()


@pytest.mark.parametrize("device", ["skl", "apl"])
@pytest.mark.parametrize("case", CHOSEN, ids=lambda c: c.id)
def test_via_commands_is_the_same_run(
    case: Case, device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found: list[Any] = []
    setup = case.make(case)
    for via in ("record", "commands"):
        dev = eumu.Device(device)
        args = [_argument(dev, a) for a in setup.args]
        report = _load(case.program, device)[case.kernel].launch(
            dev, case.global_size, case.local_size, args, via=via
        )
        memory = [b.numpy() for a, b in zip(setup.args, args, strict=True) if isinstance(a, Buffer)]
        found.append((memory, report.instructions, report.groups, sorted(report.printf)))
    unordered = any(output.unordered for output in setup.outputs)
    for direct, through in zip(found[0][0], found[1][0], strict=True):
        # Records are compared field by field: NumPy does not keep what is between them.
        same = direct == through if direct.dtype.names else _bits(direct) == _bits(through)
        assert unordered or np.all(same)
    assert found[0][1:] == found[1][1:]


class Saxpy:
    """A captured launch of saxpy."""

    def __init__(self) -> None:
        self.device = eumu.Device("skl")
        self.kernel = _load("saxpy", "skl")["saxpy"]
        self.x = self.device.array(np.arange(256, dtype=np.float32))
        self.y = self.device.array(np.ones(256, np.float32))
        values = [self.x, self.y, np.float32(2)]
        self.launch = self.kernel.submit(self.device, (256,), (64,), values)

    def edit(self, title: str, **fields: Any) -> None:
        """Change fields of a command of the batch, in memory."""
        for placed in packets(self.launch.bytes, self.launch.batch):
            if placed.title == title:
                packet = Packet(replace(placed.packet.command, **fields), placed.packet.inline)
                self.poke(placed.at, packet.encode())
                return
        raise AssertionError(title)

    def poke(self, address: int, data: bytes) -> None:
        start = address - self.device.memory.base
        self.device.memory.arena[start : start + len(data)] = list(data)

    def descriptor(self, **fields: Any) -> None:
        heap = next(
            p.packet.command.dynamic_state_base_address  # type: ignore[attr-defined]
            for p in packets(self.launch.bytes)
            if p.title == "STATE_BASE_ADDRESS"
        )
        start = heap - self.device.memory.base
        old = gpgpu.InterfaceDescriptorData.decode(
            self.device.memory.arena[start : start + 32].tobytes()
        )
        self.poke(heap, replace(old, **fields).encode())


def test_a_captured_batch_replays_from_its_bytes() -> None:
    saxpy = Saxpy()
    for times in (1, 2):
        saxpy.device.run(saxpy.launch.grid())
        assert (saxpy.y.numpy() == 1 + 2 * times * np.arange(256)).all()
    copy = saxpy.launch.bytes
    saxpy.poke(saxpy.launch.batch, bytes(len(copy)))
    with pytest.raises((CommandError, LaunchError)):
        saxpy.launch.grid()
    saxpy.poke(saxpy.launch.batch, copy)
    assert saxpy.launch.grid().groups == 4
    assert not saxpy.launch.findings


def test_fewer_groups() -> None:
    saxpy = Saxpy()
    saxpy.edit("GPGPU_WALKER", thread_group_id_x_dimension=1)
    saxpy.device.run(saxpy.launch.grid())
    assert (saxpy.y.numpy() == 1 + 2 * np.arange(256) * (np.arange(256) < 64)).all()


def test_other_constants() -> None:
    """The bytes in the CURBE are what the kernel gets: a becomes 3."""
    saxpy = Saxpy()
    arena = saxpy.device.memory.arena
    old, new = np.float32(2).tobytes(), np.float32(3).tobytes()
    (heap,) = [a for a in saxpy.device.memory.live if a.name == "the dynamic state heap"]
    data = saxpy.device.memory.view(heap)
    places = [k for k in range(0, len(data) - 4, 4) if data[k : k + 4].tobytes() == old]
    assert places and arena is saxpy.device.memory.arena
    for place in places:
        saxpy.poke(heap.start + place, new)
    saxpy.device.run(saxpy.launch.grid())
    assert (saxpy.y.numpy() == 1 + 3 * np.arange(256)).all()


@pytest.mark.parametrize(
    ("title", "fields", "message"),
    [
        ("GPGPU_WALKER", {"simd_size": gpgpu.SimdSize.SIMD8}, "runs SIMD8; the kernel"),
        ("GPGPU_WALKER", {"thread_width_counter_maximum": 5}, "6 threads a group"),
        ("GPGPU_WALKER", {"interface_descriptor_offset": 1}, "descriptor 1 is not loaded"),
        ("MEDIA_CURBE_LOAD", {"curbe_total_data_length": 64}, "CURBE has 64 bytes"),
        ("MEDIA_VFE_STATE", {"curbe_allocation_size": 1}, "allocates"),
        ("STATE_BASE_ADDRESS", {"instruction_base_address": 0x1000}, "no kernel of this device"),
        ("STATE_BASE_ADDRESS", {"surface_state_base_address": 0x1000}, "binding table entry 0"),
        ("PIPELINE_SELECT", {"pipeline_selection": 1}, "PIPELINE_SELECT GPGPU"),
    ],
)
def test_edited_batches(title: str, fields: dict[str, Any], message: str) -> None:
    saxpy = Saxpy()
    saxpy.edit(title, **fields)
    with pytest.raises((CommandError, LaunchError), match=message):
        saxpy.launch.grid()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cross_thread_constant_data_read_length": 0}, "cross-thread data"),
        ({"constant_urb_entry_read_length": 0}, "local ids"),
        ({"binding_table_pointer": 0x8000}, "binding table entry 0"),
        ({"kernel_start_pointer": 64}, "no kernel of this device"),
    ],
)
def test_edited_descriptors(fields: dict[str, Any], message: str) -> None:
    saxpy = Saxpy()
    saxpy.descriptor(**fields)
    with pytest.raises((CommandError, LaunchError), match=message):
        saxpy.launch.grid()


def test_masks_and_ids_that_are_no_box() -> None:
    saxpy = Saxpy()
    saxpy.edit("GPGPU_WALKER", right_execution_mask=0x5555)
    with pytest.raises(Unsupported, match="not those of a box"):
        saxpy.launch.grid()


def test_rules_are_told() -> None:
    saxpy = Saxpy()
    saxpy.edit("PIPE_CONTROL", state_cache_invalidation_enable=False)
    saxpy.launch.grid()
    assert [f.code for f in saxpy.launch.findings] == ["base-not-invalidated"]


def test_a_batch_of_two_launches() -> None:
    """A driver's own batch: two walkers, the second after a flush."""
    saxpy = Saxpy()
    again = [p.packet for p in packets(saxpy.launch.bytes)]
    walker, flush = again[-3:-1]
    data = encode([*again[:-1], walker, flush, mi.MiBatchBufferEnd()])
    place = saxpy.device.memory.allocate(4096, "a batch").start
    saxpy.poke(place, data)
    grids, findings = grids_of(saxpy.device, place)
    assert len(grids) == 2 and not findings
    for grid in grids:
        saxpy.device.run(grid)
    assert (saxpy.y.numpy() == 1 + 4 * np.arange(256)).all()


def test_memory_is_given_back() -> None:
    saxpy = Saxpy()
    before = len(saxpy.device.memory.live)
    with saxpy.launch:
        pass
    assert len(saxpy.device.memory.live) == before - 4


def test_images_and_samplers_via_commands() -> None:
    """Surface and sampler states are reached through the bases and tables of the batch."""
    dev = eumu.Device("skl")
    pixels = np.arange(9 * 13 * 4, dtype=np.uint8).reshape(9, 13, 4)
    image, copy = dev.image(pixels), dev.image(pixels.shape)
    kernel = eumu.load(elf("plain", "skl"))["copy2"]
    kernel.launch(dev, (13, 9), args=[image, copy], via="commands")
    assert (copy.numpy() == pixels).all()
    with kernel.submit(dev, (13, 9), args=[image, copy]) as launch:
        grid = launch.grid()
    assert grid.state is not None and grid.state.binding_table % 32 == 0


def test_chroma_keys_and_modes_are_in_the_batch() -> None:
    """What says how images are read comes from the bytes, not from the device of now."""
    dev = eumu.Device("skl")
    image, copy = dev.image(np.zeros((4, 4, 4), np.uint8)), dev.image((4, 4, 4))
    dev.chroma_key(2, 1, 0xFF)
    dev.bindless_samplers = True
    kernel = eumu.load(elf("plain", "skl"))["copy2"]
    with kernel.submit(dev, (4, 4), args=[image, copy]) as launch:
        state = launch.grid().state
        assert state is not None and state.bindless_samplers
        assert state.chroma_keys == ((0, 0), (0, 0), (1, 0xFF), (0, 0))
        place = next(p for p in packets(launch.bytes) if p.title == "3DSTATE_CHROMA_KEY")
        key = Packet(replace(place.packet.command, chromakey_high_value=7)).encode()  # type: ignore[type-var, call-arg]
        at = launch.batch + place.at - dev.memory.base
        dev.memory.arena[at : at + len(key)] = memoryview(key)
        state = launch.grid().state
        assert state is not None and state.chroma_keys[2] == (1, 7)


def test_other_platforms_have_no_such_commands() -> None:
    dev = eumu.Device("pvc")
    array = dev.array(np.zeros(64, np.float32))
    with pytest.raises(LaunchError, match="Gen9"):
        _load("saxpy", "pvc")["saxpy"].launch(
            dev, (64,), (64,), [array, array, 1.0], via="commands"
        )
    with pytest.raises(LaunchError, match="via='x'"):
        _load("saxpy", "pvc")["saxpy"].launch(dev, (64,), (64,), [array, array, 1.0], via="x")


def test_submissions_are_records() -> None:
    assert isinstance(Saxpy().launch, Submission)
