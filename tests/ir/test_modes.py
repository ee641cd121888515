"""%cr0 folded into operations: which constant reaches them, and what is flushed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eumu.errors import Unsupported
from eumu.exec.interp import Interpreter
from eumu.ir import Function, Region, RootKind, Rounding, Value
from eumu.ir.operations.arithmetic import Rounded
from eumu.ir.passes import fold_modes
from eumu.ir.verify import verify
from eumu.types import BOOL, DF, HF, UD, UW, F, Type
from exec.launching import Host, Kernel, grid_of, on_both

KEEP_ALL = 0x4C0
WHOLE = Region.scalar(0)


class Moded(Kernel):
    """A kernel with %cr0; `change` writes it like the compiler does."""

    def __init__(self, *blocks: str, prologue: int | None = KEEP_ALL) -> None:
        super().__init__(*blocks)
        self.cr0 = self.root("%cr0", 4, RootKind.ARF)
        if prologue is not None:
            self.change("or_", prologue)

    def change(self, name: str, value: int, mask: Value | None = None) -> None:
        old = self.b.read(self.cr0, WHOLE, UD, 1)
        new = getattr(self.b, name)(old, self.lanes(UD, value))
        self.b.write_root(self.cr0, WHOLE, new, mask or self.true(1))

    def sum(self, type: Type = F) -> Value:
        """An addition in the current mode, marked by its type."""
        return self.b.add(self.number(type, 1.5), self.number(type, 2.5))


def roundings(function: Function) -> list[Rounding]:
    """Of every float addition, in program order."""
    found = []
    for block in function.blocks:
        for op in block.ops:
            if isinstance(op, Rounded) and op.name == "add" and op.result.type.is_float:
                found.append(op.rounding)
    return found


def flushes(function: Function) -> int:
    return sum(op.name == "flush" for block in function.blocks for op in block.ops)


def test_the_compilers_prologue_leaves_nothing_to_flush() -> None:
    k = Moded("entry", "next")
    k.go("jump", "next")
    k.at("next")
    for type in (HF, F, DF):
        x = k.sum(type)
        k.b.fma(x, x, k.b.min(x, x))
        k.b.cmp("lt", k.b.convert(x, F), k.b.convert(x, F))
    k.end()
    folded = fold_modes(k.function)
    assert flushes(folded) == 0
    assert verify(folded, folded=True) == []
    assert roundings(folded) == [Rounding.RNE] * 3


@pytest.mark.parametrize(("bits", "rounding"), list(enumerate(list(Rounding)[:4])))
def test_bits_5_4_are_the_rounding(bits: int, rounding: Rounding) -> None:
    k = Moded()
    k.sum()
    k.change("and_", 0xFFFF_FFCF)
    k.change("or_", bits << 4)
    k.sum()
    k.change("xor", 0x30)
    k.sum()
    k.end()
    folded = fold_modes(k.function)
    assert roundings(folded) == [Rounding.RNE, rounding, Rounding(bits ^ 3)]


def test_a_word_write_changes_only_its_half() -> None:
    k = Moded()
    half = k.b.const(UW, 0xFFFF)
    k.b.write_root(k.cr0, Region.scalar(2), half, k.true(1))
    k.sum()
    k.b.write_root(k.cr0, WHOLE, k.b.const(UW, KEEP_ALL | 0x10), k.true(1))
    k.sum()
    k.end()
    folded = fold_modes(k.function)
    assert roundings(folded) == [Rounding.RNE, Rounding.RU]
    assert flushes(folded) == 0


@pytest.mark.parametrize(("keep", "type"), [(1 << 6, DF), (1 << 7, F), (1 << 10, HF)])
def test_each_type_has_its_own_denormal_bit(keep: int, type: Type) -> None:
    k = Moded(prologue=keep)
    for each in (HF, F, DF):
        k.sum(each)
    k.end()
    folded = fold_modes(k.function)
    flushed = {op.result.type for block in folded.blocks for op in block.ops if op.name == "flush"}
    assert flushed == {HF, F, DF} - {type}
    assert verify(folded, folded=True) == []


def test_integers_and_moves_are_never_flushed() -> None:
    k = Moded(prologue=None)
    x = k.b.add(k.number(UD, 1), k.number(UD, 2))
    y = k.b.bitcast(k.b.convert(x, UW), HF)
    k.root("V", 64)
    k.put("V", k.b.neg(k.b.abs(k.b.select(k.true(), y, y))))
    k.end()
    folded = fold_modes(k.function)
    assert flushes(folded) == 0
    assert verify(folded, folded=True) == []


def test_operands_and_results_are_flushed_once() -> None:
    k = Moded(prologue=None)
    x, y = k.number(F, 1.0), k.number(F, 2.0)
    total = k.b.add(x, y)
    k.b.mul(total, x)
    k.b.cmp("lt", x, y)
    k.end()
    assert flushes(fold_modes(k.function)) == 4  # x, y, the sum, the product


def test_flushing_shows_in_results() -> None:
    """A denormal times two is zero of its sign, unless the mode keeps it."""
    least = float(np.finfo(np.float32).smallest_subnormal)
    for keep in (False, True):
        k = Moded(prologue=KEEP_ALL if keep else None)
        k.result(0, k.lane(), k.b.mul(k.number(F, -least), k.number(F, 2.0)))
        k.end()
        host = Host([np.ones(16, np.float32)])
        Interpreter().run(grid_of(fold_modes(k.function), host), host)
        got = float(host.read(0)[0])
        assert got == (-2 * least if keep else 0.0) and math.copysign(1, got) == -1


# ---- control flow


def test_both_ways_of_a_branch_may_set_the_same_mode() -> None:
    k = Moded("entry", "then", "else", "join")
    k.go("branch", "then", "else", mask=k.b.any(k.mask()))
    for label in ("then", "else"):
        k.at(label)
        k.change("or_", 0x30)
        k.go("jump", "join")
    k.at("join")
    k.sum()
    k.end()
    assert roundings(fold_modes(k.function)) == [Rounding.RTZ]


def rounded(k: Moded, place: Value) -> None:
    """Store 1 + 3 / 2**25 as it is rounded here: up to nearest, or down to 1."""
    k.result(0, place, k.b.add(k.number(F, 1.0), k.number(F, 3 / 2**25)))


UP, DOWN = 1 + 2.0**-23, 1.0


def results(k: Moded, count: int, local: int = 32) -> list[float]:
    assert verify(fold_modes(k.function), folded=True) == []
    found: list[float] = on_both(k, [np.zeros(count, np.float32)], 1, local).read(0).tolist()
    return found


def test_a_mode_that_depends_on_the_path() -> None:
    """As 22.43 leaves it after a conversion of 64-bit integers that is rounded down."""
    k = Moded("entry", "then", "join")
    k.go("branch", "then", "join", mask=k.b.any(k.b.cmp("ge", k.local_id(), k.number(UD, 16))))
    k.at("then")
    k.change("or_", 0x30)
    k.go("jump", "join")
    k.at("join")
    rounded(k, k.local_id())
    k.end()
    assert results(k, 32) == [UP] * 16 + [DOWN] * 16


def test_a_mode_that_may_be_anything_is_unsupported() -> None:
    """Five constants are too many, too."""
    k = Moded("entry", *"abcd", "join")
    for n, (name, after) in enumerate(zip(["entry", *"abcd"], [*"abcd", "join"], strict=True)):
        if n:
            k.at(name)
            k.change("xor", 0x10000 << n)
        if n < 4:
            k.go("branch", after, "join", mask=k.b.any(k.mask()))
    k.go("jump", "join")
    k.at("join")
    k.inst(7)
    k.sum()
    k.end()
    with pytest.raises(Unsupported, match=r"k.visaasm:8:1: .*%cr0"):
        fold_modes(k.function)


def test_a_mode_that_depends_on_the_path_does_not_matter_to_integers() -> None:
    k = Moded("entry", "then", "join")
    k.go("branch", "then", "join", mask=k.b.any(k.mask()))
    k.at("then")
    k.change("or_", 0x30)
    k.go("jump", "join")
    k.at("join")
    k.b.add(k.number(UD, 1), k.number(UD, 2))
    k.end()
    assert verify(fold_modes(k.function), folded=True) == []


def test_a_loop_keeps_its_mode_and_may_change_and_restore_it() -> None:
    k = Moded("entry", "loop", "after")
    k.go("jump", "loop")
    k.at("loop")
    k.sum()
    k.change("xor", 0x30)
    k.sum()
    k.change("xor", 0x30)
    k.go("diverge", "loop", "after", mask=k.mask())
    k.at("after")
    k.sum()
    k.end()
    assert roundings(fold_modes(k.function)) == [Rounding.RNE, Rounding.RTZ, Rounding.RNE]


def test_a_loop_that_flips_the_mode() -> None:
    k = Moded("entry", "loop", "after")
    k.root("TURN", 64)
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "loop")
    k.at("loop")
    turn = k.get("TURN", UD)
    rounded(k, k.add(k.mul(turn, k.number(UD, 16)), k.lane()))
    k.change("xor", 0x30)
    k.put("TURN", k.add(turn, k.number(UD, 1)))
    k.go("diverge", "loop", "after", mask=k.b.cmp("lt", turn, k.number(UD, 3)))
    k.at("after")
    k.end()
    assert results(k, 64, 16) == ([UP] * 16 + [DOWN] * 16) * 2


def test_lanes_that_waited_find_the_mode_that_the_others_left() -> None:
    """%cr0 is the thread's: `else` runs after `then`, whatever path its lanes took."""
    k = Moded("entry", "then", "else", "join")
    k.go("diverge", "then", "else", mask=k.b.cmp("lt", k.local_id(), k.number(UD, 8)))
    k.at("then")
    rounded(k, k.local_id())
    k.change("or_", 0x30)
    k.go("jump", "join")
    k.at("else")
    rounded(k, k.local_id())
    k.go("jump", "join")
    k.at("join")
    k.end()
    assert results(k, 32) == [UP] * 8 + [DOWN] * 8 + [UP] * 16


