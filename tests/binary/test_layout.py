"""Every instruction has bytes, and they are the documented ones."""

from __future__ import annotations

import pytest

from binary.generate import ENCODED, PRELUDE, Generator
from eumu import text
from eumu.binary.instructions import InstructionReader, pack_instruction
from eumu.isa.kinds.bytes import EncodeError, Packer, Tables, Unpacker
from eumu.isa.spec import LayoutSlot, Opcode
from eumu.isa.visa import VISA
from eumu.program import Inst
from text.corpus import lines, program

# Instructions of documents that say nothing of the object file.
NO_FORM = {
    "lsc_load_block2d.tgm": "Intel's front end does not read typed blocks",
    "lsc_store_block2d.tgm": "Intel's front end does not read typed blocks",
    "lsc_apndctr_atomic_add": "newer than Intel's reader, and without a format",
    "lsc_apndctr_atomic_sub": "newer than Intel's reader, and without a format",
}

# The variables of the golden lines, by number.
TABLES = Tables()
NUMBERS = {d: TABLES.declare(d) for d in PRELUDE.kernels[0].declarations}
STRINGS = ["", "f", ".str", "a b"]
TABLES.labels, TABLES.label_names, TABLES.strings = ["main", "L1"], [0, 1], STRINGS


def pack(inst: Inst, version: tuple[int, int] = (4, 1)) -> bytes:
    out = Packer(version, 32, NUMBERS, ["main", "L1"].index, STRINGS.index)
    pack_instruction(inst, out)
    return bytes(out.data)


def unpack(data: bytes, version: tuple[int, int] = (4, 1)) -> Inst:
    source = Unpacker(data, 0, len(data), name="x", version=version, grf_bytes=32)
    source.tables = TABLES
    inst = InstructionReader(VISA).read(source)
    assert source.pos == len(data)
    return inst


def name(opcode: Opcode) -> str:
    """The mnemonic, with `.tgm` for what typed surfaces have."""
    return opcode.mnemonic + (".tgm" if ".tgm" in opcode.template else "")


def test_every_instruction_has_a_form() -> None:
    assert {name(o) for o in VISA if o.slots is None} == set(NO_FORM)


@pytest.mark.parametrize("opcode", ENCODED, ids=name)
def test_every_instruction_comes_back(opcode: Opcode) -> None:
    generator = Generator(opcode.number)
    for version in [(4, 1)] * 20 + [(4, 2)] * 4:
        inst = generator.instruction(opcode)
        data = pack(inst, version)
        assert unpack(data, version) == inst
        assert pack(unpack(data, version), version) == data


def test_every_instruction_is_generated_or_stands_in_a_golden_line() -> None:
    source = "\n".join(line.printed for line in lines())
    missing = [o for o in VISA if o.slots is not None and o not in ENCODED]
    assert [o.mnemonic for o in missing if o.mnemonic not in source] == []


def test_instructions_of_one_number_differ_behind_their_sub_opcode_only() -> None:
    def before(opcode: Opcode) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        for slot in opcode.slots or ():
            found.append(_described(slot))
            if slot.sub_bits:
                return found
        return found

    families: dict[int, list[Opcode]] = {}
    for opcode in VISA:
        if opcode.slots is not None:
            families.setdefault(opcode.number, []).append(opcode)
    for family in families.values():
        assert len({tuple(before(opcode)) for opcode in family}) == 1 or len(family) == 1, family
        assert len({opcode.sub for opcode in family}) == len(family), family


def _described(slot: LayoutSlot) -> tuple[object, ...]:
    if slot.sub_bits:
        return ("sub", slot.sub_bits)
    kind = type(slot.field.kind) if slot.field else None
    return (slot.constant, slot.field and slot.field.name, kind, slot.code, slot.above)


