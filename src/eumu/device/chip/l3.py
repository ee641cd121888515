"""How the data array of an L3 bank is divided, and the register that says so.

The tables are those of the PRM chapter "L3 Cache and URB", in KB of one bank.  Row 2 of the
multi-bank table without shared local memory gives 128 KB to the data cluster; other public sources
give 32 KB to it and 96 KB to the read-only clients.  This follows the PRM.
"""

from __future__ import annotations

from typing import Final

from eumu.errors import LaunchError
from eumu.records import dataclass

BANK_KB: Final = {False: 192, True: 320}  # by "single bank"
_WAY_KB: Final = {False: 2, True: 4}  # what one unit of the register's fields stands for
LINE: Final = 64  # bytes
SLM_KB: Final = 64


@dataclass(frozen=True, slots=True)
class Allocation:
    """One row of the tables: KB of a bank for shared local memory, URB, all clients ("Rest"), the
    data cluster, and the read-only clients (instructions, state, constants, textures)."""

    config: int
    single_bank: bool
    slm: int
    urb: int
    rest: int
    dc: int
    ro: int

    @property
    def sum(self) -> int:
        return self.slm + self.urb + self.rest + self.dc + self.ro

    @property
    def tagged(self) -> int:
        """KB that are cache."""
        return self.rest + self.dc + self.ro

    def total(self, banks: int) -> Allocation:
        """The sums over a part's banks."""
        if (banks == 1) != self.single_bank:
            kind = "a single" if self.single_bank else "several"
            raise LaunchError(f"this row is for parts with {kind} bank(s), not {banks}")
        sizes = (n * banks for n in (self.slm, self.urb, self.rest, self.dc, self.ro))
        return Allocation(self.config, self.single_bank, *sizes)


_ROWS: Final = {
    # (single bank, shared local memory): config, URB, rest, DC, RO
    (False, False): (
        (0, 96, 96, 0, 0),
        (1, 96, 0, 32, 64),
        (2, 64, 0, 128, 0),
        (3, 64, 0, 0, 128),
        (4, 64, 128, 0, 0),
    ),
    (False, True): ((1, 32, 96, 0, 0), (2, 32, 0, 32, 64), (3, 32, 0, 64, 32), (4, 16, 112, 0, 0)),
    (True, False): ((0, 128, 192, 0, 0), (1, 128, 0, 32, 160), (2, 128, 0, 128, 64)),
    (True, True): ((1, 64, 192, 0, 0), (2, 64, 0, 160, 32), (3, 64, 0, 64, 128)),
}


def allocations(single_bank: bool, has_slm: bool) -> tuple[Allocation, ...]:
    """The validated rows for a kind of bank."""
    slm = SLM_KB if has_slm else 0
    return tuple(
        Allocation(config, single_bank, slm, *sizes)
        for config, *sizes in _ROWS[single_bank, has_slm]
    )


def allocation(single_bank: bool, has_slm: bool, config: int) -> Allocation:
    """One row; LaunchError where the table has none."""
    rows = allocations(single_bank, has_slm)
    for row in rows:
        if row.config == config:
            return row
    mode = "with" if has_slm else "without"
    raise LaunchError(
        f"L3 configuration {config} {mode} shared local memory is not validated;"
        f" there are {', '.join(str(r.config) for r in rows)}"
    )


# L3CNTLREG, MMIO 0x7034: field, lowest bit, width. Bit 0 enables shared local memory.
L3CNTLREG: Final = 0x7034
_FIELDS: Final = (("urb", 1, 7), ("ro", 11, 7), ("dc", 18, 7), ("rest", 25, 7))


def control_register(row: Allocation) -> int:
    """The value of L3CNTLREG for a row."""
    way = _WAY_KB[row.single_bank]
    value = int(row.slm > 0)
    for name, bit, _ in _FIELDS:
        value |= getattr(row, name) // way << bit
    return value


def of_control_register(value: int, single_bank: bool) -> Allocation:
    """The row that a value of L3CNTLREG programs; LaunchError where no table has it."""
    way = _WAY_KB[single_bank]
    sizes = {name: (value >> bit & (1 << width) - 1) * way for name, bit, width in _FIELDS}
    for row in allocations(single_bank, bool(value & 1)):
        if all(getattr(row, name) == size for name, size in sizes.items()):
            return row
    text = ", ".join(f"{name} {size} KB" for name, size in sizes.items())
    raise LaunchError(f"L3CNTLREG {value:#010x} ({text}) is not a validated configuration")


class L3Control:
    """The register, and whether L3 holds lines that are not written back (`dirty`)."""

    def __init__(self, banks: int) -> None:
        self.banks = banks
        self.row = allocation(banks == 1, False, 0)
        self.dirty = False
        self.is_programmed = False  # until then a driver has set up what its context needs

    @property
    def urb_base(self) -> int:
        """Byte in each bank where the URB starts: behind shared local memory if that is on."""
        return self.row.slm << 10

    def write(self, value: int) -> None:
        """Program L3CNTLREG; shared local memory is only switched on when L3 is flushed."""
        row = of_control_register(value, self.banks == 1)
        if row.slm and not self.row.slm and self.dirty:
            raise LaunchError(
                "shared local memory is enabled while L3 holds dirty lines;"
                " flush L3 first (PIPE_CONTROL with DC Flush and a command streamer stall)"
            )
        self.row = row
        self.is_programmed = True
