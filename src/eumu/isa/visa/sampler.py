"""Messages to the sampler: sampled and plain reads of images, and facts about them.

A parameter is a register's first lanes; what each surface makes of u, v, r and ai is on the pages.
Each channel that is enabled gets the next registers of `dst`, a whole one at least.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from eumu.errors import Unsupported
from eumu.isa.kinds import InstBuilder, RawDst, RawSrc, Scalar, Surface
from eumu.isa.kinds.raw import ChannelsKind
from eumu.isa.kinds.sampler import (
    AllChannelsKind,
    ChannelKind,
    ImageKind,
    ImageSamplerKind,
    LegacyLanes,
    LegacyLanesKind,
    PairedKind,
    Parameters,
    ParametersKind,
    Pointed,
    SamplerKind,
    SamplerOptionsKind,
    TexelOffsets,
    TexelOffsetsKind,
    UnormChannels,
    UnormChannelsKind,
)
from eumu.isa.kinds.variables import SamplerVariable, SurfaceVariable
from eumu.isa.spec import Fidelity
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.isa.visa.sampling import sample_block, sampler_message
from eumu.messages import FILTERS

SAMPLER = Fidelity("approximate", FILTERS)

Channels = Annotated[tuple[int, ...], ChannelsKind()]
OneChannel = Annotated[int, ChannelKind()]
InfoChannels = Annotated[tuple[int, ...], AllChannelsKind()]
Sampler = Annotated[SamplerVariable, SamplerKind()]
ImageSampler = Annotated[SamplerVariable | Pointed, ImageSamplerKind()]
Image = Annotated[SurfaceVariable | Pointed, ImageKind()]
Paired = Annotated[None, PairedKind()]
Offsets = Annotated[TexelOffsets, TexelOffsetsKind()]
SampleOptions = Annotated[frozenset[str], SamplerOptionsKind("pixel_null_mask", "cps", "divS")]
Output = Annotated[UnormChannels, UnormChannelsKind()]
Lanes = Annotated[LegacyLanes, LegacyLanesKind()]
LoadOptions = Annotated[frozenset[str], SamplerOptionsKind("pixel_null_mask")]

# The options share the byte of the sub-opcode up to version 3.x.
_OPCODE = "sub&1f|options.low options.high exec pred"
_GRADIENTS = "u dudx dudy v dvdx dvdy r drdx drdy ai"


loaded = partial(opcode, types=maps.SAMPLED, limits=maps.SAMPLER, front_end=maps.SAMPLER_READ)
sampled = partial(loaded, fidelity=SAMPLER)
info = partial(
    opcode,
    0x70,
    page="INFO",
    types=maps.INFO,
    limits=maps.SAMPLER,
    front_end=maps.SAMPLER_READ,
)


def _give_names(body: Callable[..., None], kind: ParametersKind) -> None:
    """The names of parameters differ from row to row."""
    body.__annotations__["parameters"] = Annotated[Parameters, kind]


def _sample(sub: int, name: str, names: str, doc: str) -> None:
    operation = {"sample_3d": "sample"}.get(name, name)
    listed = names.split()

    def sample(
        b: InstBuilder,
        options: SampleOptions,
        channels: Channels,
        offsets: Offsets,
        sampler: ImageSampler,
        surface: Image,
        dst: RawDst,
        paired: Paired,
        parameters: Parameters,
    ) -> None:
        sampler_message(
            b,
            operation,
            surface,
            sampler,
            dst,
            listed,
            parameters,
            channels=channels,
            offsets=offsets,
            options=options,
        )

    _give_names(sample, ParametersKind(*names.split()))
    sampled(
        0x6D,
        f"{{pred}}{name}{{options}}.{{channels}} {{exec}}  {{offsets}} {{sampler}} {{surface}}"
        " {dst}{paired} {parameters}",
        sub=sub,
        page="3D_SAMPLE",
        doc=doc,
        layout=f"{_OPCODE} channels offsets sampler surface dst paired>4.1 parameters",
    )(sample)


for _sub, _name, _names, _doc in (
    (0x00, "sample_3d", "u v r ai", "Filtered texels; the hardware finds the level of detail."),
    (0x01, "sample_b", "bias u v r ai", "As sample_3d, with a bias of the level of detail."),
    (0x02, "sample_l", "lod u v r ai", "As sample_3d, at a level of detail."),
    (0x03, "sample_c", "ref u v r ai", "As sample_3d, for comparisons of ref with red."),
    (0x04, "sample_d", _GRADIENTS, "As sample_3d, with gradients for the level of detail."),
    (0x05, "sample_b_c", "ref bias u v r ai", "As sample_c, with a bias of the level of detail."),
    (0x06, "sample_l_c", "ref lod u v r ai", "As sample_c, at a level of detail."),
    (0x09, "lod", "u v r ai", "Red is the clamped level of detail, green the unclamped one."),
    (0x14, "sample_d_c", f"ref {_GRADIENTS}", "As sample_c, with gradients."),
    (0x18, "sample_lz", "u v r ai", "As sample_3d, at level of detail 0."),
    (0x19, "sample_c_lz", "ref u v r ai", "As sample_c, at level of detail 0."),
):
    _sample(_sub, _name, _names, _doc)


def _load(sub: int, name: str, names: str, doc: str, short: str = "") -> None:
    operation = {"load_3d": "ld", "load_2dms_w": "ld2dms_w"}.get(name, name.replace("load", "ld"))
    listed = names.split()

    def load(
        b: InstBuilder,
        options: LoadOptions,
        channels: Channels,
        offsets: Offsets,
        surface: Image,
        dst: RawDst,
        paired: Paired,
        parameters: Parameters,
    ) -> None:
        if "mcs0" in parameters:
            raise Unsupported("compression data of words")
        sampler_message(
            b,
            operation,
            surface,
            None,
            dst,
            listed,
            parameters,
            channels=channels,
            offsets=offsets,
            options=options,
        )

    _give_names(load, ParametersKind(*names.split(), short=tuple(short.split())))
    loaded(
        0x6E,
        f"{{pred}}{name}{{options}}.{{channels}} {{exec}}  {{offsets}} {{surface}}"
        " {dst}{paired} {parameters}",
        sub=sub,
        page="3D_LOAD",
        doc=doc,
        layout=f"{_OPCODE} channels offsets surface dst paired>4.1 parameters",
    )(load)


_load(0x07, "load_3d", "u v lod r", "The texel at (u, v, r) of a level of detail, all integers.")
_load(0x1A, "load_lz", "u v r", "The texel at (u, v, r) of level of detail 0.")
_load(
    0x1C,
    "load_2dms_w",
    "si mcsl mcsh u v r lod",
    "Sample si of the texel at (u, v, r), which the 64-bit compression data mcs lead to.",
    short="si mcs0 mcs1 mcs2 mcs3 u v r lod",
)
_load(0x1D, "load_mcs", "u v r lod", "The compression data of the samples at (u, v, r).")


def _gather(sub: int, name: str, names: str, doc: str) -> None:
    operation = name.replace("sample4", "gather4")
    listed = names.split()

    def sample4(
        b: InstBuilder,
        options: LoadOptions,
        channel: OneChannel,
        offsets: Offsets,
        sampler: ImageSampler,
        surface: Image,
        dst: RawDst,
        paired: Paired,
        parameters: Parameters,
    ) -> None:
        sampler_message(
            b,
            operation,
            surface,
            sampler,
            dst,
            listed,
            parameters,
            offsets=offsets,
            gather=channel,
            options=options,
        )

    _give_names(sample4, ParametersKind(*names.split()))
    sampled(
        0x6F,
        f"{{pred}}{name}{{options}}.{{channel}} {{exec}} {{offsets}} {{sampler}} {{surface}}"
        " {dst}{paired} {parameters}",
        sub=sub,
        page="3D_SAMPLE4",
        doc=doc,
        layout=f"{_OPCODE} channel offsets sampler surface dst paired>4.1 parameters",
    )(sample4)


for _sub, _name, _names, _doc in (
    (
        *(0x08, "sample4", "u v r ai"),
        "One channel of the four texels that a bilinear filter takes: R lower left, G lower right,"
        " B upper right, A upper left.",
    ),
    (0x10, "sample4_c", "ref u v r ai", "As sample4, for comparisons of ref with red."),
    (0x11, "sample4_po", "u v offu offv r", "As sample4, with texel offsets for each lane."),
    (0x12, "sample4_po_c", "ref u v offu offv r", "As sample4_c, with texel offsets."),
):
    _gather(_sub, _name, _names, _doc)


@info(
    "resinfo{channels} {exec}  {surface} {lod} {dst}",
    sub=0x0A,
    layout="sub exec channels surface lod dst",
)
def resinfo(
    b: InstBuilder, channels: InfoChannels, surface: Image, lod: RawSrc, dst: RawDst
) -> None:
    """Width, height, depth of a level of detail, and the number of levels."""
    parameters = Parameters({"lod": lod})
    sampler_message(b, "resinfo", surface, None, dst, ["lod"], parameters, channels=channels)


@info(
    "sampleinfo{channels} {exec}  {surface} {dst}", sub=0x0B, layout="sub exec channels surface dst"
)
def sampleinfo(b: InstBuilder, channels: InfoChannels, surface: Image, dst: RawDst) -> None:
    """Red is the number of samples, alpha the index of the palette of their positions."""
    nothing = Parameters({})
    sampler_message(b, "sampleinfo", surface, None, dst, [], nothing, channels=channels)


# ---- media


@opcode(
    0x41,
    "sample_unorm.{output} {sampler} {surface} {u} {v} {delta_u} {delta_v} {dst}",
    page="SAMPLE_UNORM",
    types=maps.UNORM,
    limits=maps.SAMPLER,
    fidelity=SAMPLER,
    layout="output sampler surface u v delta_u delta_v dst",
)
def sample_unorm(
    b: InstBuilder,
    output: Output,
    sampler: Sampler,
    surface: Surface,
    u: Scalar,
    v: Scalar,
    delta_u: Scalar,
    delta_v: Scalar,
    dst: RawDst,
) -> None:
    """Filtered texels of 8 columns and 4 rows, delta_u and delta_v apart, from (u, v) on."""
    if output.format != "16-full":
        raise Unsupported(
            f"sample_unorm.{output.format}: no public page says where the pixels of a channel lie,"
            " and Intel's finalizer sends 16-full for every format"
        )
    sample_block(b, surface, sampler, (u, v, delta_u, delta_v), dst, output.channels)


@opcode(
    0x40,
    "sample.{lanes} {sampler} {surface} {u} {v} {r} {dst}",
    page="SAMPLE",
    types=maps.LEGACY_SAMPLED,
    limits=maps.SAMPLER,
    fidelity=SAMPLER,
)
def sample_legacy(
    b: InstBuilder,
    lanes: Lanes,
    sampler: Sampler,
    surface: Surface,
    u: RawSrc,
    v: RawSrc,
    r: RawSrc,
    dst: RawDst,
) -> None:
    """Filtered texels at (u, v, r) of level of detail 0; the form before 3D_SAMPLE."""
    parameters = Parameters({"u": u, "v": v, "r": r})
    names = ["u", "v", "r"]
    channels = lanes.channels
    sampler_message(b, "sample_lz", surface, sampler, dst, names, parameters, channels=channels)


@opcode(
    0x42,
    "load.{lanes} {surface} {u} {v} {r} {dst}",
    page="LOAD",
    types=maps.LEGACY_LOADED,
    limits=maps.SAMPLER,
)
def load_legacy(
    b: InstBuilder,
    lanes: Lanes,
    surface: Surface,
    u: RawSrc,
    v: RawSrc,
    r: RawSrc,
    dst: RawDst,
) -> None:
    """The texel at (u, v, r), all integers; the form before 3D_LOAD."""
    parameters = Parameters({"u": u, "v": v, "r": r})
    names = ["u", "v", "r"]
    sampler_message(b, "ld_lz", surface, None, dst, names, parameters, channels=lanes.channels)
