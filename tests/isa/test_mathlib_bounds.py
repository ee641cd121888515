"""The math functions stay within their recorded error bounds."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from eumu.isa import mathlib
from eumu.isa.mathlib import BOUNDS, coefficients, fit
from eumu.types import DF, TYPES, F, Type
from isa.mathlib_lanes import REFERENCES, Array, distances, evaluate
from isa.mathlib_sweeps import operands

CASES = [
    pytest.param(name, TYPES[type], id=f"{name}-{type}")
    for name, bounds in BOUNDS.items()
    for type in bounds
]
ONE_TYPE = [case for case in CASES if case.values[1] is F]


def _sample(name: str, type: Type, count: int, seed: int) -> tuple[tuple[Array, ...], Array]:
    values = operands(name, type, count, seed)
    return values, evaluate(getattr(mathlib, name), type, *values)


def _against_doubles(name: str, type: Type, count: int, seed: int) -> float:
    values, got = _sample(name, type, count, seed)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name].double(*(x.astype(np.float64) for x in values))
    return float(distances(got, exact).max())


def _against_mpmath(name: str, type: Type, count: int, seed: int) -> float:
    """As above, on `count` random members of the sweep."""
    values, got = _sample(name, type, 8 * count, seed)
    chosen = np.random.default_rng(seed).choice(len(got), count, replace=False)
    function = REFERENCES[name].exact
    with mpmath.workdps(40):
        rows = zip(*(x[chosen].tolist() for x in values), strict=True)
        exact = [_exact(function, row) for row in rows]
    return float(distances(got[chosen], np.array(exact, object)).max())


def _exact(function: object, row: tuple[float, ...]) -> object:
    """A real result, infinite at a pole; NaN where there is none."""
    assert callable(function)
    try:
        result = function(*map(mpmath.mpf, row))
    except ZeroDivisionError:
        return mpmath.mpf(np.copysign(np.inf, row[-1]))
    except ValueError:
        return mpmath.nan
    return mpmath.nan if isinstance(result, mpmath.mpc) else result


@pytest.mark.parametrize(("name", "type"), [c for c in CASES if c.values[1] is not DF])
def test_bound_on_many(name: str, type: Type) -> None:
    assert _against_doubles(name, type, 1 << 15, seed=3) <= BOUNDS[name][type.name].ulp


@pytest.mark.parametrize(("name", "type"), CASES)
def test_bound_in_arbitrary_precision(name: str, type: Type) -> None:
    assert _against_mpmath(name, type, 1 << 10, seed=7) <= BOUNDS[name][type.name].ulp


@pytest.mark.parametrize(("name", "type"), ONE_TYPE)
def test_bound_is_not_idle(name: str, type: Type) -> None:
    """The recorded bound is not much above what a sweep finds."""
    assert _against_doubles(name, type, 1 << 15, seed=3) > 0.7 * BOUNDS[name][type.name].ulp


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "type"), ONE_TYPE)
def test_bound_on_millions(name: str, type: Type, seed: int) -> None:
    assert _against_doubles(name, type, 1 << 20, seed) <= BOUNDS[name][type.name].ulp


@pytest.mark.parametrize("function", ["sin", "cos"])
def test_large_angles(function: str) -> None:
    """Beyond 2**17 the reduction fades out, but results stay in [-1, 1]."""
    x = np.geomspace(2.0**17, 2.0**22, 1 << 15).astype(np.float32)
    got = evaluate(getattr(mathlib, function), F, x)
    exact = REFERENCES[function].double(x.astype(np.float64))
    assert np.abs(got - exact).max() < 2.0**-21
    huge = np.geomspace(2.0**22, 3e38, 1 << 15).astype(np.float32)
    assert (np.abs(evaluate(getattr(mathlib, function), F, huge)) <= 1).all()


def test_coefficients_are_what_the_fit_gives() -> None:
    for name in fit.SPLITS:
        assert getattr(coefficients, name) == tuple(fit.split(name)), name
    for name in fit.FITS:
        assert getattr(coefficients, name) == tuple(fit.fit(name)[0]), name
