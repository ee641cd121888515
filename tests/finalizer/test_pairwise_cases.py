"""Pairwise cases of each vector instruction of skl through Intel's finalizer, on both engines.

The first cases of each; as vISA all are run on both engines in `tests/oracle`.
"""

from __future__ import annotations

import numpy as np
import pytest

from eumu.compare.differential import Pair, grid, pairs
from eumu.compare.finalizer import Refusal
from eumu.exec.host import Engine
from eumu.isa.kinds.variables import Variable
from eumu.text import parse
from finalizer.cases import Batch, batch
from finalizer.explained import PAIRWISE, PAIRWISE_REFUSED, made_wrong
from finalizer.witness import SCRATCH_BYTES, differences, engines
from oracle.pairwise import ACTIVE, cases
from visa_thread import FlatHost
from vocabulary import name, vectors

COUNT = 14
OPCODES = {name(o): o for o in vectors("skl") if cases(o, "skl")}


def finalized(opcode: str) -> tuple[Batch, Pair]:
    """Alone, so that each worker of a parallel run makes only what it compares."""
    numbered = enumerate(cases(OPCODES[opcode], "skl")[:COUNT])
    made = batch([(k, c) for k, c in numbered if not made_wrong(c)])
    (pair,) = pairs([made.harness])
    return made, pair


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


@pytest.mark.slow
@pytest.mark.parametrize("opcode", OPCODES)
def test_native_code_does_what_the_text_says(opcode: str, genx_ir: str) -> None:
    made, pair = finalized(opcode)
    if isinstance(pair.native, Refusal):
        assert opcode in PAIRWISE_REFUSED, pair.native
        return
    assert opcode not in PAIRWISE_REFUSED
    (main,) = parse(made.harness.text, "cases").kernels
    types = {d.name: (d.type, d.count) for d in main.declarations if isinstance(d, Variable)}
    interpreter, fast = engines().values()
    want, got = (outcome(made, pair, level, interpreter) for level in ("visa", "native"))
    assert not differences(types, got, outcome(made, pair, "native", fast)), "the engines differ"
    found = differences(types, want, got)
    if opcode in PAIRWISE:
        assert found, "it does not differ any more"
    else:
        assert not found, "\n".join(found[:4])
