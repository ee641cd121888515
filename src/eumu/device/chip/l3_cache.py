"""The L3 as a cache: what of it each client may use, which lines it holds, who hits and misses.

A bank has 96 ways of 2 KB (160 in parts with a single bank), 32 lines of 64 bytes each; a row of
the allocation tables says how many of them are cache, and for whom: the data cluster, the
read-only clients (instructions, state, constants, textures), or all.  Lines go round robin over the
banks, and over the sets inside a bank; that hash is not documented.  The model holds no data.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import Final, Literal

from eumu.device.chip.l3 import BANK_KB, LINE, Allocation, allocation, allocations
from eumu.errors import LaunchError
from eumu.records import dataclass

WAY_KB: Final = 2
SETS: Final = (WAY_KB << 10) // LINE
CLIENTS: Final = {"DC": "dc", "I": "ro", "S": "ro", "C": "ro", "T": "ro"}  # to their column
Policy = Literal["plru", "lru1"]


class Mesi(IntEnum):
    INVALID = 0
    SHARED = 1
    EXCLUSIVE = 2
    MODIFIED = 3


class SurfaceClass(IntEnum):
    """Two bits of a line's state; what their values mean is not documented: by client, here."""

    DATA = 0
    INSTRUCTION = 1
    STATE = 2
    SAMPLED = 3


_CLASS: Final = {"I": SurfaceClass.INSTRUCTION, "S": SurfaceClass.STATE, "T": SurfaceClass.SAMPLED}


@dataclass(slots=True)
class Line:
    """A line that is there; `bits` is its state in six bits: MESI, surface class, whether its
    address is virtual, whether it is global."""

    number: int
    mesi: Mesi = Mesi.EXCLUSIVE
    surface: SurfaceClass = SurfaceClass.DATA
    is_virtual: bool = True
    is_global: bool = True

    @property
    def bits(self) -> int:
        return self.mesi | self.surface << 2 | self.is_virtual << 4 | self.is_global << 5


class Ways:
    """Some ways of a bank: `sets` sets of `ways` lines.

    `policy` "plru" is a tree of pseudo-LRU bits, "lru1" one bit a line: those not used since all
    others were go first, the lowest way of them.
    """

    def __init__(self, ways: int, sets: int = SETS, policy: Policy = "plru") -> None:
        if ways < 1 or sets < 1:
            raise LaunchError(f"a cache of {ways} ways and {sets} sets")
        self.ways, self.sets, self.policy = ways, sets, policy
        self._leaves = 1 << (ways - 1).bit_length()
        self._lines: list[dict[int, int]] = [{} for _ in range(sets)]  # line number -> way
        self._at: list[list[Line | None]] = [[None] * ways for _ in range(sets)]
        size = self._leaves if policy == "plru" else ways
        self._bits = [[False] * size for _ in range(sets)]

    def find(self, number: int) -> Line | None:
        """A line by its number, touched, if it is there."""
        index = number % self.sets
        way = self._lines[index].get(number)
        if way is None:
            return None
        self._touch(index, way)
        return self._at[index][way]

    def fill(self, line: Line) -> Line | None:
        """Put a line in place of another one, which comes back."""
        index = line.number % self.sets
        way = self._victim(index)
        old = self._at[index][way]
        if old is not None:
            del self._lines[index][old.number]
        self._at[index][way], self._lines[index][line.number] = line, way
        self._touch(index, way)
        return old

    def lines(self) -> list[Line]:
        """All that is there."""
        return [line for lines in self._at for line in lines if line is not None]

    def _victim(self, index: int) -> int:
        at, bits = self._at[index], self._bits[index]
        if len(self._lines[index]) < self.ways:
            return at.index(None)
        if self.policy == "lru1":
            return bits.index(False) if False in bits else 0
        node, span = 1, self._leaves
        while node < self._leaves:
            node, span = 2 * node + bits[node], span // 2
            if node * span - self._leaves >= self.ways:  # a half without ways
                node -= 1
        return node - self._leaves

    def _touch(self, index: int, way: int) -> None:
        bits = self._bits[index]
        if self.policy == "lru1":
            bits[way] = True
            if all(bits):
                bits[:] = [k == way for k in range(self.ways)]
            return
        node = way + self._leaves  # every node on the way points to its other half
        while node > 1:
            bits[node >> 1] = node % 2 == 0
            node >>= 1


