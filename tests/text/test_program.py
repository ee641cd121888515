"""What a text means beyond its instructions: scopes, labels, kernels, comments, lines."""

from __future__ import annotations

import pytest

from eumu import text
from eumu.errors import BuildError, Span
from eumu.isa.kinds.variables import PREDEFINED, Variable
from eumu.program import Inst, Kernel, LabelMark, ScopeMark, SourceMark, difference
from text.corpus import CORPUS, Line, lines, program
from text.oracle import rejected

DIRECTIVES = lines(CORPUS / "directives")
MOV = "mov (M1, 8) D(0,0)<1> D2(0,0)<1;1,0>"


def kernel(*statements: str) -> Kernel:
    return text.parse(program(*statements)).kernels[0]


def only(*statements: str) -> str:
    """The instructions of a program, as printed."""
    found = kernel(*statements).instructions[:-1]
    return " | ".join(text.print_instruction(inst) for inst in found)


@pytest.mark.parametrize("line", DIRECTIVES, ids=str)
def test_directive_is_printed_as_stated(line: Line) -> None:
    module = text.parse(program(line.written))
    printed = text.print_module(module)
    assert line.printed in [found.strip() for found in printed.splitlines()]
    assert difference(module, text.parse(printed)) == ""


@pytest.mark.parametrize("line", DIRECTIVES, ids=str)
def test_intel_takes_the_directive(line: Line, genx_ir: str) -> None:
    assert not rejected(genx_ir, program(line.written), line.platform)
    assert not rejected(genx_ir, text.print_module(text.parse(program(line.written))), "SKL")


def test_order_of_statements_does_not_matter_to_what_is_declared() -> None:
    late = kernel(MOV, ".decl X v_type=G type=d num_elts=8", ".input X offset=64", MOV)
    assert late.declarations[-1].name == "X"
    assert [(i.variable.name, i.offset, i.size) for i in late.inputs] == [("X", 64, 32)]


def test_predefined_variables_answer_to_name_and_number() -> None:
    found = kernel("mov (M1, 1) D(0,0)<1> V7(0,0)<0;1,0>").instructions[0]
    assert found.operand("src0").variable is PREDEFINED["%r0"]


def test_size_of_a_register_is_what_the_caller_says() -> None:
    source = program(".decl X v_type=G type=ub num_elts=%sizeof(GRF)")
    for size in (32, 64):
        assert text.parse(source, grf_bytes=size).kernels[0].declarations[-1].count == size
    with pytest.raises(BuildError, match="depends on the device"):
        text.parse(source)


# ---- scopes


SHADOWED = (
    MOV,
    "{",
    ".decl D v_type=G type=uw num_elts=16",
    MOV,
    "{ .decl D2 v_type=G type=q num_elts=8 alias=<D, 0>",
    MOV + " }",
    MOV,
    "}",
    MOV,
)


def types_of(kernel: Kernel) -> list[str]:
    return [f"{i.operand('dst').type} {i.operand('src0').type}" for i in kernel.instructions[:-1]]


def test_inner_scopes_shadow_outer_ones() -> None:
    found = kernel(*SHADOWED)
    assert types_of(found) == ["d d", "uw d", "uw q", "uw d", "d d"]
    marks = [item.opens for item in found.body if isinstance(item, ScopeMark)]
    assert marks == [True, True, False, False]
    assert [d.name for d in found.declarations[-2:]] == ["D", "D2"]
    inner = found.declarations[-1]
    assert isinstance(inner, Variable)
    assert inner.alias is found.declarations[-2]


def test_shadowing_names_are_printed_under_new_ones(genx_ir: str) -> None:
    module = text.parse(program(*SHADOWED))
    printed = text.print_module(module)
    again = text.parse(printed)
    assert difference(module, again) == ""
    assert types_of(again.kernels[0]) == types_of(module.kernels[0])
    assert [d.name for d in again.kernels[0].declarations[-2:]] == ["D_1", "D2_1"]
    assert not rejected(genx_ir, printed, "SKL")


def test_a_name_is_gone_after_its_scope() -> None:
    with pytest.raises(BuildError, match="'X' is not declared"):
        kernel("{", ".decl X v_type=G type=d num_elts=8", "}", "mov (M1, 8) X(0,0)<1> 0x1:d")


# ---- labels


def test_function_directive_is_the_label_of_a_subroutine() -> None:
    found = kernel("call (M1, 1) sub", "ret (M1, 1)", '.function "sub"', "", "sub:", MOV)
    labels = [item for item in found.body if isinstance(item, LabelMark)]
    assert [(m.name, m.kind) for m in labels] == [
        ("main", "subroutine"),
        ("sub", "subroutine"),
        ("L1", "block"),
    ]


def test_label_and_function_of_one_name_are_two_definitions() -> None:
    with pytest.raises(BuildError, match="label 'sub' is defined twice"):
        kernel('.function "sub"', MOV, "sub:")
    with pytest.raises(BuildError, match="label 'sub' is defined twice"):
        kernel("sub:", '.function "sub"')


# ---- kernels


