"""Object files as the CM compiler writes them: explicit SIMD, threads in place of work items."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu import binary, text
from eumu.cli.main import main

ENGINES = pytest.mark.parametrize("engine", ["interp", "jit"])

# Each thread copies a block of luma, and mixes the block of chrominance that belongs to it.
COPY = """.version 3.6
.kernel "copy"
.decl V32 v_type=G type=ud num_elts=1 align=dword
.decl V33 v_type=G type=ud num_elts=1 align=dword
.decl V34 v_type=G type=ub num_elts=128 align=GRF
.decl V35 v_type=G type=ub num_elts=64 align=GRF
.decl V36 v_type=G type=ub num_elts=64 align=GRF
.decl V37 v_type=G type=ud num_elts=1 align=dword
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.input T6 offset=32 size=4
.input T7 offset=36 size=4
.input V37 offset=40 size=4
.kernel_attr AsmName="copy_0.asm"
.kernel_attr NoBarrier
.kernel_attr Target="cm"
    mul (M1, 1) V32(0,0)<1> %thread_x(0,0)<0;1,0> 0x10:uw
    mul (M1, 1) V33(0,0)<1> %thread_y(0,0)<0;1,0> 0x8:uw
    media_ld.nomod (16,8) T6 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V34.0
    media_st.nomod (16,8) T7 0 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V34.0
    shr (M1, 1) V33(0,0)<1> V33(0,0)<0;1,0> 0x1:ud
    media_ld.nomod (16,4) T6 1 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V35.0
    mov (M1, 16) V36(0,0)<1> V35(0,0)<4;2,1>
    mov (M1, 16) V36(0,16)<1> V35(0,16)<8;4,1>
    mov (M1, 32) V36(1,0)<1> V37(0,0)<0;1,0>
    media_st.nomod (16,4) T7 1 V32(0,0)<0;1,0> V33(0,0)<0;1,0> V36.0
    ret (M1, 1)
"""


def load(source: str, directory: Path, device: str) -> eumu.Program:
    """The program by way of an object file, in which nothing gets lost."""
    file = directory / "k.isa"
    data = binary.write(text.parse(source))
    assert data[4:6] == bytes((3, 6)) and binary.write(binary.read(data)) == data
    file.write_bytes(data)
    return eumu.load(file, device=device)


@ENGINES
@pytest.mark.parametrize("device", ["skl", "tgllp"])
def test_threads_copy_blocks_of_a_picture(device: str, engine: str, tmp_path: Path) -> None:
    dev = eumu.Device(device, engine=engine)
    rows = np.random.default_rng(1).integers(0, 256, (36, 48), np.uint8)  # 24 of luma
    source = dev.image(rows, format="PLANAR_420_8")
    target = dev.image(np.zeros((36, 48), np.uint8), format="PLANAR_420_8")
    kernel = load(COPY, tmp_path, device)["copy"]
    report = kernel.launch(dev, (3, 3), args=[source, target, 0x1A5])
    assert (report.threads, report.groups, report.engine) == (9, 9, engine)
    expected = rows.copy()
    low = expected[24:].reshape(3, 4, 3, 16).transpose(0, 2, 1, 3).reshape(9, 64)
    k = np.arange(16)
    mixed = np.full((9, 64), 0xA5, np.uint8)
    mixed[:, :16] = low[:, k // 2 * 4 + k % 2]
    mixed[:, 16:32] = low[:, 16 + k // 4 * 8 + k % 4]
    expected[24:] = mixed.reshape(3, 3, 4, 16).transpose(0, 2, 1, 3).reshape(12, 48)
    assert np.array_equal(target.numpy().reshape(36, 48), expected)


def test_a_thread_space_has_two_dimensions(tmp_path: Path) -> None:
    dev = eumu.Device("skl", engine="interp")
    kernel = load(COPY, tmp_path, "skl")["copy"]
    image = dev.image(np.zeros((12, 16), np.uint8), format="PLANAR_420_8")
    for sizes in (((2, 2), (2, 1)), ((1, 1, 2), None)):
        with pytest.raises(eumu.LaunchError, match="a group is one thread"):
            kernel.launch(dev, *sizes, args=[image, image, 0])
    with pytest.raises(eumu.LaunchError, match="512 are possible"):
        kernel.launch(dev, 513, args=[image, image, 0])


def test_an_array_is_no_picture(tmp_path: Path) -> None:
    dev = eumu.Device("skl", engine="interp")
    array = dev.array(np.zeros(64, np.uint8))
    with pytest.raises(eumu.Fault, match="is BUFFER; blocks are read from S2D"):
        load(COPY, tmp_path, "skl")["copy"].launch(dev, 1, args=[array, array, 0])


def test_a_surface_is_a_picture_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.isa").write_bytes(binary.write(text.parse(COPY)))
    command = [
        "run",
        str(tmp_path / "k.isa"),
        "--device",
        "skl",
        "--global",
        "1,2",
        "--arg",
        "V37=0",
    ]
    for name in ("T6", "T7"):
        command += ["--arg", f"{name}=image:PLANAR_420_8:16x24"]
    assert main(command) == 0
    assert "2 groups, 2 threads" in capsys.readouterr().out


# Groups of threads: each thread of a group of one writes its group's number and the sizes.
GROUPS = """.version 3.6
.kernel "groups"
.decl SIZE v_type=G type=ud num_elts=3 align=dword
.decl COUNT v_type=G type=ud num_elts=3 align=dword
.decl OUT v_type=G type=ud num_elts=4 align=GRF
.decl AT v_type=G type=ud num_elts=1 align=dword
.decl T6 v_type=T num_elts=1
.input T6 offset=32 size=4
.implicit_GROUP_COUNT COUNT offset=64 size=12
.implicit_LOCAL_SIZE SIZE offset=76 size=12
.kernel_attr Target="cm"
    mad (M1, 1) AT(0,0)<1> %group_id_y(0,0)<0;1,0> COUNT(0,0)<0;1,0> %group_id_x(0,0)<0;1,0>
    mov (M1, 1) OUT(0,0)<1> AT(0,0)<0;1,0>
    mov (M1, 1) OUT(0,1)<1> COUNT(0,1)<0;1,0>
    mov (M1, 1) OUT(0,2)<1> SIZE(0,0)<0;1,0>
    mov (M1, 1) OUT(0,3)<1> 0x7:ud
    oword_st (1) T6 AT(0,0)<0;1,0> OUT.0
    ret (M1, 1)
