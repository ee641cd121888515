"""The command streamer's registers, MI_MATH on them, and MI_ATOMIC's operations.

Registers are dwords at MMIO offsets; the sixteen general purpose registers have 64 bits each.
Offsets that nobody wrote read as zero.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from eumu.device.chip.l3 import L3CNTLREG
from eumu.device.commands.packet import CommandError

CS_GPR: Final = 0x2600
PREDICATE_SRC0: Final = 0x2400
PREDICATE_SRC1: Final = 0x2408
PREDICATE_DATA: Final = 0x2410
PREDICATE_RESULT: Final = 0x2418
PREDICATE_RESULT_1: Final = 0x241C  # of MI_BATCH_BUFFER_START
PREDICATE_RESULT_2: Final = 0x23BC  # of MI_SET_PREDICATE (Linux, intel_engine_regs.h)
TIMESTAMP: Final = 0x2358  # 36 bits, of the device
CONTEXT_TIMESTAMP: Final = 0x23A8  # 32 bits, of the time that this context ran
NOP_ID: Final = 0x2094  # what MI_NOOP leaves
GT_MODE: Final = 0x7008
# Bindless Surface Base Address Select: the PRM names the bit of GT_MODE, and no public document
# says which it is; this one has no other meaning in Mesa's or Linux's descriptions of Gen9.
BINDLESS_BASE_SELECT: Final = 1 << 13
# Bits 31:16 of what is written to these say which of bits 15:0 are.
MASKED: Final = frozenset({0x2580, 0x7000, 0x7004, GT_MODE, 0x731C})
DISPATCH_DIMENSIONS: Final = 0x2500, 0x2504, 0x2508  # groups of an indirect walker
_MODELLED: Final = frozenset(
    {
        *(start + k for start in (PREDICATE_SRC0, PREDICATE_SRC1, PREDICATE_DATA) for k in (0, 4)),
        *(PREDICATE_RESULT, PREDICATE_RESULT_1, PREDICATE_RESULT_2),
        *(TIMESTAMP, TIMESTAMP + 4, CONTEXT_TIMESTAMP),
        *(NOP_ID, *MASKED, *DISPATCH_DIMENSIONS, L3CNTLREG),
    }
)
_GPR_BYTES: Final = 16 * 8
_END: Final = 0x200000  # bytes of the register space that commands reach
_M32: Final = (1 << 32) - 1
_M64: Final = (1 << 64) - 1


class Registers:
    """Dwords by offset."""

    def __init__(self) -> None:
        self._dwords: dict[int, int] = {}

    def read(self, offset: int) -> int:
        self._check(offset)
        return self._dwords.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        self._check(offset)
        self._dwords[offset] = value & _M32

    def read64(self, offset: int) -> int:
        return self.read(offset) | self.read(offset + 4) << 32

    def write64(self, offset: int, value: int) -> None:
        self.write(offset, value)
        self.write(offset + 4, value >> 32)

    def means(self, offset: int) -> bool:
        """Whether what is read there is what hardware has: it was written, or is modelled."""
        return (
            offset in self._dwords or offset in _MODELLED or CS_GPR <= offset < CS_GPR + _GPR_BYTES
        )

    @property
    def predicate(self) -> bool:
        """What predicated commands depend on: bit 0 of MI_PREDICATE_RESULT, the only one it has."""
        return bool(self.read(PREDICATE_RESULT) & 1)

    def items(self) -> dict[int, int]:
        """What is not zero, for a saved context."""
        return {k: v for k, v in sorted(self._dwords.items()) if v}

    @staticmethod
    def _check(offset: int) -> None:
        if offset % 4 or not 0 <= offset < _END:
            raise CommandError(f"{offset:#x} is no register offset", "Register Offset")


_ALU: Final[dict[int, Callable[[int, int], int]]] = {
    0x100: operator.add,
    0x101: operator.sub,
    0x102: operator.and_,
    0x103: operator.or_,
    0x104: operator.xor,
}
_SRCA, _SRCB, _ACCU, _ZF, _CF = 0x20, 0x21, 0x31, 0x32, 0x33


def run_math(registers: Registers, words: tuple[int, ...]) -> None:
    """MI_MATH: ALU instructions one after the other.

    Sources A and B, the accumulator and its zero and carry flags live for one command; a borrow
    sets the carry flag.
    """
    alu = {_SRCA: 0, _SRCB: 0, _ACCU: 0, _ZF: 0, _CF: 0}

    def source(number: int) -> int:
        return registers.read64(CS_GPR + 8 * number) if number < 16 else alu[_known(number, alu)]

    for word in words:
        code, first, second = word >> 20, word >> 10 & 0x3FF, word & 0x3FF
        if code in _ALU:
            exact = _ALU[code](alu[_SRCA], alu[_SRCB])
            alu[_ACCU] = exact & _M64
            alu[_ZF] = _M64 if alu[_ACCU] == 0 else 0
            alu[_CF] = _M64 if exact != alu[_ACCU] else 0
        elif code in (0x080, 0x480, 0x081, 0x481):  # LOAD, LOADINV, LOAD0, LOAD1
            value = {0x081: 0, 0x481: _M64}.get(code)
            if value is None:
                value = source(second) ^ (_M64 if code == 0x480 else 0)
            if first not in (_SRCA, _SRCB):
                raise CommandError(f"MI_MATH loads {first:#x}, not SRCA or SRCB", "Operand 1")
            alu[first] = value
        elif code in (0x180, 0x580):  # STORE, STOREINV
            if first >= 16:
                raise CommandError(f"MI_MATH stores to {first:#x}, no register", "Operand 1")
            value = alu[_known(second, alu)] ^ (_M64 if code == 0x580 else 0)
            registers.write64(CS_GPR + 8 * first, value)
        elif code:
            raise CommandError(f"MI_MATH has no ALU opcode {code:#x}", "ALU Opcode")


def _known(number: int, alu: dict[int, int]) -> int:
    if number not in alu:
        raise CommandError(f"MI_MATH has no operand {number:#x}", "Operand 2")
    return number


def _signed(value: int, bits: int) -> int:
    return value - (value >> bits - 1 << bits)


# By the low four bits of the opcode, as in the data port: old value, operand, bits to new value.
_ATOMICS: Final[dict[int, Callable[[int, int, int], int]]] = {
    0x1: lambda old, a, n: old & a,
    0x2: lambda old, a, n: old | a,
    0x3: lambda old, a, n: old ^ a,
    0x4: lambda old, a, n: a,
    0x5: lambda old, a, n: old + 1,
    0x6: lambda old, a, n: old - 1,
    0x7: lambda old, a, n: old + a,
    0x8: lambda old, a, n: old - a,
    0x9: lambda old, a, n: a - old,
    0xA: lambda old, a, n: max(old, a, key=lambda x: _signed(x, n)),
    0xB: lambda old, a, n: min(old, a, key=lambda x: _signed(x, n)),
    0xC: lambda old, a, n: max(old, a),
    0xD: lambda old, a, n: min(old, a),
}
_COMPARE_WRITE: Final = 0xE
_SIZES: Final = {0: 4, 2: 8, 4: 16}  # by the high four bits of the opcode


def atomic(opcode: int, old: int, first: int, second: int) -> int:
    """The new value in memory of an MI_ATOMIC operation; compare and write compares with `first`.

    CommandError for opcodes that are not modelled; 16 bytes have compare and write alone.
    """
    size, low = atomic_size(opcode), opcode & 0xF
    mask = (1 << 8 * size) - 1
    if low == _COMPARE_WRITE:
        return second & mask if old == first & mask else old
    if low not in _ATOMICS or size == 16:
        raise CommandError(f"MI_ATOMIC opcode {opcode:#x} is reserved", "Atomic Opcode")
    return _ATOMICS[low](old, first & mask, 8 * size) & mask


def atomic_size(opcode: int) -> int:
    """Bytes that an MI_ATOMIC operation touches."""
    if opcode >> 4 not in _SIZES:
        raise CommandError(f"MI_ATOMIC opcode {opcode:#x} is reserved", "Atomic Opcode")
    return _SIZES[opcode >> 4]
