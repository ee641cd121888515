"""The driver's part of running threads abreast: who tries, and who goes on."""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.driver.threads import place_of
from eumu.exec.jit.llvm.functions import FunctionBuilder, Variable
from eumu.exec.jit.llvm.layout import SITE_WORDS, STOPPED_SHIFT, Context, Record, ThreadOutcome
from eumu.exec.jit.llvm.vectors import Vector
from eumu.records import dataclass

# Threads that begin again cost more; after many of them nobody tries for a while.
_MISS: Final = 16
_MOST: Final = 512
_PAUSE: Final = 8192


@dataclass(frozen=True, slots=True)
class Several:
    """How many members run abreast, the site that counts how often they had to begin again, and
    the bytes of a record."""

    members: int
    site: int
    record: int

    def _misses(self, f: FunctionBuilder) -> Variable:
        return f.word("%ctx", Context.SITES + self.site * SITE_WORDS)

    def may_try(self, f: FunctionBuilder) -> Vector:
        """Whether members try; after a pause all is forgotten."""
        misses = self._misses(f)
        before = misses.get()
        waited = f.where(before >= _MOST, before + 1, before)
        waited = f.where(waited > _MOST + _PAUSE, 0, waited)
        misses.set(waited)
        return waited < _MOST

    def attempt(
        self, f: FunctionBuilder, records: str, size: Vector, payload: str, pitch: Vector
    ) -> Vector:
        """Run members; `ThreadOutcome.AGAIN`, or where they stopped."""
        words = f"ptr %ctx, ptr {records}, {size.typed}, ptr {payload}, {pitch.typed}"
        outcome = f.small(f.op(f"call i32 @abreast({words})"))
        misses = self._misses(f)
        before = misses.get()
        good = f.number(f.intrinsic("usub.sat", "i64", before.name, "1"))
        failed = f.equal(outcome, ThreadOutcome.AGAIN)
        misses.set(f.where(failed, before + _MISS, good))
        return outcome

    def group(
        self, f: FunctionBuilder, threads: Vector, stopped: Variable, ended: Variable
    ) -> None:
        """Run a whole group as far as it goes abreast, and note where it stopped, or how many
        threads have ended."""
        fits = f.equal(threads, self.members)
        with f.when(fits), f.when(self.may_try(f)):
            size, pitch = (
                f.context(word).get() for word in (Context.RECORD_SIZE, Context.PAYLOAD_SIZE)
            )
            places = place_of(f, "record", 0), place_of(f, "payload", 0)
            outcome = self.attempt(f, places[0], size, places[1], pitch)
            again, on = f.either(f.equal(outcome, ThreadOutcome.AGAIN))
            with again:
                group = f.context(Context.GROUP).get()
                f.do(f"call void @prepare(ptr %ctx, {group.typed}, {threads.typed})")
            with on:
                stopped.set(f.number(f.op(f"zext {outcome.typed} to i64")))
                ends = f.equal(outcome, ThreadOutcome.END)
                ended.set(f.where(ends, threads, ended.get()))

    def chunks(
        self, f: FunctionBuilder, threads: Vector, first: Variable, total: Variable, fault: str
    ) -> None:
        """Run as many threads as possible abreast, and each to its end; `first` is the first that
        has not run, `total` counts instructions.  After a fault it leaves the block `fault`."""
        records = f.alloca(f"[{self.members * self.record} x i8], align 64", None)
        size, pitch = f.number(str(self.record)), f.context(Context.PAYLOAD_SIZE).get()
        payloads = place_of(f, "payload", 0)
        with f.block() as end, f.repeat(lambda: first.get() + self.members <= threads):
            with f.when(self.may_try(f) ^ f.flag("icmp eq i32 0, 0")):
                f.leave(end)
            payload = f.elements(8, payloads, first.get() * pitch)
            outcome = self.attempt(f, records, size, payload, pitch)
            with f.when(f.equal(outcome, ThreadOutcome.AGAIN)):
                f.leave(end)
            point = f.number(f.op(f"zext {outcome.typed} to i64")) >> STOPPED_SHIFT
            with f.times(self.members) as m:
                f.context(Context.THREAD).set(first.get() + m)
                record = f.elements(8, records, m * self.record)
                f.word(record, Record.DEPTH).set(0)
                own = f.elements(8, payload, m * pitch)
                words = f"ptr %ctx, ptr {record}, ptr {own}, i64 -1, {point.typed}"
                ended = f.small(f.op(f"call i32 @rest({words})"))
                with f.when(f.equal(ended, ThreadOutcome.FAULT)):
                    f.leave(fault)
                total.add(f.word(record, Record.COUNT).get())
            first.add(self.members)
