"""A device: a platform, its memory, and the engine that runs kernels on it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary, ref

from eumu.device import Memory, chip
from eumu.errors import ArgumentError, Finding, LaunchError, ToolMissing, Unsupported, warn_caller
from eumu.exec.checks import LEAKS, UNINITIALIZED, Checks, checks
from eumu.exec.grid import Grid, RunStats
from eumu.exec.host import Again, Engine, Host
from eumu.exec.observe import Observer
from eumu.exec.snapshot import Preempted, Preemption, Snapshot, between_groups
from eumu.exec.telling import TELLING
from eumu.platforms import Platform, platform
from eumu.runtime.array import Array
from eumu.runtime.engines import DEFAULT_FUEL, ENGINES, has_jit, make, sends
from eumu.runtime.exact import Exact, Latest, Sizes
from eumu.runtime.facts import Facts
from eumu.runtime.image_board import ImageBoard
from eumu.runtime.preemption import Resumable, Suspended, plain_name, residents_of
from eumu.runtime.report import Report
from eumu.settings import FUEL


def _nothing() -> None:
    return None


class Device(ImageBoard):
    """An emulated GPU.

    `name` is a platform ("pvc", "skl", "apl", …).  `engine` is "jit" or "interp", by default the
    JIT if llvmlite is installed; a small first launch of a kernel is the interpreter's then, if
    that ends soon.
    `memory_bytes` is the size of the device's address space.
    `strict_bounds`: an access outside a surface is a fault; if False, reads give 0 and writes have
    no effect, and local memory has the size that a group is given, as on hardware. `check` names
    the checks of every launch, which cost speed: True for the cheap ones, "all", or names
    (`eumu.exec.checks.CHECKS`); `Report.findings` has the mistakes. `sink` receives printf output
    (standard output by default). `progress` is called during a launch, from any thread, with the
    number of finished groups and of all groups. `part` is the product ("bxt-2x6", …), by default
    the platform's largest; `pools` is its map of thread pools (MEDIA_POOL_STATE), None for legacy
    mode. The attribute `clock` sets what timestamp registers read: counted instructions, or a
    `chip.HostClock`.

    Threads: any thread may call any method at any time, on this device and its arrays, images,
    kernels and queues.  Launches on one device run one after the other, each on all workers;
    launches on other devices do not wait for them.  A launch sees the arrays that exist when it
    begins.  If you make, free, read or write arrays during a launch, you order these uses, and free
    nothing that the launch uses.  `preempt` is for other threads.  An exception in `progress` ends
    the launch and reaches its caller; `progress` must not launch anything.  Ctrl-C ends a launch on
    either engine: KeyboardInterrupt comes when all workers have stopped.  What the kernel wrote
    stays, and the device can be used.

    >>> dev = Device("pvc", engine="interp")
    >>> dev.array([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        name: str | Platform = "pvc",
        engine: str | None = None,
        *,
        check: bool | str | Iterable[str] = False,
        memory_bytes: int | None = None,
        strict_bounds: bool = True,
        sink: Callable[[str], object] | None = None,
        progress: Callable[[int, int], object] | None = None,
        part: str | None = None,
        pools: int | None = None,
    ) -> None:
        target = platform(name)
        super().__init__(target, Memory(memory_bytes, sink), strict_bounds=strict_bounds)
        self.part = chip.part(part or target)
        self.pools = pools
        self.clock: chip.Clock = chip.InstructionClock()
        self.check = check
        self.memory.progress = progress
        if engine is not None and engine not in ENGINES:
            raise LaunchError(f"unknown engine {engine!r}; the engines are {', '.join(ENGINES)}")
        if engine == "jit" and not has_jit():
            raise ToolMissing("engine 'jit' needs llvmlite: pip install llvmlite")
        # The variables of each program that has run here (eumu.runtime.image), by program.
        self.images: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        if engine is None and not has_jit():
            warnings.warn(
                "llvmlite is not installed: the interpreter runs kernels, a hundred times slower;"
                " pip install llvmlite",
                stacklevel=2,
            )
        self._engine = engine or ("jit" if has_jit() else "interp")
        self._begins_sooner = engine is None
        self._fuel = FUEL.get()
        self.default_fuel: Mapping[str, int] = DEFAULT_FUEL
        self._engines: dict[str, Engine] = {}
        self._refused = Facts(lambda function: [False])  # whether the JIT did not take it
        self._senders = Facts(sends)
        # Held while a launch runs.
        self._turn = threading.RLock()
        self.suspended: Suspended | None = None
        self._wanted: tuple[int | None, int | None] | None = None  # of the next launch
        self._flight: Callable[[], Preemption | None] = _nothing  # when the launch stops
        self.latest = Latest()  # launches that came again

    @property
    def check(self) -> Checks:
        """The checks of all later launches; see `eumu.exec.checks`."""
        return self._check

    @check.setter
    def check(self, wanted: bool | str | Iterable[str]) -> None:
        self._check = checks(wanted)
        self.origins.wanted = LEAKS in self._check
        self.memory.forgets = UNINITIALIZED in self._check

    @property
    def engine(self) -> str:
        """The engine for kernels; the interpreter runs what "jit" cannot."""
        return self._engine

    @property
    def fuel(self) -> int:
        """The instructions that one thread of a launch may run where the launch does not say it.

        `EUMU_FUEL` when the device was made, or `default_fuel` of the engine.
        """
        return self._fuel or self.default_fuel[self._engine]

    @property
    def pools(self) -> int | None:
        """The pool map of all later launches; None is legacy mode.

        LaunchError for a map that the part does not support.  Results do not depend on it.
        """
        return self._pools

    @pools.setter
    def pools(self, pool_map: int | None) -> None:
        if pool_map is not None:
            chip.pools(self.part, pool_map)
        self._pools = pool_map

    @property
    def observer(self) -> Observer | None:
        """The observer of launches, such as an `eumu.device.profile.Profile`, or None."""
        return self.memory.observer

    @observer.setter
    def observer(self, observer: Observer | None) -> None:
        self.memory.observer = observer

    # ---- its end

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        """With ``check="leaks"`` a `ResourceWarning` for each array and image that nobody freed."""
        for leak in self.leaks():
            warnings.warn(str(leak), ResourceWarning, stacklevel=2)

    def leaks(self) -> tuple[Finding, ...]:
        """Arrays and images made with ``check="leaks"`` and not freed, oldest first."""
        return self.origins.leaks()

    # ---- preemption

    def preempt(self, after: int | None = None, *, groups: int | None = None) -> None:
        """Stop a launch; `resume` continues it.

        Without arguments, the launch that another thread of the process is running stops, on either
        engine, when the groups that have begun have ended.  If no launch runs, the next launch (or
        `resume`) stops before it does anything.

        With `groups`, the next launch stops on its own engine when so many groups are done.  With
        `after`, it stops after so many instructions of all its threads.  It then runs on the
        interpreter, with as many groups as the chip holds at once, and stops between two blocks.
        A launch that looks for races is not stopped; nor, without arguments and on the fast engine,
        one whose groups may wait for groups that have not begun.
        """
        if (after or 0) < 0 or (groups or 0) < 0:
            raise LaunchError(f"preempt(after={after}, groups={groups}): a number is negative")
        flight = self._flight()
        if after is None and groups is None and flight is not None:
            self.check_free()
            flight.stop()
            return
        self.want_stop(0 if after is None and groups is None else after, groups)

    def check_free(self) -> None:
        """LaunchError if a stopped launch is on the device: there is room for one."""
        if self.suspended is not None:
            raise LaunchError(
                "a stopped launch is on this device already; resume it before another is stopped"
            )

    @property
    def stops_next(self) -> bool:
        """Whether the next launch is to stop, see `preempt`."""
        return self._wanted is not None

    def want_stop(self, after: int | None, groups: int | None = None) -> None:
        """Let the next launch stop, see `preempt`."""
        self._wanted = after, groups

    @property
    def turn(self) -> AbstractContextManager[bool]:
        """What a thread holds while its launch runs; LaunchError for one that must not wait."""
        if TELLING and threading.get_ident() in TELLING:
            raise LaunchError("a launch inside `progress`: the running launch waits for `progress`")
        return self._turn

    def resume(self) -> Report:
        """Continue the stopped launch, to its end or until it is stopped again."""
        with self.turn:
            held = self._held()
            self.suspended = None
            assert held.kernel is not None  # batches keep their own
            return held.kernel.resume(self, held)

    def checkpoint(self, path: str | Path) -> None:
        """Write the stopped launch and all of device memory to a file."""
        from eumu.runtime.checkpoint import write_checkpoint

        write_checkpoint(path, self.memory, self.platform.name, self._held())

    def restore(self, path: str | Path, kernel: Resumable) -> dict[str, Array]:
        """Load a checkpoint into a new device; returns its memory as uint8 arrays by name.

        `kernel` must be the kernel of the checkpoint; `resume` continues the launch.  LaunchError
        for files of another version, platform or kernel.
        """
        from eumu.runtime.checkpoint import empty_unless_done, read_checkpoint

        if self.suspended is not None:
            raise LaunchError("a stopped launch is on this device already")
        function = kernel.function(self.platform)
        try:
            with empty_unless_done(self.memory):
                held, printed = read_checkpoint(
                    path, self.memory, self.platform, self.part, kernel, function
                )
                arrays = self._arrays_of(held, printed)
                self.suspended = held
        except BaseException:
            self.suspended = None
            raise
        return arrays

    def _arrays_of(self, held: Suspended, printed: int | None) -> dict[str, Array]:
        """The arrays that a checkpoint brought, by name; the launch gets its printf buffer."""
        arrays = {}
        image = held.image.start if held.image else None
        for allocation in self.memory.live:
            if allocation.start == image:
                continue
            array = Array.of_allocation(self, allocation)
            if allocation.start == printed:
                held.printed = array
            arrays[plain_name(allocation.name)] = array
        return arrays

    def _held(self) -> Suspended:
        if self.suspended is None:
            raise LaunchError("no launch has been stopped on this device; preempt() stops one")
        return self.suspended

    def _stop(self, grid: Grid) -> Preemption:
        """When the launch that begins now is to stop: what `preempt` asked for, once."""
        wanted, self._wanted = self._wanted, None
        if wanted is None:
            return Preemption()
        after, groups = wanted
        resident = residents_of(self.part, grid).groups if after is not None else 0
        return Preemption(resident, after, groups)

    def __repr__(self) -> str:
        return f"<Device {self.platform} ({self.platform.title}), engine {self.engine}>"

    def chroma_key(self, index: int, low: int, high: int) -> None:
        """Set the colour range of chroma key 0 to 3: 0xAARRGGBB (or Cr, Y, Cb), inclusive."""
        if not 0 <= index < 4 or not 0 <= min(low, high) <= max(low, high) < 1 << 32:
            raise ArgumentError(f"chroma key {index}, {low:#x} to {high:#x}: 0 to 3, low to high")
        with self._turn:
            keys = list(self.heaps.chroma_keys)
            keys[index] = low, high
            self.heaps.chroma_keys = tuple(keys)

    @property
    def bindless_samplers(self) -> bool:
        """Bindless Surface Base Address Select of GT_MODE, for all later launches.

        If set, the Sampler State Pointer in a message header is the offset of one SAMPLER_STATE
        from Bindless Surface State Base; otherwise, of a table from Dynamic State Base.
        """
        return self.heaps.bindless_samplers

    @bindless_samplers.setter
    def bindless_samplers(self, is_set: bool) -> None:
        self.heaps.bindless_samplers = is_set

    def _host(self, grid: Grid, stop: Preemption | None = None) -> Host:
        """Memory for a grid; with answers to messages if its function sends some.

        `stop` says whether the launch is to stop in the middle of its threads.
        """
        if not self._senders.of(grid.function):
            return self.memory
        from eumu.device.functions import SharedFunctions

        state = grid.state or self.heaps.pointers(0, 0, None)
        preemptible = stop is not None and stop.after is not None
        functions = SharedFunctions(self.memory, state, self.caches, preemptible=preemptible)
        return self.memory.answering(functions.message, functions.inline_cache)

    def run(self, grid: Grid, snapshot: Snapshot | None = None) -> tuple[RunStats, str]:
        """Run a grid, or what a snapshot leaves of it; what was counted, and the engine.

        With an observer it is the interpreter, also for a launch that is to stop in the middle of
        groups (`Preempted` has what is left), and for groups that did.
        """
        with self._turn:
            stop = self._stop(grid)
            self._flight = ref(stop)  # gone with this call, wherever that is interrupted
            try:
                heeded = Preemption() if grid.races else stop  # snapshots have no accesses
                stats, engine = self._run(grid, snapshot, heeded)
                self.clock.count(stats.instructions)
                return stats, engine
            finally:
                self._flight = _nothing

    @property
    def plain(self) -> Hashable:
        """What launches have alike that only run to their end; None of those that do more."""
        memory = self.memory
        if self._check or self._wanted is not None:
            return None
        if memory.progress is not None or memory.observer is not None:
            return None
        return self.strict_bounds, self._pools, self._engine

    def again(self, grid: Grid) -> Again | None:
        """A way to run a grid once more that has run just now, if its engine has one."""
        way = getattr(self._engines.get(self._engine), "again", None)
        may = way is not None and self.plain is not None and not self._senders.of(grid.function)
        return way(grid, self.memory) if way is not None and may else None

    def run_again(
        self, key: Any, kernel: object, sizes: Sizes, args: Sequence[Any]
    ) -> tuple[Exact, RunStats | Preempted, float] | None:
        """Run a launch of that key that `latest` has, in its turn; what it came to, and seconds.

        None if there is none, or it cannot be run that way now.  After a kernel that filled the
        caches, each function that is called costs microseconds: this calls few.
        """
        try:
            kept = self.latest.kept.get(key)
        except TypeError:  # a size that is a list
            return None
        if kept is None or kept.plain != self.plain:
            return None
        if not kept.is_for(kernel, sizes, args, self.memory):
            return None
        stop = Preemption()
        self._flight, start = ref(stop), perf_counter()
        try:
            stats = kept.again.run(stop)
        except Preempted as stopped:
            return kept, stopped, 0.0
        finally:
            self._flight = _nothing
        seconds = perf_counter() - start
        if stats is None:
            if stop.is_wanted:
                self.want_stop(0)
            return None
        self.clock.count(stats.instructions)
        return kept, stats, seconds

    def _run(self, grid: Grid, snapshot: Snapshot | None, stop: Preemption) -> tuple[RunStats, str]:
        function = grid.function
        is_slow = self.memory.observer is not None or stop.after is not None
        is_slow |= UNINITIALIZED in self._check
        refused = self._refused.of(function)
        if self._engine == "jit" and not is_slow and not refused[0]:
            if snapshot is not None and snapshot.groups:
                snapshot = self._end_residents(grid, snapshot, stop)
            try:
                stats = self._quickly(grid, snapshot, partial(self._fast, stop))
                if stats is not None:
                    return stats, "jit"
            except Unsupported as reason:
                if reason.is_late:
                    raise
                # The JIT refused before it ran anything: memory is as it was.
                refused[0] = True
                first = str(reason).splitlines()[0]
                warn_caller(f"kernel {function.name} runs on the interpreter: {first}")
        return self._interpret(grid, snapshot, stop), "interp"

    def _quickly(
        self,
        grid: Grid,
        snapshot: Snapshot | None,
        run: Callable[[Grid, Snapshot | None], RunStats],
    ) -> RunStats | None:
        """What `run` counts, which runs a launch on the fast engine; None of one with races."""
        if not grid.races:
            return run(grid, snapshot)
        from eumu.runtime.races import fast

        return fast(grid, snapshot, self.memory, run)

    def _fast(self, stop: Preemption, grid: Grid, snapshot: Snapshot | None) -> RunStats:
        return self._get("jit").run(grid, self._host(grid, stop), snapshot, stop)

    def _interpret(self, grid: Grid, snapshot: Snapshot | None, stop: Preemption) -> RunStats:
        if self._engine == "jit" and not self._fuel and grid.fuel == self.default_fuel["jit"]:
            grid = replace(grid, fuel=self.default_fuel["interp"])
        return self._get("interp").run(grid, self._host(grid, stop), snapshot, stop)

    def _end_residents(self, grid: Grid, snapshot: Snapshot, stop: Preemption) -> Snapshot:
        """Run groups that stopped in the middle to their end; what is left then has not begun."""
        last, groups = snapshot.first + snapshot.groups, stop.groups
        stop.groups = last
        try:
            stats = self._interpret(grid, snapshot, stop)
        except Preempted as left:
            if stop.is_wanted:
                raise
            return left.snapshot
        finally:
            stop.groups = groups
        return between_groups(grid.groups, stats.instructions, stats.findings)

    def use(self, name: str, engine: Engine) -> None:
        """Run what the engine of that name would with another one; before the first launch."""
        self._engines[name] = engine

    def _get(self, name: str) -> Engine:
        engine = self._engines.get(name)
        if engine is None:
            engine = self._engines[name] = make(
                name, sooner=self._begins_sooner and not self._check
            )
        return engine
