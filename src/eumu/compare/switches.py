"""Which part of Intel's compiler makes a difference: switched off, it makes none.

Intel's compiler reads variables of its environment, in its releases, too.  Those here change the
code of 22.43; most names of its passes are read by no release, and change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from eumu.compare.search import compare
from eumu.compare.sides import Launch, Side
from eumu.errors import BuildError, Fault, Unsupported

_FINALIZER: Final = "IGC_VISAOptions"
# Options of the finalizer, each of which leaves one of its steps out.
_STEPS: Final = (
    *("copyprop", "schedule", "presched", "lvn", "remat", "ifcvt", "flagopt", "defhoist"),
    *("foldaddrimmed", "mergescalar", "reassoc", "instcombine", "mac", "sends", "src1byte"),
    *("AccSub", "localra", "LocalSplit", "splitllr", "spillcleanup", "compaction"),
)
# Parts of the compiler in front of it; then the finalizer's, the whole schedule last.
SWITCHES: Final[tuple[tuple[str, str], ...]] = (
    ("IGC_DisableIGCOptimizations", "1"),
    ("IGC_EnableVISAPreSched", "0"),
    *((_FINALIZER, f"-no{step}") for step in _STEPS),
)


def switched_off(
    left: Side, right: Side, launch: Launch, *, rtol: float = 0.0
) -> Iterator[tuple[str, str]]:
    """The switches with which two forms that differ do not: variable and value.

    They are given to the build of the second form, which is the first one's as well if both are
    levels of one build.  Nothing for forms that no source is known of.
    """
    if right.again is None:
        return
    is_one = left.program is right.program
    for name, value in SWITCHES:
        try:
            program = right.again({name: value})
            other = replace(right, program=program)
            first = replace(left, program=program) if is_one else left
            if compare(first, other, launch, rtol=rtol) is None:
                yield name, value
        except (BuildError, Fault, Unsupported):
            continue  # with it nothing is built or runs: that says nothing
