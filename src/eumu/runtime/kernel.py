"""A kernel and its launch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import ref

from eumu.addresses import IMPLICIT_ARGUMENTS
from eumu.errors import Fault, LaunchError, Unsupported, warn_caller
from eumu.exec.checks import CONST, RACES
from eumu.exec.grid import Grid, RunStats
from eumu.exec.race_rows import Parts as RaceParts
from eumu.exec.snapshot import Preempted, Snapshot
from eumu.garbage import seldom_collected
from eumu.ir import Function
from eumu.platforms import Platform
from eumu.runtime.arguments import (
    Arguments,
    check_devices,
    check_number,
    in_order,
    read_only,
)
from eumu.runtime.array import Array
from eumu.runtime.checked import Checked
from eumu.runtime.device import Device
from eumu.runtime.exact import are_usual, key_of
from eumu.runtime.facts import Facts
from eumu.runtime.image import Image
from eumu.runtime.image_needs import dropped_reads, needs_tables
from eumu.runtime.launch_memory import buffers, symbols, with_implicit
from eumu.runtime.listing import listing
from eumu.runtime.ndrange import Range, Size
from eumu.runtime.parameters import Parameter
from eumu.runtime.payload import Addresses, allotted_slm, bind, scratch_bytes
from eumu.runtime.payload_layout import value_places
from eumu.runtime.preemption import Suspended, residents_of
from eumu.runtime.printing import let_out
from eumu.runtime.repeated import Parts, Repeats, launch_key
from eumu.runtime.report import Report
from eumu.runtime.thread_space import check_thread_space, with_places
from eumu.runtime.urb import names_urb, urb_surface
from eumu.settings import MOST_FUEL
from eumu.zebin.indices import Site
from eumu.zebin.ze_info import KernelInfo

if TYPE_CHECKING:
    from eumu.runtime.submission import Submission

_MOST_SEED: Final = (1 << 64) - 1
_NONE: Final = 0  # an offset, or a seed, of which nothing is said

_Options = tuple[tuple[Size, Size | None, Size], int | None, int, str]
# Shared local memory and scratch space beyond what the KernelInfo says, in bytes.
MemoryNeeds = Callable[[Function, KernelInfo, Platform], tuple[int, int]]


def _nothing(function: Function, info: KernelInfo, platform: Platform) -> tuple[int, int]:
    return 0, 0


class _Owner(Protocol):
    """What a kernel asks of its program."""

    name: str
    platform: Platform | None
    made_by: str
    smaller_groups: bool
    sites: tuple[Site, ...]

    def image(self, device: Device) -> Image | None: ...


class Kernel:
    """One kernel of a program; `args` are its parameters in order."""

    def __init__(
        self,
        program: _Owner,
        info: KernelInfo,
        args: tuple[Parameter, ...],
        translate: Callable[[Platform], Function],
        memory_needs: MemoryNeeds = _nothing,
        translate_native: Callable[[Platform], Function] | None = None,
        by_threads: bool = False,
        native_code: bytes = b"",
        doubt: str = "",
    ) -> None:
        self.program = program
        self.doubt = doubt  # why its code is known to be wrong
        self.info = info
        self.args = args
        self._translators = {"visa": translate, "native": translate_native}
        self._memory_needs = memory_needs
        self._by_threads = by_threads
        self._native_code = native_code
        self._with_urb = Facts(names_urb)
        self._translating = threading.RLock()
        self._functions: dict[tuple[str, str], Function] = {}  # by platform and level
        self._checked = Checked()
        self._implicit = {slot.arg_type for slot in info.payload_arguments}
        self._repeats = Repeats()

    @property
    def name(self) -> str:
        """The kernel's name in the source."""
        return self.info.name

    @property
    def simd_width(self) -> int:
        """The lanes of a thread."""
        return self.info.execution_env.simd_size

    @property
    def slm_bytes(self) -> int:
        """Bytes of shared local memory of a group, without `local` arguments."""
        return self.info.execution_env.slm_size

    @property
    def barriers(self) -> int:
        """The number of barriers of a group."""
        return self.info.execution_env.barrier_count

    @property
    def required_local_size(self) -> tuple[int, int, int] | None:
        """The local size that the kernel requires, x first, or None."""
        env, asked = self.info.execution_env, self.info.user_attributes
        sizes = env.required_work_group_size, asked.reqd_work_group_size
        return next((s for s in sizes if all(s)), None)

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(map(str, self.args))}) SIMD{self.simd_width}>"

    def function(self, platform: Platform, level: str = "visa") -> Function:
        """The kernel in IR; BuildError or Unsupported if it cannot be lowered.

        `level` is "visa", or "native" for the machine code of the program.
        """
        key = platform.name, level
        kept = self._functions.get(key)
        return kept if kept is not None else self._translated(platform, level)

    def _translated(self, platform: Platform, level: str) -> Function:
        if level not in self._translators:
            names = " and ".join(map(repr, self._translators))
            raise LaunchError(f"level {level!r} is none of {names}")
        translate = self._translators[level]
        if translate is None:
            raise Unsupported(f"{self.program.name} has no native code of kernel {self.name}")
        with self._translating, seldom_collected():
            key = platform.name, level
            if key not in self._functions:
                function = self._functions[key] = translate(platform)
                function.owner = ref(self)
            return self._functions[key]

    def launch(
        self,
        device: Device,
        global_size: Size,
        local_size: Size | None = None,
        args: Arguments = (),
        *,
        global_offset: Size = 0,
        level: str = "visa",
        via: str = "record",
        fuel: int | None = None,
        seed: int = 0,
    ) -> Report:
        """Run the kernel on a grid of `global_size` work items and wait for the end.

        A size is an int or up to three of them, x first.  `local_size` is by default the size that
        the kernel requires, or the greatest divisors of the global size with at most 256 work
        items.  If it does not divide the global size, the last groups are smaller; the program must
        be built for that (OpenCL C 2.0 or newer).  For a kernel whose `Target` is "cm", sizes count
        threads, and a group is one thread by default.  `args` are in the kernel's order, or a
        mapping by name: arrays of `device` (or None) for pointers, `Local` for `local` pointers,
        numbers, sequences, records or bytes by value.  With `via="commands"` the launch goes
        through a command buffer in device memory, as a driver submits it (Gen9 only).  `fuel` is
        the most instructions of one thread; the default takes the engine seconds to minutes
        (`DEFAULT_FUEL`).  `level` "native" runs the program's Gen9 machine code, not its vISA.
        """
        sizes, exact = (global_size, local_size), None
        with device.turn:
            usual = global_offset is seed is _NONE or are_usual(global_offset, seed)
            if usual and fuel is None and via == "record" and isinstance(args, (list, tuple)):
                exact = key_of(self, level, sizes, args)
                ran = device.run_again(exact, self, sizes, args)
                if ran is not None:
                    kept, stats, seconds = ran
                    if isinstance(stats, RunStats):
                        return kept.reported(stats, seconds, self._report)
                    with ExitStack() as stack:
                        stack.callback(_done_with, args)
                        return self._suspend(device, (kept.grid,), None, stack, stats)
            options = (*sizes, global_offset), fuel, seed, level
            return self._launch(device, args, options, via, exact)

    def _launch(
        self, device: Device, args: Arguments, options: _Options, via: str, exact: Hashable
    ) -> Report:
        """A launch of which more is to be found out; `options`: sizes, fuel, seed and level."""
        with ExitStack() as stack:
            if device.stops_next:
                device.check_free()
            values = in_order(self.name, self.args, args)
            stack.callback(_done_with, values)  # a stopped launch keeps its arguments
            modes = device.strict_bounds, device.check, device.pools, device.engine
            key = launch_key(device, (options, modes), values)
            repeat = self._repeats.find(device, key, values) if via == "record" else None
            if repeat is not None:
                report = self._run(device, repeat, None, stack)
                device.latest.ended(exact, device, self, options[0][:2], values, repeat)
                return report
            grids, printed = self._ready(device, values, *options, stack, key)
            if via == "commands":
                from eumu.runtime.submission import Submission

                made = [stack.enter_context(Submission.of(device, grid)) for grid in grids]
                grids = tuple(submission.grid() for submission in made)
            elif via != "record":
                raise LaunchError(f"via={via!r}; a launch goes via 'record' or 'commands'")
            return self._run(device, grids, printed, stack)

    def listing(
        self,
        device: Device,
        form: str,
        global_size: Size,
        local_size: Size | None = None,
        args: Arguments = (),
        *,
        level: str = "visa",
    ) -> str:
        """Intermediate or machine code of the kernel for a launch, by source line; nothing runs.

        `form` is "ir", "llvm" (before LLVM's optimizations) or "asm" (for this processor).  The
        other arguments are those of `launch`.  If a launch has smaller groups at its end, the
        listing shows the code of the first groups.
        """
        with device.turn, ExitStack() as stack:
            values = in_order(self.name, self.args, args)
            sizes = global_size, local_size, 0
            grids, _ = self._ready(device, values, sizes, None, 0, level, stack)
            return listing(device, grids[0], form)

    def resume(self, device: Device, held: Suspended) -> Report:
        """Go on with a launch of this kernel that was stopped; for `Device.resume`."""
        snapshot = held.snapshot(device.memory)
        with device.turn, ExitStack() as stack:
            stack.push(held.stack.pop_all())
            held.close(device.memory)
            return self._run(device, (held.grid, *held.rest), held.printed, stack, snapshot)

    def submit(
        self,
        device: Device,
        global_size: Size,
        local_size: Size | None = None,
        args: Arguments = (),
        *,
        global_offset: Size = 0,
        level: str = "visa",
    ) -> Submission:
        """Write a launch into device memory as command bytes, without running it (Gen9 only).

        Arguments are those of `launch`; the submission keeps them alive.  With `level` "native",
        the machine code of kernels without calls is at the Kernel Start Pointer, so that a
        `CommandQueue` needs nothing but the bytes in memory.
        """
        from eumu.runtime.submission import Submission

        with device.turn, ExitStack() as stack:
            sizes = global_size, local_size, global_offset
            values = in_order(self.name, self.args, args)
            grids, _ = self._ready(device, values, sizes, None, 0, level, stack)
            stack.callback(_done_with, values)
            if len(grids) > 1:
                raise Unsupported("one submission of groups of several sizes; submit each part")
            (grid,) = grids
            code = self._native_code if level == "native" else b""
            submission = Submission.of(device, grid, code)
            submission.keep(stack.pop_all())
            return submission
        raise AssertionError

    def _ready(
        self,
        device: Device,
        values: list[Any],
        sizes: tuple[Size, Size | None, Size],
        fuel: int | None,
        seed: int,
        level: str,
        stack: ExitStack,
        key: Hashable = None,
    ) -> tuple[Parts, Array | None]:
        """The grids of a launch, and the printf buffer; implicit buffers are freed with `stack`.

        With a key they are kept for the next launch of that key, if it has no buffers of its own.
        """
        if fuel is not None:
            check_number("fuel", fuel, 1, MOST_FUEL)
        check_number("seed", seed, 0, _MOST_SEED)
        self._check_platform(device)
        doubts = [t for t in (dropped_reads(self.info, device.platform), self.doubt) if t]
        for text in doubts:
            warn_caller(text)
        check_devices(self.args, device, values)
        fuel = fuel or device.fuel
        image = self.program.image(device)
        addresses, printed = buffers(device, self.info, image, stack)
        if implicit := self._reads_implicit(device.platform, level):
            range = self._range(device.platform, sizes)
            if not range.is_uniform:
                raise Unsupported(
                    f"kernel {self.name} calls functions that know one size of all groups;"
                    f" groups of {range.local_size} do not divide {range.global_size}"
                )
            addresses, printed = with_implicit(
                device, self.info, image, range, addresses, printed, stack
            )
        grids = self._parts(device, sizes, values, addresses, fuel, seed, level)
        own = implicit or printed is not None or addresses.private_base
        if key is not None and not own and not doubts:
            inputs = grids[0].function.inputs if grids else ()
            places = value_places(self.info, device.platform, inputs)
            self._repeats.keep(device, key, self.args, values, places, grids)
        return grids, printed

    def _parts(
        self,
        device: Device,
        sizes: tuple[Size, Size | None, Size],
        values: list[Any],
        addresses: Addresses,
        fuel: int,
        seed: int,
        level: str,
    ) -> Parts:
        """Check sizes and arguments and lay them out."""
        range = self._range(device.platform, sizes)
        options, parts = (values, addresses, fuel, seed, level), range.parts()
        grids = tuple(self._grid(device, part, *options) for part in parts)
        if RACES in device.check and len(grids) > 1:
            shared = RaceParts(len(grids))
            grids = tuple(replace(grid, parts=shared) for grid in grids)
        return grids

    def _grid(
        self,
        device: Device,
        range: Range,
        values: list[Any],
        addresses: Addresses,
        fuel: int,
        seed: int,
        level: str,
    ) -> Grid:
        """The groups of one part."""
        target = device.platform
        function = self._checked.of(self.function(target, level), target.name, level, device.check)
        image = self.program.image(device)
        tables = None
        if needs_tables(self.info, values):
            from eumu.runtime.image_arguments import image_tables

            tables = image_tables(device, self.info, values, image)
        bound = bind(
            self.info,
            self.args,
            values,
            range,
            target,
            addresses,
            strict=device.strict_bounds,
            inputs=function.inputs,
            tables=tables,
        )
        slm, scratch = self._memory_needs(function, self.info, target)
        slm += bound.slm_bytes
        if not device.strict_bounds:
            slm = max(slm, allotted_slm(slm, target))
        grid = Grid(
            function=function,
            group_count=range.groups,
            local_size=range.lanes(self.simd_width) if self._by_threads else range.group_size,
            payload=bound.payload,
            surfaces=bound.surfaces | (urb_surface(device) if self._with_urb.of(function) else {}),
            slm_bytes=slm,
            scratch_bytes=scratch_bytes(self.info) + scratch,
            symbols=symbols(function, image, addresses),
            fuel=fuel,
            seed=seed,
            state=tables.pointers if tables else None,
            pool_map=device.pools,
            global_offset=range.first_item,
            races=RACES in device.check,
            first_group=range.first_group,
            read_only=read_only(self.args, values) if CONST in device.check else (),
        )
        if function.thread_space:
            check_thread_space(grid)
        return with_places(grid, self.info, range.group_size)

    def _range(self, target: Platform, sizes: tuple[Size, Size | None, Size]) -> Range:
        return Range.of(
            *sizes,
            platform=target,
            simd_width=self.simd_width,
            required=self.required_local_size,
            by_threads=self._by_threads,
            smaller_groups=self.program.smaller_groups,
        )

    def _run(
        self,
        device: Device,
        grids: Parts,
        printed: Array | None,
        stack: ExitStack,
        snapshot: Snapshot | None = None,
    ) -> Report:
        """Run grids; what they printed comes out even if one ends with a fault, not with Ctrl-C.

        If one is stopped, the device keeps it and those behind it, with the buffers in `stack`.
        """
        if grids[0].parts is not None:
            grids[0].parts.logs.clear()  # of the same launch before
        launched = device, self.name, printed, grids, self.program.sites
        start, done = perf_counter(), list[RunStats]()
        try:
            for grid in grids:
                stats, engine = device.run(grid, None if done else snapshot)
                done.append(stats)
        except Preempted as stop:
            return self._suspend(device, grids[len(done) :], printed, stack, stop)
        except Exception as error:
            try:
                _, findings = let_out(*launched, ended=False)
                if isinstance(error, Fault):
                    error.findings = (*error.findings, *findings)
            except Exception as other:  # the sink's, say; why the launch ended counts more
                error.add_note(f"what the kernel printed was not taken: {other!r}")
            raise
        seconds = perf_counter() - start
        text, findings = let_out(*launched, ended=True)
        stats = RunStats.of_parts(done)
        if findings:
            stats = replace(stats, findings=(*stats.findings, *findings))
        return self._report(stats, engine, seconds, text)

    def _suspend(
        self,
        device: Device,
        grids: Parts,
        printed: Array | None,
        stack: ExitStack,
        stop: Preempted,
    ) -> Report:
        """Leave a stopped launch with the device."""
        grid = grids[0]
        snapshot = stop.snapshot
        residents = residents_of(device.part, grid) if snapshot.groups else None
        held = Suspended.of(device.memory, self, grid, residents, snapshot)
        held.printed, held.stack, held.rest = printed, stack.pop_all(), grids[1:]
        device.suspended = held
        threads = snapshot.first * grid.threads_per_group
        done = RunStats(snapshot.instructions, threads, snapshot.first, snapshot.findings)
        return replace(self._report(done, stop.engine, 0.0, ""), preempted=True)

    def _report(self, stats: RunStats, engine: str, seconds: float, text: str) -> Report:
        counts, made_by = (stats.instructions, stats.threads, stats.groups), self.program.made_by
        return Report(self.name, engine, *counts, seconds, text, stats.findings, made_by=made_by)

    # ---- checks

    def _check_platform(self, device: Device) -> None:
        made_for = self.program.platform
        if made_for is not None and made_for is not device.platform:
            raise LaunchError(
                f"{self.program.name} is a program for {made_for}, the device is {device.platform};"
                f' use Device("{made_for}") or build the program for {device.platform}'
            )

    def _reads_implicit(self, target: Platform, level: str) -> bool:
        """Whether the kernel or what it calls reads the structure of implicit arguments."""
        declared = "implicit_arg_buffer" in self._implicit
        return declared or IMPLICIT_ARGUMENTS in self.function(target, level).symbols


def _done_with(args: Arguments) -> None:
    """Nothing: the arguments lived until here."""
