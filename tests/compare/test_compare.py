"""`eumu compare`: forms that agree, faults planted in native words, sources made shorter."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import native, zebin
from eumu.cli.compare import differs
from eumu.cli.main import main
from eumu.compare import (
    Divergence,
    Ending,
    Launch,
    Printed,
    Side,
    compare,
    describe,
    nans,
    reduce,
    search,
    sides,
)
from eumu.native.words import encode_instruction
from eumu.platforms import platform
from eumu.zebin import ocloc
from images.image_programs import elf
from kernels.build import BIN

SAXPY = BIN / "apl" / "saxpy.bin"
SYMBOLS = Path(__file__).parents[1] / "zebin" / "data"
ARGUMENTS = ["--arg", "x=arange:float32:64", "--arg", "y=ones:float32:64", "--arg", "a=2.5"]

Change = Callable[[native.Instruction], native.Instruction | None]


def _launch() -> Launch:
    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        x = np.arange(64, dtype=np.float32)
        return {"x": device.array(x), "y": device.array(np.ones_like(x)), "a": 2.5}

    return Launch("saxpy", (64,), None, values)


def with_fault(elf: bytes, change: Change) -> bytes:
    """The program with the first instruction that `change` changes in the way that it says."""
    code = zebin.read(elf, "program").kernels[0].text
    for old in native.decode(code, "apl").instructions:
        new = change(old)
        if new is not None:
            word = encode_instruction(new)
            assert len(word) == old.size
            start = elf.index(code) + old.offset
            return elf[:start] + word + elf[start + old.size :]
    raise eumu.BuildError("nothing to change")


def _set(instruction: native.Instruction, name: str, value: Any) -> native.Instruction:
    field = instruction.opcode.field(name)
    assert field is not None
    operands = list(instruction.operands)
    operands[field.index] = value
    return replace(instruction, operands=tuple(operands))


def _other_source(instruction: native.Instruction) -> native.Instruction | None:
    """The second mad reads the register of the first."""
    if instruction.opcode.mnemonic != "mad" or instruction.operand("exec").offset != 8:
        return None
    source = instruction.operand("src1")
    return _set(instruction, "src1", replace(source, number=source.number - 1))


def _other_shift(instruction: native.Instruction) -> native.Instruction | None:
    """Addresses of the upper sixteen lanes are shifted by one bit more."""
    if instruction.opcode.mnemonic != "shl" or instruction.operand("exec").offset != 16:
        return None
    return _set(instruction, "src1", replace(instruction.operand("src1"), bits=3))


def test_the_levels_of_a_program_agree() -> None:
    first, second = sides(SAXPY)
    assert (first.label, second.label) == ("visa", "native")
    assert compare(first, second, _launch()) is None


def test_a_wrong_operand_is_found() -> None:
    first, second = sides(with_fault(SAXPY.read_bytes(), _other_source))
    found = compare(first, second, _launch())
    assert isinstance(found, Divergence)
    assert (found.array, found.index, found.left, found.right) == ("y", 8, 21.0, 1.0)
    assert found.count == 16
    visa, code = found.traces
    assert visa is not None and code is not None
    (stored,) = (text for text, is_store in code.lines if is_store)
    assert stored.startswith("sends (16|M0) null:w r4 r9")
    assert any(text.startswith("mad (8|M8)") for text, _ in code.lines)
    (stored,) = (text for text, is_store in visa.lines if is_store)
    assert stored.startswith("scatter4_scaled.R (M1, 16)")
    assert "y[8] differs (16 elements differ): 21.0 in visa, 1.0 in native" in describe(found)


def test_a_wrong_address_is_found() -> None:
    """Stores beside the array fault; the array here is larger than what is touched."""
    launch = _launch()

    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        x = np.arange(256, dtype=np.float32)
        return {"x": device.array(x), "y": device.array(np.ones_like(x)), "a": 2.5}

    first, second = sides(with_fault(SAXPY.read_bytes(), _other_shift))
    found = compare(first, second, replace(launch, values=values))
    assert isinstance(found, Divergence) and found.array == "y"
    assert None in found.traces  # one form stores nothing there


def test_a_fault_of_one_form_is_a_difference() -> None:
    first, second = sides(with_fault(SAXPY.read_bytes(), _other_shift))
    found = compare(first, second, _launch())
    assert isinstance(found, Ending)
    text = describe(found)
    assert text.startswith("native faults, visa does not:\n  fault: load of 4 bytes at")
    assert "saxpy.native:" in text
    with pytest.raises(eumu.Fault, match=r"saxpy\.native"):
        compare(second, second, _launch())


PRINTS = BIN / "apl" / "print_values.bin"


def _prints() -> Launch:
    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        return {"x": device.array(np.arange(4, dtype=np.float32)), "n": 4}

    return Launch("print_values", (4,), None, values)


def test_what_is_printed_is_compared() -> None:
    first, second = sides(PRINTS)
    assert compare(first, second, _prints()) is None

    def doubled(elf: bytes) -> bytes:
        at = elf.index(b"item %d")
        return elf[:at] + b"ITEM %d" + elf[at + 7 :]

    other = next(sides(doubled(PRINTS.read_bytes())))
    found = compare(first, other, _prints())
    assert isinstance(found, Printed)
    assert "only visa: ITEM" in describe(found)


def test_variables_of_the_program_are_compared() -> None:
    """A kernel that adds to a global variable, with another immediate in its native code."""
    path = SYMBOLS / "symbols.apl.bin"

    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        return {"a": device.array(np.zeros(8, np.int32))}

    first, second = sides(path)
    launch = Launch("reads", (1,), (1,), values)
    assert compare(first, second, launch) is None
    outcome = first.run(launch)
    assert set(outcome.memory) == {"a", ".data.global"}


def test_images_are_compared() -> None:
    first, second = sides(elf("plain", "apl"))
    pixels = np.random.default_rng(1).integers(0, 256, (9, 13, 4), np.uint8)

    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        changes = kernel is first.program["copy2"] and bool(change)
        image = device.image(pixels + changes)
        return {"a": image, "b": device.image(pixels.shape)}

    launch, change = Launch("copy2", (13, 9), None, values), []
    assert compare(first, second, launch) is None
    change.append(True)
    found = compare(first, next(sides(elf("plain", "apl"))), launch)
    assert isinstance(found, Divergence) and found.count > 100
    assert "stores" not in describe(found)


def test_nans_of_any_kind_are_one() -> None:
    """Their signs and payloads are unspecified; bits that are not declared floats are compared."""
    record = np.dtype([("n", np.uint32), ("x", np.float32)])
    bits = np.array([0x7FC00000, 0xFFC00001, 0x3F800000, 0x7F800003], np.uint32)
    other = np.array([0x7FC00000, 0x7FC00000, 0x7FC00000, 0xFFC00000], np.uint32)
    pair = np.dtype([("x", np.float32, 2)])
    for dtype, wanted in (
        *((np.float32, {2}), (record, {1}), (pair, {1}), (np.uint32, {1, 2, 3})),
        *((np.float16, {2, 5, 6}), (np.float64, {0, 1})),
    ):
        x, y = bits.view(dtype), other.view(dtype)
        same = nans.both_nan(x, y)
        unequal = search._unequal(x, y, search._meant(x.dtype) & ~same, 0.0)
        assert set(np.flatnonzero(unequal).tolist()) == wanted


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(SAXPY), "--global", "64", *ARGUMENTS]) == 0
    assert capsys.readouterr().out == "native is visa\n"
    bad = tmp_path / "bad.bin"
    bad.write_bytes(with_fault(SAXPY.read_bytes(), _other_source))
    assert main(["compare", str(bad), "--global", "64", *ARGUMENTS]) == 1
    out = capsys.readouterr().out
    assert out.startswith("y[8] differs") and "> sends (16|M0)" in out
    assert main(["compare", str(bad), "--global", "64", *ARGUMENTS, "--reduce"]) == 2
    assert "give the kernel as OpenCL C" in capsys.readouterr().err


def test_forms_that_cannot_run_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    elf = str(BIN / "pvc" / "saxpy.bin")
    assert main(["compare", elf, "--global", "64", *ARGUMENTS]) == 1
    said = capsys.readouterr().out
    assert said == "visa is the only form: there is nothing to compare it with\n"


def test_lines_are_left_out_while_the_property_stays() -> None:
    lines = [f"line {k}" for k in range(40)]

    def still(text: str) -> bool:
        return "line 7\n" in text and "line 23\n" in text

    assert reduce("\n".join(lines), still) == "line 7\nline 23\n"
    assert reduce("a\nb", lambda text: False) == "a\nb\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ocloc") is None, reason="ocloc is not installed")
def test_every_build_of_a_source_agrees() -> None:
    first, *others = sides(str(BIN.parents[2] / "examples" / "saxpy.cl"), "apl")
    labels = {side.label for side in (first, *others)}
    assert {"-O2 SIMD8 native", "-O2 SIMD16 visa", "-O0 SIMD8 native"} <= labels
    launch = replace(_launch(), local_size=(32,))
    for other in others[:6]:
        assert compare(first, other, launch) is None, other.label


SOURCE = """\
kernel void k(global const uint *x, global uint *y) {
    uint i = get_global_id(0);
    uint v = x[i];
    v = v * 3 + 1;
    v = v >> 2;
    v = v ^ 0x55;
    v = v + i;
    y[i] = v;
}
"""


def _exclusive_becomes_inclusive(instruction: native.Instruction) -> native.Instruction | None:
    """A compiler that takes `or` for `xor`."""
    if instruction.opcode.mnemonic != "xor":
        return None
    (other,) = native.parse("or (8|M0) r1.0<1>:d r1.0<8;8,1>:d r2.0<8;8,1>:d").instructions
    return replace(instruction, opcode=other.opcode, compacted=instruction.compacted)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ocloc") is None, reason="ocloc is not installed")
def test_functions_are_not_called_by_32_lanes(tmp_path: Path) -> None:
    source = tmp_path / "calls.cl"
    source.write_text(
        "__attribute__((noinline)) float twice(float x) { return x + x; }\n"
        "kernel void k(global float *y) { int i = get_global_id(0); y[i] = twice(y[i]); }\n"
    )

    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        return {"y": device.array(np.arange(64, dtype=np.float32))}

    first, *others = sides(source, "apl", kernel="k")
    labels = {side.label for side in (first, *others)}
    assert "-O0 SIMD16 native" in labels and not any("SIMD32" in label for label in labels)
    for other in others:
        assert compare(first, other, Launch("k", (64,), None, values)) is None, other.label


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ocloc") is None, reason="ocloc is not installed")
def test_a_source_is_reduced_to_what_the_compiler_does_wrong(tmp_path: Path) -> None:
    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        x = np.arange(32, dtype=np.uint32) * 77
        return {"x": device.array(x), "y": device.array(np.zeros_like(x))}

    def forms(path: str, device: str | None, options: str, kernel: str) -> Iterator[Side]:
        source = Path(path).read_text(encoding="utf-8")
        elf = ocloc.compile(source, platform("apl"), options, name="k.cl").elf
        yield Side("right", eumu.load(elf), "visa")
        yield Side("wrong", eumu.load(with_fault(elf, _exclusive_becomes_inclusive)), "native")

    launch = Launch("k", (32,), None, values)
    still = differs(tmp_path / "k.cl", SOURCE, None, "", launch, 0.0, forms)
    assert still(SOURCE)
    shorter = reduce(SOURCE, still, tries=24)
    assert "^ 0x55" in shorter and ">> 2" not in shorter and "+ i" not in shorter


def test_ctrl_c_leaves_the_shortest_source_so_far() -> None:
    asked: list[str] = []

    def still(source: str) -> bool:
        asked.append(source)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return "7\n" in source

    source = "".join(f"{n}\n" for n in range(16))
    assert reduce(source, still) == "4\n5\n6\n7\n"
    assert len(asked) == 4


_STORES = """.version 3.6
.kernel "k"
.decl A v_type=G type=uq num_elts=1 align=qword
.decl X v_type=G type=ud num_elts=8 align=GRF
.decl AT v_type=G type=uq num_elts=8 align=GRF
.decl P1 v_type=P num_elts=8
.input A offset=64 size=8
.kernel_attr SimdSize=8
.kernel_attr PerThreadInputSize=0
    mov (M1, 8) AT(0,0)<1> A(0,0)<0;1,0>
    {sets}
    cmp.lt (M1, 8) P1 X(0,0)<1;1,0> 0x9:ud
    (P1) mov (M1, 8) X(0,0)<1> {stored}:ud
    lsc_store.ugm (M1, 8) flat[AT]:a64 X:d32
    ret (M1, 1)
"""


def test_what_becomes_shorter_gets_nothing_undefined(tmp_path: Path) -> None:
    """One build may hide what another one shows: the compiler leaves out what is undefined."""

    def side(label: str, stored: int, sets: str) -> Side:
        text = _STORES.format(sets=sets, stored=stored).encode()
        return Side(label, eumu.load(text, device="pvc"), "visa", build=label)

    def forms(path: str, device: str | None, options: str, kernel: str) -> Iterator[Side]:
        sets = "mov (M1, 8) X(0,0)<1> 0x2:ud"
        yield side("-O2", 1, sets)
        yield side("-O0", 3, sets if "set" in Path(path).read_text(encoding="utf-8") else "")
        raise eumu.BuildError("no")  # a build of which nobody needs to know

    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        return {"A": device.array(np.zeros(8, np.uint32))}

    launch = Launch("k", (8,), None, values)
    still = differs(tmp_path / "k.cl", "set", None, "", launch, 0.0, forms)
    assert still("set")
    assert still("set")
    assert not still("nothing")
