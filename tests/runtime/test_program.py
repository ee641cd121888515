"""Programs: what is loaded as what, kernels by name, variables, plain vISA text."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import zebin
from eumu.runtime.image import Image
from eumu.runtime.libraries import Linkage
from kernels import build

SAXPY = build.BIN / "pvc" / "saxpy.bin"


def visaasm(name: str, device: str) -> str:
    path = build.BIN / device / f"{name}.bin"
    return zebin.read(path.read_bytes(), path.name).kernels[0].visaasm


def test_a_program_is_a_mapping_of_kernels() -> None:
    program = eumu.load(build.BIN / "pvc" / "math_functions.bin")
    assert list(program) == ["math_functions", "trigonometry", "native_functions"]
    assert [k.name for k in program.kernels] == list(program)
    assert program["trigonometry"].simd_width == 32
    with pytest.raises(KeyError) as error:
        program["trigonometri"]
    assert str(error.value) == (
        "math_functions.bin has no kernel 'trigonometri'; did you mean 'trigonometry'?"
        " (it has math_functions, trigonometry, native_functions)"
    )
    assert "nothing" not in program


def test_paths_and_bytes() -> None:
    for program in (eumu.load(SAXPY), eumu.load(str(SAXPY)), eumu.load(SAXPY.read_bytes())):
        assert program["saxpy"].args[2].name == "a"
        assert program.platform is not None
        assert program.platform.name == "pvc"


def test_facts_of_a_kernel() -> None:
    kernel = eumu.load(build.BIN / "skl" / "sgemm.bin")["sgemm"]
    assert repr(kernel).startswith("<Kernel sgemm(global float* a, global float* b, ")
    assert kernel.slm_bytes == 2048
    assert kernel.barriers == 1
    assert kernel.required_local_size is None
    env = replace(kernel.info.execution_env, required_work_group_size=(16, 16, 1))
    kernel.info = replace(kernel.info, execution_env=env)
    assert kernel.required_local_size == (16, 16, 1)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"", eumu.FormatError, "empty"),
        (b"\x7fELF", eumu.FormatError, "cut off"),
        (b"hello", eumu.FormatError, "text that begins"),
        (SAXPY.read_bytes()[:3000], eumu.FormatError, "cut off"),
        (b".version 4.1\n.kernel k\n  frobnicate (M1, 8)\n", eumu.BuildError, "program:3:3: error"),
        (b".version 4.1\n\xff", eumu.FormatError, "byte 0xd is not UTF-8"),
        (b"\x03\x02\x23\x07" + bytes(100), eumu.BuildError, "must be compiled for a device"),
    ],
)
def test_what_is_no_program(data: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        eumu.load(data)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        eumu.load(tmp_path / "none.bin")


def test_source_code_needs_a_device(tmp_path: Path) -> None:
    path = tmp_path / "k.cl"
    path.write_text("kernel void k() {}\n")
    with pytest.raises(eumu.BuildError, match=r"k\.cl must be compiled for a device"):
        eumu.load(path)


def test_building_with_ocloc(tmp_path: Path, ocloc: str) -> None:
    source = "kernel void fill(global int *p) { p[get_global_id(0)] = VALUE; }\n"
    path = tmp_path / "fill.cl"
    path.write_text(source)
    dev = eumu.Device("skl", engine="interp")
    programs = [
        eumu.build(source, dev, "-DVALUE=7"),
        eumu.build(path, "skl", "-DVALUE=7"),
        eumu.load(path, device=dev, options="-DVALUE=7"),
    ]
    for program in programs:
        out = dev.array(8, np.int32)
        program["fill"].launch(dev, 8, args=[out])
        assert (out.numpy() == 7).all()
    with pytest.raises(eumu.BuildError, match=r"fill.cl:1:\d+: error: .*VALUE"):
        eumu.build(path, dev)


# ---- variables of a program


def test_variables_live_once_for_each_device() -> None:
    path = build.BIN / "pvc" / "constant_table.bin"
    program = eumu.load(path)
    one, two = eumu.Device("pvc"), eumu.Device("pvc")
    image = program.image(one)
    assert image is not None
    assert program.image(one) is image
    assert program.image(two) is not image
    square = image.addresses(["square"])["square"]
    offset = square - one.memory.base
    table = one.memory.arena[offset : offset + 64].view(np.int32)
    assert table.tolist() == [k * k for k in range(16)]
    assert ".data.const of constant_table.bin" in one.memory.describe(square)


def test_devices_are_not_kept_by_programs() -> None:
    program = eumu.load(build.BIN / "pvc" / "constant_table.bin")
    dev = eumu.Device("pvc")
    program.image(dev)
    gone = weakref.ref(dev)
    del dev
    gc.collect()
    assert gone() is None


def test_symbols_that_are_no_variables() -> None:
    elf = zebin.read(SAXPY.read_bytes(), "saxpy.bin")
    image = Image(Linkage([elf]), eumu.Device("pvc"))
    with pytest.raises(eumu.BuildError, match="uses 'missing', defined nowhere"):
        image.addresses(["missing"])
    with pytest.raises(eumu.Unsupported, match="address of function 'saxpy'"):
        image.addresses(["saxpy"])


def test_a_function_that_is_defined_nowhere(ocloc: str) -> None:
    source = "int lost(int);\nkernel void k(global int *p) { p[0] = lost(p[1]); }\n"
    dev = eumu.Device("pvc")
    with pytest.raises(eumu.BuildError, match=r"kernel k uses 'lost', defined nowhere"):
        eumu.build(source, dev)["k"].launch(dev, 1, args=[dev.array(2, np.int32)])


def test_variables_keep_their_values_and_may_point_at_each_other(ocloc: str) -> None:
    source = """global int counter[4] = {1, 2, 3, 4};
        global int *constant where = &counter[2];
        kernel void k(global int *p) {
            int i = get_global_id(0);
            p[i] = counter[i] + *where;
            counter[i] += 10;
        }"""
    dev = eumu.Device("pvc", engine="interp")
    kernel = eumu.build(source, dev, "-cl-std=CL2.0")["k"]
    for expected in ([4, 5, 6, 7], [24, 25, 26, 27]):
        out = dev.array(4, np.int32)
        kernel.launch(dev, 4, args=[out])
        assert out.numpy().tolist() == expected


def test_spirv_is_compiled(ocloc: str) -> None:
    program = eumu.load(SAXPY)
    assert program.elf is not None
    dev = eumu.Device("skl", engine="interp")
    again = eumu.load(program.elf.spirv, device=dev)
    x, y = dev.array(np.ones(32, np.float32)), dev.array(32, np.float32)
    again["saxpy"].launch(dev, 32, args=[x, y, 3.0])
    assert (y.numpy() == 3).all()


# ---- plain vISA text


@pytest.mark.parametrize("device", ["pvc", "skl"])
def test_the_compilers_text_without_its_elf(device: str) -> None:
    program = eumu.load(visaasm("saxpy", device).encode(), device=device)
    kernel = program["kernel"]
    assert [p.type_name for p in kernel.args] == ["ulong", "ulong", "float"]
    dev = eumu.Device(device, engine="interp")
    x, y = dev.array(np.arange(64, dtype=np.float32)), dev.array(np.ones(64, np.float32))
    kernel.launch(dev, 64, 32, [x, y, 2.0])
    assert (y.numpy() == 2 * np.arange(64) + 1).all()


def test_text_without_a_device_runs_on_any(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.visaasm"
    path.write_text(visaasm("saxpy", "pvc"))
    program = eumu.load(path)
    assert program.platform is None
    dev = eumu.Device("pvc", engine="interp")
    x, y = dev.array(np.ones(32, np.float32)), dev.array(32, np.float32)
    program["kernel"].launch(dev, 32, args=[x, y, 3.0])
    assert (y.numpy() == 3).all()


TEXT = """.version 4.1
.kernel "add_all"
.decl X v_type=G type=uw num_elts=16
.decl P v_type=G type=uq num_elts=1
.decl K v_type=G type=d num_elts=2
.decl B v_type=T num_elts=1
.decl W v_type=G type=d num_elts=16
.decl A v_type=G type=uq num_elts=16
.input X offset=32 size=32
.input P offset=128
.input K offset=136 size=8
.input B offset=144 size=4
.kernel_attr SimdSize=16
.kernel_attr SLMSize=1
{more}
    mov (M1, 16) W(0,0)<1> X(0,0)<1;1,0>
    add (M1, 16) W(0,0)<1> W(0,0)<1;1,0> K(0,1)<0;1,0>
    shl (M1, 16) A(0,0)<1> X(0,0)<1;1,0> 0x2:uq
    add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> P(0,0)<0;1,0>
    svm_scatter.4.1 (M1, 16) A.0 W.0
    ret (M1, 1)
