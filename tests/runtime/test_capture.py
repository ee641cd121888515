"""A launch as bytes: captured from memory, replayed on another device from these bytes alone.

Nothing of the kernel, its program or the first device is known there.  Edited variants give the
documented errors, there and in `eumu commands`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.cli import main
from eumu.device.commands import CommandError, Packet, Stop, encode, gpgpu, packets
from eumu.errors import EumuError, LaunchError
from eumu.runtime.batches import CommandQueue
from test_kernels import _load


@dataclass(slots=True)
class Capture:
    """All of a device's memory, and where the batch and the result are."""

    platform: str
    memory: dict[int, bytes]
    batch: int
    size: int
    result: int

    @classmethod
    def of(cls, device: eumu.Device, launch: Any, result: eumu.Array) -> Capture:
        memory = {a.start: device.memory.view(a).tobytes() for a in device.memory.live}
        return cls(device.platform.name, memory, launch.batch, launch.size, result.address)

    @property
    def commands(self) -> bytes:
        return self.memory[self.batch][: self.size]

    def edited(self, title: str, **fields: Any) -> Capture:
        """The same with other fields in the commands of that name."""
        changed = [
            Packet(replace(p.packet.command, **fields), p.packet.inline)
            if p.title == title
            else p.packet
            for p in packets(self.commands)
        ]
        memory = {**self.memory, self.batch: encode(changed).ljust(4096, b"\0")}
        return replace(self, memory=memory)

    def replay(
        self, engine: str | None = None, most_threads: int = 1 << 28
    ) -> tuple[CommandQueue, Any, bytes]:
        """On a new device: the queue, its report, and the bytes of the result."""
        device = eumu.Device(self.platform, engine)
        for start, data in self.memory.items():
            allocation = device.memory.allocate_at(start, len(data), "captured")
            device.memory.view(allocation)[:] = np.frombuffer(data, np.uint8)
        queue = CommandQueue(device, most_threads=most_threads)
        report = queue.submit(self.batch)
        start = self.result - device.memory.base
        size = len(self.memory[self.result])
        return queue, report, device.memory.arena[start : start + size].tobytes()


def saxpy(device: str) -> tuple[Capture, bytes]:
    dev = eumu.Device(device)
    x = dev.array(np.arange(200, dtype=np.float32))
    y = dev.array(np.ones(200, np.float32))
    kernel = _load("saxpy", device)["saxpy"]
    launch = kernel.submit(dev, (200,), (50,), [x, y, 3.0], level="native")
    return Capture.of(dev, launch, y), (1 + 3 * np.arange(200, dtype=np.float32)).tobytes()


def reduction(device: str) -> tuple[Capture, bytes]:
    """Shared local memory and barriers."""
    dev = eumu.Device(device)
    x = dev.array(np.arange(1024, dtype=np.float32))
    out = dev.array(np.zeros(8, np.float32))
    arguments = [x, out, eumu.Local(512)]
    kernel = _load("reduce", device)["reduce"]
    launch = kernel.submit(dev, (1024,), (128,), arguments, level="native")
    sums = np.arange(1024, dtype=np.float32).reshape(8, 128).sum(axis=1)
    return Capture.of(dev, launch, out), sums.tobytes()


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", ["apl", "skl"])
@pytest.mark.parametrize("make", [saxpy, reduction], ids=lambda f: f.__name__)
def test_a_capture_runs_on_another_device(make: Any, device: str, engine: str) -> None:
    capture, expected = make(device)
    _, report, result = capture.replay(engine)
    assert (report.stop, report.commands, report.findings) == (Stop.END, ["GPGPU_WALKER"], [])
    assert result == expected and report.engines == {engine}


