"""Special values and structure of the math functions; vISA pages EXP, LOG, POW, SIN, RSQRT, INV.

The pages promise tables of special values and do not have them, so that these follow IEEE 754
and the PRM of Gen9: a negative base of a power gives NaN, 0 to the 0 is 1.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from eumu.errors import InternalError
from eumu.ir import Rounding
from eumu.ir.operations.arithmetic import Rounded
from eumu.isa import mathlib
from eumu.isa.mathlib import BOUNDS
from eumu.types import DF, HF, TYPES, UD, F, Type
from isa.mathlib_lanes import REFERENCES, build, evaluate

INF, NAN = math.inf, math.nan
LEAST, GREATEST = 2.0**-149, float(np.finfo(np.float32).max)

# function: rows of operands and the result; for F
SPECIAL: dict[str, list[tuple[float, ...]]] = {
    "exp2": [
        (-INF, 0.0), (INF, INF), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (LEAST, 1.0),
        (1.0, 2.0), (127.0, 2.0**127), (128.0, INF), (1e30, INF), (-126.0, 2.0**-126),
        (-127.0, 2.0**-127), (-149.0, LEAST), (-149.99, LEAST), (-150.0, 0.0), (-1e30, 0.0),
    ],
    "log2": [
        (0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (NAN, NAN), (-1.0, NAN),
        (-LEAST, NAN), (1.0, 0.0), (2.0, 1.0), (LEAST, -149.0), (2.0**-127, -127.0),
        (2.0**127, 127.0), (GREATEST, 128.0),
    ],
    "pow": [
        (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, -1.0, INF), (0.0, LEAST, 0.0), (0.0, -LEAST, INF),
        (-0.0, 1.0, 0.0), (-0.0, -3.0, INF), (2.0, 0.0, 1.0), (2.0, 0.5, math.sqrt(2.0)),
        (2.0, -149.0, LEAST), (2.0, -150.0, 0.0), (2.0, 128.0, INF), (10.0, 2.0, 100.0),
        (3.0, 4.0, 81.0), (LEAST, 0.5, 2.0**-74.5), (LEAST, 1.0, LEAST), (GREATEST, 1.0, GREATEST),
        (INF, 1.0, INF), (INF, -1.0, 0.0), (INF, 0.0, 1.0), (INF, LEAST, INF), (INF, -LEAST, 0.0),
        (2.0, INF, INF), (2.0, -INF, 0.0), (0.5, INF, 0.0), (0.5, -INF, INF), (0.0, INF, 0.0),
        (0.0, -INF, INF), (1.0, 5.0, 1.0), (1.0, INF, NAN), (-1.0, 2.0, NAN), (-1.0, 0.0, NAN),
        (-INF, 1.0, NAN), (NAN, 0.0, NAN), (NAN, 1.0, NAN), (0.0, NAN, NAN), (1.0, NAN, NAN),
        (-LEAST, 1.0, NAN),
    ],
    "sin": [
        (0.0, 0.0), (-0.0, -0.0), (LEAST, LEAST), (-LEAST, -LEAST), (INF, NAN), (-INF, NAN),
        (NAN, NAN), (math.pi / 2, 1.0), (-math.pi / 2, -1.0), (2.0**-20, 2.0**-20),
    ],
    "cos": [
        (0.0, 1.0), (-0.0, 1.0), (LEAST, 1.0), (-LEAST, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN),
        (math.pi, -1.0), (-math.pi, -1.0),
    ],
    "tanh": [
        (0.0, 0.0), (-0.0, -0.0), (LEAST, LEAST), (-LEAST, -LEAST), (INF, 1.0), (-INF, -1.0),
        (NAN, NAN), (9.5, 1.0), (-9.5, -1.0), (2.0**-20, 2.0**-20),
    ],
    "sigmoid": [
        (0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN), (20.0, 1.0), (-200.0, 0.0),
        (-100.0, math.exp(-100.0)),
    ],
    "inv": [
        (0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (NAN, NAN), (LEAST, INF), (4.0, 0.25),
        (2.0**127, 2.0**-127),
    ],
    "rsqrt": [
        (0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, NAN), (NAN, NAN), (-LEAST, NAN), (4.0, 0.5),
        (2.0**-148, 2.0**74),
    ],
    "sqrt": [
        (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (NAN, NAN), (-LEAST, NAN), (9.0, 3.0),
        (2.0**-148, 2.0**-74),
    ],
    "divide": [
        (1.0, 0.0, INF), (1.0, -0.0, -INF), (0.0, 0.0, NAN), (INF, INF, NAN), (1.0, INF, 0.0),
        (-1.0, INF, -0.0), (1.0, 3.0, 1 / 3), (LEAST, 2.0, 0.0), (3 * LEAST, 2.0, 2 * LEAST),
        (NAN, 1.0, NAN), (1.0, NAN, NAN),
    ],
}  # fmt: skip
ROWS = [
    pytest.param(name, row, id=f"{name}{row[:-1]}") for name in SPECIAL for row in SPECIAL[name]
]
TYPED = [pytest.param(n, TYPES[t], id=f"{n}-{t}") for n, types in BOUNDS.items() for t in types]
# Quiet and signalling, of both signs, with payloads that integer operations could mistake.
NAN_BITS = [0x7FC00000, 0x7FC00001, 0x7FFFFFFF, 0xFFC00123, 0x7F800001, 0xFF80017F, 0x7FC000FE]


def test_every_function_has_rows_and_bounds() -> None:
    functions = set(mathlib.__all__) - {"BOUNDS", "Bound"}
    assert functions == SPECIAL.keys() == BOUNDS.keys() == REFERENCES.keys()


def _same(got: np.floating, want: np.floating) -> bool:
    if np.isnan(want):
        return bool(np.isnan(got))
    return bool(got == want and np.signbit(got) == np.signbit(want))


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_special_value(name: str, row: tuple[float, ...]) -> None:
    *given, want = (np.array([x]).astype(np.float32) for x in row)
    (got,) = evaluate(getattr(mathlib, name), F, *given)
    assert _same(got, want[0]), f"{name}{row[:-1]} is {got!r}, should be {row[-1]!r}"


@pytest.mark.parametrize("name", SPECIAL)
def test_nan_payload_does_not_matter(name: str) -> None:
    nan = np.array(NAN_BITS, np.uint32).view(np.float32)
    for place in range(REFERENCES[name].arity):
        given = [np.full(len(nan), 0.5, np.float32) for _ in range(REFERENCES[name].arity)]
        given[place] = nan
        assert np.isnan(evaluate(getattr(mathlib, name), F, *given)).all()


@pytest.mark.parametrize("name", SPECIAL)
def test_half_has_the_special_values_too(name: str) -> None:
    """Infinities, zeros and NaN are those of F."""
    specials = np.array([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0])
    given = np.meshgrid(*[specials] * REFERENCES[name].arity)
    wide = evaluate(getattr(mathlib, name), F, *(x.ravel().astype(np.float32) for x in given))
    half = evaluate(getattr(mathlib, name), HF, *(x.ravel().astype(np.float16) for x in given))
    assert half.dtype == np.float16
    np.testing.assert_array_equal(half, wide.astype(np.float16))


@pytest.mark.parametrize(("name", "type"), TYPED)
def test_result_keeps_type_and_width_and_rounds_to_nearest(name: str, type: Type) -> None:
    ops, result = build(getattr(mathlib, name), type, REFERENCES[name].arity, 16)
    assert (result.type, result.width) == (type, 16)
    floats = [op for op in ops if op.results[0].type.is_float and isinstance(op, Rounded)]
    assert {op.rounding for op in floats} == {Rounding.RNE}


@pytest.mark.parametrize(("name", "type"), [("exp2", DF), ("sin", UD), ("sqrt", UD)])
def test_other_types_are_refused(name: str, type: Type) -> None:
    with pytest.raises(InternalError, match=name):
        build(getattr(mathlib, name), type, 1, 8)


def test_powers_of_two_are_exact() -> None:
    k = np.arange(-149, 128)
    powers = np.ldexp(1.0, k).astype(np.float32)
    exponents = k.astype(np.float32)
    np.testing.assert_array_equal(evaluate(mathlib.exp2, F, exponents), powers)
    np.testing.assert_array_equal(evaluate(mathlib.log2, F, powers), exponents)
    two = np.full_like(powers, 2.0)
    np.testing.assert_array_equal(evaluate(mathlib.pow, F, two, exponents), powers)


@pytest.mark.parametrize(("name", "sign"), [("sin", -1), ("tanh", -1), ("cos", 1)])
def test_symmetry(name: str, sign: int) -> None:
    x = np.random.default_rng(0).uniform(0, 100, 4096).astype(np.float32)
    function = getattr(mathlib, name)
    np.testing.assert_array_equal(evaluate(function, F, -x), sign * evaluate(function, F, x))