# What Intel's writer makes of these lines (it is right where there is no predicate), and a file
# that was written by hand and that Intel's reader reads.  Numbers: D is 32, UD 34, UQ 40, BIG 45.
GOLDEN = [
    (
        "lsc_load.ugm.uc.ca (M1, 8)  BIG:d32x2  flat[UQ+0x10]:a64",
        "89 00 03 0000 00 01 02 01 0100 10000000 03 03 01 02 02 05 00 00000000"
        " 2d000000 0000 28000000 0000 000000000000 000000000000",
    ),
    (
        "lsc_load_quad.ugm (M1, 8)  BIG:d32.xw  flat[UD]:a32",
        "89 02 03 0000 00 00 00 01 0100 00000000 02 03 01 09 09 05 00 00000000"
        " 2d000000 0000 22000000 0000 000000000000 000000000000",
    ),
    (
        "lsc_load_block2d.ugm (M1, 1)  BIG:d16.2x16x8nt  flat[UQ, UD, UD, UD, UD, UD]",
        "89 03 00 0000 00 00 00 02 01 02 1000 0800 01 2d000000 0000 00 28000000 00 00 2101"
        + " 00 22000000 00 00 2101" * 5
        + " 000000000000",
    ),
    (
        "lsc_read_state_info.tgm  UD  bti(0x4)",
        "8a 1e 80 0000 00 00 04 02 03 01 01 01 05 00 04000000 22000000 0000"
        + " 000000000000" * 6,
    ),
    ("lsc_fence.ugm.evict.gpu", "8b 80 0000 00 01 03"),
    ("fence_global.ECR", "5c 19"),
    ("fence_global.EISCRL1", "5c 5f"),
    ("fence_local", "5c 20"),
    ("fence_sw", "5c 80"),
    ("sbarrier.signal", "7c 01"),
    ("sbarrier.wait", "7c 00"),
    ("barrier", "59"),
    ("yield", "5f"),
    ("lifetime.start UD", "7b 00 22000000"),
    ("lifetime.end P1", "7b 21 01000000"),
    ("lifetime.start A0", "7b 10 00000000"),
    ("switchjmp (M1, 1) UD(0,0)<0;1,0> (L1, L1)", "69 00 02 00 22000000 00 00 2101 0100 0100"),
    ('faddr ".str" UQ(0,0)<1>', "50 0200 00 28000000 00 00 0002"),
    ("oword_ld (4) T6 0x0:ud BIG.0", "35 02 00 06 05 00 00000000 2d000000 0000"),
    ("gather.4 (M5, 8) T6 0x0:ud UD.0 BIG.0",
     "39 02 00 40 06 05 00 00000000 22000000 0000 2d000000 0000"),
    ("scatter.2 (M1_NM, 16) T6 0x0:ud UD.0 BIG.0",
     "3a 01 81 06 05 00 00000000 22000000 0000 2d000000 0000"),
    ("gather4_scaled.RB (M1, 8) T6 0x0:ud UD.0 BIG.0",
     "74 03 0000 05 0000 06 05 00 00000000 22000000 0000 2d000000 0000"),
    ("gather_scaled.4 (M1, 8) T6 0x0:ud UD.0 BIG.0",
     "78 03 0000 00 02 0000 06 05 00 00000000 22000000 0000 2d000000 0000"),
    ("svm_gather.4.2 (M1, 8) UQ.0 BIG.0", "4e 03 03 0000 01 01 28000000 0000 2d000000 0000"),
    ("svm_gather4scaled.RG (M1, 8) 0x0:uq UQ.0 BIG.0",
     "4e 06 03 0000 03 0000 05 0b 0000000000000000 28000000 0000 2d000000 0000"),
    ("dword_atomic.fadd.16 (M1, 8) T6 UD.0 UD.0 %null.0 UD.0",
     "7d 33 03 0000 06 22000000 0000 22000000 0000 000000000000 22000000 0000"),
    ("media_ld.top (32,4) T6 1 0x0:ud 0x0:ud BIG.0",
     "37 02 06 01 20 04 05 00 00000000 05 00 00000000 2d000000 0000"),
    ("raw_send (M1, 16) 0x2 4 2  0x1234:ud UD.0 BIG.0",
     "5d 00 04 0000 02000000 04 02 05 00 34120000 22000000 0000 2d000000 0000"),
    ("add.sat (M1, 8) D(0,0)<1> (-)UD(1,2)<8;8,1> 0x5:w",
     "01 03 0000 20 20000000 00 00 0002 10 22000000 01 02 5502 05 03 05000000"),
    ("(!P1.all) mov (M5_NM, 16) D(0,0)<2> r[A0(2),-16]<4,1>:ud",
     "29 c4 01c0 00 20000000 00 00 0003 03 0000 02 f0ff 00 4002"),
    ("cmp.lt (M1, 8) P1 D(0,0)<1;1,0> 0x3ff0000000000000:df",
     "2c 03 04 02 0100 00 20000000 00 00 2201 05 06 000000000000f03f"),
    ("max (M1, 8) D(0,0)<1> D(0,0)<1;1,0> UD(0,0)<0;1,0>",
     "45 03 01 00 20000000 00 00 0002 00 20000000 00 00 2201 00 22000000 00 00 2101"),
    ("addr_add (M1, 1) A0(0)<4> &BIG[72] 0x40:uw",
     "28 00 01 0000 00 02 00 2d000000 02 02 2101 05 02 40000000"),
    ("movs (M1_NM, 1) T6(3) S0(0)", "2d 80 06 00 0600 03 06 01 0000 00"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), GOLDEN, ids=[line for line, _ in GOLDEN])