class L3:
    """The L3 of a part with that many banks, divided as a row of the tables says.

    `config` is the row's number; without one it is the first row of the mode.  `hits` and `misses`
    count lines by client, `fills` lines from memory, `writebacks` modified lines that were written
    back: 64 bytes each.
    """

    def __init__(self, banks: int, config: int | None = None, policy: Policy = "plru") -> None:
        self.banks, self.config, self.policy = banks, config, policy
        self.hits: Counter[str] = Counter()
        self.misses: Counter[str] = Counter()
        self.fills = self.writebacks = 0
        self.row = self._row(has_slm=False) if self._exists(has_slm=False) else self._row(True)
        self._parts = self._divide()

    def start(self, *, has_slm: bool) -> None:
        """Threads come that use shared local memory, or do not; a change of mode flushes first."""
        if has_slm != (self.row.slm > 0):
            self.flush()
            self.row = self._row(has_slm)
            self._parts = self._divide()

    @property
    def bank_ways(self) -> int:
        """Ways of a bank, those of the URB and of shared local memory too: 96 or 160."""
        return BANK_KB[self.banks == 1] // WAY_KB

    def ways(self, client: str) -> int:
        """How many ways of each bank a client may use."""
        part = self._column(client)
        return getattr(self.row, part) // WAY_KB if part else 0

    def access(self, address: int, client: str = "DC", *, is_write: bool = False) -> bool:
        """A client touches the line of a byte address; whether it was there.

        A client without ways always misses, and keeps nothing.
        """
        number = address // LINE
        bank, place = number % self.banks, number // self.banks
        column = self._column(client)
        ways = self._parts[column][bank] if column else None
        line = ways.find(place) if ways is not None else None
        (self.misses if line is None else self.hits)[client] += 1
        if ways is None:
            return False
        is_hit = line is not None
        if line is None:
            line = Line(place, surface=_CLASS.get(client, SurfaceClass.DATA))
            self.fills += 1
            old = ways.fill(line)
            self.writebacks += old is not None and old.mesi is Mesi.MODIFIED
        if is_write:
            line.mesi = Mesi.MODIFIED
        return is_hit

    @property
    def dirty(self) -> int:
        """Lines that memory does not have as they are."""
        return sum(line.mesi is Mesi.MODIFIED for line in self.lines())

    def lines(self) -> list[Line]:
        """All lines of all banks."""
        return [x for banks in self._parts.values() for ways in banks for x in ways.lines()]

    def flush(self) -> int:
        """Write modified lines back and forget all; how many those were."""
        written = self.dirty
        self.writebacks += written
        self._parts = self._divide()
        return written

    def hit_rate(self, client: str) -> float:
        """Of the lines that a client touched; 0 if it touched none."""
        total = self.hits[client] + self.misses[client]
        return self.hits[client] / total if total else 0.0

    def _column(self, client: str) -> str:
        """The column of the table that a client's lines live in, "" if in none."""
        if client not in CLIENTS:
            raise LaunchError(f"L3 has no client {client!r}; there are {', '.join(CLIENTS)}")
        own = CLIENTS[client]
        return own if getattr(self.row, own) else "rest" if self.row.rest else ""

    def _divide(self) -> dict[str, list[Ways]]:
        sizes = {name: getattr(self.row, name) // WAY_KB for name in ("rest", "dc", "ro")}
        return {
            name: [Ways(ways, policy=self.policy) for _ in range(self.banks)]
            for name, ways in sizes.items()
            if ways
        }

    def _exists(self, *, has_slm: bool) -> bool:
        rows = allocations(self.banks == 1, has_slm)
        return self.config is None or any(row.config == self.config for row in rows)

    def _row(self, has_slm: bool) -> Allocation:
        single = self.banks == 1
        if self.config is None:
            return allocations(single, has_slm)[0]
        return allocation(single, has_slm, self.config)
