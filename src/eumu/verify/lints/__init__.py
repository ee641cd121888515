"""Lints: what no document forbids and is hardly ever meant.

They look at whole kernels, and at those without errors only.
"""

from eumu.verify.lints import control, messages, symbols, undefined, unused

FAMILIES = (undefined, unused, control, messages, symbols)

__all__ = ["FAMILIES"]
