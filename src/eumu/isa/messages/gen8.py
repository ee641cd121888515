"""What Gen8's messages lack of Gen9's; where both have a message, its bits are the same.

Sources: Mesa's compiler, which asks for the generation (brw_eu_defines.h, brw_eu.h,
brw_lower_logical_sends.cpp, brw_fs.cpp), and what Intel's compiler makes for Broadwell.  What
neither uses on Gen8 is refused.
"""

from __future__ import annotations

from typing import Final

from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.request import MessageRequest
from eumu.messages import PARAMETERS

_LATER_SAMPLES: Final = frozenset(
    {"sample_lz", "sample_c_lz", "ld_lz", "ld2dms_w", "sample_min", "sample_max"}
)
_LATER: Final = frozenset(
    {"untyped float atomic", "A64 untyped float atomic", "render target read"}
)
_UNWITNESSED: Final = frozenset(
    {
        *("sample_8x8", "sample_unorm"),
        *("integer search", "skip and intra check", "fractional and bidirectional refinement"),
        "MMIO read or write",
    }
)
_TYPED: Final = ("typed surface read", "typed surface write", "typed atomic")
_FLAT: Final = ("A64 untyped surface read", "A64 untyped surface write", "A64 scattered")
_BINDLESS: Final = 252
_HWORDS: Final = 3  # of the field "block"
_SIMD8_2: Final = 2  # of the field "SIMD mode" in two bits


# Parameters that stand in another order than Gen9's.
_PARAMETERS: Final = {"ld": ("u", "lod", "v", "r")}


def order_of(b: InstBuilder, operation: str) -> tuple[str, ...]:
    """The parameters of a sampler's message in the order of the platform's generation."""
    if b.platform.generation == "gen8" and operation in _PARAMETERS:
        return _PARAMETERS[operation]
    return PARAMETERS[operation]


def check_gen8(request: MessageRequest) -> None:
    """Raise `Unsupported` for what came with Gen9, and for what nobody is seen to use on Gen8."""
    message = request.message
    name = message.name.removesuffix(", end of thread")
    if name in _LATER_SAMPLES or name in _LATER:
        raise request.unsupported("it came with Gen9; this is Gen8")
    if name in _UNWITNESSED:
        raise request.unsupported("on Gen8 it is not modelled")
    _check_fields(request, name)
    if name in _TYPED and not request.header:
        raise request.unsupported("on Gen8 it needs a header and has none")
    if name.startswith(_FLAT) and not _is_simd8(request, name):
        raise request.unsupported("on Gen8 it has eight slots at most")


def _check_fields(request: MessageRequest, name: str) -> None:
    message = request.message
    if message.get("binding table index") == _BINDLESS and name != "cache flush":
        raise request.unsupported("bindless surfaces came with Gen9; this is Gen8")
    if message.get("return format") or (message.get("data size") == 1 and "render" in name):
        raise request.unsupported("data of 16 bits came with Gen9; this is Gen8")
    if message.function == "sampler" and message.get("SIMD mode") == 0:
        raise request.unsupported("SIMD4x2 is not modelled on Gen8")
    if message.get("block") == _HWORDS:
        raise request.unsupported("blocks of hwords came with Gen9; this is Gen8")


def _is_simd8(request: MessageRequest, name: str) -> bool:
    mode = request.message.get("SIMD mode")
    return mode == (0 if name.startswith("A64 scattered") else _SIMD8_2)
