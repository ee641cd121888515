"""Operand records: what an instruction holds after decoding, whatever it was decoded from.

Source: vISA page "Operands".
"""

from __future__ import annotations

from eumu.isa.kinds.variables import (
    AddressVariable,
    Declared,
    PredicateVariable,
    Variable,
)
from eumu.records import dataclass
from eumu.types import Type


@dataclass(frozen=True, slots=True)
class ExecSize:
    """`(M5_NM, 16)`: 16 lanes from lane 16 on; with `nomask` the execution mask is ignored."""

    size: int
    offset: int = 0
    nomask: bool = False


@dataclass(frozen=True, slots=True)
class Predicate:
    """`(!P1.any)`: `combine` is '', 'any' or 'all' and applies before `invert`."""

    variable: PredicateVariable
    invert: bool = False
    combine: str = ""


@dataclass(frozen=True, slots=True)
class General:
    """`V(row,col)<v;w,h>`; a destination has only `h`; strides count elements.

    `modifier` is '', '-', 'abs', '-abs' or '~'.
    """

    variable: Variable
    row: int
    col: int
    vstride: int
    width: int
    hstride: int
    modifier: str = ""
    saturate: bool = False

    @property
    def type(self) -> Type:
        return self.variable.type


@dataclass(frozen=True, slots=True)
class Indirect:
    """`r[A(element),offset]<v;w,h>:t`; without `vstride`, every row has its own address."""

    address: AddressVariable
    element: int
    offset: int
    vstride: int | None
    width: int
    hstride: int
    type: Type
    modifier: str = ""
    saturate: bool = False


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: its bits as the token gave them (unsigned, up to 64) and its type."""

    bits: int
    type: Type


@dataclass(frozen=True, slots=True)
class PredicateOperand:
    """A predicate variable as source or destination."""

    variable: PredicateVariable
    saturate: bool = False


@dataclass(frozen=True, slots=True)
class AddressOperand:
    """`A0(element)<width>`."""

    variable: AddressVariable
    element: int
    width: int
    saturate: bool = False


@dataclass(frozen=True, slots=True)
class AddressOf:
    """`&V[bytes]`."""

    variable: Declared
    offset: int


@dataclass(frozen=True, slots=True)
class StateOperand:
    """`T6(element)`, a surface or sampler variable's element."""

    variable: Declared
    element: int
    saturate: bool = False


@dataclass(frozen=True, slots=True)
class Raw:
    """`V.offset` in bytes; no variable stands for `%null`."""

    variable: Variable | None
    offset: int = 0


Source = (
    General | Indirect | Immediate | PredicateOperand | AddressOperand | AddressOf | StateOperand
)
Destination = General | Indirect | PredicateOperand | AddressOperand | StateOperand


@dataclass(frozen=True, slots=True)
class DataShape:
    """LSC data `d32x4`, `d32x16t`, `d32.xz`: element size, elements per address, order, channels.

    `size` is d8, d16, d32, d64, d8c32, d16c32 or d16c32h; `transposed` puts the elements of the one
    address side by side; `channels` (numbers, x is 0) replaces the count.
    """

    size: str
    elements: int = 1
    transposed: bool = False
    channels: tuple[int, ...] = ()

    def __str__(self) -> str:
        count = f"x{self.elements}" if self.elements > 1 else ""
        channels = "." + "".join("xyzw"[c] for c in self.channels) if self.channels else ""
        return f"{self.size}{count}{'t' if self.transposed else ''}{channels}"
