"""Render targets and the URB by native messages: what the same vISA instructions do.

The messages of `urb_write_3d` are those that Intel's vISA finalizer makes of it for Gen9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from eumu import native
from eumu.errors import Unsupported
from eumu.ir import Function
from eumu.lower_native import lower
from eumu.platforms import Platform
from eumu.runtime.kernel import Kernel
from images.test_render_target import _READ, _WRITE, painted
from native.native_thread import END

ENGINES = ("interp", "jit")
_PAYLOAD = 512

_URB = """.version 4.1
.kernel "emit"
.decl HANDLE v_type=G type=ud num_elts=8 align=GRF
.decl MASK v_type=G type=ud num_elts=8 align=GRF
.decl OFFSET v_type=G type=ud num_elts=8 align=GRF
.decl DATA v_type=G type=ud num_elts=64 align=GRF
.input HANDLE offset=32 size=32
.input MASK offset=64 size=32
.input OFFSET offset=96 size=32
.input DATA offset=128 size=256
.kernel_attr SimdSize=8
main:
    {}
    ret (M1, 1)
"""
_COPY = "\n".join(f"mov (8|M0) r{{}}.0<1>:ud r{r}.0<8;8,1>:ud" for r in range(4, 8))
URB = {
    "one": ("1 5 %null.0 HANDLE.0 %null.0", "sends (8|M0) null:ud r1 r4 0x46 0x02080057"),
    "eight": ("8 0 %null.0 HANDLE.0 %null.0", "sends (8|M0) null:ud r1 r4 0x206 0x02080007"),
    "masks": (
        "4 7 MASK.0 HANDLE.0 %null.0",
        "shl (8|M0) r12.0<1>:ud r2.0<8;8,1>:ud 0x10:uw\n"
        + _COPY.format(13, 14, 15, 16)
        + "\nsends (8|M0) null:ud r1 r12 0x146 0x02088077",
    ),
    "offsets": (
        "4 7 %null.0 HANDLE.0 OFFSET.0",
        "mov (8|M0) r12.0<1>:ud r3.0<8;8,1>:ud\n"
        + _COPY.format(13, 14, 15, 16)
        + "\nsends (8|M0) null:ud r1 r12 0x146 0x020A0077",
    ),
    "masks and offsets": (
        "4 7 MASK.0 HANDLE.0 OFFSET.0",
        "mov (8|M0) r12.0<1>:ud r3.0<8;8,1>:ud\nshl (8|M0) r13.0<1>:ud r2.0<8;8,1>:ud 0x10:uw\n"
        + _COPY.format(14, 15, 16, 17)
        + "\nsends (8|M0) null:ud r1 r12 0x186 0x020A8077",
    ),
}


def kernel_of(visa: str, text: str, width: int) -> Kernel:
    """A kernel with native code that was written by hand beside its vISA."""

    def translate(platform: Platform) -> Function:
        return lower(native.parse(text + END, platform=platform), width, _PAYLOAD)

    (kernel,) = eumu.load(visa.encode(), device="skl").values()
    kernel._translators["native"] = translate
    return kernel


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", URB)
def test_urb_writes(form: str, engine: str) -> None:
    operands, text = URB[form]
    kernel = kernel_of(_URB.format(f"urb_write_3d (M1, 8) {operands} DATA.0"), text, 8)
    rng = np.random.default_rng(5)
    handle = rng.permutation(8).astype(np.uint32) * 40
    mask, data = rng.integers(0, 16, 8), rng.integers(0, 1 << 32, 64)
    args = [handle, mask, rng.integers(0, 20, 8), data]
    rows = []
    for level in ("visa", "native"):
        device = eumu.Device("skl", engine=engine)
        kernel.launch(device, 7, 7, args=[x.astype(np.uint32) for x in args], level=level)
        rows.append(device.urb.numpy().copy())
    assert rows[0].any() and np.array_equal(*rows)


_READS = """
    send (8|M0) r20 r1 0x6 0x02280058
    mov (8|M0) r13.0<1>:ud r3.0<8;8,1>:ud
(W) mov (8|M0) r12.0<1>:ud r1.0<8;8,1>:ud
    send (8|M0) r22 r12 0x6 0x042A0058
    sends (8|M0) null:ud r1 r20 0x86 0x02080107
    sends (8|M0) null:ud r1 r22 0x86 0x02080207
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_urb_reads(engine: str) -> None:
    """Two dwords of rows handle + 5, and of those plus an offset of each slot, are copied."""
    kernel = kernel_of(_URB.format("mov (M1, 8) MASK(0,0)<1> 0x0:ud"), _READS, 8)
    device = eumu.Device("skl", engine=engine)
    rows = np.random.default_rng(6).integers(0, 1 << 32, (4096, 4), dtype=np.uint32)
    device.urb.write(rows)
    handle = np.arange(8, dtype=np.uint32) * 100
    offset = np.array([3, 1, 4, 1, 5, 0, 2, 6], np.uint32)
    zero = np.zeros(8, np.uint32)
    args = [handle, zero, offset, np.zeros(64, np.uint32)]
    kernel.launch(device, 7, 7, args=args, level="native")
    found = device.urb.numpy()
    for lane in range(7):
        here = int(handle[lane])
        assert (found[here + 16, :2] == rows[here + 5, :2]).all()
        assert (found[here + 32, :2] == rows[here + 5 + offset[lane], :2]).all()
    assert (found[700 + 16] == rows[700 + 16]).all()


