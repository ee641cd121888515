"""The bytes of LSC operands: models, shapes, caching.  Codes count from the places in the tuples.

Source: vISA pages "LSC_UNTYPED" and "LSC_TYPED"; the front end's writer puts a vector's length, or
its channels, into both of the fields that there are for them.
"""

from __future__ import annotations

from typing import Any

from eumu.isa.kinds.bytes import EncodeError, Packer, Unpacker
from eumu.isa.kinds.encoding import pack_source, unpack_source
from eumu.isa.kinds.operands import DataShape, General, Immediate
from eumu.types import UD

CACHE = ("df", "uc", "ca", "wb", "wt", "st", "ri", "cc")
MODELS = (None, "flat", "bss", "ss", "bti", "arg", "surf")
INDEXED = ("bss", "ss", "surf")  # the models that name the place of a surface state
INDICES = range(1 << 16)  # of states behind it
SIZES = (None, "d8", "d16", "d32", "d64", "d8c32", "d16c32", "d16c32h")
ORDERS = (None, False, True)
VECTORS = (None, 1, 2, 3, 4, 8, 16, 32, 64)
BLOCK_BITS = (None, 8, 16, 32, 64)
FLAGS = (False, True)

_NO_SURFACE = Immediate(0, UD)
_BYTES = {"d8": 1, "d16": 2, "d32": 4, "d64": 8, "d8c32": 1, "d16c32": 2, "d16c32h": 2}


def choose(source: Unpacker, words: tuple[Any, ...], what: str) -> Any:
    """A code, where None has no meaning."""
    at = source.pos
    word = source.code(words, what)
    if word is None:
        source.fail(f"{what} has code 0, which has no meaning", at)
    return word


def pack_surface(operand: General | Immediate | None, out: Packer) -> None:
    """The surface of a model; flat addresses have a zero."""
    pack_source(_NO_SURFACE if operand is None else operand, out)


def unpack_surface(source: Unpacker, model: str) -> General | Immediate | None:
    at = source.pos
    surface = unpack_scalar(source)
    if model not in ("flat", "arg") or (model == "flat" and isinstance(surface, General)):
        return surface
    if surface != _NO_SURFACE:
        source.fail(f"an address of the model {model} has a surface", at)
    return None


def unpack_index(source: Unpacker, model: str) -> int:
    """How many surface states behind the surface."""
    at, index = source.pos, source.u32("the index of a surface state")
    if index and (model not in INDEXED or index not in INDICES):
        source.fail(f"an address of the model {model} has the index {index:#x}", at)
    return index


def unpack_scalar(source: Unpacker) -> General | Immediate:
    at = source.pos
    scalar = unpack_source(source)
    if not isinstance(scalar, General | Immediate):
        source.fail("expected a variable or an immediate", at)
    return scalar


def pack_shape(code: str, shape: DataShape, out: Packer) -> None:
    match code:
        case "size":
            out.code(SIZES, shape.size, "the size of an element")
        case "order":
            out.code(ORDERS, shape.transposed, "the order of the data")
        case _:
            if shape.channels:
                out.u8(sum(1 << c for c in shape.channels))
            else:
                out.code(VECTORS, shape.elements, "the number of elements")


def unpack_shape(code: str, source: Unpacker, parts: dict[str, Any], *, channels: bool) -> Any:
    """A part of a shape; `elements` is the byte itself, `channels` what both bytes say."""
    at = source.pos
    match code:
        case "size":
            return choose(source, SIZES, "the size of an element")
        case "order":
            return choose(source, ORDERS, "the order of the data")
        case "elements":
            return source.u8("the number of elements")
    first, second = parts["elements"], source.u8("the channels")
    number, other = (second, first) if channels else (first, second)
    if other not in (0, number):
        source.fail(f"the number of elements has the codes {first} and {second}", at - 1)
    if not 1 <= number <= (15 if channels else len(VECTORS) - 1):
        source.fail(f"the number of elements has code {number}", at)
    return tuple(c for c in range(4) if number >> c & 1) if channels else VECTORS[number]


def pack_pitch(pitch: General | Immediate | None, out: Packer) -> None:
    """A strided access without a pitch is packed."""
    if pitch is None:
        shape = out.shape
        if shape is None:
            raise EncodeError("a strided access without a pitch has no data here")
        pitch = Immediate(_BYTES[shape.size] * shape.elements, UD)
    pack_source(pitch, out)
