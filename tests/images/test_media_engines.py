"""Every instruction of the media sampler in one kernel: what the interpreter gives, compiled code
gives. `test_media.py` says what that must be."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.fuzz.vocabulary import is_executed, name
from eumu.isa.visa import VISA

AT = "U(0,0)<0;1,0> V(0,0)<0;1,0>"
# Bytes of the answer, and the instruction; what goes to a surface leaves no bytes.
ASKED = (
    (128, f"va.convolve Y8 CONVOLVE {AT} VA_CONV_16x4 15x15 RESULT.{{at}}"),
    (32, f"va.convolve Y8 CONVOLVE {AT} VA_CONV_16x1 15x15 RESULT.{{at}}"),
    (32, f"va.erode Y1 PLACES {AT} VA_ED_64x4 RESULT.{{at}}"),
    (32, f"va.dilate Y1 PLACES {AT} VA_ED_32x1 RESULT.{{at}}"),
    (128, f"va.minmaxfilter Y8 PLACES {AT} AVS_8_FULL VA_MMF_16x4 M(0,0)<0;1,0> RESULT.{{at}}"),
    (32, f"va.minmaxfilter Y8 PLACES {AT} AVS_8_FULL VA_MMF_1x1 0x1:ub RESULT.{{at}}"),
    (128, f"va_skl_plus.CONV_1D_HORIZONTAL Y8 LINE {AT} 4x16 RESULT.{{at}}"),
    (32, f"va_skl_plus.CONV_1D_VERTICAL Y8 LINE {AT} 1x16 RESULT.{{at}}"),
    (32, f"va_skl_plus.CONV_1PIXEL Y8 CONVOLVE {AT} 1x16 OFFSETS.0 RESULT.{{at}}"),
    (32, f"va_skl_plus.CONV_1PIXEL Y8 CONVOLVE {AT} 1x1 OFFSETS.0 RESULT.{{at}}"),
    (
        256,
        f"avs.RGBA RGBA SCALER {AT} 0.03:f 0.05:f 0.001:f 0x1:ud 0x0:ud AVS_8_FULL 0.002:f"
        " AVS_16x4 0x1:ub RESULT.{at}",
    ),
    (0, f"va_skl_plus.HDC_CONVOLVE_2D Y8 CONVOLVE {AT} VA_Y8_FORMAT 15x15 TARGET 0x4:ud 0x0:ud"),
    (0, f"va_skl_plus.HDC_CONVOLVE_1D_H Y8 LINE {AT} VA_Y8_FORMAT TARGET 0x18:ud 0x0:ud"),
    (0, f"va_skl_plus.HDC_CONVOLVE_1D_V Y8 LINE {AT} VA_Y8_FORMAT TARGET 0x4:ud 0x5:ud"),
    (0, f"va_skl_plus.HDC_CONVOLVE_1P Y8 CONVOLVE {AT} VA_Y8_FORMAT OFFSETS.0 TARGET X 0x9:ud"),
    (
        0,
        f"va_skl_plus.HDC_MIN_MAX_FILTER Y8 PLACES {AT} VA_Y16_FORMAT VA_MAX_ENABLE TARGET"
        " 0x4:ud 0xA:ud",
    ),
    (0, f"va_skl_plus.HDC_ERODE Y1 PLACES {AT} TARGET 0x4:ud 0xE:ud"),
    (0, f"va_skl_plus.HDC_DILATE Y1 PLACES {AT} TARGET 0x10:ud 0xE:ud"),
)
SURFACES = ("Y8", "Y1", "RGBA", "TARGET")
SAMPLERS = ("CONVOLVE", "PLACES", "LINE", "SCALER")
TEXT = """.version 4.1
.kernel "k"
{decls}
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl AT v_type=G type=uq num_elts=1 align=qword
.decl U v_type=G type=f num_elts=1 align=dword
.decl V v_type=G type=f num_elts=1 align=dword
.decl M v_type=G type=ub num_elts=4 align=dword
.decl OFFSETS v_type=G type=w num_elts=32 align=GRF
.decl RESULT v_type=G type=ud num_elts={dwords} align=GRF
.input OUT offset=32 size=8
.input U offset=40 size=4
.input V offset=44 size=4
.input M offset=48 size=4
{inputs}
.input OFFSETS offset=96 size=64
.kernel_attr Target="3d"
.kernel_attr SimdSize=8
.function "k"
{body}
    ret (M1, 1)
