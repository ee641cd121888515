"""Which vector instructions may be written, derived from the registry: types, operands, modifiers.

A vector instruction has a destination and sources of elements; messages and control flow have
none.  What the documents allow, or the compiler emits, is offered; what only Intel's front end
reads is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from eumu.isa.kinds.control import ChoiceKind, ConditionKind, HexByteKind, PredicateKind
from eumu.isa.kinds.vector import DestinationKind, SourceKind
from eumu.isa.limits import DESTINATION, SOURCE, By
from eumu.isa.spec import Field, Opcode
from eumu.isa.visa import VISA
from eumu.isa.visa.graphics import QuadKind, RegistersKind
from eumu.platforms import PLATFORMS, platform
from eumu.records import dataclass
from eumu.types import BOOL, TYPES, Kind, Type

# Vector instructions on state and addresses, which have statements of their own.
_STATE = {"addr_add", "movs", "faddr"}

MODIFIERS = {
    "arithmetic": ("", "-", "abs", "-abs"),
    "logic": ("", "~"),
    "any": ("", "-", "abs", "-abs", "~"),
    "none": ("",),
}
PREDICATES = ("", "(P)", "(!P)", "(P.any)", "(P.all)", "(!P.any)", "(!P.all)")


@dataclass(frozen=True)
class Signature:
    """One choice of types of an instruction: destinations first, in the order of its operands."""

    opcode: Opcode
    types: tuple[Type, ...]

    @property
    def dst(self) -> Type:
        return self.types[0]

    @property
    def sources(self) -> tuple[Type, ...]:
        return self.types[len(destinations(self.opcode)) :]


def is_executed(opcode: Opcode) -> bool:
    return opcode.fidelity.level != "unsupported"


def name(opcode: Opcode) -> str:
    """The mnemonic and the literal part that tells it from others: `add3.o`."""
    return (opcode.mnemonic + opcode.literal_after_mnemonic()).rstrip(".")


def operands(opcode: Opcode) -> list[Field]:
    """Destinations and sources."""
    return [f for f in opcode.fields if isinstance(f.kind, DestinationKind | SourceKind)]


def destinations(opcode: Opcode) -> list[Field]:
    return [f for f in opcode.fields if isinstance(f.kind, DestinationKind)]


def sources(opcode: Opcode) -> list[Field]:
    return [f for f in opcode.fields if isinstance(f.kind, SourceKind)]


def is_vector(opcode: Opcode) -> bool:
    kinds = (DestinationKind, SourceKind, PredicateKind, HexByteKind, ChoiceKind)
    rest = [f for f in opcode.fields if f.name != "exec" and not isinstance(f.kind, kinds)]
    return bool(destinations(opcode) and not rest and opcode.types) and name(opcode) not in _STATE


@cache
def vectors(platform_name: str) -> tuple[Opcode, ...]:
    """The vector instructions that a platform has and eumu executes."""
    return tuple(
        o
        for o in VISA
        if is_vector(o)
        and is_executed(o)
        and (o.platforms is None or platform_name in o.platforms)
        and signatures(o, platform_name)
    )


def every_vector() -> list[tuple[Opcode, str]]:
    """Each executed vector instruction with the latest platform that has it.

    Earlier ones follow where they have choices of types that later ones have not.
    """
    by_name: dict[str, set[Signature]] = {}
    opcodes: list[tuple[Opcode, str]] = []
    for device in reversed(PLATFORMS):
        for opcode in vectors(device):
            here = set(signatures(opcode, device))
            if here - by_name.setdefault(name(opcode), set()):
                by_name[name(opcode)] |= here
                opcodes.append((opcode, device))
    return opcodes


@cache
def signatures(opcode: Opcode, platform_name: str) -> tuple[Signature, ...]:
    """All choices of types, immediate vectors (`v`, `uv`, `vf`) included."""
    listed = dict.fromkeys(
        Signature(opcode, types)
        for row in opcode.types
        if platform_name in row.platforms and row.by in (By.BOTH, By.COMPILER)
        for types in _choices(opcode, row)
    )
    return tuple(listed)


def _choices(opcode: Opcode, row: object) -> Iterator[tuple[Type, ...]]:
    allowed = []
    for field in operands(opcode):
        is_dst = isinstance(field.kind, DestinationKind)
        own = row.allowed(field.name, is_dst=is_dst)  # type: ignore[attr-defined]
        classes = operand_classes(opcode, field)
        own = [t for t in own if t is not BOOL or "p" in classes]
        own = [t for t in own if t.kind is not Kind.PACKED or "i" in classes]
        if isinstance(field.kind, QuadKind | RegistersKind):
            own = [t for t in own if t.kind is not Kind.PACKED]
        allowed.append(sorted(own, key=_ORDER.index))
    for types in product(*allowed):
        if _together(opcode, types):
            yield types


_ORDER = list(TYPES.values())
_FLOAT_LIKE = {"hf", "bf", "f", "df", "vf"}


def _together(opcode: Opcode, types: tuple[Type, ...]) -> bool:
    """A row lists types operand by operand; not every combination of them goes together."""
    from_sources = types[len(destinations(opcode)) :]
    if len({t.name in _FLOAT_LIKE for t in from_sources if t is not BOOL}) > 1:
        return False
    if BOOL in types and opcode.mnemonic in ("and", "or", "xor", "not"):
        return set(types) == {BOOL}
    if sum(t.kind is Kind.PACKED for t in from_sources) == len(from_sources) > 1:
        return False
    names = (types[0].name, *(t.name for t in from_sources))
    formats = {"fcvt": _FCVT, "srnd": _SRND}.get(opcode.mnemonic)
    return formats is None or names[: len(formats[0])] in formats


_FCVT = (("ub", "hf"), ("hf", "ub"), ("ud", "f"), ("f", "ud"))
_SRND = (("hf", "f", "f"), ("ub", "hf", "hf"))


def operand_classes(opcode: Opcode, field: Field) -> str:
    """Classes of operand by letter, as in `eumu.isa.limits`."""
    is_dst = isinstance(field.kind, DestinationKind)
    return opcode.limits.operands.get(field.name, DESTINATION if is_dst else SOURCE)


def modifiers(opcode: Opcode, type: Type) -> tuple[str, ...]:
    """The modifiers of a source of this type, which is no immediate."""
    allowed = MODIFIERS[opcode.limits.modifiers]
    return ("",) if type is BOOL or type.kind is Kind.PACKED else allowed


def saturates(opcode: Opcode, dst: Type) -> bool:
    if not any(p.part == "sat" for p in opcode.pieces) or dst is BOOL:
        return False
    allowed = opcode.limits.saturation
    return allowed == "yes" or (allowed == "float" and dst.is_float)


def predicates(opcode: Opcode) -> tuple[str, ...]:
    """Forms of the guard; `P` stands for a predicate variable."""
    guards = [f for f in opcode.fields if isinstance(f.kind, PredicateKind)]
    if not guards:
        return ("",)
    if guards[0].name == "overflow":
        return ("", "(P)")
    return PREDICATES[1:] if isinstance(guards[0].kind, ConditionKind) else PREDICATES


def exec_sizes(signature: Signature, platform_name: str, simd: int) -> list[int]:
    """Numbers of lanes with which no operand takes more than two registers."""
    grf = platform(platform_name).grf_bytes
    widest = max(t.size for t in signature.types)
    if signature.opcode.mnemonic == "plane":
        widest = 8  # two elements a lane
    allowed = signature.opcode.limits.sizes_on(platform_name)
    return [n for n in sorted(allowed) if n <= simd and n * widest <= 2 * grf]


def masks(size: int, simd: int) -> list[str]:
    """Mask controls of this many lanes in a thread of `simd` lanes."""
    places = range(0, simd - size + 1, max(4, size))
    return [f"M{k // 4 + 1}{suffix}" for k in places for suffix in ("", "_NM")]


def text(
    opcode: Opcode, exec: str, guard: str, words: dict[str, str], *, saturate: bool = False
) -> str:
    """The line of an instruction: operands by name, the guard and the mask control as they are."""
    parts: list[str] = []
    for piece in opcode.pieces:
        if piece.field is None:
            parts.append(piece.literal)
        elif piece.part == "sat":
            parts.append(".sat" if saturate else "")
        elif isinstance(piece.field.kind, PredicateKind):
            parts.append(f"{guard} " if guard else "")
        elif piece.field.name == "exec":
            parts.append(exec)
        else:
            parts.append(words[piece.field.name])
    return "".join(parts)
