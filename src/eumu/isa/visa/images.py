"""Messages to images and other surfaces with a format.

Legacy typed gathers, scatters and atomics, media blocks, and the `.tgm` forms of LSC.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from eumu.errors import Unsupported
from eumu.isa.kinds import Exec, InstBuilder, Pred, RawDst, RawSrc, Rows, Scalar, Surface
from eumu.isa.kinds.control import ChoiceKind
from eumu.isa.kinds.lsc import (
    Caching,
    CachingKind,
    DataRows,
    LscDataKind,
    LscExecKind,
)
from eumu.isa.kinds.lsc_block2d import (
    TypedBlockData,
    TypedBlockDataKind,
    TypedCorner,
    TypedCornerKind,
)
from eumu.isa.kinds.lsc_typed import SurfaceModel, SurfaceModelKind, TypedAddress, TypedAddressKind
from eumu.isa.kinds.operands import ExecSize
from eumu.isa.kinds.raw import (
    AtomicKind,
    AtomicOperation,
    ChannelsKind,
    MediaBlock,
    MediaBlockKind,
    PlaneKind,
    RawKind,
)
from eumu.isa.spec import Fidelity
from eumu.isa.visa import texels
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.lsc import ATOMICS, NULL
from eumu.isa.visa.memory import LSC_PLATFORMS, Atomic
from eumu.isa.visa.registry import opcode
from eumu.isa.visa.surface import ATOMICS as LEGACY_ATOMICS
from eumu.messages import BlockRead, BlockWrite

INFO = Fidelity(
    "unsupported",
    "of its 16 dwords no public page says what they are but for two, the surface's type and format",
)

# Fields of interleaved surfaces by mode; `modified` is a hint.
FIELDS = {
    "nomod": "",
    "modified": "",
    "top": "top",
    "top_mod": "top",
    "bottom": "bottom",
    "bottom_mod": "bottom",
}
RAW = RawKind(bare=True)

Channels = Annotated[tuple[int, ...], ChannelsKind()]
Operation = Annotated[AtomicOperation, AtomicKind(16, 32)]
MediaMode = Annotated[
    str, ChoiceKind("mode", "nomod", "modified", "top", "bottom", "top_mod", "bottom_mod")
]
MediaSize = Annotated[MediaBlock, MediaBlockKind()]
Plane = Annotated[int, PlaneKind()]

LoadCaching = Annotated[Caching, CachingKind("load")]
StoreCaching = Annotated[Caching, CachingKind("store")]
AtomicCaching = Annotated[Caching, CachingKind("atomic")]
QuadData = Annotated[DataRows, LscDataKind(channels=True)]
Data = Annotated[DataRows, LscDataKind()]
Address = Annotated[TypedAddress, TypedAddressKind()]
State = Annotated[SurfaceModel, SurfaceModelKind()]
LscRaw = Annotated[Rows, RawKind(bare=True)]
BlockData = Annotated[TypedBlockData, TypedBlockDataKind()]
Corner = Annotated[TypedCorner, TypedCornerKind()]


# The object file takes data and address apart.
_HEAD = (
    "sub exec pred caching address.model address.size"
    " data.size data.order data.elements data.channels address.surface address.index>4.1"
)
_COORDINATES = (
    "address.u address.du>4.1 address.v address.dv>4.1 address.r address.dr>4.1 address.lod"
)
_LOAD = f"{_HEAD} data.register {_COORDINATES} {NULL} {NULL}"
_STORE = f"{_HEAD} {NULL} {_COORDINATES} data.register {NULL}"
_ATOMIC = f"{_HEAD} data.register {_COORDINATES} src1 src2"


_ZERO = "00000000>4.1"  # nothing is added to a coordinate
IMPLIED = {"exec": Annotated[ExecSize, LscExecKind(typed=True)], "pred": Pred}
typed = partial(
    opcode,
    0x8A,
    page="LSC_TYPED",
    limits=maps.LSC_TEXELS,
    front_end=maps.OF_ANY_SIZE,
    platforms=LSC_PLATFORMS,
    implied=IMPLIED,
)
texel = partial(opcode, types=maps.TEXELS, limits=maps.IMAGES, front_end=maps.OF_ANY_SIZE)


@texel(
    0x4B,
    "{pred}gather4_typed.{channels} {exec} {surface} {u} {v} {r} {lod} {dst}",
    page="GATHER4_TYPED",
)
def gather4_typed(
    b: InstBuilder,
    channels: Channels,
    surface: Surface,
    u: RawSrc,
    v: RawSrc,
    r: RawSrc,
    lod: RawSrc,
    dst: RawDst,
) -> None:
    """Channels of the texel at (u, v, r) of each lane, in the image's format."""
    at = {"u": u, "v": v, "r": r, "lod": lod}
    texels.read(b, texels.surface_index(b, surface), at, dst, channels)


