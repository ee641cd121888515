"""Merges of bits are kept from becoming masked instructions, which LLVM gets wrong.

``x & C | y & ~C`` is one vpternlog of AVX-512, and a select between that and an operand can be its
write mask.  Where another operand is then read from memory, which a constant C is, LLVM up to 22.1
puts the operands in another order and gives the truth table of a third one: the lanes hold wrong
bits (llvm-project, issue 157929: the bodies of VPTERNLOG231_imm8 and VPTERNLOG312_imm8 are
swapped).  Only a mask needs these orders.  So whatever may become such an instruction goes through
``llvm.arithmetic.fence``, which is no instruction and out of which nothing is moved: the select is
a masked move.
"""

from __future__ import annotations

import re
from typing import Final

# LLVM makes an or of these two as well where it sees that no bits meet.
_MERGE: Final = re.compile(
    r"^  (?P<name>%\S+) = (?P<value>(?:or|xor|add)(?: disjoint| nuw| nsw)*"
    r" (?P<type><\d+ x i\d+>) (?P<left>%\S+), (?P<right>%[^\s,]+))(?P<rest>,.*)?$",
    re.MULTILINE,
)
_BITCAST: Final = re.compile(r"bitcast <[^>]+> (%\S+) to")
# What the code generator makes an and with a constant.
_KEEPS_BITS: Final = re.compile(
    r"and <[^>]+> %\S+, (?:splat|<)"
    r"|(?:tail )?call <[^>]+> @llvm\.fabs\."
    r"|shufflevector <[^>]+> (?:%\S+, <[^>]+> )?(?:zeroinitializer|splat|<)"
)
_DEFINITION: Final = re.compile(r"^  (%\S+) = ", re.MULTILINE)
_END: Final = "\n}"  # of a function
_LEAST: Final = 64  # bits; LLVM widens what is shorter than a register


def fenced(text: str) -> str | None:
    """LLVM text of a module whose merges of bits nothing is moved out of; None if it has none."""
    parts: list[str] = []
    declared: dict[str, str] = {}
    copied = end = 0
    values: dict[str, int] = {}  # of the function that ends at `end`: where their right sides begin
    for match in _MERGE.finditer(text):
        floats = _floats(match["type"])
        if floats and match.start() >= end:
            start, end = text.rfind(_END, 0, match.start()), text.index(_END, match.end())
            values = {d[1]: d.end() for d in _DEFINITION.finditer(text, max(start, 0), end)}
        if not floats or not all(_keeps_bits(text, values, match[k]) for k in ("left", "right")):
            continue
        name = f"@llvm.arithmetic.fence.{_mangled(floats)}"
        declared[name] = floats
        new = f"%merged{len(parts)}"
        parts.append(text[copied : match.start()])
        parts.append(
            f"  {new}.bits = {match['value']}{match['rest'] or ''}\n"
            f"  {new}.in = bitcast {match['type']} {new}.bits to {floats}\n"
            f"  {new}.out = call {floats} {name}({floats} {new}.in)\n"
            f"  {match['name']} = bitcast {floats} {new}.out to {match['type']}"
        )
        copied = match.end()
    if not parts:
        return None
    parts.append(text[copied:])
    parts += [
        f"\ndeclare {floats} {name}({floats})\n"
        for name, floats in declared.items()
        if f"{name}(" not in text
    ]
    return "".join(parts)


def _floats(integers: str) -> str:
    """The type of as many bits that can be fenced; empty if it is no vector of AVX-512's."""
    count, bits = (int(part) for part in integers[1:-1].split(" x i"))
    if count * bits < _LEAST or count * bits % 32:
        return ""
    return f"<{count} x double>" if bits == 64 else f"<{count * bits // 32} x float>"


def _mangled(floats: str) -> str:
    count, scalar = floats[1:-1].split(" x ")
    return f"v{count}{'f64' if scalar == 'double' else 'f32'}"


def _keeps_bits(text: str, values: dict[str, int], name: str) -> bool:
    """Whether a value is another with bits cleared that LLVM knows."""
    while (place := values.get(name)) is not None:  # a parameter has none
        if not (cast := _BITCAST.match(text, place)):
            return _KEEPS_BITS.match(text, place) is not None
        name = cast[1]
    return False
