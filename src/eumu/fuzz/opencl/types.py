"""The types that random OpenCL C computes with."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """An integer type: `lanes` of 2 and more make it a vector."""

    base: str
    bits: int
    is_signed: bool
    lanes: int = 1

    def __str__(self) -> str:
        return self.base if self.lanes == 1 else f"{self.base}{self.lanes}"

    @property
    def is_vector(self) -> bool:
        return self.lanes > 1

    @property
    def unsigned(self) -> Type:
        """The unsigned type of the same size."""
        return self if not self.is_signed else by_name(f"u{self.base}", self.lanes)

    @property
    def signed(self) -> Type:
        """The signed type of the same size, which comparisons of vectors give."""
        return self if self.is_signed else by_name(self.base.removeprefix("u"), self.lanes)

    @property
    def wide(self) -> str:
        """The unsigned type in which numbers of this one are added: narrower ones are promoted."""
        return "ulong" if self.bits == 64 else "uint"

    def of(self, lanes: int) -> Type:
        return replace(self, lanes=lanes)

    def literal(self, random: Random) -> str:
        """A number of the type: a small one, one of its limits, or any; the same in all lanes."""
        top = (1 << self.bits) - 1
        value = random.choice(
            (random.randrange(8), top >> 1, (top >> 1) + 1, top, random.getrandbits(self.bits))
        )
        return f"(({self})({value:#x}{'UL' if self.bits == 64 else 'U'}))"


SCALARS: Final = tuple(
    Type(f"{'' if signed else 'u'}{base}", bits, signed)
    for base, bits in (("char", 8), ("short", 16), ("int", 32), ("long", 64))
    for signed in (True, False)
)
_BY_NAME: Final = {type.base: type for type in SCALARS}
LANES: Final = (2, 3, 4, 8, 16)
UINT: Final = _BY_NAME["uint"]
ULONG: Final = _BY_NAME["ulong"]


def by_name(base: str, lanes: int = 1) -> Type:
    return _BY_NAME[base].of(lanes)


def scalar(random: Random) -> Type:
    """Any scalar type, those of 32 bits more often."""
    return random.choices(SCALARS, (2, 2, 2, 2, 5, 5, 3, 3))[0]


def any_type(random: Random) -> Type:
    """A scalar or, less often, a vector; there are few of those with many lanes."""
    type = scalar(random)
    if random.random() < 0.75:
        return type
    return type.of(random.choices(LANES, (6, 2, 4, 1, 1))[0])
