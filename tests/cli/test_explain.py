"""The manual pages: every instruction has an example that the parser reads."""

from __future__ import annotations

import pytest

from eumu import text
from eumu.cli import main
from eumu.isa.kinds.raw import SurfaceKind
from eumu.isa.spec import Opcode
from eumu.isa.visa import VISA
from eumu.manual import example, forms

ALL = pytest.mark.parametrize("opcode", list(VISA), ids=lambda o: f"{o.number:#04x}-{o.sub}-{o}")
# What examples name besides the operands themselves.
GENERAL = {"base", "x", "y", "u", "v", "barrier0", "lod0"}
RESERVED = {"barrier", "lod", "plane"}  # operands that are called like instructions
OTHERS = [
    ".decl P1 v_type=P num_elts=32",
    ".decl A0 v_type=A num_elts=16",
    ".decl T6 v_type=T num_elts=1",
    ".decl S0 v_type=S num_elts=1",
]


def kernel(opcode: Opcode, line: str) -> str:
    """A kernel with one instruction and the declarations that it needs."""
    surfaces = {f.name for f in opcode.fields if isinstance(f.kind, SurfaceKind)}
    general = (GENERAL | {f.name for f in opcode.fields}) - surfaces - RESERVED
    return "\n".join(
        [
            ".version 4.1",
            '.kernel "k"',
            *(f".decl {name} v_type=T num_elts=1" for name in sorted(surfaces)),
            *(f".decl {name} v_type=G type=ud num_elts=512" for name in sorted(general)),
            *OTHERS,
            line,
            *(f"{name}:" for name in ("L0", "L1", "target")),
            "ret (M1, 1)",
            "",
        ]
    )


@ALL
def test_the_example_is_read(opcode: Opcode) -> None:
    module = text.parse(kernel(opcode, example(opcode)), "example")
    (found, *_) = module.kernels[0].instructions
    assert found.opcode is opcode


@ALL
def test_every_form_of_an_operand_is_read(opcode: Opcode) -> None:
    line = example(opcode)
    for field in opcode.fields:
        usual, *others = (sample for _, sample in forms(opcode, field))
        for form in others:
            before, place, after = line.rpartition(f" {usual}")
            assert place
            text.parse(kernel(opcode, f"{before} {form}{after}"), "example")


def test_every_kind_says_what_may_be_written() -> None:
    for opcode in VISA:
        for field in opcode.fields:
            for words, _ in forms(opcode, field):
                assert words, f"{type(field.kind).__name__} of {opcode}.{field.name} has no manual"
                assert ":class:" not in words


def page(capsys: pytest.CaptureFixture[str], name: str) -> list[str]:
    assert main(["explain", name]) == 0
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def test_a_page_of_arithmetic(capsys: pytest.CaptureFixture[str]) -> None:
    lines = page(capsys, "add")
    assert "example      add (M1, 16) dst(0,0)<1> src0(0,0)<1;1,0> src1(0,0)<1;1,0>" in lines
    assert (
        "src0         elements of a variable src0(0,0)<1;1,0>, those at an address"
        " r[A0(0),0]<1;1,0>:d or a constant 2:d"
    ) in lines
    assert "types        ub b uw w ud d ← ub b uw w ud d v uv" in lines
    assert "platforms    all" in lines


def test_platforms_are_a_stretch_of_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert "platforms    dg2 and later (dg2, mtl, pvc)" in page(capsys, "lsc_load")
    assert "platforms    up to bxt (bdw, skl, bxt)" in page(capsys, "lrp")
    assert "platforms    xehp, dg2, pvc" in page(capsys, "qw_gather")


def test_operands_have_the_classes_of_the_instruction(capsys: pytest.CaptureFixture[str]) -> None:
    lines = page(capsys, "setp")
    assert "dst          a predicate variable" in lines
    assert "example      setp (M1, 16) P1 src0(0,0)<1;1,0>" in lines
    assert "rel          one of eq, ne, gt, ge, lt, le" in page(capsys, "cmp")
