"""Run-time facts: the operation `special`."""

from __future__ import annotations

from eumu.errors import Unsupported
from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.llvm.emit import int_type
from eumu.exec.jit.llvm.layout import Context
from eumu.ir.operations.state import Special


@LOWERINGS.on(Special)
def _special(k: KernelLowering, op: Special) -> None:
    name, value, e = op.fact, op.result, k.e
    if name == "timestamp":  # instructions run so far, those of this block included
        number = e.op(f"add i64 {k.count()}, {k.cost}")
    elif name == "thread_id":
        number = k.context_load(Context.THREAD)
    elif name == "group_threads":
        number = k.context_load(Context.THREADS)
    elif name in ("hardware_thread", "fftid"):
        first = e.op(f"mul i64 {k.context_load(Context.WORKER)}, {k.context_load(Context.THREADS)}")
        number = e.op(f"add i64 {first}, {k.context_load(Context.THREAD)}")
    elif name in ("eu_id", "subslice_id", "slice_id"):
        number = "0"
    else:
        raise Unsupported(f"the run-time fact {name!r}")
    kind = int_type(value.type, 1)
    if value.type.bits < 64:
        number = e.op(f"trunc i64 {number} to {kind}")
    k.plain(value, e.splat(number, kind, value.width))