@texel(
    0x4C,
    "{pred}scatter4_typed.{channels} {exec} {surface} {u} {v} {r} {lod} {src}",
    page="SCATTER4_TYPED",
)
def scatter4_typed(
    b: InstBuilder,
    channels: Channels,
    surface: Surface,
    u: RawSrc,
    v: RawSrc,
    r: RawSrc,
    lod: RawSrc,
    src: RawSrc,
) -> None:
    """Write channels of the texel at (u, v, r) of each lane."""
    at = {"u": u, "v": v, "r": r, "lod": lod}
    texels.write(b, texels.surface_index(b, surface), at, src, channels)


@opcode(
    0x73,
    "{pred}typed_atomic.{operation} {exec} {surface} {u} {v} {r} {lod} {src0} {src1} {dst}",
    page="TYPED_ATOMIC",
    limits=maps.IMAGE_ATOMICS,
    front_end=maps.IMAGE_ATOMICS_READ,
)
def typed_atomic(
    b: InstBuilder,
    operation: Operation,
    exec: Exec,
    pred: Pred,
    surface: Surface,
    u: RawSrc,
    v: RawSrc,
    r: RawSrc,
    lod: RawSrc,
    src0: RawSrc,
    src1: RawSrc,
    dst: RawDst,
) -> None:
    """Replace the texel at (u, v, r) of each lane as `dword_atomic` does."""
    at = {"u": u, "v": v, "r": r, "lod": lod}
    index = texels.surface_index(b, surface)
    legacy = LEGACY_ATOMICS[operation.name]
    texels.atomic(b, index, at, legacy, (src0, src1), dst, operation.bits)


@opcode(
    0x37,
    "media_ld.{mode} {size} {surface} {plane} {x} {y} {dst}",
    page="MEDIA_LD",
    limits=maps.NO_SLM,
)
def media_ld(
    b: InstBuilder,
    mode: MediaMode,
    surface: Surface,
    plane: Plane,
    size: MediaSize,
    x: Scalar,
    y: Scalar,
    dst: RawDst,
) -> None:
    """A rectangle of bytes from (x, y) on, edges repeated; rows lie a power of two apart."""
    field, pitch = FIELDS[mode], texels.pitch_of(size.width)
    record = BlockRead(size.width, size.height, pitch, plane, field)
    texels.read_block(b, texels.surface_index(b, surface), x, y, dst, record)


@opcode(
    0x38,
    "media_st.{mode} {size} {surface} {plane} {x} {y} {src}",
    page="MEDIA_ST",
    limits=maps.NO_SLM,
)
def media_st(
    b: InstBuilder,
    mode: MediaMode,
    surface: Surface,
    plane: Plane,
    size: MediaSize,
    x: Scalar,
    y: Scalar,
    src: RawSrc,
) -> None:
    """Write a rectangle of bytes; what lies outside the surface is dropped."""
    field, pitch = FIELDS[mode], texels.pitch_of(size.width)
    record = BlockWrite(size.width, size.height, pitch, plane, field)
    texels.write_block(b, texels.surface_index(b, surface), x, y, src, record)


# ---- LSC on typed surfaces


@typed("{pred}lsc_load_quad.tgm{caching} {exec}  {data}  {address}", sub=0x02, layout=_LOAD)
def lsc_load_quad_tgm(
    b: InstBuilder, caching: LoadCaching, data: QuadData, address: Address
) -> None:
    """Channels of the texel at each lane's coordinates."""
    surface, at = texels.typed_address(b, address)
    texels.read(b, surface, at, data.rows, _channels(data))


