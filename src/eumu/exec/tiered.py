"""First launches: a new kernel begins before its fast code is made.

What has few threads begins on the interpreter, as long as that can be thrown away should it take
too long; other kernels begin with code that is made in a third of the time and runs slower.  The
best code is made on another thread when a kernel has run for so long, in one launch or in many,
that it is worth its time, which grows with the kernel: most never do.  It runs the groups of a long
launch that have not begun.  All of them give the same results.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from math import inf
from typing import TYPE_CHECKING, Any, Final

from eumu.errors import Unsupported
from eumu.exec.attempt import Attempt, attempt
from eumu.exec.forks import tell_children
from eumu.exec.grid import Grid, RunStats
from eumu.exec.host import Engine, Host
from eumu.exec.snapshot import Preempted, Preemption, Snapshot
from eumu.exec.state import bytes_per_thread
from eumu.ir import Function
from eumu.records import dataclass

if TYPE_CHECKING:
    from eumu.exec.jit import Jit
    from eumu.exec.jit.host.again import Again
    from eumu.exec.jit.interface import Special

_MOST_THREADS: Final = 512
_MOST_BYTES: Final = 1 << 25  # of their registers and memory, which begins as zeros
_MOST_SEEN: Final = 256
_COMPILERS: Final = 2  # threads: a long kernel does not keep others from the best code
_MOST_OPERATIONS: Final = 20_000  # of a function that the interpreter begins
# How long the interpreter has: nearly as long as quickly made code takes to make.
_TRIED_S: Final = 0.04
_TRIED_S_PER_OPERATION: Final = 150e-6
# A kernel that has run so long is worth the best code: a quarter of what that takes to make.
_LONG_S: Final = 0.05
_LONG_S_PER_OPERATION: Final = 50e-6


@dataclass(slots=True)
class _Seen:
    """A function, which is kept so that its identity stays its own, and what is made of it.

    `attempt` is how the interpreter may begin it.  After `patience` seconds of launches by code
    that is quickly made, the best code is worth its time; it has had `seconds` of them.  `asked`
    has a future for each code that is made on the other thread: whether it is quickly made, and
    what it depends on besides the function.
    """

    function: Function
    attempt: Attempt | None
    patience: float
    launches: int = 0
    seconds: float = 0.0
    asked: dict[tuple[bool, Special], Future[Any]] = field(default_factory=dict)


class Tiered:
    """The fast engine `jit`, and others until it has the code of a kernel.

    `hasty` is a fast engine, too, whose code is quickly made.  Without it, only the first launch of
    a kernel begins on the interpreter.
    """

    name = "jit"

    def __init__(self, jit: Jit, hasty: Jit | None, interpreter: Engine) -> None:
        self._jit, self._hasty, self._interpreter = jit, hasty, interpreter
        self._compiler = ThreadPoolExecutor(_COMPILERS, "compiler")
        self._seen: OrderedDict[int, _Seen] = OrderedDict()  # by the identity of functions
        self._lock = threading.Lock()
        tell_children(self)

    def forked(self) -> None:
        """In a child, which has no other threads: none of them has the lock, or makes code."""
        self._lock = threading.Lock()
        self._compiler = ThreadPoolExecutor(_COMPILERS, "compiler")
        for seen in self._seen.values():
            seen.asked = {key: made for key, made in seen.asked.items() if made.done()}

    def run(
        self,
        grid: Grid,
        host: Host,
        snapshot: Snapshot | None = None,
        stop: Preemption | None = None,
    ) -> RunStats:
        """As of the engines.  Unsupported where the fast engine cannot run a function."""
        if self._jit.has(grid):
            return self._jit.run(grid, host, snapshot, stop)
        with self._lock:
            seen = self._seen_of(grid.function)
            seen.launches += 1
        if seen.launches == 1 and self._jit.finds(grid):
            return self._jit.run(grid, host, snapshot, stop)
        if snapshot is None and self._is_quicker(seen, grid):
            done = self._try(seen, grid, host, stop)
            if isinstance(done, RunStats):
                return done
            snapshot = done
        if self._hasty is None:
            return self._jit.run(grid, host, snapshot, stop)
        try:
            return self._begin(self._hasty, seen, grid, host, snapshot, stop)
        finally:
            if seen.seconds >= seen.patience:
                self._make(seen, grid, self._jit)

    def _is_quicker(self, seen: _Seen, grid: Grid) -> bool:
        """Whether the interpreter may be quicker than waiting for the code of a grid."""
        threads = grid.groups * grid.threads_per_group
        if threads > _MOST_THREADS or seen.attempt is None:
            return False
        if threads * bytes_per_thread(grid) > _MOST_BYTES:
            return False
        if self._hasty is None:
            return seen.launches == 1
        made = seen.asked.get((True, self._jit.special(grid)))
        if made is None:
            return not self._hasty.finds(grid)
        if not made.done():
            return True
        error = made.exception()
        if isinstance(error, Unsupported):
            raise error
        return False

    def _try(
        self, seen: _Seen, grid: Grid, host: Host, stop: Preemption | None
    ) -> RunStats | Snapshot:
        """Run a grid on the interpreter, or what groups it has done when it takes too long.

        A kernel that is launched once more gets code for a third time.
        """
        own = Preemption(groups=None if stop is None else stop.groups, attempt=seen.attempt)
        if stop is not None:
            stop.attach(own.stop)
        try:
            stats = self._interpreter.run(grid, host, None, own)
        except Preempted as stopped:
            left = stopped.snapshot
            if stop is not None and stop.stops(left.instructions, left.first):
                raise
            seen.attempt = None
            return left
        finally:
            if stop is not None:
                stop.attach(None)
        if seen.launches > 1 and self._hasty is not None:
            self._make(seen, grid, self._hasty)  # not before: both would want Python's lock
        return stats

    def again(self, grid: Grid, host: Host) -> Again | None:
        """A way to run a grid once more that ran just now, for as long as memory is as it was."""
        return self._jit.again(grid, host) if self._jit.has(grid) else None

    def _begin(
        self,
        hasty: Jit,
        seen: _Seen,
        grid: Grid,
        host: Host,
        snapshot: Snapshot | None,
        stop: Preemption | None,
    ) -> RunStats:
        """Run a grid by code that is quickly made; what is left of it after a while by the best."""
        hasty.compile(grid)
        begun = time.perf_counter()  # the watch takes time, too
        own = Preemption(groups=None if stop is None else stop.groups)
        if stop is not None:
            stop.attach(own.stop)
        left_s = max(seen.patience - seen.seconds, 0)
        watch = threading.Timer(left_s, self._make, (seen, grid, self._jit, own.stop))
        with contextlib.suppress(RuntimeError):  # the system has no thread: it goes on as it began
            watch.start()
        try:
            return hasty.run(grid, host, snapshot, own)
        except Preempted as stopped:
            left = stopped.snapshot
            if stop is not None and stop.stops(left.instructions, left.first):
                raise
            try:
                return self._jit.run(grid, host, left, stop)
            except Unsupported as error:  # the system gives it no thread
                error.is_late = True
                raise
        finally:
            watch.cancel()
            own.attach(None)
            seen.seconds += time.perf_counter() - begun

    def _make(
        self, seen: _Seen, grid: Grid, jit: Jit, then: Callable[[], object] | None = None
    ) -> None:
        """Make the code of a grid on the other thread, once; call `then` if that succeeds."""
        key = jit is self._hasty, jit.special(grid)
        with self._lock:
            made = seen.asked.get(key)
            if made is None:
                try:
                    made = seen.asked[key] = self._compiler.submit(jit.compile, grid)
                except RuntimeError:  # the system has no thread: who needs the code compiles it
                    return
        if then is not None:
            made.add_done_callback(lambda made: None if made.exception() else then())

    def _seen_of(self, function: Function) -> _Seen:
        """What is known of a function; of those seen longest ago, nothing; under the lock."""
        seen = self._seen.get(id(function))
        if seen is None:
            self._forget_orphans()
            seen = self._seen[id(function)] = _Seen(
                function, how_tried(function), patience(function)
            )
            if len(self._seen) > _MOST_SEEN:
                self._seen.popitem(last=False)
        self._seen.move_to_end(id(function))
        return seen

    def _forget_orphans(self) -> None:
        """Let go what is kept of functions whose kernels are gone."""
        for key in [key for key, seen in self._seen.items() if seen.function.is_orphan]:
            del self._seen[key]
        self._jit.forget_orphans()
        if self._hasty is not None:
            self._hasty.forget_orphans()


def tiered() -> Tiered:
    """The fast engine of this host, with what runs first launches; imported when this is called."""
    from eumu.exec.interp import Interpreter
    from eumu.exec.jit import Jit
    from eumu.exec.jit.host.target import host

    hasty = Jit(processor=host().hasty(), patience=inf)  # it ends when the best code is there
    return Tiered(Jit(processor=host().patient()), hasty, Interpreter())


def interpreted_once() -> Tiered:
    """The fast engine of this host, with the interpreter for a small first launch of a kernel."""
    from eumu.exec.interp import Interpreter
    from eumu.exec.jit import Jit

    return Tiered(Jit(), None, Interpreter())


def patience(function: Function) -> float:
    """Seconds for which a function runs by code that is quickly made."""
    return max(_LONG_S, _LONG_S_PER_OPERATION * _length(function))


def _length(function: Function) -> int:
    return sum(len(block.ops) for block in function.blocks)


def how_tried(function: Function) -> Attempt | None:
    """How the interpreter may begin a function, None if it may not."""
    length = _length(function)
    if length > _MOST_OPERATIONS:
        return None
    return attempt(function, max(_TRIED_S, _TRIED_S_PER_OPERATION * length))
