"""Random functions: they have variables of their own, arguments in %arg and results in %retval."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from eumu.fuzz.statements import Block, Node, lines

WORDS = 32  # dwords that a call passes, and that it gives back
ALIASES = (
    ".decl ARG v_type=G type=ud num_elts=64 align=GRF alias=<%arg, 0>",
    ".decl RET v_type=G type=ud num_elts=64 align=GRF alias=<%retval, 0>",
)
_NAME = re.compile(r"\b[A-Z]+\d*\b")


def pieces(count: int, most: int = 8) -> Iterator[tuple[int, int]]:
    """The first of each `most` elements or fewer, and how many: a power of two."""
    start = 0
    while start < count:
        size = min(most, 1 << ((count - start).bit_length() - 1))
        yield start, size
        start += size


def dword(name: str, index: int, grf: int) -> str:
    """The place of a dword in a variable."""
    row, byte = divmod(4 * index, grf)
    return f"{name}({row},{byte // 4})"


def calling(function: str, simd: int, grf: int, guard: str, where: str = "") -> str:
    """The line of a call: of a function by its name, or by the address in `where`."""
    count = -(-4 * simd // grf)
    word, target = ("ifcall", f"{where}(0,0)<0;1,0>") if where else ("fcall", function)
    return f"{guard}{word} (M1, {simd}) {target} {count} {count}"


def passing(argument: str, grf: int) -> Iterator[str]:
    """Lines that set all words of %arg from the first eight dwords of a variable."""
    for start, size in pieces(WORDS):
        yield f"mov (M1_NM, {size}) {dword('ARG', start, grf)}<1> {argument}(0,0)<1;1,0>"


def recursion(function: str, simd: int, grf: int) -> Node:
    """Each lane calls again as often as the lowest bits of its argument say."""
    made: list[str] = []
    for start, size in pieces(simd):
        own, depth, arg = (dword(name, start, grf) for name in ("OWN", "DEPTH", "ARG"))
        made += [
            f"and (M1_NM, {size}) {depth}<1> {own}<1;1,0> 0x3:ud",
            f"add (M1_NM, {size}) {arg}<1> {own}<1;1,0> -1:d",
            f"cmp.gt (M{start // 4 + 1}, {size}) PL {depth}<1;1,0> 0x0:ud",
        ]
    return Node("recursion", (*made, calling(function, simd, grf, "(PL) ")))


def function(
    name: str, block: Block, simd: int, grf: int, variables: dict[str, tuple[str, int]], seed: int
) -> Iterator[str]:
    """The text of a function.

    `variables` has the declaration of every variable that the body may name, and how many of its
    dwords must have a value first.
    """
    random = Random(seed)
    body = list(lines(block))
    words = {word for line in body for word in _NAME.findall(line)}
    used = [n for n in variables if n in words]
    if "DW" in used and "UDW" not in used:
        used.insert(0, "UDW")
    yield f'.global_function "{name}"'
    yield from ALIASES
    for own in ("OWN", "DEPTH"):
        yield f".decl {own} v_type=G type=ud num_elts={WORDS} align=GRF"
    for variable in used:
        declaration, count = variables[variable]
        yield declaration
        if count:
            alias = f"type=ud num_elts={count} align=GRF alias=<{variable}, 0>"
            yield f".decl X{variable} v_type=G {alias}"
    count = -(-4 * simd // grf)
    yield from (f".kernel_attr SimdSize={simd}", f".kernel_attr ArgSize={count}")
    yield f".kernel_attr RetValSize={count}"
    for start, size in pieces(WORDS):
        own, arg, result = (dword(n, start, grf) for n in ("OWN", "ARG", "RET"))
        yield f"    mov (M1_NM, {size}) {own}<1> {arg}<1;1,0>"
        yield f"    not (M1_NM, {size}) {result}<1> {arg}<1;1,0>"
    for variable in used:
        for start, size in pieces(variables[variable][1], 16):
            place, mix = dword(f"X{variable}", start, grf), random.getrandbits(32)
            yield f"    xor (M1_NM, {size}) {place}<1> OWN(0,0)<1;1,0> {mix:#x}:ud"
        if re.fullmatch(r"P\w", variable):
            yield f"    setp (M1_NM, {simd}) {variable} OWN(0,0)<0;1,0>"
        if re.fullmatch(r"A\d", variable):
            yield f"    addr_add (M1_NM, 1) {variable}(0)<1> &OWN 0:uw"
    yield from (line if line.endswith(":") else f"    {line}" for line in body)
    for start, size in pieces(simd if "UD0" in used else 0):
        result, value = dword("RET", start, grf), dword("UD0", start, grf)
        mask = f"(M{start // 4 + 1}, {size})"
        yield f"    xor {mask} {result}<1> {result}<1;1,0> {value}<1;1,0>"
    yield f"    fret (M1, {simd})"