@typed("{pred}lsc_store_quad.tgm{caching} {exec}  {address}  {data}", sub=0x06, layout=_STORE)
def lsc_store_quad_tgm(
    b: InstBuilder, caching: StoreCaching, address: Address, data: QuadData
) -> None:
    """Write channels of the texel at each lane's coordinates."""
    surface, at = texels.typed_address(b, address)
    texels.write(b, surface, at, data.rows, _channels(data))


@typed("{pred}lsc_load_block2d.tgm{caching} {exec}  {data}  {corner}", sub=0x03, layout="none")
def lsc_load_block2d_tgm(
    b: InstBuilder, caching: LoadCaching, data: BlockData, corner: Corner
) -> None:
    """A rectangle of an image, width in bytes; the form of the documents."""
    record = BlockRead(data.width, data.height, texels.pitch_of(data.width), media=False)
    surface = texels.model_index(b, corner)
    x, y = texels.corner(b, corner)
    texels.read_block(b, surface, x, y, RAW.bind(data.register, b), record)


@typed("{pred}lsc_store_block2d.tgm{caching} {exec}  {corner}  {data}", sub=0x07, layout="none")
def lsc_store_block2d_tgm(
    b: InstBuilder, caching: StoreCaching, corner: Corner, data: BlockData
) -> None:
    """Write a rectangle of an image; the form of the documents."""
    record = BlockWrite(data.width, data.height, texels.pitch_of(data.width))
    surface = texels.model_index(b, corner)
    x, y = texels.corner(b, corner)
    texels.write_block(b, surface, x, y, RAW.bind(data.register, b), record)


@typed("{pred}lsc_load_status.tgm{caching} {exec}  {data}  {address}", sub=0x1B, layout=_LOAD)
def lsc_load_status_tgm(b: InstBuilder, caching: LoadCaching, data: Data, address: Address) -> None:
    """A bit per lane: whether the texel's page exists."""
    surface, at = texels.typed_address(b, address)
    texels.status(b, surface, at, data.rows)


@typed(
    "{pred}lsc_store_uncompressed.tgm{caching} {exec}  {address}  {data}", sub=0x1C, layout=_STORE
)
def lsc_store_uncompressed_tgm(
    b: InstBuilder, caching: StoreCaching, address: Address, data: Data
) -> None:
    """Write texels without compression."""
    surface, at = texels.typed_address(b, address)
    if data.shape.size != "d32" or data.shape.transposed:
        raise Unsupported(f"texels of {data.shape}")
    texels.write(b, surface, at, data.rows, tuple(range(data.shape.elements)))


@typed(
    "{pred}lsc_read_state_info.tgm  {dst}  {surface}",
    sub=0x1E,
    fidelity=INFO,
    layout="sub 80 pred 0000 surface.model 02 03 01 01 01 surface.surface surface.index>4.1 dst"
    f" {NULL} {_ZERO} {NULL} {_ZERO} {NULL} {_ZERO} {NULL} {NULL} {NULL}",
)
def lsc_read_state_info(b: InstBuilder, pred: Pred, dst: LscRaw, surface: State) -> None:
    """Properties of a surface's state (the documents call it lsc_read_surface_info)."""
    raise Unsupported(INFO.detail)


def _channels(data: DataRows) -> tuple[int, ...]:
    """The channels of a quad, which has dwords."""
    if data.shape.size != "d32":
        raise Unsupported(f"texels of {data.shape}")
    return data.shape.channels


def _declare(sub: int, name: str, meaning: str, atomic: Atomic) -> None:
    @typed(
        f"{{pred}}lsc_atomic_{name}.tgm{{caching}} {{exec}}"
        "  {data}  {address}  {src1}  {src2}",
        sub=sub,
        layout=_ATOMIC,
        doc=f"data[i] = the texel at each lane's coordinates, replaced by {meaning}.",
    )
    def lsc_atomic_tgm(
        b: InstBuilder,
        caching: AtomicCaching,
        data: Data,
        address: Address,
        src1: LscRaw,
        src2: LscRaw,
    ) -> None:
        surface, at = texels.typed_address(b, address)
        bits = {"d32": 32, "d16c32": 16}.get(data.shape.size)
        if bits is None:
            raise Unsupported(f"texel atomics of {data.shape}")
        texels.atomic(b, surface, at, atomic, (src1, src2), data.rows, bits)


for _number, (_name, (_meaning, _atomic)) in enumerate(ATOMICS.items(), 0x08):
    _declare(_number, _name, _meaning, _atomic)
