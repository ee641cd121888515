"""Descriptors that code composes: a constant, and a surface that is known at run time only.

A binding-table index is in bits 7:0 of the descriptor.  Where that is 252, bits 31:12 of the
extended one are the offset of a surface's state in the bindless heap, in units of 64 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from eumu.addresses import BINDLESS_SHIFT, BTI_BINDLESS, SURFACE_STATE_BASE
from eumu.ir import Value
from eumu.isa.kinds import Meaning
from eumu.isa.messages.descriptor import describe
from eumu.isa.messages.known import known_bits
from eumu.types import UD

_INDEX: Final = 0xFF  # of the descriptor
_STATE: Final = 0xFFFF_F000  # of the extended descriptor
_SFID: Final = 0xF
_SURFACE_FIELD: Final = "binding table index"


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Both descriptors as numbers; `surface` is there where code has put in which surface it is."""

    ex_desc: int
    desc: int
    surface: Value | None = None


def resolve(b: Meaning, ex_desc: Value | int, desc: Value | int) -> Descriptors | None:
    """The descriptors, None if more of them than a surface is known at run time only.

    What is added to a constant is taken for a surface; the thread faults if it has other bits.
    """
    ex, plain = known_bits(b, ex_desc), known_bits(b, desc)
    if ex.covers(0xFFFF_FFFF):
        if isinstance(desc, int) or plain.covers(0xFFFF_FFFF):
            return Descriptors(ex.value, plain.value, constant_state(b, ex.value, plain.value))
        if not _has_surface(ex.value, plain.value):
            return None
        _check(b, desc, plain.known, plain.value, _INDEX, "descriptor")
        surface = b.and_(b.convert(desc, UD), b.const(UD, _INDEX))
        return Descriptors(ex.value, plain.value & ~_INDEX, surface)
    if not plain.covers(0xFFFF_FFFF) or plain.value & _INDEX != BTI_BINDLESS:
        return None
    if isinstance(ex_desc, int) or not _has_surface(ex.value, plain.value):
        return None
    _check(b, ex_desc, ex.known, ex.value, _STATE, "extended descriptor")
    return Descriptors(ex.value & ~_STATE, plain.value, bindless_surface(b, ex_desc))


def bindless_surface(b: Meaning, ex_desc: Value) -> Value:
    """The surface whose state is where bits 31:12 of a dword say."""
    state = b.and_(b.convert(ex_desc, UD), b.const(UD, _STATE))
    offset = b.shr(state, b.const(UD, BINDLESS_SHIFT))
    return b.add(offset, b.const(UD, SURFACE_STATE_BASE))


def constant_state(b: Meaning, ex_desc: int, desc: int) -> Value | None:
    """The bindless surface that two descriptors name, if they do."""
    if desc & _INDEX != BTI_BINDLESS or not _has_surface(ex_desc, desc):
        return None
    return b.const(UD, SURFACE_STATE_BASE + ((ex_desc & _STATE) >> BINDLESS_SHIFT))


def _has_surface(ex_desc: int, desc: int) -> bool:
    """Whether these are the descriptors of a message that names a surface."""
    message = describe(ex_desc, desc)
    if not message.is_known or not message.get("message length"):
        return False
    return message.get(_SURFACE_FIELD) is not None


def _check(b: Meaning, word: Value, known: int, value: int, surface: int, what: str) -> None:
    """The thread faults if a descriptor differs from `value` in bits that are no surface."""
    others = ~surface & 0xFFFF_FFFF
    if others & ~known == 0:
        return
    rest = b.and_(b.convert(word, UD), b.const(UD, others))
    reason = f"what is added to the {what} {value & others:#010x} of a message is no surface"
    b.require(b.cmp("eq", rest, b.const(UD, value & others)), reason)
