"""One launch: the workers' memory, the run, the counts."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import partial
from math import prod
from threading import get_ident
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Fault
from eumu.exec.gate import Admitted, Bound
from eumu.exec.grid import TABLE_DWORDS, Grid, Payload
from eumu.exec.guarded import local
from eumu.exec.host import Refusal
from eumu.exec.jit.host.loaded import Loaded
from eumu.exec.jit.host.messenger import Messenger
from eumu.exec.jit.host.progress import STOPPED, told
from eumu.exec.jit.host.reinforcements import reinforced
from eumu.exec.jit.host.signals import MAIN, error_of, is_main_thread, python_address
from eumu.exec.jit.host.stacks import USUAL, fits_anywhere, refuse_large
from eumu.exec.jit.host.target import large
from eumu.exec.jit.host.workers import pool, run_with_stack
from eumu.exec.jit.interface import MESSAGE, REPORT, SEND, UNLIKELY, Module
from eumu.exec.jit.llvm.layout import NO_GROUP, SITE_WORDS, SLICE, Context, FaultKind, SurfaceBits
from eumu.exec.snapshot import Preemption
from eumu.exec.state import follows_memory, thread_payloads
from eumu.records import dataclass

_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)
_AGAIN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_NO, _YES = ctypes.c_int64(0), ctypes.c_int64(1)  # ctypes takes such objects as they are
_TABLES = slice(4 * TABLE_DWORDS.start, 4 * TABLE_DWORDS.stop)  # in bytes
_NEVER = (1 << 63) - 1
_CHUNKS_A_WORKER = 32
_LARGE = large()

# Words that a run changes, as plain numbers: those of an enumeration take longer to look up.
_INSTRUCTIONS, _GROUP, _ROW = (int(w) for w in (Context.INSTRUCTIONS, Context.GROUP, Context.ROW))
_LOOK, _POLLS, _POLLED = (int(w) for w in (Context.LOOK, Context.POLLS, Context.POLLED))
_ERROR = int(Context.ERROR)
_FAULT, _NO_FAULT = int(Context.FAULT), int(FaultKind.NONE)

# The words that a launch sets, in order.
_LAUNCH_WORDS = struct.Struct(f"={Context.FAULT + 1}Q")
_MORE_WORDS = struct.Struct(f"={Context.STORE_ENDS + 1 - Context.FIRST_X}Q")
_ATTENTION_WORDS = struct.Struct(f"={Context.ERROR + 3 - Context.LEAVE}Q")


def _address(array: NDArray[Any]) -> int:
    """Where an array's data lies (the attribute `ctypes` takes ten times as long)."""
    place: int = array.__array_interface__["data"][0]
    return place


_ADDRESSES: dict[int, tuple[ref[NDArray[Any]], int]] = {}