"""


@ENGINES
def test_groups_of_threads(engine: str, tmp_path: Path) -> None:
    dev = eumu.Device("skl", engine=engine)
    out = dev.array((6, 4), np.uint32)
    kernel = load(GROUPS, tmp_path, "skl")["groups"]
    assert [p.name for p in kernel.args] == ["T6"]
    report = kernel.launch(dev, (3, 4), (1, 2), args=[out])
    assert (report.groups, report.threads) == (6, 12)
    assert np.array_equal(out.numpy(), [[k, 2, 1, 7] for k in range(6)])


PLACES = """.version 3.6
.kernel "places"
.decl ID v_type=G type=ud num_elts=3 align=dword
.decl SIZE v_type=G type=ud num_elts=3 align=dword
.decl OUT v_type=G type=ud num_elts=4 align=GRF
.decl AT v_type=G type=ud num_elts=1 align=dword
.decl T6 v_type=T num_elts=1
.input T6 offset=32 size=4
.implicit_LOCAL_SIZE SIZE offset=76 size=12
.implicit_LOCAL_ID ID offset=96 size=12
.kernel_attr Target="cm"
    mad (M1, 1) AT(0,0)<1> ID(0,2)<0;1,0> SIZE(0,1)<0;1,0> ID(0,1)<0;1,0>
    mad (M1, 1) AT(0,0)<1> AT(0,0)<0;1,0> SIZE(0,0)<0;1,0> ID(0,0)<0;1,0>
    mul (M1, 1) OUT(0,3)<1> %group_id_x(0,0)<0;1,0> 0xc:ud
    add (M1, 1) AT(0,0)<1> AT(0,0)<0;1,0> OUT(0,3)<0;1,0>
    mov (M1, 1) OUT(0,0)<1> ID(0,0)<0;1,0>
    mov (M1, 1) OUT(0,1)<1> ID(0,1)<0;1,0>
    mov (M1, 1) OUT(0,2)<1> ID(0,2)<0;1,0>
    oword_st (1) T6 AT(0,0)<0;1,0> OUT.0
    ret (M1, 1)
"""


def test_threads_know_their_place_in_the_group(tmp_path: Path) -> None:
    dev = eumu.Device("skl")
    out = dev.array((24, 4), np.uint32)
    load(PLACES, tmp_path, "skl")["places"].launch(dev, (6, 2, 2), (3, 2, 2), args=[out])
    places = [[x, y, z, 12 * g] for g in (0, 1) for z in (0, 1) for y in (0, 1) for x in range(3)]
    assert np.array_equal(out.numpy(), places)


# The compiler's division: a subroutine that rounds towards zero and restores the mode.
MODES = """.version 3.6
.kernel "modes"
.decl X v_type=G type=f num_elts=4 align=GRF
.decl Y v_type=G type=f num_elts=24 align=GRF
.decl ZERO v_type=G type=ud num_elts=1 align=dword
.decl T6 v_type=T num_elts=1
.input T6 offset=32 size=4
.input ZERO offset=36 size=4
.kernel_attr Target="cm"
    oword_ld (1) T6 ZERO(0,0)<0;1,0> X.0
    call (M1, 1) towards_zero
    add (M1, 1) Y(0,1)<1> X(0,0)<0;1,0> X(0,1)<0;1,0>
    call (M1, 1) towards_zero
    add (M1, 1) Y(0,2)<1> X(0,0)<0;1,0> X(0,1)<0;1,0>
    mov (M1, 1) Y(0,3)<1> X(0,3)<0;1,0>
    oword_st (1) T6 ZERO(0,0)<0;1,0> Y.0
    ret (M1, 1)
.function "towards_zero"
towards_zero:
    and (M1, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0xfffffb0e:ud
    or (M1, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
    add (M1, 1) Y(0,0)<1> X(0,0)<0;1,0> X(0,1)<0;1,0>
    and (M1, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0xfffffb0e:ud
    ret (M1, 1)
"""


@pytest.mark.parametrize("simd", [1, 16])
@ENGINES
def test_a_subroutine_changes_the_rounding_and_restores_it(
    engine: str, simd: int, tmp_path: Path
) -> None:
    dev = eumu.Device("skl", engine=engine)
    source = MODES.replace(
        "mov (M1, 1) Y(0,3)<1> X(0,3)<0;1,0>", f"mov (M1, {simd}) Y(0,3)<1> X(0,3)<0;1,0>"
    )
    one, little = np.float32(1), np.float32(2**-24 * 1.5)
    data = dev.array(np.array([one, little, 0, 5], np.float32))
    load(source, tmp_path, "skl")["modes"].launch(dev, 1, args=[data, 0])
    assert data.numpy()[0] == one and data.numpy()[1] == data.numpy()[2] == np.nextafter(one, 2)
    assert data.numpy()[3] == 5
