"""The operations `message` and `send`: compiled code calls back, for the host to answer, or for the
interpreter to do what the descriptors of a `send` ask for.

``i32 @ask(ctx, site, data)`` calls the worker's callable (:mod:`~eumu.exec.jit.llvm.attention`),
which finds the arguments' lanes at `data`, those of a mask as bytes, and leaves the results' behind
them, every array from a multiple of 8 bytes on.  It returns 0, or 1 when the thread must stop.
"""

from __future__ import annotations

from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.interface import MESSAGE, SEND, UNLIKELY
from eumu.exec.jit.llvm.attention import ASK
from eumu.exec.jit.llvm.emit import Emitter, int_type, lane_type, vector_of
from eumu.exec.jit.llvm.layout import Context, FaultKind, message_places
from eumu.exec.jit.llvm.paranoid import TRUSTED
from eumu.ir import Op, Value
from eumu.ir.operations.messages import Require


@LOWERINGS.on(Op, MESSAGE, SEND)
def _message(k: KernelLowering, op: Op) -> None:
    unlikely = op.name == SEND and not k.lanes(op.args[2]).full
    e, site = k.e, k.site(op.inst, UNLIKELY if unlikely else op.name)
    starts, end = message_places(op)
    data = k.scratchpad(MESSAGE, f"[{max(1, end // 8)} x i64]")
    where = [e.op(f"getelementptr i8, ptr {data}, i64 {start}") for start in starts]
    bad, on, ask = e.name("refused"), e.name("answered"), e.name("ask")
    vectors = [k.vector(value) for value in op.args]
    if unlikely:
        _skip(k, op, vectors, where, on)
    for value, x, place in zip(op.args, vectors, where, strict=False):
        _put(e, value, x, place)
    table = e.op(f"inttoptr i64 {k.context_load(Context.ANSWER)} to ptr")
    _take_inline_cache(k, table, site, data, on, ask)
    e.label(ask)
    e.support.setdefault("ask", ASK)
    answer = e.op(f"call i32 @ask(ptr %ctx, i64 {site}, ptr {data})")
    wrong = e.op(f"icmp ne i32 {answer}, 0")
    e.do(f"br i1 {wrong}, label %{bad}, label %{on}, !prof !0")
    e.label(bad)
    k.fault(FaultKind.MESSAGE, site)
    e.label(on)
    for value, place in zip(op.results, where[len(op.args) :], strict=True):
        kind = int_type(value.type, value.width)
        bits = e.op(f"load {kind}, ptr {place}, align 1")
        k.plain(value, e.bitcast(bits, kind, lane_type(value.type, value.width)))


def _put(e: Emitter, value: Value, x: str, place: str) -> None:
    """Store an argument."""
    kind = lane_type(value.type, value.width)
    if value.is_mask:
        octets = vector_of("i8", value.width)
        x, kind = e.op(f"zext {kind} {x} to {octets}"), octets
    e.do(f"store {kind} {x}, ptr {place}, align 1")


def _skip(k: KernelLowering, op: Op, vectors: list[str], where: list[str], on: str) -> None:
    """Leave a `send` out if it is not enabled: its answer is what was there."""
    e, ask = k.e, k.e.name("send")
    if op.results:
        _put(e, op.args[-1], vectors[-1], where[-1])
    e.do(f"br i1 {vectors[2]}, label %{ask}, label %{on}, !prof !0")
    e.label(ask)


def _take_inline_cache(
    k: KernelLowering, table: str, site: int, data: str, on: str, ask: str
) -> None:
    """Go on to `on` if the site has an inline cache and it answers, else to `ask`."""
    e = k.e
    entry = e.op(f"getelementptr ptr, ptr {table}, i64 {site}")
    record = e.op(f"load atomic ptr, ptr {entry} acquire, align 8{TRUSTED}")
    short = e.name("inline_cache")
    e.do(f"br i1 {e.op(f'icmp eq ptr {record}, null')}, label %{ask}, label %{short}")
    e.label(short)
    function = e.op(f"load ptr, ptr {record}, align 8{TRUSTED}")
    asked = e.op(f"icmp ne i32 {e.op(f'call i32 {function}(ptr {record}, ptr {data})')}, 0")
    e.do(f"br i1 {asked}, label %{ask}, label %{on}")


@LOWERINGS.on(Require)
def _require(k: KernelLowering, op: Require) -> None:
    e, bad, on = k.e, k.e.name("bad"), k.e.name("on")
    e.do(f"br i1 {k.vector(op.args[0])}, label %{on}, label %{bad}, !prof !1")
    e.label(bad)
    k.fault(FaultKind.TRAP, k.site(op.inst, f"message {op.reason}"))
    e.label(on)
