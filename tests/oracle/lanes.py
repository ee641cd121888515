"""Runs one instruction on many lanes and hands back every result lane.

An instruction is given as a template over operand names (`add (M1, 16) {d} {x} {y}`), with the
types of its operands and columns of bit patterns.  All columns go through in one thread, sixteen
lanes at a time, each in variables of its own.
"""

from __future__ import annotations

from itertools import product

from eumu.exec.host import Engine
from eumu.text import parse
from eumu.types import Type
from visa_thread import execute

LANES = 16

EDGES = {
    "ub": [0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF],
    "b": [0, 1, 2, 0x7F, 0x80, 0x81, 0xFF],
    "uw": [0, 1, 3, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF],
    "w": [0, 1, 3, 0x7FFF, 0x8000, 0x8001, 0xFFFF],
    "ud": [0, 1, 31, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF],
    "d": [0, 1, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF],
    "uq": [0, 1, 63, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1],
    "q": [0, 1, 65, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1],
    "hf": [0, 0x8000, 1, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x3555],
    "f": [
        *(0, 0x80000000, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3EAAAAAB),
        *(0x4B7FFFFF, 0x4F000000, 0xCF000000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000),
    ],
    "df": [
        *(0, 1 << 63, 1, 0xFFFFFFFFFFFFF, 1 << 52, 0x3FF0000000000000, 0xBFF0000000000000),
        *(0x3FD5555555555555, 0x41DFFFFFFFC00000, 0xC1E0000000000000, 0x43E0000000000000),
        *(0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000),
    ],
}


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
