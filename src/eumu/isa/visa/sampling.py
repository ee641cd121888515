"""What sampler messages mean: header, record, and what lies in which register.

Every message gets a header, as Intel's compiler does where threads can be pre-empted; its sampler
state pointer is that of the thread's own header, r0.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from eumu.addresses import SURFACE_STATE_BASE
from eumu.errors import Unsupported
from eumu.ir import Region, Value
from eumu.isa.kinds import InstBuilder, Rows, Surface
from eumu.isa.kinds.sampler import Parameters, Pointed, TexelOffsets
from eumu.isa.kinds.variables import PREDEFINED, SamplerVariable
from eumu.isa.visa.texels import surface_index
from eumu.messages import LOADS, SamplerMessage
from eumu.types import BOOL, HF, UD, UW, F, Type

_INTEGERS = frozenset({"offu", "offv", "mcs", "mcsl", "mcsh"})


def sampler_message(
    b: InstBuilder,
    operation: str,
    surface: Surface | Pointed,
    sampler: SamplerVariable | Pointed | None,
    dst: Rows,
    names: Sequence[str],
    parameters: Parameters,
    *,
    channels: Sequence[int] = (0, 1, 2, 3),
    offsets: TexelOffsets | None = None,
    gather: int = 0,
    options: frozenset[str] = frozenset(),
) -> None:
    """Send a message and write its response, a channel after the other."""
    needs_sampler(b)
    if "cps" in options:
        raise Unsupported("sampler messages that adjust the level of detail to coarse pixels")
    bits = 16 if dst.type.size == 2 else 32
    null_mask = "pixel_null_mask" in options
    present = [n for n in names if n in parameters]
    count = max((names.index(n) + 1 for n in present), default=0)
    values = [_parameter(b, operation, n, parameters) for n in names[:count]]
    record = SamplerMessage(
        operation,
        b.width,
        count,
        has_header=True,
        results=len(channels) + null_mask,
        bits=bits,
        preemptible=True,
    )
    states = [surface_index(b, surface)]
    if sampler is not None:
        states.append(sampler_index(b, sampler))
    header = _header(b, channels, offsets, gather, null_mask=null_mask)
    shape = [(UW if bits == 16 else UD, b.width)] * len(channels) + [(UD, 1)] * null_mask
    answer = b.message(record, b.mask, (*states, header, *values), shape)
    _respond(b, dst, answer, bits, null_mask=null_mask)


def _respond(
    b: InstBuilder, dst: Rows, texels: Sequence[Value], bits: int, *, null_mask: bool
) -> None:
    """Each channel in the next registers, then a register with the null mask."""
    if dst.root is None:
        return
    channels = texels[:-1] if null_mask else texels
    pitch = b.registers(b.width * bits // 8)
    for k, value in enumerate(channels):
        b.row_write(dst, k * pitch, value, b.mask)
    if null_mask:
        b.row_write(dst, len(channels) * pitch, texels[-1], b.const(BOOL, 1))


def _parameter(b: InstBuilder, operation: str, name: str, parameters: Parameters) -> Value:
    """The lanes of a parameter, widened to 32 bits."""
    if name not in parameters:
        return b.const(UD, 0, b.width)
    rows = parameters[name]
    is_integer = operation in LOADS or name in _INTEGERS
    if rows.type.size == 2:
        half: Type = UW if is_integer else HF
        return b.convert(b.row_read(rows, 0, half, b.width), UD if is_integer else F)
    return b.row_read(rows, 0, UD if is_integer else F, b.width)


def needs_sampler(b: InstBuilder) -> None:
    """Raise where the device has none."""
    if not b.platform.has_sampler:
        raise Unsupported(f"messages to the sampler on {b.platform}, which has none")


def sampler_index(b: InstBuilder, sampler: SamplerVariable | Pointed) -> Value:
    """The index that `movs` put into a variable, or a bindless state.

    S31 is the Sampler State Pointer of the header: bits 4:0 are not part of the offset, and bit 0
    selects the bindless base, which is the only one here.  Compilers set it in pointers of Xe3p,
    too, which lie at multiples of 32 as these do.
    """
    if isinstance(sampler, Pointed):
        return _bindless_sampler(b, sampler.offset)
    root, _ = b.root(sampler)
    index = b.read(root, Region.scalar(0), UD, 1)
    if sampler.name == "S31":
        return _bindless_sampler(b, index)
    return index


def _bindless_sampler(b: InstBuilder, place: Value) -> Value:
    offset = b.and_(place, b.const(UD, 0xFFFF_FFE0))
    return b.add(offset, b.const(UD, SURFACE_STATE_BASE))


def _header(
    b: InstBuilder,
    channels: Sequence[int],
    offsets: TexelOffsets | None,
    gather: int,
    *,
    null_mask: bool,
) -> Value:
    """M0.0 … M0.7: channel masks and offsets in M0.2, the sampler state pointer in M0.3."""
    masked = sum(1 << 12 + c for c in range(4) if c not in channels)
    word = masked | gather << 16 | null_mask << 23
    if offsets is not None and offsets.constant is not None:
        u, v, r = offsets.constant
        word |= (u & 15) << 8 | (v & 15) << 4 | r & 15
    second = b.const(UD, word)
    if offsets is not None and offsets.constant is None:
        for place, value in ((8, offsets.u), (4, offsets.v), (0, offsets.r)):
            nibble = b.and_(b.bitcast(value, UD), b.const(UD, 15))
            second = b.or_(second, b.shl(nibble, b.const(UD, place)))
    zeros = b.const(UD, 0, 2)
    return b.concat([zeros, second, sampler_pointer(b), b.const(UD, 0, 4)])


def sampler_pointer(b: InstBuilder) -> Value:
    """M0.3: the sampler state pointer of the thread's own header."""
    root, base = b.root(PREDEFINED["%r0"])
    pointer = b.read(root, Region.scalar(base + 12), UD, 1)
    return b.and_(pointer, b.const(UD, 0xFFFF_FFE0))


def sample_block(
    b: InstBuilder,
    surface: Surface,
    sampler: SamplerVariable,
    corner: Sequence[Value],
    dst: Rows,
    channels: Sequence[int],
) -> None:
    """sample_unorm: 32 pixels whatever the execution mask, two bytes each."""
    needs_sampler(b)
    every = b.const(BOOL, 1, 32)
    header = _header(b, channels, None, 0, null_mask=False)
    record = SamplerMessage(
        "sample_unorm", 32, 4, has_header=True, results=len(channels), bits=16, preemptible=True
    )
    args = (surface_index(b, surface), sampler_index(b, sampler), header, *corner)
    answer = b.message(record, every, args, [(UW, 32)] * len(channels))
    for k, value in enumerate(answer):
        b.row_write(dst, 64 * k, value, every)
