"""NaNs of any sign and payload are one, in every comparison of results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from eumu.compare.nans import both_nan, is_nan, unequal, unequal_bits
from eumu.types import BF, DF, HF, TYPES, UD, F

TESTS = Path(__file__).resolve().parents[1]
# Two NaNs as one; these compare numbers within bounds.
BOTH = re.compile(r"isnan\(.*\) *& *\(?(?:np|math)\.isnan\(")
WITHIN_BOUNDS = {"isa/mathlib_lanes.py", "kernels/case.py"}


@pytest.mark.parametrize(
    ("type", "infinity", "quiet", "one"),
    [
        (HF, 0x7C00, 0x7E00, 0x3C00),
        (BF, 0x7F80, 0x7FC0, 0x3F80),
        (F, 0x7F800000, 0x7FC00000, 0x3F800000),
        (DF, 0x7FF << 52, 0xFFF << 51, 0x3FF << 52),
    ],
    ids=str,
)
def test_patterns_of_a_type(type: object, infinity: int, quiet: int, one: int) -> None:
    sign = 1 << (TYPES[str(type)].bits - 1)
    some = [quiet, quiet | sign, infinity + 1, infinity + 1 | sign]
    others = [infinity, infinity | sign, one, one | sign, 0, sign]
    patterns = np.array(some + others, f"u{TYPES[str(type)].size}")
    assert is_nan(TYPES[str(type)], patterns).tolist() == [True] * 4 + [False] * 6
    first = np.full(len(patterns), quiet, patterns.dtype)
    assert unequal_bits(TYPES[str(type)], patterns, first).tolist() == [False] * 4 + [True] * 6
    for k in range(4, 10):  # not even zeros of two signs are one
        different = unequal_bits(TYPES[str(type)], patterns, np.full_like(first, patterns[k]))
        assert np.flatnonzero(~different).tolist() == [k]


def test_integers_have_no_nans() -> None:
    patterns = np.array([0x7FC00000, 0xFFC00000], np.uint32)
    assert not is_nan(UD, patterns).any()
    assert unequal_bits(UD, patterns, patterns[::-1]).all()
    assert unequal(patterns, patterns[::-1].copy()).all()
    assert not unequal(patterns.view(np.float32), patterns[::-1].copy().view(np.float32)).any()


def test_fields_of_structures() -> None:
    record = np.dtype([("n", np.uint16), ("h", np.float16, (2,)), ("x", np.float64)])
    x, y = np.zeros(3, record), np.zeros(3, record)
    x["h"], y["h"] = np.nan, -np.float16(np.nan)
    x["x"][1], y["x"][1] = np.nan, -np.nan
    x["n"][2] = 1
    assert unequal(x, y).tolist() == [False, False, True]
    assert both_nan(x, y).sum(axis=1).tolist() == [4, 12, 4]


def test_nothing_else_defines_it() -> None:
    """A comparison of its own would take other NaNs for one than `eumu compare` does."""
    found = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if BOTH.search(path.read_text())
    }
    assert found <= WITHIN_BOUNDS, found - WITHIN_BOUNDS
