"""Pairwise cases as complete texts: each case loads its own variables and stores them at once.

So registers are needed for one case at a time, and the finalizer has nothing to spill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eumu.compare.harness import Harness, Transfers
from eumu.isa.kinds.variables import Variable
from eumu.program import Kernel
from eumu.text import parse
from oracle.pairwise import FILL, FLAG_BEFORE, PREDICATE_BITS, SIMD, Case, has_flag, kernel, lines

Numbered = Sequence[tuple[int, Case]]


@dataclass(frozen=True)
class Batch:
    """Some cases in one kernel, and what their variables hold at first."""

    cases: Numbered
    harness: Harness
    before: dict[str, bytes]


def batch(cases: Numbered) -> Batch:
    plain = kernel(list(cases))
    (main,) = parse(plain, "pairwise").kernels
    transfers = Transfers(main)
    body = list(_body(cases, main, transfers))
    head = [x for x in plain.splitlines() if x.startswith((".version", ".kernel ", ".decl"))]
    text = [*head, *transfers.declarations(), f".kernel_attr SimdSize={SIMD}"]
    text += ['.function "H_START"', "H_START:", *transfers.prologue(), *_modes(), *body]
    made = "\n".join([*text, "ret (M1_NM, 1)", ""])
    harness = Harness(made, transfers.places, transfers.pitch, 1)
    return Batch(cases, harness, _before(cases, main))


def _modes() -> Iterator[str]:
    yield "or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud"
    yield from (f"setp (M1_NM, {SIMD}) {n} {bits:#x}:ud" for n, bits in PREDICATE_BITS.items())


def _body(cases: Numbered, main: Kernel, transfers: Transfers) -> Iterator[str]:
    known = [d.name for d in main.declarations if isinstance(d, Variable)]
    for number, case in cases:
        own = [n for n in known if n.rpartition("_")[2] == str(number) or n[1:] == str(number)]
        for name in own:
            transfers.add(name)
        yield from transfers.loads(own)
        if has_flag(case):
            yield f"setp (M1_NM, {SIMD}) PD{number} {FLAG_BEFORE:#x}:ud"
        yield from lines(case, number)
        if has_flag(case):
            yield f"mov (M1_NM, 1) B{number}(0,0)<1> PD{number}"
        yield from transfers.stores(n for n in own if n[0] in "DCB")


def _before(cases: Numbered, main: Kernel) -> dict[str, bytes]:
    known = {d.name: d for d in main.declarations if isinstance(d, Variable)}
    found = {n: bytes([FILL]) * v.size for n, v in known.items() if n[0] in "DC"}
    for number, case in cases:
        for k, source in enumerate(case.sources):
            if source.kind != "i":
                variable = known[f"S{k}_{number}"]
                lanes = source.lanes * (variable.count // len(source.lanes) + 1)
                size = source.type.size
                data = b"".join(x.to_bytes(size, "little") for x in lanes[: variable.count])
                found[variable.name] = data
    return found
