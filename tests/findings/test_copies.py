"""Async copies of programs that are built to look for mistakes with them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu.errors import Finding, Severity

SOURCE = Path(__file__).with_name("copies.cl")
LINES = SOURCE.read_text().split("\n")
FORMS = [("pvc", "jit"), ("pvc", "interp"), ("skl", "jit")]


@cache
def program(device: str, check: bool | str = "copies") -> eumu.Program:
    return eumu.load(SOURCE, device=device, check=check)


def found(
    device: str, engine: str, name: str, items: int = 4, check: str = "copies"
) -> list[Finding]:
    dev = eumu.Device(device, engine, check=check)
    data = dev.array(np.arange(items + 4, dtype=np.int32))
    report = program(device)[name].launch(dev, items, 4, [data, eumu.Local(16)])
    return list(report.findings)


@pytest.mark.parametrize(("device", "engine"), FORMS)
@pytest.mark.parametrize(
    ("name", "code", "item", "line"),
    [
        ("other_sizes", "divergent-copy", 3, "scratch, data, n, 0"),
        ("by_one", "divergent-copy", 0, "scratch, data, 1, event"),
        ("forgotten", "copy-not-waited", 0, "async_work_group_copy(scratch, data, 4, 0);"),
        ("no_event", "wait-event", 0, "wait_group_events(1, &event)"),
        ("other_events", "divergent-wait", 1, "events + (get_local_id(0) & 1)"),
    ],
)
def test_each_mistake_is_found_at_its_line(
    device: str, engine: str, name: str, code: str, item: int, line: str, ocloc: str
) -> None:
    first = found(device, engine, name)[0]
    assert (first.code, first.severity) == (code, Severity.ERROR)
    assert first.file.endswith("copies.cl") and line in LINES[first.line - 1]
    assert first.local_id == (item, 0, 0) and first.place is not None
    assert first.place.text == LINES[first.line - 1]


@pytest.mark.parametrize(("device", "engine"), FORMS)
def test_who_did_it_in_which_group(device: str, engine: str, ocloc: str) -> None:
    (only,) = found(device, engine, "forgotten", items=8)
    assert (only.group, only.global_id, only.work_items, only.count) == ((0, 0, 0), (0, 0, 0), 4, 8)


@pytest.mark.parametrize(("device", "engine"), FORMS)
def test_a_copy_races_with_what_comes_before_it(device: str, engine: str, ocloc: str) -> None:
    race = found(device, engine, "not_ordered", check="races,copies")[0]
    assert race.code == "race" and {race.line, race.related[0].line} == {
        next(n for n, line in enumerate(LINES, 1) if "scratch[get_local_id(0)] = 0" in line),
        next(n for n, line in enumerate(LINES, 1) if "not_ordered" in line) + 2,
    }


@pytest.mark.parametrize(("device", "engine"), FORMS)
def test_right_copies_have_no_findings(device: str, engine: str, ocloc: str) -> None:
    assert not found(device, engine, "waited_for", check="all")


COPIED = """
kernel void both_ways(global TYPE *to, const global TYPE *from, local TYPE *tile) {
  size_t n = get_local_size(0), k = n * get_group_id(0);
  event_t event = async_work_group_strided_copy(tile, from + 2 * k, n, 2, 0);
  wait_group_events(1, &event);
  event = async_work_group_copy(to + k, tile, n, 0);
  event = async_work_group_strided_copy(to + k, tile, n / 2, 1, event);
  wait_group_events(1, &event);
  printf("%d\\n", (int)get_group_id(0));
}
"""


@pytest.mark.parametrize(("device", "kind", "size"), [("pvc", "char", 1), ("skl", "int4", 16)])
def test_copies_are_the_compiler_s(device: str, kind: str, size: int, ocloc: str) -> None:
    """Every element comes where it belongs, and what the kernel prints is all that is printed."""
    results = []
    for check in ("copies", False):
        texts: list[str] = []
        dev = eumu.Device(device, check=check, sink=texts.append)
        given = np.random.default_rng(3).integers(0, 256, 2 * 24 * size, np.uint8)
        to, start = dev.array(24 * size, np.uint8), dev.array(given)
        args = [to, start, eumu.Local(12 * size)]
        built = eumu.build(COPIED, device, f"-DTYPE={kind}", check=check)
        report = built["both_ways"].launch(dev, 24, 12, args)
        assert not report.findings
        results.append((to.numpy().tobytes(), sorted("".join(texts).split())))
    assert results[0] == results[1] and results[0][1] == ["0"] * 12 + ["1"] * 12


def test_a_program_is_built_for_its_device(ocloc: str) -> None:
    """A device that looks for mistakes gets such a program; what is built already, does not."""
    text = "kernel void k(global int *p, local int *q) { async_work_group_copy(q, p, 4, 0); }"
    dev = eumu.Device("pvc", check="copies")
    args = [dev.array(4, np.int32), eumu.Local(16)]
    built = eumu.build(text, dev)["k"].launch(dev, 4, 4, args).findings
    assert [(f.code, f.file, f.line) for f in built] == [("copy-not-waited", "program.cl", 1)]
    assert not eumu.build(text, dev, check=False)["k"].launch(dev, 4, 4, args).findings
    assert not eumu.build(text, "pvc")["k"].launch(dev, 4, 4, args).findings


def test_a_source_that_cannot_be_checked_is_built_as_it_is(ocloc: str) -> None:
    text = """
        #define __auto_type int
        kernel void k(global int *p, local int *q) {
          event_t e = async_work_group_copy(q, p, 4, 0);
          wait_group_events(1, &e);
        }"""
    program = eumu.build(text, "pvc", check="copies")
    assert [(d.code, d.severity) for d in program.warnings] == [
        ("build-unchecked", Severity.WARNING)
    ]
    with pytest.raises(eumu.BuildError) as caught:
        eumu.build("kernel void k(local int *q) { async_work_group_copy(q); }", "pvc", check="all")
    assert caught.value.diagnostics[0].span is not None
    assert caught.value.diagnostics[0].span.line == 1
