"""The math functions of instructions as IR, so that every engine gives the same bits.

Each function takes a builder and vectors of one type and width, F or HF (`divide`, `inv`, `sqrt`
and `rsqrt` also DF), and returns such a vector.  It rounds to nearest, whatever %cr0 says; denormal
arguments and results are kept.  `BOUNDS` has the errors.  The vISA pages do not specify accuracy;
the PRM of Gen9 allows 1 to 4 ulp (for sin and cos an absolute error of 2**-11).
"""

from eumu.isa.mathlib.bounds import BOUNDS, Bound
from eumu.isa.mathlib.exponential import exp2, log2, pow, sigmoid, tanh
from eumu.isa.mathlib.roots import divide, inv, rsqrt, sqrt
from eumu.isa.mathlib.trigonometric import cos, sin

__all__ = [
    "BOUNDS",
    "Bound",
    "cos",
    "divide",
    "exp2",
    "inv",
    "log2",
    "pow",
    "rsqrt",
    "sigmoid",
    "sin",
    "sqrt",
    "tanh",
]
