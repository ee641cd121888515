"""How far each function's results are from the exact ones, as measured.

`ulp` is the greatest distance seen, in units in the last place of the exact value (a denormal's
unit is the least denormal).  ``tests/isa/test_mathlib_bounds.py`` repeats the sweeps: all of them
in its slow tests, samples against mpmath otherwise.
"""

from __future__ import annotations

from eumu.ir.fidelity import Fidelity
from eumu.records import dataclass
from eumu.types import HF, F


@dataclass(frozen=True, slots=True)
class Bound:
    """The worst error of one function in one type over `sweep`."""

    ulp: float
    sweep: str
    beyond: str = ""  # what holds for arguments outside of the sweep

    @property
    def exact(self) -> bool:
        """Every result is the correctly rounded one."""
        return self.ulp <= 0.5


_ALL_HF = "every HF"
_BEYOND = "absolute error below 2^-21 for |x| <= 2^22, some number in [-1, 1] above"


def _rounded_once(sweep: str) -> Bound:
    return Bound(0.5, sweep)


# function: {type: bound}
BOUNDS: dict[str, dict[str, Bound]] = {
    "cos": {
        "f": Bound(1.55, "every F with |x| <= 2^17", _BEYOND),
        "hf": Bound(0.5001, _ALL_HF),
    },
    "divide": {
        "f": _rounded_once("2^26 pairs, even in both exponents"),
        "hf": _rounded_once("2^24 pairs, even in both exponents"),
        "df": _rounded_once("one IR operation"),
    },
    "exp2": {"f": Bound(0.88, "every F"), "hf": Bound(0.5001, _ALL_HF)},
    "inv": {
        "f": _rounded_once("one IR operation"),
        "hf": _rounded_once(_ALL_HF),
        "df": _rounded_once("one IR operation"),
    },
    "log2": {"f": Bound(1.51, "every F"), "hf": _rounded_once(_ALL_HF)},
    "pow": {
        "f": Bound(0.57, "2^26 pairs, even in the exponents of base and result"),
        "hf": Bound(0.5001, "2^24 pairs, even in the exponents of base and result"),
    },
    "rsqrt": {
        "f": Bound(1.5, "every F in [0.5, 2), the others being scaled; every denormal"),
        "hf": _rounded_once(_ALL_HF),
        "df": Bound(1.5, "2^14 DF, even in the exponent"),
    },
    "sigmoid": {"f": Bound(2.41, "every F"), "hf": Bound(0.5001, _ALL_HF)},
    "sin": {
        "f": Bound(1.55, "every F with |x| <= 2^17", _BEYOND),
        "hf": Bound(0.5001, _ALL_HF),
    },
    "sqrt": {
        "f": _rounded_once("one IR operation"),
        "hf": _rounded_once(_ALL_HF),
        "df": _rounded_once("one IR operation"),
    },
    "tanh": {"f": Bound(2.57, "every F"), "hf": _rounded_once(_ALL_HF)},
}


def fidelity(name: str) -> Fidelity:
    """That of an instruction of the math unit: the measured error of its function.

    The vISA pages leave the accuracy open, and the PRM of Gen9 allows 1 to 4 ulp, so hardware may
    give another number, also where eumu rounds correctly.  Where DF is correctly rounded, hardware
    is, too: that is a sequence of instructions, which ends in a rounding.
    """
    bounds = BOUNDS[name]
    inexact = {F, HF} if "df" in bounds and bounds["df"].exact else None
    types = sorted(t for t in bounds if inexact is None or t != "df")
    detail = ", ".join(f"{bounds[t].ulp} in {t}" for t in types)
    return Fidelity("ulp", detail, None if inexact is None else frozenset(inexact))
