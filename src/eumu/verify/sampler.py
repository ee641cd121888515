"""Rules on messages to the sampler: options, texel offsets, types of parameters.

Source: vISA pages "3D_SAMPLE", "3D_LOAD", "3D_SAMPLE4".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eumu.isa.kinds.operands import General, Immediate, Indirect, Raw
from eumu.isa.kinds.sampler import ParametersKind, SamplerOptionsKind, TexelOffsetsKind
from eumu.isa.limits import By, since
from eumu.isa.spec import Field, Opcode
from eumu.isa.visa import analytics, sampler, scaling
from eumu.types import HF, UD, UW, D, F, Type
from eumu.verify.messages import only_signs_differ
from eumu.verify.rules import Finding, On, listed, rule
from eumu.verify.subject import Use

COARSE: Final = frozenset({"sample_3d", "sample_b", "sample_b_c", "sample_c", "lod"})
NULL_MASK: Final = since("skl")
NEWER: Final = since("icllp")
_FAMILIES: Final = frozenset(m.__name__ for m in (analytics, sampler, scaling))


def asks_sampler(opcode: Opcode) -> bool:
    """Whether an instruction is a message to the sampler."""
    return opcode.body.__module__ in _FAMILIES


@rule(
    "sampler-platform",
    "The device must have a sampler.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=asks_sampler,
)
def sampler_platform(use: Use) -> Iterator[Finding]:
    if not use.subject.platform.has_sampler:
        yield Finding(f"{use.opcode} asks a sampler; {use.subject.platform} has none")


@rule(
    "sampler-coarse",
    "Coarse pixels change the level of detail that the hardware finds, in 8 or 16 lanes.",
    on=On.OPERAND,
    kinds=(SamplerOptionsKind,),
)
def sampler_coarse(use: Use, field: Field, operand: frozenset[str]) -> Iterator[Finding]:
    if "cps" not in operand:
        return
    if use.opcode.mnemonic not in COARSE:
        legal = listed(sorted(COARSE))
        yield Finding(f"{use.opcode} has no '.cps'; these have: {legal}", field.name)
    elif use.size not in (8, 16):
        yield Finding(f"'.cps' with execution size {use.size}; 8 or 16 is allowed", field.name)


@rule(
    "sampler-coarse-platform",
    "Coarse pixels came with Gen11.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=(SamplerOptionsKind,),
)
def sampler_coarse_platform(use: Use, field: Field, operand: frozenset[str]) -> Iterator[Finding]:
    if "cps" in operand and use.subject.platform.name not in NEWER:
        yield Finding(f"'.cps' is not there on {use.subject.platform}", field.name)


@rule(
    "sampler-null-mask",
    "Unmapped pages of images came with Gen9.",
    on=On.OPERAND,
    kinds=(SamplerOptionsKind,),
)
def sampler_null_mask(use: Use, field: Field, operand: frozenset[str]) -> Iterator[Finding]:
    if "pixel_null_mask" in operand and use.subject.platform.name not in NULL_MASK:
        yield Finding(f"'.pixel_null_mask' is not there on {use.subject.platform}", field.name)


@rule(
    "texel-offset",
    "The message's header has four bits for each offset, and four that must be zero.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=(TexelOffsetsKind,),
    classes=(Immediate, General, Indirect),
)
def texel_offset(
    use: Use, field: Field, operand: Immediate | General | Indirect
) -> Iterator[Finding]:
    if operand.type not in (UW, UD):
        yield Finding(f"{field.name} is :{operand.type}; :uw is allowed", field.name)
    elif isinstance(operand, Immediate) and operand.bits >> 12:
        yield Finding(f"{field.name} is {operand.bits:#x}; bits above 11 must be 0", field.name)


@rule(
    "sampler-parameter",
    "All parameters lie in one message and have elements of one size.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=(ParametersKind,),
)
def sampler_parameter(use: Use, field: Field, operand: tuple[Raw, ...]) -> Iterator[Finding]:
    kind = field.kind
    assert isinstance(kind, ParametersKind)
    first: Type | None = None
    for name, raw in zip(kind.names_of(operand), operand, strict=False):
        if raw.variable is None:
            continue
        type, allowed = raw.variable.type, _allowed(use, name)
        if type not in allowed and not only_signs_differ(type, allowed):
            yield _misfit(use, field, name, type)
        elif name not in ("offu", "offv"):
            first = first or type
            if type is not first and not only_signs_differ(type, (first,)):
                yield Finding(f"{name} is :{type}, the first parameter :{first}", field.name)


@rule(
    "sampler-parameter-emitted",
    "The message takes the bits of integers, whatever their sign.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=(ParametersKind,),
)
def sampler_parameter_emitted(
    use: Use, field: Field, operand: tuple[Raw, ...]
) -> Iterator[Finding]:
    kind = field.kind
    assert isinstance(kind, ParametersKind)
    for name, raw in zip(kind.names_of(operand), operand, strict=False):
        type, allowed = raw.variable and raw.variable.type, _allowed(use, name)
        if type and type not in allowed and only_signs_differ(type, allowed):
            yield _misfit(use, field, name, type)


def _misfit(use: Use, field: Field, name: str, type: Type) -> Finding:
    legal = listed(f":{t}" for t in _allowed(use, name))
    return Finding(f"{name} is :{type}; {use.opcode} takes {legal}", field.name)


def _allowed(use: Use, name: str) -> tuple[Type, ...]:
    newer = use.subject.platform.name in NEWER
    if name in ("offu", "offv"):
        return (D,)
    if use.opcode.page == "3D_LOAD":
        return (UD, UW) if newer else (UD,)
    return (F, HF) if newer else (F,)
