"""Who is blamed where forms of a program differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eumu.campaign.votes import Form, Value, culprits, right

POCL = Form("PoCL")


def forms(compiler: str, options: str = "-O2") -> list[Form]:
    return [
        Form(compiler, options, level=level, engine=engine)
        for level in ("visa", "native")
        for engine in ("interp", "jit")
    ]


EVERY = [POCL, *forms("22.43"), *forms("22.43", "-O0"), *forms("26.27")]


def seen(*wrong: Form) -> dict[Form, Value]:
    return {form: b"wrong" if form in wrong else b"right" for form in EVERY}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([], []),
        ([POCL], ["implementation PoCL"]),
        (forms("22.43"), ["22.43 -O2"]),
        ([*forms("22.43"), *forms("26.27")], ["22.43 -O2", "26.27 -O2"]),
        ([f for f in forms("22.43") if f.level == "native"], ["native level of 22.43"]),
        ([f for f in forms("22.43") if f.engine == "jit"], ["engine jit on native and visa"]),
        (forms("26.27")[:1], ["visa on interp"]),
    ],
)
def test_the_one_that_is_alone_is_blamed(wrong: list[Form], said: list[str]) -> None:
    assert culprits(seen(*wrong)) == said


def test_levels_and_engines_of_a_build_are_one_voice() -> None:
    """Four forms of one build do not outvote two other parties."""
    four = {form: b"a" for form in forms("22.43")}
    assert right({**four, POCL: b"b", Form("26.27", "-O2", level="visa"): b"b"}) == b"b"


def test_two_against_two_are_decided_by_another_implementation() -> None:
    one, other = forms("22.43")[0], forms("26.27")[0]
    assert culprits({one: b"a", other: b"b"}) == ["undecided"]
    assert culprits({one: b"a", other: b"b", POCL: b"b", replace(one, options="-O0"): b"a"}) == [
        "22.43 -O0",
        "22.43 -O2",
    ]


def test_a_variant_is_a_build_of_its_own() -> None:
    plain = forms("22.43")[0]
    without = replace(plain, variant=True)
    found: dict[Form, Value] = {plain: b"a", without: b"b", POCL: b"a"}
    assert culprits(found) == ["22.43 -O2 without dead branches"]


def test_what_comes_of_undefined_values_has_no_vote() -> None:
    """Two releases with the same mistake are more than one build without it."""
    seen = {
        Form(c, o, level="visa", engine="interp"): (b"right" if o == "-O0" else b"wrong")
        for c in ("22", "26")
        for o in ("-O2", "-O2 SIMD16", "-O0")
    }
    assert culprits(seen) == ["22 -O0", "26 -O0"]
    wrong = ["22 -O2", "22 -O2 SIMD16", "26 -O2", "26 -O2 SIMD16"]
    assert culprits(seen, {b"wrong"}) == wrong
    assert culprits(seen, {b"wrong", b"right"}) == culprits(seen)
