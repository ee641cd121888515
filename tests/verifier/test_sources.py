"""`eumu check kernel.cl`: inline vISA assembly is checked, findings stand at the source's lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import eumu
from eumu.errors import BuildError, Severity

KERNELS = Path(__file__).parents[1] / "kernels"

pytestmark = pytest.mark.usefixtures("ocloc")

HEAD = """\
kernel __attribute__((intel_reqd_sub_group_size(16)))
void k(global int *a) {
  int i = get_global_id(0);
  int x = a[i], y = a[i + 16], q;
"""
END = """\
  a[i] = q;
}
"""


def places(folder: Path, body: str, device: str = "pvc") -> list[tuple[int, str, str]]:
    """Line, severity and code of what is found; the body begins in line 5."""
    file = folder / "k.cl"
    file.write_text(HEAD + body + END)
    found = eumu.check(file, device)
    assert all(d.span and d.span.source.name == str(file) for d in found if d.code != "scalar-mask")
    return [
        (d.span.line, d.severity.value, d.code)
        for d in found
        if d.span and d.severity is not Severity.NOTE
    ]


def test_what_is_right_has_no_findings(tmp_path: Path) -> None:
    body = '  __asm__("add (M1, 16) %0(0,0)<1> %1(0,0)<1;1,0> 0x1:d" : "=rw"(q) : "rw"(x));\n'
    assert places(tmp_path, body) == []


def test_what_the_compiler_lets_pass_stands_at_its_line(tmp_path: Path) -> None:
    body = """\
  q = x;
  __asm__ volatile("madw (M1,16) %0(0,0)<1> %1(0,0)<1;1,0> %2(0,0)<1;1,0> %1(0,0)<1;1,0>"
                   : "=rw"(q) : "rw"(x), "rw"(y));
"""
    assert places(tmp_path, body, "dg2") == [(6, "error", "operand-reach")]


def test_one_of_several_instructions_of_a_block(tmp_path: Path) -> None:
    body = """\
  __asm__ volatile("{\\n"
    ".decl T v_type=G type=d num_elts=8 align=GRF\\n"
    "mov (M1, 16) T(0,0)<1> %1(0,0)<1;1,0>\\n"
    "mov (M1, 16) %0(0,0)<1> T(0,0)<1;1,0>\\n"
    "}" : "=rw"(q) : "rw"(x));
"""
    found = eumu_check(tmp_path, body)
    assert {(d.span.line, d.code) for d in found if d.span} == {(5, "region-bounds")}
    notes = [note for d in found for note in d.notes]
    assert any("mov (M1, 16) T(0,0)<1>" in note for note in notes)


def eumu_check(folder: Path, body: str) -> list[eumu.Diagnostic]:
    file = folder / "k.cl"
    file.write_text(HEAD + body + END)
    return [d for d in eumu.check(file, "pvc") if d.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("instruction", "code"),
    [
        ("movv (M1, 16) %0(0,0)<1> 0x1:d", "opcode"),
        ("mov (M1, 16) nothing(0,0)<1> 0x1:d", "undeclared"),
        ("mov (M1, 16) %0(0,0)<1> 0x1", "parse"),
    ],
)
def test_what_the_compiler_refuses_stands_at_its_line(
    tmp_path: Path, instruction: str, code: str
) -> None:
    """The compiler names neither the file nor the line of it."""
    body = (
        '  __asm__ volatile("mov (M1, 16) %0(0,0)<1> 0x0:d" : "=rw"(q));\n'
        f'  __asm__ volatile("{instruction}" : "=rw"(q));\n'
    )
    assert places(tmp_path, body) == [(6, "error", code)]


def test_a_message_names_lines_of_the_source() -> None:
    (found,) = (
        d
        for d in eumu.check(KERNELS / "asm_simd16_in_simd32.cl")
        if d.severity is not Severity.NOTE
    )
    assert found.span is not None
    assert (found.code, found.span.line) == ("narrow-write", 6)
    assert "lsc_store in line 7 reads" in found.message


def test_a_builtin_that_the_compiler_does_not_know(tmp_path: Path) -> None:
    file = tmp_path / "k.cl"
    file.write_text(
        "int __builtin_IB_no_such_thing(int);\n"
        "kernel void k(global int *a) {\n"
        "  a[0] = __builtin_IB_no_such_thing(a[1]);\n"
        "}\n"
    )
    # The call is gone, what it was to give is never written.
    found = [d for d in eumu.check(file) if d.code == "undefined-read"]
    assert [(d.span.line, d.severity) for d in found if d.span] == [(3, Severity.WARNING)]


def test_errors_of_the_language_are_the_compilers(tmp_path: Path) -> None:
    file = tmp_path / "k.cl"
    file.write_text("kernel void k(global int *a) {\n  a[0] = b;\n}\n")
    with pytest.raises(BuildError) as caught:
        eumu.check(file)
    (found,) = caught.value.diagnostics
    assert found.span is not None and found.span.line == 2


def test_without_lines_the_place_is_in_the_vISA_text() -> None:
    file = KERNELS / "bin" / "pvc" / "asm_simd16_in_simd32.bin"
    (found,) = (d for d in eumu.check(file) if d.severity is not Severity.NOTE)
    assert found.span is not None
    assert found.span.source.name.endswith("half_done.visaasm")
    assert found.span.source.line(found.span.line).strip().startswith("mul (M1, 16)")
