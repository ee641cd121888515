"""vISA: one function per instruction, by family.

:data:`VISA` has all instructions; a family is imported when one of its names is looked up
(`contents`).
"""

from eumu.isa.visa.registry import VISA

__all__ = ["VISA"]
