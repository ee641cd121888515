"""The documents' own spellings mean what Intel's front end spells otherwise, and print so."""

from __future__ import annotations

import pytest

from eumu import text
from eumu.errors import BuildError, Severity
from eumu.platforms import platform
from eumu.verify import check_text
from text.corpus import program

# What the documents write, what it is, and a device that has it.
SPELLINGS = [
    ("ADD (M1, 8) D.0 D.0 0x1:d", "", ""),  # not even in capitals are raw operands taken
    ("ADD (M1, 8) D(0,0)<1> D(0,0)<1;1,0> 0x1:d", "add", "skl"),
    ("(P1) Mov (M1, 8) D(0,0)<1> D(0,0)<1;1,0>", "mov", "skl"),
    ("(P1) ADD3O (M1_NM, 16) D(0,0)<1> D(2,0)<1;1,0> 0x1:w 0x2:w", "add3.o", "dg2"),
    ("PLN (M1, 8) F(0,0)<1> F(2,0)<0;4,1> F(0,0)<1;1,0>", "plane", "skl"),
    ("CACHE_FLUSH", "sampler_cache_flush", "skl"),
    ("svm_scatter4_scaled.RGBA (M1, 8) 0x0:ud UQ.0 BIG.0", "svm_scatter4scaled", "skl"),
    ("SVM_GATHER4_SCALED.R (M1, 8) 0x0:ud UQ.0 BIG.0", "svm_gather4scaled", "skl"),
    ("lsc_read_surface_info.tgm D bti(0x4)", "lsc_read_state_info", "dg2"),
    ("lsc_atomic_inc.tgm (M1, 8) D:d32 bti(0x0)[UD, UD]:a32 V0 V0", "lsc_atomic_iinc", "dg2"),
    ("lsc_load_quad.tgm.uc.ca (M1, 8) BIG:d32.xy bti(0x4)[UD, UD]:a32", "lsc_load_quad", "dg2"),
    ("lsc_load_quad.tgm (M1, 8) BIG:d32.xy bti(0x4)[UQ, UQ]:a64", "lsc_load_quad", "dg2"),
    ("lsc_store_quad.tgm (M1, 8) bti(0x4)[UD, UD]:a32 BIG:d32.xz", "lsc_store_quad", "dg2"),
    ("mov (M1, 8) D(0,0)<1> r[A0(0),0]<;1,0>:d", "mov", "skl"),
    ("mov (M1, 8) D(0,0)<1> (-)r[A0(0),0]<;4,1>:d", "mov", "skl"),
]
LEGAL = pytest.mark.parametrize(("line", "word", "device"), SPELLINGS[1:])


def errors(line: str, device: str, *, parity: bool) -> list[str]:
    found = check_text(program(line), "k.visaasm", platform(device), parity=parity)
    return [str(d) for d in found if d.severity is Severity.ERROR]


@LEGAL
def test_it_is_read_and_printed_as_usual(line: str, word: str, device: str) -> None:
    assert not errors(line, device, parity=False)
    printed = text.print_module(text.parse(program(line), "k.visaasm"))
    (again,) = [
        found
        for found in printed.splitlines()
        if found.strip().removeprefix("(P1) ").startswith(word)
    ]
    assert ";1,0>:d" not in again or "<;" not in again
    usual = text.print_module(text.parse(printed, "k.visaasm"))
    assert usual == printed


@LEGAL
def test_the_front_end_does_not_read_it(line: str, word: str, device: str) -> None:
    assert errors(line, device, parity=True)


def test_capitals_do_not_hide_mistakes() -> None:
    line, _, _ = SPELLINGS[0]
    with pytest.raises(BuildError, match=r"general variable|region|expected"):
        text.parse(program(line), "k.visaasm")


@pytest.mark.parametrize("word", ["FENCE", "MIN_MAX", "LSC_UNTYPED", "3D_SAMPLE", "ADDD"])
def test_a_page_of_several_instructions_is_no_word(word: str) -> None:
    with pytest.raises(BuildError, match=r"unknown instruction|expected"):
        text.parse(program(f"{word} (M1, 8) D(0,0)<1> D(0,0)<1;1,0>"), "k.visaasm")
