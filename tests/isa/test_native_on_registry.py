"""Native Gen9 `mov add cmp send goto` on the decorator that vISA uses.

This is a proof that the registry carries a second instruction set: bit fields instead of a byte
stream, one register file instead of variables, a condition modifier next to the operands.
Words and texts are what `iga64 -p=9` assembles and prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from eumu.errors import InternalError
from eumu.ir import Block, Function, Region, Root, RootKind, Value
from eumu.ir.operations.ends import Diverge
from eumu.isa.kinds import ExecSize, InstBuilder, WritePlace
from eumu.isa.kinds.kind import Kind
from eumu.isa.spec import Opcode, Registry
from eumu.platforms import platform
from eumu.types import DF, HF, UB, UD, UQ, UW, B, D, F, Q, Type, W

GEN9 = Registry("gen9", "a manual")
REGISTER_TYPES = (UD, D, UW, W, UB, B, DF, F, UQ, Q, HF)
IMMEDIATE_TYPES = (UD, D, UW, W, None, None, None, F)
RELATIONS = {1: "eq", 2: "ne", 3: "gt", 4: "ge", 5: "lt", 6: "le"}
IMMEDIATE = 3


def take(word: int, low: int, high: int) -> int:
    return word >> low & ((1 << (high - low + 1)) - 1)


def at(value: int, low: int) -> int:
    return value << low


class NativeKind(Kind):
    """A kind whose encoding is bit fields of the 128-bit word."""

    def decode(self, word: int) -> Any:
        raise InternalError("no bits")

    def encode(self, operand: Any) -> int:
        raise InternalError("no bits")


class ExecBits(NativeKind):
    def decode(self, word: int) -> ExecSize:
        offset = take(word, 12, 13) * 8 + take(word, 11, 11) * 4
        return ExecSize(1 << take(word, 21, 23), offset, bool(take(word, 34, 34)))

    def encode(self, operand: ExecSize) -> int:
        size = operand.size.bit_length() - 1
        return at(size, 21) | at(operand.offset // 8, 12) | at(operand.nomask, 34)

    def print(self, operand: ExecSize) -> str:
        return f"({operand.size}|M{operand.offset})"

    def bind(self, operand: ExecSize, builder: InstBuilder) -> ExecSize:
        builder.begin(operand)
        return operand


@dataclass(frozen=True)
class Register:
    """A direct Align1 operand: byte address in its file, type, region."""

    arf: bool
    byte: int
    type: Type
    region: tuple[int, int, int]


class DstBits(NativeKind):
    def decode(self, word: int) -> Register:
        byte = take(word, 53, 60) * 32 + take(word, 48, 52)
        stride = (0, 1, 2, 4)[take(word, 61, 62)]
        return Register(
            take(word, 35, 36) == 0, byte, REGISTER_TYPES[take(word, 37, 40)], (0, 1, stride)
        )

    def encode(self, operand: Register) -> int:
        stride = (0, 1, 2, 4).index(operand.region[2])
        bits = at(not operand.arf, 35) | at(REGISTER_TYPES.index(operand.type), 37)
        return bits | at(operand.byte % 32, 48) | at(operand.byte // 32, 53) | at(stride, 61)

    def print(self, operand: Register) -> str:
        name = "null" if operand.arf else f"r{operand.byte // 32}.{operand.byte % 32}"
        return f"{name}<{operand.region[2]}>:{operand.type}"

    def bind(self, operand: Register, builder: Native) -> WritePlace:
        root = None if operand.arf else builder.file
        stride = operand.region[2] * operand.type.size
        return WritePlace(operand.type, root, operand.byte, stride)


class SrcBits(NativeKind):
    def __init__(self, register: int, file: int) -> None:
        self.register, self.file = register, file

    def decode(self, word: int) -> Register | int:
        if take(word, self.file, self.file + 1) == IMMEDIATE:
            return take(word, 96, 127)
        low = self.register
        v = (0, 1, 2, 4, 8, 16, 32)[take(word, low + 21, low + 24)]
        region = (
            v,
            1 << take(word, low + 18, low + 20),
            (0, 1, 2, 4)[take(word, low + 16, low + 17)],
        )
        byte = take(word, low + 5, low + 12) * 32 + take(word, low, low + 4)
        return Register(
            False, byte, REGISTER_TYPES[take(word, self.file + 2, self.file + 5)], region
        )

    def encode(self, operand: Register | int) -> int:
        if isinstance(operand, int):
            return at(IMMEDIATE, self.file) | at(1, self.file + 2) | at(operand, 96)
        v, w, h = operand.region
        low = self.register
        region = at((0, 1, 2, 4, 8, 16, 32).index(v), low + 21) | at(w.bit_length() - 1, low + 18)
        region |= at((0, 1, 2, 4).index(h), low + 16)
        bits = at(1, self.file) | at(REGISTER_TYPES.index(operand.type), self.file + 2)
        return bits | region | at(operand.byte % 32, low) | at(operand.byte // 32, low + 5)

    def print(self, operand: Register | int) -> str:
        if isinstance(operand, int):
            return f"{operand}:d"
        v, w, h = operand.region
        return f"r{operand.byte // 32}.{operand.byte % 32}<{v};{w},{h}>:{operand.type}"

    def bind(self, operand: Register | int, builder: Native) -> Value:
        if isinstance(operand, int):
            return builder.const(D, operand, builder.width)
        v, w, h = operand.region
        size = operand.type.size
        region = Region(operand.byte, v * size, w, h * size)
        return builder.read(builder.file, region, operand.type, builder.width)


class CondModBits(NativeKind):
    def decode(self, word: int) -> str:
        return RELATIONS[take(word, 24, 27)]

    def encode(self, operand: str) -> int:
        return at(next(k for k, v in RELATIONS.items() if v == operand), 24)

    def print(self, operand: str) -> str:
        return f"({operand})f0.0"


class PredBits(NativeKind):
    def decode(self, word: int) -> bool:
        return bool(take(word, 16, 19))

    def encode(self, operand: bool) -> int:
        return at(operand, 16)

    def print(self, operand: bool) -> str:
        return "(f0.0) " if operand else ""

    def bind(self, operand: bool, builder: Native) -> Value | None:
        if not operand:
            return None
        return builder.read_flag(builder.flag, builder.exec.offset, builder.width)


class FieldBits(NativeKind):
    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def decode(self, word: int) -> int:
        return take(word, self.low, self.high)

    def encode(self, operand: int) -> int:
        return at(operand, self.low)

    def print(self, operand: int) -> str:
        return hex(operand)


class Native(InstBuilder):
    """The builder for native code: one register file, one flag register."""

    def __init__(self, function: Function) -> None:
        super().__init__(function, platform("bxt"))
        self.file = Root("grf", RootKind.GRF, 4096, 0x1_0000)
        self.flag = Root("f0", RootKind.FLAG, 32)
        function.roots.update({r.name: r for r in (self.file, self.flag)})

    def next_block(self) -> int:
        return len(self.function.blocks)


Exec = Annotated[ExecSize, ExecBits()]
Dst = Annotated[WritePlace, DstBits()]
Src0 = Annotated[Value, SrcBits(64, 41)]
Src1 = Annotated[Value, SrcBits(96, 89)]
CondMod = Annotated[str, CondModBits()]
Pred = Annotated[Value, PredBits()]
Jip = Annotated[int, FieldBits(96, 127)]
Uip = Annotated[int, FieldBits(64, 95)]
Sfid = Annotated[int, FieldBits(24, 27)]
Desc = Annotated[int, FieldBits(96, 126)]


@GEN9.opcode(0x01, "mov {exec} {dst} {src0}", page="")
def mov(b: Native, exec: Exec, dst: Dst, src0: Src0) -> None:
    """dst[i] = src0[i], converted."""
    b.write(dst, src0)


@GEN9.opcode(0x40, "add {exec} {dst} {src0} {src1}", page="")
def add(b: Native, exec: Exec, dst: Dst, src0: Src0, src1: Src1) -> None:
    """dst[i] = src0[i] + src1[i]."""
    b.write(dst, b.add(*b.promote(src0, src1)))


@GEN9.opcode(0x10, "cmp {exec} {rel} {dst} {src0} {src1}", page="")
def cmp(b: Native, exec: Exec, rel: CondMod, dst: Dst, src0: Src0, src1: Src1) -> None:
    """f0.0[i] = src0[i] rel src1[i]."""
    b.write_flag(b.flag, b.exec.offset, b.cmp(rel, *b.promote(src0, src1)), b.mask)


@GEN9.opcode(0x31, "send {exec} {dst} {src0} {sfid} {desc}", page="")
def send(b: Native, exec: Exec, dst: Dst, src0: Src0, sfid: Sfid, desc: Desc) -> None:
    """A message to shared function `sfid`."""


@GEN9.opcode(0x2E, "{pred}goto {exec} {jip} {uip}", page="", flow=True)
def goto(b: Native, exec: Exec, pred: Pred, jip: Jip, uip: Uip) -> None:
    """Lanes where the predicate does not hold go to UIP (forward form)."""
    b.transfer(Diverge((b.not_(pred),), (uip,), offset=b.exec.offset))


CASES = {
    "add (8|M0) r10.0<1>:d r12.0<8;8,1>:d r13.0<8;8,1>:d": "008d01a0 0a8d0180 21400a28 00600040",
    "mov (8|M0) r10.0<1>:f r12.0<8;8,1>:f": "00000000 008d0180 21403ae8 00600001",
    "add (8|M0) r10.0<1>:d r12.0<8;8,1>:d 5:d": "00000005 0e8d0180 21400a28 00600040",
    "cmp (8|M0) (lt)f0.0 null<1>:d r12.0<8;8,1>:d r13.0<0;1,0>:d": (
        "000001a0 0a8d0180 20000a20 05600010"
    ),
    "(f0.0) goto (8|M0) 0x10 0x10": "00000010 00000010 20000e00 0061002e",
    "send (8|M0) r14.0<1>:f r15.0<8;8,1>:f 0xc 0x2106e00": "02106e00 068d01e0 21c03ae8 0c600031",
}
# Bits that these kinds leave to others: files and types of operands an instruction has not.
FIXED = {"send": 0x06000000 << 64, "goto": 0x20000E00 << 32}


def decode(word: int) -> tuple[Opcode, tuple[Any, ...]]:
    opcode = GEN9.by_number(word & 0x7F)
    assert opcode is not None
    return opcode, tuple(f.kind.decode(word) for f in opcode.fields)


def text(opcode: Opcode, operands: tuple[Any, ...]) -> str:
    return "".join(p.literal or p.field.kind.print(operands[p.field.index]) for p in opcode.pieces)


@pytest.mark.parametrize(("expected", "digits"), CASES.items())
def test_words_decode_print_and_encode(expected: str, digits: str) -> None:
    word = int(digits.replace(" ", ""), 16)
    opcode, operands = decode(word)
    assert text(opcode, operands) == expected
    bits = opcode.number | FIXED.get(opcode.mnemonic, 0)
    for field, operand in zip(opcode.fields, operands, strict=True):
        bits |= field.kind.encode(operand)
    assert f"{bits:032x}" == digits.replace(" ", "")


def test_bodies_build_ir() -> None:
    function = Function("native", 8, 32)
    b = Native(function)
    function.blocks.append(Block("entry"))
    b.block = function.blocks[0]
    for digits in CASES.values():
        opcode, operands = decode(int(digits.replace(" ", ""), 16))
        if b.block.end is not None:
            b.block = Block("next")
            function.blocks.append(b.block)
        bound = [f.kind.bind(x, b) for f, x in zip(opcode.fields, operands, strict=True)]
        opcode.build(b, bound)
    names = [op.name for op in function.blocks[0].ops]
    assert names.count("write") == 3 and "write_flag" in names
    assert function.blocks[0].end is not None and function.blocks[0].end.name == "diverge"


def test_a_template_that_disagrees_with_its_signature_fails_at_once() -> None:
    registry = Registry("broken", "a manual")

    def body(b: InstBuilder, exec: Exec, dst: Dst) -> None:
        """Nothing."""

    body.__annotations__.update({"exec": Exec, "dst": Dst, "b": InstBuilder, "return": None})
    for template in ("op {exec}", "op {exec} {dst} {src}", "op {exec} {dst.swizzle} {dst}"):
        with pytest.raises(InternalError):
            registry.opcode(1, template, page="Op")(body)
    registry.opcode(1, "op {exec} {dst}", page="Op")(body)
    with pytest.raises(InternalError):
        registry.opcode(1, "op2 {exec} {dst}", page="Op")(body)
    with pytest.raises(InternalError, match=r"body has no page="):
        registry.opcode(2, "op3 {exec} {dst}")(body)
