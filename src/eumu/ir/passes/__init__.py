"""Functions to functions: each pass returns a new one and leaves its argument alone."""

from eumu.ir.passes.modes import fold_modes
from eumu.ir.passes.undefined import find_undefined

__all__ = ["find_undefined", "fold_modes"]
