"""Every pairwise case through Intel's finalizer: what each shows, by itself.

Cases go through in batches, on the interpreter.  A batch that the finalizer refuses, or that cannot
run, is divided, so that each case has a verdict of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from eumu.compare.differential import Pair, grid, pairs
from eumu.compare.finalizer import Refusal
from eumu.errors import BuildError, Fault, Unsupported
from eumu.exec.host import Engine
from eumu.isa.kinds.variables import Variable
from eumu.text import parse
from finalizer.cases import Batch, Numbered, batch
from finalizer.explained import made_wrong, may_differ
from finalizer.verdicts import SAME, reason
from finalizer.witness import SCRATCH_BYTES, differences, engines
from oracle.pairwise import ACTIVE, cases
from visa_thread import FlatHost
from vocabulary import name, vectors

OPCODES: Final = {name(o): o for o in vectors("skl") if cases(o, "skl")}
_TOGETHER: Final = 32
_NUMBER: Final = re.compile(r"[A-Z]+(\d+)\[")


def outcome(made: Batch, pair: Pair, level: str, engine: Engine) -> dict[str, bytes]:
    """What every destination holds at the end."""
    harness = made.harness
    host = FlatHost(harness.size)
    image = harness.image({n: v for n, v in made.before.items() if n in harness.places})
    host.arena[: len(image)] = np.frombuffer(image, np.uint8)
    launch = grid(pair.function(level), host.base, lanes=ACTIVE, scratch_bytes=SCRATCH_BYTES)
    host.run(launch, engine)
    found = harness.results(bytes(host.results[: harness.size]))
    return {n: data for n, data in found.items() if n[0] in "DCB"}


def levels_differ(made: Batch, pair: Pair, engine: Engine) -> list[str]:
    """Where the native code leaves something else than the text, in words."""
    (main,) = parse(made.harness.text, "cases").kernels
    types = {d.name: (d.type, d.count) for d in main.declarations if isinstance(d, Variable)}
    want, got = (outcome(made, pair, level, engine) for level in ("visa", "native"))
    return differences(types, want, got)


def verdicts(opcode: str) -> Iterator[tuple[int, str]]:
    """Of each case of an instruction: SAME, why it is refused, what differs and, if known, why."""
    numbered = list(enumerate(cases(OPCODES[opcode], "skl")))
    for start in range(0, len(numbered), _TOGETHER):
        yield from _of(numbered[start : start + _TOGETHER])


def _of(numbered: Numbered) -> Iterator[tuple[int, str]]:
    made = batch(numbered)
    (pair,) = pairs([made.harness])
    wrong = ""
    found: list[str] = []
    if isinstance(pair.native, Refusal):
        wrong = f"refused: {reason(pair.native)}"
    else:
        try:
            found = levels_differ(made, pair, engines()["interp"])
        except (BuildError, Fault, Unsupported) as error:
            wrong = f"differs: {str(error).splitlines()[-1]}"
    if wrong and len(numbered) > 1:
        half = len(numbered) // 2
        yield from _of(numbered[:half])
        yield from _of(numbered[half:])
        return
    seen = {int(m[1]): d for d in found if (m := _NUMBER.match(d))}
    for number, case in numbered:
        says = wrong or (f"differs: {seen[number]}" if number in seen else SAME)
        why = made_wrong(case) or may_differ(case)
        yield number, f"explained: {why}" if says.startswith("differs") and why else says
