"""Stack calls between the kernels and functions of one vISA text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import eumu
from eumu.errors import BuildError, Fault, Unsupported
from eumu.text import parse, print_module
from text.oracle import reading, rejected

HEAD = """\
.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=GRF
.decl N v_type=G type=d num_elts=1 align=GRF
.decl ADDR v_type=G type=uq num_elts=8 align=GRF
.decl LANE v_type=G type=q num_elts=8 align=GRF
.decl F v_type=G type=uq num_elts=1 align=GRF
.decl F32 v_type=G type=ud num_elts=1 align=GRF
.decl R v_type=G type=d num_elts=8 align=GRF
.decl X v_type=G type=d num_elts=8 align=GRF
.decl P1 v_type=P num_elts=8
.input OUT offset=64 size=8
.input N offset=72 size=4
.kernel_attr SimdSize=8
.kernel_attr Target="3d"
"""

# Lane k of LANE is k; ADDR is where its result goes.
BEGIN = """\
    mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
    shl (M1, 8) ADDR(0,0)<1> LANE(0,0)<1;1,0> 0x2:q
    add (M1, 8) ADDR(0,0)<1> ADDR(0,0)<1;1,0> OUT(0,0)<0;1,0>
"""
END = """\
    svm_scatter.4.1 (M1, 8) ADDR.0 R.0
    ret (M1, 1)
