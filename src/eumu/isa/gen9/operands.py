"""Operand records of native instructions: what a decoded word says, without its bits.

Branch targets are absolute byte offsets from the start of the code; everything else is as in the
word.  Subregisters are kept in bytes.
"""

from __future__ import annotations

from eumu.records import dataclass
from eumu.types import Type


@dataclass(frozen=True, slots=True)
class FlagMask:
    """A predicate: the flag (0 to 3 are f0.0, f0.1, f1.0, f1.1), how bits combine, inverted."""

    flag: int
    mode: str = ""
    invert: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """`(W&~f0.0) op (16|M16)`: size, first channel, whether the mask is ignored, predicate."""

    size: int
    offset: int = 0
    nomask: bool = False
    predicate: FlagMask | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition modifier, `(lt)f0.1`."""

    name: str
    flag: int


@dataclass(frozen=True, slots=True)
class Register:
    """A register of a file; `number` has the kind of an architecture register in its high half."""

    is_arf: bool
    number: int
    byte: int = 0


@dataclass(frozen=True, slots=True)
class Pointer:
    """Register-indirect: the byte address in a0.`element` plus `offset`."""

    element: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Region:
    """Strides and width in elements; without `vstride` every row has its own address."""

    vstride: int | None
    width: int
    hstride: int


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an instruction writes; `channels` (x is bit 0) are enabled in Align16 mode."""

    place: Register | Pointer
    hstride: int
    type: Type
    saturate: bool = False
    channels: int | None = None


@dataclass(frozen=True, slots=True)
class NativeSource:
    """What an instruction reads; `swizzle` (2 bits a channel) is that of Align16 mode.

    In Align16 mode the region has a vertical stride only.
    """

    place: Register | Pointer
    region: Region
    type: Type
    negate: bool = False
    absolute: bool = False
    swizzle: int | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    """An immediate: its bits (as many as its type has; packed vectors 32) and its type."""

    bits: int
    type: Type


@dataclass(frozen=True, slots=True)
class TernaryDestination:
    """Where an instruction with three sources writes.

    A `scalar` one is written by one channel (two for DF) of four (of two), which says where in the
    16 bytes the result goes; the execution size then reads as 1.  `channels` is None for all.
    """

    number: int
    byte: int
    type: Type
    saturate: bool = False
    channels: int | None = None
    scalar: bool = False


@dataclass(frozen=True, slots=True)
class TernarySource:
    """A source of three; `replicate` spreads one element over all channels."""

    number: int
    byte: int
    type: Type
    replicate: bool = False
    negate: bool = False
    absolute: bool = False
    swizzle: int = 0b11_10_01_00


@dataclass(frozen=True, slots=True)
class MacroDestination:
    """A register and the accumulator acc2 to acc9 (0 to 7; 8 for none) that belongs to it."""

    number: int
    accumulator: int
    type: Type
    saturate: bool = False


@dataclass(frozen=True, slots=True)
class MacroSource:
    """As `MacroDestination`, to be read."""

    number: int
    accumulator: int
    type: Type
    negate: bool = False
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class PayloadOperand:
    """Registers of a message, or a pointer to them; a type without meaning goes with them."""

    place: Register | Pointer
    type: Type | None


@dataclass(frozen=True, slots=True)
class AddressWord:
    """A descriptor that is read from a0."""

    element: int


@dataclass(frozen=True, slots=True)
class BranchTarget:
    """Where a branch goes, as a byte offset from the start of the code."""

    offset: int


@dataclass(frozen=True, slots=True)
class InstructionOptions:
    """What stands in braces."""

    no_dd_clr: bool = False
    no_dd_chk: bool = False
    thread: str = ""  # "", "Atomic" or "Switch"
    bit_28: bool = False
    breakpoint: bool = False
    align16: bool = False
    eot: bool = False
