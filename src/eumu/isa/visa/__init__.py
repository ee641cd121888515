"""vISA: one function per instruction, by family.

:data:`VISA` has them all; a family is declared when one of its words is looked up (`contents`).
"""

from eumu.isa.visa.registry import VISA

__all__ = ["VISA"]
