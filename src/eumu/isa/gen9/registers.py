"""Names of registers: the general file and the architecture registers."""

from __future__ import annotations

import re
from typing import Final

from eumu.isa.gen9.bits import Undecodable
from eumu.isa.gen9.operands import Register
from eumu.isa.kinds.cursor import Cursor
from eumu.records import dataclass
from eumu.types import Type

# Bytes of one architecture register where it is not 32.
GRF_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class ArfRow:
    """Registers `first` to `last` (in the low half of a register number) of a kind.

    `bare` ones are written without number, and without subregister if it is 0; the text counts the
    others from `first`, unless they are not `numbered`.
    """

    kind: int
    first: int
    last: int
    name: str
    bare: bool = False
    numbered: bool = True


ARF_ROWS: Final = (
    ArfRow(0x0, 0, 0, "null", bare=True),
    ArfRow(0x1, 0, 0, "a"),
    ArfRow(0x2, 0, 1, "acc"),
    ArfRow(0x2, 2, 9, "mme"),
    ArfRow(0x3, 0, 1, "f"),
    ArfRow(0x4, 0, 0, "ce", bare=True),
    ArfRow(0x5, 0, 7, "msg"),
    ArfRow(0x6, 0, 0, "sp", numbered=False),
    ArfRow(0x7, 0, 1, "sr"),
    ArfRow(0x8, 0, 0, "cr"),
    ArfRow(0x9, 0, 0, "n"),
    ArfRow(0xA, 0, 0, "ip", bare=True),
    ArfRow(0xB, 0, 0, "tdr"),
    ArfRow(0xC, 0, 0, "tm"),
    ArfRow(0xD, 0, 4, "fc"),
    ArfRow(0xF, 0, 0, "dbg"),
)
ARF_OF_NUMBER: Final = {
    row.kind << 4 | low: (row, low - row.first)
    for row in ARF_ROWS
    for low in range(row.first, row.last + 1)
}
_ROW_OF_NAME: Final = {row.name: row for row in ARF_ROWS}

NULL: Final = Register(True, 0x00)
IP: Final = Register(True, 0xA0)
FLAG_NUMBER: Final = 0x30
ADDRESS_NUMBER: Final = 0x10
ACCUMULATOR_NUMBER: Final = 0x20

_NAME: Final = re.compile(r"([a-z]+)(\d*)(?:\.(\d+))?")


def check_register(register: Register, field: str) -> Register:
    """The register, if there is one with this number."""
    if register.is_arf and register.number not in ARF_OF_NUMBER:
        raise Undecodable(f"{field}: architecture register {register.number:#04x} does not exist")
    return register


def print_register(register: Register, type: Type | None) -> str:
    """`r12.3`, `acc0.0`, `null`; without a type the subregister is left out."""
    name, bare = f"r{register.number}", False
    if register.is_arf:
        row, number = ARF_OF_NUMBER[register.number]
        name, bare = row.name, row.bare
        if row.numbered and not bare:
            name += str(number)
    if type is None or (bare and register.byte < type.size):
        return name
    return f"{name}.{register.byte // type.size}"


def parse_register(cursor: Cursor) -> tuple[Register, int]:
    """A register with byte 0, and the subregister as it was written (in elements)."""
    start = cursor.skip()
    match = cursor.need(_NAME, "a register")
    name, digits, element = match.groups()
    sub = int(element or 0)
    if name == "r" and digits:
        if int(digits) > 255:
            cursor.fail(f"register r{digits} does not fit 8 bits", start=start)
        return Register(False, int(digits)), sub
    row = _ROW_OF_NAME.get(name)
    if row is None:
        cursor.fail(f"'{match.group()}' is no register", start=start)
    number = int(digits or 0)
    if name == "acc" and (found_row := ARF_OF_NUMBER.get(row.kind << 4 | number)):
        row, number = found_row  # acc2 to acc9, as the manual calls mme0 to mme7
    if number > row.last - row.first:
        cursor.fail(f"there is no {name}{number}", start=start)
    return Register(True, row.kind << 4 | number + row.first), sub
