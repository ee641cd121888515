"""Commands: every field there and back, and what is no command."""

from __future__ import annotations

import random

import pytest

from device.command_values import random_batch, random_packet
from eumu.device.commands import (
    COMMANDS,
    Command,
    CommandError,
    Packet,
    decode,
    encode,
    gpgpu,
    mi,
    packets,
    render,
    words,
)


@pytest.mark.parametrize("name", COMMANDS)
def test_round_trip(name: str) -> None:
    rng = random.Random(name)
    for _ in range(50):
        packet = random_packet(rng, COMMANDS[name])
        found = decode(packet.encode())
        assert found.packet == packet and found.title == name
        assert found.packet.encode() == packet.encode()


def test_a_batch_of_all() -> None:
    rng = random.Random(1)
    batch = [p for p in random_batch(rng, 300) if not isinstance(p.command, mi.MiBatchBufferEnd)]
    data = encode([*batch, mi.MiBatchBufferEnd()]) + b"\xff" * 64
    assert [p.packet for p in packets(data)][:-1] == batch


# Headers as public drivers and documents have them.
@pytest.mark.parametrize(
    ("command", "header"),
    [
        (mi.MiBatchBufferEnd(), 0x05000000),
        (mi.MiNoop(), 0),
        (mi.MiArbCheck(), 0x02800000),
        (render.PipelineSelect(pipeline_selection=2, mask_bits=3), 0x69040302),
        (render.StateBaseAddress(), 0x61010011),
        (render.PipeControl(), 0x7A000004),
        (gpgpu.MediaVfeState(), 0x70000007),
        (gpgpu.MediaCurbeLoad(), 0x70010002),
        (gpgpu.MediaInterfaceDescriptorLoad(), 0x70020002),
        (gpgpu.MediaStateFlush(), 0x70040000),
        (gpgpu.MediaPoolState(), 0x70050004),
        (gpgpu.GpgpuWalker(), 0x7105000D),
        (render.GpgpuCsrBaseAddress(), 0x61040001),
        (render.ChromaKey(), 0x79040002),
        (mi.MiStoreDataImm(), 0x10000002),
        (mi.MiSemaphoreWait(), 0x0E008002),
        (mi.MiBatchBufferStart(), 0x18800101),
    ],
    ids=lambda v: v.TITLE if isinstance(v, Command) else "",
)
def test_headers(command: Command, header: int) -> None:
    assert int.from_bytes(encode([command])[:4], "little") == header


def test_fields_by_hand() -> None:
    walker = gpgpu.GpgpuWalker(
        simd_size=gpgpu.SimdSize.SIMD32,
        thread_width_counter_maximum=7,
        thread_group_id_x_dimension=640,
        right_execution_mask=0xFFFF,
    )
    dwords = [
        int.from_bytes(encode([walker])[k : k + 4], "little") for k in range(0, walker.size(), 4)
    ]
    assert dwords[4] == 2 << 30 | 7 and dwords[7] == 640 and dwords[13] == 0xFFFF
    vfe = gpgpu.MediaVfeState(scoreboard_3_delta_x=-1, scoreboard_0_delta_y=-8)
    assert encode([vfe])[28:32] == bytes([0x80, 0, 0, 0x0F])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x01\x02\x03", "middle of a dword"),
        ((0x7F000000).to_bytes(4, "little"), "no command has the header 0x7f000000"),
        (encode([gpgpu.GpgpuWalker()])[:-4], "15 dwords, 14 are there"),
        ((0x7105000C).to_bytes(4, "little") * 15, "14 dwords; it has 15"),
        ((0x7105000E).to_bytes(4, "little") * 20, "16 dwords; it has 15"),
        ((0x02800001).to_bytes(4, "little"), "reserved bit 0 of dword 0"),
        ((0x70040000).to_bytes(4, "little") + b"\0\1\0\0", "reserved bit 8 of dword 1"),
    ],
)
def test_what_is_no_command(data: bytes, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        decode(data)


def test_reserved_values_name_the_field() -> None:
    data = bytearray(encode([gpgpu.GpgpuWalker()]))
    data[19] |= 3 << 6
    with pytest.raises(CommandError, match="Simd Size") as caught:
        decode(bytes(data), 0x5000)
    assert "0x5000" in str(caught.value) and caught.value.field == "Simd Size"


def test_values_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="Thread Width Counter Maximum"):
        encode([gpgpu.GpgpuWalker(thread_width_counter_maximum=64)])
    with pytest.raises(ValueError, match="not a multiple of 64"):
        encode([gpgpu.GpgpuWalker(indirect_data_start_address=32)])
    with pytest.raises(ValueError, match="no inline data"):
        Packet(gpgpu.GpgpuWalker(), b"1234").encode()


def test_words() -> None:
    batch = [gpgpu.GpgpuWalker(thread_group_id_x_dimension=5), mi.MiBatchBufferEnd()]
    text = "\n".join(words(encode(batch), 0x4000))
    assert "0x00004000  GPGPU_WALKER" in text and "X Dimension: 5" in text
    assert "0x0000403c  MI_BATCH_BUFFER_END" in text


def test_damaged_batches_give_diagnostics_only() -> None:
    rng = random.Random(7)
    good = encode(random_batch(rng, 40))
    read = 0
    for _ in range(4000):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            read += sum(1 for _ in packets(bytes(data[: rng.randrange(len(data))])))
        except CommandError as error:
            assert error.field
    assert read > 1000
