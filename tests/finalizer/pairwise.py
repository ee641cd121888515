"""Every pairwise case through Intel's finalizer: what each shows, by itself.

Cases go through in batches.  A batch that the finalizer refuses, or that cannot
run, is divided, so that each case has a verdict of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from eumu.compare.differential import Pair, grid, pairs
from eumu.compare.finalizer import Refusal
from eumu.errors import BuildError, Fault, Unsupported
from eumu.exec.host import Engine
from eumu.fuzz.verdicts import SAME, reason
from eumu.fuzz.vocabulary import name, vectors
from eumu.isa.kinds.variables import Variable
from eumu.text import parse
from finalizer.cases import Batch, Numbered, batch
from finalizer.explained import made_wrong, may_differ
from finalizer.witness import SCRATCH_BYTES, differences
from oracle.pairwise import ACTIVE, cases, has_cases
from visa_thread import FlatHost

OPCODES: Final = {name(o): o for o in vectors("skl") if has_cases(o, "skl")}
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


def levels_differ(made: Batch, pair: Pair, engines: Sequence[Engine]) -> list[str]:
    """Where native code leaves something else on any engine than the text on the first, in words.

    That both engines do the same with the text is what `oracle/test_pairwise.py` says.
    """
    (main,) = parse(made.harness.text, "cases").kernels
    types = {d.name: (d.type, d.count) for d in main.declarations if isinstance(d, Variable)}
    want = outcome(made, pair, "visa", engines[0])
    return [
        difference
        for engine in engines
        for difference in differences(types, want, outcome(made, pair, "native", engine))
    ]


def verdicts(numbered: Numbered, engines: Sequence[Engine]) -> Iterator[tuple[int, str]]:
    """Of each case: SAME, why it is refused, or what differs; and if known, why.

    Those that can have no native code go alone.
    """
    alone = [(k, case) for k, case in numbered if made_wrong(case)]
    others = [(k, case) for k, case in numbered if not made_wrong(case)]
    batches = [others[k : k + _TOGETHER] for k in range(0, len(others), _TOGETHER)]
    for some in [*([one] for one in alone), *batches]:
        yield from _of(some, engines)


def every_case(opcode: str) -> Numbered:
    """The cases of an instruction, with their numbers."""
    return list(enumerate(cases(OPCODES[opcode], "skl")))


def _of(numbered: Numbered, engines: Sequence[Engine]) -> Iterator[tuple[int, str]]:
    made = batch(numbered)
    (pair,) = pairs([made.harness])
    wrong = ""
    found: list[str] = []
    if isinstance(pair.native, Refusal):
        wrong = f"refused: {reason(pair.native)}"
    else:
        try:
            found = levels_differ(made, pair, engines)
        except (BuildError, Fault, Unsupported) as error:
            wrong = f"differs: {str(error).splitlines()[-1]}"
    if wrong and len(numbered) > 1:
        half = len(numbered) // 2
        yield from _of(numbered[:half], engines)
        yield from _of(numbered[half:], engines)
        return
    seen = {int(m[1]): d for d in found if (m := _NUMBER.match(d))}
    for number, case in numbered:
        says = wrong or (f"differs: {seen[number]}" if number in seen else SAME)
        known = made_wrong(case) if wrong else ""
        if not wrong.startswith("refused"):  # code that is wrong may be no code at all
            known = known or may_differ(case)
        yield number, f"explained: {known}" if says != SAME and known else says