def test_bytes(line: str, expected: str) -> None:
    (kernel,) = text.parse(program(line)).kernels
    numbers = dict(zip(kernel.declarations, NUMBERS.values(), strict=True))
    out = Packer((4, 1), 32, numbers, ["main", "L1"].index, STRINGS.index)
    pack_instruction(kernel.instructions[0], out)
    assert out.data.hex() == expected.replace(" ", "")


# What 4.2 adds to LSC messages: a surface's index, and what is added to u, v and r.
GOLDEN_4_2 = [
    ("lsc_load.ugm (M1, 8) D:d32 ss(0x40,0x3)[UD]:a32",
     "89 00 03 0000 00 00 00 03 0100 00000000 02 03 01 01 01 05 00 40000000 03000000"
     " 20000000 0000 22000000 0000 000000000000 000000000000"),
    ("lsc_load_quad.tgm (M1, 8) D:d32.x bti(0x4)[UD-1, UD+2]:a32",
     "8a 02 03 0000 00 00 04 02 03 01 01 01 05 00 04000000 00000000 20000000 0000"
     " 22000000 0000 ffffffff 22000000 0000 02000000 000000000000 00000000 000000000000"
     " 000000000000 000000000000"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), GOLDEN_4_2, ids=[line for line, _ in GOLDEN_4_2])
def test_bytes_of_4_2(line: str, expected: str) -> None:
    """Version 4.1 has no place for them, and says so."""
    (kernel,) = text.parse(program(line)).kernels
    numbers = dict(zip(kernel.declarations, NUMBERS.values(), strict=True))
    out = Packer((4, 2), 32, numbers, ["main", "L1"].index, STRINGS.index)
    pack_instruction(kernel.instructions[0], out)
    assert out.data.hex() == expected.replace(" ", "")
    older = Packer((4, 1), 32, numbers, ["main", "L1"].index, STRINGS.index)
    with pytest.raises(EncodeError, match=r"version 4\.1 has no place for (index|du) of address"):
        pack_instruction(kernel.instructions[0], older)


def test_messages_before_3_6_have_no_shared_function() -> None:
    (opcode,) = VISA.find("raw_sends")
    inst = Generator(0).instruction(opcode)
    operands = list(inst.operands)
    field = opcode.field("sfid")
    assert field is not None
    operands[field.index] = 0
    inst = Inst(opcode, tuple(operands))
    assert len(pack(inst, (3, 5))) == len(pack(inst, (3, 6))) - 1
    assert unpack(pack(inst, (3, 5)), (3, 5)) == inst
