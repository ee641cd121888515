"""Runs one instruction on many lanes and hands back every result lane.

An instruction is given as a template over operand names (`add (M1, 16) {d} {x} {y}`), with the
types of its operands and columns of bit patterns.  All columns go through in one thread, sixteen
lanes at a time, each in variables of its own.
"""

from __future__ import annotations

from itertools import product

from eumu.exec.host import Engine
from eumu.fuzz.edges import EDGES
from eumu.text import parse
from eumu.types import Type
from visa_thread import execute

LANES = 16


def pairs(*types: Type) -> list[list[int]]:
    """Columns with every combination of the edge values of these types."""
    return [list(column) for column in zip(*product(*(EDGES[t.name] for t in types)), strict=True)]


def value(type: Type, bits: int) -> int:
    """The integer that a bit pattern means."""
    return bits - (1 << type.bits) if type.is_signed and bits >> (type.bits - 1) else bits


def run(
    template: str,
    dst: Type,
    sources: list[Type],
    columns: list[list[int]],
    engine: Engine,
    platform: str = "skl",
    keep_denormals: bool = True,
) -> list[int]:
    """The bit patterns of the destination, one per row of the columns."""
    rows = len(columns[0])
    chunks = range(0, rows, LANES)
    names = "xyzw"[: len(sources)]
    before: dict[str, bytes] = {}
    for name, type, column in zip(names, sources, columns, strict=True):
        padded = column + column[:1] * (-rows % LANES)
        for k in chunks:
            lanes = padded[k : k + LANES]
            before[f"{name}{k}"] = b"".join(v.to_bytes(type.size, "little") for v in lanes)
    kernel = parse(_text(template, dst, sources, list(chunks), keep_denormals)).kernels[0]
    after = execute(kernel, before, [f"d{k}" for k in chunks], platform, engine)
    data = b"".join(after.values())
    size = dst.size
    return [int.from_bytes(data[k * size : (k + 1) * size], "little") for k in range(rows)]


def _text(template: str, dst: Type, sources: list[Type], chunks: list[int], keep: bool) -> str:
    """A kernel that runs the instruction once for each chunk."""
    names = "xyzw"[: len(sources)]
    lines = [".version 4.1", '.kernel "k"']
    for k in chunks:
        for name, type in zip("d" + names, [dst, *sources], strict=True):
            lines.append(f".decl {name}{k} v_type=G type={type} num_elts={LANES} align=GRFx2")
    lines.append(f".kernel_attr SimdSize={LANES}")
    if keep:
        lines.append("    or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud")
    for k in chunks:
        operands = {name: f"{name}{k}(0,0)<1;1,0>" for name in names}
        lines.append("    " + template.format(d=f"d{k}(0,0)<1>", k=k, **operands))
    return "\n".join([*lines, "    ret (M1, 1)", ""])
