"""What random kernels are made of, besides vector instructions: one table.

A family is written by the method of its name in the class of its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from eumu.isa.visa.matrix import FUSED
from eumu.isa.visa.sync import NAMED
from eumu.isa.visa.typemaps import UNFUSED
from eumu.platforms import Platform, platform
from eumu.records import dataclass

Has = Callable[[Platform], bool]


def _always(_: Platform) -> bool:
    return True


def _lsc(p: Platform) -> bool:
    return p.has_lsc


def _systolic(p: Platform) -> bool:
    return p.has_systolic


def _wide(p: Platform) -> bool:
    return p.grf_bytes == 64


def _late(p: Platform) -> bool:
    return p.order >= platform("xehp").order


@dataclass(frozen=True)
class Family:
    """`kind` says where it may stand, `weight` how often it comes up among those of its kind."""

    name: str
    kind: str
    weight: int = 1
    has: Has = _always


def _rows(kind: str, names: str, weight: int = 1, has: Has = _always) -> tuple[Family, ...]:
    return tuple(Family(name, kind, weight, has) for name in names.split())


FAMILIES: tuple[Family, ...] = (
    # Control flow, with other statements in it.
    *_rows("flow", "if if_else cross jump mode loop lanes_loop"),
    *_rows("flow", "switch", has=lambda p: p.name in UNFUSED),
    # Memory.
    *_rows("message", "gather scatter quads owords dword_atomic scattered_elements", 2),
    *_rows("message", "svm_gather svm_quads svm_block svm_atomic", 2),
    *_rows("message", "short_atomic", 1),
    *_rows("message", "quadwords", 1, _late),
    *_rows("message", "lsc", 8, _lsc),
    *_rows("message", "lsc_block lsc_strided lsc_quad", 3, _lsc),
    *_rows("message", "lsc_atomic", 6, _lsc),
    *_rows("message", "lsc_block2d", 4, _wide),
    # Updates of arrays.
    *_rows("update", "update array"),
    # Calls of subroutines, and of functions with variables of their own.
    *_rows("call", "call fcall ifcall"),
    # State of the thread; matrices.
    *_rows("small", "addresses setp hint state"),
    *_rows("small", "dpas", 2, _systolic),
    # What all threads of a group do together, where no lane waits elsewhere.
    *_rows("meeting", "barrier sbarrier"),
    *_rows("meeting", "nbarrier", 2, lambda p: p.name in NAMED),
    *_rows("meeting", "dpasw", 2, lambda p: p.name in FUSED),
)
# In subroutines and functions only.
INSIDE = ("ret", "fret", "recursion")


@cache
def of_kind(kind: str, device: str) -> tuple[list[str], list[int]]:
    """The families of a kind that a platform has, and their weights."""
    families = [f for f in FAMILIES if f.kind == kind and f.has(platform(device))]
    return [f.name for f in families], [f.weight for f in families]


def names(device: str) -> set[str]:
    """Every family of a platform."""
    return {f.name for f in FAMILIES if f.has(platform(device))} | set(INSIDE)
