"""Runs command buffers from device memory: what a driver submits, kernels and all.

A kernel that a launch has put there (`Kernel.submit`) runs as that kernel.  At any other Kernel
Start Pointer memory holds native Gen9 code, and that runs: threads of GPGPU_WALKER with the masks,
constants and group ids that the command gives, and threads of the media pipeline in waves: those
that wait for no other run at once, then those that waited only for these, and so on.  Threads of
MEDIA_OBJECT_GRPID run when their group is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any, Final

from eumu.device.chip import Occupancy
from eumu.device.commands import (
    CommandError,
    MediaJob,
    MediaThread,
    MemoryBus,
    Stop,
    Streamer,
    WalkerJob,
    media,
)
from eumu.device.commands.media_walker import Deltas, dependencies
from eumu.device.dispatch import Needs, capacity
from eumu.errors import Diagnostic, Finding, LaunchError, Unsupported
from eumu.exec.checks import RACES
from eumu.exec.grid import BufferSurface, Dim3, Grid, Payload
from eumu.exec.snapshot import Preempted, Snapshot
from eumu.ir import Function
from eumu.isa.messages.request import GENERAL_STATE
from eumu.records import dataclass
from eumu.runtime.device import Device
from eumu.runtime.facts import Facts
from eumu.runtime.job_dispatch import barrier_findings, usable_part
from eumu.runtime.job_surfaces import buffer_surfaces, state_pointers, used_surfaces
from eumu.runtime.native_code import KnownCode, NativeCode
from eumu.runtime.preemption import Suspended, residents_of
from eumu.runtime.submission import grid_of_walker, known_kernel
from eumu.runtime.thread_rows import header_bytes, media_row, payload_of_rows
from eumu.runtime.walked import Found, Walked
from eumu.runtime.walkers import lanes_of, payload_of, payload_with_general_state

_MEDIA_SIMD: Final = 32


@dataclass(slots=True)
class BatchReport:
    """What a batch did: why it stopped, what the rules found, and the runs of its commands.

    `occupancy` has, for each of `commands`, how many groups each subslice or pool could hold;
    `waves` the threads of the media pipeline, those that ran at once together; `interrupts` counts
    the commands that notified the host.  `undefined` is what native code did with undefined values,
    on a device that checks; `kernels` has the names of the functions of grids.
    """

    stop: Stop
    findings: list[Diagnostic] = field(default_factory=list)
    threads: int = 0
    groups: int = 0
    instructions: int = 0
    commands: list[str] = field(default_factory=list)
    occupancy: list[tuple[Occupancy, ...]] = field(default_factory=list)
    waves: list[tuple[MediaThread, ...]] = field(default_factory=list)
    engines: set[str] = field(default_factory=set)
    interrupts: int = 0
    undefined: list[Finding] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)

    def add(self, rest: BatchReport) -> None:
        """What the same batch did when it went on."""
        self.stop = rest.stop
        self.threads += rest.threads
        self.groups += rest.groups
        self.instructions += rest.instructions
        self.findings += rest.findings
        self.undefined += rest.undefined
        self.commands += rest.commands
        self.kernels += rest.kernels
        self.occupancy += rest.occupancy
        self.waves += rest.waves
        self.engines |= rest.engines


@dataclass(frozen=True, slots=True)
class _Held:
    """A command that was stopped in the middle: which of its grids, and what is left of it."""

    number: int
    state: Suspended


class CommandQueue:
    """A hardware context: it keeps its state from batch to batch.

    `per_thread_first` says where the constants of one thread stand in its registers: before those
    of all threads, as Intel's compiler has them, or behind, as in Mesa.  A walker starts
    `most_threads` at most and a batch runs `most_commands`: none may run for ever.  `known` says
    what programs tell of native code, its name above all; other code is called by its address.
    """

    def __init__(
        self,
        device: Device,
        *,
        per_thread_first: bool = True,
        most_threads: int = 1 << 28,
        most_commands: int = 1 << 16,
        known: Callable[[bytes], KnownCode | None] | None = None,
    ) -> None:
        if not device.platform.has_native_level:
            raise LaunchError(f"{device.platform} does not have the commands of Gen9 or Gen8")
        self.device, self.per_thread_first = device, per_thread_first
        self.ran: Callable[[], object] | None = None  # called behind commands that start threads
        self.most_threads = most_threads
        self._bus = MemoryBus(device.memory)
        banks = device.part.l3_banks
        self._streamer = Streamer(
            *(self._bus, self._dispatch, device.invalidate_states),
            l3_banks=banks,
            is_gen8=device.platform.generation == "gen8",
            most_commands=most_commands,
        )
        self._code = NativeCode(device, self._bus, known)
        self._used = Facts(used_surfaces)
        self._walked = Walked()
        self._skips = False  # whether commands start no threads
        self._report = BatchReport(Stop.END)
        self._after: int | None = None
        self._held: _Held | None = None
        self._group: list[MediaJob] = []  # threads of MEDIA_OBJECT_GRPID whose group has not ended

    def invalidate(self) -> None:
        """Forget all that caches may have, as the kernel driver asks for before each batch."""
        self.device.invalidate_states()
        self._streamer.watch.old_state = False

    @property
    def context(self) -> Any:
        """State base addresses, registers, what is loaded: what a context switch would save."""
        return self._streamer.context

    def submit(self, address: int) -> BatchReport:
        """Run the batch at a device address to its end, or to a semaphore that is not signalled."""
        with self.device.turn:
            if self._held is not None:
                raise LaunchError(
                    "a walker of the last batch has been stopped; resume() continues it"
                )
            self.begin(address)
            return self._resume()

    def begin(self, address: int) -> None:
        """The batch at a device address comes next, for `resume` or `abandon`."""
        self._streamer.begin(address)

    def resume(self) -> BatchReport:
        """Go on where the last batch stopped."""
        with self.device.turn:
            return self._resume()

    def _resume(self) -> BatchReport:
        interrupts = self._streamer.interrupts
        report = self._report = BatchReport(Stop.END)
        self._streamer.clock = self.device.clock
        report.stop = self._streamer.run()
        report.interrupts = self._streamer.interrupts - interrupts
        report.findings = list(self._streamer.findings)
        if report.stop is Stop.END and self._group:
            raise self._open_group("the batch ends")
        return report

    def abandon(self) -> BatchReport:
        """Go on behind a fault, without threads: what is left of the batch writes its results.

        A driver that waits for a batch looks at memory.  What cannot be run ends it.
        """
        self._skips, self._held, self._group = True, None, []
        try:
            return self.resume()
        finally:
            self._skips = False

    def preempt(self, after: int | None = None) -> None:
        """Stop at the next command where preemption is possible.

        With `after` that is in the middle of the next GPGPU_WALKER, after so many instructions of
        its threads: their state goes to GPGPU_CSR_BASE_ADDRESS, or if that is 0 to memory of its
        own.  Where MI_ARB_ON_OFF has switched arbitration off nothing stops.
        """
        if after is None:
            self._streamer.preempt_wanted = True
        else:
            self._after = after

    # ---- dispatch

    def _dispatch(self, job: WalkerJob | MediaJob) -> bool:
        name = job.command if isinstance(job, MediaJob) else "GPGPU_WALKER"
        if self._skips:
            return True
        self._report.commands.append(name)
        if self._after is not None and isinstance(job, WalkerJob) and self.context.arbitration:
            self.device.want_stop(self._after)
            self._after = None
        held: tuple[Occupancy, ...] = ()
        resumed, self._held = self._held, None
        for number, grid in enumerate(self._grids(job, is_again=resumed is not None)):
            held = capacity(
                usable_part(self.device.part, job),
                Needs.of(grid),
                grid.pool_map,
                is_global=job.descriptor.global_barrier_enable,
            )
            if number == 0:
                self._streamer.findings.extend(barrier_findings(job, grid))
            if resumed is not None and number < resumed.number:
                continue
            self._report.kernels.append(grid.function.name)
            snapshot = None
            if resumed is not None and number == resumed.number:
                snapshot = resumed.state.snapshot(self.device.memory)
                resumed.state.close(self.device.memory)
            try:
                stats, engine = self.device.run(grid, snapshot)
            except Preempted as stop:
                self._held = _Held(number, self._save(grid, stop.snapshot))
                return False
            self._report.engines.add(engine)
            self._report.undefined += stats.findings
            self._report.instructions += stats.instructions
            self._report.threads += stats.threads
            self._report.groups += stats.groups
        self._report.occupancy.append(held)
        if self.ran is not None:
            self.ran()
        return True

    def _save(self, grid: Grid, snapshot: Snapshot) -> Suspended:
        """Write the state of a stopped walker where GPGPU_CSR_BASE_ADDRESS says."""
        residents = residents_of(self.device.part, grid) if snapshot.groups else None
        at = self.context.csr_base or None
        return Suspended.of(self.device.memory, None, grid, residents, snapshot, at)

    def _grids(self, job: WalkerJob | MediaJob, *, is_again: bool) -> Iterator[Grid]:
        if isinstance(job, MediaJob) and job.command == media.MediaObjectGrpid.TITLE:
            yield from self._media_group(job, is_again=is_again)
        elif isinstance(job, MediaJob):
            yield from self._media(job)
        elif not job.groups:
            return
        elif job.groups * job.threads > self.most_threads:
            raise LaunchError(
                f"GPGPU_WALKER starts {job.groups} groups of {job.threads} threads; this queue runs"
                f" at most {self.most_threads} threads in one command (CommandQueue, most_threads)"
            )
        elif known_kernel(self.device, job.kernel) is not None:
            yield grid_of_walker(self.device, self._bus, job)
        else:
            yield self._walker(job)

    def _walker(self, job: WalkerJob) -> Grid:
        """Native code; the groups of a command differ in their ids alone."""
        device = self.device
        settings = device.engine, device.strict_bounds, RACES in device.check
        grid = self._walked.again(job, settings, self._found)
        if grid is not None:
            return grid
        lanes = lanes_of(job)
        first = self.per_thread_first
        payload = payload_of(job, lanes, header_bytes([0] * 8, job), per_thread_first=first)
        end = payload.cross_thread_offset + len(payload.cross_thread)
        function = self._code.function(job.kernel, job.simd, payload.size, end)
        sizes = job.counts, lanes.local_size, lanes.masks
        grid = self._grid(job, function, payload, *sizes, self._offset(job))
        grid = replace(grid, first_group=job.first)
        self._walked.keep(job, settings, end, grid)
        return grid

    def _found(self, job: WalkerJob, size: int, end: int) -> Found:
        function = self._code.function(job.kernel, job.simd, size, end)
        return function, self._surfaces(job, function), self._offset(job)

    def _offset(self, job: WalkerJob) -> Dim3 | None:
        """Of groups behind others the size of those before is not known."""
        known = self._code.global_offset(job.kernel, job.cross_thread)
        return None if any(job.first) else known

    def _surfaces(self, job: WalkerJob | MediaJob, function: Function) -> dict[int, BufferSurface]:
        return buffer_surfaces(
            *(self._bus, job.bases, job.descriptor.binding_table_pointer),
            self._used.of(function),
            strict=self.device.strict_bounds,
        )

    def _media(self, job: MediaJob) -> Iterator[Grid]:
        """A grid for each wave, so that each thread comes behind those that it waits for."""
        for wave in job.waves():
            rows = [media_row(thread, job) for thread in wave]
            self._report.waves.append(wave)
            function = self._code.function(job.kernel, _MEDIA_SIMD, len(rows[0]))
            per_group = sum(t.group is None or t.group == wave[0].group for t in wave)
            if wave[0].group is None:
                per_group = 1
            size = function.width * per_group, 1, 1
            yield self._grid(
                job, function, payload_of_rows(rows), (len(rows) // per_group, 1, 1), size
            )

    def _media_group(self, job: MediaJob, *, is_again: bool) -> Iterator[Grid]:
        """One grid of a whole thread group with its last thread, none before."""
        (thread,) = job.threads
        if self._group and self._group[0].threads[0].group != thread.group:
            raise self._open_group(f"a thread of group {thread.group} comes")
        if not is_again:
            self._group.append(job)
        if not job.ends_group:
            return
        wave = tuple(member.threads[0] for member in self._group)
        rows = [media_row(m.threads[0], m) for m in self._group]
        if (
            len({(m.kernel, m.descriptor, len(r)) for m, r in zip(self._group, rows, strict=True)})
            > 1
        ):
            raise self._open_group("threads with another kernel, descriptor or payload come")
        self._check_group(job, wave)
        self._report.waves.append(wave)
        function = self._code.function(job.kernel, _MEDIA_SIMD, len(rows[0]))
        size = function.width * len(rows), 1, 1
        yield self._grid(job, function, payload_of_rows(rows), (1, 1, 1), size)

    def _check_group(self, job: MediaJob, wave: tuple[MediaThread, ...]) -> None:
        """Its threads run at once: none may wait for another, and barriers count them."""
        places = [(thread.x, thread.y, thread.color) for thread in wave]
        pairs = {pair for member in self._group for pair in member.waits}
        number = job.descriptor.number_of_threads_in_gpgpu_thread_group
        self._group, members = [], self._group
        if any(dependencies(places, Deltas(tuple(pairs)))):
            raise Unsupported(
                f"{job.command}: Use Scoreboard makes a thread wait for one of its own thread group"
            )
        if job.descriptor.barrier_enable and number != len(members):
            raise CommandError(
                f"{job.command}: thread group {wave[0].group} has {len(members)} threads; with a"
                f" barrier as many as the interface descriptor says: {number}",
                "Number of Threads in GPGPU Thread Group",
            )

    def _open_group(self, event: str) -> CommandError:
        number, self._group = self._group[0].threads[0].group, []
        return CommandError(
            f"{event} before a MEDIA_OBJECT_GRPID has ended thread group {number}",
            "End of Thread Group",
        )

    def _grid(
        self,
        job: WalkerJob | MediaJob,
        function: Function,
        payload: Payload,
        groups: tuple[int, int, int],
        local_size: tuple[int, int, int],
        masks: tuple[int, ...] | None = None,
        global_offset: Dim3 | None = None,
    ) -> Grid:
        code = int(job.descriptor.shared_local_memory_size)
        if GENERAL_STATE in function.roots:
            payload = payload_with_general_state(payload, job)
        return Grid(
            function=function,
            group_count=groups,
            local_size=local_size,
            payload=payload,
            surfaces=self._surfaces(job, function),
            slm_bytes=512 << code if code else 0,
            scratch_bytes=job.scratch[1] if job.scratch[0] else 0,
            fuel=self.device.fuel,
            state=state_pointers(job),
            masks=masks,
            pool_map=job.pool_map,
            global_offset=global_offset,
            races=RACES in self.device.check,
        )
