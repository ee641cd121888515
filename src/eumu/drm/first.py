"""First launches: a new kernel begins on the interpreter while its fast code is made.

What that may cost is known before only where a kernel has no loop and few threads; other kernels
wait for the fast code.  Both engines give the same results.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eumu.errors import Unsupported
from eumu.exec.grid import Grid, RunStats
from eumu.exec.host import Engine, Host
from eumu.exec.snapshot import Preemption, Snapshot
from eumu.ir import Function

if TYPE_CHECKING:
    from eumu.exec.jit import Jit

_MOST_THREADS: Final = 512
_MOST_SEEN: Final = 256
_MOST_OPERATIONS: Final = 3000  # of a function: the interpreter takes about 10 µs for each


@dataclass(slots=True)
class _Seen:
    """A function, which is kept so that its identity stays its own, and the code of it."""

    function: Function
    short: bool
    made: Future[Any] | None = None


class Tiered:
    """The fast engine, and the interpreter until it has the code of a short kernel."""

    name = "jit"

    def __init__(self, jit: Jit, interpreter: Engine) -> None:
        self._jit, self._interpreter = jit, interpreter
        self._compiler = ThreadPoolExecutor(1, "compiler")
        self._seen: OrderedDict[int, _Seen] = OrderedDict()  # by the identity of functions
        self._lock = threading.Lock()

    def run(
        self,
        grid: Grid,
        host: Host,
        snapshot: Snapshot | None = None,
        stop: Preemption | None = None,
    ) -> RunStats:
        """As of the engines.  Unsupported where the fast engine cannot run a function."""
        if snapshot is None and self._is_quicker(grid):
            try:
                return self._interpreter.run(grid, host, None, stop)
            finally:
                self._begin(grid)  # not before: the two would share a core and Python's lock
        return self._jit.run(grid, host, snapshot, stop)

    def _is_quicker(self, grid: Grid) -> bool:
        """Whether the interpreter is quicker than waiting for the code of a grid."""
        if grid.groups * grid.threads_per_group > _MOST_THREADS or self._jit.has(grid):
            return False
        with self._lock:
            seen = self._seen_of(grid.function)
        if seen.made is not None and seen.made.done():
            error = seen.made.exception()
            if isinstance(error, Unsupported):
                raise error
            return False
        return seen.short

    def _begin(self, grid: Grid) -> None:
        """Make the code of a grid, on another thread."""
        with self._lock:
            seen = self._seen_of(grid.function)
            if seen.made is None:
                seen.made = self._compiler.submit(self._jit.compile, grid)

    def _seen_of(self, function: Function) -> _Seen:
        """What is known of a function; of those seen longest ago, nothing; under the lock."""
        seen = self._seen.get(id(function))
        if seen is None:
            seen = self._seen[id(function)] = _Seen(function, is_short(function))
            if len(self._seen) > _MOST_SEEN:
                self._seen.popitem(last=False)
        self._seen.move_to_end(id(function))
        return seen


def is_short(function: Function) -> bool:
    """Whether a thread ends after each operation once at most: no block leads back or calls."""
    if sum(len(block.ops) for block in function.blocks) > _MOST_OPERATIONS:
        return False
    for place, block in enumerate(function.blocks):
        end = block.end
        if end is None or end.name == "call":
            return False
        if any(target <= place for target in end.targets):
            return False
    return True
