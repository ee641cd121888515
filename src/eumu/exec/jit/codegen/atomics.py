"""Atomic operations: lane by lane in ascending order.

Groups run at the same time on several workers, so memory that they share is changed by real
atomic instructions; shared local memory and scratch belong to one worker and are not.
"""

from __future__ import annotations

from eumu.errors import Unsupported
from eumu.exec.jit.codegen.access import access_of
from eumu.exec.jit.codegen.elementwise import emitter_of
from eumu.exec.jit.codegen.kernel import LOWERINGS, Kernel
from eumu.exec.jit.codegen.memory import need_slow, slow_call
from eumu.exec.jit.llvm.emit import Emitter, int_type, lane_type, scalar_type, vector_of
from eumu.exec.jit.llvm.layout import Context
from eumu.ir import Op, Rounding, Space, Value
from eumu.types import Type

_NATIVE = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "xchg": "xchg"}
_DATA = {"inc": 0, "dec": 0, "predec": 0, "load": 0, "cmpxchg": 2}
_KNOWN = frozenset({*_NATIVE, *_DATA, "min", "max"})
_SHARED = (Space.FLAT, Space.SURFACE)


def _atomic(k: Kernel, op: Op) -> None:
    type, operation, value = op.attrs["type"], op.attrs["operation"], op.result
    if operation not in _KNOWN:
        raise Unsupported(f"atomic operation {operation!r}")
    access = access_of(k, op, type.size, store=True)
    e, width, count = k.e, value.width, _DATA.get(operation, 1)
    body = _body(e, operation, type, access.space in _SHARED, access.space is Space.SURFACE)
    function = need_slow(k, access, f"atomic.{operation}.{type}", body)
    block = vector_of(int_type(type, 1), width * (count + 1))
    data, vector = k.scratchpad("data", block), lane_type(type, width)
    zero = "0" if width * (count + 1) == 1 else "zeroinitializer"
    e.do(f"store {block} {zero}, ptr {data}, align 8")
    for n, argument in enumerate(op.args[2 : 2 + count], 1):
        place = e.op(f"getelementptr i8, ptr {data}, i64 {n * width * type.size}")
        e.do(f"store {vector} {k.vector(argument)}, ptr {place}, align 1")
    slow_call(k, access, function, data, type.size)
    k.plain(value, e.op(f"load {vector}, ptr {data}, align 1"))


def _body(e: Emitter, operation: str, type: Type, shared: bool, may_miss: bool) -> str:
    """The lane's part of the loop; row 0 of the data receives what the operation returns.

    Where `may_miss`, it may be outside a lenient surface: it returns 0 then, whatever it makes.
    """
    bits = f"i{type.bits}"
    body = Emitter(half_conversions=e.half_conversions)
    for n in range(3):
        body.do(f"%row{n} = mul i64 %width, {n}")
        body.do(f"%at{n} = add i64 %row{n}, %k")
        body.do(f"%q{n} = getelementptr {bits}, ptr %data, i64 %at{n}")
    for n in range(1, 1 + _DATA.get(operation, 1)):
        body.do(f"%raw{n} = load {bits}, ptr %q{n}, align 1")
        body.do(f"%x{n} = bitcast {bits} %raw{n} to {scalar_type(type)}")
    native = operation in _NATIVE and (not type.is_float or operation == "xchg")
    if shared and native:
        body.do(
            f"%old = atomicrmw {_NATIVE[operation]} ptr %p, {bits} %raw1 seq_cst, align {type.size}"
        )
        result = "%old"
    elif shared:
        result = _exchange_loop(body, operation, type)
    else:
        body.do(f"%old = load {bits}, ptr %p, align 1")
        new, result = _change(body, operation, type, "%old")
        body.do(f"store {bits} {new}, ptr %p, align 1")
    if may_miss:
        sink = body.op(f"getelementptr i64, ptr %ctx, i64 {int(Context.SINK)}")
        missed = body.op(f"icmp eq ptr %p, {sink}")
        result = body.op(f"select i1 {missed}, {bits} 0, {bits} {result}")
    body.do(f"store {bits} {result}, ptr %q0, align 1")
    body.do("br label %done")
    body.label("done")
    body.do("br label %next")
    e.declarations |= body.declarations
    e.support |= body.support
    return "\n".join([*body.lines, ""])


def _exchange_loop(body: Emitter, operation: str, type: Type) -> str:
    """Read, compute, and try to replace until nobody came between."""
    bits = f"i{type.bits}"
    body.do(f"%start = load atomic {bits}, ptr %p seq_cst, align {type.size}")
    body.do("br label %try")
    body.label("try")
    body.do(f"%old = phi {bits} [ %start, %good ], [ %seen, %try ]")
    new, result = _change(body, operation, type, "%old")
    body.do(f"%pair = cmpxchg ptr %p, {bits} %old, {bits} {new} seq_cst seq_cst, align {type.size}")
    body.do(f"%seen = extractvalue {{ {bits}, i1 }} %pair, 0")
    body.do(f"%won = extractvalue {{ {bits}, i1 }} %pair, 1")
    body.do("br i1 %won, label %got, label %try")
    body.label("got")
    return result


def _change(body: Emitter, operation: str, type: Type, old: str) -> tuple[str, str]:
    """The new value and the one to return, as bits."""
    bits, scalar = f"i{type.bits}", scalar_type(type)
    if operation == "load":
        return old, old
    if operation == "xchg":
        return "%raw1", old
    if operation in ("inc", "dec", "predec"):
        step = 1 if operation == "inc" else -1
        new = body.op(f"add {bits} {old}, {step}")
        return new, new if operation == "predec" else old
    held = body.bitcast(old, bits, scalar)
    if operation == "cmpxchg":
        same = _lane_op(body, "cmp", type, [held, "%x2"], rel="eq")
        return body.op(f"select i1 {same}, {bits} %raw1, {bits} {old}"), old
    attrs = {"rounding": Rounding.RNE} if operation in ("add", "sub") else {}
    new = _lane_op(body, operation, type, [held, "%x1"], **attrs)
    return body.bitcast(new, scalar, bits), old


def _lane_op(body: Emitter, name: str, type: Type, args: list[str], **attrs: object) -> str:
    """A lane-wise IR operation on scalars."""
    values = tuple(Value(-1 - n, type, 1) for n in range(len(args)))
    op = Op(name, values, attrs, (Value(0, type, 1),))
    return emitter_of(op)(body, op, 1, *args)


LOWERINGS["atomic"] = _atomic
