"""What random kernels show: the same on both levels and engines, or why not.

A kernel goes through the finalizer by itself first.  Those that it accepts run together, many in
one text, which makes each much cheaper: the harness and the modes of the start are there once.  A
text of many goes to the finalizer as its kernels went, as text or as an object file.  If it shows
anything but the same, those go that cannot be lowered, and the rest is divided, down to single
kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from eumu.compare.differential import Pair, pairs
from eumu.compare.finalizer import ENDLESS, UNREADABLE, Refusal
from eumu.errors import BuildError, Fault, Unsupported
from eumu.fuzz.finalized import FinalizedBundle, compared, program, together
from eumu.fuzz.spilled import loses_lanes
from eumu.fuzz.witness import engines
from eumu.records import dataclass

# Kernels in a text, at most, by SIMD size: with more the finalizer has too much to spill.
TOGETHER: Final = {8: 16, 16: 8, 32: 4}
# A register of which a part is written loses the rest when it is spilled, if the finalizer takes
# that for its only value: what scratch space holds is not loaded first.
OPTIONS: Final = ("-normwopt",)
SAME: Final = "the same"
# Said of what differs only.
SPILLED: Final = "the finalizer stores whole what a message has written in lanes that are on"
UNSUPPORTED: Final = "unsupported: "
_REASONS: Final = {
    "infinite spill cost": "the finalizer gives up while it spills",
    "it ended by signal": "the finalizer's process ends",
    ENDLESS: "the finalizer does not end",
    UNREADABLE: "the finalizer's code has words that are no instructions",
    "syntax error": "the finalizer's readers of text and of object files refuse it",
    "": "the finalizer's check refuses it",
}


def reason(refusal: Refusal) -> str:
    """The sort of a refusal, few words of which many messages are."""
    return next(why for part, why in _REASONS.items() if part in refusal.message)


def verdicts(
    seeds: Sequence[int],
    *,
    thorough: bool = False,
    device: str = "skl",
    jobs: int | None = None,
) -> Iterator[tuple[int, str]]:
    """Of the kernel of each seed: SAME, a reason why it cannot be compared, or what differs.

    `thorough` as in `finalized.compared`, `jobs` as in `differential.pairs`.
    """
    made = [program(seed, device) for seed in seeds]
    accepted: list[_Accepted] = []
    outcomes = pairs((m.harness for m in made), device, OPTIONS, jobs=jobs)
    for one, pair in zip(made, outcomes, strict=True):
        if isinstance(pair.native, Refusal):
            yield one.seeds[0], reason(pair.native)
        else:
            accepted.append(_Accepted(one, pair))
    accepted.sort(key=_Accepted.alike)
    for (_, simd, _), same in groupby(accepted, key=_Accepted.alike):
        alike, many = list(same), TOGETHER[simd]
        for start in range(0, len(alike), many):
            yield from _of(alike[start : start + many], thorough)


@dataclass(frozen=True)
class _Accepted:
    """A kernel that the finalizer accepts by itself."""

    program: FinalizedBundle
    pair: Pair

    @property
    def seed(self) -> int:
        return self.program.seeds[0]

    def alike(self) -> tuple[int, int, bool]:
        """What kernels that run together have in common."""
        bundle = self.program.bundle
        return bundle.seed, bundle.simd, self.pair.is_object

    @property
    def unsupported(self) -> str:
        """What of it cannot be lowered on one of the levels."""
        try:
            for level in ("visa", "native"):
                self.pair.function(level)
        except Unsupported as error:
            return _unsupported(error)
        except BuildError:
            pass  # a difference, which its run says
        return ""


def _of(kernels: Sequence[_Accepted], thorough: bool) -> Iterator[tuple[int, str]]:
    if not kernels:
        return
    whole = judge(together([k.program for k in kernels]), thorough=thorough)
    if whole == SAME or len(kernels) == 1:
        yield from ((k.seed, whole) for k in kernels)
        return
    if whole.startswith(UNSUPPORTED):
        alone = {k.seed: k.unsupported for k in kernels}
        yield from ((seed, why) for seed, why in alone.items() if why)
        left = [k for k in kernels if not alone[k.seed]]
        if len(left) < len(kernels):
            yield from _of(left, thorough)
            return
    half = len(kernels) // 2
    yield from _of(kernels[:half], thorough)
    yield from _of(kernels[half:], thorough)


def judge(made: FinalizedBundle, *, thorough: bool = False) -> str:
    """The same of one text."""
    (pair,) = pairs([made.harness], made.bundle.device, OPTIONS)
    return _verdict(made, pair, thorough)


def _verdict(made: FinalizedBundle, pair: Pair, thorough: bool) -> str:
    if isinstance(pair.native, Refusal):
        return reason(pair.native)
    try:
        verdict = compared(made, pair, engines(), thorough=thorough)
    except Unsupported as error:
        return _unsupported(error)
    except (BuildError, Fault) as error:
        verdict = [" ".join(str(error).split())[:200]]
    if not verdict:
        return SAME
    return SPILLED if loses_lanes(pair.native) else "; ".join(["differs", *verdict[:3]])


def _unsupported(error: Unsupported) -> str:
    return f"{UNSUPPORTED}{error.what}"
