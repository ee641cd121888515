"""Kernels at random: every instruction of the registry, with every class of operand it may have."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from eumu import text
from eumu.binary.layout import POOL
from eumu.isa.kinds import (
    control,
    lsc,
    lsc_block2d,
    lsc_typed,
    matrix,
    media,
    raw,
    render,
    sampler,
    vector,
)
from eumu.isa.kinds.kind import Kind
from eumu.isa.kinds.operands import (
    AddressOf,
    AddressOperand,
    ExecSize,
    General,
    Immediate,
    Indirect,
    Predicate,
    PredicateOperand,
    Raw,
    StateOperand,
)
from eumu.isa.kinds.variables import PREDEFINED, Declared, Variable
from eumu.isa.limits import DESTINATION, SOURCE
from eumu.isa.spec import Field, Opcode
from eumu.isa.visa import VISA
from eumu.isa.visa.calls import FunctionKind, RegisterCountKind
from eumu.isa.visa.render import BoundedNumberKind
from eumu.isa.visa.sends import ByteKind, ExtendedDescriptorKind
from eumu.isa.visa.sync import Participants, ParticipantsKind
from eumu.program import Inst, LabelMark, Module
from eumu.types import BF, BOOL, HF, TYPES, UB, UD, Type
from eumu.types import Kind as TypeKind
from text.corpus import program

PRELUDE = text.parse(program())
ENTRY, LABEL = "main", "L1"

# Types of immediates; the text has none of bf and bool.
IMMEDIATES = [t for t in TYPES.values() if t not in (BF, BOOL)]
STORABLE = [t for t in TYPES.values() if t is not BOOL and t.kind is not TypeKind.PACKED]


class Generator:
    """Makes instructions; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        declarations = PRELUDE.kernels[0].declarations
        self.declared: dict[str, list[Any]] = {}
        for variable in (*declarations, *(PREDEFINED[name] for name in POOL)):
            self.declared.setdefault(variable.category, []).append(variable)

    def module(self, count: int, opcodes: list[Opcode]) -> Module:
        """A kernel of `count` instructions."""
        (kernel,) = PRELUDE.kernels
        body = [self.instruction(self.random.choice(opcodes)) for _ in range(count)]
        items = (LabelMark(ENTRY, "subroutine"), *body, LabelMark(LABEL))
        return replace(PRELUDE, kernels=(replace(kernel, body=items),))

    def instruction(self, opcode: Opcode) -> Inst:
        placed = {slot.field.name for slot in opcode.slots or () if slot.field}
        operands = (
            self.operand(opcode, f) if f.name in placed else f.kind.default for f in opcode.fields
        )
        return Inst(opcode, tuple(operands))

    def operand(self, opcode: Opcode, field: Field) -> Any:
        return _maker(field)(self, opcode, field)

    # ---- parts

    def pick(self, *choices: Any) -> Any:
        """One of the choices."""
        return self.random.choice(choices)

    def number(self, bits: int) -> int:
        """A number of up to so many bits; small ones are as likely as large ones."""
        return self.random.getrandbits(self.random.randint(1, bits))

    def variable(self, category: str = "G") -> Any:
        return self.random.choice(self.declared[category])

    def raw(self) -> Raw:
        if self.random.random() < 0.1:
            return Raw(None)
        return Raw(self.user(), self.pick(0, 0, 4, 32, 64, 0x7FE0))

    def user(self) -> Variable:
        """A general variable that is not predefined."""
        while True:
            found: Variable = self.variable()
            if found.predefined is None:
                return found

    def general(self, **more: Any) -> General:
        row, col = self.pick(0, 0, 1, 255), self.pick(0, 0, 3, 7, 255)
        return General(self.variable(), row, col, **more)

    def scalar(self) -> General | Immediate:
        if self.random.random() < 0.3:
            return Immediate(self.number(32), UD)
        # Intel's printer leaves out a pitch of %null.
        return replace(self.general(vstride=0, width=1, hstride=0), variable=self.user())

    def scalar_source(self) -> General | Immediate:
        """A scalar as vector operands have it."""
        if self.random.random() < 0.3:
            return _immediate(self)
        return self.general(vstride=0, width=1, hstride=0)

    def type(self) -> Type:
        return self.random.choice(STORABLE)


