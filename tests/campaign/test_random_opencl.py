"""Random OpenCL C: what it is made of, and what a campaign says of it."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

import eumu
from eumu.campaign import implementations, random_opencl
from eumu.campaign.random_opencl import Build
from eumu.campaign.tasks import DIFFERS, SAME, Task
from eumu.fuzz.opencl.expressions import Expressions
from eumu.fuzz.opencl.kernels import FEATURES, kernel, source
from eumu.fuzz.opencl.scope import Lvalue, Scope
from eumu.fuzz.opencl.types import UINT, Type
from eumu.platforms import platform
from eumu.zebin import compilers

KERNELS = [kernel(seed) for seed in range(60)]
SEED = 4  # a small one


def test_the_same_seed_makes_the_same_kernel() -> None:
    assert [kernel(seed) for seed in range(60)] == KERNELS
    assert len({made.text for made in KERNELS}) == len(KERNELS)


def test_every_part_of_the_language_comes_up() -> None:
    text = source([kernel(seed) for seed in range(240)])
    words = """
    struct switch while for barrier __local atomic_cmpxchg atomic_add sub_group_reduce_add
    sub_group_scan_inclusive_add read_imageui write_imageui convert_half convert_double
    noinline dead select rotate mad_sat clz convert_uchar_sat
    """
    assert [word for word in words.split() if word not in text] == []
    for pattern in (r"\blong16\b", r"\bchar3\b", r"\.s[0-9a-f]{2,}", r"as_\w+\(", r"pa\["):
        assert re.search(pattern, text), pattern


@pytest.mark.parametrize("form", ["_arithmetic", "_division", "_compared", "_select"])
def test_vectors_of_constants_are_not_computed_with(form: str) -> None:
    """Without optimization, both releases get them wrong (docs/findings.md)."""
    for seed in range(200):
        scope = Scope([Lvalue("v0", UINT), Lvalue("s0.f0[{}]", UINT.of(2), 2)])
        written = getattr(Expressions(Random(seed), scope), form)(UINT.of(4), 0)
        compared = written.split(", ")[-1]  # what a `select` depends on
        assert "v0" in compared or "s0.f0[" in compared, written


def test_nothing_but_variables_is_subtracted_with_saturation() -> None:
    """Without optimization, a signed number less a constant is wrong (docs/findings.md)."""
    wrong = re.compile(r"sub_sat\(.*, \(\(u?int\)\(0x[0-9a-f]+U\)\)\)")
    found = []
    for seed in range(1000):
        scope = Scope([Lvalue("v0", UINT)])
        for type in (UINT, UINT.signed):
            found += [
                type for _ in wrong.findall(Expressions(Random(seed), scope)._builtin(type, 0))
            ]
    assert set(found) == {UINT}


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_sum_with_a_high_half_does_not_overflow(lanes: int) -> None:
    """Half of any number may be added to the high half of any product; signed sums have no more."""
    type = Type("int", 32, True).of(lanes)
    scope = Scope([Lvalue("v0", type)])
    made = [Expressions(Random(seed), scope)._builtin(type, 0) for seed in range(400)]
    sums = [text for text in made if text.startswith("mad_hi(")]
    assert sums
    assert all(text.endswith(f" >> ({type})(1))))") for text in sums), sums


def test_a_device_without_something_gets_no_kernel_with_it() -> None:
    assert random_opencl.features(platform("pvc")) == FEATURES - {"image"}
    assert random_opencl.features(platform("dg2")) == FEATURES - {"double"}
    text = source([kernel(seed, FEATURES - {"image", "double"}) for seed in range(240)])
    assert "image" not in text and "double" not in text


def test_variants_have_no_dead_branches() -> None:
    every = (kernel(seed) for seed in range(1000))
    chosen = next(made for made in every if "// dead {" in made.text and "// live" in made.text)
    other = chosen.variant()
    assert "if (dead[" in chosen.text and "dead[" not in other.text
    assert other.text.count("{") == other.text.count("}") < chosen.text.count("{")


def test_a_dead_branch_in_another_one_goes_with_it() -> None:
    every = [kernel(seed) for seed in range(400)]
    inner = re.compile(r"// dead {\n((?!.*// } dead).*\n)*.*// dead {")
    nested = [made for made in every if inner.search(made.text)]
    assert nested
    for made in nested:
        text = made.variant().text
        assert "// } dead" not in text and text.count("{") == text.count("}")


def _shown(monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    first = compilers.choose(platform("apl"))
    built = [Build(first, is_fast=True), Build(first, "-cl-opt-disable")]
    monkeypatch.setattr(random_opencl, "builds", lambda *_, **__: built)
    (found,) = random_opencl.run(Task("random-opencl", "apl", SEED, 1))
    return found.kind, found.sort


@pytest.mark.skipif(not compilers.installed(), reason="ocloc is not installed")
def test_a_kernel_in_all_its_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _shown(monkeypatch) == (SAME, "")
    monkeypatch.setattr(implementations, "ask", lambda *_: {})
    launched = random_opencl.launched

    def planted(program: eumu.Program, name: str, made: object, *rest: object) -> bytes | str:
        value = launched(program, name, made, *rest)  # type: ignore[arg-type]
        assert isinstance(value, bytes)
        return b"x" + value[1:] if rest[1:3] == ("visa", "jit") else value

    monkeypatch.setattr(random_opencl, "launched", planted)
    assert _shown(monkeypatch) == (DIFFERS, "visa on jit")


@pytest.mark.skipif(not compilers.installed(), reason="ocloc is not installed")
def test_the_same_code_of_two_builds_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compilers.choose(platform("apl"))
    built = [Build(first), Build(first, width=32), Build(first, "-cl-opt-disable")]
    monkeypatch.setattr(random_opencl, "builds", lambda *_: built)
    monkeypatch.setattr(implementations, "ask", lambda *_: {})
    launched, ran = random_opencl.launched, []

    def counted(program: eumu.Program, name: str, *rest: object) -> object:
        ran.append((program[name].simd_width, rest[2]))
        return launched(program, name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(random_opencl, "launched", counted)
    (found,) = random_opencl.run(Task("random-opencl", "apl", SEED, 1))
    assert (found.kind, found.builds) == (SAME, 3)
    assert sorted(ran) == [(8, "native"), (32, "native"), (32, "visa")]


@pytest.mark.skipif(not compilers.installed(), reason="ocloc is not installed")
def test_what_differs_runs_again_as_it_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source of fewer kernels may have other code of them, which does not differ."""
    built = [Build(compilers.choose(platform("apl")), options) for options in ("", "-w")]
    monkeypatch.setattr(random_opencl, "builds", lambda *_: built)
    monkeypatch.setattr(implementations, "ask", lambda *_: {})
    sources, ran = [], set()
    compiled = random_opencl._compiled

    def counted(build: Build, kernels: list[object], *rest: object) -> object:
        sources.append((build.options, len(kernels)))
        return compiled(build, kernels, *rest)  # type: ignore[arg-type]

    def planted(program: eumu.Program, name: str, made: object, *rest: object) -> object:
        ran.add(rest[2])
        return f"{name} on {rest[1]}" if name.endswith(str(SEED)) else b""

    monkeypatch.setattr(random_opencl, "_compiled", counted)
    monkeypatch.setattr(random_opencl, "launched", planted)
    monkeypatch.setattr(random_opencl, "_is_undefined", lambda *_: False)
    one, other = random_opencl.run(Task("random-opencl", "apl", SEED, 2))
    assert (one.kind, other.kind) == (DIFFERS, SAME)
    assert ran == {"interp", "jit"}  # the one that differs ran on both
    assert sources == [("", 2), ("-w", 2)]


