"""The compiler's own code has no errors, and what it breaks stands in one table."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import eumu
from eumu.errors import Diagnostic, Severity
from eumu.verify import BROKEN_BY_THE_COMPILER

BINARIES = Path(__file__).parents[1] / "kernels" / "bin"
PROGRAMS = sorted(BINARIES.glob("*/*.bin"))
# Programs that were written to be warned of, and what the compiler leaves behind.
WARNINGS = {
    "asm_simd16_in_simd32": {"narrow-write"},
    "divergent_barrier": {"barrier-divergent"},
    "private_array": {"undefined-read"},  # the upper half of a pointer that nothing uses
    "vector_arguments": {"dead-write"},
}
LEFT_BEHIND = {"dead-move"}


@cache
def findings(program: Path) -> list[Diagnostic]:
    return eumu.check(program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_compiled_programs(program: Path) -> None:
    found = findings(program)
    codes = {s: {d.code for d in found if d.severity is s} for s in Severity}
    assert codes[Severity.ERROR] == set()
    assert codes[Severity.WARNING] <= WARNINGS.get(program.stem, set())
    assert codes[Severity.NOTE] <= set(BROKEN_BY_THE_COMPILER) | LEFT_BEHIND


def test_the_expected_warnings_are_given() -> None:
    for name, codes in WARNINGS.items():
        found = {d.code for p in PROGRAMS if p.stem == name for d in findings(p)}
        assert codes <= found, name


# Not in the shipped programs: builtins of the compiler's own, sub-groups beside images, and what
# only the CM compiler does.
_BUILTINS = {"alias-predefined", "pause-counter-emitted"}
_CM = {"setp-mask", "saturation-emitted"}
_SUB_GROUPS = {"payload-type-emitted", "sampler-parameter-emitted"}
_ROTATIONS = {"modifier-emitted"}
# Of the shipped compiler's programs none at hand does it: a file of this folder does.
_SEEN = {
    "operand-reach-emitted",
    "lsc-slm-caching",
    "operand-class-emitted",
    "region-bounds-emitted",
    "predicate-size-emitted",
}
_KERNEL = """\
int __builtin_IB_hw_thread_id(void);
void __builtin_IB_eu_thread_pause(uint);
kernel void k(global int *a) {
  __builtin_IB_eu_thread_pause(32);
  a[get_global_id(0)] = __builtin_IB_hw_thread_id();
}
"""


def test_the_compiler_breaks_every_rule_of_the_table() -> None:
    broken = {d.code for p in PROGRAMS for d in findings(p) if d.severity is Severity.NOTE}
    elsewhere = _BUILTINS | _CM | _SUB_GROUPS | _SEEN | _ROTATIONS
    assert broken - LEFT_BEHIND == set(BROKEN_BY_THE_COMPILER) - elsewhere


def test_what_only_builtins_break(tmp_path: Path, ocloc: str) -> None:
    file = tmp_path / "k.cl"
    file.write_text(_KERNEL)
    found = eumu.check(file, "skl")
    assert not [d for d in found if d.severity is Severity.ERROR]
    assert {d.code for d in found if d.severity is Severity.NOTE} >= _BUILTINS


_IMAGES = """\
#pragma OPENCL EXTENSION cl_intel_subgroups_char : enable
__attribute__((intel_reqd_sub_group_size(8)))
kernel void bytes(global uchar *p, global uchar *q) {
  intel_sub_group_block_write_uc(p + get_group_id(0) * 8, q[get_global_id(0)]);
}
kernel void copy(write_only image2d_t to, read_only image2d_t from) {
  int i = get_global_id(0);
  write_imagef(to, (int2)(i, i + 1), read_imagef(from, (int2)(i, 3)));
}
kernel void vote(global ushort *x, global uint *y) {
  int i = get_global_id(0);
  y[i] = sub_group_ballot_find_lsb(sub_group_ballot(x[i] > 3)) + ctz(x[i]);
}
"""


@pytest.mark.parametrize("device", ["skl", "tgllp", "dg2"])
def test_what_sub_groups_and_images_break(device: str, tmp_path: Path, ocloc: str) -> None:
    file = tmp_path / "k.cl"
    file.write_text(_IMAGES)
    found = eumu.check(file, device, options="-cl-std=CL3.0")
    assert not [d for d in found if d.severity is Severity.ERROR]
    notes = [d for d in found if d.severity is Severity.NOTE]
    assert {d.code for d in notes} >= {*_SUB_GROUPS, "types-emitted"}
    assert any("mov" in d.message and ":bool" in d.message for d in notes)
    program = eumu.build(_IMAGES, device, options="-cl-std=CL3.0")
    assert len(program.kernels) == 3
    for kernel in program.kernels:
        assert kernel.function(eumu.Device(device).platform)


@pytest.mark.parametrize("device", ["tgllp", "dg2", "pvc"])
def test_what_rotations_break(device: str, tmp_path: Path, ocloc: str) -> None:
    file = tmp_path / "k.cl"
    file.write_text(
        "kernel void k(global int *x) {\n  int i = get_global_id(0);\n"
        "  x[i] = rotate(-x[i], x[i + 9]) + rotate((int)abs(x[i + 1]), -x[i + 2]);\n}\n"
    )
    found = eumu.check(file, device)
    assert not [d for d in found if d.severity is Severity.ERROR]
    assert {d.code for d in found if d.severity is Severity.NOTE} >= _ROTATIONS
