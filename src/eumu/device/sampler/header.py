"""The header of a sampler message, and the rules that it must keep.

Source: PRM volume 6, "Message Header" of the 3D sampler.  Without a header every field is 0: all
channels are written, nothing is offset.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Annotated, Final

from eumu.device.state.fields import State, StateError, bits
from eumu.device.state.surface import SurfaceType
from eumu.messages import SamplerMessage
from eumu.records import dataclass


class OutputFormat(IntEnum):
    """What sample_8x8 writes to memory."""

    YCRCB_NORMAL = 0
    YCRCB_SWAPUVY = 1
    YCRCB_SWAPUV = 2
    YCRCB_SWAPY = 3
    PLANAR_420_8 = 4
    Y8_UNORM = 5
    Y16_SNORM = 6
    Y32_UNORM = 17


class SimdExtension(IntEnum):
    SIMD8D = 0
    SIMD4X2 = 1


class OutputControl(IntEnum):
    """The layout of SIMD32/64 responses."""

    FULL_16 = 0
    CHROMA_DOWNSAMPLED_16 = 1
    FULL_8 = 2
    CHROMA_DOWNSAMPLED_8 = 3


class GatherChannel(IntEnum):
    RED = 0
    GREEN = 1
    BLUE = 2
    ALPHA = 3


@dataclass(frozen=True, slots=True)
class Header(State):
    """The header's dwords M0.0 … M0.7; a set write channel mask bit leaves its channel out."""

    TITLE = "sampler message header"
    DWORDS = 8

    output_format: Annotated[OutputFormat, bits(5, 4, 0)] = OutputFormat.YCRCB_NORMAL
    destination_y_address: Annotated[int, bits(4, 31, 16)] = 0
    destination_x_address: Annotated[int, bits(4, 15, 0)] = 0
    sampler_state_pointer: Annotated[int, bits(3, 31, 4, address=True)] = 0
    destination_binding_table_index: Annotated[int, bits(2, 31, 24)] = 0
    pixel_null_mask_enable: Annotated[bool, bits(2, 23)] = False
    simd_mode_extension: Annotated[SimdExtension, bits(2, 22)] = SimdExtension.SIMD8D
    output_format_control: Annotated[OutputControl, bits(2, 19, 18)] = OutputControl.FULL_16
    gather4_source_channel_select: Annotated[GatherChannel, bits(2, 17, 16)] = GatherChannel.RED
    alpha_write_channel_mask: Annotated[bool, bits(2, 15)] = False
    blue_write_channel_mask: Annotated[bool, bits(2, 14)] = False
    green_write_channel_mask: Annotated[bool, bits(2, 13)] = False
    red_write_channel_mask: Annotated[bool, bits(2, 12)] = False
    u_offset: Annotated[int, bits(2, 11, 8, signed=True)] = 0
    v_offset: Annotated[int, bits(2, 7, 4, signed=True)] = 0
    r_offset: Annotated[int, bits(2, 3, 0, signed=True)] = 0

    @property
    def channels(self) -> tuple[int, ...]:
        """The channels that are written back, red 0."""
        masks = (
            self.red_write_channel_mask,
            self.green_write_channel_mask,
            self.blue_write_channel_mask,
            self.alpha_write_channel_mask,
        )
        return tuple(k for k, masked in enumerate(masks) if not masked)

    @property
    def offsets(self) -> tuple[int, int, int]:
        return self.u_offset, self.v_offset, self.r_offset


@dataclass(frozen=True, slots=True)
class Use:
    """A header in its message: what the rules look at."""

    header: Header
    message: SamplerMessage
    surface: SurfaceType
    normalized: bool

    @property
    def operation(self) -> str:
        return self.message.operation

    @property
    def gathers(self) -> bool:
        return self.operation.startswith("gather4")


def _needs_header(use: Use) -> StateError | None:
    if use.message.preemptible and not use.message.has_header:
        return StateError(
            "a sampler message needs a header while pre-emption is enabled", "Header Present"
        )
    return None


def _some_channel(use: Use) -> StateError | None:
    if use.header.channels:
        return None
    return use.header.error(
        "alpha_write_channel_mask", "and all others are set; one channel must be written"
    )


def _gather_writes_all(use: Use) -> StateError | None:
    if not use.gathers or len(use.header.channels) == 4:
        return None
    return use.header.error("alpha_write_channel_mask", "and all others must be 0 for gather4*")


def _gather_compare(use: Use) -> StateError | None:
    select = use.header.gather4_source_channel_select
    if use.gathers and use.operation.endswith("_c") and select:
        return use.header.error(
            "gather4_source_channel_select", f"is {select.name}; gather4*_c needs RED (0)"
        )
    return None


def _null_mask(use: Use) -> StateError | None:
    if use.header.pixel_null_mask_enable and use.message.simd > 16:
        return use.header.error(
            "pixel_null_mask_enable", f"is set; it must be 0 for SIMD{use.message.simd} messages"
        )
    return None


def _offset_surface(use: Use) -> StateError | None:
    if use.operation == "sample_unorm" or not any(_offsets(use)):
        return None
    if use.surface in (SurfaceType.CUBE, SurfaceType.BUFFER, SurfaceType.STRBUF):
        name = ("u_offset", "v_offset", "r_offset")[[bool(o) for o in _offsets(use)].index(True)]
        return use.header.error(name, f"must be 0 for a surface of type {use.surface.name}")
    return None


def _offset_coordinates(use: Use) -> StateError | None:
    if use.normalized or not use.message.uses_sampler or use.operation == "sample_unorm":
        return None
    if not any(_offsets(use)):
        return None
    name = ("u_offset", "v_offset", "r_offset")[[bool(o) for o in _offsets(use)].index(True)]
    return use.header.error(
        name, "must be 0: only normalized floats and integer coordinates can be offset"
    )


def _offsets(use: Use) -> tuple[int, int, int]:
    """Offsets that count: a gather4 with offsets of its own ignores those of u and v."""
    u, v, r = use.header.offsets
    return (0, 0, r) if "_po" in use.operation else (u, v, r)


_RULES: Final[tuple[Callable[[Use], StateError | None], ...]] = (
    _needs_header,
    _some_channel,
    _gather_writes_all,
    _gather_compare,
    _null_mask,
    _offset_surface,
    _offset_coordinates,
)


def check(
    header: Header, message: SamplerMessage, surface: SurfaceType, *, normalized: bool
) -> None:
    """StateError for the first rule that the message breaks."""
    use = Use(header, message, surface, normalized)
    for rule in _RULES:
        error = rule(use)
        if error is not None:
            raise error
