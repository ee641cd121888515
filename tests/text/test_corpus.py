"""Golden lines: what is printed for what is written, and that Intel's front end takes both."""

from __future__ import annotations

import itertools

import pytest

from eumu import text
from eumu.program import Inst
from text.corpus import Line, lines, program
from text.oracle import rejected


@pytest.mark.parametrize("line", lines(), ids=str)
def test_line_is_printed_as_stated(line: Line) -> None:
    module = text.parse(program(line.written, labels=line.labels))
    inst = next(i for i in module.kernels[0].body if isinstance(i, Inst))
    assert text.print_instruction(inst) == line.printed
    again = text.parse(program(line.printed, labels=line.labels)).kernels[0].instructions[0]
    assert text.print_instruction(again) == line.printed


def test_lines_are_read_the_same_after_one_another() -> None:
    """Operands that were read before are not read again; that must not change them."""
    for _, group in itertools.groupby(lines(), key=lambda line: line.labels):
        wanted = list(group)
        source = program(*(line.written for line in wanted), labels=wanted[0].labels)
        module = text.parse(source)
        got = [text.print_instruction(inst) for inst in module.kernels[0].instructions]
        assert got[:-1] == [line.printed for line in wanted]


def test_a_known_operand_is_not_taken_for_the_beginning_of_a_longer_one() -> None:
    short, long = (f"addr_add (M1, 1) A0(0)<1> &BIG{s} 0x40:uw" for s in ("", "[32]"))
    module = text.parse(program(short, long.replace("[", " ["), short))
    got = [text.print_instruction(inst) for inst in module.kernels[0].instructions]
    assert got[:-1] == [short, long, short]


@pytest.mark.parametrize("file", sorted({line.file for line in lines()}))
def test_intel_takes_the_lines(file: str, genx_ir: str) -> None:
    bad = []
    for line in (line for line in lines() if line.file == file):
        for form in {line.written, line.printed}:
            source = program(form, labels=line.labels)
            message = rejected(genx_ir, source, line.platform)
            if bool(message) != line.rejected:
                bad.append(f"{line}: {form}: {message or 'Intel takes it'}")
    assert not bad, "\n".join(bad)
