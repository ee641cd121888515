"""Programs in the style of the CM compiler, by way of object files, against NumPy: blocks of
pictures in registers, regions that pick pixels, inputs of one and two bytes, threads by place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import eumu
from eumu import binary, native, text
from eumu.program import GenBinary

ENGINES = pytest.mark.parametrize("engine", ["interp", "jit"])
DEVICES = pytest.mark.parametrize("device", ["bdw", "skl", "tgllp"])

HEAD = """.version 3.6
.kernel "{name}"
.decl V32 v_type=G type=ud num_elts=1 align=dword
.decl V33 v_type=G type=ud num_elts=1 align=dword
.decl P1 v_type=P num_elts=16
.decl A0 v_type=A num_elts=1
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.input T6 offset=32 size=4
.input T7 offset=36 size=4
.kernel_attr AsmName="{name}_0.asm"
.kernel_attr NoBarrier
.kernel_attr Target="cm"
"""
PLACE = """    mul (M1, 1) V32(0,0)<1> %thread_x(0,0)<0;1,0> {width:#x}:uw
    mul (M1, 1) V33(0,0)<1> %thread_y(0,0)<0;1,0> {height:#x}:uw
"""


def kernel(name: str, declared: str, body: str, device: str, directory: Path) -> eumu.Kernel:
    """The kernel of an object file; declarations stand behind the common ones."""
    source = HEAD.format(name=name).replace(".input T6", f"{declared}.input T6", 1) + body
    data = binary.write(text.parse(source))
    assert data[4:6] == bytes((3, 6)) and binary.write(binary.read(data)) == data
    assert not [f for f in eumu.check(data, device) if str(f.severity) == "error"]
    file = directory / f"{name}.isa"
    file.write_bytes(data)
    return eumu.load(file, device=device)[name]


def picture(device: eumu.Device, rows: NDArray[np.uint8]) -> Any:
    return device.image(rows, format="R8_UINT")


# Weighted prediction: weight and offset of 16 bits and a shift of 8, packed behind the surfaces.
WEIGHTED = (
    """.decl V34 v_type=G type=w num_elts=1 align=word
.decl V35 v_type=G type=b num_elts=1 align=byte
.decl V36 v_type=G type=w num_elts=1 align=word
.decl V37 v_type=G type=ub num_elts=128 align=GRF
.decl V38 v_type=G type=d num_elts=16 align=GRF
.decl V39 v_type=G type=ub num_elts=128 align=GRF
.decl V40 v_type=G type=d num_elts=1 align=dword
.decl V41 v_type=G type=d num_elts=1 align=dword
.input V34 offset=40 size=2
.input V36 offset=42 size=2
.input V35 offset=44 size=1
""",
    PLACE.format(width=16, height=8)
    + """    media_ld.nomod (16,8) T6 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V37.0
    mov (M1, 1) V40(0,0)<1> V35(0,0)<0;1,0>
    mov (M1, 1) V41(0,0)<1> 0x1:d
    shl (M1, 1) V41(0,0)<1> V41(0,0)<0;1,0> V40(0,0)<0;1,0>
    asr (M1, 1) V41(0,0)<1> V41(0,0)<0;1,0> 0x1:d
"""
    + "".join(
        f"""    mul (M1, 16) V38(0,0)<1> V37({k // 2},{k % 2 * 16})<1;1,0> V34(0,0)<0;1,0>
    add (M1, 16) V38(0,0)<1> V38(0,0)<1;1,0> V41(0,0)<0;1,0>
    asr (M1, 16) V38(0,0)<1> V38(0,0)<1;1,0> V40(0,0)<0;1,0>
    add.sat (M1, 16) V39({k // 2},{k % 2 * 16})<1> V38(0,0)<1;1,0> V36(0,0)<0;1,0>
"""
        for k in range(8)
    )
    + """    media_st.nomod (16,8) T7 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V39.0
    ret (M1, 1)
""",
)


@DEVICES
@ENGINES
def test_weighted_pixels(engine: str, device: str, tmp_path: Path) -> None:
    dev = eumu.Device(device, engine=engine)
    rows = np.random.default_rng(1).integers(0, 256, (24, 48), np.uint8)
    code = kernel("weighted", *WEIGHTED, device, tmp_path)
    for weight, offset, shift in ((37, -20, 5), (-64, 255, 6), (300, 1, 0)):
        source, target = picture(dev, rows), picture(dev, np.zeros_like(rows))
        report = code.launch(dev, (3, 3), args=[source, target, weight, offset, shift])
        assert report.engine == engine
        exact = (rows.astype(int) * weight + ((1 << shift) >> 1) >> shift) + offset
        assert np.array_equal(target.numpy(), exact.clip(0, 255))


# Half the size: regions with a stride of two take even and odd pixels of a block of 32 by 4.
HALVED = (
    """.decl V34 v_type=G type=ub num_elts=128 align=GRF
.decl V35 v_type=G type=uw num_elts=16 align=GRF
.decl V36 v_type=G type=uw num_elts=16 align=GRF
.decl V37 v_type=G type=uw num_elts=32 align=GRF
.decl V38 v_type=G type=ub num_elts=32 align=GRF
.decl V39 v_type=G type=ub num_elts=64 alias=<V37, 0>
""",
    PLACE.format(width=32, height=4)
    + """    media_ld.nomod (32,4) T6 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V34.0
"""
    + "".join(
        f"""    add (M1, 16) V35(0,0)<1> V34({2 * k},0)<2;1,0> V34({2 * k},1)<2;1,0>
    add (M1, 16) V36(0,0)<1> V34({2 * k + 1},0)<2;1,0> V34({2 * k + 1},1)<2;1,0>
    add (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> V36(0,0)<1;1,0>
    add (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> 0x2:uw
    shr (M1, 16) V37({k},0)<1> V35(0,0)<1;1,0> 0x2:uw
"""
        for k in range(2)
    )
    + """    mov (M1, 32) V38(0,0)<1> V39(0,0)<2;1,0>
    shr (M1, 1) V32(0,0)<1> V32(0,0)<0;1,0> 0x1:ud
    shr (M1, 1) V33(0,0)<1> V33(0,0)<0;1,0> 0x1:ud
    media_st.nomod (16,2) T7 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V38.0
    ret (M1, 1)
""",
)


@DEVICES
@ENGINES
def test_half_the_size(engine: str, device: str, tmp_path: Path) -> None:
    dev = eumu.Device(device, engine=engine)
    rows = np.random.default_rng(2).integers(0, 256, (16, 96), np.uint8)
    source, target = picture(dev, rows), picture(dev, np.zeros((8, 48), np.uint8))
    kernel("halved", *HALVED, device, tmp_path).launch(dev, (3, 4), args=[source, target])
    sums = rows.astype(int).reshape(8, 2, 48, 2).sum((1, 3))
    assert np.array_equal(target.numpy(), (sums + 2) // 4)


# A histogram of every second pixel: sixteen atomic additions at a time to a buffer.
COUNTED = (
    """.decl V34 v_type=G type=ub num_elts=32 align=GRF
.decl V35 v_type=G type=ud num_elts=16 align=GRF
.decl V36 v_type=G type=ud num_elts=16 align=GRF
""",
    PLACE.format(width=32, height=1)
    + """    media_ld.nomod (32,1) T6 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V34.0
    mov (M1, 16) V35(0,0)<1> V34(0,1)<2;1,0>
    cmp.ge (M1, 16) P1 V35(0,0)<1;1,0> 0x10:ud
    shl (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> 0x2:ud
    (P1) dword_atomic.inc (M1, 16) T7 V35.0 %null.0 %null.0 V36.0
    ret (M1, 1)
""",
)


@DEVICES
@ENGINES
def test_counts_by_atomics(engine: str, device: str, tmp_path: Path) -> None:
    dev = eumu.Device(device, engine=engine)
    rows = np.random.default_rng(3).integers(0, 256, (12, 64), np.uint8)
    counts = dev.array(256, np.uint32)
    code = kernel("counted", *COUNTED, device, tmp_path)
    code.launch(dev, (2, 12), args=[picture(dev, rows), counts])
    expected = np.bincount(rows[:, 1::2].reshape(-1), minlength=256)
    expected[:16] = 0
    assert np.array_equal(counts.numpy(), expected)


# Rows of a block in the opposite order, by an address that goes down while a loop goes on.
TURNED = (
    """.decl V34 v_type=G type=ub num_elts=256 align=GRF
.decl V35 v_type=G type=ub num_elts=256 align=GRF
.decl V36 v_type=G type=uw num_elts=1 align=word
.decl V37 v_type=G type=uw num_elts=1 align=word
.decl A1 v_type=A num_elts=1
""",
    PLACE.format(width=32, height=8)
    + """    media_ld.nomod (32,8) T6 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V34.0
    mov (M1, 1) V36(0,0)<1> 0x0:uw
    mov (M1, 1) V37(0,0)<1> 0xe0:uw
again:
    addr_add (M1, 1) A0(0)<1> &V34 V36(0,0)<0;1,0>
    addr_add (M1, 1) A1(0)<1> &V35 V37(0,0)<0;1,0>
    mov (M1, 32) r[A1(0),0]<1>:ub r[A0(0),0]<1;1,0>:ub
    add (M1, 1) V36(0,0)<1> V36(0,0)<0;1,0> 0x20:uw
    add (M1, 1) V37(0,0)<1> V37(0,0)<0;1,0> 0xffe0:uw
    cmp.lt (M1, 1) P1 V36(0,0)<0;1,0> 0x100:uw
    (P1) jmp (M1, 1) again
    media_st.nomod (32,8) T7 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V35.0
    ret (M1, 1)
""",
)


@DEVICES
@ENGINES
def test_rows_by_address(engine: str, device: str, tmp_path: Path) -> None:
    dev = eumu.Device(device, engine=engine)
    rows = np.random.default_rng(4).integers(0, 256, (16, 64), np.uint8)
    source, target = picture(dev, rows), picture(dev, np.zeros_like(rows))
    kernel("turned", *TURNED, device, tmp_path).launch(dev, (2, 2), args=[source, target])
    assert np.array_equal(target.numpy(), rows.reshape(2, 8, 64)[:, ::-1].reshape(16, 64))


# The same kernel as vISA and as native code; blocks of 32 bytes by 8 rows at the thread's place.
FILLED = (
    """.decl V34 v_type=G type=ud num_elts=1 align=dword
.decl V35 v_type=G type=ud num_elts=64 align=GRF
.input V34 offset=40 size=4
""",
    PLACE.format(width=32, height=8)
    + """    mov (M1, 32) V35(0,0)<1> V34(0,0)<0;1,0>
    mov (M1, 32) V35(4,0)<1> V34(0,0)<0;1,0>
    media_st.nomod (32,8) T7 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V35.0
    ret (M1, 1)
""",
)
NATIVE = """
(W)     mov (8|M0)    r2.0<1>:ud   r0.0<8;8,1>:ud
(W)     and (1|M0)    r12.0<1>:uw  r0.2<0;1,0>:uw   0x1FF:uw
(W)     and (1|M0)    r12.1<1>:uw  r0.3<0;1,0>:uw   0x1FF:uw
(W)     shl (1|M0)    r2.0<1>:d    r12.0<0;1,0>:uw  5:w
(W)     shl (1|M0)    r2.1<1>:d    r12.1<0;1,0>:uw  3:w
(W)     mov (1|M0)    r2.2<1>:ud   0x7001F:ud
        mov (16|M0)   r4.0<1>:ud   r1.2<0;1,0>:ud
        mov (16|M0)   r6.0<1>:ud   r1.2<0;1,0>:ud
        mov (16|M0)   r8.0<1>:ud   r1.2<0;1,0>:ud
        mov (16|M0)   r10.0<1>:ud  r1.2<0;1,0>:ud
(W)     add (1|M0)    a0.0<1>:ud   r1.1<0;1,0>:ud   0x20A8000:ud
(W)     mov (8|M0)    r127.0<1>:ud r0.0<8;8,1>:ud
(W)     sends (8|M0)  null:ud r2 r4 0x20C a0.0
        send (1|M0)   null r127 0x27 0x02000010 {EOT}
"""


def filled(platform: int, code: bytes) -> eumu.Program:
    """An object file whose kernel has native code for a platform of that number."""
    source = HEAD.format(name="filled").replace(".input T6", f"{FILLED[0]}.input T6", 1)
    module = text.parse(source + FILLED[1])
    kernel = replace(module.kernels[0], gen_binaries=(GenBinary(platform, code),))
    return eumu.load(binary.write(replace(module, kernels=(kernel,))))


@ENGINES
def test_the_native_code_beside_a_kernel(engine: str) -> None:
    program = filled(5, native.encode(native.parse(NATIVE, "filled", "skl")))
    dev = eumu.Device("skl", engine=engine)
    expected = np.zeros((32, 96), np.uint8)
    expected[:24, :64] = np.tile([1, 2, 3, 4], 16)
    for level in ("visa", "native"):
        unused, out = (picture(dev, np.zeros((32, 96), np.uint8)) for _ in range(2))
        args = [unused, out, 0x04030201]
        assert program["filled"].launch(dev, (2, 3), args=args, level=level).engine == engine
        assert np.array_equal(out.numpy(), expected)


def test_native_code_of_another_generation() -> None:
    dev = eumu.Device("tgllp", engine="interp")
    out = picture(dev, np.zeros((32, 96), np.uint8))
    with pytest.raises(eumu.Unsupported, match="Gen9"):
        filled(12, bytes(16))["filled"].launch(dev, 1, args=[out, out, 0], level="native")


# A block from the entry behind that of its surface, where motion estimation has its references.
BEHIND = (
    """.decl V34 v_type=G type=ub num_elts=256 align=GRF
.decl V35 v_type=G type=ud num_elts=1 align=dword
.decl T8 v_type=T num_elts=1
""",
    PLACE.format(width=32, height=8)
    + """    movs (M1, 1) V35(0,0)<1> T6(0)
    add (M1, 1) V35(0,0)<1> V35(0,0)<0;1,0> 0x1:ud
    movs (M1, 1) T8(0) V35(0,0)<0;1,0>
    media_ld.nomod (32,8) T8 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V34.0
    media_st.nomod (32,8) T7 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V34.0
    ret (M1, 1)
""",
)


@ENGINES
def test_a_surface_of_several_images(engine: str, tmp_path: Path) -> None:
    dev = eumu.Device("skl", engine=engine)
    rows = np.random.default_rng(5).integers(0, 256, (3, 16, 64), np.uint8)
    first, second, target = (picture(dev, x) for x in rows)
    code = kernel("behind", *BEHIND, "skl", tmp_path)
    code.launch(dev, (2, 2), args=[(first, second), target])
    assert np.array_equal(target.numpy(), rows[1])
    for wrong in ((), (first, 3)):
        with pytest.raises(eumu.ArgumentError, match="argument 0 'T6'"):
            code.launch(dev, (2, 2), args=[wrong, target])


SCOREBOARD = """.version 3.6
.kernel "scoreboard"
.decl V32 v_type=G type=b num_elts=16 align=oword
.decl V33 v_type=G type=ud num_elts=1 align=dword
.decl T6 v_type=T num_elts=1
.implicit_UNDEFINED_4 V32 offset=32 size=16
.implicit_UNDEFINED_5 T6 offset=48 size=4
.kernel_attr Target="cm"
    mov (M1, 1) V33(0,0)<1> 0x0:ud
    oword_st (1) T6 V33(0,0)<0;1,0> V32.0
    ret (M1, 1)
"""


@ENGINES
def test_what_a_software_scoreboard_needs_comes_from_the_caller(engine: str) -> None:
    dev = eumu.Device("tgllp", engine=engine)
    code = eumu.load(binary.write(text.parse(SCOREBOARD)), device="tgllp")["scoreboard"]
    deltas, out = np.arange(-8, 8, dtype=np.int8), dev.array(16, np.int8)
    assert [p.size for p in code.args] == [16, 4]
    code.launch(dev, 1, args=[deltas.tobytes(), out])
    assert np.array_equal(out.numpy(), deltas)
