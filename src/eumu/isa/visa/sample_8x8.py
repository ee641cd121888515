"""What instructions of the media sampler mean: the header and payload of sample_8x8.

Which function, block and mode are in M1.7; see the message's own module in the device for what
they do.  The finalizer numbers groups of messages there too; a group is nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from eumu.ir import Value
from eumu.isa.kinds import InstBuilder, Rows, Surface
from eumu.isa.kinds.variables import SamplerVariable
from eumu.isa.visa.sampling import needs_sampler, sampler_index, sampler_pointer
from eumu.isa.visa.texels import surface_index
from eumu.messages import Sample8x8
from eumu.records import dataclass
from eumu.types import BOOL, UB, UD, F

GREEN_ONLY = 0xD << 12  # M0.2 of video analytics: red, blue and alpha are not written
_REGISTER = 32


@dataclass(frozen=True, slots=True)
class OutputSurface:
    """Another surface that the response goes to: byte x of row y, in a format of M0.5."""

    surface: Surface
    x: Value
    y: Value
    format: int


@dataclass(frozen=True, slots=True)
class Asked:
    """M0.2, the dwords of M1 by their place, and the offsets behind it."""

    control: int
    words: Mapping[int, Value] = field(default_factory=dict)
    offsets: Rows | None = None


def code(function: int, sequence: int = 0, mode: int = 0) -> int:
    """M1.7."""
    return function << 28 | sequence << 25 | mode << 23


def floating(b: InstBuilder, x: Value) -> Value:
    """A coordinate as the bits of a float."""
    return b.bitcast(b.convert(x, F), UD)


def corner(b: InstBuilder, u: Value, v: Value, last: Value) -> dict[int, Value]:
    """M1 with the coordinates of the first pixel and M1.7."""
    return {2: floating(b, u), 3: floating(b, v), 7: last}


def media_message(
    b: InstBuilder,
    surface: Surface,
    sampler: SamplerVariable | None,
    asked: Asked,
    dst: Rows | OutputSurface,
    size: int = 0,
) -> None:
    """Send a message; `size` bytes of its response are written to `dst`."""
    needs_sampler(b)
    zero, every = b.const(UD, 0), b.const(BOOL, 1)
    second, place, format = b.const(UD, asked.control), zero, zero
    if isinstance(dst, OutputSurface):
        index = b.shl(surface_index(b, dst.surface), b.const(UD, 24))
        second = b.or_(second, index)
        row = b.shl(b.convert(dst.y, UD), b.const(UD, 16))
        place = b.or_(b.and_(b.convert(dst.x, UD), b.const(UD, 0xFFFF)), row)
        format = b.const(UD, dst.format)
    header = b.concat([zero, zero, second, sampler_pointer(b), place, format, zero, zero])
    payload = b.concat([asked.words.get(k, zero) for k in range(8)])
    state = zero if sampler is None else sampler_index(b, sampler)
    more = [] if asked.offsets is None else [b.row_read(asked.offsets, 0, UD, 16)]
    registers = -(-size // _REGISTER)
    record = Sample8x8(registers, offsets=bool(more))
    args = (surface_index(b, surface), state, header, payload, *more)
    answer = b.message(record, every, args, [(UD, 8)] * registers)
    if isinstance(dst, OutputSurface) or dst.root is None:
        return
    for k, value in enumerate(answer):
        octets = min(_REGISTER, size - k * _REGISTER)
        part = b.slice(b.bitcast(value, UB), 0, octets) if octets < _REGISTER else value
        b.row_write(dst, k * _REGISTER, part, b.const(BOOL, 1, part.width))
