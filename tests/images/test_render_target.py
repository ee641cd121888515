"""Images as render targets: threads that write their pixels and read them back."""

from __future__ import annotations

import numpy as np
import pytest

import eumu

MACHINES = (("skl", "interp"), ("skl", "jit"))

# Each thread has four blocks of pixels side by side; its group says where.
_WRITE = """.version 4.1
.kernel "paint"
.decl IMAGE v_type=T num_elts=1
.decl HEADER v_type=G type=ud num_elts=8 align=GRF
.decl X v_type=G type=ud num_elts=1 align=dword
.decl Y v_type=G type=ud num_elts=1 align=dword
.decl RED v_type=G type=f num_elts=16 align=GRFx2
.decl GREEN v_type=G type=f num_elts=16 align=GRFx2
.decl BLUE v_type=G type=f num_elts=16 align=GRFx2
.decl ALPHA v_type=G type=f num_elts=16 align=GRFx2
.input IMAGE offset=32 size=4
.kernel_attr SimdSize=16
main:
    mov (M1_NM, 8) HEADER(0,0)<1> 0xFFFF:ud
    shl (M1_NM, 1) X(0,0)<1> %group_id_x(0,0)<0;1,0> 0x3:ud
    shl (M1_NM, 1) Y(0,0)<1> %group_id_y(0,0)<0;1,0> 0x11:ud
    or (M1_NM, 1) X(0,0)<1> X(0,0)<0;1,0> Y(0,0)<0;1,0>
    mov (M1_NM, 4) HEADER(0,2)<1> 0x6420:uv
    add (M1_NM, 4) HEADER(0,2)<1> HEADER(0,2)<1;1,0> X(0,0)<0;1,0>
    mov (M1, 16) RED(0,0)<1> %group_id_x(0,0)<0;1,0>
    mov (M1, 16) GREEN(0,0)<1> %group_id_y(0,0)<0;1,0>
    mov (M1, 8) BLUE(0,0)<1> 0x76543210:uv
    add (M1, 8) BLUE(1,0)<1> BLUE(0,0)<1;1,0> 8.0:f
    mov (M1, 16) ALPHA(0,0)<1> 1.0:f
    rt_write_3d.<LRTW> (M1, 16) IMAGE HEADER.0 RED.0 GREEN.0 BLUE.0 ALPHA.0
    ret (M1, 1)
"""
# Without a header, the places are in r1: here an argument right behind r0.
_READ = """.version 4.1
.kernel "read"
.decl IMAGE v_type=T num_elts=1
.decl PLACES v_type=G type=ud num_elts=8 align=GRF
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl TEXELS v_type=G type=f num_elts=64 align=GRFx2
.input PLACES offset=32 size=32
.input OUT offset=64 size=8
.input IMAGE offset=72 size=4
.kernel_attr SimdSize=16
main:
    rt_read (M1, 16) IMAGE TEXELS.0
    svm_block_st (8) OUT(0,0)<0;1,0> TEXELS.0
    add (M1_NM, 1) OUT(0,0)<1> OUT(0,0)<0;1,0> 0x80:uq
    svm_block_st (8) OUT(0,0)<0;1,0> TEXELS.128
    ret (M1, 1)
"""


@pytest.fixture(scope="module", params=MACHINES, ids="-".join)
def device(request: pytest.FixtureRequest) -> eumu.Device:
    name, engine = request.param
    return eumu.Device(name, engine=engine)


