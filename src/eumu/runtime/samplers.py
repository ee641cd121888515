"""Samplers of a host program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from eumu.device.state.sampler import (
    AddressMode,
    AnisotropyRatio,
    BorderColor,
    Filter,
    KeyMode,
    LodPreClamp,
    MipFilter,
    PrefilterOp,
    Reduction,
    SamplerState,
)
from eumu.errors import ArgumentError
from eumu.records import dataclass

ADDRESSES: Final = {
    "none": AddressMode.CLAMP,
    "clamp_to_edge": AddressMode.CLAMP,
    "clamp_to_border": AddressMode.CLAMP_BORDER,
    "repeat": AddressMode.WRAP,
    "mirrored_repeat": AddressMode.MIRROR,
    "mirror_clamp_to_edge": AddressMode.MIRROR_ONCE,
    "half_border": AddressMode.HALF_BORDER,
    "cube": AddressMode.CUBE,
}
_FILTERS: Final = {
    "nearest": Filter.NEAREST,
    "linear": Filter.LINEAR,
    "anisotropic": Filter.ANISOTROPIC,
}
_MIP_FILTERS: Final = {
    "none": MipFilter.NONE,
    "nearest": MipFilter.NEAREST,
    "linear": MipFilter.LINEAR,
}
# What a comparison means, and the operation that is 0 where it does not hold.
_COMPARES: Final = {
    "never": PrefilterOp.ALWAYS,
    "less": PrefilterOp.LEQUAL,
    "equal": PrefilterOp.NOTEQUAL,
    "less_equal": PrefilterOp.LESS,
    "greater": PrefilterOp.GEQUAL,
    "not_equal": PrefilterOp.EQUAL,
    "greater_equal": PrefilterOp.GREATER,
    "always": PrefilterOp.NEVER,
}
_KEYS: Final = {"kill": KeyMode.KILL_ON_ANY_MATCH, "replace": KeyMode.REPLACE_BLACK}
_REDUCTIONS: Final = {"minimum": Reduction.MINIMUM, "maximum": Reduction.MAXIMUM}


@dataclass(frozen=True, slots=True)
class Sampler:
    """A sampler, made by :meth:`Device.sampler`; `state` is the SAMPLER_STATE of the hardware."""

    state: SamplerState
    border: BorderColor
    address: str

    @property
    def is_normalized(self) -> bool:
        """Whether coordinates are from 0 to 1; otherwise they count texels."""
        return not self.state.non_normalized_coordinate_enable


def make_sampler(
    *,
    normalized: bool = True,
    address: str = "clamp_to_edge",
    filter: str = "nearest",
    mag_filter: str | None = None,
    mip_filter: str = "none",
    lod: tuple[float, float] = (0.0, 14.0),
    lod_bias: float = 0.0,
    border: Sequence[float] | Sequence[int] = (0.0, 0.0, 0.0, 0.0),
    compare: str | None = None,
    anisotropy: int = 2,
    reduction: str | None = None,
    chroma_key: int | None = None,
    chroma_mode: str = "replace",
) -> Sampler:
    """:meth:`Device.sampler`."""
    modes = _word("address", address, ADDRESSES)
    small = _word("filter", filter, _FILTERS)
    large = _word("mag_filter", mag_filter or filter, _FILTERS)
    if anisotropy not in range(2, 17, 2):
        raise ArgumentError(f"anisotropy={anisotropy} is none of 2, 4, … 16")
    rounded = Filter.NEAREST not in (small, large)
    state = SamplerState(
        lod_preclamp_mode=LodPreClamp.OGL,  # as Intel's driver and Mesa's write
        mag_mode_filter=large,
        min_mode_filter=small,
        mip_mode_filter=_word("mip_filter", mip_filter, _MIP_FILTERS),
        texture_lod_bias=lod_bias,
        min_lod=lod[0],
        max_lod=lod[1],
        shadow_function=_word("compare", compare, _COMPARES) if compare else PrefilterOp.ALWAYS,
        reduction_type_enable=reduction is not None,
        reduction_type=_word("reduction", reduction, _REDUCTIONS)
        if reduction
        else Reduction.STD_FILTER,
        chromakey_enable=chroma_key is not None,
        chromakey_index=chroma_key or 0,
        chromakey_mode=_word("chroma_mode", chroma_mode, _KEYS),
        maximum_anisotropy=AnisotropyRatio(anisotropy // 2 - 1),
        non_normalized_coordinate_enable=not normalized,
        tcx_address_control_mode=modes,
        tcy_address_control_mode=modes,
        tcz_address_control_mode=modes,
        u_address_mag_filter_rounding_enable=rounded,
        u_address_min_filter_rounding_enable=rounded,
        v_address_mag_filter_rounding_enable=rounded,
        v_address_min_filter_rounding_enable=rounded,
        r_address_mag_filter_rounding_enable=rounded,
        r_address_min_filter_rounding_enable=rounded,
    )
    state.encode()
    return Sampler(state, _border(border), address)


def _border(colour: Sequence[float] | Sequence[int]) -> BorderColor:
    """Floats as floats, integers as integers of 32 bits."""
    if len(colour) != 4:
        raise ArgumentError(f"a border colour has four channels, not {len(colour)}")
    if all(isinstance(c, (int, np.integer)) for c in colour):
        return BorderColor(*[int(c) & 0xFFFF_FFFF for c in colour])
    return BorderColor(*np.array(colour, np.float32).view(np.uint32).tolist())


def _word(option: str, word: str, words: dict[str, Any]) -> Any:
    if word not in words:
        raise ArgumentError(f"{option} {word!r} is none of {', '.join(words)}")
    return words[word]