# As the vISA: a header of two registers, then four colours; the surface comes in r1.0.
_PAINT = """
(W) mov (8|M0) r10.0<1>:ud 0:ud
(W) mov (8|M0) r11.0<1>:ud 0:ud
(W) mov (1|M0) r11.7<1>:ud 0xFFFF:ud
(W) shl (1|M0) r2.0<1>:ud r0.1<0;1,0>:ud 3:ud
(W) shl (1|M0) r3.0<1>:ud r0.6<0;1,0>:ud 17:ud
(W) or (1|M0) r2.0<1>:ud r2.0<0;1,0>:ud r3.0<0;1,0>:ud
(W) mov (4|M0) r3.0<1>:uw 0x6420:uv
(W) add (4|M0) r11.2<1>:ud r3.0<4;4,1>:uw r2.0<0;1,0>:ud
    mov (16|M0) {colours}.0<1>:f r0.1<0;1,0>:ud
    mov (16|M0) {green}.0<1>:f r0.6<0;1,0>:ud
(W) mov (8|M0) r4.0<1>:uw 0x76543210:uv
(W) add (8|M0) r4.8<1>:uw r4.0<8;8,1>:uw 8:uw
    mov (16|M0) {blue}.0<1>:f r4.0<16;16,1>:uw
    mov (16|M0) {alpha}.0<1>:f 1.0:f
(W) add (1|M0) a0.0<1>:ud r1.0<0;1,0>:ud {descriptor:#x}:ud
    sendsc (16|M0) null:w r10 null 0x5 a0.0
"""
_SIMD16 = _PAINT.format(
    colours="r12", green="r14", blue="r16", alpha="r18", descriptor=10 << 25 | 0xB1000
)
# The samples that each pixel covers come first: those of every third pixel none.
_OMASK = _PAINT.format(
    colours="r13", green="r15", blue="r17", alpha="r19", descriptor=11 << 25 | 0xB1000
).replace(
    "(W) add (1|M0) a0.0", "(W) mov (16|M0) r12.0<1>:uw r5.0<16;16,1>:uw\n(W) add (1|M0) a0.0"
)
_MASKS = "(W) mov (8|M0) r5.0<1>:uw 0x11011011:uv\n(W) mov (8|M0) r5.8<1>:uw 0x01101101:uv\n"


def _image(device: eumu.Device, format: str = "RGBA32_FLOAT") -> Any:
    return device.image((8, 24, 4), format=format)


@pytest.mark.parametrize("engine", ENGINES)
def test_targets_are_painted(engine: str) -> None:
    kernel = kernel_of(_WRITE, _SIMD16, 16)
    device = eumu.Device("skl", engine=engine)
    image = _image(device)
    kernel.launch(device, (48, 4), (16, 1), args=[image], level="native")
    assert np.array_equal(image.numpy(), painted())


@pytest.mark.parametrize("engine", ENGINES)
def test_pixels_without_samples_stay(engine: str) -> None:
    kernel = kernel_of(_WRITE, _MASKS + _OMASK, 16)
    device = eumu.Device("skl", engine=engine)
    image = _image(device)
    kernel.launch(device, (48, 4), (16, 1), args=[image], level="native")
    lane = painted()[:, :, 2].astype(int)
    covered = np.array([1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0])[lane]
    assert np.array_equal(image.numpy(), painted() * covered[:, :, None])


