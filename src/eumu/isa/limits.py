"""What an instruction may be used with, where its operand kinds do not say it.

Source: the vISA page of the instruction, and what Intel's front end does (IGC 1.0.12504, its
verifier on).  The two differ in places; a row says whose it is, and `FrontEnd` holds the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Literal

from eumu.platforms import PLATFORMS
from eumu.records import dataclass
from eumu.types import Type

Modifiers = Literal["arithmetic", "logic", "any", "none"]
Saturation = Literal["yes", "float", "no"]

# Source modifiers by what an instruction takes.
MODIFIERS: dict[Modifiers, tuple[str, ...]] = {
    "arithmetic": ("-", "abs", "-abs"),
    "logic": ("~",),
    "any": ("-", "abs", "-abs", "~"),
    "none": (),
}
EVERY_PLATFORM = frozenset(PLATFORMS)
SIZES = frozenset((1, 2, 4, 8, 16, 32))
# Those whose registers have 64 bytes.
WIDE = frozenset(p.name for p in PLATFORMS.values() if p.grf_bytes == 64)

# Classes of operands by letter: general, indirect, immediate, predicate, address, &variable, state.
SOURCE = "gri"
DESTINATION = "gr"


class By(Enum):
    """Whose rule it is; COMPILER: against the documents, and Intel's compiler emits it."""

    BOTH = "both"
    DOCUMENTS = "documents"
    FRONT_END = "front end"
    COMPILER = "compiler"


def since(name: str) -> frozenset[str]:
    """A platform and all later ones."""
    names = list(PLATFORMS)
    return frozenset(names[names.index(name) :])


def before(name: str) -> frozenset[str]:
    """All platforms earlier than this one."""
    return EVERY_PLATFORM - since(name)


@dataclass(frozen=True, slots=True)
class TypeRow:
    """A row of a type map: these destinations go with these sources.

    `fields` are operands with types of their own, by name.  Where `fitting`, an integer immediate
    may have any type, if its value fits one of the row's.
    """

    dst: frozenset[Type]
    src: frozenset[Type]
    fields: tuple[tuple[str, frozenset[Type]], ...] = ()
    platforms: frozenset[str] = EVERY_PLATFORM
    by: By = By.BOTH
    fitting: bool = False

    def allowed(self, field: str, *, is_dst: bool) -> frozenset[Type]:
        """The types of one operand."""
        return dict(self.fields).get(field, self.dst if is_dst else self.src)


def rows(*pairs: tuple[Iterable[Type], Iterable[Type]]) -> tuple[TypeRow, ...]:
    """A type map from (destination types, source types) pairs."""
    return tuple(TypeRow(frozenset(dst), frozenset(src)) for dst, src in pairs)


def row(
    dst: Iterable[Type],
    src: Iterable[Type] = (),
    *,
    only: Iterable[str] = EVERY_PLATFORM,
    by: By = By.BOTH,
    fitting: bool = False,
    **fields: Iterable[Type],
) -> tuple[TypeRow, ...]:
    """A type map of one row; keywords name operands with types of their own."""
    own = tuple((name, frozenset(types)) for name, types in fields.items())
    return (TypeRow(frozenset(dst), frozenset(src), own, frozenset(only), by, fitting),)


def fields(by: By = By.BOTH, **types: Iterable[Type]) -> tuple[TypeRow, ...]:
    """What the registers of a message hold, by the name of the operand."""
    own = tuple((name, frozenset(allowed)) for name, allowed in types.items())
    return (TypeRow(frozenset(), frozenset(), own, by=by),)


def sizes(*default: int, wide: Iterable[int] = ()) -> Mapping[str, frozenset[int]]:
    """Execution sizes, and `wide` ones where registers have 64 bytes (key '' is the rest)."""
    own = dict.fromkeys(sorted(WIDE), frozenset(wide)) if wide else {}
    return {"": frozenset(default), **own}


_ALL_SIZES = sizes(*SIZES)


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """What the documents allow.

    `modifiers` of sources; `saturation` where the text has `.sat`; `sizes` by platform; `operands`
    gives classes by letter for operands that differ from SOURCE and DESTINATION; `aligned` are the
    bytes that operands of more than one lane must be aligned to.  `slm` are the platforms where the
    surface may be %slm; a message on `texels` has no use for %scratch either.
    """

    modifiers: Modifiers = "arithmetic"
    saturation: Saturation = "yes"
    sizes: Mapping[str, frozenset[int]] = field(default_factory=lambda: _ALL_SIZES)
    operands: Mapping[str, str] = field(default_factory=dict)
    aligned: Mapping[str, int] = field(default_factory=dict)
    slm: frozenset[str] = EVERY_PLATFORM
    texels: bool = False

    def sizes_on(self, platform: str) -> frozenset[int]:
        return self.sizes.get(platform, self.sizes[""])


@dataclass(frozen=True, slots=True, eq=False)
class FrontEnd:
    """Where Intel's front end differs from the documents; None where it does not.

    Of the messages with an atomic operation, it checks the operands of one.  `emitted` are sizes
    that its compilers use against the documents, `emits_saturation` says that they use `.sat`;
    `emitted_operands` gives classes by letter that they use besides, `emitted_modifiers` modifiers
    of sources.
    """

    platforms: frozenset[str] | None = None
    modifiers: Modifiers | None = None
    saturation: Saturation | None = None
    sizes: Mapping[str, frozenset[int]] | None = None
    operands: Mapping[str, str] | None = None
    slm: frozenset[str] | None = None
    checks_atomics: bool = False
    emitted: frozenset[int] = frozenset()
    emits_saturation: bool = False
    emitted_operands: Mapping[str, str] = field(default_factory=dict)
    emitted_modifiers: Modifiers = "none"


AS_DOCUMENTED = FrontEnd()
