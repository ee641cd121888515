"""Requests to shared functions: what the IR operation `message` carries as its record.

Instructions of every kind build these records, the device answers them; neither knows the other.
Arguments of an operation are lanes (`ud` unless said otherwise) in the order that the record's
docstring says, behind the mask.  A surface is one `ud`: a binding-table index, or
`SURFACE_STATE_BASE` plus the offset of its state in the bindless heap.
"""

from __future__ import annotations

from typing import Final

from eumu.records import dataclass

_UV: Final = ("u", "v", "r", "ai")
_GRADIENTS: Final = ("u", "dudx", "dudy", "v", "dvdx", "dvdy", "r", "drdx", "drdy", "ai")

# The parameters of each message in the order of Gen9; those at the end may be left out and are 0.
PARAMETERS: Final[dict[str, tuple[str, ...]]] = {
    "sample": _UV,
    "sample_b": ("bias", *_UV),
    "sample_l": ("lod", *_UV),
    "sample_lz": _UV,
    "sample_c": ("ref", *_UV),
    "sample_b_c": ("ref", "bias", *_UV),
    "sample_l_c": ("ref", "lod", *_UV),
    "sample_c_lz": ("ref", *_UV),
    "sample_d": _GRADIENTS,
    "sample_d_c": ("ref", *_GRADIENTS),
    "lod": _UV,
    "gather4": _UV,
    "gather4_c": ("ref", *_UV),
    "gather4_po": ("u", "v", "offu", "offv", "r"),
    "gather4_po_c": ("ref", "u", "v", "offu", "offv", "r"),
    "ld": ("u", "v", "lod", "r"),
    "ld_lz": ("u", "v", "r"),
    "ld_mcs": ("u", "v", "r", "lod"),
    "ld2dms": ("si", "mcs", "u", "v", "r", "lod"),
    "ld2dms_w": ("si", "mcsl", "mcsh", "u", "v", "r", "lod"),
    "ld2dss": ("si", "u", "v", "r", "lod"),
    "resinfo": ("lod",),
    "sampleinfo": (),
    "sample_unorm": ("u", "v", "deltau", "deltav"),
}
# Messages that use no sampler state: their coordinates are integers.
LOADS: Final = frozenset(
    {"ld", "ld_lz", "ld_mcs", "ld2dms", "ld2dms_w", "ld2dss", "resinfo", "sampleinfo"}
)

# What the documents leave open of messages that have an answer all the same.
FILTERS: Final = "filters have weights of eight bits; how anisotropic ones choose is not public"
MOTION: Final = {
    "ime": "every place of the window, where the hardware may follow a gradient; see motion.md",
    "fbr": "the documented filters and places; rounding between them is open; see motion.md",
    "sic": "the documented costs and AVC's predictions; see motion.md",
}
_OF_8X8: Final = "how filters round between their passes, and where kernels lie, is not public"


@dataclass(frozen=True, slots=True)
class SamplerMessage:
    """Arguments: surface, sampler (unless in LOADS), header (8 lanes, if there is one), parameters.

    `parameters` are how many of PARAMETERS are given.  Float parameters are `f`.  The results are
    the written channels, `ud`, of `simd` lanes (`uw` with `bits` of 16), then, if the header asks
    for it, one `ud` of the pixel null mask.  With fewer results than that, the last channels are
    not returned; a mask must have a place, which it has not if `takes_mask` is false.  A sampler is
    its index in the table, or `SURFACE_STATE_BASE` plus the offset of a bindless one.

    SIMD4x2 has two lanes and always four channels, then one `ud` with a bit for each written one.
    """

    operation: str
    simd: int
    parameters: int
    has_header: bool
    results: int
    bits: int = 32
    preemptible: bool = False
    is_4x2: bool = False
    takes_mask: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return PARAMETERS[self.operation][: self.parameters]

    @property
    def uses_sampler(self) -> bool:
        return self.operation not in LOADS

    @property
    def left_open(self) -> str:
        """What the documents leave open, nothing if the answer is exact."""
        return FILTERS if self.uses_sampler else ""


