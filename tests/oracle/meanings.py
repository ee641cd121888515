"""What vector instructions compute, in Python's integers and rational numbers.

Written from the pages of the specification, not from the declarations: a third witness beside the
engines.  A lane of a source is a number (integers) or a bit pattern (floats), its modifier applied;
a meaning returns the exact integer, or the bits of a float in the type that is computed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from eumu.types import TYPES, Type, integer
from oracle import exact
from oracle.exact import FORMATS, Format
from oracle.lanes import value

SINGLE = FORMATS["f"]


@dataclass(frozen=True)
class Context:
    """What of an instruction its meaning depends on; `types` are those of modified sources."""

    dst: Type
    types: tuple[Type, ...]
    saturate: bool = False
    relation: str = ""
    table: int = 0
    lane: int = 0
    chosen: bool = True  # by the condition of `sel`
    # Types as they are written, and whether a source has a minus.
    written: tuple[Type, ...] = ()
    minus: bool = False


# ---- sources


def modified(type: Type, bits: int, modifier: str, *, wide: bool = False) -> tuple[Type, int]:
    """The type and the lane after a modifier; short integers become `d` first, and a `wide` `ud`
    that is negated becomes `q`."""
    if type.is_float:
        sign = 1 << (type.bits - 1)
        bits = bits & ~sign if "abs" in modifier else bits
        return type, bits ^ sign if "-" in modifier else bits
    number = value(type, bits)
    if not modifier:
        return type, number
    holds = TYPES["d"] if type.size < 4 else type
    if wide and "-" in modifier and type.name == "ud":
        holds = TYPES["q"]
    if modifier == "~":
        return holds, wrap(holds, ~number)
    number = wrap(holds, abs(number)) if "abs" in modifier else number
    return holds, wrap(holds, -number) if "-" in modifier else number


def packed(type: Type, bits: int, lane: int) -> tuple[Type, int]:
    """A lane of a packed immediate: the type it stands for, and its bits."""
    if type.name == "vf":
        byte = bits >> 8 * (lane % 4) & 255
        size = Fraction(16 + (byte & 15), 16) * Fraction(2) ** ((byte >> 4 & 7) - 3)
        magnitude = SINGLE.round(size) if byte & 127 else 0
        return TYPES["f"], magnitude | (byte >> 7) << 31
    nibble = bits >> 4 * (lane % 8) & 15
    if type.name == "uv":
        return TYPES["uw"], nibble
    return TYPES["w"], (nibble - 16 if nibble > 7 else nibble) & 0xFFFF


def wrap(type: Type, number: int) -> int:
    """A number in the range of an integer type, modulo its size."""
    return value(type, number & ((1 << type.bits) - 1))


def clamp(type: Type, number: int) -> int:
    return min(max(number, type.minimum), type.maximum)


# ---- results


def fit(context: Context, number: int) -> int:
    """The bits of an exact integer in the destination."""
    dst = context.dst
    if dst.is_float:
        return _float_result(context, FORMATS["df"], number, from_integer=True)
    kept = clamp(dst, number) if context.saturate else number
    return kept & ((1 << dst.bits) - 1)


def fit_float(context: Context, bits: int, computed: Type) -> int:
    """The bits of a float, of the type that is computed in, in the destination."""
    source = FORMATS[computed.name]
    if context.dst.is_float:
        return _float_result(context, source, bits, from_integer=False)
    return _truncated(context.dst, source, bits) & ((1 << context.dst.bits) - 1)


def _float_result(context: Context, source: Format, bits: int, *, from_integer: bool) -> int:
    dst = FORMATS[context.dst.name]
    wide = SINGLE if context.dst.name == "bf" else dst
    if from_integer:
        result = wide.round(Fraction(bits))
    else:
        result = bits if wide is source else exact.convert(source, wide, bits)
    if context.saturate:
        result = _unit(wide, result)
    return result if wide is dst else exact.convert(wide, dst, result)


def _unit(f: Format, bits: int) -> int:
    """Clamped to [0, 1]; a NaN is 0."""
    if f.is_nan(bits) or bits & f.sign or f.is_zero(bits):
        return 0
    one = f.round(Fraction(1))
    return one if f.is_inf(bits) or f.value(bits) > 1 else bits


def _truncated(dst: Type, source: Format, bits: int) -> int:
    if source.is_nan(bits):
        return 0
    negative = bits & source.sign
    if source.is_inf(bits):
        return dst.minimum if negative else dst.maximum
    return clamp(dst, int(source.value(bits)))


# ---- the type that is computed in


def common(types: tuple[Type, ...]) -> Type:
    """At least 32 bits, the widest; signed if any is."""
    bits = max(32, *(t.bits for t in types))
    return integer(bits, signed=any(t.is_signed for t in types))


def computed_in(types: tuple[Type, ...]) -> Type:
    """Floats: the widest; `bf` in `f`."""
    if any(t.name == "bf" for t in types):
        return TYPES["f"]
    return max(types, key=lambda t: t.size)


def _execution_type(name: str, context: Context) -> Type:
    """That of sums and products is `f` where `hf` and `f` are mixed, the destination included."""
    computed = computed_in(context.types)
    mixed = name in ("add", "mul", "mad") and (computed.name, context.dst.name) == ("hf", "f")
    return context.dst if mixed else computed


def _widened(context: Context, sources: tuple[int, ...], computed: Type) -> tuple[int, ...]:
    """Float sources in the type that is computed in."""
    target = FORMATS[computed.name]
    pairs = zip(context.types, sources, strict=True)
    return tuple(
        bits if FORMATS[t.name] is target else exact.convert(FORMATS[t.name], target, bits)
        for t, bits in pairs
    )


# ---- integers

Integer = Callable[..., int]


def _sum(context: Context, *numbers: int) -> int:
    """Exact where it is clamped; operands of 64 bits wrap in as many."""
    total = sum(numbers)
    if context.saturate or max(t.size for t in context.types) < 8:
        return total
    return wrap(common(context.types), total)


def _quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _divided_in(context: Context) -> Type:
    """Signed by a minus; by the wider source; where both have one size if both are."""
    first, second = context.written
    signed = first.is_signed and second.is_signed
    if first.size != second.size:
        signed = max(first, second, key=lambda t: t.size).is_signed
    bits = max(32, first.bits, second.bits)
    return integer(bits, signed=signed or context.minus)


def _div(context: Context, x: int, y: int) -> int:
    type = _divided_in(context)
    x, y = wrap(type, x), wrap(type, y)
    return wrap(type, _quotient(x, y) if y else -1)


def _mod(context: Context, x: int, y: int) -> int:
    type = _divided_in(context)
    x, y = wrap(type, x), wrap(type, y)
    return x - y * _quotient(x, y) if y else x


def _bitwise(context: Context, apply: Callable[..., int], *numbers: int) -> int:
    """In 64 bits, to which each number has its own sign, where the result has as many."""
    type = common(context.types)
    if context.dst.size == 8:
        type = integer(64, signed=type.is_signed)
    return wrap(type, apply(*(wrap(type, n) for n in numbers)))


def _sel(context: Context, x: int, y: int) -> int:
    return x if context.chosen else y


def _shift_type(context: Context, *, signed: bool) -> Type:
    source = context.types[0]
    return integer(64 if 8 in (context.dst.size, source.size) else 32, signed=signed)


def _shl(context: Context, x: int, n: int) -> int:
    type = _shift_type(context, signed=context.types[0].is_signed)
    shifted = x << n % type.bits
    return clamp(type, shifted) if context.saturate else wrap(type, shifted)


def _right(context: Context, x: int, n: int, *, signed: bool) -> int:
    type = _shift_type(context, signed=signed)
    x = wrap(integer(context.types[0].bits, signed=signed), x)
    return x >> n % type.bits


def _rotate(context: Context, x: int, n: int) -> int:
    bits = context.types[0].bits
    x, n = x & ((1 << bits) - 1), n % bits
    return (x << n | x >> (bits - n)) & ((1 << bits) - 1)


def _leading(x: int) -> int:
    return 32 - (x & 0xFFFFFFFF).bit_length()


def _first_high(context: Context, x: int) -> int:
    x = ~x if x < 0 else x
    return _leading(x) if x else -1


def _cbit(context: Context, x: int) -> int:
    return (x & ((1 << context.types[0].bits) - 1)).bit_count()


def _field(context: Context, w: int, o: int, x: int) -> int:
    w, found = w % 32, (x & 0xFFFFFFFF) >> o % 32 & ((1 << w % 32) - 1)
    signed = context.types[2].is_signed and w and found >> (w - 1)
    return found - (1 << w) if signed else found


def _insert(context: Context, w: int, o: int, x: int, base: int) -> int:
    mask = ((1 << w % 32) - 1) << o % 32 & 0xFFFFFFFF
    return base & 0xFFFFFFFF & ~mask | x << o % 32 & mask


def _dp4a(context: Context, total: int, x: int, y: int) -> int:
    for k in range(4):
        sides = []
        for source, type in ((x, context.types[1]), (y, context.types[2])):
            byte = source >> 8 * k & 255
            sides.append(byte - 256 if type.is_signed and byte > 127 else byte)
        total += sides[0] * sides[1]
    return total if context.saturate else wrap(TYPES["d"], total)


def _table(context: Context, x: int, y: int, z: int) -> int:
    type = common(context.types)
    bits = [[n >> k & 1 for k in range(type.bits)] for n in (x, y, z)]
    result = 0
    for k, (a, b, c) in enumerate(zip(*bits, strict=True)):
        result |= (context.table >> (a + 2 * b + 4 * c) & 1) << k
    return wrap(type, result)


INTEGERS: dict[str, Integer] = {
    "add": _sum,
    "add3": _sum,
    "mul": lambda c, x, y: x * y,
    "mad": lambda c, x, y, z: x * y + z,
    "mulh": lambda c, x, y: x * y >> 32,
    "avg": lambda c, x, y: x + y + 1 >> 1,
    "div": _div,
    "mod": _mod,
    "min": lambda c, x, y: min(x, y),
    "max": lambda c, x, y: max(x, y),
    "sel": _sel,
    "mov": lambda c, x: x,
    "and": lambda c, x, y: _bitwise(c, lambda a, b: a & b, x, y),
    "or": lambda c, x, y: _bitwise(c, lambda a, b: a | b, x, y),
    "xor": lambda c, x, y: _bitwise(c, lambda a, b: a ^ b, x, y),
    "not": lambda c, x: _bitwise(c, lambda a: ~a, x),
    "shl": _shl,
    "shr": lambda c, x, n: _right(c, x, n, signed=False),
    "asr": lambda c, x, n: _right(c, x, n, signed=c.types[0].is_signed),
    "rol": _rotate,
    "ror": lambda c, x, n: _rotate(c, x, -n),
    "lzd": lambda c, x: _leading(x),
    "cbit": _cbit,
    "fbl": lambda c, x: (x & -x).bit_length() - 1,
    "fbh": _first_high,
    "bfrev": lambda c, x: int(f"{x & 0xFFFFFFFF:032b}"[::-1], 2),
    "bfe": _field,
    "bfi": _insert,
    "dp4a": _dp4a,
    "bfn": _table,
}

# Two results: the second for `carry`, `borrow`, the high dwords.
PAIRS: dict[str, Callable[..., tuple[int, int]]] = {
    "addc": lambda c, x, y: (x + y, x + y >> 32),
    "subb": lambda c, x, y: (x - y, int(x < y)),
    "madw": lambda c, x, y, z: (x * y + z, x * y + z >> 32),
}


# ---- floats


def _float(f: Format, x: int) -> Fraction:
    """Infinities as numbers beyond the largest."""
    if f.is_inf(x):
        return Fraction(2) ** (f.emax + 2) * (-1 if x & f.sign else 1)
    return f.value(x)


def _lesser(f: Format, x: int, y: int) -> int:
    if f.is_nan(x) or f.is_nan(y):
        return x if f.is_nan(y) else y
    return x if _float(f, x) < _float(f, y) else y


def _greater(f: Format, x: int, y: int) -> int:
    if f.is_nan(x) or f.is_nan(y):
        return x if f.is_nan(y) else y
    return x if _float(f, x) >= _float(f, y) else y


def _integral(whole: Callable[[Fraction], int]) -> Callable[[Format, int], int]:
    def apply(f: Format, x: int) -> int:
        if f.is_nan(x) or f.is_inf(x):
            return x
        return f.round(Fraction(whole(f.value(x))), "rne", x & f.sign)

    return apply


def _fraction(f: Format, x: int) -> int:
    """x - floor(x), at most the number below 1; of infinities there is none."""
    if f.is_nan(x) or f.is_inf(x):
        return f.nan
    number = f.value(x)
    rest = number - number.__floor__()
    return min(f.round(rest), f.round(Fraction(1)) - 1)


def _one(f: Format) -> int:
    return f.round(Fraction(1))


FLOATS: dict[str, Callable[..., int]] = {
    "add": exact.add,
    "mul": exact.mul,
    "mad": exact.fma,
    "div": exact.div,
    "divm": exact.div,
    "min": _lesser,
    "max": _greater,
    "mov": lambda f, x: x,
    "sqrt": exact.sqrt,
    "sqrtm": exact.sqrt,
    "inv": lambda f, x: exact.div(f, _one(f), x),
    "rndd": _integral(lambda x: x.__floor__()),
    "rndu": _integral(lambda x: x.__ceil__()),
    "rnde": _integral(round),
    "rndz": _integral(lambda x: x.__trunc__()),
    "frc": _fraction,
}

RELATIONS: dict[str, Callable[[Fraction | int, Fraction | int], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


def holds(context: Context, x: int, y: int) -> bool:
    """Whether the relation of a `cmp` holds."""
    relation = RELATIONS[context.relation]
    if not context.types[0].is_float:
        return relation(x, y)
    computed = computed_in(context.types)
    f = FORMATS[computed.name]
    a, b = _widened(context, (x, y), computed)
    if f.is_nan(a) or f.is_nan(b):
        return context.relation == "ne"
    return relation(_float(f, a), _float(f, b))


def result(name: str, context: Context, sources: tuple[int, ...]) -> list[int] | None:
    """The bits of each destination of a lane; None where no oracle is known."""
    if name == "cmp":
        true = holds(context, *sources)
        return [(1 << context.dst.bits) - 1 if true else 0] if context.dst.size else [int(true)]
    if not context.types[0].is_float:
        if name in PAIRS:
            return [n & 0xFFFFFFFF for n in PAIRS[name](context, *sources)]
        meaning = INTEGERS.get(name)
        return None if meaning is None else [fit(context, meaning(context, *sources))]
    return _float_meaning(name, context, sources)


def _float_meaning(name: str, context: Context, sources: tuple[int, ...]) -> list[int] | None:
    if name == "sel":
        name, sources = "mov", (sources[0 if context.chosen else 1],)
        if context.types[0] is not context.types[1]:  # the type of both is that of the chosen
            wide = computed_in(context.types)
            place = 0 if context.chosen else 1
            f, g = FORMATS[context.types[place].name], FORMATS[wide.name]
            sources = (sources[0] if f is g else exact.convert(f, g, sources[0]),)
            context = replace(context, types=(wide,))
        context = replace(context, types=context.types[:1])
    if name == "mov" and context.dst is context.types[0] and not context.saturate:
        return [sources[0]]
    meaning = FLOATS.get(name)
    if meaning is None:
        return None
    computed = _execution_type(name, context)
    made = meaning(FORMATS[computed.name], *_widened(context, sources, computed))
    return [fit_float(context, made, computed)]
