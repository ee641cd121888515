"""Float instructions against correctly rounded rational arithmetic, in every rounding mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import host
from eumu.fuzz.edges import EDGES
from eumu.types import DF, HF, INTEGERS, UB, UD, UQ, UW, B, D, F, Q, Type, W
from oracle import exact
from oracle.exact import FORMATS, Format, same
from oracle.lanes import pairs, run, value

WITHOUT_HALVES = replace(host(), features=host().features.replace("+avx512fp16", "-avx512fp16"))
ENGINES = {"interp": Interpreter(), "jit": Jit(), "float": Jit(processor=WITHOUT_HALVES)}
# cr0 bits 5:4.
MODES = {"rne": 0x00, "ru": 0x10, "rd": 0x20, "rtz": 0x30}
FLOATS = (HF, F, DF)
engines = pytest.mark.parametrize("engine", ENGINES)
types = pytest.mark.parametrize("type", FLOATS, ids=str)
modes = pytest.mark.parametrize("mode", MODES)

Oracle = Callable[..., int]


def rounded(template: str, mode: str) -> str:
    """The instruction between two switches of the rounding mode."""
    if mode == "rne":
        return template
    switch = f"xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {MODES[mode]:#x}:ud"
    return f"{switch}\n    {template}\n    {switch}"


def check(
    engine: str, template: str, type: Type, count: int, oracle: Oracle, mode: str = "rne",
    **options: Any,
) -> None:  # fmt: skip
    f = FORMATS[type.name]
    columns = pairs(*[type] * count)
    if count == 3:
        rng = np.random.default_rng(1)
        keep = rng.permutation(len(columns[0]))[:640]
        columns = [[c[k] for k in keep] for c in columns]
    got = run(rounded(template, mode), type, [type] * count, columns, ENGINES[engine], **options)
    for row, bits in zip(zip(*columns, strict=True), got, strict=True):
        want = oracle(f, *row, mode)
        shown = [hex(x) for x in row]
        assert same(f, bits, want), f"{template} {type} {mode} {shown}: {bits:#x} != {want:#x}"


@engines
@modes
@types
def test_add(type: Type, mode: str, engine: str) -> None:
    check(engine, "add (M1, 16) {d} {x} {y}", type, 2, exact.add, mode)


@engines
@modes
@types
def test_mul(type: Type, mode: str, engine: str) -> None:
    check(engine, "mul (M1, 16) {d} {x} {y}", type, 2, exact.mul, mode)


@engines
@modes
@types
def test_mad_rounds_once(type: Type, mode: str, engine: str) -> None:
    check(engine, "mad (M1, 16) {d} {x} {y} {z}", type, 3, exact.fma, mode)


@engines
@modes
def test_mad_of_halves_near_ties(mode: str, engine: str) -> None:
    """Sums that lie, by less than float shows, above or below the middle between two halves."""
    f, count = FORMATS["hf"], 64
    z = [0x6400 + k for k in range(count)]  # 1024 + k: 1 is the distance of halves
    below = [0x3801] * count, [0x3BFE] * count  # (1 + 2**-10) / 2 * (1 - 2**-10) = 0.5 - 2**-21
    above = [0x3816] * count, [0x3BD5] * count  # 0.5 + 1.9e-5; that of floats is 1.2e-4
    for x, y in (below, above, ([0xB801] * count, below[1]), ([0xB816] * count, above[1])):
        columns = [x, y, z]
        got = run(
            *(rounded("mad (M1, 16) {d} {x} {y} {z}", mode), HF, [HF] * 3, columns),
            ENGINES[engine],
        )
        for row, bits in zip(zip(*columns, strict=True), got, strict=True):
            want = exact.fma(f, *row, mode)
            assert same(f, bits, want), f"{mode} {[hex(v) for v in row]}: {bits:#x} != {want:#x}"


@engines
@modes
@types
def test_div(type: Type, mode: str, engine: str) -> None:
    check(engine, "div (M1, 16) {d} {x} {y}", type, 2, exact.div, mode)


@engines
@types
def test_sqrt_and_inv(type: Type, engine: str) -> None:
    check(engine, "sqrt (M1, 16) {d} {x}", type, 1, exact.sqrt)
    one = {HF: 0x3C00, F: 0x3F800000, DF: 0x3FF0000000000000}[type]
    check(engine, "inv (M1, 16) {d} {x}", type, 1, lambda f, x, m: exact.div(f, one, x, m))


def _lesser(f: Format, x: int, y: int, mode: str) -> int:
    if f.is_nan(x) or f.is_nan(y):
        return x if f.is_nan(y) else y
    return x if _order(f, x) < _order(f, y) else y


def _greater(f: Format, x: int, y: int, mode: str) -> int:
    if f.is_nan(x) or f.is_nan(y):
        return x if f.is_nan(y) else y
    return x if _order(f, x) >= _order(f, y) else y


def _order(f: Format, x: int) -> Fraction:
    """Infinities as numbers beyond the largest."""
    if f.is_inf(x):
        return Fraction(2) ** (f.emax + 2) * (-1 if x & f.sign else 1)
    return f.value(x)


@engines
@types
def test_min_and_max_prefer_numbers(type: Type, engine: str) -> None:
    check(engine, "min (M1, 16) {d} {x} {y}", type, 2, _lesser)
    check(engine, "max (M1, 16) {d} {x} {y}", type, 2, _greater)


@engines
@types
def test_comparison(type: Type, engine: str) -> None:
    relations: dict[str, Callable[[Fraction, Fraction], bool]] = {
        "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
    }  # fmt: skip
    f = FORMATS[type.name]
    columns = pairs(type, type)
    for name, holds in relations.items():
        template = f"cmp.{name} (M1, 16) {{d}} {{x}} {{y}}"
        got = run(template, D, [type, type], columns, ENGINES[engine])
        for x, y, bits in zip(*columns, got, strict=True):
            unordered = f.is_nan(x) or f.is_nan(y)
            want = name == "ne" if unordered else holds(_order(f, x), _order(f, y))
            assert bits == (0xFFFFFFFF if want else 0), f"{name} {type} {x:#x} {y:#x}"


@engines
def test_saturation(engine: str) -> None:
    """NaN and negatives become 0, numbers above 1 become 1."""

    def saturated(f: Format, x: int, y: int, mode: str) -> int:
        total = exact.add(f, x, y, mode)
        if f.is_nan(total) or total & f.sign or f.is_zero(total):
            return 0
        one = f.round(Fraction(1))
        return one if f.is_inf(total) or f.value(total) > 1 else total

    for type in FLOATS:
        check(engine, "add.sat (M1, 16) {d} {x} {y}", type, 2, saturated)


@engines
@pytest.mark.parametrize("name", ["rndd", "rndu", "rnde", "rndz"])
def test_rounding_to_integral(name: str, engine: str) -> None:
    more = [0x3F000000, 0xBF000000, 0x3FC00000, 0x40200000, 0xC0200000, 0x4B000001, 0x4AFFFFFF]
    f = FORMATS["f"]
    columns = [EDGES["f"] + more]
    got = run(f"{name} (M1, 16) {{d}} {{x}}", F, [F], columns, ENGINES[engine])
    for x, bits in zip(columns[0], got, strict=True):
        if f.is_nan(x) or f.is_inf(x):
            want = x
        else:
            number = f.value(x)
            whole = {
                "rndd": number.__floor__(), "rndu": number.__ceil__(),
                "rnde": round(number), "rndz": number.__trunc__(),
            }[name]  # fmt: skip
            want = f.round(Fraction(whole), "rne", x & f.sign)
        assert same(f, bits, want), f"{name} {x:#x}: {bits:#x} != {want:#x}"


def _whole(f: Format, x: int) -> int:
    """Toward zero; infinities beyond every integer type."""
    return (-1 if x & f.sign else 1) << 70 if f.is_inf(x) else int(f.value(x))


@engines
@pytest.mark.parametrize("dst", INTEGERS, ids=str)
@types
def test_float_to_integer_truncates_and_clamps(type: Type, dst: Type, engine: str) -> None:
    f = FORMATS[type.name]
    limits = [f.round(Fraction(v)) for v in (dst.maximum, dst.minimum, dst.maximum - 1, -1, 255)]
    columns = [EDGES[type.name] + limits]
    got = run("mov (M1, 16) {d} {x}", dst, [type], columns, ENGINES[engine])
    for x, bits in zip(columns[0], got, strict=True):
        want = 0 if f.is_nan(x) else min(max(_whole(f, x), dst.minimum), dst.maximum)
        assert value(dst, bits) == want, f"{dst} <- {type} {x:#x}: {bits:#x}, want {want}"


@engines
@modes
@pytest.mark.parametrize("source", [UB, B, UW, W, UD, D, UQ, Q], ids=str)
@types
def test_integer_to_float(type: Type, source: Type, mode: str, engine: str) -> None:
    f = FORMATS[type.name]
    columns = [EDGES[source.name]]
    template = rounded("mov (M1, 16) {d} {x}", mode)
    got = run(template, type, [source], columns, ENGINES[engine])
    for x, bits in zip(columns[0], got, strict=True):
        want = f.round(Fraction(value(source, x)), mode)
        assert bits == want, f"{type} <- {source} {x:#x} {mode}: {bits:#x} != {want:#x}"


@engines
@modes
@pytest.mark.parametrize("source", FLOATS, ids=str)
@types
def test_float_to_float(type: Type, source: Type, mode: str, engine: str) -> None:
    f, g = FORMATS[source.name], FORMATS[type.name]
    ties = [f.round(Fraction(2**12 + k, 2**12)) for k in range(1, 8)] if source is not HF else []
    columns = [EDGES[source.name] + ties]
    template = rounded("mov (M1, 16) {d} {x}", mode)
    got = run(template, type, [source], columns, ENGINES[engine])
    for x, bits in zip(columns[0], got, strict=True):
        want = x if type is source else exact.convert(f, g, x, mode)
        assert same(g, bits, want), f"{type} <- {source} {x:#x} {mode}: {bits:#x} != {want:#x}"


@engines
@types
def test_denormals_flush_without_the_prologue(type: Type, engine: str) -> None:
    """A thread starts with cr0 = 0: denormal operands and results are zeros of their sign."""
    f = FORMATS[type.name]

    def flush(x: int) -> int:
        small = x & (f.sign - 1) < 1 << (f.precision - 1)
        return x & f.sign if small else x

    def flushed(f: Format, x: int, y: int, mode: str) -> int:
        return flush(exact.add(f, flush(x), flush(y), mode))

    check(engine, "add (M1, 16) {d} {x} {y}", type, 2, flushed, keep_denormals=False)
