"""Kernels that look for mistakes: functions with reports of what a launch is to look for."""

from __future__ import annotations

import threading
from typing import Final

from eumu.errors import Unsupported
from eumu.exec.checks import ALIGNMENT, DIVISION, UNDEFINED, UNINITIALIZED, Checks
from eumu.ir import Function
from eumu.ir.passes import (
    find_misaligned,
    find_undefined,
    find_uninitialized,
    find_zero_divisors,
)

# What finds the mistakes of a check, in the order in which they change a function.
_PASSES: Final = {
    UNINITIALIZED: find_uninitialized,
    UNDEFINED: find_undefined,
    ALIGNMENT: find_misaligned,
    DIVISION: find_zero_divisors,
}


class Checked:
    """The functions of one kernel with reports, by platform and checks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, Checks], Function] = {}

    def of(self, function: Function, platform: str, level: str, wanted: Checks) -> Function:
        """The function with reports of what is wanted; Unsupported for native code."""
        if UNINITIALIZED in wanted:
            wanted -= {UNDEFINED}  # which is a part of it
        names = [name for name in _PASSES if name in wanted]
        if not names:
            return function
        if level != "visa":
            raise Unsupported(f"looking for mistakes ({', '.join(names)}) in native code")
        key = platform, frozenset(names)
        with self._lock:
            if key not in self._known:
                for name in names:
                    function = _PASSES[name](function)
                self._known[key] = function
            return self._known[key]
