"""Functions that kernels have in common are compiled once, into objects of their own.

What a kernel calls in cold paths was a third of the code of a small kernel, and the same in all of
them.  Here the definitions become texts by themselves: one of what every kernel has, one for each
slow access, and those of the driver that do not depend on the kernel.  A kernel's text declares
what it calls; `eumu.exec.jit.host.cache` keeps the objects by their texts and links them beside the
kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from eumu.exec.jit.codegen.cold_calls import KEPT
from eumu.exec.jit.codegen.support import EXTENT, LOCATE, RECORD, SURFACE_ROW
from eumu.exec.jit.llvm.attention import DECLARATION, look
from eumu.records import dataclass

METADATA: Final = """
!0 = !{!"branch_weights", i32 1, i32 100000}
!1 = !{!"branch_weights", i32 100000, i32 1}
!2 = !{i32 1}
!3 = distinct !{!3, !4} ; a loop that stays one
!4 = !{!"llvm.loop.unroll.disable"}
!5 = !{!"branch_weights", i32 15, i32 1}
"""
INTRINSICS: Final = (
    DECLARATION,
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "declare i64 @llvm.umin.i64(i64, i64)",
    "declare i64 @llvm.usub.sat.i64(i64, i64)",
)
_FUNCTION: Final = re.compile(
    r"^define internal (?P<head>.*@(?P<name>[\w.]+)\(.*\)(?P<ends>.*)) \{$", re.MULTILINE
)
_CALLED: Final = re.compile(r"@([\w.]+)\(")
_DEFINED: Final = re.compile(r"^define .*?@([\w.]+)\(", re.MULTILINE)
_SLOW: Final = "slow."  # names of the accesses lane by lane
_INLINE: Final = {f"locate.{s.value}": t for s, t in LOCATE.items() if " alwaysinline {" in t}


@dataclass(frozen=True, slots=True)
class Divided:
    """What a kernel's text has, and the texts of the objects that are linked beside it."""

    text: str
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drivers:
    """Texts that are objects of their own, each of which may call those before it.

    `outer` functions, which they call, too, are known by their declarations.
    """

    texts: tuple[str, ...] = ()
    outer: tuple[tuple[str, str], ...] = ()


def divide(
    definitions: Mapping[str, str],
    declarations: Iterable[str],
    kernel: str,
    drivers: Drivers | None = None,
    *,
    is_arm: bool,
) -> Divided:
    """Divide support functions into those of one kernel and those that others have, too.

    `definitions` are LLVM text by function, `declarations` those of intrinsics, and `kernel` is the
    text of all other functions but those of `drivers`.
    """
    wanted, common = sorted({*declarations, *INTRINSICS}), _declared(_base(is_arm))
    apart = {name: text for name, text in definitions.items() if _stands_alone(name, text, common)}
    own = {
        name: text
        for name, text in definitions.items()
        if name not in apart and name not in common and name not in _INLINE and name != "kept"
    }
    rest = "\n".join([*own.values(), kernel])
    objects = [_object(wanted, common, text) for text in apart.values()]
    drivers = drivers or Drivers()
    called, known = set(_CALLED.findall(rest)), {**common, **dict(drivers.outer)}
    beside = list[str]()  # declarations
    for text in drivers.texts:
        objects.append(_object(wanted, known, text))
        known |= _declared(text)
        beside += [line for name, line in _declared(text).items() if name in called]
    inlined = [text for name, text in _INLINE.items() if f"@{name}(" in rest]
    outside = [*common.values(), *(line for t in apart.values() for line in _declared(t).values())]
    text = "\n".join([*wanted, *outside, *beside, *inlined, rest, METADATA])
    return Divided(text, (_base(is_arm), *objects))


def _stands_alone(name: str, text: str, common: Mapping[str, str]) -> bool:
    """Whether a slow access calls only what every kernel has."""
    called = set(_CALLED.findall(text)) - {name} - common.keys() - _INLINE.keys()
    return name.startswith(_SLOW) and all(other.startswith("llvm.") for other in called)


@cache
def _base(is_arm: bool) -> str:
    """What every kernel has."""
    definitions = (look(is_arm), EXTENT, RECORD, SURFACE_ROW, KEPT, *LOCATE.values())
    return _visible("\n".join([*INTRINSICS, *definitions, METADATA]))


def _object(declarations: Sequence[str], common: Mapping[str, str], text: str) -> str:
    """The text of an object."""
    called = set(_CALLED.findall(text))
    inlined = [inline for name, inline in _INLINE.items() if name in called]
    needed = called.union(*(_CALLED.findall(inline) for inline in inlined))
    needed -= set(_DEFINED.findall(text))
    intrinsics = [d for d in declarations if needed.intersection(_CALLED.findall(d))]
    outside = [line for name, line in common.items() if name in needed]
    return _visible("\n".join([*intrinsics, *outside, *inlined, text, METADATA]))


def _visible(text: str) -> str:
    """Definitions that other objects can call; what is always inlined stays as it is."""
    return _FUNCTION.sub(
        lambda m: m[0] if "alwaysinline" in m["ends"] else f"define hidden {m['head']} {{", text
    )


def _declared(text: str) -> dict[str, str]:
    """Declarations of the functions that a text defines, by name.

    The addresses of slow accesses are numbers in kernels, too, and objects may be more than 2 GiB
    apart: LLVM takes such an address from a table, unless the function is hidden.
    """
    heads = re.finditer(_FUNCTION.pattern.replace("internal", "(?:internal|hidden)"), text, re.M)
    return {
        m["name"]: f"declare {'' if m['name'].startswith(_SLOW) else 'hidden '}{m['head']}"
        for m in heads
        if "alwaysinline" not in m["ends"]
    }
