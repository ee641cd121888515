"""The lists of the newest documents beside the instructions: types, variables, operands.

Pages 2, 4 and 5 of the vISA documents at v2.40.13.  Each word of a list stands in a kernel that is
read, printed the same, written as an object file and read from it, and translated for a device.
"""

from __future__ import annotations

import pytest

from eumu import binary
from eumu.isa.kinds.variables import PREDEFINED, Variable
from eumu.lower import lower
from eumu.platforms import platform
from eumu.text import parse, print_module
from eumu.types import TYPES

DEVICE = "bmg"
HEAD = """.version 4.2
.kernel "k"
"""
DECLARED = """.decl A0 v_type=A num_elts=4
.decl P1 v_type=P num_elts=16
.decl S0 v_type=S num_elts=1
.decl T6 v_type=T num_elts=1
.decl D v_type=G type=d num_elts=16 align=GRF
.decl E v_type=G type=d num_elts=32 align=GRF
.decl UQ v_type=G type=uq num_elts=16 align=GRF
"""
BODY = """.kernel_attr SimdSize=16
{line}
    ret (M1, 1)
"""

# Page 2: the types, and an immediate of those that only immediates have.
STORED = ("ud", "d", "uw", "w", "ub", "b", "df", "f", "uq", "q", "hf", "bf")
IMMEDIATE = {"v": "0x76543210", "vf": "0x30302020", "uv": "0x76543210"}
# Page 4: what a declaration may be aligned to, and the variables that are there without one.
ALIGNMENTS = ("word", "dword", "qword", "oword", "GRF", "GRFx2", "hword", "wordx32", "wordx64")
READ = (
    *("%thread_x", "%thread_y", "%group_id_x", "%group_id_y", "%group_id_z", "%tm", "%r0", "%arg"),
    *("%retval", "%sp", "%fp", "%hw_id", "%sr0", "%cr0", "%ce0", "%dbg0", "%color"),
)
POINTERS = ("%implicit_arg_ptr", "%implicit_local_id_buf_ptr")
# What Intel's front end calls some of them; and what is on no page: messages of the gateway, and
# the pointer of Xe3p's scratch space.
CALLED = {
    "%tm": "%tsc",
    "%implicit_arg_ptr": "%impl_arg_buf_ptr",
    "%implicit_local_id_buf_ptr": "%local_id_buf_ptr",
}
UNLISTED = ("%null", "%msg0", "%scratchloc")
# Page 5: classes of operands, modifiers, regions, predicates; one line each.
OPERANDS = {
    "general": "mov (M1, 16) D(0,0)<1> E(0,8)<8;8,1>",
    "general, strides": "mov (M1, 8) D(0,0)<2> E(0,0)<4;2,1>",
    "general, scalar": "mov (M1, 16) D(0,0)<1> E(0,3)<0;1,0>",
    "address": "addr_add (M1, 4) A0(0)<4> &E 0x4:uw",
    "predicate": "setp (M1, 16) P1 0xff:uw",
    "indirect": "mov (M1, 8) D(0,0)<1> r[A0(0),4]<8;8,1>:d",
    "indirect, several addresses": "mov (M1, 8) D(0,0)<1> r[A0(0),4]<2,1>:d",
    "immediate": "mov (M1, 16) D(0,0)<1> 0x5:d",
    "state": "movs (M1_NM, 1) D(0,0)<1> T6(0)",
    "state, sampler": "movs (M1_NM, 1) D(0,0)<1> S0(0)",
    "raw": "svm_gather.4.1 (M1, 16) UQ.0 D.0",
    "minus": "add (M1, 16) D(0,0)<1> (-)E(0,0)<16;16,1> E(0,0)<16;16,1>",
    "abs": "mov (M1, 16) D(0,0)<1> (abs)E(0,0)<16;16,1>",
    "minus abs": "mov (M1, 16) D(0,0)<1> (-abs)E(0,0)<16;16,1>",
    "not": "and (M1, 16) D(0,0)<1> (~)E(0,0)<16;16,1> E(0,0)<16;16,1>",
    "saturation": "add.sat (M1, 16) D(0,0)<1> E(0,0)<16;16,1> 0x1:d",
    "sequential predicate": "(P1) mov (M1, 16) D(0,0)<1> 0x5:d",
    "inverse": "(!P1) mov (M1, 16) D(0,0)<1> 0x5:d",
    "any": "(P1.any) mov (M1, 16) D(0,0)<1> 0x5:d",
    "all": "(P1.all) mov (M1, 16) D(0,0)<1> 0x5:d",
    "no mask": "mov (M1_NM, 16) D(0,0)<1> 0x5:d",
    "a part of the mask": "mov (M5, 8) D(0,8)<1> 0x5:d",
}
# Page 4: attributes with a number, with a word, without a value.
ATTRIBUTES = ("Scope=1", "Output", 'Name="x"')


def _comes_back(source: str) -> None:
    """What a text is as text, as an object file, and as code for a device."""
    grf = platform(DEVICE).grf_bytes
    module = parse(source, "k", grf)
    printed = print_module(module)
    assert print_module(parse(printed, "k", grf)) == printed
    data = binary.write(module, grf)
    assert binary.write(binary.read(data, "k", grf), grf) == data
    for kernel in module.kernels:
        lower(kernel, platform(DEVICE))


def _run(line: str, more: str = "") -> None:
    _comes_back(HEAD + DECLARED + more + BODY.format(line=f"    {line}"))


@pytest.mark.parametrize("name", STORED)
def test_types(name: str) -> None:
    kind = f".decl X v_type=G type={name} num_elts=16 align=GRF\n"
    _run("mov (M1, 16) X(0,0)<1> X(0,0)<16;16,1>", kind)


@pytest.mark.parametrize("name", IMMEDIATE)
def test_types_of_immediates(name: str) -> None:
    to = ".decl X v_type=G type=f num_elts=8 align=GRF\n"
    _run(f"mov (M1, 8) {'X' if name == 'vf' else 'D'}(0,0)<1> {IMMEDIATE[name]}:{name}", to)


def test_all_types_are_listed() -> None:
    """And the one that predicates have."""
    assert {*STORED, *IMMEDIATE, "bool"} == set(TYPES)


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_alignments(name: str) -> None:
    _run("mov (M1, 1) X(0,0)<1> 0x1:d", f".decl X v_type=G type=d num_elts=1 align={name}\n")


@pytest.mark.parametrize("name", READ)
def test_predefined_variables(name: str) -> None:
    _run(f"mov (M1_NM, 1) D(0,0)<1> {name}(0,0)<0;1,0>")


@pytest.mark.parametrize("name", POINTERS)
def test_pointers(name: str) -> None:
    _run(f"mov (M1_NM, 1) UQ(0,0)<1> {name}(0,0)<0;1,0>")


def test_all_predefined_variables_are_listed() -> None:
    known = {name for name, v in PREDEFINED.items() if isinstance(v, Variable)}
    assert known == {CALLED.get(name, name) for name in (*READ, *POINTERS, *UNLISTED)}


@pytest.mark.parametrize("what", OPERANDS)
def test_operands(what: str) -> None:
    _run(OPERANDS[what])


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_attributes(attribute: str) -> None:
    source = HEAD + DECLARED + f".kernel_attr {attribute}\n"
    _comes_back(source + BODY.format(line=""))


@pytest.mark.parametrize("attribute", ["Scope=1", "Output"])
def test_attributes_of_variables(attribute: str) -> None:
    declared = f".decl X v_type=G type=d num_elts=1 attrs={{{attribute}}}\n"
    _run("mov (M1, 1) X(0,0)<1> 0x1:d", declared)
