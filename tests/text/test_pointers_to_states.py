"""Surfaces and samplers of sampler messages by pointers, as the compiler for Xe3p writes them."""

from __future__ import annotations

import pytest

import eumu
from eumu import binary
from eumu.text import parse, print_module

TEXT = """.version 4.2
.kernel "k"
.decl W1 v_type=G type=uq num_elts=2 align=qword
.decl W2 v_type=G type=ud num_elts=2
.decl W3 v_type=G type=f num_elts=128 align=GRF
.decl W4 v_type=G type=f num_elts=64 align=GRF
{line}
ret (M1, 1)
"""
LOAD = "load_lz.RGBA (M1, 32)  0x0:uw {surface}  W3.0 %null.0 W4.0 W4.0"
SAMPLE = "sample_lz.RGBA (M1, 32)  0x0:uw {sampler} {surface} W3.0 %null.0 W4.0 W4.0"


def module(line: str, version: str = "4.2") -> str:
    return TEXT.format(line=line).replace("4.2", version, 1)


@pytest.mark.parametrize(
    "line",
    [
        LOAD.format(surface="W1(0,1)<0;1,0>[0]"),
        SAMPLE.format(sampler="W1(0,1)", surface="W1"),
        "resinfo.RG (M1_NM, 16)  W1 W4.0 W3.0",
    ],
)
def test_they_print_as_they_are_read(line: str) -> None:
    printed = print_module(parse(module(line)))
    assert line.split("uw ")[-1].split(" W3")[0] in printed
    assert print_module(parse(printed)) == printed
    assert not [d for d in eumu.check(parse(module(line)), "nvlp") if d.code == "surface-slm"]
    with pytest.raises(eumu.BuildError, match="by its pointer has no form in documents"):
        binary.write(parse(module(line)))


@pytest.mark.parametrize(
    ("line", "version", "says"),
    [
        (LOAD.format(surface="W2"), "4.2", "'W2' is :ud; a pointer has 64 bits"),
        (LOAD.format(surface="W1"), "4.1", "expected a surface variable, but 'W1'"),
        (LOAD.format(surface="W1(0,0)<0;1,0>"), "4.2", r"expected '\['"),
        ("gather.1 (M1, 16) W1 0x0:ud W2.0 W4.0", "4.2", "in other messages .* are not modelled"),
    ],
)
def test_what_is_none_is_refused(line: str, version: str, says: str) -> None:
    with pytest.raises(eumu.BuildError, match=says):
        parse(module(line, version))


def test_an_index_behind_a_pointer_is_refused_by_name() -> None:
    program = eumu.load(module(LOAD.format(surface="W1(0,0)<0;1,0>[1]")).encode(), device="nvlp")
    dev = eumu.Device("nvlp")
    with pytest.raises(eumu.Unsupported, match="an index behind a pointer"):
        program["k"].launch(dev, 32, 32, [])
