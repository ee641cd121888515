"""What driver functions say of threads: what all get, where their memory lies, whose fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eumu.exec.jit.llvm.functions import FunctionBuilder, Number
from eumu.exec.jit.llvm.layout import Context
from eumu.exec.jit.llvm.vectors import Vector


def parameters(shared: Mapping[str, str]) -> str:
    """The text of further parameters, or arguments: values that are the same in all threads."""
    return "".join(f", {type} {name}" for name, type in shared.items())


def _of(what: str, first: Context, size: Context) -> str:
    f = FunctionBuilder(f"internal ptr @{what}.of(ptr %ctx, i64 %t) alwaysinline")
    address = f.context(first).get() + f.context(size).get() * f.number("%t")
    f.do(f"ret ptr {f.pointer(address)}")
    return f.text()


PLACES: Final = _of("record", Context.RECORDS, Context.RECORD_SIZE) + _of(
    "payload", Context.PAYLOADS, Context.PAYLOAD_SIZE
)


def place_of(f: FunctionBuilder, what: str, thread: Number) -> str:
    """Where a thread's ``record`` or ``payload`` lies, by a function of `PLACES`."""
    return f.op(f"call ptr @{what}.of(ptr %ctx, i64 {f.name_of(thread)})")


def tell_fault(f: FunctionBuilder, group: Vector, thread: Vector, stop: str) -> None:
    """Note whose fault it is; groups after that one need not run."""
    f.context(Context.FAULT_GROUP).set(group)
    f.context(Context.FAULT_THREAD).set(thread)
    f.op(f"atomicrmw umin ptr {stop}, {group.typed} monotonic, align 8")
