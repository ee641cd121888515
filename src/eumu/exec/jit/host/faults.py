"""What compiled code recorded about a fault, as the exception that the interpreter raises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eumu import addresses
from eumu.errors import ArrayPlace, Fault, Finding, ranges
from eumu.exec import barrier_sides, blame, named, words
from eumu.exec.findings import Seen
from eumu.exec.gate import Admitted
from eumu.exec.host import Refusal
from eumu.exec.jit.driver.calls import CALL_DEPTH
from eumu.exec.jit.host.launch import Compiled, Worker
from eumu.exec.jit.interface import FaultSite
from eumu.exec.jit.llvm.layout import (
    NAMED_WORDS,
    SITE_WORDS,
    Context,
    FaultKind,
    NamedRow,
    Record,
    ReportWord,
    ThreadState,
)
from eumu.ir import Function, Op, Space
from eumu.ir.operations.memory import Access
from eumu.ir.operations.messages import Report as ReportOperation
from eumu.ir.operations.state import ExecMask

_WRONG_SIGNALS = frozenset(
    {FaultKind.NO_BARRIER, FaultKind.NO_ROLE, FaultKind.OTHER_COUNTS, FaultKind.TOO_MANY}
)
_DIVERGENT = "barrier in divergent control flow"
_VERBS = {
    "load": "load",
    "store": "store",
    "load_block": "block load",
    "store_block": "block store",
    "atomic": "atomic operation",
}


class Report:
    """Reads one worker's fault."""

    def __init__(self, compiled: Compiled, admitted: Admitted, worker: Worker) -> None:
        self.admitted, self.worker = admitted, worker
        self.grid, self.host = admitted.grid, admitted.host
        self.function: Function = self.grid.function
        self.sites = compiled.module.sites
        self.kind = FaultKind(worker.get(Context.FAULT))
        self.module = compiled.module

    @property
    def group(self) -> int:
        """The number of the group in the launch."""
        return self.worker.get(Context.FAULT_GROUP)

    def fault(self) -> Fault:
        """The exception."""
        if self.kind in (FaultKind.ENDED, FaultKind.PLACES, FaultKind.DEADLOCK):
            return self._group_fault()
        site = self.sites[self.worker.get(Context.FAULT_SITE)]
        if self.kind is FaultKind.ALONE:
            alone = named.alone(self.worker.get(Context.FAULT_THREAD))
            return self._at(alone, site.inst, code="named-barrier")
        if self.kind in _WRONG_SIGNALS:
            return self._at(self._signal(), site.inst, code="named-barrier")
        lanes = _bits(self.worker.get(Context.FAULT_LANES))
        if self.kind is FaultKind.ACCESS:
            return self._access(site, lanes)
        if self.kind is FaultKind.FUEL:
            fuel = self.grid.fuel
            reason = f"instruction budget: the thread ran more than fuel={fuel} instructions"
            notes, related = words.loops(self.function), self._waiting_threads()
            code = "endless-loop"
            return self._at(reason, site.inst, lanes, None, notes, code=code, related=related)
        if self.kind is FaultKind.DIVERGENT:
            return self._lanes_elsewhere(site, lanes)
        if self.kind is FaultKind.INDIRECT:
            address = self.worker.get(Context.FAULT_ADDRESS)
            reason, at = words.no_register(address), self._shifted(site, lanes)
            return self._at(reason, site.inst, at, address, code="register-address")
        if self.kind is FaultKind.NO_FUNCTION:
            address = self.worker.get(Context.FAULT_ADDRESS)
            reason = f"call of address {address:#x}, where no function is"
            return self._at(reason, site.inst, lanes, address, code="call-target")
        if self.kind is FaultKind.CALLS:
            return self._at(f"more than {CALL_DEPTH} nested calls", site.inst, code="call-depth")
        code, _, reason = site.what.partition(" ")
        return self._at(reason, site.inst, lanes, code=code)

    def of(self, refusal: Refusal | Fault | None) -> Fault:
        """The exception, or that of a message that was not answered."""
        if isinstance(refusal, Fault):
            return refusal
        return self.fault() if refusal is None else self._refused(refusal)

    def _refused(self, wrong: Refusal) -> Fault:
        """The fault of a message that the host refused."""
        site = self.sites[self.worker.get(Context.FAULT_SITE)]
        lanes = self._shifted(site, [int(lane) for lane in wrong.lanes])
        return self._at(
            *(wrong.reason, site.inst, lanes, wrong.address, wrong.notes),
            code=wrong.code,
            memory=wrong.memory,
        )

    def _at(
        self,
        reason: str,
        inst: int,
        lanes: Sequence[int] = (),
        address: int | None = None,
        notes: Sequence[str] = (),
        thread: int | None = None,
        *,
        code: str,
        memory: ArrayPlace | None = None,
        related: tuple[Finding, ...] = (),
    ) -> Fault:
        member = self.worker.get(Context.FAULT_THREAD) if thread is None else thread
        finding = blame.record(
            *(self.grid, code, reason, inst, self.group, member, lanes, address, notes),
            memory=memory,
            related=related,
        )
        return Fault.of(finding)

    # ---- accesses

    def _access(self, site: FaultSite, lanes: Sequence[int]) -> Fault:
        op = self._operation(site)
        assert isinstance(op, Access)
        space, size = op.space, op.size
        address = self.worker.get(Context.FAULT_ADDRESS)
        surface = self.worker.get(Context.SURFACE_FAULT)
        where = self._where(space, surface)
        bytes = f"{size} byte{'s' * (size != 1)}"
        reason = f"{_VERBS[op.name]} of {bytes} at {address:#x}{where}"
        notes = [self.host.describe(address)] if space is Space.FLAT else []
        if where.endswith(words.UNBOUND):
            notes += words.unbound(surface, self.grid.surfaces, self.host)
        place = self.grid, self.host, space, surface, address
        code, memory = blame.outside(*place)
        access = "r" if op.name in ("load", "load_block") else "w"
        if denied := blame.denied(*place, size, access):
            code, memory = denied
            reason, notes = f"{_VERBS[op.name]} of {bytes} at {address:#x} {blame.DENIED[code]}", []
        at = self._shifted(site, lanes)
        return self._at(reason, site.inst, at, address, notes, code=code, memory=memory)

    def _operation(self, site: FaultSite) -> Op:
        """The memory operation of a site."""
        ops = self.function.blocks[site.block].ops
        return ops[site.op]

    def _shifted(self, site: FaultSite, lanes: Sequence[int]) -> tuple[int, ...]:
        """Lanes of an operation as lanes of the thread."""
        for op in self.function.blocks[site.block].ops:
            if op.inst == site.inst and isinstance(op, ExecMask):
                return tuple(lane + op.offset for lane in lanes)
        return tuple(lanes)

    def _where(self, space: Space, surface: int) -> str:
        if space is Space.FLAT:
            return " is outside every allocation"
        slm = f" is outside the {self.grid.slm_bytes} bytes of shared local memory"
        scratch = f" is outside the {self.grid.scratch_bytes} bytes of scratch space"
        if space is Space.SLM:
            return slm
        if space is Space.SCRATCH:
            return scratch
        bound = self.admitted.surfaces.get(surface)
        if bound is not None:
            return f" is outside {bound.words}"
        if surface == addresses.BTI_SLM:
            return slm
        if surface == addresses.SCRATCH_STATE:
            return scratch
        if surface in (addresses.BTI_STATELESS, addresses.BTI_STATELESS_NON_COHERENT):
            return " is outside every allocation"
        return f" uses index {surface:#x}, {words.UNBOUND}"

    # ---- barriers

    def _lanes_elsewhere(self, site: FaultSite, here: Sequence[int]) -> Fault:
        alive = _bits(self.worker.get(Context.FAULT_ADDRESS))
        absent = [lane for lane in alive if lane not in set(here)]
        reason = f"{_DIVERGENT}: lanes {ranges(absent)} of the thread are elsewhere"
        notes = [f"lanes {ranges(here)} are at the barrier"]
        waiting = {}
        for block, mask in self._waiting():
            lanes = [lane for lane in _bits(mask) if lane in absent]
            absent = [lane for lane in absent if lane not in lanes]
            if lanes:
                waiting[block] = lanes
                where = words.block_place(self.function, block)
                notes.append(f"lanes {ranges(lanes)} wait at {where}")
        if absent:
            notes.append(f"lanes {ranges(absent)} wait at the call to return")
        code, thread = "divergent-barrier", self.worker.get(Context.FAULT_THREAD)
        related = barrier_sides.lanes_elsewhere(self.grid, code, self.group, thread, waiting)
        return self._at(reason, site.inst, here, None, notes, code=code, related=related)

    def _waiting(self) -> Iterator[tuple[int, int]]:
        """Blocks of the thread's frame, and the lanes that wait there."""
        thread = self.worker.get(Context.FAULT_THREAD) if self.module.resumable else 0
        start = thread * self.module.record_size + self.module.waiting_offset
        size = 8 * len(self.module.waiting)
        masks = self.worker.records[start : start + size].view(np.uint64)
        return zip(self.module.waiting, map(int, masks), strict=True)

    def _records(self) -> NDArray[np.uint64]:
        """The fixed words of every thread's record, uint64[threads, Record.FRAMES]."""
        threads = self.grid.threads_per_group
        rows = self.worker.records[: threads * self.module.record_size].view(np.uint64)
        return rows.reshape(threads, -1)[:, : Record.FRAMES]

    def _group_fault(self) -> Fault:
        records = self._records()
        state = records[:, Record.STATE]
        ended = np.flatnonzero(state == ThreadState.DONE)
        freed = np.flatnonzero((state == ThreadState.FREE) & (records[:, Record.SYNC] != 0))
        held = np.flatnonzero(state == ThreadState.BLOCKED)
        freed = freed if len(freed) else held
        passed, arrived = records[:, Record.PASSED], records[:, Record.ARRIVED]
        notes: list[str] = []
        if self.kind is FaultKind.PLACES:
            members, reason = freed, "threads of the group meet at different barriers"
            notes = barrier_sides.may_race(self.grid)
        elif self.kind is FaultKind.ENDED:
            members = held
            absent = ended[arrived[ended] < passed[held].max()]
            gone = words.threads(absent)
            reason = f"{gone} of the group ended without reaching it"
            notes = [
                f"{gone} ended",
                *barrier_sides.missing(self.grid, self.group, absent.tolist()),
                *barrier_sides.may_race(self.grid),
            ]
        else:
            members = held
            names = np.unique(records[held, Record.NAME])
            notes = [self._closed(int(n) - 1, records) for n in names if 0 < n < named.PAIRS]
            alone = records[held, Record.NAME] == named.PAIRS
            notes += [named.partner_missing(int(thread)) for thread in held[alone]]
            what = "barriers that will not open" if notes else "a barrier that not all signalled"
            waiting = f"deadlock: {words.waiting(members)} at {what}"
            return self._barrier_fault(waiting, members, records, notes)
        return self._barrier_fault(f"{_DIVERGENT}: {reason}", members, records, notes)

    def _barrier_fault(
        self,
        reason: str,
        members: NDArray[np.intp],
        records: NDArray[np.uint64],
        notes: Sequence[str],
    ) -> Fault:
        insts = np.array([self.sites[int(p)].inst for p in records[members, Record.PLACE]])
        who = [
            f"{words.waiting(members[insts == inst])} at {words.place(self.function, int(inst))}"
            for inst in np.unique(insts)
        ]
        first = int(members[0])
        code = "deadlock" if self.kind is FaultKind.DEADLOCK else "divergent-barrier"
        places = dict(zip(members.tolist(), insts.tolist(), strict=True))
        inst, lanes = int(insts[0]), barrier_sides.lanes_of(self.grid, first)
        related = barrier_sides.threads_elsewhere(self.grid, code, self.group, places, inst)
        notes = [*who, *notes]
        return self._at(reason, inst, lanes, None, notes, first, code=code, related=related)

    def _waiting_threads(self) -> tuple[Finding, ...]:
        """Who of the group waits at barriers while the thread does something else."""
        if not self.module.resumable:
            return ()
        records = self._records()
        held = np.flatnonzero(records[:, Record.STATE] == ThreadState.BLOCKED).tolist()
        places = {t: self.sites[int(records[t, Record.PLACE])].inst for t in held}
        return barrier_sides.threads_elsewhere(self.grid, "endless-loop", self.group, places, -1)

    # ---- named barriers

    def _named(self, barrier: int) -> list[int]:
        """The words of a named barrier."""
        start = Context.NAMED + NAMED_WORDS * barrier
        return [int(word) for word in self.worker.context[start : start + NAMED_WORDS]]

    def _signal(self) -> str:
        """What is wrong with the signal that the thread gave."""
        start = Context.SIGNAL
        barrier, *said = (int(w) for w in self.worker.context[start : start + 1 + NAMED_WORDS])
        if self.kind is FaultKind.NO_BARRIER:
            return named.no_barrier(barrier)
        if self.kind is FaultKind.NO_ROLE:
            return named.no_role(said[NamedRow.OPEN])
        now = _counts(self._named(barrier))
        if self.kind is FaultKind.OTHER_COUNTS:
            return named.other_counts(barrier, now, _counts(said))
        return named.too_many(barrier, now)

    def _closed(self, barrier: int, records: NDArray[np.uint64]) -> str:
        """Who has come to a named barrier, and who is missing."""
        row = self._named(barrier) if barrier < named.MOST else [0] * NAMED_WORDS
        if not row[NamedRow.OPEN]:
            return named.untouched(barrier)
        producers, consumers = (
            [int(t) for t in np.flatnonzero(records[:, word] >> np.uint64(barrier) & np.uint64(1))]
            for word in (Record.CAME_PRODUCER, Record.CAME_CONSUMER)
        )
        come = row[NamedRow.COME_PRODUCERS], row[NamedRow.COME_CONSUMERS]
        return named.waits(barrier, _counts(row), come, (producers, consumers))


def _counts(row: Sequence[int]) -> tuple[int, int]:
    return row[NamedRow.PRODUCERS], row[NamedRow.CONSUMERS]


def _bits(mask: int) -> list[int]:
    return [k for k in range(64) if mask >> k & 1]


def seen(
    function: Function, sites: Mapping[int, FaultSite], context: NDArray[np.uint64]
) -> Iterator[Seen]:
    """What the sites, by number, noted in one worker's context."""
    for number, site in sites.items():
        start = Context.SITES + number * SITE_WORDS
        words = [int(word) for word in context[start : start + SITE_WORDS]]
        if words[ReportWord.COUNT]:
            where = words[ReportWord.GROUP], words[ReportWord.THREAD]
            op = function.blocks[site.block].ops[site.op]
            assert isinstance(op, ReportOperation)
            place = words[ReportWord.ADDRESS], words[ReportWord.SURFACE]
            yield Seen(op, where, words[ReportWord.LANES], words[ReportWord.COUNT], *place)