def test_a_write_under_an_unknown_mask_must_change_nothing() -> None:
    for value, known in ((0x80, True), (0x30, False)):
        k = Moded()
        k.change("or_", value, k.b.exec_mask(0, 1))
        k.sum()
        k.end()
        if known:
            assert roundings(fold_modes(k.function)) == [Rounding.RNE]
        else:
            with pytest.raises(Unsupported):
                fold_modes(k.function)


def test_a_write_of_an_unknown_value_is_unsupported_where_it_matters() -> None:
    k = Moded()
    k.b.write_root(k.cr0, WHOLE, k.b.slice(k.local_id(), 0, 1), k.true(1))
    k.sum()
    k.end()
    with pytest.raises(Unsupported):
        fold_modes(k.function)


def test_a_write_that_is_masked_off_is_none() -> None:
    k = Moded()
    k.change("or_", 0x30, k.b.const(BOOL, 0))
    k.sum()
    k.end()
    assert roundings(fold_modes(k.function)) == [Rounding.RNE]


def call(k: Moded, name: str, after: str) -> None:
    k.go("call", name, after, mask=k.true())


def test_a_subroutine_has_the_mode_of_its_call() -> None:
    k = Moded("entry", "after", "sub", "more")
    k.change("or_", 0x20)
    call(k, "sub", "after")
    k.at("after")
    k.sum()
    k.end()
    k.at("sub")
    k.sum()
    k.change("or_", 0x10)
    k.go("jump", "more")
    k.at("more")
    k.sum()
    k.change("xor", 0x10)
    k.go("ret", "more", mask=k.true())
    assert roundings(fold_modes(k.function)) == [Rounding.RD, Rounding.RD, Rounding.RTZ]


