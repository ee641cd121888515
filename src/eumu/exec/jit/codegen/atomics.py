"""Atomic operations: lane by lane in ascending order.

Groups run at the same time on several workers, so memory that they share is changed by real
atomic instructions; shared local memory and scratch belong to one worker and are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eumu.errors import Unsupported
from eumu.exec.jit.codegen import irregular, support
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.access import CompiledAccess, access_of
from eumu.exec.jit.codegen.cold_calls import slow_call
from eumu.exec.jit.codegen.elementwise import emitter_of
from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.codegen.memory import need_slow
from eumu.exec.jit.llvm.emit import Emitter, int_type, lane_type, scalar_type, vector_of
from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.layout import Context
from eumu.exec.jit.llvm.vectors import Vector
from eumu.ir import Op, Rounding, Space, Value
from eumu.ir.operations.arithmetic import Compare, Rounded
from eumu.ir.operations.memory import Atomic
from eumu.types import Type

_NATIVE = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "xchg": "xchg"}
_DATA = {"inc": 0, "dec": 0, "predec": 0, "load": 0, "cmpxchg": 2}
_KNOWN = frozenset({*_NATIVE, *_DATA, "min", "max"})
_SHARED = (Space.FLAT, Space.SURFACE)


@LOWERINGS.on(Atomic)
def _atomic(k: KernelLowering, op: Atomic) -> None:
    type, operation, value = op.type, op.operation, op.result
    if operation not in _KNOWN:
        raise Unsupported(f"atomic operation {operation!r}")
    access = access_of(k, op, store=True)
    count = len(op.data)
    shared, may_miss = access.space in _SHARED, access.space is Space.SURFACE
    body = _body(operation, type, shared=shared, may_miss=may_miss)
    function = need_slow(k, access, f"atomic.{operation}.{type}", body)
    if access.space is Space.SLM and irregular.can_gather(k, access) and _is_short(operation, type):
        _in_line(k, op, access, lambda: _slow(k, op, access, function, count))
        return
    k.plain(value, _slow(k, op, access, function, count))


def _slow(k: KernelLowering, op: Atomic, access: CompiledAccess, function: str, count: int) -> str:
    """Lane by lane in a function; what the operation returns."""
    e, type, width = k.e, op.type, op.result.width
    block = vector_of(int_type(type, 1), width * (count + 1))
    data, vector = k.scratchpad("data", block), lane_type(type, width)
    zero = "0" if width * (count + 1) == 1 else "zeroinitializer"
    e.do(f"store {block} {zero}, ptr {data}, align 8")
    for n, argument in enumerate(op.data, 1):
        place = e.byte(data, n * width * type.size)
        e.do(f"store {vector} {k.vector(argument)}, ptr {place}, align 1")
    slow_call(k, access, function, data, type.size, is_cold=False)
    return e.op(f"load {vector}, ptr {data}, align 1")


def _is_short(operation: str, type: Type) -> bool:
    """Whether an operation is an instruction or two of the processor."""
    return operation not in ("load", "cmpxchg") and (not type.is_float or operation == "xchg")


def _in_line(
    k: KernelLowering, op: Atomic, access: CompiledAccess, careful: Callable[[], str]
) -> None:
    """All lanes checked, then one after the other a load, an operation and a store.

    That is a loop, not a row of instructions: a processor learns that the load of the next lane may
    be of what this lane has stored, and it learns that by the place of the instruction.
    """
    e, type, width = k.e, op.type, op.result.width
    vector, pointer = lane_type(type, width), vector_of("ptr", width)
    data = [k.vector(a) for a in op.data]
    at = irregular.places(k, access)
    fast, slow, join = (e.name(n) for n in ("fast", "slow", "join"))
    e.do(f"br i1 {at.inside}, label %{fast}, label %{slow}, !prof !1")
    e.label(fast)
    pointers = k.scratchpad("pointers", pointer)
    e.do(f"store {pointer} {at.pointers}, ptr {pointers}, align 8")
    operands = [k.scratchpad(f"given{n}", vector) for n in range(len(data))]
    for place, value in zip(operands, data, strict=True):
        e.do(f"store {vector} {value}, ptr {place}, align 8")
    old = None
    if _is_used(k, op.result):
        old = k.scratchpad("old", vector)
        e.do(f"store {vector} zeroinitializer, ptr {old}, align 8")
    bits = None if at.is_full else regs.bits_of_mask(e, at.mask, width, 64)
    _lane_by_lane(k, op, pointers, operands, old, bits)
    result = "zeroinitializer" if old is None else e.op(f"load {vector}, ptr {old}, align 8")
    quick = e.current_label()
    e.do(f"br label %{join}")
    e.label(slow)
    other = careful()
    after = e.current_label()
    e.do(f"br label %{join}")
    e.label(join)
    k.plain(op.result, e.op(f"phi {vector} [ {result}, %{quick} ], [ {other}, %{after} ]"))


def _is_used(k: KernelLowering, value: Value) -> bool:
    """Whether an operation of the block reads a value."""
    block = k.function.blocks[k.block]
    read = [argument for op in block.ops[k.place + 1 :] for argument in op.args]
    read += block.end.args if block.end else ()
    return any(argument.id == value.id for argument in read)


def _lane_by_lane(
    k: KernelLowering,
    op: Atomic,
    pointers: str,
    sources: Sequence[str],
    old: str | None,
    bits: str | None,
) -> None:
    """The loop over all lanes, or over those whose bits are set."""
    e, type, width = k.e, op.type, op.result.width
    word, scalar = f"i{type.bits}", scalar_type(type)
    before, loop, end = e.current_label(), e.name("lanes"), e.name("done")
    if bits is not None:
        some = e.op(f"icmp ne i64 {bits}, 0")
        e.do(f"br i1 {some}, label %{loop}, label %{end}")
    else:
        e.do(f"br label %{loop}")
    e.label(loop)
    state, following = f"%{e.name('state')}", f"%{e.name('following')}"
    e.do(f"{state} = phi i64 [ {bits or 0}, %{before} ], [ {following}, %{loop} ]")
    lane = state
    if bits is not None:
        e.declarations["llvm.cttz.i64"] = "declare i64 @llvm.cttz.i64(i64, i1)"
        lane = e.op(f"call i64 @llvm.cttz.i64(i64 {state}, i1 true)")

    def place(array: str, element: str) -> str:
        return e.op(f"getelementptr {element}, ptr {array}, i64 {lane}")

    pointer = e.op(f"load ptr, ptr {place(pointers, 'ptr')}, align 8")
    operands = [e.op(f"load {scalar}, ptr {place(array, word)}") for array in sources]
    held = e.op(f"load {word}, ptr {pointer}, align 1")
    new, returned = _change(e, op.operation, type, held, operands)
    e.do(f"store {word} {new}, ptr {pointer}, align 1")
    if old is not None:
        e.do(f"store {word} {returned}, ptr {place(old, word)}")
    if bits is None:
        e.do(f"{following} = add i64 {state}, 1")
        more = e.op(f"icmp ult i64 {following}, {width}")
    else:
        less = e.op(f"sub i64 {state}, 1")
        e.do(f"{following} = and i64 {state}, {less}")
        more = e.op(f"icmp ne i64 {following}, 0")
    e.do(f"br i1 {more}, label %{loop}, label %{end}, !llvm.loop !3")
    e.label(end)


def _body(operation: str, type: Type, *, shared: bool, may_miss: bool) -> support.Lane:
    """The lane's part of the loop; row 0 of the data receives what the operation returns.

    Where `may_miss`, it may be outside a lenient surface: it returns 0 then, whatever it makes.
    """
    bits, native = f"i{type.bits}", operation in _NATIVE
    native = native and (not type.is_float or operation == "xchg")

    def lane_atomic(f: FunctionBuilder, lane: Vector, a: Vector, place: str) -> None:
        rows = [
            f.elements(type.bits, "%data", f.number("%width") * n + lane)
            for n in range(1 + _DATA.get(operation, 1))
        ]
        values = [f.op(f"load {bits}, ptr {row}, align 1") for row in rows[1:]]
        operands = [f.bitcast(word, bits, scalar_type(type)) for word in values]
        if shared and native:
            change = f"{_NATIVE[operation]} ptr {place}, {bits} {values[0]}"
            result = f.op(f"atomicrmw {change} seq_cst, align {type.size}")
        elif shared:
            result = _exchange_loop(f, operation, type, place, operands)
        else:
            old = f.op(f"load {bits}, ptr {place}, align 1")
            new, result = _change(f, operation, type, old, operands)
            f.do(f"store {bits} {new}, ptr {place}, align 1")
        if may_miss:
            missed = f.op(f"icmp eq ptr {place}, {f.word('%ctx', Context.SINK).place}")
            result = f.op(f"select i1 {missed}, {bits} 0, {bits} {result}")
        f.do(f"store {bits} {result}, ptr {rows[0]}, align 1")

    return lane_atomic


def _exchange_loop(
    f: FunctionBuilder, operation: str, type: Type, place: str, operands: Sequence[str]
) -> str:
    """Read, compute, and try to replace until nobody came between."""
    bits, before = f"i{type.bits}", f.current_label()
    again, got, old, seen = (f.name(hint) for hint in ("try", "got", "old", "seen"))
    start = f.op(f"load atomic {bits}, ptr {place} seq_cst, align {type.size}")
    f.go(again)
    f.label(again)
    f.do(f"%{old} = phi {bits} [ {start}, %{before} ], [ %{seen}, %{again} ]")
    new, result = _change(f, operation, type, f"%{old}", operands)
    change = f"{bits} %{old}, {bits} {new} seq_cst seq_cst, align {type.size}"
    pair = f.op(f"cmpxchg ptr {place}, {change}")
    f.do(f"%{seen} = extractvalue {{ {bits}, i1 }} {pair}, 0")
    won = f.op(f"extractvalue {{ {bits}, i1 }} {pair}, 1")
    f.do(f"br i1 {won}, label %{got}, label %{again}")
    f.label(got)
    return result


def _change(
    body: Emitter, operation: str, type: Type, old: str, operands: Sequence[str]
) -> tuple[str, str]:
    """The new value and the one to return, as bits; `operands` are those of the lane."""
    bits, scalar = f"i{type.bits}", scalar_type(type)
    if operation == "load":
        return old, old
    if operation == "xchg":
        return body.bitcast(operands[0], scalar, bits), old
    if operation in ("inc", "dec", "predec"):
        step = 1 if operation == "inc" else -1
        new = body.op(f"add {bits} {old}, {step}")
        return new, new if operation == "predec" else old
    held = body.bitcast(old, bits, scalar)
    if operation == "cmpxchg":
        equal = Compare("cmp", _scalars(type, 2), _scalars(type, 1), rel="eq")
        same = emitter_of(equal)(body, equal, 1, held, operands[1])
        wanted = body.bitcast(operands[0], scalar, bits)
        return body.op(f"select i1 {same}, {bits} {wanted}, {bits} {old}"), old
    op = Op(operation, _scalars(type, 2), _scalars(type, 1))
    if operation in ("add", "sub"):
        op = Rounded(operation, op.args, op.results, rounding=Rounding.RNE)
    new = emitter_of(op)(body, op, 1, held, operands[0])
    return body.bitcast(new, scalar, bits), old


def _scalars(type: Type, count: int) -> tuple[Value, ...]:
    """Values of a lane-wise IR operation on scalars."""
    return tuple(Value(-1 - n, type, 1) for n in range(count))
