"""Which mistakes a checked run looks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from eumu.errors import LaunchError, shortened

__all__ = ["CHEAP", "CHECKS", "RACES", "UNDEFINED", "Checks", "checks"]

UNDEFINED: Final = "undefined"
RACES: Final = "races"

# What each looks for, in words.
CHECKS: Final = {
    UNDEFINED: "uses of what nothing has written, in registers and local memory",
    RACES: "accesses of work items to the same memory that nothing orders",
}
CHEAP: Final = frozenset({UNDEFINED})

Checks = frozenset[str]


def checks(given: bool | str | Iterable[str]) -> Checks:
    """The checks that a user asks for: True or "cheap", "all", names joined by commas or listed.

    >>> sorted(checks("races,undefined"))
    ['races', 'undefined']
    """
    if isinstance(given, bool):
        return CHEAP if given else frozenset()
    names = given.split(",") if isinstance(given, str) else list(given)
    found: set[str] = set()
    for name in (n.strip() for n in names):
        if name not in {*CHECKS, "all", "cheap"}:
            known = ", ".join([*CHECKS, "cheap", "all"])
            raise LaunchError(f"there is no check {shortened(str(name))}; there are {known}")
        found |= CHECKS.keys() if name == "all" else CHEAP if name == "cheap" else {name}
    return frozenset(found)