def test_a_subroutine_that_changes_the_mode_is_unsupported() -> None:
    k = Moded("entry", "after", "sub")
    call(k, "sub", "after")
    k.at("after")
    k.end()
    k.at("sub")
    k.change("or_", 0x10)
    k.inst(3)
    k.go("ret", "sub", mask=k.true())
    with pytest.raises(Unsupported, match=r"k.visaasm:4:1: .*subroutine"):
        fold_modes(k.function)


def test_a_subroutine_called_in_two_modes() -> None:
    k = Moded("entry", "second", "after", "sub")
    k.root("BASE", 64)
    k.put("BASE", k.number(UD, 0))
    call(k, "sub", "second")
    k.at("second")
    k.change("or_", 0x30)
    k.put("BASE", k.number(UD, 16))
    call(k, "sub", "after")
    k.at("after")
    k.end()
    k.at("sub")
    rounded(k, k.add(k.get("BASE", UD), k.lane()))
    k.go("ret", "sub", mask=k.true())
    assert results(k, 32, 16) == [UP] * 16 + [DOWN] * 16


def test_the_argument_is_left_alone() -> None:
    k = Moded(prologue=None)
    k.sum()
    k.end()
    before = [len(block.ops) for block in k.function.blocks]
    folded = fold_modes(k.function)
    assert [len(block.ops) for block in k.function.blocks] == before
    assert roundings(k.function) == [Rounding.CR0] and roundings(folded) == [Rounding.RNE]
    assert folded.roots is k.function.roots and folded.spans is k.function.spans


def test_what_is_saved_in_a_register_comes_back() -> None:
    """As Intel's finalizer does around a division: lanes part, and both ways restore %cr0."""
    k = Moded("entry", "some", "others", "end", prologue=0x10)
    saved = k.root("saved", 8, RootKind.GRF)
    k.b.write_root(saved, Region.scalar(4), k.b.read(k.cr0, WHOLE, UD, 1), k.true(1))
    k.change("and_", ~0x30 & 0xFFFF_FFFF)
    k.sum()
    k.go("diverge", "others", "some", mask=k.b.cmp("lt", k.lane(), k.number(UD, 5)))
    for name in ("some", "others"):
        k.at(name)
        k.b.write_root(k.cr0, WHOLE, k.b.read(saved, Region.scalar(4), UD, 1), k.true(1))
        k.go("jump", "end")
    k.at("end")
    k.sum()
    k.end()
    found = roundings(fold_modes(k.function))
    assert found == [Rounding.RNE, Rounding.RU]


def test_a_copy_that_is_written_over_is_none() -> None:
    k = Moded("entry", "next", prologue=0x10)
    saved = k.root("saved", 8, RootKind.GRF)
    k.b.write_root(saved, WHOLE, k.b.read(k.cr0, WHOLE, UD, 1), k.true(1))
    k.b.write_root(saved, Region.scalar(2), k.lanes(UW, 7), k.true(1))
    k.go("jump", "next")
    k.at("next")
    k.b.write_root(k.cr0, WHOLE, k.b.read(saved, WHOLE, UD, 1), k.true(1))
    k.sum()
    k.end()
    with pytest.raises(Unsupported, match="not a known constant"):
        fold_modes(k.function)
