"""The IR verifier notices every way to break the table of operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from eumu.errors import InternalError
from eumu.ir import (
    Block,
    Input,
    Op,
    Region,
    Root,
    RootKind,
    Rounding,
    Space,
    Value,
)
from eumu.ir.operations.arithmetic import Rounded
from eumu.ir.operations.ends import Barrier, Branch, Diverge, Jump, Ret, Switch
from eumu.ir.operations.lanes import Bitcast, Concat, Const, Shuffle
from eumu.ir.operations.memory import Load
from eumu.ir.operations.row import Table
from eumu.ir.operations.state import ReadIndirect
from eumu.ir.text import format_function
from eumu.ir.verify import check, verify
from eumu.types import BF, BOOL, HF, UB, UD, UQ, UW, D, F, Q, Type
from exec.launching import Kernel

RNE = Rounding.RNE


def put(
    k: Kernel,
    kind: type[Op],
    name: str,
    args: list[Value],
    shape: list[tuple[Type, int]],
    **more: Any,
) -> None:
    """Append an operation that the builder would not make."""
    results = tuple(value for type, width in shape for value in k.b.fresh(type, width))
    k.b.append(kind(name, tuple(args), results, k.b.inst, **more))


def findings(change: Callable[[Kernel], None]) -> list[str]:
    k = Kernel()
    change(k)
    if k.b.block is not None and k.b.block.end is None:
        k.end()
    return verify(k.function)


def test_a_function_of_many_operations_is_fine() -> None:
    def build(k: Kernel) -> None:
        flag = k.root("P", 32, RootKind.FLAG)
        x = k.b.convert(k.get("X", UW), F, rounding=RNE)
        k.b.write_flag(flag, 16, k.b.cmp("lt", x, k.number(F, 3.0)), k.mask())
        index = k.lanes(UD, 1)
        y = k.b.load(Space.SURFACE, k.lane(), k.mask(), UD, 3, index)
        k.b.store(Space.SURFACE, k.lane(), k.mask(), y, index)
        k.b.store_block(Space.SLM, k.lanes(UD, 0), k.true(1), x)
        k.b.load_block(Space.SURFACE, k.lanes(UD, 0), k.true(1), UB, 64, index)
        k.b.atomic("cmpxchg", Space.SURFACE, k.lane(), k.mask(), UD, y[:2], index)
        k.b.convert(k.b.convert(x, BF, rounding=RNE), F, rounding=RNE)
        k.b.fence("group")
        start = k.b.root_address(k.function.roots["X"], 4)
        k.b.read_indirect(start, UB, 8, offset=0, vstride=0, row=8, hstride=1)
        k.b.write_indirect(start, k.lane(), k.mask(), offset=0, hstride=4)

    assert findings(build) == []


CASES: list[tuple[str, Callable[[Kernel], Any]]] = [
    ("should be ud",
     lambda k: put(k, Rounded, "add", [k.lane(), k.number(D, 1)], [(UD, 16)], rounding=RNE)),
    ("should have 16 lanes", lambda k: put(k, Op, "xor", [k.lane(), k.lanes(UD, 1)], [(UD, 16)])),
    ("should have 16 lanes", lambda k: put(k, Op, "not", [k.lane()], [(UD, 8)])),
    ("should be one of", lambda k: put(k, Op, "clz", [k.number(F, 1.0)], [(F, 16)])),
    ("should be one of",
     lambda k: put(k, Rounded, "add", [k.true(), k.true()], [(BOOL, 16)], rounding=RNE)),
    ("should be one of", lambda k: put(k, Op, "flush", [k.lane()], [(UD, 16)])),
    ("should be one of",
     lambda k: put(k, Rounded, "fma", [k.lane()] * 3, [(UD, 16)], rounding=RNE)),
    ("should be bool", lambda k: put(k, Op, "any", [k.lane()], [(BOOL, 1)])),
    ("should have 1 lanes", lambda k: put(k, Op, "any", [k.true()], [(BOOL, 16)])),
    ("it has 1 values where it takes x x", lambda k: put(k, Op, "xor", [k.lane()], [(UD, 16)])),
    ("it has 0 values where it takes x", lambda k: put(k, Op, "not", [k.lane()], [])),
    ("it has 3 values", lambda k: put(
        k, ReadIndirect, "read_indirect", [k.lanes(UD, 1), k.true(), k.true()], [(UD, 16)],
        offset=0, vstride=0, row=16, hstride=4)),
    ("no relation 'less'", lambda k: k.b.cmp("less", k.lane(), k.lane())),
    ("3 lanes for a width of 16",
     lambda k: put(k, Const, "const", [], [(UD, 16)], lanes=(1, 2, 3))),
    ("no bit pattern of ub", lambda k: put(k, Const, "const", [], [(UB, 1)], lanes=(256,))),
    ("no bit pattern of d", lambda k: put(k, Const, "const", [], [(D, 1)], lanes=(-1,))),
    ("a lane is outside the 16 lanes", lambda k: k.b.shuffle(k.lane(), [16])),
    ("2 lanes for a width of 1",
     lambda k: put(k, Shuffle, "shuffle", [k.lane()], [(UD, 1)], lanes=(0, 1))),
    ("the arguments have 32 lanes",
     lambda k: put(k, Concat, "concat", [k.lane(), k.lane()], [(UD, 16)])),
    ("another number of bytes", lambda k: put(k, Bitcast, "bitcast", [k.lane()], [(UQ, 16)])),
    ("a mask has no bytes", lambda k: put(k, Bitcast, "bitcast", [k.true()], [(UB, 2)])),
    ("no conversion from ud to bf", lambda k: k.b.convert(k.lane(), BF, rounding=RNE)),
    ("no conversion from hf to bf", lambda k: k.b.convert(k.number(HF, 1.0), BF, rounding=RNE)),
    ("a dword has no 33 bits", lambda k: k.b.mask_bits(k.true(33))),
    # state
    ("bytes 4..67 are outside the 64 bytes of @R0",
     lambda k: k.b.read(k.function.roots["R0"], Region.packed(4, 4), UD, 16)),
    ("bytes -4..-1 are outside",
     lambda k: k.b.read(k.function.roots["R0"], Region.scalar(-4), UD, 1)),
    ("rows of no element",
     lambda k: k.b.read(k.function.roots["R0"], Region(0, 4, 0, 1), UD, 16)),
    ("bytes 60..67 are outside",
     lambda k: k.b.write_root(
         k.function.roots["R0"], Region.scalar(60), k.lanes(UQ, 1), k.true(1))),
    ("@GONE is no root of the function",
     lambda k: k.b.read(Root("GONE", RootKind.GRF, 64), Region.scalar(0), UD, 1)),
    ("@P is a flag", lambda k: k.b.read(k.root("P", 32, RootKind.FLAG), Region.scalar(0), UD, 1)),
    ("@R0 is no flag", lambda k: k.b.read_flag(k.function.roots["R0"], 0, 16)),
    ("bits 24..39 are outside the 32 bits of @P",
     lambda k: k.b.read_flag(k.root("P", 32, RootKind.FLAG), 24, 16)),
    ("bits -1..14 are outside",
     lambda k: k.b.write_flag(k.root("P", 32, RootKind.FLAG), -1, k.true(), k.true())),
    ("4 addresses for 16 elements in rows of 2", lambda k: k.b.read_indirect(
        k.b.iota(UD, 4), UD, 16, offset=0, vstride=0, row=2, hstride=4)),
    ("@T is not in the register space",
     lambda k: k.b.root_address(k.root("T", 4, RootKind.STATE), 0)),
    # memory
    ("should be uq", lambda k: k.b.load(Space.FLAT, k.lane(), k.mask(), UD)),
    ("should be ud", lambda k: k.b.load(Space.SLM, k.number(UQ, 0), k.mask(), UD)),
    ("2 arguments in space surface", lambda k: k.b.load(Space.SURFACE, k.lane(), k.mask(), UD)),
    ("3 arguments in space slm",
     lambda k: k.b.load(Space.SLM, k.lane(), k.mask(), UD, surface=k.lanes(UD, 1))),
    ("2 results for a count of 3", lambda k: put(
        k, Load, "load", [k.lane(), k.mask()], [(UD, 16)] * 2, space=Space.SLM, type=UD, count=3)),
    ("its results should be d",
     lambda k: put(
        k, Load, "load", [k.lane(), k.mask()], [(UD, 16)], space=Space.SLM, type=D, count=1
     )),
    ("one type and the width of the address",
     lambda k: k.b.store(Space.SLM, k.lane(), k.mask(), [k.lane(), k.number(D, 1)])),
    ("the surface index", lambda k: k.b.store(
        Space.SURFACE, k.lane(), k.mask(), [k.lane()], k.lane())),
    ("no atomic operation 'nand'",
     lambda k: k.b.atomic("nand", Space.SLM, k.lane(), k.mask(), UD, [k.lane()])),
    ("3 arguments in space slm",
     lambda k: k.b.atomic("cmpxchg", Space.SLM, k.lane(), k.mask(), UD, [k.lane()])),
    ("its data should be q",
     lambda k: k.b.atomic("add", Space.SLM, k.lane(), k.mask(), Q, [k.lane()])),
    ("inc of f", lambda k: k.b.atomic("inc", Space.SLM, k.lane(), k.mask(), F)),
    # values and blocks
    ("%999 is not defined before its use",
     lambda k: put(k, Op, "not", [Value(999, UD, 16)], [(UD, 16)])),
    ("is defined as", lambda k: put(k, Op, "not", [replace(k.lane(), width=8)], [(UD, 8)])),
    # terminators
    ("there is no block 5 of 1", lambda k: k.b.terminate(Jump((), (5,)))),
    ("there is no block -1", lambda k: k.b.terminate(Jump((), (-1,)))),
    ("1 targets", lambda k: k.b.terminate(Branch((k.true(1),), (0,)))),
    ("0 targets", lambda k: k.b.terminate(Switch((k.lanes(UD, 0),)))),
    ("should have 1 lanes", lambda k: k.b.terminate(Branch((k.true(),), (0, 0)))),
    ("no barrier of kind 'named'", lambda k: k.b.terminate(Barrier((), (0,), kind="named"))),
    ("it has 0 values where it takes m*", lambda k: k.b.terminate(Diverge((), (0, 0), offset=0))),
    ("%998 is not defined", lambda k: k.b.terminate(Ret((Value(998, BOOL, 16),), (0,), offset=0))),
]  # fmt: skip


@pytest.mark.parametrize(("message", "change"), CASES, ids=[message for message, _ in CASES])
def test_what_breaks_the_table_is_reported(message: str, change: Callable[[Kernel], None]) -> None:
    found = findings(change)
    assert any(message in finding for finding in found), found
    assert all(finding.startswith("k, block 0 entry: ") for finding in found)


def test_an_operation_that_does_not_exist() -> None:
    k = Kernel()
    k.end()
    k.function.blocks[0].ops.insert(0, Op("frob", (), ()))
    k.function.blocks[0].ops.insert(0, Op("const", (), (Value(77, UD, 1),)))
    found = verify(k.function)
    assert any("frob: no such operation" in f for f in found)
    assert any("const: no such operation" in f for f in found)


def test_a_function_is_for_operations_whose_attributes_it_knows() -> None:
    table: Table[None, [], None] = Table()
    table.on(Rounded, "add", "convert")
    with pytest.raises(InternalError, match="IR store is no Load"):
        table.on(Load, "store")


def test_a_value_defined_twice_or_in_another_block() -> None:
    k = Kernel("entry", "next")
    x = k.lane()
    k.go("jump", "next")
    k.at("next")
    k.b.not_(x)
    k.end()
    k.function.blocks[0].ops *= 2
    found = verify(k.function)
    assert any(f"{x} is defined twice" in f and "block 0" in f for f in found)
    assert any(f"{x} is not defined" in f and "block 1" in f for f in found)


def test_a_block_without_an_end_and_a_function_without_a_block() -> None:
    k = Kernel()
    assert verify(k.function) == ["k, block 0 entry: the block has no terminator"]
    k.function.blocks = []
    assert verify(k.function) == ["k: it has no block"]


def test_roots_and_inputs() -> None:
    k = Kernel()
    k.end()
    big = k.root("BIG", 0x1001)
    after = k.root("AFTER", 4)
    k.function.inputs.append(Input(big, 0x1000, 0, 2))
    k.function.inputs.append(Input(Root("GONE", RootKind.GRF, 4), 0, 0, 4))
    k.function.roots["OTHER"] = replace(after, address=0x90000)
    found = verify(k.function)
    assert "k: @BIG and @AFTER overlap in the register space" in found
    assert "k: an input goes outside the 4097 bytes of @BIG" in found
    assert "k: the input @GONE is no root of the function" in found
    assert "k: @AFTER is listed as @OTHER" in found


def test_no_unfolded_rounding_is_left_behind_the_pass() -> None:
    k = Kernel()
    k.b.add(k.number(F, 1.0), k.number(F, 2.0))
    k.end()
    assert verify(k.function) == []
    (found,) = verify(k.function, folded=True)
    assert "its rounding is not folded" in found


def test_check_raises_with_every_finding() -> None:
    k = Kernel()
    k.b.cmp("less", k.lane(), k.lane())
    k.b.mask_bits(k.true(40))
    k.end()
    with pytest.raises(InternalError) as caught:
        check(k.function)
    assert "no relation 'less'" in str(caught.value) and "no 40 bits" in str(caught.value)


def test_the_text_form_shows_everything() -> None:
    k = Kernel("entry", "next", arguments=1)
    flag = k.root("P", 32, RootKind.FLAG)
    k.inst(0)
    x = k.b.convert(k.get("X", UW), F)
    k.inst(1)
    k.b.write_flag(flag, 0, k.b.cmp("lt", x, k.number(F, 3.0)), k.mask())
    k.inst(2)
    k.b.atomic("inc", Space.SLM, k.lane(), k.true(), UD)
    k.go("diverge", "entry", "next", mask=k.true())
    k.at("next")
    k.go("trap", reason="no way")
    lines = [line.strip() for line in format_function(k.function).splitlines()]
    assert lines[0] == "function k simd16 grf64"
    for expected in [
        "@R0 grf 64 bytes at 0x10000",
        "@P flag 32 bits",
        "input @ARG0+0 <- payload[256:264]",
        "0 entry:",
        "; 0: inst 0",
        "%0:uw*16 = read root=@X region=0<2;1,0>",
        "%1:f*16 = convert %0 rounding=CR0 saturate=False",
        "; 1: inst 1",
        "%2:f*16 = const lanes=(0x40400000)",
        "%3:mask*16 = cmp %1 %2 rel='lt'",
        "write_flag %3 %4 root=@P offset=0",
        "%7:ud*16 = atomic %5 %6 space=slm type=ud operation='inc'",
        "diverge %8 -> 0, 1 offset=0",
        "1 next:",
        "trap reason='no way'",
    ]:
        assert expected in lines
    assert isinstance(k.function.blocks[1], Block)
