"""Predicates of every size, combined or not, on lanes of every size and place: as the finalizer.

Each instruction sets a bit of its own where its predicate lets it; a kernel has one form of
predicate, 32 lanes and runs with predicates of many values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from eumu.compare.differential import Pair, grid, pairs
from eumu.compare.finalizer import Refusal
from eumu.compare.harness import Harness, wrap
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.ir import Function
from finalizer.witness import engines
from visa_thread import FlatHost

SIMD = 32
SIZES = (1, 2, 4, 8, 16, 32)
FORMS = ("P", "!P", "P.any", "!P.any", "P.all", "!P.all")
VALUES = (0, 0xFFFF_FFFF, 0xA5C3_0FF1, 1, 0x8000_8080, 0x7FFF_7F7E)
LANES = (32, 11)
CASES = [(count, form) for count in SIZES for form in FORMS]


def places(count: int) -> Iterator[tuple[str, int, int]]:
    """Mask control, execution size and first lane: the first and the last that have bits."""
    for size in SIZES:
        every = [k for k in range(0, count, max(4, size)) if k + size <= count]
        for first in sorted({*every[:1], *every[-1:]}):
            yield f"M{first // 4 + 1}", size, first


def instructions(count: int, form: str) -> Iterator[list[str]]:
    """Lines that set bit {bit} of elements of {Z}, the label {L} being their own."""
    for mask, size, first in places(count):
        row, column = divmod(first, 8)
        place = f"({row},{column})"
        region = "<0;1,0>" if size == 1 else "<1;1,0>"
        yield [
            f"({form}) mov ({mask}, {size}) T{place}<1> {{bit}}:d",
            f"or ({mask}_NM, {size}) {{Z}}{place}<1> {{Z}}{place}{region} T{place}{region}",
            f"mov ({mask}_NM, {size}) T{place}<1> 0:d",
        ]
        yield [
            f"({form}) sel ({mask}, {size}) U{place}<1> {{bit}}:d T{place}{region}",
            f"or ({mask}, {size}) {{Z}}{place}<1> {{Z}}{place}{region} U{place}{region}",
        ]
        # A compare has no predicate: what it finds is one, moved by its bits.
        yield [
            f"cmp.ne ({mask}, {size}) P Q{place}{region} 0:d",
            f"({form}) mov ({mask}, {size}) T{place}<1> {{bit}}:d",
            f"or ({mask}_NM, {size}) {{Z}}{place}<1> {{Z}}{place}{region} T{place}{region}",
            f"mov ({mask}_NM, {size}) T{place}<1> 0:d",
            f"setp (M1_NM, {count}) P BITS(0,0)<0;1,0>",
        ]
        yield [
            f"({form}) goto ({mask}, {size}) {{L}}",
            f"or (M1, {SIMD}) {{Z}}(0,0)<1> {{Z}}(0,0)<1;1,0> {{bit}}:d",
            "{L}:",
        ]
        if size == 1:
            yield [
                f"({form}) jmp ({mask}, 1) {{L}}",
                f"or (M1, {SIMD}) {{Z}}(0,0)<1> {{Z}}(0,0)<1;1,0> {{bit}}:d",
                "{L}:",
            ]


def text(count: int, form: str) -> tuple[str, list[str]]:
    """A kernel, and its variables."""
    lines, names = [], []
    for k, made in enumerate(instructions(count, form)):
        if k % 31 == 0:
            names.append(f"Z{k // 31}")
        words = {"bit": f"{1 << k % 31:#x}", "Z": names[-1], "L": f"L{k}"}
        lines += [line.format(**words) for line in made]
    declared = [f".decl {n} v_type=G type=d num_elts=32 align=GRF" for n in (*names, *"TUQ")]
    head = ['.version 4.1\n.kernel "predicates"', *declared]
    head += [".decl BITS v_type=G type=ud num_elts=1", f".decl P v_type=P num_elts={count}"]
    head += [f".kernel_attr SimdSize={SIMD}", f"setp (M1_NM, {count}) P BITS(0,0)<0;1,0>"]
    return "\n".join([*head, *lines, "ret (M1, 1)", ""]), [*names, "Q", "T", "U", "BITS"]


@cache
def finalized() -> dict[tuple[int, str], Pair]:
    made = pairs(wrap(*text(*case)) for case in CASES)
    return dict(zip(CASES, made, strict=True))


def run(function: Function, harness: Harness, bits: int, lanes: int, engine: Engine) -> bytes:
    host = FlatHost(harness.size)
    compared = b"".join((bits >> k & 1).to_bytes(4, "little") for k in range(SIMD))
    image = harness.image({"BITS": bits.to_bytes(4, "little"), "Q": compared})
    host.arena[: len(image)] = list(image)
    host.run(grid(function, host.base, lanes=lanes), engine)
    found = harness.results(bytes(host.results[: harness.size]))
    return b"".join(found[n] for n in sorted(found) if n.startswith("Z"))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", SIZES)
def test_the_finalizer_agrees(count: int, form: str, genx_ir: str) -> None:
    pair = finalized()[count, form]
    assert not isinstance(pair.native, Refusal), pair.native
    functions = {level: pair.function(level) for level in ("visa", "native")}
    for lanes in LANES:
        for bits in VALUES:
            want = run(functions["visa"], pair.harness, bits, lanes, Interpreter())
            for level, function in functions.items():
                for name, engine in engines().items():
                    got = run(function, pair.harness, bits, lanes, engine)
                    assert got == want, (level, name, hex(bits), lanes, _first(got, want))


def _first(x: bytes, y: bytes) -> str:
    at = next(k for k in range(0, len(x), 4) if x[k : k + 4] != y[k : k + 4])
    a, b = (int.from_bytes(v[at : at + 4], "little") for v in (x, y))
    return f"Z{at // 128}[{at % 128 // 4}] is {a:#x}, vISA {b:#x}"