"""


def text() -> str:
    names = [(n, "T") for n in SURFACES] + [(n, "S") for n in SAMPLERS]
    body, at = [], 0
    for size, words in ASKED:
        body.append("    " + words.replace("{at}", str(at)).replace("TARGET X", "TARGET 0x4:ud"))
        at += size
    for k in range(at // 32):
        body.append(f"    add (M1, 1) AT(0,0)<1> OUT(0,0)<0;1,0> {32 * k:#x}:uq")
        body.append(f"    svm_block_st (2) AT(0,0)<0;1,0> RESULT.{32 * k}")
    decls = [f".decl {n} v_type={kind} num_elts=1 v_name={n}" for n, kind in names]
    inputs = [f".input {n} offset={52 + 4 * k} size=4" for k, (n, _) in enumerate(names)]
    return TEXT.format(
        decls="\n".join(decls), inputs="\n".join(inputs), body="\n".join(body), dwords=at // 4
    )


def run(engine: str) -> tuple[Any, Any]:
    """The registers of two threads' last one, and the surface they wrote."""
    rng = np.random.default_rng(5)
    device = eumu.Device("skl", engine=engine)
    octets = rng.integers(0, 256, (16, 40), dtype=np.uint8)
    colours = rng.integers(0, 256, (9, 15, 4), dtype=np.uint8)
    surfaces = [
        device.media_image(octets, format="Y8_UNORM_VA", address="mirror"),
        device.media_image(octets > 99, format="Y1_UNORM"),
        device.media_image(colours, format="R8G8B8A8_UNORM"),
        device.image((32, 64), format="R8_UINT"),
    ]
    kernel = rng.integers(-9, 9, (3, 5)) / 16
    samplers = [
        device.media_sampler(convolve=kernel),
        device.media_sampler(places=[[1, 0], [1, 1]]),
        device.media_sampler(line=[0.5, 1, -0.25]),
        device.media_sampler(phases=np.tile([0, 0, 0, 0.5, 0.5, 0, 0, 0], (32, 1))),
    ]
    out = device.array(sum(size for size, _ in ASKED), np.uint8)
    program = eumu.load(text().encode(), device="skl")
    offsets = rng.integers(-20, 20, 32).astype(np.int16)
    args = [out, 0.2, 0.4, np.array([2, 0, 0, 0], np.uint8), *surfaces, *samplers, offsets]
    program["k"].launch(device, 16, 8, args=args)
    return out.numpy(), surfaces[3].numpy()


def test_both_engines_give_the_same() -> None:
    found, expected = run("jit"), run("interp")
    for got, want in zip(found, expected, strict=True):
        assert (got == want).all()
        assert len(np.unique(want)) > 20


def test_every_instruction_that_is_executed_is_asked() -> None:
    asked = {re.match(r"[\w.]+?(?= |\.RGBA)", words)[0] for _, words in ASKED}  # type: ignore[index]
    media = [o for o in VISA if o.mnemonic in ("avs", "va", "va_skl_plus")]
    assert asked == {name(o) for o in media if is_executed(o)}


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_surface_of_another_kind_is_refused(engine: str) -> None:
    """The state of a surface of the 3D sampler is none of the media sampler."""
    device = eumu.Device("skl", engine=engine)
    program = eumu.load(text().encode(), device="skl")
    image = device.image(np.zeros((8, 8), np.uint8), format="R8_UNORM")
    state = device.media_sampler(places=[[1]])
    out = device.array(sum(size for size, _ in ASKED), np.uint8)
    args = [out, 0.0, 0.0, np.zeros(4, np.uint8)]
    offsets = np.zeros(32, np.int16)
    with pytest.raises((eumu.Fault, eumu.Unsupported)):
        program["k"].launch(device, 8, 8, args=[*args, *[image] * 4, *[state] * 4, offsets])