def _exec(g: Generator, opcode: Opcode, field: Field) -> ExecSize:
    sizes = (1, 2, 4, 8, 16, 32)
    if any(slot.code == "elements" for slot in opcode.slots or ()):
        sizes = (1, 8, 16)
    size = g.pick(*sizes)
    offset = g.random.randrange(0, 33 - size, max(4, size))
    return ExecSize(size, offset, g.pick(False, True))


def _predicate(g: Generator, opcode: Opcode, field: Field) -> Predicate | None:
    if g.pick(True, False):
        return None
    combine = "" if opcode.mnemonic == "sel" else g.pick("", "any", "all")
    return Predicate(g.variable("P"), g.pick(False, True), combine)


def _destination(g: Generator, opcode: Opcode, field: Field) -> Any:
    letters = opcode.limits.operands.get(field.name, DESTINATION)
    has_sat = any(p.part == "sat" and p.field is field for p in opcode.pieces)
    saturate = has_sat and g.pick(False, True)
    hstride = g.pick(1, 2, 4)
    match g.pick(*letters):
        case "g":
            return g.general(vstride=0, width=1, hstride=hstride, saturate=saturate)
        case "r":
            place = g.variable("A"), g.pick(0, 15), g.pick(0, -512, 511)
            return Indirect(*place, 0, 1, hstride, g.type(), saturate=saturate)
        case "p":
            return PredicateOperand(g.variable("P"))
        case "a":
            return AddressOperand(g.variable("A"), g.pick(0, 8), g.pick(1, 2, 4, 8))
    return StateOperand(g.variable(g.pick("T", "S")), g.pick(0, 3))


def _source(g: Generator, opcode: Opcode, field: Field) -> Any:
    letters = opcode.limits.operands.get(field.name, SOURCE)
    scalar = getattr(field.kind, "scalar", False)
    modifier = g.pick("", "", "-", "abs", "-abs", "~")
    region = (
        (0, 1, 0) if scalar else g.pick((0, 1, 0), (1, 1, 0), (8, 8, 1), (16, 4, 2), (32, 16, 2))
    )
    match g.pick(*letters):
        case "g":
            vstride, width, hstride = region
            return g.general(vstride=vstride, width=width, hstride=hstride, modifier=modifier)
        case "r":
            place = g.variable("A"), g.pick(0, 15), g.pick(0, -512, 511)
            vstride = g.pick(region[0], None) if not scalar else region[0]
            return Indirect(*place, vstride, *region[1:], g.type(), modifier)
        case "i":
            return _immediate(g)
        case "p":
            return PredicateOperand(g.variable("P"))
        case "a":
            return AddressOperand(g.variable("A"), g.pick(0, 8), g.pick(1, 2, 4, 8))
        case "&":
            variable = g.user()
            return AddressOf(variable, g.pick(0, 1, 8, 200) * variable.type.size)
    return StateOperand(g.variable(g.pick("T", "S")), g.pick(0, 3))


def _immediate(g: Generator) -> Immediate:
    """The bits that an element of the type can have and, as a number, is positive."""
    type = g.random.choice(IMMEDIATES)
    bits = type.bits if type.is_float or type.size >= 4 else type.bits - 1
    return Immediate(g.number(16 if type is HF else bits), type)


def _surface(g: Generator, opcode: Opcode, field: Field) -> Declared:
    found: Declared = g.variable("T")
    return found


def _channels(g: Generator, opcode: Opcode, field: Field) -> tuple[int, ...]:
    mask = g.random.randint(1, 15)
    return tuple(c for c in range(4) if mask >> c & 1)


def _atomic(g: Generator, opcode: Opcode, field: Field) -> raw.AtomicOperation:
    kind = field.kind
    assert isinstance(kind, raw.AtomicKind)
    return raw.AtomicOperation(g.pick(*raw.ATOMIC_CODES), g.pick(*kind.widths))


def _caching(g: Generator, opcode: Opcode, field: Field) -> lsc.Caching:
    kind = field.kind
    assert isinstance(kind, lsc.CachingKind)
    return lsc.Caching(*g.pick(*sorted(lsc.CACHE_PAIRS[kind.access])).split("."))


def _lsc_data(g: Generator, opcode: Opcode, field: Field) -> lsc.LscData:
    kind = field.kind
    assert isinstance(kind, lsc.LscDataKind)
    size = g.pick("d8", "d16", "d32", "d64", "d8c32", "d16c32", "d16c32h")
    if kind.channels:
        return lsc.LscData(g.raw(), lsc.DataShape(size, channels=_channels(g, opcode, field)))
    elements = g.pick(*lsc.VECTORS) if size in ("d32", "d64") else 1
    return lsc.LscData(g.raw(), lsc.DataShape(size, elements, g.pick(False, True)))


