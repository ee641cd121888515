"""Named barriers: a signal counts, and gives the consumers notice when the barrier opens."""

# ruff: noqa: E501  # lines of LLVM text

from __future__ import annotations

from eumu.exec.jit.driver.ways import Ways
from eumu.exec.jit.llvm.layout import NAMED_WORDS, Context, FaultKind, NamedRow, Record
from eumu.exec.jit.llvm.words import get
from eumu.exec.named import CONSUMER, MOST, PAIRS, PRODUCER
from eumu.ir import Function, Terminator
from eumu.ir.operations.ends import Barrier


def has_named(function: Function) -> bool:
    """Whether a function has named barriers."""
    ends = (block.end for block in function.blocks)
    return any(isinstance(end, Barrier) and (end.args or end.kind == "pair") for end in ends)


def _at(name: str, base: str, word: str | int) -> str:
    return f"  %{name} = getelementptr i64, ptr {base}, i64 {word}\n"


_SIGNAL = f"""
define internal i64 @named.signal(ptr %ctx, i64 %b, i64 %role, i64 %producers, i64 %consumers) noinline {{
entry:
{_at("said.b", "%ctx", Context.SIGNAL)}  store i64 %b, ptr %said.b
{_at("said.role", "%said.b", 1 + NamedRow.OPEN)}  store i64 %role, ptr %said.role
{_at("said.p", "%said.b", 1 + NamedRow.PRODUCERS)}  store i64 %producers, ptr %said.p
{_at("said.c", "%said.b", 1 + NamedRow.CONSUMERS)}  store i64 %consumers, ptr %said.c
  %exists = icmp ult i64 %b, {MOST}
  br i1 %exists, label %known, label %no.barrier
known:
  %is.role = icmp ule i64 %role, {CONSUMER}
  br i1 %is.role, label %fine, label %no.role
fine:
  %first = mul i64 %b, {NAMED_WORDS}
  %place = add i64 %first, {int(Context.NAMED)}
{_at("row", "%ctx", "%place")}{get("open", NamedRow.OPEN, "%row")}{get("p", NamedRow.PRODUCERS, "%row")}{get("c", NamedRow.CONSUMERS, "%row")}{get("np", NamedRow.COME_PRODUCERS, "%row")}{get("nc", NamedRow.COME_CONSUMERS, "%row")}  %is.open = icmp ne i64 %open, 0
  br i1 %is.open, label %compare, label %begin
begin:
  store i64 1, ptr %open.p
  store i64 %producers, ptr %p.p
  store i64 %consumers, ptr %c.p
  br label %come
compare:
  %same.p = icmp eq i64 %p, %producers
  %same.c = icmp eq i64 %c, %consumers
  %same = and i1 %same.p, %same.c
  br i1 %same, label %come, label %other.counts
come:
  %np.old = phi i64 [ 0, %begin ], [ %np, %compare ]
  %nc.old = phi i64 [ 0, %begin ], [ %nc, %compare ]
  %produces = icmp ne i64 %role, {CONSUMER}
  %consumes = icmp ne i64 %role, {PRODUCER}
  %one.p = zext i1 %produces to i64
  %one.c = zext i1 %consumes to i64
  %np.new = add i64 %np.old, %one.p
  %nc.new = add i64 %nc.old, %one.c
  store i64 %np.new, ptr %np.p
  store i64 %nc.new, ptr %nc.p
{get("who", Context.THREAD, "%ctx")}  %rec = call ptr @record.of(ptr %ctx, i64 %who)
{get("came.p", Record.CAME_PRODUCER, "%rec")}{get("came.c", Record.CAME_CONSUMER, "%rec")}  %bit.p = shl i64 %one.p, %b
  %bit.c = shl i64 %one.c, %b
  %came.p.new = or i64 %came.p, %bit.p
  %came.c.new = or i64 %came.c, %bit.c
  store i64 %came.p.new, ptr %came.p.p
  store i64 %came.c.new, ptr %came.c.p
  %over.p = icmp ugt i64 %np.new, %producers
  %over.c = icmp ugt i64 %nc.new, %consumers
  %over = or i1 %over.p, %over.c
  br i1 %over, label %too.many, label %ready
ready:
  %full.p = icmp eq i64 %np.new, %producers
  %full.c = icmp eq i64 %nc.new, %consumers
  %full = and i1 %full.p, %full.c
  br i1 %full, label %opens, label %done
opens:
  store i64 0, ptr %open.p
  %bit = shl i64 1, %b
  %others = xor i64 %bit, -1
{get("threads", Context.THREADS, "%ctx")}  br label %tell
tell:
  %t = phi i64 [ 0, %opens ], [ %t.next, %tell ]
  %r = call ptr @record.of(ptr %ctx, i64 %t)
{get("was.p", Record.CAME_PRODUCER, "%r")}{get("was.c", Record.CAME_CONSUMER, "%r")}{get("notices", Record.NOTICES, "%r")}  %notice = and i64 %was.c, %bit
  %notices.new = or i64 %notices, %notice
  %left.p = and i64 %was.p, %others
  %left.c = and i64 %was.c, %others
  store i64 %notices.new, ptr %notices.p
  store i64 %left.p, ptr %was.p.p
  store i64 %left.c, ptr %was.c.p
  %t.next = add i64 %t, 1
  %more = icmp ult i64 %t.next, %threads
  br i1 %more, label %tell, label %done
done:
  ret i64 {int(FaultKind.NONE)}
no.barrier:
  ret i64 {int(FaultKind.NO_BARRIER)}
no.role:
  ret i64 {int(FaultKind.NO_ROLE)}
other.counts:
  ret i64 {int(FaultKind.OTHER_COUNTS)}
too.many:
  ret i64 {int(FaultKind.TOO_MANY)}
}}
"""


def signal(ends: Ways, end: Terminator, site: int) -> None:
    """A thread comes to a named barrier; leaves it if that is wrong."""
    k, e = ends.k, ends.e
    e.support.setdefault("named.signal", _SIGNAL)
    numbers = [("i64", e.op(f"zext i32 {k.vector(x)} to i64")) for x in end.args]
    kind = e.call("i64", "named.signal", ("ptr", "%ctx"), *numbers)
    wrong, bad, on = e.op(f"icmp ne i64 {kind}, 0"), e.name("bad"), e.name("on")
    e.do(f"br i1 {wrong}, label %{bad}, label %{on}, !prof !0")
    e.label(bad)
    k.fault(kind, site)
    e.label(on)


def pair(ends: Ways, site: int) -> None:
    """A thread comes to a barrier of its pair; leaves it if there is no other one."""
    k, e = ends.k, ends.e
    other = e.op(f"xor i64 {k.context_load(Context.THREAD)}, 1")
    lost = e.op(f"icmp uge i64 {other}, {k.context_load(Context.THREADS)}")
    bad, on = e.name("alone"), e.name("on")
    e.do(f"br i1 {lost}, label %{bad}, label %{on}, !prof !0")
    e.label(bad)
    k.fault(FaultKind.ALONE, site)
    e.label(on)
    ends.increment(Record.PAIRS)


def name(ends: Ways, end: Barrier) -> str:
    """The word that says at which barrier a thread waits."""
    if end.kind == "pair":
        return str(PAIRS)
    if not end.args:
        return "0"
    e = ends.e
    number = e.op(f"zext i32 {ends.k.vector(end.args[0])} to i64")
    e.declarations["llvm.umin.i64"] = "declare i64 @llvm.umin.i64(i64, i64)"
    known = e.op(f"call i64 @llvm.umin.i64(i64 {number}, i64 {MOST})")
    return e.op(f"add i64 {known}, 1")
