"""The engine: compiles a grid's function once for each specialisation and launches it.

What few launches need is imported where it is used.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from eumu.errors import Unsupported
from eumu.exec.findings import merged
from eumu.exec.forks import tell_children
from eumu.exec.gate import Admitted, admit, check_snapshot
from eumu.exec.grid import Grid, RunStats, groups_that_fit
from eumu.exec.host import Host
from eumu.exec.jit.host import cache
from eumu.exec.jit.host.again import Again
from eumu.exec.jit.host.autotuner import Autotuner, orders
from eumu.exec.jit.host.known import KnownGrid, Ready
from eumu.exec.jit.host.launch import Compiled, Launch, Worker
from eumu.exec.jit.host.outcome import ENGINE, findings_of, raise_fault, stats_of
from eumu.exec.jit.host.reinforcements import MOST
from eumu.exec.jit.host.shadow import Shadow, Tables, follows
from eumu.exec.jit.host.specials import members_of, specialise
from eumu.exec.jit.host.target import Processor, host
from eumu.exec.jit.host.workers import cores
from eumu.exec.jit.interface import Special
from eumu.exec.jit.llvm.layout import Context, FaultKind
from eumu.exec.snapshot import Preemption, Snapshot, between_groups
from eumu.ir import Function, Rounding
from eumu.ir.operations.arithmetic import Rounded
from eumu.ir.passes import fold_modes
from eumu.settings import ABREAST, PARANOID, SCRATCH_MB, WORKERS

if TYPE_CHECKING:
    from eumu.exec.jit.host.listing import Heads

T = TypeVar("T")
_SHORT = 0.001  # seconds: what a launch takes that is not worth being timed each time
_TINY = 0.00005  # and one that is mostly what every launch takes
_KERNELS = 256  # compiled kernels that are kept
_FROM_THE_START = between_groups(0, 0)


class Jit:
    """Runs grids as machine code; `Engine` protocol.

    `workers` is how many threads share the groups (all cores by default, EUMU_WORKERS if set).
    When a kernel has run for `patience` seconds (EUMU_ABREAST), another thread compiles the version
    that runs threads of a group side by side.
    """

    name = ENGINE

    def __init__(
        self,
        workers: int | None = None,
        processor: Processor | None = None,
        patience: float | None = None,
    ) -> None:
        self.workers = workers or WORKERS.get() or cores()
        self.processor = processor or host()
        self.patience = ABREAST.get() / 1000 if patience is None else patience
        self._compiler: ThreadPoolExecutor | None = None
        self.paranoid = PARANOID.get()
        self._ready: OrderedDict[tuple[object, ...], Ready] = OrderedDict()
        self._kernels: OrderedDict[tuple[int, Special], tuple[Function, Compiled]] = OrderedDict()
        self._grids: OrderedDict[int, KnownGrid] = OrderedDict()
        self._tables = Tables(), Tables()
        self._lock = threading.Lock()
        tell_children(self)

    def forked(self) -> None:
        """In a child, which has no other threads: none of them has the lock, or makes code."""
        self._lock = threading.Lock()
        self._compiler = None

    def run(
        self,
        grid: Grid,
        host: Host,
        snapshot: Snapshot | None = None,
        stop: Preemption | None = None,
    ) -> RunStats:
        """Run every group, or those behind a snapshot without resident ones.

        Raises `Fault`; `Preempted` where `stop` stops it, which is between groups; `Unsupported`,
        mostly before anything has run.
        """
        kept = self._known(grid, host)
        admitted = kept.admitted.of_data(grid)
        if snapshot is not None:
            check_snapshot(grid, snapshot)
        groups = grid.groups
        if groups == 0:
            return RunStats(0, 0, 0)
        if (snapshot and snapshot.groups) or (stop and stop.after is not None):
            raise Unsupported("groups that stop in the middle on the fast engine")
        begun = snapshot or _FROM_THE_START
        first, before = begun.first, begun.instructions
        last = groups if stop is None or stop.groups is None else min(stop.groups, groups)
        if first >= last:
            return stats_of(grid, first, before, begun.findings)
        ready = kept.ready
        if ready is None or ready.is_outdated:
            ready = self._prepared(grid)
            with self._lock:
                kept.renew(ready)
            kept.symbols = _symbols(grid)
        shadow = Shadow(admitted, ready.written, self._tables) if follows(grid) else None
        launch, workers, done = self._launched(kept, ready, admitted, (first, last), stop, shadow)
        findings = begun.findings
        if ready.compiled.reports:
            findings = merged(findings, findings_of(ready.compiled, admitted, workers))
        if shadow is not None and any(w.get(Context.FAULT) != FaultKind.NONE for w in workers):
            # The interpreter says which fault.
            stats = _compared(RunStats(0, 0, 0), shadow, ready, workers[0])
            return replace(stats, is_suspect=True, stored=shadow.stored(workers[0]))
        raise_fault(ready.compiled, admitted, launch, workers, findings)
        instructions = sum(w.words[Context.INSTRUCTIONS] for w in workers)
        with self._lock:
            ready.work = instructions // max(1, done - first)
            ready.idle += workers
            if launch.is_reusable:
                kept.keep(launch, ready)
        if self._is_worth_more(ready, grid):
            self._improve(ready, grid)
        stats = stats_of(grid, done, before + instructions, findings)
        return stats if shadow is None else _compared(stats, shadow, ready, workers[0])

    def again(self, grid: Grid, host: Host) -> Again | None:
        """A way to run a grid once more that ran just now, for as long as memory is as it was."""
        kept = self._known(grid, host)
        ready = kept.ready
        if ready is None or self.paranoid or follows(grid) or not grid.groups:
            return None
        with self._lock:
            trial = ready.tuner.trial(grid.groups, ready.wanted(grid.groups))
        if ready.compiled.reports or ready.compiled.messages or trial.is_searching:
            return None
        if ready.compiled.module.waits and grid.groups > 1:
            return None  # it may take more workers
        if ready.seconds > _SHORT * ready.launches and self._may_improve(ready, grid):
            return None  # what runs that way is not timed
        is_worth_more = trial.least > _TINY and self._may_improve(ready, grid)
        patience = self.patience if is_worth_more else inf
        return Again(kept, ready, kept.admitted.of_data(grid), trial, patience, self._lock)

    def _launched(
        self,
        kept: KnownGrid,
        ready: Ready,
        admitted: Admitted,
        groups: tuple[int, int],
        stop: Preemption | None,
        shadow: Shadow | None,
    ) -> tuple[Launch, list[Worker], int]:
        """Run groups; their launch, who ran them, and the first group that nobody has run.

        With shadow memory there is one worker.
        """
        first, last = groups
        with self._lock:
            trial = ready.tuner.trial(last - first, ready.wanted(admitted.grid.groups))
            setup = trial.setup
        workers = self._workers(ready, admitted, setup.workers if shadow is None else 1)
        if shadow is not None:
            shadow.give(workers[0])
        launch = kept.launch(admitted, ready, setup.row)
        for worker in workers if self.paranoid else ():
            launch.assert_regions(worker)
        started = perf_counter()
        more = None
        if ready.compiled.module.waits and shadow is None:
            more = partial(self._more, ready, admitted, launch, workers)
        done = launch.run(workers, first, last, stop, more)
        with self._lock:
            seconds = perf_counter() - started
            trial.took(setup, seconds)
            ready.seconds += seconds
            ready.launches += 1
        if self.paranoid:
            _check_asserted(workers, admitted.grid)
        return launch, workers, done

    def has(self, grid: Grid) -> bool:
        """Whether the machine code for a grid is there, in memory."""
        kept = self._grids.get(id(grid.like or grid))
        if kept is not None and kept.ready is not None:
            return True
        with self._lock:
            return (id(grid.function), self.special(grid)) in self._kernels

    def finds(self, grid: Grid) -> bool:
        """Whether the machine code for a grid is there, in memory or on disk."""
        special = self.special(grid)
        key = (id(grid.function), special)
        with self._lock:
            if key in self._kernels:
                return True
        made = cache.kept(_folded(grid.function), special, self.processor)
        if made is not None:
            self._keep(key, grid.function, made)
        return made is not None

    def _keep(self, key: tuple[int, Special], function: Function, compiled: Compiled) -> None:
        with self._lock:
            self._forget_orphans()
            self._kernels[key] = function, compiled
            _bound(self._kernels)

    def forget_orphans(self) -> None:
        """Let go what is kept of functions that nobody launches any more: a function takes half a
        KiB for each operation."""
        with self._lock:
            self._forget_orphans()

    def _forget_orphans(self) -> None:
        _forget(self._kernels, lambda kept: kept[0])
        _forget(self._ready, lambda ready: ready.function)
        _forget(self._grids, lambda known: known.admitted.grid.function)

    def special(self, grid: Grid) -> Special:
        """What of a grid its machine code depends on, besides the function."""
        members = 0 if self.patience else members_of(grid)
        return replace(specialise(grid, members), paranoid=self.paranoid)

    def _abreast(self, grid: Grid) -> Special:
        """The same for code that runs threads side by side."""
        return replace(specialise(grid, members_of(grid)), paranoid=self.paranoid)

    def _may_improve(self, ready: Ready, grid: Grid) -> bool:
        """Whether code that runs threads side by side could be made, and is not yet asked for."""
        return bool(self.patience and ready.better is None and members_of(grid))

    def _is_worth_more(self, ready: Ready, grid: Grid) -> bool:
        """Whether a kernel has run for so long that such code pays."""
        return ready.seconds > self.patience and self._may_improve(ready, grid)

    def _improve(self, ready: Ready, grid: Grid) -> None:
        """Make the code on another thread; launches take it as soon as it is there, and go on as
        they are if it exceeds a limit."""

        def is_there(made: Future[Compiled]) -> None:
            ready.is_outdated = not isinstance(made.exception(), Unsupported)

        with self._lock:
            if ready.better is not None:
                return
            self._compiler = self._compiler or ThreadPoolExecutor(1, "compiler")
            with contextlib.suppress(RuntimeError):  # the system has no thread
                ready.better = self._compiler.submit(self.compile, grid, self._abreast(grid))
        if ready.better is not None:
            ready.better.add_done_callback(is_there)

    def settle(self) -> None:
        """Wait for the code that is being made."""
        with self._lock:
            made = [ready.better for ready in self._ready.values() if ready.better is not None]
        for code in made:
            code.result()

    def compile(self, grid: Grid, special: Special | None = None) -> Compiled:
        """The machine code for a grid, from memory, from disk, or made now."""
        special = special or self.special(grid)
        key = (id(grid.function), special)
        with self._lock:
            kernel = self._kernels.get(key)
            if kernel is not None:
                self._kernels.move_to_end(key)
                return kernel[1]
        compiled = cache.compiled(_folded(grid.function), special, self.processor)
        self._keep(key, grid.function, compiled)
        return compiled

    def listing(self, grid: Grid, heads: Heads, *, is_assembly: bool) -> str:
        """The text that LLVM is given for a grid, or the instructions that it makes of it.

        `heads` says what stands above the lines of an instruction.
        """
        from eumu.exec.jit.host.listing import llvm_text, machine_text

        make = machine_text if is_assembly else llvm_text
        return make(_folded(grid.function), self.special(grid), self.processor, heads)

    def _known(self, grid: Grid, host: Host) -> KnownGrid:
        """What there is to know of a grid; LaunchError if it is not admitted."""
        base = grid.like or grid
        kept = self._grids.get(id(base))
        if kept is not None and kept.admitted.still_holds(base, host):
            return kept
        made = KnownGrid(admit(base, host))
        with self._lock:
            self._grids[id(base)] = made
            _bound(self._grids)
        return made

    def _prepared(self, grid: Grid) -> Ready:
        payload = grid.payload
        key = (
            *(id(grid.function), grid.local_size, grid.slm_bytes, grid.scratch_bytes),
            *(payload.local_id_offset, payload.local_id_pitch),
            *(payload.cross_thread_offset, len(payload.cross_thread)),
            *(payload.size, payload.constant_r0),
            *(payload.numbers_threads, payload.rows is not None, payload.pieces),
            *(payload.local_id_rows, grid.masks),
        )
        with self._lock:
            ready = self._ready.get(key)
            if ready is not None and not ready.is_outdated:
                self._ready.move_to_end(key)
                return ready
        if ready is not None and ready.better is not None:
            compiled = ready.better.result()
        else:
            compiled = self.compile(grid)
        tuner = Autotuner(orders(grid) if compiled.module.is_tiled else (1,))
        made = Ready(grid.function, compiled, self._most(grid), tuner)
        if ready is not None:
            made.better, made.written = ready.better, ready.written
        with self._lock:
            if ready is not None and self._ready.get(key) is ready:
                del self._ready[key]
            ready = self._ready.setdefault(key, made)
            if len(self._ready) > _KERNELS:
                self._grids.clear()  # they hold kernels
            _bound(self._ready)
        return ready

    def _most(self, grid: Grid) -> int:
        """As many workers as a kernel can use in groups of this size."""
        return max(1, min(self.workers, _fitting(grid)))

    def _more(
        self, ready: Ready, admitted: Admitted, launch: Launch, workers: Sequence[Worker]
    ) -> Worker | None:
        """Another worker beside these, if there may be more."""
        if len(workers) >= min(MOST, _fitting(admitted.grid)):
            return None
        (worker,) = self._workers(ready, admitted, 1)
        if self.paranoid:
            launch.assert_regions(worker)
        return worker

    def _workers(self, ready: Ready, admitted: Admitted, wanted: int) -> list[Worker]:
        """Memory for workers."""
        with self._lock:
            taken = [ready.idle.pop() for _ in range(min(wanted, len(ready.idle)))]
        return [*taken, *(Worker(ready.compiled, admitted) for _ in range(wanted - len(taken)))]


def _fitting(grid: Grid) -> int:
    """How many groups may run at once."""
    return min(grid.most_threads // grid.threads_per_group, groups_that_fit(grid, SCRATCH_MB.get()))


def _forget(kept: OrderedDict[Any, T], function: Callable[[T], Function]) -> None:
    """Forget what is of functions whose kernels are gone."""
    for key in [key for key, value in kept.items() if function(value).is_orphan]:
        del kept[key]


def _bound(kept: OrderedDict[Any, Any]) -> None:
    """Forget what was used longest ago."""
    while len(kept) > _KERNELS:
        kept.popitem(last=False)


def _compared(stats: RunStats, shadow: Shadow, ready: Ready, worker: Worker) -> RunStats:
    """What shadow memory says of a launch: of one that stored to other arrays than known nothing,
    but that it is to run again."""
    kept, ready.written = ready.written, shadow.found(worker)
    again, suspect = ready.written != kept, bool(worker.get(Context.SUSPECT))
    if again or suspect:
        stats = replace(stats, stored=shadow.stored(worker))
    return replace(stats, is_suspect=suspect and not again, runs_again=again)


def _check_asserted(workers: Sequence[Worker], grid: Grid) -> None:
    for worker in workers:
        if worker.get(Context.ASSERTED):
            words = [worker.get(w) for w in (Context.ASSERTED_ADDRESS, Context.ASSERTED_SIZE)]
            from eumu.exec.jit.llvm import paranoid

            raise paranoid.failure(words, grid.function.name)


def _symbols(grid: Grid) -> list[int]:
    for name in grid.function.symbols:
        if name not in grid.symbols:
            raise Unsupported(f"the address of symbol {name!r}")
    return [grid.symbols[name] for name in grid.function.symbols]


def _folded(function: Function) -> Function:
    """The function with concrete rounding; the device has usually folded it already."""
    ops = (op for block in function.blocks for op in block.ops if isinstance(op, Rounded))
    return fold_modes(function) if any(op.rounding is Rounding.CR0 for op in ops) else function
