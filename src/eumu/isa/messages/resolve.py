"""Descriptors that code composes: a constant, and a surface that is known at run time only.

A binding-table index is in bits 7:0 of the descriptor.  Where that is 252, bits 31:12 of the
extended one are the offset of a surface's state in the bindless heap, in units of 64 bytes.
"""

from __future__ import annotations

from typing import Final

from eumu.addresses import BINDLESS_SHIFT, BTI_BINDLESS, SURFACE_STATE_BASE
from eumu.ir import Value
from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.descriptor import describe
from eumu.isa.messages.known import Bits, known_bits
from eumu.records import dataclass
from eumu.types import UD

_INDEX: Final = 0xFF  # of the descriptor
_STATE: Final = 0xFFFF_F000  # of the extended descriptor
_EOT: Final = 1 << 5
_DWORD: Final = 0xFFFF_FFFF
_SURFACE_FIELD: Final = "binding table index"

# Messages where what is added to a constant is taken for a surface until it runs: to buffers, and
# media blocks, whose size must be known before.
# Indices from 252 on are other things than entries of the binding table.
_TAKEN: Final = frozenset(
    f"{width} {access}"
    for width, accesses in {
        "oword block": ("read", "write"),
        "unaligned oword block": ("read",),
        "byte scattered": ("read", "write"),
        "dword scattered": ("read", "write"),
        "media block": ("read", "write"),
        "untyped": ("surface read", "surface write", "atomic", "float atomic"),
    }.items()
    for access in accesses
)


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Both descriptors as numbers; `surface` is there where code has put in which surface it is.

    With `sure`, they are these if that lane is set.
    """

    ex_desc: int
    desc: int
    surface: Value | None = None
    sure: Value | None = None


def resolve(b: InstBuilder, ex_desc: Value | int, desc: Value | int) -> Descriptors | None:
    """The descriptors, None if more of them than a surface is known at run time only."""
    ex, plain = known_bits(b, ex_desc), known_bits(b, desc)
    if ex.covers(_DWORD):
        if isinstance(desc, int) or plain.covers(_DWORD):
            return Descriptors(ex.value, plain.value, constant_state(b, ex.value, plain.value))
        others = ~_INDEX & _DWORD
        if not _may_have_surface(ex.value, plain.value, is_known=plain.covers(others)):
            return None
        surface = b.and_(b.convert(desc, UD), b.const(UD, _INDEX))
        sure = _same(b, desc, plain, others)
        if describe(ex.value, plain.value).name in _TAKEN:
            is_entry = b.cmp("lt", surface, b.const(UD, BTI_BINDLESS))
            sure = is_entry if sure is None else b.and_(sure, is_entry)
        return Descriptors(ex.value, plain.value & others, surface, sure)
    others = ~_STATE & _DWORD
    if isinstance(ex_desc, int) or not plain.covers(_DWORD):
        return None
    if plain.value & _INDEX != BTI_BINDLESS or ex.value & _EOT:
        return None
    if not _may_have_surface(ex.value, plain.value, is_known=ex.covers(others)):
        return None
    sure = _same(b, ex_desc, ex, others)
    return Descriptors(ex.value & others, plain.value, bindless_surface(b, ex_desc), sure)


def bindless_surface(b: InstBuilder, ex_desc: Value) -> Value:
    """The surface whose state is where bits 31:12 of a dword say."""
    state = b.and_(b.convert(ex_desc, UD), b.const(UD, _STATE))
    offset = b.shr(state, b.const(UD, BINDLESS_SHIFT))
    return b.add(offset, b.const(UD, SURFACE_STATE_BASE))


def constant_state(b: InstBuilder, ex_desc: int, desc: int) -> Value | None:
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


def _may_have_surface(ex_desc: int, desc: int, *, is_known: bool) -> bool:
    """Whether something is added to these because it is a surface."""
    is_taken = describe(ex_desc, desc).name in _TAKEN
    return _has_surface(ex_desc, desc) and (is_known or is_taken)


def _same(b: InstBuilder, word: Value, bits: Bits, mask: int) -> Value | None:
    """Whether a word is the value of `bits` in the bits of a mask, None if that is certain."""
    if bits.covers(mask):
        return None
    rest = b.and_(b.convert(word, UD), b.const(UD, mask))
    return b.cmp("eq", rest, b.const(UD, bits.value & mask))
