"""Directed rounding without a change of mode: AVX-512 instructions name the mode themselves.

Setting a mode and taking it back costs some forty cycles, and a call.
"""

from __future__ import annotations

from eumu.exec.jit.llvm.emit import Emitter, mangle, vector_of
from eumu.ir import Rounding

_MODE = {Rounding.RD: 9, Rounding.RU: 10, Rounding.RTZ: 11}  # no exceptions, and the mode
_ARITHMETIC = {
    **{"add": "add", "sub": "sub", "mul": "mul", "div": "div"},
    **{"sqrt": "sqrt", "fma": "vfmadd"},
}
_SUFFIX = {"float": ("ps", 16), "double": ("pd", 8)}


def arithmetic(e: Emitter, name: str, scalar: str, width: int, rounding: Rounding, *x: str) -> str:
    """An operation of floats or doubles."""
    suffix, lanes = _SUFFIX[scalar]
    vector = vector_of(scalar, lanes)
    function = f"llvm.x86.avx512.{_ARITHMETIC[name]}.{suffix}.512"
    mode = ("i32", str(_MODE[rounding]))
    parts = [
        e.call(vector, function, *((vector, part) for part in row), mode)
        for row in zip(*(_cut(e, scalar, width, lanes, a) for a in x), strict=True)
    ]
    return _joined(e, scalar, width, lanes, parts)


def has_conversion(source: str, result: str) -> bool:
    """Whether there is an instruction for a conversion between these scalars."""
    return (source, result) in (("double", "float"), ("i32", "float"))


def conversion(
    e: Emitter, name: str, source: str, result: str, width: int, rounding: Rounding, x: str
) -> str:
    """A conversion that `has_conversion`: sitofp, uitofp or fptrunc."""
    lanes = 8 if name == "fptrunc" else 16
    taken, made = vector_of(source, lanes), vector_of(result, lanes)
    mode = ("i32", str(_MODE[rounding]))
    parts = []
    for part in _cut(e, source, width, lanes, x):
        if name == "fptrunc":
            rest = ((made, "zeroinitializer"), ("i8", "-1"))
            function = "llvm.x86.avx512.mask.cvtpd2ps.512"
            parts.append(e.call(made, function, (taken, part), *rest, mode))
        else:
            function = f"llvm.x86.avx512.{name}.round.{mangle(made)}.{mangle(taken)}"
            parts.append(e.call(made, function, (taken, part), mode))
    return _joined(e, result, width, lanes, parts)


def _cut(e: Emitter, scalar: str, width: int, lanes: int, x: str) -> list[str]:
    """Vectors of `lanes` lanes that hold all lanes of x."""
    if width == 1:
        return [e.op(f"insertelement {vector_of(scalar, lanes)} poison, {scalar} {x}, i64 0")]
    return [
        e.shuffle(x, scalar, width, [n if n < width else -1 for n in range(first, first + lanes)])
        for first in range(0, width, lanes)
    ]


def _joined(e: Emitter, scalar: str, width: int, lanes: int, parts: list[str]) -> str:
    """The first `width` lanes of vectors of `lanes` lanes."""
    have = lanes
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [e.blend(a, b, scalar, have, list(range(2 * have))) for a, b in pairs]
        have *= 2
    return e.shuffle(parts[0], scalar, have, list(range(width)))