def _model(g: Generator) -> tuple[str, Any]:
    model = g.pick("bti", "ss", "bss")
    return model, g.scalar()


def _lsc_address(g: Generator, opcode: Opcode, field: Field) -> lsc.LscAddress:
    kind = field.kind
    assert isinstance(kind, lsc.LscAddressKind)
    model, surface = g.pick(("flat", None), ("arg", None), _model(g))
    pitch = g.scalar() if kind.strided else None
    offset = g.pick(0, 0, 16, -4, (1 << 31) - 1)
    return lsc.LscAddress(model, surface, g.raw(), g.pick(16, 32, 64), offset, 1, pitch)


def _typed_address(g: Generator, opcode: Opcode, field: Field) -> lsc_typed.TypedAddress:
    count = g.random.randint(1, 4)
    coordinates = [Raw(g.user()) for _ in range(count)] + [Raw(None)] * (4 - count)
    return lsc_typed.TypedAddress(lsc_typed.SurfaceModel(*_model(g)), *coordinates, 32)


def _blocks(g: Generator, opcode: Opcode, field: Field) -> lsc_block2d.BlockData:
    kind = field.kind
    assert isinstance(kind, lsc_block2d.BlockDataKind)
    bits = g.pick(8, 16, 32, 64)
    shape = lsc_block2d.BlockShape(
        bits, g.pick(*kind.counts), g.random.randint(1, 512 // bits), g.random.randint(1, 32),
        g.pick(False, True), g.pick(False, True),
    )  # fmt: skip
    return lsc_block2d.BlockData(g.raw(), shape)


def _fence_mask(g: Generator, opcode: Opcode, field: Field) -> tuple[str, ...]:
    names = ("E", "I", "S", "C", "R", "L1")
    found = tuple(n for n in names if g.pick(False, True))
    # Intel's front end reads `.R` alone as a mask of channels.
    return found if found != ("R",) else ()


def _options(g: Generator, opcode: Opcode, field: Field) -> frozenset[str]:
    kind = field.kind
    assert isinstance(kind, sampler.SamplerOptionsKind)
    return frozenset(word for word in kind.words if g.pick(False, True))


def _unorm(g: Generator, opcode: Opcode, field: Field) -> sampler.UnormChannels:
    return sampler.UnormChannels(_channels(g, opcode, field), g.pick(*sampler.UNORM_FORMATS))


def _legacy_lanes(g: Generator, opcode: Opcode, field: Field) -> sampler.LegacyLanes:
    return sampler.LegacyLanes(_channels(g, opcode, field), g.pick(8, 16))


def _parameters(g: Generator, opcode: Opcode, field: Field) -> tuple[Raw, ...]:
    kind = field.kind
    assert isinstance(kind, sampler.ParametersKind)
    return tuple(g.raw() for _ in range(g.random.randint(1, len(kind.names))))


def _render_data(g: Generator, opcode: Opcode, field: Field) -> render.RenderData:
    options = frozenset(word for word in render.WRITE_BITS if g.pick(False, True))
    return render.RenderData(
        g.raw(),
        tuple(g.scalar_source() for _ in render.scalars_of(options)),
        tuple(g.raw() for _ in render.registers_of(options)),
        options,
    )


def _read_sample(g: Generator, opcode: Opcode, field: Field) -> render.ReadSample:
    options = frozenset(word for word in render.READ_BITS if g.pick(False, True))
    return render.ReadSample(options, g.scalar_source() if "SI" in options else None)


def _word_source(g: Generator, opcode: Opcode, field: Field) -> General | Immediate:
    kind = field.kind
    assert isinstance(kind, media.WordSourceKind)
    word = Immediate(g.random.randrange(len(kind.words)), UB)
    return g.pick(word, g.general(vstride=0, width=1, hstride=0))  # type: ignore[no-any-return]


def _convolve_mode(g: Generator, opcode: Opcode, field: Field) -> media.ConvolveMode:
    kind = field.kind
    assert isinstance(kind, media.ConvolveModeKind)
    return media.ConvolveMode(g.pick(*kind.result.words), g.pick("15x15", "31x31"))


def _matrix_shape(g: Generator, opcode: Opcode, field: Field) -> matrix.MatrixShape:
    # Intel's printer has no word for bf8.
    named = [p for p in matrix.PRECISIONS if p.name != "bf8"]
    b, a = (g.pick(*named) for _ in range(2))
    return matrix.MatrixShape(b, a, g.pick(1, 2, 4, 8), g.random.randint(1, 8))


MAKERS: dict[type[Kind], Callable[[Generator, Opcode, Field], Any]] = {
    control.ExecKind: _exec,
    control.PredicateKind: _predicate,
    control.ChoiceKind: lambda g, o, f: g.pick(*f.kind.words),  # type: ignore[attr-defined]
    control.LabelKind: lambda g, o, f: ENTRY if o.mnemonic == "call" else LABEL,
    control.LabelsKind: lambda g, o, f: (LABEL,) * g.random.randint(1, 32),
    control.StringKind: lambda g, o, f: g.pick("f", ".str", "a b"),
    control.HexByteKind: lambda g, o, f: g.number(8),
    control.VariableKind: lambda g, o, f: g.variable(g.pick("G", "A", "P")),
    FunctionKind: lambda g, o, f: "f",
    RegisterCountKind: lambda g, o, f: g.number(8),
    ByteKind: lambda g, o, f: g.number(8),
    ExtendedDescriptorKind: lambda g, o, f: g.number(32),
    ParticipantsKind: lambda g, o, f: Participants(g.scalar()),
    matrix.MatrixShapeKind: _matrix_shape,
    matrix.MatrixPlaceKind: lambda g, o, f: g.general(vstride=1, width=1, hstride=0),
    vector.DestinationKind: _destination,
    vector.SourceKind: _source,
    raw.RawKind: lambda g, o, f: g.raw(),
    raw.SurfaceKind: _surface,
    raw.CountKind: lambda g, o, f: g.pick(*f.kind.values),  # type: ignore[attr-defined]
    raw.BlockSizeKind: lambda g, o, f: raw.BlockSize(g.pick(1, 2, 4, 8, 16)),
    raw.ChannelsKind: _channels,
    raw.OptionalWordKind: lambda g, o, f: False,
    raw.AtomicKind: _atomic,
    raw.FenceMaskKind: _fence_mask,
    raw.MediaBlockKind: lambda g, o, f: raw.MediaBlock(*g.pick((1, 1), (32, 8), (64, 4), (4, 64))),
    raw.PlaneKind: lambda g, o, f: g.pick(0, 1, 2, 3),
    render.RenderDataKind: _render_data,
    render.ReadSampleKind: _read_sample,
    BoundedNumberKind: lambda g, o, f: g.random.randint(f.kind.low, f.kind.high),  # type: ignore[attr-defined]
    media.WordKind: lambda g, o, f: g.pick(*f.kind.words),  # type: ignore[attr-defined]
    media.WordSourceKind: _word_source,
    media.ConvolveModeKind: _convolve_mode,
    media.SearchModesKind: lambda g, o, f: media.SearchModes(g.pick(0, 3), g.pick(0, 1, 2, 3)),
    sampler.SamplerKind: lambda g, o, f: g.variable("S"),
    sampler.SamplerOptionsKind: _options,
    sampler.ChannelKind: lambda g, o, f: g.pick(0, 1, 2, 3),
    sampler.UnormChannelsKind: _unorm,
    sampler.LegacyLanesKind: _legacy_lanes,
    sampler.ParametersKind: _parameters,
    lsc.CachingKind: _caching,
    lsc.LscDataKind: _lsc_data,
    lsc.LscAddressKind: _lsc_address,
    lsc_typed.TypedAddressKind: _typed_address,
    lsc_typed.SurfaceModelKind: lambda g, o, f: lsc_typed.SurfaceModel(*_model(g)),
    lsc_block2d.BlockDataKind: _blocks,
    lsc_block2d.MatrixKind: lambda g, o, f: lsc_block2d.Matrix(*(g.scalar() for _ in range(6))),
}


def _maker(field: Field) -> Callable[[Generator, Opcode, Field], Any]:
    for kind in type(field.kind).__mro__:
        if kind in MAKERS:
            return MAKERS[kind]
    raise LookupError


def _can_be_made(opcode: Opcode) -> bool:
    try:
        return opcode.slots is not None and all(_maker(f) for f in opcode.fields)
    except LookupError:
        return False


ENCODED = [opcode for opcode in VISA if _can_be_made(opcode)]