_EIGHT = """
(W) mov (8|M0) r10.0<1>:ud 0:ud
(W) mov (8|M0) r11.0<1>:ud 0:ud
(W) mov (1|M0) r11.7<1>:ud 0xFF:ud
(W) mov (1|M0) r11.2<1>:ud 0x20004:ud
(W) mov (1|M0) r11.3<1>:ud 0x40006:ud
    mov (8|M0) r12.0<1>:f 0.25:f
    mov (8|M0) r13.0<1>:f 0.5:f
    mov (8|M0) r14.0<1>:f 0.75:f
    mov (8|M0) r15.0<1>:f 1.0:f
(W) add (1|M0) a0.0<1>:ud r1.0<0;1,0>:ud 0x0C0B1400:ud
    sendsc (8|M0) null:w r10 null 0x5 a0.0
(W) mov (1|M0) r12.1<1>:f 0.5:f
(W) mov (1|M0) r12.2<1>:f 0.75:f
(W) mov (1|M0) r12.3<1>:f 1.0:f
(W) mov (1|M0) r11.7<1>:ud 0xF:ud
(W) mov (1|M0) r11.2<1>:ud 0x40010:ud
(W) mov (1|M0) r11.3<1>:ud 0x40010:ud
(W) mov (1|M0) r11.4<1>:ud 0x40010:ud
(W) mov (1|M0) r11.5<1>:ud 0x40010:ud
(W) add (1|M0) a0.0<1>:ud r1.0<0;1,0>:ud 0x060B1100:ud
    sendsc (16|M0) null:w r10 null 0x5 a0.0
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_eight_pixels_and_one_colour_for_all(engine: str) -> None:
    kernel = kernel_of(_WRITE, _EIGHT, 16)
    device = eumu.Device("skl", engine=engine)
    image = _image(device)
    kernel.launch(device, 16, 16, args=[image], level="native")
    want = np.zeros((8, 24, 4), np.float32)
    for x, y in ((4, 2), (6, 4), (16, 4)):
        want[y : y + 2, x : x + 2] = [0.25, 0.5, 0.75, 1]
    assert np.array_equal(image.numpy(), want)


# r1.2 to r1.5 have the places, r2.0 the address of the result, r2.2 the surface.
_GET = """
(W) mov (8|M0) r10.0<1>:ud 0:ud
(W) mov (8|M0) r11.0<1>:ud r1.0<8;8,1>:ud
(W) mov (1|M0) r11.7<1>:ud 0xFFFF:ud
(W) add (1|M0) a0.0<1>:ud r2.2<0;1,0>:ud {descriptor:#x}:ud
    send (16|M0) r20 r{first} 0x5 a0.0
(W) mov (8|M0) r30.0<1>:ud 0:ud
(W) mov (1|M0) r30.0<1>:uq r2.0<0;1,0>:uq
(W) sends (8|M0) null:ud r30 r20 0x10C 0x020D44FF
(W) add (1|M0) r30.0<1>:uq r2.0<0;1,0>:uq 0x80:uw
(W) sends (8|M0) null:ud r30 r24 0x10C 0x020D44FF
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_pixels_are_read_back(engine: str) -> None:
    texels = np.random.default_rng(3).random((8, 24, 4)).astype(np.float32)
    blocks = ((4, 2), (20, 6), (0, 0), (10, 4))
    places = np.array([0, 0, *(x | y << 16 for x, y in blocks), 0, 0], np.uint32)
    device = eumu.Device("skl", engine=engine)
    image = device.image(texels, format="RGBA32_FLOAT")
    descriptor = 2 << 25 | 8 << 20 | 1 << 19 | 13 << 14
    kernel = kernel_of(_READ, _GET.format(first=10, descriptor=descriptor), 16)
    found = []
    for level in ("visa", "native"):
        out = device.array((4, 16), np.float32)
        kernel.launch(device, 16, 16, args=[places, out, image], level=level)
        found.append(out.numpy())
    assert found[0].any() and np.array_equal(*found)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("0x6 0x04080000", "URB: hword write.*not modelled"),
        ("0x6 0x02080006", "URB: atomic add.*not modelled"),
        ("0x5 0x10031200", "render target write.*two sources"),
        ("0x5 0x10033000", "render target write.*several samples"),
        ("0x5 0x14031000", "render target write.*depth, stencil"),
    ],
)
def test_other_forms_say_what_they_are(message: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        lower(native.parse(f"send (16|M0) null r10 {message}{END}"), 16)


@pytest.mark.parametrize(
    ("size", "message", "slots"),
    [
        ("16|M0", "0xC 0x2106EFE", 8),
        ("32|M0", "0xC 0x4205EFE", 16),
        ("32|M0", "0xA 0x04210102", 16),
    ],
)
def test_every_lane_has_a_slot(size: str, message: str, slots: int) -> None:
    said = f"it has {slots} slots, and the instruction {size.partition('|')[0]} lanes"
    with pytest.raises(Unsupported, match=said):
        lower(native.parse(f"send ({size}) r40:ud r10 {message}{END}"), 32)


@pytest.mark.parametrize("group", [0, 3])
@pytest.mark.parametrize("kind", [0x05, 0x0D])
def test_typed_messages_have_a_group_of_eight_slots(kind: int, group: int) -> None:
    """SIMD4x2 is another form; the low and the high slots are what a message of eight has."""
    is_write = kind == 0x0D
    descriptor = (3 << 25) | (0 if is_write else 4 << 20) | kind << 14 | 3
    send = "sends (8|M0) null:ud r10 r20 0x10C" if is_write else "send (8|M0) r40:ud r10 0xC"
    for low_or_high in (1, 2):
        lower(native.parse(f"{send} {descriptor | low_or_high << 12:#x}{END}"), 8, 32)
    with pytest.raises(Unsupported, match="slot group"):
        lower(native.parse(f"{send} {descriptor | group << 12:#x}{END}"), 8, 32)
