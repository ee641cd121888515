"""Stack calls: functions of the program that pass arguments in %arg and results in %retval.

A callee has variables of its own, also when it is active already; %arg, %retval, %sp and %fp are
the thread's.  The number of registers that a call passes plays no part: all of %arg is passed.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from eumu.ir import Value
from eumu.ir.operations.ends import Call, CallIndirect, Ret
from eumu.isa.kinds import BranchCond, Dst, InstBuilder, Name, Scalar
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.control import StringKind
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import integer_literal, quoted
from eumu.isa.visa.flow import every_lane
from eumu.isa.visa.registry import opcode
from eumu.types import BOOL, UD, UQ


class FunctionKind(StringKind):
    """The name of a function; the body gets its first block."""

    manual = "a function"
    example = "{name}"

    def print(self, operand: str) -> str:
        return operand if operand.isidentifier() and operand.isascii() else quoted(operand)

    def bind(self, operand: str, builder: Any) -> int:
        return int(builder.callee(operand))


class RegisterCountKind(Kind):
    """A number of registers, 0 to 255."""

    manual = "a number of registers, 0 to 255"
    example = "1"

    def parse(self, cursor: Cursor, names: Names) -> int:
        start = cursor.skip()
        count = integer_literal(cursor)
        if count > 255:
            cursor.fail(f"a call passes at most 255 registers, not {count}", start=start)
        return count

    def print(self, operand: int) -> str:
        return str(operand)

    def pack(self, operand: int, out: Packer) -> None:
        out.u8(operand, "the number of registers")

    def unpack(self, source: Unpacker) -> int:
        return source.u8("a number of registers")


class CallWordsKind(Kind):
    """`.uniform`: every lane calls the same function; `.noreturn`: none of them comes back.

    Both are promises that allow better code and change no meaning.
    """

    manual = "nothing, .uniform, .noreturn or both: what the compiler knows of the call"
    words = ("uniform", "noreturn")
    default: tuple[str, ...] = ()

    def parse(self, cursor: Cursor, names: Names) -> tuple[str, ...]:
        return tuple(w for w in self.words if cursor.adjacent(_CALL_WORDS[w]))

    def print(self, operand: tuple[str, ...]) -> str:
        return "".join(f".{word}" for word in operand)

    def pack(self, operand: tuple[str, ...], out: Packer) -> None:
        out.u8(sum(1 << self.words.index(word) for word in operand))

    def unpack(self, source: Unpacker) -> tuple[str, ...]:
        at, bits = source.pos, source.u8("what is known of a call")
        if bits >> len(self.words):
            source.fail(f"{bits:#x} says more of a call than uniform and noreturn", at)
        return tuple(w for k, w in enumerate(self.words) if bits >> k & 1)


_CALL_WORDS = {word: re.compile(rf"\.{word}\b") for word in CallWordsKind.words}
CallWords = Annotated[tuple[str, ...], CallWordsKind()]
Callee = Annotated[int, FunctionKind()]
Registers = Annotated[int, RegisterCountKind()]


@opcode(
    0x67,
    "{cond}fcall {exec} {function} {arguments} {results}",
    page="FCALL",
    flow=True,
)
def fcall(
    b: InstBuilder, cond: BranchCond, function: Callee, arguments: Registers, results: Registers
) -> None:
    """The active lanes where cond holds run a function; the others wait after the call."""
    lanes, offset = every_lane(b, cond)
    b.transfer(Call((lanes,), (function,), offset=offset))


@opcode(
    0x4F,
    "{cond}ifcall{modifiers} {exec} {address} {arguments} {results}",
    page="IFCALL",
    flow=True,
    # The releases of 2022 and of 2026 call their formats 4.1 and 4.2.
    layout="exec cond modifiers>4.1 address arguments results",
)
def ifcall(
    b: InstBuilder,
    cond: BranchCond,
    modifiers: CallWords,
    address: Scalar,
    arguments: Registers,
    results: Registers,
) -> None:
    """As fcall, of the function at an address that `faddr` gave; its low 32 bits are enough."""
    lanes, offset = every_lane(b, cond)
    where = _low_dword(b, address)
    b.transfer(CallIndirect((lanes, where), offset=offset))


def _low_dword(b: InstBuilder, address: Value) -> Value:
    return b.convert(b.convert(address, UD), UQ)


@opcode(0x68, "{cond}fret {exec}", page="FRET", flow=True)
def fret(b: InstBuilder, cond: BranchCond) -> None:
    """The active lanes where cond holds leave the function."""
    lanes, offset = every_lane(b, cond)
    b.transfer(Ret((lanes,), offset=offset))


@opcode(0x50, "faddr {symbol} {dst}", page="FADDR")
def faddr(b: InstBuilder, symbol: Name, dst: Dst) -> None:
    """dst = the address of a function or of a data symbol."""
    address = b.function_address(symbol)
    value = b.symbol(symbol) if address is None else b.const(UQ, address)
    b.write(dst, value, b.const(BOOL, 1))  # it has no execution mask