"""


def function(name: str, *body: str, declarations: str = "") -> str:
    lines = "\n".join(line if line.endswith(":") else f"    {line}" for line in body)
    return (
        f'.global_function "{name}"\n'
        ".decl A v_type=G type=d num_elts=192 align=GRF alias=<%arg, 0>\n"
        ".decl V v_type=G type=d num_elts=96 align=GRF alias=<%retval, 0>\n"
        ".decl N v_type=G type=d num_elts=8 align=GRF\n"
        ".decl M v_type=G type=d num_elts=8 align=GRF\n"
        ".decl P1 v_type=P num_elts=8\n"
        f"{declarations}"
        ".kernel_attr SimdSize=8\n.kernel_attr ArgSize=1\n.kernel_attr RetValSize=1\n"
        f"{lines}\n"
    )


FACT = function(
    "fact",
    "mov (M1, 8) N(0,0)<1> A(0,0)<1;1,0>",
    "mov (M1, 8) V(0,0)<1> 0x1:d",
    "cmp.gt (M1, 8) P1 N(0,0)<1;1,0> 0x1:d",
    "(!P1) goto (M1, 8) DONE",
    "add (M1, 8) A(0,0)<1> N(0,0)<1;1,0> -1:d",
    "fcall (M1, 8) fact 1 1",
    "mul (M1, 8) V(0,0)<1> V(0,0)<1;1,0> N(0,0)<1;1,0>",
    "DONE:",
    "fret (M1, 8)",
)
TWICE = function("twice", "add (M1, 8) V(0,0)<1> A(0,0)<1;1,0> A(0,0)<1;1,0>", "fret (M1, 8)")


def run(kernel: Sequence[str], *functions: str, n: int = 0, device: str = "skl") -> list[int]:
    """What the kernel leaves in R on both engines, lane by lane; lanes without a result stay -1."""
    body = "".join(line if line.endswith(":\n") else f"    {line}" for line in
                   (f"{line}\n" for line in kernel))  # fmt: skip
    source = HEAD + BEGIN + body + END + "".join(functions)
    found: list[tuple[object, list[int]]] = []
    for engine in ("interp", "jit"):
        dev = eumu.Device(device, engine=engine)
        out = dev.array(np.full(8, -1, np.int32))
        outcome: object = None
        try:
            report = eumu.load(source.encode(), device=device)["k"].launch(
                dev, 8, 8, [out.address, n]
            )
            assert report.engine == engine
            outcome = report.instructions
        except Fault as fault:
            outcome = fault
        found.append((outcome, [int(x) for x in out.numpy()]))
    (expected, want), (outcome, got) = found
    assert str(outcome) == str(expected) and got == want
    if isinstance(outcome, Fault):
        raise outcome
    return got


def test_every_activation_has_its_own_variables() -> None:
    calls = [
        "mov (M1, 8) X(0,0)<1> LANE(0,0)<1;1,0>",
        "mov (M1, 8) %arg(0,0)<1> X(0,0)<1;1,0>",
        "fcall (M1, 8) fact 1 1",
        "mov (M1, 8) R(0,0)<1> %retval(0,0)<1;1,0>",
    ]
    assert run(calls, FACT) == [1, 1, 2, 6, 24, 120, 720, 5040]


def test_lanes_that_do_not_call_keep_everything() -> None:
    calls = [
        "mov (M1, 8) R(0,0)<1> LANE(0,0)<1;1,0>",
        "cmp.gt (M1, 8) P1 R(0,0)<1;1,0> 0x4:d",
        "mov (M1, 8) %arg(0,0)<1> R(0,0)<1;1,0>",
        "mov (M1, 8) %retval(0,0)<1> 0x63:d",
        "(P1) fcall (M1, 8) twice 1 1",
        "mov (M1, 8) R(0,0)<1> %retval(0,0)<1;1,0>",
    ]
    assert run(calls, TWICE) == [99] * 5 + [10, 12, 14]


def test_calls_in_both_branches_of_divergent_code() -> None:
    calls = [
        "mov (M1, 8) X(0,0)<1> LANE(0,0)<1;1,0>",
        "and (M1, 8) R(0,0)<1> X(0,0)<1;1,0> 0x1:d",
        "cmp.eq (M1, 8) P1 R(0,0)<1;1,0> 0x0:d",
        "mov (M1, 8) %arg(0,0)<1> X(0,0)<1;1,0>",
        "(P1) goto (M1, 8) EVEN",
        "fcall (M1, 8) fact 1 1",
        "mov (M1, 8) R(0,0)<1> %retval(0,0)<1;1,0>",
        "goto (M1, 8) JOIN",
        "EVEN:",
        "fcall (M1, 8) twice 1 1",
        "mov (M1, 8) R(0,0)<1> %retval(0,0)<1;1,0>",
        "JOIN:",
    ]
    assert run(calls, FACT, TWICE) == [0, 1, 4, 6, 8, 120, 12, 5040]


def test_two_functions_call_each_other() -> None:
    def parity(name: str, other: str, base: int) -> str:
        return function(
            name,
            "mov (M1, 8) N(0,0)<1> A(0,0)<1;1,0>",
            f"mov (M1, 8) V(0,0)<1> {base:#x}:d",
            "cmp.eq (M1, 8) P1 N(0,0)<1;1,0> 0x0:d",
            "(P1) goto (M1, 8) DONE",
            "add (M1, 8) A(0,0)<1> N(0,0)<1;1,0> -1:d",
            f"fcall (M1, 8) {other} 1 1",
            # N must have survived the calls below.
            "mul (M1, 8) M(0,0)<1> N(0,0)<1;1,0> 0x2:d",
            "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> M(0,0)<1;1,0>",
            "DONE:",
            "fret (M1, 8)",
        )

    calls = [
        "mov (M1, 8) %arg(0,0)<1> LANE(0,0)<1;1,0>",
        "fcall (M1, 8) even 1 1",
        "mov (M1, 8) R(0,0)<1> %retval(0,0)<1;1,0>",
    ]
    want = [(0 if k % 2 == 0 else 1000) + k * (k + 1) for k in range(8)]
    assert run(calls, parity("even", "odd", 0), parity("odd", "even", 1000)) == want


def test_a_constant_of_the_callee_is_not_one_of_the_caller() -> None:
    again = function(
        "again",
        "mov (M1, 8) N(0,0)<1> A(0,0)<1;1,0>",
        "mov (M1, 8) V(0,0)<1> 0x0:d",
        "mov (M1_NM, 1) S(0,0)<1> 0x3:d",
        "mov (M1_NM, 8) T(0,0)<1> 0x76543210:uv",
        "cmp.gt (M1, 8) P1 N(0,0)<1;1,0> 0x0:d",
        "(!P1) goto (M1, 8) DONE",
        "mov (M1_NM, 1) S(0,0)<1> 0x5:d",
        "add (M1_NM, 8) T(0,0)<1> T(0,0)<1;1,0> 0x64:d",
        "add (M1, 8) A(0,0)<1> N(0,0)<1;1,0> -1:d",
        "fcall (M1, 8) again 1 1",
        "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> S(0,0)<0;1,0>",
        "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> T(0,0)<1;1,0>",
        "DONE:",
        "fret (M1, 8)",
        declarations=".decl S v_type=G type=d num_elts=1 align=GRF\n"
        ".decl T v_type=G type=d num_elts=8 align=GRF\n",
    )
    calls = [
        "mov (M1, 8) %arg(0,0)<1> LANE(0,0)<1;1,0>",
        "fcall (M1, 8) again 1 1",
        "mov (M1, 8) R(0,0)<1> %retval(0,0)<1;1,0>",
    ]
    assert run(calls, again) == [k * (5 + k + 100) for k in range(8)]


@pytest.mark.parametrize("pointer", ["F", "F32"])
def test_a_function_is_called_through_32_or_64_bits_of_its_address(pointer: str) -> None:
    calls = [
        "faddr twice F(0,0)<1>",
        "cmp.gt (M1, 8) P1 N(0,0)<0;1,0> 0x0:d",
        "(!P1) goto (M1, 1) CALL",
        "faddr fact F(0,0)<1>",
        "CALL:",
        "mov (M1_NM, 1) F32(0,0)<1> F(0,0)<0;1,0>",
        "mov (M1, 8) %arg(0,0)<1> LANE(0,0)<1;1,0>",
        f"ifcall (M1, 8) {pointer}(0,0)<0;1,0> 1 1",
        "mov (M1, 8) R(0,0)<1> %retval(0,0)<1;1,0>",
    ]
    assert run(calls, FACT, TWICE) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert run(calls, FACT, TWICE, n=1) == [1, 1, 2, 6, 24, 120, 720, 5040]


def test_recursion_through_an_address() -> None:
    again = function(
        "again",
        "mov (M1, 8) N(0,0)<1> A(0,0)<1;1,0>",
        "mov (M1, 8) V(0,0)<1> 0x0:d",
        "cmp.gt (M1, 8) P1 N(0,0)<1;1,0> 0x0:d",
        "(!P1) goto (M1, 8) DONE",
        "add (M1, 8) A(0,0)<1> N(0,0)<1;1,0> -1:d",
        "faddr again F(0,0)<1>",
        "ifcall (M1, 8) F(0,0)<0;1,0> 1 1",
        "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> N(0,0)<1;1,0>",
        "DONE:",
        "fret (M1, 8)",
        declarations=".decl F v_type=G type=uq num_elts=1 align=GRF\n",
    )
    calls = [
        "mov (M1, 8) %arg(0,0)<1> LANE(0,0)<1;1,0>",
        "fcall (M1, 8) again 1 1",
        "mov (M1, 8) R(0,0)<1> %retval(0,0)<1;1,0>",
    ]
    assert run(calls, again) == [k * (k + 1) // 2 for k in range(8)]


def test_a_null_function_pointer_is_a_fault_only_for_lanes_that_call() -> None:
    calls = [
        "mov (M1_NM, 1) F(0,0)<1> 0x0:uq",
        "mov (M1, 8) R(0,0)<1> LANE(0,0)<1;1,0>",
        "cmp.gt (M1, 8) P1 R(0,0)<1;1,0> {limit}:d",
        "(P1) ifcall (M1, 8) F(0,0)<0;1,0> 1 1",
    ]
    assert run([line.format(limit="0x9") for line in calls], TWICE) == list(range(8))
    with pytest.raises(Fault, match="call of address 0x0, where no function is") as fault:
        run([line.format(limit="0x5") for line in calls], TWICE)
    assert fault.value.lanes == (6, 7)


def test_endless_recursion_is_a_fault() -> None:
    endless = function("endless", "fcall (M1, 8) endless 0 0", "fret (M1, 8)")
    with pytest.raises(Fault, match="more than 1024 nested calls"):
        run(["fcall (M1, 8) endless 0 0"], endless)


def test_a_function_that_is_nowhere() -> None:
    with pytest.raises(BuildError, match=r"program:19:5: error: function 'missing' is called and"):
        run(["fcall (M1, 8) missing 1 1"])
    with pytest.raises(Unsupported, match="the address of symbol 'missing'"):
        run(["faddr missing F(0,0)<1>"])


def test_a_function_for_fewer_lanes() -> None:
    narrow = TWICE.replace("SimdSize=8", "SimdSize=4")
    with pytest.raises(Unsupported, match="call of 'twice', which is SIMD4, from SIMD8 code"):
        run(["fcall (M1, 8) twice 1 1"], narrow)


LINES = (
    "fcall (M1, 8) fact 1 1",
    "(P1) fcall (M1, 8) fact 0 12",
    "(!P1.any) fcall (M1_NM, 8) fact 255 0",
    "fcall (M5, 4) fact 0 0",
)


@pytest.mark.parametrize("line", LINES)
def test_direct_calls_read_and_print(line: str, genx_ir: str) -> None:
    source = f"{HEAD}_main_0:\n    {line}\n    ret (M1, 1)\n{FACT}"
    module = parse(source, "test")
    assert f"    {line}\n" in print_module(module)
    assert rejected(genx_ir, source, "SKL") == ""
    assert line in reading(genx_ir, source, "SKL")