# Functions of sample_8x8 whose operands and results are known, and what no public page says.
UNDESCRIBED: Final = {
    0x2: "no public page says over which rectangle a minimum and a maximum are taken",
    0x6: "no public page says which columns have which of the two groups of sums",
    0x7: "no public page says whether a quotient or a sum follows each sum",
    0xB: "no public page says which of the masks are seeds and which are borders",
    0xC: "no public page has the order of a pattern's bits, nor the places of the 5 x 5 one",
    0xD: "no public page says how patterns are compared",
    0xF: "no public page has the measure, nor the places where it is taken",
}


@dataclass(frozen=True, slots=True)
class Sample8x8:
    """Arguments: surface, sampler, header and payload (8 lanes each), `offsets` (16 lanes).

    The results are `registers` of 8 `ud`; with none of them, what is found goes to the surface that
    the header names.
    """

    registers: int
    offsets: bool = False

    @property
    def left_open(self) -> str:
        """What the documents leave open."""
        return _OF_8X8


@dataclass(frozen=True, slots=True)
class TypedRead:
    """Arguments: surface, then `coordinates` of u, v, r, lod.  Results: `channels`, `ud`."""

    channels: tuple[int, ...]
    coordinates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TypedWrite:
    """Arguments: surface, coordinates, the data of `channels`.  No results."""

    channels: tuple[int, ...]
    coordinates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TypedAtomic:
    """Arguments: surface, coordinates, then `operands` of data.  Results: the old texel.

    `operation` is one of the IR's atomic operations, `kind` says what the texel is: unsigned,
    signed or float; `bits` 16 or 32.
    """

    operation: str
    coordinates: tuple[str, ...]
    operands: int
    kind: str = "unsigned"
    bits: int = 32


@dataclass(frozen=True, slots=True)
class BlockRead:
    """A rectangle of bytes.  Arguments: surface, x in bytes, y in rows.  Results: its rows, `ub`.

    Rows lie `pitch` bytes apart.  `field` is "", "top" or "bottom".  A `media` block repeats the
    edge of the surface outside it, other blocks are 0 there.
    """

    width: int
    height: int
    pitch: int
    plane: int = 0
    field: str = ""
    media: bool = True


@dataclass(frozen=True, slots=True)
class BlockWrite:
    """Arguments: surface, x, y, and the rows as a BlockRead gives them.  No results."""

    width: int
    height: int
    pitch: int
    plane: int = 0
    field: str = ""


@dataclass(frozen=True, slots=True)
class MotionEstimation:
    """Arguments: surface, `registers` of payload, 8 `ud` each.  Results: `response` of 8 `ud`.

    `kind` is ime (whole pixels), fbr (refinement) or sic (skip and intra check).
    """

    kind: str
    registers: int
    response: int
    stream_in: bool = False
    stream_out: bool = False

    @property
    def left_open(self) -> str:
        """What the documents leave open."""
        return MOTION[self.kind]


@dataclass(frozen=True, slots=True)
class TypedStatus:
    """Arguments: surface, coordinates.  Results: one `ud`, a bit for each lane that is resident."""

    coordinates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CounterAddress:
    """Argument: surface.  Result: one `uq`, where its append counter is; 0 if no lane asks."""


@dataclass(frozen=True, slots=True)
class StateInfo:
    """Arguments: surface.  Results: eight `ud` of facts."""


@dataclass(frozen=True, slots=True)
class ThreadEvent:
    """Argument of `signal` and `monitor`: the number of the event; of `forget`: 0.  No results.

    Arguments of `wait`: a time, whether an event is monitored.  Results: whether it is over, and
    its answer.
    """

    kind: str


@dataclass(frozen=True, slots=True)
class FlushStateCaches:
    """No arguments, no results: what was cached of surface and sampler states is forgotten."""
