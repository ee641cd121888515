"""What instruction bodies build with: a constant stands in a block once."""

from __future__ import annotations

import pytest

from eumu.ir import Block, Function
from eumu.isa.kinds.builder import InstBuilder
from eumu.platforms import platform
from eumu.types import UD, UW, D, F


@pytest.fixture
def builder() -> InstBuilder:
    target = platform("skl")
    made = InstBuilder(Function("test", 16, target.grf_bytes), target)
    made.block = Block("first")
    return made


def test_a_constant_stands_once_in_a_block(builder: InstBuilder) -> None:
    one = builder.const(UD, 1, 16)
    assert builder.const(UD, 1, 16) is one
    assert builder.const(UD, (1 << 32) + 1, 16) is one  # the same bits
    assert builder.block is not None and len(builder.block.ops) == 1


@pytest.mark.parametrize(
    "other",
    [(UD, 2, 16), (D, 1, 16), (UW, 1, 16), (UD, 1, 8), (UD, 1, 1), (F, 1.0, 16), (UD, [1, 2], 2)],
    ids=str,
)
def test_other_constants_are_others(builder: InstBuilder, other: tuple[object, ...]) -> None:
    one = builder.const(UD, 1, 16)
    two = builder.const(*other)  # type: ignore[arg-type]
    assert two is not one
    assert two.type is other[0] and two.width == other[2]


def test_zeros_of_both_signs_are_two(builder: InstBuilder) -> None:
    assert builder.const(F, 0.0) is not builder.const(F, -0.0)
    assert builder.const(F, 0.0) is builder.const(F, 0)


def test_lanes_that_are_all_the_same_have_the_meaning_of_one(builder: InstBuilder) -> None:
    spread = builder.const(UD, [7, 7], 2)
    assert spread.width == 2
    assert builder.const(UD, [7, 8], 2) is not spread


def test_each_instruction_has_its_own_mask_of_executing_lanes(builder: InstBuilder) -> None:
    """Its operation says with which lane the instruction begins."""
    assert builder.exec_mask(0, 16) is not builder.exec_mask(0, 16)


def test_a_zero_is_known(builder: InstBuilder) -> None:
    assert builder.is_zero(builder.const(UD, 0))
    assert builder.is_zero(builder.const(UD, 1 << 32))
    assert not builder.is_zero(builder.const(UD, 1))
    assert not builder.is_zero(builder.const(F, -0.0))
    assert not builder.is_zero(builder.add(builder.const(UD, 0), builder.const(UD, 0)))


def test_another_block_has_its_own(builder: InstBuilder) -> None:
    """Another one may run without this one."""
    one = builder.const(UD, 1)
    first, builder.block = builder.block, Block("second")
    assert builder.const(UD, 1) is not one
    builder.block = first
    again = builder.const(UD, 1)  # a block that is gone back to may have it twice
    assert first is not None and any(again in op.results for op in first.ops)
