"""Which part of Intel's compiler makes a difference: switched off, it makes none.

Intel's compiler reads variables of its environment, in its releases, too.  Those here change the
code of 22.43; most names of its passes are read by no release, and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
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

    They are given to the build of one form at a time, as either may be the wrong one; to both if
    they are levels of one build.  Nothing for forms that no source is known of.
    """
    for name, value in SWITCHES:
        pairs = _with_switch(left, right, {name: value})
        if any(_is_alike(pair, launch, rtol) for pair in pairs):
            yield name, value


_Pair = tuple[Callable[[], Side], Callable[[], Side]]


def _with_switch(left: Side, right: Side, switch: Mapping[str, str]) -> Iterator[_Pair]:
    """The forms as they are to be compared, each made when it is asked for."""
    if left.program is right.program:
        if right.again is not None:
            made = cache(partial(right.again, switch))
            yield lambda: replace(left, program=made()), lambda: replace(right, program=made())
        return
    if right.again is not None:
        yield lambda: left, partial(_rebuilt, right, switch)
    if left.again is not None:
        yield partial(_rebuilt, left, switch), lambda: right


def _rebuilt(side: Side, switch: Mapping[str, str]) -> Side:
    assert side.again is not None
    return replace(side, program=side.again(switch))


def _is_alike(pair: _Pair, launch: Launch, rtol: float) -> bool:
    """Whether two forms do not differ; no if one is not built, or does not run."""
    try:
        left, right = (make() for make in pair)
        return compare(left, right, launch, rtol=rtol) is None
    except (BuildError, Fault, Unsupported):
        return False  # with it nothing is built or runs: that says nothing
