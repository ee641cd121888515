"""Bits of message descriptors that do nothing here, each with the reason; every other bit acts.

A bit that belongs to no field of its message is refused by its number, some fields by their
names, and a header that a message needs is asked for.  Hints are the fields that may have any
value, because no result depends on them.  A test turns every bit of every message around: the
result is another one, or the message is refused, or its field is a hint.

Sources: the message decoders and the field descriptions (GED) of Intel's graphics compiler, and
what it and Mesa's compiler write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eumu.addresses import BTI_BINDLESS, BTI_STATELESS, BTI_STATELESS_NON_COHERENT
from eumu.isa.messages.request import MessageRequest

_COHERENT: Final = "caches hold no other data than memory here"
_LOADS: Final = (
    *("ld", "ld_lz", "ld_mcs", "ld2dms", "ld2dms_w", "ld2dss"),
    *("resinfo", "sampleinfo", "cache flush"),
)
_TYPED: Final = ("typed surface read", "typed surface write", "typed atomic")

# Field, messages (none: all that have it) and why no result depends on it.
_HINT_ROWS: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("invalidate after read", (), "it saves writing back what nobody reads again (GED)"),
    ("caches to flush", (), _COHERENT),
    ("binding table index", ("cache flush",), "all states are forgotten"),
    ("sampler index", _LOADS, "the message uses no sampler"),
    ("return format", ("cache flush",), "the answer says nothing"),
    ("response length", ("cache flush",), "the answer says nothing"),
    ("header", ("cache flush",), "the register that is sent says nothing"),
    ("last render target", (), "the pixels of a thread are its own: none waits for them"),
    (
        "notify",
        (),
        "a barrier tells n0.0 in any case: Intel's compiler writes 0 here, Mesa's 1",
    ),
    ("resource", (), "threads have no rows of the URB that would be free then"),
    (
        "block",
        (),
        "of 0 and 1 public sources say in different ways which one wants aligned addresses;"
        " both go where the address says",
    ),
)
# Where there is no header, so nothing that the field would choose from.
_WITHOUT_HEADER: Final[Mapping[str, str]] = {
    "slot group": "it chooses half of the header's pixel mask (GED)",
}
# Of A64 messages: the two that are stateless, which differ in caching.
_FLAT_INDICES: Final = (BTI_STATELESS, BTI_STATELESS_NON_COHERENT)

_REFUSED: Final[Mapping[str, str]] = {
    "vertical line stride override": "what it overrides is in the surface's state",
    "acknowledgement": "the gateway answers nothing here",
    "requester": "threads that threads spawn are not modelled",
    "per sample": "targets of several samples a pixel are not modelled",
    "per coarse pixel": "coarse pixels are not modelled",
    "SIMD mode [2]": "such modes have no public description",
}
# Fields that only some messages of a shared function have: for others they are reserved.
_ONLY_WRITES: Final = frozenset({"last render target", "per coarse pixel"})
_RENDER_READ: Final = "render target read"
_NEED_HEADER: Final = frozenset(
    {
        *("oword block read", "unaligned oword block read", "oword block write", "memory fence"),
        *("scratch block read", "scratch block write", "A64 block read", "A64 block write"),
        *("media block read", "media block write", "SIMD8 read", "SIMD8 write"),
        *("integer search", "skip and intra check", "fractional and bidirectional refinement"),
        *("sample_8x8", "sample_unorm"),
    }
)
_CONSECUTIVE_OWORDS: Final = 1  # and 0; others are other blocks
_NO_CHANNEL: Final = 15
_FUNCTION_BITS: Final = 0x7FF  # of an extended descriptor: those that say where it goes
# What <8;8,1> is there: Mesa's compiler leaves the region of other instructions in a send.
_REGION: Final = 0x04D0_0000
_STATE_BITS: Final = 0xFFFF_F000  # the place of a bindless surface's state


def hint(request: MessageRequest, name: str) -> str:
    """Why no result of a message depends on a field, "" if one does."""
    if name in _WITHOUT_HEADER and not request.header and request.message.get("header") is not None:
        return _WITHOUT_HEADER[name] if _name(request) in _TYPED else ""
    if name == "block" and request.get(name) > _CONSECUTIVE_OWORDS:
        return ""
    for field, messages, reason in _HINT_ROWS:
        if field == name and (not messages or _name(request) in messages):
            return reason
    return ""


def _name(request: MessageRequest) -> str:
    return request.message.name.removesuffix(", end of thread")


def check(request: MessageRequest) -> None:
    """Raise `Unsupported` for what a descriptor says and nothing here does."""
    message = request.message
    _check_reserved(request)
    name = _name(request)
    for field, reason in _REFUSED.items():
        value = message.get(field)
        if value:
            raise request.unsupported(f"{field} {value}: {reason}")
    if name == _RENDER_READ:
        for field in sorted(_ONLY_WRITES):
            if message.get(field):
                raise request.unsupported(f"{field}: only writes have it")
    if name in _NEED_HEADER and not request.header:
        raise request.unsupported("it needs a header and has none")
    if message.get("channels off") == _NO_CHANNEL:
        raise request.unsupported("all its channels are off")
    index = message.get("binding table index")
    if name.startswith("A64") and index not in _FLAT_INDICES:
        raise request.unsupported(f"binding table index {index}: its addresses are stateless, 255")


def _check_reserved(request: MessageRequest) -> None:
    """Raise if bits are set that belong to no field."""
    message = request.message
    rest = request.desc & ~message.bits()
    if rest:
        raise request.unsupported(f"{_bits(rest)} of its descriptor must be 0")
    heeded = _FUNCTION_BITS
    is_bindless = message.get("binding table index") == BTI_BINDLESS
    if is_bindless or request.surface is not None:
        heeded |= _STATE_BITS
    rest = request.ex_desc & ~heeded
    if rest and rest != _REGION:
        raise request.unsupported(f"{_bits(rest)} of its extended descriptor must be 0")


def _bits(mask: int) -> str:
    bits = [str(k) for k in range(mask.bit_length()) if mask >> k & 1]
    return f"bit {bits[0]}" if len(bits) == 1 else f"bits {', '.join(bits)}"
