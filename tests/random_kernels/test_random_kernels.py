"""Random kernels on both engines: 2000 here, as many as wanted by `run.py`."""

from __future__ import annotations

import os
import time

import pytest

from eumu import verify
from eumu.errors import Severity
from eumu.exec.jit.codegen import updates as codegen
from eumu.fuzz import families
from eumu.fuzz.generator import Generator
from eumu.fuzz.machine import Bundle, differences
from eumu.fuzz.shrink import shrink
from eumu.fuzz.statements import Node, Section
from eumu.fuzz.vocabulary import name, vectors
from eumu.platforms import platform
from random_kernels import isolated, run
from random_kernels.run import KERNELS, NEWER, bundle, each

COUNT = 2000
PARTS = 10  # tests that the bundles are shared out to
LIMIT = 600.0  # seconds of processor time for a bundle


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_engines_agree(part: int) -> None:
    """With little effort of LLVM's code generator, which is most of the time."""
    for number, wrong, _ in each(range(part, COUNT // KERNELS, PARTS), 0, 1, LIMIT):
        assert not wrong, f"{wrong}; python tests/random_kernels/run.py --only {number}"


def test_engines_agree_on_fully_compiled_code() -> None:
    found = differences(bundle(1_000_000))
    assert not found, found


@pytest.mark.slow
def test_engines_agree_on_platforms_of_today() -> None:
    """Four platforms, sub-groups of 16 and of 32."""
    for number, wrong, _ in each(range(NEWER, NEWER + 8), 0, 1, LIMIT):
        assert not wrong, f"{wrong}; python tests/random_kernels/run.py --only {number}"


@pytest.mark.parametrize("number", [*range(9), *range(NEWER, NEWER + 8)])
def test_random_kernels_are_valid(number: int) -> None:
    """The verifier has no objection, so that what runs is what the specification allows."""
    kernels = bundle(number)
    found = verify.check_text(kernels.text(), "random", platform(kernels.device))
    wrong = [str(d) for d in found if d.severity is Severity.ERROR]
    assert not wrong, "\n".join(wrong[:3])


def test_every_family_comes_up() -> None:
    """Every vector instruction of three platforms, and every row of the table of families."""
    seen: dict[str, set[str]] = {}
    for number in range(45):
        made = bundle(number)
        found = seen.setdefault(made.device, set())
        found |= {family for section in made.sections for family in section.families()}
    for device, found in seen.items():
        expected = {name(o) for o in vectors(device)} | families.names(device)
        assert not expected - found, f"{device}: {sorted(expected - found)}"
    assert {f.name for f in families.FAMILIES} <= set().union(*seen.values())


@pytest.mark.parametrize("simd", [8, 16, 32])
@pytest.mark.parametrize("what", ["update", "array"])
def test_updates_are_such_to_the_fast_engine(
    what: str, simd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes each as one, and makes a loop for it, or updates all elements at once."""
    made: list[None] = []
    for way in ("_one_by_one", "_at_once"):
        kept = getattr(codegen, way)
        monkeypatch.setattr(codegen, way, lambda *given, kept=kept: made.append(kept(*given)))
    for seed in range(3):
        generator = Generator(seed, "skl", simd, f"k{seed}")
        node = Node(what, tuple(getattr(generator.updates, what)()))
        assert not differences(Bundle("skl", simd, seed, (Section(seed, (node,)),)))
    assert len(made) == 3


def test_the_same_number_is_the_same_bundle() -> None:
    assert bundle(7).text() == bundle(7).text()
    assert bundle(7).text() != bundle(16).text()


def test_failures_become_small() -> None:
    """A made-up failure, of kernels that multiply high halves, is one instruction in the end."""

    def fails(kernels: Bundle) -> bool:
        return "mulh" in kernels.text()

    start = next(b for b in map(bundle, range(20)) if fails(b))
    small = shrink(start, fails)
    assert len(small.sections) == 1
    assert small.sections[0].nodes <= 2
    again = Bundle.read(small.file())
    assert again.text() == small.text()
    assert again.initial() == small.initial()
    assert not differences(again)


def test_a_process_that_does_not_end_is_a_result() -> None:
    answers = dict(isolated.each(_work, [0.0, 60.0], 2, limit=1.0))
    assert answers == {0.0: "done", 60.0: "no end after 1 s"}


def _work(seconds: float) -> str:
    """Keep the processor busy for so long."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return "done"


def test_what_ends_the_process_at_no_effort_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(number: int, effort: int) -> str:
        if effort == 0 and number == 3:
            os._exit(6)
        return f"{number} at {effort}"

    monkeypatch.setattr(run, "check", check)
    found = {number: answer for number, *answer in run.each([2, 3], 0, 1, 60.0)}
    assert found == {2: ["2 at 0", 0], 3: ["3 at 1", 1]}
    assert list(run.each([3], 1, 1, 60.0)) == [(3, "3 at 1", 1)]