def _known_address(array: NDArray[Any]) -> int:
    """The same for an array that comes again launch after launch."""
    address = _ADDRESSES.get(id(array))
    if address is None or address[0]() is not array:
        if len(_ADDRESSES) > 64:
            _ADDRESSES.clear()
        address = _ADDRESSES[id(array)] = ref(array), _address(array)
    return address[1]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel in executable memory."""

    module: Module
    loaded: Loaded
    call: Any
    again: Any
    reports: tuple[int, ...]  # the sites of `report` operations
    messages: tuple[int, ...]  # those of `message` and `send` operations
    composes: bool  # whether there are `send` operations that are always enabled
    is_deep: bool  # whether it runs on threads whose stacks are made for it

    @property
    def stack(self) -> int:
        """The bytes of stack for a thread of its own that runs it, and Python."""
        return USUAL + (self.loaded.stack if self.is_deep else 0)

    @classmethod
    def of(cls, module: Module, loaded: Loaded) -> Compiled:
        """Unsupported if it takes too much of a stack."""
        refuse_large(loaded.stack)
        kinds: dict[str, list[int]] = {}
        for number, site in enumerate(module.sites):
            kinds.setdefault(site.what, []).append(number)
        asked = tuple(n for what in (MESSAGE, SEND, UNLIKELY) for n in kinds.get(what, ()))
        reports = tuple(kinds.get(REPORT, ()))
        calls = _RUN(loaded.run), _AGAIN(loaded.again)
        is_deep = not fits_anywhere(loaded.stack)
        return cls(module, loaded, *calls, reports, asked, SEND in kinds, is_deep)


def _aligned(size: int) -> NDArray[np.uint8]:
    """Zeroed bytes that start at a multiple of 64."""
    raw = np.zeros(size + 64, np.uint8)
    start = -_address(raw) % 64
    return raw[start : start + size]


def _local(size: int) -> NDArray[np.uint8]:
    """Local memory or scratch space; a vector may reach 64 bytes further."""
    return local(size + 64) if size else _aligned(64)


class Worker:
    """The memory that one worker runs groups in."""

    def __init__(self, compiled: Compiled, admitted: Admitted) -> None:
        grid = admitted.grid
        threads, size = grid.threads_per_group, compiled.module.record_size
        records = threads if compiled.module.resumable else 1
        copies = 1 + follows_memory(grid.function)
        self.slm = _local(grid.slm_bytes * copies)
        self.scratch = _local(grid.scratch_bytes * copies * threads)
        self.records = _aligned(records * size + 64)
        payload = grid.payload.size
        self.payloads = _aligned(threads * payload)
        # The header and the local ids are the same in every launch that this memory is for.
        self.payloads[:] = thread_payloads(grid, 0, 1).reshape(-1)
        first = grid.payload.cross_thread_offset
        last = first + len(grid.payload.cross_thread)
        rows = self.payloads.reshape(threads, payload)
        self.cross_thread, self.tables = rows[:, first:last], rows[:, _TABLES]
        self.masks = np.array(grid.masks or (), np.uint64)
        self.regions = np.zeros((0, 2), np.uint64)
        self.last: tuple[object, ...] = ()  # the launch it was prepared for last, see `prepare`
        self.shadow: tuple[NDArray[np.uint8], ...] = ()  # see `Shadow`
        self.context = np.zeros(Context.SITES + SITE_WORDS * len(compiled.module.sites), np.uint64)
        self.words = self.context.data  # the same, quicker to read
        self.address: int = _address(self.context)
        self.pointer = ctypes.c_void_p(self.address)
        self.set(
            SLM=_address(self.slm),
            SLM_SIZE=grid.slm_bytes,
            SLM_ROOM=grid.slm_bytes * copies,
            SCRATCH_ALL=_address(self.scratch),
            SCRATCH_SIZE=grid.scratch_bytes,
            SCRATCH_ROOM=grid.scratch_bytes * copies,
            RECORDS=_address(self.records),
            RECORD_SIZE=size if compiled.module.resumable else 0,
            PAYLOADS=_address(self.payloads),
            PAYLOAD_SIZE=payload,
            THREADS=threads,
            TAIL_MASK=tail_mask(grid),
            MASKS=_address(self.masks),
        )

    def set(self, **words: int) -> None:
        for name, value in words.items():
            self.context[Context[name]] = value

    def get(self, word: Context) -> int:
        return self.words[word]


def _surface_bits(surface: Bound) -> int:
    return (
        SurfaceBits.STRICT * surface.strict
        | SurfaceBits.NO_LOADS * ("r" not in surface.access)
        | SurfaceBits.NO_STORES * ("w" not in surface.access)
        | SurfaceBits.CONSTANT * surface.constant
    )


def tail_mask(grid: Grid) -> int:
    """The lanes of the last thread of a group that have a work item."""
    width = grid.function.width
    lanes = prod(grid.local_size) - (grid.threads_per_group - 1) * width
    return (1 << lanes) - 1


def _tables(payload: Payload) -> NDArray[np.uint8] | None:
    """What the header says of the tables of states, if that varies."""
    if not payload.tables_vary:
        return None
    return np.array([payload.r0[k] for k in TABLE_DWORDS], np.uint32).view(np.uint8)


class Launch:
    """The tables of one launch, shared by its workers."""

    def __init__(
        self, compiled: Compiled, admitted: Admitted, symbols: list[int], row: int = 1
    ) -> None:
        grid, host = admitted.grid, admitted.host
        self.compiled, self.groups, self.row = compiled, grid.groups, row
        self._count = ctypes.c_int64(self.groups)
        self._data = grid.payload.cross_thread
        self.starts, self.ends = admitted.readable
        self.writable = admitted.writable
        self.progress = host.progress
        self.messenger: Messenger | None = None
        self._alone: tuple[object, ...] | None = None  # what a worker that ran all of it last has
        if compiled.messages:
            sites = [compiled.module.sites[n] for n in compiled.messages]
            self.messenger = Messenger(admitted, dict(zip(compiled.messages, sites, strict=True)))
        surfaces = [
            word
            for index, s in admitted.surfaces.items()
            for word in (index, s.place, s.size, _surface_bits(s))
        ]
        # One table, as finding an array's address takes time: where to stop, the next group to
        # take, whether all workers must leave, symbols, surfaces.
        self.table = np.array([_NEVER, 0, 0, *symbols, *surfaces], np.uint64)
        self.host = host  # compiled code uses its arena
        self._table_words = self.table.data
        self._failure: BaseException | None = None
        self.cross_thread = np.frombuffer(grid.payload.cross_thread, np.uint8)
        self._r0 = grid.payload.r0
        self.tables = _tables(grid.payload)
        rows = grid.payload.rows
        self.rows = None if rows is None else np.frombuffer(b"".join(rows), np.uint8)
        self._arena = host.arena
        table = _address(self.table)
        self.words = (
            _known_address(host.arena),
            host.base,
            len(host.arena),
            len(self.starts),
            _known_address(self.starts),
            _known_address(self.ends),
            table + 8 * (3 + len(symbols)),
            len(admitted.surfaces),
            table + 24,
            grid.fuel,
            *grid.group_count,
            table,
            table + 8,
        )
        stores = len(self.writable[0]), *map(_known_address, self.writable)
        self.more_words = (*grid.first_group, *stores)

    @property
    def is_reusable(self) -> bool:
        """Whether these tables are as they were before the launch, but for what `again` sets."""
        own = self.messenger is None and self.rows is None
        return own and self._failure is None

    def again(self, grid: Grid, row: int) -> None:
        """Make this the launch of a grid like the first one, in the same memory."""
        data = grid.payload.cross_thread
        if data is not self._data:
            self.cross_thread, self._data = np.frombuffer(data, np.uint8), data
            self._alone = None
        if grid.payload.r0 is not self._r0:
            self._r0, self.tables = grid.payload.r0, _tables(grid.payload)
            self._alone = None
        if row != self.row:
            self.row, self._alone = row, None
        self.progress = self.host.progress
        words = self._table_words
        words[0], words[1], words[2] = _NEVER, 0, 0

    def prepare(self, worker: Worker, number: int, chunk: int) -> None:
        """Point a worker at this launch; extents may have changed, so its caches are empty.

        A worker that ran the very same launch last knows all but what that run changed.
        """
        last = worker.last
        if last and last[0] is self and last[1] is self._data and last[2:] == (number, chunk):
            words = worker.words
            if self.tables is not None:
                worker.tables[:] = self.tables
            words[_ROW], words[_LOOK], words[_POLLED] = self.row, 0, 0
            words[_POLLS] = self._polls(number)
            words[_INSTRUCTIONS], words[_GROUP], words[_FAULT] = 0, NO_GROUP, _NO_FAULT
            return
        worker.last = ()
        worker.context[Context.SITES :] = 0
        worker.cross_thread[:] = self.cross_thread
        if self.tables is not None:
            worker.tables[:] = self.tables
        if self.rows is not None:
            worker.set(ROWS=_address(self.rows))
        if self.messenger is not None:
            memory = worker.context, worker.slm, worker.scratch
            callable = self.messenger.prepare(number, *memory)
            worker.set(ANSWER=self.messenger.address, CALLABLE=callable)
        _ATTENTION_WORDS.pack_into(
            *(worker.context.data, 8 * Context.LEAVE, self.words[-2] + 16, SLICE),
            *(self._polls(number), 0, python_address(), 0, 0, 0),
        )
        _LAUNCH_WORDS.pack_into(
            *(worker.context.data, 0, *self.words, chunk, number, 0, NO_GROUP),
            *(_LARGE, 0, self.row, FaultKind.NONE),
        )
        _MORE_WORDS.pack_into(worker.context.data, 8 * Context.FIRST_X, *self.more_words)
        if self.is_reusable and not (self.compiled.reports or worker.shadow):
            worker.last = self, self._data, number, chunk

    def _polls(self, number: int) -> bool:
        """Whether a worker is to run Python's signal handlers; on a thread of its own, none can."""
        return number == 0 and not self.compiled.is_deep and is_main_thread()

    def assert_regions(self, worker: Worker) -> None:
        """Tell compiled code which memory it may access, for `paranoid`."""
        own = (worker.slm, worker.scratch, worker.records, worker.payloads, worker.masks)
        shared = (
            *(self._arena, self.starts, self.ends, *self.writable),
            *(self.table, self.rows, worker.context, *worker.shadow),
        )
        arrays = [a for a in (*own, *shared) if a is not None]
        worker.regions = np.array([(_address(a), a.nbytes) for a in arrays], np.uint64)
        worker.set(REGIONS=_address(worker.regions), REGION_COUNT=len(worker.regions), ASSERTED=0)

    def refusal(self, worker: Worker) -> Refusal | Fault | None:
        """Why nobody answered the message that stopped a worker, if one did."""
        if worker.get(Context.FAULT) != FaultKind.MESSAGE or self.messenger is None:
            return None
        return self.messenger.refusal(worker.get(Context.WORKER))

    def leave(self) -> None:
        """Make all workers leave at once, in the middle of what they do."""
        self._table_words[2] = 1

    def fail(self, error: BaseException) -> None:
        """Make all workers leave, for an error elsewhere that `run` is to raise."""
        self._failure = self._failure or error
        self.leave()

    def stop(self) -> None:
        """Let workers take no more groups: what they have taken they run to its end."""
        self._table_words[1] = STOPPED

    def run(
        self,
        workers: list[Worker],
        first: int,
        last: int,
        stop: Preemption | None = None,
        more: Callable[[], Worker | None] | None = None,
    ) -> int:
        """Run groups first … last - 1, or those before a stop; the first that has not run.

        `more` gives another worker, where groups may wait for groups that have not begun.  Those
        are not stopped: the ones that have begun may never end then.
        A worker that faults keeps its records for the diagnosis.  What ends Python code that
        compiled code called, or a signal handler of Python, is raised when all workers have left.
        """
        self._table_words[1] = first
        if more is not None and last - first > 1:
            own, another = [*workers], partial(self._another, workers, last, more)
            with reinforced(
                self.table[1:2], last, another, self.leave, self.fail, self.compiled.stack
            ):
                self._run(own, last, 1)
            return self.ended(workers, first)
        if stop is not None:
            stop.attach(self.stop)
        self._run(workers, last, max(1, (last - first) // (len(workers) * _CHUNKS_A_WORKER)))
        return self.ended(workers, first)

    def _another(
        self, workers: list[Worker], last: int, more: Callable[[], Worker | None]
    ) -> Callable[[], object] | None:
        worker = more()
        if worker is None:
            return None
        self.prepare(worker, len(workers), 1)
        workers.append(worker)
        return partial(self.compiled.call, worker.address, last)

    def run_alone(
        self, workers: list[Worker], grid: Grid, row: int, stop: Preemption
    ) -> int | None:
        """Run all groups of a grid like the first one with a worker that knows them: what `again`
        and `run` do, for nobody who asks for progress.  The instructions.

        None if it does not know them; less than 0 if `ended` and the worker have more to tell.
        """
        worker, words, payload = workers[0], self._table_words, grid.payload
        if worker.last is not self._alone or len(workers) > 1 or row != self.row:
            self.again(grid, row)
            return None
        if payload.cross_thread is not self._data:
            if payload.r0 is not self._r0:
                self.again(grid, row)
                return None
            self._take_numbers(payload.cross_thread, worker)
        words[0], words[1], words[2] = _NEVER, 0, 0
        stop.attach(self.stop)
        is_main = _YES if get_ident() == MAIN[0] else _NO
        counted: int = self.compiled.again(worker.pointer, self._count, is_main)
        return counted

    def _take_numbers(self, data: bytes, worker: Worker) -> None:
        """Other numbers for a worker that knows all else of this launch."""
        number, chunk = worker.last[2:]
        worker.last = ()
        self.cross_thread, self._data = np.frombuffer(data, np.uint8), data
        worker.cross_thread[:] = self.cross_thread
        self._alone = worker.last = self, data, number, chunk

    def ended(self, workers: list[Worker], first: int) -> int:
        """What `run` gives and raises, when workers have left."""
        for worker in workers:
            error = error_of(worker.context) if worker.words[_ERROR] else None
            if error is not None and not isinstance(self._failure, KeyboardInterrupt):
                self._failure = error
        if self._failure is not None:
            raise self._failure
        begun = [g for worker in workers if (g := worker.words[_GROUP]) != NO_GROUP]
        return max(begun) + 1 if begun else first

    def _run(self, workers: list[Worker], groups: int, chunk: int) -> None:
        call = self.compiled.call
        is_deep = self.compiled.is_deep
        if len(workers) == 1 and self.progress is None and not is_deep:
            self.prepare(workers[0], 0, chunk)
            self._alone = workers[0].last or None
            call(workers[0].address, groups)
            return
        for number, worker in enumerate(workers):
            self.prepare(worker, number, chunk)
        with told(self.progress, self.table[1:2], self.groups, self.fail):
            # What runs holds what it uses.
            def work(number: int, launch: Launch = self) -> None:
                call(workers[number].address, groups)

            if is_deep:
                run_with_stack(work, len(workers), self.leave, self.compiled.stack)
            else:
                pool().run(work, len(workers), self.leave)
