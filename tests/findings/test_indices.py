"""Indices outside of arrays that are parts of variables."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu.errors import Finding
from eumu.zebin import indices

SOURCE = Path(__file__).with_name("indices.cl")
FORMS = [("pvc", "jit"), ("pvc", "interp"), ("skl", "jit")]


@cache
def program(device: str) -> eumu.Program:
    return eumu.load(SOURCE, device=device, check="indices")


def found(device: str, engine: str, name: str, check: str = "indices") -> list[Finding]:
    dev = eumu.Device(device, engine, check=check)
    arrays = [dev.array(np.ones(n, np.int32)) for n in (16, 16 * 6, 16 * 6, 16 * 6)]
    kernel = program(device)[name]
    try:
        return list(kernel.launch(dev, 16, 16, arrays[: len(kernel.args)]).findings)
    except eumu.Fault as fault:  # outside of all constants
        return list(fault.findings)


@pytest.mark.parametrize(("device", "engine"), FORMS)
@pytest.mark.parametrize(
    ("name", "said", "items", "first"),
    [
        ("member", "index 2 is outside of array 'b' of 2 elements", 14, 2),
        ("inner", "index 4 is outside of array 'grid' of 4 elements", 12, 4),
        ("in_constants", "index -1 is outside of array 'TABLE' of 3 elements", 13, 0),
        ("behind_a_pointer", "index 2 is outside of array 'b' of 2 elements", 14, 2),
    ],
)
def test_each_is_found_with_its_array(
    device: str, engine: str, name: str, said: str, items: int, first: int, ocloc: str
) -> None:
    only, *more = found(device, engine, name)
    assert not more
    assert (only.code, only.count, only.local_id) == ("array-index", items, (first, 0, 0))
    assert only.reason.replace("an array", "array 'grid'") == said
    assert only.column and only.place is not None and "out[i] = " in only.place.text


@pytest.mark.parametrize(("device", "engine"), FORMS)
def test_what_is_inside_has_no_finding(device: str, engine: str, ocloc: str) -> None:
    assert not found(device, engine, "all_inside", "indices,races,undefined")


@pytest.mark.parametrize(("device", "engine"), FORMS)
def test_the_last_member_behind_a_pointer_may_go_on(device: str, engine: str, ocloc: str) -> None:
    assert not found(device, engine, "open_ends")


def test_generic_pointers_are_followed(ocloc: str) -> None:
    built = eumu.load(SOURCE, device="dg2", options="-cl-std=CL2.0", check="indices")
    dev = eumu.Device("dg2", check="indices")
    out, given = (dev.array(np.zeros(n, np.int32)) for n in (16, 16 * 6))
    only, *more = built["generic_pointer"].launch(dev, 16, 16, [out, given]).findings
    assert not more
    assert only.reason == "index 2 is outside of array 'b' of 2 elements"


def test_a_module_that_is_damaged_is_refused() -> None:
    words = np.array([0x07230203, 0x10400, 0, 5, 0, 9 << 16 | 54, 1], np.uint32)
    for given in (words, words[:5]):
        with pytest.raises(ValueError, match=r"damaged|no function"):
            indices.with_checks(given.tobytes())


def test_a_program_that_is_not_built_from_text_says_so() -> None:
    program = Path(__file__).parents[1] / "kernels" / "bin" / "pvc" / "saxpy.bin"
    for check, told in (("indices,races", "indices"), (("copies",), "copies"), ("all", "")):
        warnings = [
            w for w in eumu.load(program, check=check).warnings if w.code.startswith("build")
        ]
        assert [w.message for w in warnings] == (
            [f"saxpy.bin is not checked for mistakes with {told}: eumu does not build it from text"]
            if told
            else []
        )
