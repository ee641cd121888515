"""The compiler's log becomes diagnostics: places, carets, notes."""

from __future__ import annotations

from pathlib import Path

from eumu.errors import Severity, Source
from eumu.zebin.log import diagnostics

TEXT = """#define M(x) ((x)+missing)
kernel void k(global int *a) {
\ta[0] = M(3) + fo;
  /* é */ b = 1;
}
"""
SOURCE = Source("k.cl", TEXT)


def test_places_notes_and_order() -> None:
    log = """1:3:9: error: use of undeclared identifier 'missing'
        a[0] = M(3) + fo;
               ^
1:1:19: note: expanded from macro 'M'
#define M(x) ((x)+missing)
                  ^
1:3:16: warning: 'fo' is odd; did you mean 'for'?
        a[0] = M(3) + fo;
                      ^~
                      for

Build failed with error code: -11
Command was: ocloc compile -file source.cl
"""
    first, second = diagnostics(log, SOURCE)
    assert str(first) == (
        "k.cl:3:9: error: use of undeclared identifier 'missing'\n"
        "  \ta[0] = M(3) + fo;\n"
        "  \t       ^\n"
        "  note: k.cl:1:19: expanded from macro 'M'"
    )
    assert second.severity is Severity.WARNING
    assert str(second).splitlines()[1:] == ["  \ta[0] = M(3) + fo;", "  \t              ^^"]


def test_columns_are_counted_in_bytes_by_clang_and_in_characters_here() -> None:
    (found,) = diagnostics("1:4:12: error: use of undeclared identifier 'b'\n", SOURCE)
    assert found.span is not None
    assert (found.span.line, found.span.column) == (4, 11)


def test_headers_are_shown_from_their_file(tmp_path: Path) -> None:
    header = tmp_path / "h.h"
    header.write_text("int f(int a) { return no; }\n")
    log = f"In file included from 1:1:\n{header}:1:23: fatal error: no such thing\n"
    (found,) = diagnostics(log, SOURCE)
    assert str(found).splitlines()[:2] == [
        f"{header}:1:23: error: no such thing",
        "  int f(int a) { return no; }",
    ]
    (found,) = diagnostics("./opencl-c.h:9:1: error: in the compiler's own\n", SOURCE)
    assert str(found) == "./opencl-c.h:9:1: error: in the compiler's own"


def test_findings_of_the_back_end_have_no_place() -> None:
    log = """
error: Unsupported call to llvm.genx.GenISA.dp4a.ss
in kernel: 'dp4'
error: backend compiler failed build.

warning: large spill in kernel: k
Error: Cannot get HW Info for device nope.
Unrecognized build options: -O0
"""
    found = diagnostics(log, SOURCE)
    assert [(d.severity.value, d.message, d.notes) for d in found] == [
        ("error", "Unsupported call to llvm.genx.GenISA.dp4a.ss", ("in kernel 'dp4'",)),
        ("warning", "large spill in kernel: k", ()),
        ("error", "Cannot get HW Info for device nope.", ()),
        ("error", "Unrecognized build options: -O0", ()),
    ]
    assert {d.span for d in found} == {None}


def test_inline_assembly_is_explained_by_its_own_file() -> None:
    errors = """Instruction / Operand / Region Errors:
/-----!!!INSTRUCTION ERROR FOUND!!!-----\\
Error in CISA routine with name: kernel
                  Error Message: vISA instruction not supported on this platform
                    Diagnostics:
          Violating Instruction:     rol (M1, 16) V0055(0,0)<1> V0048(0,0)<1;1,0>     /// $18
\\-----/
"""
    (found,) = diagnostics("error: parsing vISA inline assembly failed:\n", SOURCE, errors)
    assert found.notes == (
        "vISA instruction not supported on this platform: "
        "rol (M1, 16) V0055(0,0)<1> V0048(0,0)<1;1,0>",
    )


def test_a_log_without_findings() -> None:
    assert diagnostics("", SOURCE) == ()
    assert diagnostics("Build succeeded.\n^\n1:1: hello\n", SOURCE) == ()


def test_places_that_are_not_in_the_source() -> None:
    (found,) = diagnostics("1:999:12345: error: far away\n1:1:1: note: n\n", SOURCE)
    assert str(found) == "k.cl:999:12345: error: far away\n  note: k.cl:1:1: n"