def test_in_a_fresh_process(tmp_path: Path) -> None:
    """Only files of bytes go over."""
    capture, expected = reduction("apl")
    for start, data in capture.memory.items():
        (tmp_path / f"{start:x}.memory").write_bytes(data)
    program = f"""
import sys, pathlib, numpy as np, eumu
from eumu.runtime.batches import CommandQueue
dev = eumu.Device("apl")
for file in pathlib.Path(sys.argv[1]).glob("*.memory"):
    data = file.read_bytes()
    a = dev.memory.allocate_at(int(file.stem, 16), len(data), file.stem)
    dev.memory.view(a)[:] = np.frombuffer(data, np.uint8)
report = CommandQueue(dev).submit({capture.batch})
start = {capture.result} - dev.memory.base
print(dev.memory.arena[start : start + {len(expected)}].tolist())
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert bytes(json.loads(done.stdout)) == expected


@pytest.mark.parametrize(
    ("title", "fields", "message"),
    [
        ("GPGPU_WALKER", {"thread_width_counter_maximum": 62}, "63 threads a group; the interface"),
        ("GPGPU_WALKER", {"interface_descriptor_offset": 1}, "descriptor 1 is not loaded"),
        ("MEDIA_CURBE_LOAD", {"curbe_total_data_length": 64}, "CURBE has 64 bytes"),
        ("MEDIA_VFE_STATE", {"curbe_allocation_size": 1}, "allocates"),
        ("PIPELINE_SELECT", {"pipeline_selection": 1}, "PIPELINE_SELECT GPGPU"),
        ("STATE_BASE_ADDRESS", {"instruction_base_address": 0x1000}, "Kernel Start Pointer leads"),
        ("STATE_BASE_ADDRESS", {"dynamic_state_base_address": 0x1000}, "bytes at 0x1"),
    ],
)
def test_edited_captures(title: str, fields: dict[str, Any], message: str) -> None:
    capture, _ = saxpy("apl")
    with pytest.raises((CommandError, LaunchError), match=message):
        capture.edited(title, **fields).replay("interp")


def test_fewer_groups_and_other_masks() -> None:
    """What an edited walker says is what runs: two groups of four, threads with a lane."""
    capture, expected = saxpy("apl")
    want = np.frombuffer(expected, np.float32)
    _, report, result = capture.edited("GPGPU_WALKER", thread_group_id_x_dimension=2).replay()
    assert report.groups == 2
    assert (np.frombuffer(result, np.float32) == np.where(np.arange(200) < 100, want, 1)).all()
    walker = next(p for p in packets(capture.commands) if p.title == "GPGPU_WALKER").packet.command
    assert isinstance(walker, gpgpu.GpgpuWalker)
    _, _, result = capture.edited("GPGPU_WALKER", right_execution_mask=1).replay()
    width = 8 << walker.simd_size
    runs = np.arange(200) % 50 <= width  # the first thread of each group, a lane of the second
    assert (np.frombuffer(result, np.float32) == np.where(runs, want, 1)).all()


def test_a_rule_is_told() -> None:
    capture, expected = saxpy("apl")
    edited = capture.edited("PIPE_CONTROL", state_cache_invalidation_enable=False)
    _, report, result = edited.replay("interp")
    assert [f.code for f in report.findings] == ["base-not-invalidated"] and result == expected


def test_random_damage_gives_diagnostics_only() -> None:
    """Any bit of the batch or the heaps: it runs, or says what is wrong; memory stays in bounds."""
    capture, _ = saxpy("apl")
    rng = np.random.default_rng(11)
    heaps = [s for s, data in capture.memory.items() if s != capture.result and len(data) >= 4096]
    ends = set()
    for _ in range(60):
        start = capture.batch if rng.random() < 0.6 else int(rng.choice(heaps))
        data = bytearray(capture.memory[start])
        data[rng.integers(min(len(data), 300))] ^= 1 << int(rng.integers(8))
        try:
            damaged = replace(capture, memory={**capture.memory, start: bytes(data)})
            damaged.replay("interp", most_threads=1 << 12)
            ends.add("ran")
        except EumuError as error:
            assert str(error)
            ends.add("error")
    assert ends == {"ran", "error"}


def test_a_walker_of_more_threads_than_the_queue_runs() -> None:
    capture, _ = saxpy("apl")
    many = capture.edited("GPGPU_WALKER", thread_group_id_x_dimension=1 << 20)
    with pytest.raises(LaunchError, match=r"1048576 groups of .* at most 4096 threads"):
        many.replay("interp", most_threads=1 << 12)


# ---- eumu commands


def test_the_commands_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture, _ = saxpy("apl")
    file = tmp_path / "batch"
    file.write_bytes(capture.commands)
    assert main(["commands", str(file), "--base", hex(capture.batch)]) == 0
    found = capsys.readouterr()
    titles = [line.split()[1] for line in found.out.splitlines() if line.startswith("0x")]
    assert titles == [
        *("PIPELINE_SELECT", "STATE_BASE_ADDRESS", "PIPE_CONTROL", "MEDIA_VFE_STATE"),
        *("MEDIA_CURBE_LOAD", "MEDIA_INTERFACE_DESCRIPTOR_LOAD", "GPGPU_WALKER"),
        *("MEDIA_STATE_FLUSH", "MI_BATCH_BUFFER_END"),
    ]
    assert f"{capture.batch:#010x}" in found.out and "X Dimension: 4" in found.out
    assert not found.err


def test_warnings_of_edited_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture, _ = saxpy("apl")
    all_ = [p.packet for p in packets(capture.commands)]
    variants = {
        "a state base address has changed": [p for p in all_ if "PIPE" not in p.command.TITLE],
        "the CURBE is loaded again": [*all_[:7], all_[4], *all_[6:]],
    }
    for message, commands in variants.items():
        file = tmp_path / "batch"
        file.write_bytes(encode(commands))
        assert main(["commands", str(file)]) == 0
        assert re.search(f"batch: warning: .* at 0x.*: {message}", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 0xDEADBEEF, "no command has the header 0xdeadbeef"),
        (1, 0x61010012, "says it has 20 dwords; it has 19"),
    ],
)
def test_bytes_that_are_no_commands(
    at: int, value: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture, _ = saxpy("apl")
    data = bytearray(capture.commands)
    data[4 * at : 4 * at + 4] = value.to_bytes(4, "little")
    file = tmp_path / "batch"
    file.write_bytes(bytes(data))
    assert main(["commands", str(file)]) == 1
    assert message in capsys.readouterr().err
    file.write_bytes(capture.commands[:20])
    assert main(["commands", str(file)]) == 1
    assert "STATE_BASE_ADDRESS at 0x4 has 19 dwords, 4 are there" in capsys.readouterr().err
