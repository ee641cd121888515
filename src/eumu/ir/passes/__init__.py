"""Functions to functions: each pass returns a new one and leaves its argument alone."""

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
