"""The readable form of a function, for dumps and messages; it is not read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from eumu.ir.function import Block, Function, Input, Op, Region, Root, RootKind, Terminator
from eumu.ir.operations.arithmetic import Rounding
from eumu.ir.operations.memory import Space
from eumu.types import Type


def format_function(function: Function, heads: Callable[[int], Sequence[str]] | None = None) -> str:
    """The whole function, with each instruction above the operations that it became.

    `heads` gives other lines to stand there, by the number of the instruction.
    """

    def texts(inst: int) -> Sequence[str]:
        return [f"{inst}: {function.texts[inst]}"] if 0 <= inst < len(function.texts) else []

    return "\n".join(_lines(function, heads or texts)) + "\n"


def _lines(function: Function, heads: Callable[[int], Sequence[str]]) -> Iterator[str]:
    together = " together" if function.together else ""
    yield f"function {function.name} simd{function.width} grf{function.grf_bytes}{together}"
    for root in function.roots.values():
        yield f"  {format_root(root)}"
    for item in function.inputs:
        yield f"  {_format_input(item)}"
    for index, block in enumerate(function.blocks):
        yield f"{index} {block.label}:"
        yield from _block_lines(block, heads)


def _block_lines(block: Block, heads: Callable[[int], Sequence[str]]) -> Iterator[str]:
    inst = -1
    items: list[Op | Terminator] = [*block.ops, *([block.end] if block.end else [])]
    for item in items:
        if item.inst != inst:
            yield from (f"    ; {text}" for text in heads(item.inst))
        inst = item.inst
        yield "  " + (format_op(item) if isinstance(item, Op) else format_terminator(item))


def format_root(root: Root) -> str:
    """`@V34 grf 64 bytes at 0x10000`"""
    unit = "bits" if root.kind is RootKind.FLAG else "bytes"
    place = f" at {root.address:#x}" if root.kind is RootKind.GRF else ""
    return f"{root} {root.kind.value} {root.size} {unit}{place}"


def _format_input(item: Input) -> str:
    start = item.payload_offset
    return f"input {item.root}+{item.offset} <- payload[{start}:{start + item.size}]"


def format_op(op: Op) -> str:
    """`%3:f*16 = add %1 %2 rounding=RNE`"""
    results = ", ".join(value.typed for value in op.results)
    words = [op.name, *map(str, op.args), *_format_attributes(op)]
    return f"{results} = {' '.join(words)}" if results else " ".join(words)


def format_terminator(end: Terminator) -> str:
    """`diverge %4 -> 2, 3 offset=0`"""
    words = [end.name, *map(str, end.args)]
    targets = ["->", ", ".join(map(str, end.targets))] if end.targets else []
    return " ".join([*words, *targets, *_format_attributes(end)])


def _format_attributes(item: Op | Terminator) -> list[str]:
    known = ((name, value) for name, value in item.attributes if value is not None)
    return [f"{name}={_format_attribute(value)}" for name, value in known]


def _format_attribute(value: object) -> str:
    if isinstance(value, Region):
        return f"{value.offset}<{value.vstride};{value.width},{value.hstride}>"
    if isinstance(value, Rounding):
        return value.name
    if isinstance(value, Space):
        return value.value
    if isinstance(value, (Root, Type)):
        return str(value)
    if isinstance(value, tuple):
        return "(" + ",".join(hex(v) if isinstance(v, int) else str(v) for v in value) + ")"
    return repr(value) if isinstance(value, str) else str(value)
