"""Lints: code that no document forbids but that is hardly ever intended.

They apply to whole kernels without errors.
"""

from eumu.verify.lints import control, messages, symbols, undefined, unused

FAMILIES = (undefined, unused, control, messages, symbols)

__all__ = ["FAMILIES"]
