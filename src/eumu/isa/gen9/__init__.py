"""Native Gen9 code: one function per instruction, by family; bit fields as data.

Importing this package fills :data:`GEN9`.
"""

from eumu.isa.gen9 import arith, flow, logic, mathematics, message, move
from eumu.isa.gen9.registry import GEN9

FAMILIES = (move, logic, arith, mathematics, flow, message)

__all__ = ["FAMILIES", "GEN9"]
