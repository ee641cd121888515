"""Typed reads, writes, atomics and blocks from plain vISA text, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu

ENGINES = ("interp", "jit")
_TEXT = """.version 4.1
.kernel "text"
.decl IMAGE v_type=T num_elts=1 v_name=IMAGE
.decl POINTS v_type=G type=uq num_elts=1 align=qword
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl AT v_type=G type=uq num_elts=1 align=qword
.decl IN v_type=G type=ud num_elts=128 align=GRF
.decl RESULT v_type=G type=ud num_elts=128 align=GRF
.input POINTS offset={grf} size=8
.input OUT offset={out} size=8
.input IMAGE offset={image} size=4
.kernel_attr Target="cm"
.kernel_attr SimdSize={simd}
.function "text"
{body}
    ret (M1, 1)
"""


def run(
    device: eumu.Device, message: str, image: Any, values: Any, simd: int = 8
) -> np.ndarray[Any, Any]:
    """512 bytes of values to IN, the message, 512 bytes of RESULT; both start as zeros."""
    grf = device.platform.grf_bytes
    data = np.zeros(128, np.uint32)
    given = np.asarray(values).reshape(-1).view(np.uint32)
    data[: len(given)] = given
    body = []
    for k in range(4):
        body.append(f"    add (M1, 1) AT(0,0)<1> POINTS(0,0)<0;1,0> {128 * k:#x}:uq")
        body.append(f"    svm_block_ld (8) AT(0,0)<0;1,0> IN.{128 * k}")
        body.append(f"    add (M1, 1) AT(0,0)<1> OUT(0,0)<0;1,0> {128 * k:#x}:uq")
        body.append(f"    svm_block_ld (8) AT(0,0)<0;1,0> RESULT.{128 * k}")
    body.append(f"    {message}")
    for k in range(4):
        body.append(f"    add (M1, 1) AT(0,0)<1> OUT(0,0)<0;1,0> {128 * k:#x}:uq")
        body.append(f"    svm_block_st (8) AT(0,0)<0;1,0> RESULT.{128 * k}")
    places = {"grf": grf, "out": grf + 8, "image": grf + 16}
    text = _TEXT.format(**places, simd=simd, body="\n".join(body))
    program = eumu.load(text.encode(), device=device.platform.name)
    out = device.array(128, np.uint32)
    program["text"].launch(device, 1, args=[device.array(data), out, image])
    return out.numpy()


@pytest.fixture(scope="module", params=ENGINES)
def skl(request: pytest.FixtureRequest) -> eumu.Device:
    return eumu.Device("skl", engine=request.param)


@pytest.fixture(scope="module", params=ENGINES)
def pvc(request: pytest.FixtureRequest) -> eumu.Device:
    return eumu.Device("pvc", engine=request.param)


U = np.array([0, 1, 2, 3, 3, 0, 9, 2], np.uint32)
V = np.array([0, 1, 2, 0, 0, 0, 0, 7], np.uint32)
INSIDE = (U < 4) & (V < 3)


def test_reads_outside_give_0_0_0_1(skl: eumu.Device) -> None:
    pixels = np.arange(48, dtype=np.float32).reshape(3, 4, 4)
    image = skl.image(pixels, format="RGBA32_FLOAT")
    message = "gather4_typed.RGBA (M1, 8) IMAGE IN.0 IN.32 %null.0 %null.0 RESULT.0"
    got = run(skl, message, image, [U, V]).view(np.float32)[:32].reshape(4, 8).T
    for k in range(8):
        want = pixels[V[k], U[k]].tolist() if INSIDE[k] else [0, 0, 0, 1]
        assert got[k].tolist() == want
    some = run(skl, message.replace(".RGBA", ".GA"), image, [U, V]).view(np.float32)
    assert (got[:, [1, 3]] == some[:16].reshape(2, 8).T).all()


def test_writes_of_some_channels_keep_the_others(skl: eumu.Device) -> None:
    pixels = np.full((3, 4, 4), 9, np.uint8)
    image = skl.image(pixels, format="RGBA8_UINT")
    message = "scatter4_typed.RG (M1, 8) IMAGE IN.0 IN.32 %null.0 %null.0 IN.64"
    data = np.array([range(8), [300] * 8], np.uint32)
    run(skl, message, image, [*U, *V, *data.reshape(-1)])
    want = pixels.copy()
    for k in np.flatnonzero(INSIDE):
        want[V[k], U[k], :2] = data[0, k], 255
    assert (image.numpy() == want).all()


ATOMICS = {
    "add": lambda old, x: old + x,
    "sub": lambda old, x: old - x,
    "max": max,
    "min": min,
    "and": lambda old, x: old & x,
    "or": lambda old, x: old | x,
    "xor": lambda old, x: old ^ x,
    "xchg": lambda old, x: x,
    "inc": lambda old, x: old + 1,
    "dec": lambda old, x: old - 1,
}


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_of_texels(skl: eumu.Device, name: str) -> None:
    pixels = np.arange(100, 112, dtype=np.uint32).reshape(3, 4)
    image = skl.image(pixels, format="R32_UINT")
    x = np.arange(1, 9, dtype=np.uint32) * 37
    source = "%null.0" if name in ("inc", "dec") else "IN.64"
    message = (
        f"typed_atomic.{name} (M1, 8) IMAGE IN.0 IN.32 %null.0 %null.0 {source} %null.0 RESULT.0"
    )
    got = run(skl, message, image, [U, V, x])[:8]
    want, old = pixels.copy(), []
    for k in range(8):
        if not INSIDE[k]:
            old.append(0)
            continue
        old.append(int(want[V[k], U[k]]))
        want[V[k], U[k]] = ATOMICS[name](old[-1], int(x[k])) & 0xFFFF_FFFF
    assert got.tolist() == old
    assert (image.numpy() == want).all()


def test_a_mismatched_typed_access_names_the_format(skl: eumu.Device) -> None:
    message = "typed_atomic.add (M1, 8) IMAGE IN.0 IN.32 %null.0 %null.0 IN.64 %null.0 RESULT.0"
    image = skl.image((3, 4, 4), format="RGBA8_UNORM")
    with pytest.raises(eumu.Fault, match=r"Surface Format .* is R8G8B8A8_UNORM; add needs one of"):
        run(skl, message, image, [U, V])


def test_blocks(skl: eumu.Device) -> None:
    pixels = np.random.default_rng(4).integers(0, 256, (6, 24), dtype=np.uint8)
    image = skl.image(pixels, format="R8_UINT")
    message = "media_ld.nomod (12,4) IMAGE IN(0,0)<0;1,0> IN(0,1)<0;1,0> RESULT.0"
    got = run(skl, message, image, np.array([5, 1], np.uint32)).view(np.uint8)[:64].reshape(4, 16)
    assert (got[:, :12] == pixels[1:5, 5:17]).all()
    message = "media_st.nomod (8,2) IMAGE IN(0,0)<0;1,0> IN(0,1)<0;1,0> IN.64"
    data = np.zeros(20, np.uint32)
    data[:2], data[16:20] = (20, 5), (0x03020100, 0x07060504, 0x13121110, 0x17161514)
    run(skl, message, image, data)
    want = pixels.copy()
    want[5, 20:24] = [0, 1, 2, 3]  # the rest is outside
    assert (image.numpy() == want).all()


def test_planes(skl: eumu.Device) -> None:
    planes = np.random.default_rng(5).integers(0, 256, (9, 8), dtype=np.uint8)
    image = skl.image(planes, format="PLANAR_420_8")
    message = "media_ld.nomod (8,3) IMAGE {} IN(0,0)<0;1,0> IN(0,1)<0;1,0> RESULT.0"
    for plane, rows in ((0, planes[1:4]), (1, planes[7:9][[0, 1, 1]])):
        at = np.array([0, 1], np.uint32)
        got = run(skl, message.format(plane), image, at).view(np.uint8)[:24].reshape(3, 8)
        assert (got == rows).all()


# ---- LSC


def test_lsc_quads(pvc: eumu.Device) -> None:
    pixels = np.arange(48, dtype=np.float32).reshape(3, 4, 4)
    image = pvc.image(pixels, format="RGBA32_FLOAT")
    message = "lsc_load_quad.tgm (M1, 16)  RESULT:d32.xyzw  bti(0x2)[IN, IN.64]:a32"
    got = run(pvc, message, image, [*U, *U, *V, *V], 16).view(np.float32)
    got = got[:64].reshape(4, 16).T
    for k in range(16):
        want = pixels[V[k % 8], U[k % 8]].tolist() if INSIDE[k % 8] else [0, 0, 0, 1]
        assert got[k].tolist() == want
    message = "lsc_store_quad.tgm (M1, 16)  bti(0x2)[IN, IN.64]:a32  IN.128:d32.xy"
    data = np.arange(32, dtype=np.float32)
    run(pvc, message, image, np.concatenate([U, U, V, V, data.view(np.uint32)]), 16)
    assert image.numpy()[2, 2].tolist() == [10.0, 26.0, *pixels[2, 2, 2:]]


def test_lsc_atomics(pvc: eumu.Device) -> None:
    image = pvc.image(np.zeros((3, 4), np.float32), format="R32_FLOAT")
    message = "lsc_atomic_fadd.tgm (M1, 16)  RESULT:d32  bti(0x2)[IN, IN.64]:a32  IN.128  %null"
    ones = np.ones(16, np.float32).view(np.uint32)
    run(pvc, message, image, np.concatenate([U, U, V, V, ones]), 16)
    want = np.zeros((3, 4), np.float32)
    for k in range(16):
        if INSIDE[k % 8]:
            want[V[k % 8], U[k % 8]] += 1
    assert (image.numpy() == want).all()


def test_lsc_status(pvc: eumu.Device) -> None:
    image = pvc.image(np.zeros((3, 4), np.float32), format="R32_FLOAT")
    message = "lsc_load_status.tgm (M1, 16)  RESULT:d32  bti(0x2)[IN, IN.64]:a32"
    assert run(pvc, message, image, [*U, *U, *V, *V], 16)[0] == 0xFFFF
