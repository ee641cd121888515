"""Which mistakes a checked run looks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from eumu.errors import LaunchError, shortened

UNDEFINED: Final = "undefined"
ALIGNMENT: Final = "alignment"
DIVISION: Final = "division"
CONST: Final = "const"
LEAKS: Final = "leaks"
PRINTF: Final = "printf"
RACES: Final = "races"
COPIES: Final = "copies"
INDICES: Final = "indices"
UNINITIALIZED: Final = "uninitialized"

# What each looks for, in words.
CHECKS: Final = {
    UNDEFINED: "uses of what nothing has written, in registers and local memory",
    ALIGNMENT: "accesses at addresses that their message or the language forbids",
    DIVISION: "divisions of integers by zero, as notes",
    CONST: "stores to arrays that are passed for pointers to const or constant only",
    PRINTF: "text that found no room in the buffer of printf",
    LEAKS: "arrays and images that nobody freed before the end of a `with` of their device",
    UNINITIALIZED: "the same, and uses of arrays that were made without content",
    RACES: "accesses of work items to the same memory that nothing orders",
    COPIES: "async copies and waits for events, of programs that are built for the device",
    INDICES: "indices outside of local, private and constant arrays, of such programs",
}
CHEAP: Final = frozenset({UNDEFINED, ALIGNMENT, DIVISION, CONST, PRINTF})

Checks = frozenset[str]


def checks(words: bool | str | Iterable[str]) -> Checks:
    """The checks that a user asks for: True or "cheap", "all", names joined by commas or listed.

    >>> sorted(checks("races,undefined"))
    ['races', 'undefined']
    """
    if isinstance(words, bool):
        return CHEAP if words else frozenset()
    names = words.split(",") if isinstance(words, str) else list(words)
    chosen: set[str] = set()
    for name in (n.strip() for n in names):
        if name not in {*CHECKS, "all", "cheap"}:
            allowed = ", ".join([*CHECKS, "cheap", "all"])
            raise LaunchError(f"there is no check {shortened(str(name))}; there are {allowed}")
        chosen |= CHECKS.keys() if name == "all" else CHEAP if name == "cheap" else {name}
    return frozenset(chosen)