def test_builds_of_a_batch() -> None:
    """Every release makes five builds of what both support; the fast engine runs one's."""
    able = [c for c in compilers.installed() if platform("dg2") in c.devices]
    if not able:
        pytest.skip("no ocloc that supports dg2 is installed")
    every = [random_opencl.builds(platform("dg2"), number) for number in range(24)]
    for built in every:
        assert len(set(built)) == len(built) == 5 * len(able)
        assert [b.is_usual for b in built if b.is_fast] == [True]
    fast = [b.compiler for built in every for b in built if b.is_fast]
    assert set(fast) == set(fast[::4]) == set(able)
    assert {b.width for built in every for b in built} == {None, 8, 16, 32}


def test_kernels_without_dead_branches_have_no_variant() -> None:
    every = [kernel(seed) for seed in range(60)]
    assert {made.has_variant for made in every} == {True, False}
    for made in every:
        assert made.has_variant == ("dead[" in made.text)


def test_what_does_not_agree_is_named() -> None:
    made = KERNELS[0]
    from eumu.campaign.votes import Form

    right, wrong = bytes(64), bytes(8) + b"\1" + bytes(55)
    parties = {Form("PoCL"): right, Form("a", "-O2", level="visa", engine="interp"): right}
    found = random_opencl.result(
        "p", made, {**parties, Form("b", "-O2", level="visa", engine="interp"): wrong}, []
    )
    assert (found.kind, found.sort) == (DIFFERS, "b -O2")
    assert found.what.startswith("output 0 of work item 1: 0000000000000001 in b -O2 visa interp")


def test_a_build_that_stores_undefined_values_is_named(
    ocloc: str, newest_ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both releases have this bug (docs/findings.md, values that nothing writes)."""
    monkeypatch.setenv("EUMU_OCLOC", f"{ocloc}:{newest_ocloc}")
    able = [c for c in compilers.installed() if platform("pvc") in c.devices]
    built = [Build(c, options) for c in able for options in ("", "-cl-opt-disable")]
    monkeypatch.setattr(random_opencl, "builds", lambda *_: built)
    (found,) = random_opencl.run(Task("random-opencl", "pvc", 78, 1))
    assert found.kind == DIFFERS
    assert found.sort == ", ".join(f"{compiler.version} -O2" for compiler in able)
    assert found.what.endswith(" -O2 visa interp stores what nothing has written")


@pytest.mark.skipif(not compilers.installed(), reason="ocloc is not installed")
def test_what_a_build_leaves_without_undefined_values_is_not_doubted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without optimization, code copies the argument of an image, which nothing has written."""
    first = compilers.choose(platform("apl"))
    usual, copying, other = Build(first), Build(first, "-cl-opt-disable"), Build(first, width=16)
    built = [usual, copying, other]
    monkeypatch.setattr(random_opencl, "builds", lambda *_: built)
    monkeypatch.setattr(implementations, "ask", lambda *_: {})
    compiled, made = random_opencl._compiled, {}

    def noted(build: Build, *rest: object) -> eumu.Program:
        program = compiled(build, *rest)  # type: ignore[arg-type]
        made[program] = build
        return program

    monkeypatch.setattr(random_opencl, "_compiled", noted)
    left = {usual: bytes(8), copying: bytes(8), other: b"\1" + bytes(7)}
    monkeypatch.setattr(random_opencl, "launched", lambda program, *_: left[made[program]])
    monkeypatch.setattr(
        random_opencl, "_is_undefined", lambda program, *_: made[program] == copying
    )
    (found,) = random_opencl.run(Task("random-opencl", "apl", SEED, 1))
    assert found.sort == f"{first.version} -O2 SIMD16"


def test_no_implementation_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    assert implementations.ask(KERNELS[:1], 60.0) == {}