"""


def described(more: str = "", changes: dict[str, str] | None = None) -> Any:
    source = TEXT.format(more=more)
    for old, new in (changes or {}).items():
        source = source.replace(old, new)
    return eumu.load(source.encode(), device="skl")["add_all"]


def test_inputs_become_arguments() -> None:
    kernel = described()
    assert [str(p) for p in kernel.args] == ["address or ulong P", "int2 K", "global surface B"]
    assert kernel.simd_width == 16
    assert kernel.slm_bytes == 1024
    dev = eumu.Device("skl", engine="interp")
    out = dev.array(16, np.int32)
    kernel.launch(dev, 16, args=[out, [5, 6], None])
    assert (out.numpy() == np.arange(16) + 6).all()
    kernel.launch(dev, 16, args={"P": out.address, "K": b"\0\0\0\0\1\0\0\0", "B": out})
    assert (out.numpy() == np.arange(16) + 1).all()


def test_how_many_bytes_are_local_ids_may_be_said() -> None:
    assert [p.name for p in described(".kernel_attr PerThreadInputSize=0").args] == list("XPKB")
    assert described().args == described(".kernel_attr PerThreadInputSize=96").args


def test_words_that_are_too_many_for_local_ids() -> None:
    with pytest.raises(eumu.BuildError, match=r"192 bytes of word inputs .* 3 rows of 32 bytes"):
        described(changes={"num_elts=16\n.decl P": "num_elts=96\n.decl P", "size=32": "size=192"})