def painted() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """What three by four threads paint."""
    found = np.zeros((8, 24, 4), np.float32)
    for y in range(8):
        for x in range(24):
            lane = 4 * (x % 8 // 2) + 2 * (y % 2) + x % 2
            found[y, x] = [x // 8, y // 2, lane, 1]
    return found


def paint(device: eumu.Device, image: object) -> None:
    program = eumu.load(_WRITE.encode(), device="skl")
    program["paint"].launch(device, (48, 4), (16, 1), args=[image])


@pytest.mark.parametrize("tiling", ["linear", "y"])
def test_every_thread_paints_its_pixels(device: eumu.Device, tiling: str) -> None:
    image = device.image((8, 24, 4), format="RGBA32_FLOAT", tiling=tiling)
    paint(device, image)
    assert np.array_equal(image.numpy(), painted())


def test_colours_become_texels_of_the_format(device: eumu.Device) -> None:
    image = device.image((8, 24, 4), format="RGBA8_UNORM")
    paint(device, image)
    assert np.array_equal(image.numpy(), (painted().clip(0, 1) * 255).astype(np.uint8))


def test_pixels_outside_are_dropped(device: eumu.Device) -> None:
    image = device.image((5, 9, 4), format="RGBA32_FLOAT")
    paint(device, image)
    assert np.array_equal(image.numpy(), painted()[:5, :9])


def test_pixels_are_read_back(device: eumu.Device) -> None:
    texels = np.random.default_rng(3).random((8, 24, 4)).astype(np.float32)
    image = device.image(texels, format="RGBA32_FLOAT")
    blocks = ((4, 2), (20, 6), (0, 0), (10, 4))
    places = np.array([0, 0, *(x | y << 16 for x, y in blocks), 0, 0], np.uint32)
    out = device.array((4, 16), np.float32)
    program = eumu.load(_READ.encode(), device="skl")
    program["read"].launch(device, 16, 16, args=[places, out, image])
    got = out.numpy()
    for lane in range(16):
        x, y = blocks[lane // 4]
        assert np.array_equal(got[:, lane], texels[y + (lane >> 1 & 1), x + (lane & 1)])


# Thirty-two lanes: r1 has the places of the first half, r2 those of the second.
_READ_32 = """.version 4.1
.kernel "read32"
.decl IMAGE v_type=T num_elts=1
.decl PLACES v_type=G type=ud num_elts=16 align=GRF
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl TEXELS v_type=G type=f num_elts=128 align=GRFx2
.input PLACES offset=32 size=64
.input OUT offset=96 size=8
.input IMAGE offset=104 size=4
.kernel_attr SimdSize=32
main:
{read}
{store}
    ret (M1, 1)
"""
_STORE = "\n".join(
    f"    svm_block_st (8) OUT(0,0)<0;1,0> TEXELS.{k * 128}\n"
    "    add (M1_NM, 1) OUT(0,0)<1> OUT(0,0)<0;1,0> 0x80:uq"
    for k in range(4)
)
_HALVES = """    rt_read (M1, 16) IMAGE LOW.0
    rt_read (M5, 16) IMAGE HIGH.0
"""


@pytest.mark.parametrize("form", ["whole", "halves"])
def test_thirty_two_lanes_read_their_pixels(device: eumu.Device, form: str) -> None:
    texels = np.random.default_rng(4).random((8, 48, 4)).astype(np.float32)
    image = device.image(texels, format="RGBA32_FLOAT")
    blocks = ((4, 2), (20, 6), (0, 0), (10, 4), (2, 2), (40, 6), (8, 0), (14, 4))
    places = np.zeros(16, np.uint32)
    places[2:6] = [x | y << 16 for x, y in blocks[:4]]
    places[10:14] = [x | y << 16 for x, y in blocks[4:]]
    text = _READ_32.format(read="    rt_read (M1, 32) IMAGE TEXELS.0", store=_STORE)
    if form == "halves":
        text = text.replace("    rt_read (M1, 32) IMAGE TEXELS.0", _HALVES.rstrip())
        text = text.replace("LOW", "TEXELS").replace("HIGH.0", "TEXELS.256")
    out = device.array((4, 32), np.float32)
    program = eumu.load(text.encode(), device="skl")
    program["read32"].launch(device, 32, 32, args=[places, out, image])
    got = out.numpy()
    if form == "halves":
        got = np.concatenate(np.split(got.reshape(8, 16), 2), axis=1)
    for lane in range(32):
        x, y = blocks[lane // 4]
        assert np.array_equal(got[:, lane], texels[y + (lane >> 1 & 1), x + (lane & 1)])
