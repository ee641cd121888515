"""How near a launch was to the hardware: which of its instructions are not exact, and what their
results reached.

A *label* is a bit for each instruction of a function that is not exact.  The interpreter keeps the
labels of every value (:mod:`eumu.exec.interp.labels`); what steers by them is written down here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from enum import Enum
from typing import Final

from eumu.ir import Function
from eumu.ir.fidelity import EXACT, Fidelity
from eumu.records import dataclass

_BITS: Final = 64
# The last labels stand for all instructions of a level that have none of their own.
_SHARED: Final = {"ulp": _BITS - 2, "approximate": _BITS - 1}


class Sink(Enum):
    """What a value steers."""

    ADDRESS = "address"  # of memory, a surface or a register
    BRANCH = "branch"  # where lanes go
    PREDICATE = "predicate"  # which lanes write, access memory, or take which source of a sel
    ATOMIC = "atomic"  # what an atomic operation is given
    MESSAGE = "message"  # coordinates and data of an image, a sampler or another shared function


def labels(function: Function) -> dict[int, int]:
    """The label of each instruction that is not exact."""
    by_value: dict[int, int] = {}
    for place, (inst, fidelity) in enumerate(sorted(function.fidelity.items())):
        bit = place if place < _BITS - len(_SHARED) else _SHARED[fidelity.level]
        by_value[inst] = 1 << bit
    return by_value


@dataclass(slots=True)
class Use:
    """What an instruction did with values that are not exact: from which instructions, how often
    in a lane."""

    sources: int = 0
    lanes: int = 0


@dataclass(slots=True)
class Followed:
    """What is known of one launch; `blocks` is how many threads ran each block."""

    function: Function | None = None
    blocks: Counter[int] = field(default_factory=Counter)
    uses: dict[tuple[int, Sink], Use] = field(default_factory=dict)

    def reached(self, inst: int, sink: Sink, sources: int, lanes: int) -> None:
        """An instruction has used values of these labels in so many lanes."""
        use = self.uses.setdefault((inst, sink), Use())
        use.sources |= sources
        use.lanes += lanes

    def issued(self) -> Counter[int]:
        """How often each instruction was issued by a thread."""
        counts: Counter[int] = Counter()
        for block, threads in self.blocks.items():
            assert self.function is not None
            code = self.function.blocks[block]
            insts = {op.inst for op in code.ops} | ({code.end.inst} if code.end else set())
            counts.update({inst: threads for inst in insts if inst >= 0})
        return counts

    def sources(self, use: Use) -> Iterator[int]:
        """The instructions from which a use may come; of a shared label, all that have it."""
        assert self.function is not None
        for inst, label in labels(self.function).items():
            if use.sources & label:
                yield inst

    def level(self, inst: int) -> Fidelity:
        """How near an instruction is."""
        assert self.function is not None
        return self.function.fidelity.get(inst, EXACT)
