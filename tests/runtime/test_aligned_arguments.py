"""Arguments that are aligned to more than a register, behind those that come with the thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu

ITEMS = 32
# Parameters besides o, a and b, in front of them or behind; values; and what of them is added.
FORMS: dict[str, tuple[list[Any], str]] = {
    "local int16 *l": ([eumu.Local(64 * ITEMS)], "((local int *)l)[i ^ 1]"),
    "local long16 *l": ([eumu.Local(128 * ITEMS)], "((local int *)l)[i ^ 1]"),
    "local int8 *l": ([eumu.Local(32 * ITEMS)], "((local int *)l)[i ^ 1]"),
    "int16 q": ([np.arange(16, dtype=np.int32)], "((int *)&q)[i & 15]"),
    "long16 q": ([np.arange(16, dtype=np.int64)], "(int)((long *)&q)[i & 15]"),
    "local int16 *l, int r, int16 q, local long16 *m": (
        [eumu.Local(64 * ITEMS), 7, np.arange(16, dtype=np.int32), eumu.Local(128)],
        "((local int *)l)[i ^ 1] + r + q.s9",
    ),
}


def _source(form: str, added: str, *, first: bool, simd: int) -> str:
    usual = "global int *o, int a, int b"
    parameters = f"{form}, {usual}" if first else f"{usual}, {form}"
    stored = "((local int *)l)[i] = 2 * i; barrier(CLK_LOCAL_MEM_FENCE);" if "*l" in form else ""
    return (
        f"__attribute__((intel_reqd_sub_group_size({simd})))\n"
        f"kernel void k({parameters}) {{\n  int i = get_global_id(0); {stored}\n"
        f"  o[i] = 100 * a + 1000 * b + {added};\n}}\n"
    )


def _wanted(form: str) -> Any:
    i = np.arange(ITEMS)
    if form.startswith("local"):
        return 4300 + 2 * (i ^ 1) + (16 if "int r" in form else 0)
    return 4300 + (i & 15)


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("release", "device", "simd"),
    [
        *(("ocloc", "dg2", simd) for simd in (8, 16, 32)),
        *(("ocloc", "tgllp", 16), ("ocloc", "pvc", 16), ("ocloc", "pvc", 32), ("ocloc", "skl", 8)),
        *(("newest_ocloc", "dg2", simd) for simd in (8, 16)),
        *(("newest_ocloc", device, 16) for device in ("pvc", "bmg", "ptl")),
    ],
)
def test_values_arrive(
    release: str, device: str, simd: int, form: str, first: bool,
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("EUMU_OCLOC", request.getfixturevalue(release))
    machine = eumu.Device(device, "interp")
    values, added = FORMS[form]
    out = machine.array(np.zeros(ITEMS, np.int32))
    usual = [out, 3, 4]
    source = _source(form, added, first=first, simd=simd)
    kernel = eumu.build(source, device, options="-cl-std=CL2.0")["k"]
    arguments = [*values, *usual] if first else [*usual, *values]
    for _ in range(2):  # the second launch repeats the first with its values put where they go
        kernel.launch(machine, ITEMS, ITEMS, arguments)
    assert (out.numpy() == _wanted(form)).all()
