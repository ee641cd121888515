"""Negated, inverted and absolute arguments of integer functions and operators, in every place.

The compiler makes modifiers of sources of them, also where the documents give an instruction none.
Without optimization it does not, so that both builds must leave the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
import pytest

import eumu

TYPES: Final = {"int": np.int32, "uint": np.uint32, "ushort": np.uint16, "long": np.int64}
MODIFIED: Final = ("-{}", "~{}", "abs({})")
FORMS: Final = (
    *("popcount(a)", "clz(a)", "ctz(a)", "abs(a)", "rotate(a, b)", "mul_hi(a, b)", "hadd(a, b)"),
    *("add_sat(a, b)", "sub_sat(a, b)", "rhadd(a, b)", "max(a, b)", "abs_diff(a, b)"),
    *("mad_hi(a, b, c)", "mad_sat(a, b, c)", "bitselect(a, b, c)"),
    *("a << (b & 15)", "a >> (b & 15)", "a & b", "a | b", "a ^ b", "a * b", "a / (b | 1)"),
    *("(a >> 5) & 127", "a < b ? c : a"),
    *("(a & 0xff00) | (b & 0xff)", "(a & b) | (~a & c)"),
)
ITEMS: Final = 64


def _expressions(type: str) -> Iterator[str]:
    for form, place, modified in product(FORMS, "abc", MODIFIED):
        # A name alone, not the letter in a function's name.
        parts = form.replace("(", "( ").replace(",", " ,").replace(")", " )").split(" ")
        if place in parts:
            other = f"(({type})({modified.format(place)}))"
            yield " ".join(other if part == place else part for part in parts)


def _source(type: str) -> tuple[str, int]:
    rows = list(_expressions(type))
    stores = "".join(f"  o[{k} * {ITEMS} + i] = {row};\n" for k, row in enumerate(rows))
    values = f"  {type} a = x[i], b = x[i + 1], c = x[i + 2];\n"
    head = f"kernel void k(global {type} *o, global {type} *x) {{\n  int i = get_global_id(0);\n"
    return f"{head}{values}{stores}}}\n", len(rows)


@pytest.mark.parametrize("device", ["pvc", "skl"])
@pytest.mark.parametrize("type", TYPES)
def test_with_and_without_optimization(type: str, device: str, ocloc: str) -> None:
    source, count = _source(type)
    data = np.random.default_rng(1).integers(-90, 90, ITEMS + 2).astype(TYPES[type])
    left = []
    for options in ("", "-cl-opt-disable"):
        machine = eumu.Device(device)
        out, x = machine.array(np.zeros(count * ITEMS, data.dtype)), machine.array(data)
        eumu.build(source, device, options=options)["k"].launch(machine, ITEMS, ITEMS, [out, x])
        left.append(out.numpy().reshape(count, ITEMS))
    wrong = np.flatnonzero((left[0] != left[1]).any(1))
    assert not [list(_expressions(type))[k] for k in wrong]