def test_kernels_and_functions_of_one_file_have_their_own_names() -> None:
    body = ".decl V v_type=G type={} num_elts=8\nL:\nmov (M1, 8) V(0,0)<1> 0x1:{}\nret (M1, 1)\n"
    source = '.version 3.6\n.kernel "a<b>"\n' + body.format("d", "d")
    source += ".kernel b\n.kernel_attr SimdSize=16\n" + body.format("f", "f")
    source += ".global_function f\n.kernel_attr ArgSize=1\n" + body.format("w", "w")
    module = text.parse(source, "three")
    assert (module.version, module.name) == ((3, 6), "three")
    assert [(k.name, k.is_function) for k in module.kernels] == [
        ("a<b>", False),
        ("b", False),
        ("f", True),
    ]
    assert [str(k.instructions[0].operand("dst").type) for k in module.kernels] == ["d", "f", "w"]
    assert [k.simd_width for k in module.kernels] == [8, 16, 8]
    assert difference(module, text.parse(text.print_module(module))) == ""


def test_source_positions_are_kept() -> None:
    found = kernel('FILE "a.cl"', "LOC 3", MOV, "LOC 4")
    marks = [item for item in found.body if isinstance(item, SourceMark)]
    assert marks == [SourceMark(file="a.cl"), SourceMark(line=3), SourceMark(line=4)]


# ---- comments and lines


@pytest.mark.parametrize(
    "statements",
    [
        (MOV + " /// $12",),
        (MOV + "// no blank before it",),
        (MOV + " /* one */ // two",),
        ("/* before */ " + MOV,),
        ("mov (M1, 8) /* in */ D(0,0)<1>/**/D2(0,0)<1;1,0>",),
        ("mov (M1, 8) D(0,0)<1> /* over", "lines */ D2(0,0)<1;1,0>"),
        ("/* over", " /* many // lines", "*/", MOV),
        ("mov (M1, 8) \\", "D(0,0)<1> \\", "  D2(0,0)<1;1,0>"),
        ("// a comment that ends in \\", MOV),
        ("\t" + MOV.replace(" ", "\t", 1) + "\t",),
        ("", "   ", "\t", MOV, ""),
        (MOV + "\r",),
    ],
)
def test_comments_and_blanks_mean_nothing(statements: tuple[str, ...]) -> None:
    assert only(*statements) == MOV


def test_strings_may_hold_what_looks_like_comments() -> None:
    assert only('faddr "http://x/*y*/" UQ(0,0)<1> // comment') == (
        'faddr "http://x/*y*/" UQ(0,0)<1>'
    )


def test_windows_line_ends_and_byte_order_mark_are_accepted() -> None:
    source = program(MOV)
    windows = text.parse("\ufeff" + source.replace("\n", "\r\n"))
    assert difference(windows, text.parse(source)) == ""


def test_spans_name_the_place_of_a_statement() -> None:
    source = program("  " + MOV + " // comment")
    inst = text.parse(source, "here").kernels[0].instructions[0]
    assert isinstance(inst, Inst)
    line = source[: source.index(MOV)].count("\n") + 1
    assert isinstance(inst.span, Span)
    assert str(inst.span) == f"here:{line}:3"
    assert inst.span.end_column == 3 + len(MOV)


# ---- what the comparison of programs sees


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (MOV, MOV.replace(" ", "  "), True),
        (MOV, MOV.replace("D2", "UD"), False),
        (MOV, MOV.replace("(0,0)<1;", "(0,1)<1;"), False),
        (MOV, MOV.replace("mov", "mov.sat"), False),
        (MOV, MOV.replace("M1", "M5"), False),
        (".decl X v_type=G type=d num_elts=8", ".decl Y v_type=G type=d num_elts=8", True),
        (".decl X v_type=G type=d num_elts=8", ".decl X v_type=G type=ud num_elts=8", False),
        (".decl X v_type=G type=d num_elts=8", ".decl X v_type=P num_elts=8", False),
        (".input D offset=32", ".input D2 offset=32", False),
        (".kernel_attr SLMSize=1", ".kernel_attr SLMSize=2", False),
        ("LOC 1", "LOC 2", False),
        ("L2:", "L3:", False),
    ],
)
def test_difference_sees_what_matters(one: str, other: str, same: bool) -> None:
    first, second = (text.parse(program(s)) for s in (one, other))
    assert (difference(first, second) == "") is same


@pytest.mark.parametrize(
    ("written", "meant", "printed"),
    [
        (r"\xc3\xa9 \316\261.cl", "é α.cl", "é α.cl"),  # bytes of UTF-8, as the compiler has it
        (r"é\xff.cl", "Ã©ÿ.cl", "Ã©ÿ.cl"),  # they are none
        (r"a\\b\"\t\x7f\302\205", 'a\\b"\t\x7f\x85', r"a\\b\"\t\x7f\xc2\x85"),
    ],
)
def test_names_are_text(written: str, meant: str, printed: str) -> None:
    module = text.parse(program(f'FILE "{written}"', MOV))
    assert SourceMark(file=meant) in module.kernels[0].body
    assert f'FILE "{printed}"' in text.print_module(module)
    assert difference(module, text.parse(text.print_module(module))) == ""


def test_numbers_in_strings_are_bytes() -> None:
    with pytest.raises(BuildError, match=r"unknown escape '\\777' in a string"):
        kernel(r'FILE "\777"', MOV)
