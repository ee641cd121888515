"""Passes: each takes a function, returns a new one, and does not change its argument."""

from eumu.ir.passes.accesses import find_misaligned, find_zero_divisors
from eumu.ir.passes.modes import fold_modes
from eumu.ir.passes.undefined import find_undefined, find_uninitialized

__all__ = [
    "find_misaligned",
    "find_undefined",
    "find_uninitialized",
    "find_zero_divisors",
    "fold_modes",
]
