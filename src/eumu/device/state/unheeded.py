"""Fields of states that do nothing here, each with the reason; every other field acts.

A field is *refused* if what it asks for is not modelled, *noted* (a finding) if it asks for
something that cannot happen here, and a *hint* if no result depends on it.  Tests hold the tables
against what is done: a field that neither acts nor stands in one fails them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from eumu.device.state.fields import State
from eumu.device.state.media import MediaSurfaceState
from eumu.device.state.sampler import SamplerState
from eumu.device.state.scaler import AvsControl, AvsState
from eumu.device.state.surface import SurfaceState
from eumu.records import dataclass


class WhenSet(Enum):
    """What happens when a field is set."""

    REFUSED = "refused"
    NOTED = "noted"
    HINT = "a hint"


@dataclass(frozen=True, slots=True)
class Unheeded:
    """Why a field does nothing; with `only`, it is refused for that value alone."""

    kind: WhenSet
    reason: str
    only: object = None

    def concerns(self, value: Any) -> bool:
        """Whether this value asks for something."""
        return bool(value == self.only) if self.only is not None else bool(value)


def rows(kind: WhenSet, reason: str, *names: str, only: object = None) -> dict[str, Unheeded]:
    """The same for several fields."""
    return dict.fromkeys(names, Unheeded(kind, reason, only))


_CACHING: Final = "it says how memory is cached, and memory is coherent here"
_COMPRESSION: Final = "Memory Compression Enable, which it belongs to, is refused"
_PLANES: Final = "planes that are not interleaved, which it belongs to, are refused"
_DETAIL: Final = "it belongs to the detail filter, which is refused (Gain Factor)"
_ADAPTIVE: Final = "it belongs to the adaptive filter, which is refused unless it is bypassed"

_SURFACE: Final = {
    **rows(
        WhenSet.HINT,
        _CACHING,
        "mocs",
        "coherency_type",
        "render_cache_read_write_mode",
        "sampler_l2_bypass_mode_disable",
    ),
    **rows(
        WhenSet.HINT,
        _COMPRESSION,
        "memory_compression_mode",
        "auxiliary_table_index_for_media_compressed_surface",
    ),
    **rows(WhenSet.HINT, _PLANES, "x_offset_for_v_plane", "y_offset_for_v_plane"),
    **rows(WhenSet.HINT, "tiled resources, which it belongs to, are refused", "mip_tail_start_lod"),
    **rows(
        WhenSet.HINT,
        "threads write to the first slice of a render target",
        "render_target_view_extent",
    ),
    **rows(
        WhenSet.HINT,
        "how hardware takes the samples of an anisotropic filter is not public",
        "ewa_disable_for_cube",
    ),
}
_SAMPLER: Final = {
    **rows(
        WhenSet.HINT,
        "how hardware takes the samples of an anisotropic filter is not public",
        "anisotropic_algorithm",
    ),
    **rows(
        WhenSet.HINT,
        "how hardware comes near the mix of two levels is not public, and Intel's OpenCL driver"
        " asks for the lowest quality always: levels are mixed in full",
        "trilinear_filter_quality",
    ),
}
_MEDIA_SURFACE: Final = {
    **rows(WhenSet.HINT, _CACHING, "mocs"),
    **rows(WhenSet.HINT, _COMPRESSION, "memory_compression_mode"),
    **rows(WhenSet.HINT, _PLANES, "x_offset_for_v", "y_offset_for_v"),
    **rows(
        WhenSet.HINT,
        "Vertical Line Stride, which it belongs to, is refused",
        "vertical_line_stride_offset",
    ),
}
# Of the scaler's head, what is not a field of its detail filter.
_SCALER: Final = frozenset({"gain_factor", "enable_8_tap_filter", "shuffle_output_writeback"})

UNHEEDED: Final[Mapping[type[State], Mapping[str, Unheeded]]] = {
    SurfaceState: _SURFACE,
    SamplerState: _SAMPLER,
    MediaSurfaceState: _MEDIA_SURFACE,
    AvsState: rows(
        WhenSet.HINT, _DETAIL, *(r.name for r in AvsState.rows() if r.name not in _SCALER)
    ),
    AvsControl: rows(
        WhenSet.HINT,
        _ADAPTIVE,
        "transition_area_with_8_pixels",
        "transition_area_with_4_pixels",
        "max_derivative_8_pixels",
        "max_derivative_4_pixels",
        "rgb_adaptive",
        "adaptive_filter_for_all_channels",
    ),
}
