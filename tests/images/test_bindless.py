"""Images that are found by a handle: the instruction, and the message that it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import eumu

TEXT = """\
.version 4.1
.kernel "bindless"
.decl IMAGE v_type=T num_elts=1
.decl HANDLE v_type=G type=ud num_elts=1 align=dword
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl U v_type=G type=ud num_elts=8 align=GRF
.decl V v_type=G type=ud num_elts=8 align=GRF
.decl UV v_type=G type=ud num_elts=16 align=GRF
.decl E v_type=G type=ud num_elts=1 align=dword
.decl A v_type=G type=uq num_elts=8 align=GRF
.decl R v_type=G type=ud num_elts=32 align=GRF
.input IMAGE offset=32 size=4
.input OUT offset=40 size=8
.input HANDLE offset=48 size=4
.kernel_attr SimdSize=8
    mov (M1_NM, 8) U(0,0)<1> 0x76543210:uv
    mov (M1_NM, 8) V(0,0)<1> 0x2:ud
    {message}
    mov (M1_NM, 8) UV(0,0)<1> 0x76543210:uv
    mul (M1_NM, 8) UV(0,0)<1> UV(0,0)<1;1,0> 0x10:ud
    mov (M1_NM, 8) A(0,0)<1> UV(0,0)<1;1,0>
    add (M1_NM, 8) A(0,0)<1> A(0,0)<1;1,0> OUT(0,0)<0;1,0>
    svm_scatter4scaled.RGBA (M1, 8) 0x0:uq A.0 R.0
    ret (M1, 1)
"""
MESSAGES = {
    "instruction": """movs (M1_NM, 1) %bss(0) HANDLE(0,0)<0;1,0>
    gather4_typed.RGBA (M1, 8) %bss U.0 V.0 %null.0 %null.0 R.0""",
    # Typed surface read of shared function 12 to low 8 slots, two registers of coordinates.
    "message": """add (M1_NM, 1) E(0,0)<1> HANDLE(0,0)<0;1,0> 0x4c:ud
    raw_sends.12.1.1.4 (M1, 8) E(0,0)<0;1,0> 0x24150fc:ud U.0 V.0 R.0""",
    "descriptors": """add (M1_NM, 1) E(0,0)<1> HANDLE(0,0)<0;1,0> 0x4c:ud
    mul (M1_NM, 1) UV(0,0)<1> V(0,0)<0;1,0> 0x120a87e:ud
    raw_sends.12.1.1.4 (M1, 8) E(0,0)<0;1,0> UV(0,0)<0;1,0> U.0 V.0 R.0""",
}


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("way", MESSAGES)
def test_a_row_of_an_image(way: str, engine: str, tmp_path: Path) -> None:
    device = eumu.Device("skl", engine=engine)
    pixels = np.random.default_rng(4).integers(0, 1 << 32, (5, 8, 4), np.uint32)
    image = device.image(pixels, format="RGBA32_UINT")
    out = device.array((8, 4), np.uint32)
    file = tmp_path / "bindless.visaasm"
    file.write_text(TEXT.replace("{message}", MESSAGES[way]))
    kernel = eumu.load(file, device="skl")["bindless"]
    kernel.launch(device, 8, args=[image, out, image.slot.offset << 6])
    assert (out.numpy() == pixels[2]).all()


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_state_behind_the_handle(engine: str, tmp_path: Path) -> None:
    """An index beside the handle counts surface states; a coordinate has a number added."""
    dev = eumu.Device("dg2", engine=engine)
    pixels = np.random.default_rng(4).integers(0, 1 << 32, (5, 8, 4), np.uint32)
    image = dev.image(pixels, format="RGBA32_UINT")
    out = dev.array((8, 4), np.uint32)
    file = tmp_path / "bindless.visaasm"
    load = "lsc_load_quad.tgm (M1, 8)  R:d32.xyzw  bss(HANDLE,0x3)[U, V+1]:a32"
    file.write_text(TEXT.replace("{message}", load).replace(".version 4.1", ".version 4.2"))
    kernel = eumu.load(file, device="dg2")["bindless"]
    kernel.launch(dev, 8, args=[image, out, image.slot.offset - 3 * 64])
    assert (out.numpy() == pixels[3]).all()
