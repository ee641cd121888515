"""Gen8: the same words as Gen9's, but for what is named here; messages and commands likewise."""

from __future__ import annotations

import pytest

from eumu import native
from eumu.errors import BuildError, Unsupported
from eumu.isa.kinds import Rows
from eumu.isa.messages.descriptor import describe
from eumu.isa.messages.gen8 import check_gen8
from eumu.isa.messages.request import MessagePayload, MessageRequest
from eumu.types import UD

# What Intel's compiler makes of saxpy for Broadwell, and what its assembler says of the message.
SEND = bytes.fromhex("31 00 80 0c 68 3a 60 2f a0 0f 8d 06 00 5e 20 04")


def test_the_payload_of_a_send_has_a_region() -> None:
    """Its bits are the extended descriptor's on Gen9; they survive."""
    (gen8,) = native.decode(SEND, "bdw").instructions
    (gen9,) = native.decode(SEND, "skl").instructions
    assert gen8.operand("ex_desc") == 0xC and gen8.operand("desc") == 0x04205E00
    assert gen9.operand("ex_desc") == 0x4D0000C
    for device in ("bdw", "skl"):
        assert native.encode(native.decode(SEND, device)) == SEND


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("sends (8|M0) null r4 r5 0x4C 0x02026E00", "bdw (Broadwell) has no sends"),
        ("math.inv (8|M0) r4.0<1>:hf r5.0<8;8,1>:hf", "math with :hf on bdw (Broadwell) is not"),
        ("add (8|M0) r4.0<1>:hf r5.0<8;8,1>:hf r6.0<8;8,1>:hf", "Gen8 moves :hf only"),
        ("mul (8|M0) r4.0<1>:f r5.0<8;8,1>:hf r6.0<8;8,1>:f", "Gen8 moves :hf only"),
    ],
)
def test_what_came_later_is_refused_by_name(line: str, reason: str) -> None:
    code = native.encode(native.parse(line, platform="skl"))
    for refused in (lambda: native.parse(line, platform="bdw"), lambda: native.decode(code, "bdw")):
        with pytest.raises(BuildError) as error:
            refused()
        assert reason in str(error.value)


def test_halves_are_moved() -> None:
    text = "mov (8|M0) r4.0<2>:hf r5.0<8;8,1>:f"
    (moved,) = native.parse(text, platform="bdw").instructions
    assert moved.opcode.mnemonic == "mov"


# Shared function, descriptor, and why it is refused; "" if Gen8 has it.
@pytest.mark.parametrize(
    ("sfid", "desc", "reason"),
    [
        (0xC, 0x04205E00, ""),  # untyped read
        (0xC, 0x14 << 14 | 1 << 11 | 0x2FF, ""),  # A64 block read of owords
        (0xC, 0x14 << 14 | 3 << 11 | 0x2FF, "blocks of hwords came with Gen9"),
        (0xC, 0x1B << 14, "came with Gen9"),  # untyped float atomic
        (0xC, 0x10 << 14 | 0x1FF, ""),  # A64 scattered read of 8
        (0xC, 0x10 << 14 | 1 << 12 | 0x1FF, "eight slots at most"),
        (0xC, 0x11 << 14 | 1 << 12 | 0xFF, "eight slots at most"),  # A64 untyped read of 16
        (0xC, 0x05 << 14 | 1 << 12, "needs a header"),  # typed read
        (0xC, 0x05 << 14 | 1 << 12 | 1 << 19 | 252, "bindless surfaces came with Gen9"),
        (0x2, 0x18 << 12 | 1 << 17, "sample_lz"),
        (0x2, 1 << 30 | 1 << 17, "data of 16 bits came with Gen9"),
        (0x2, 7 << 12, "SIMD4x2 is not modelled on Gen8"),
        (0x8, 2 << 13, "on Gen8 it is not modelled"),  # motion estimation
    ],
)
def test_messages(sfid: int, desc: int, reason: str) -> None:
    rows = Rows(None, 0, UD)
    request = MessageRequest(sfid, desc, MessagePayload(rows, 64), rows)
    assert describe(sfid, desc).is_known
    if not reason:
        check_gen8(request)
        return
    with pytest.raises(Unsupported, match=reason):
        check_gen8(request)
