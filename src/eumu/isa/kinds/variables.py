"""Declared things that operands name: variables, the predefined ones, and scopes.

Source: vISA page "Variables and predefined variables"; indices as in the object file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from difflib import get_close_matches

from eumu.errors import Span
from eumu.records import dataclass
from eumu.types import TYPES, UD, UQ, UW, Type

# The object file numbers user variables from here on; smaller indices are predefined.
FIRST_USER_VARIABLE = 32
FIRST_USER_SURFACE = 6
FIRST_USER_PREDICATE = 1


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """What all declarations share; `count` is `num_elts`."""

    name: str
    count: int
    attrs: tuple[tuple[str, str | None], ...] = field(default=(), kw_only=True)
    span: Span | None = field(default=None, kw_only=True, repr=False)
    predefined: int | None = field(default=None, kw_only=True)

    category = "?"


@dataclass(frozen=True, slots=True, eq=False)
class Variable(Declared):
    """A general variable (`v_type=G`): `count` elements, in rows of GRF size.

    An alias shares the bytes of `alias` from byte `alias_offset` on.
    """

    type: Type
    align: str | None = None
    alias: Variable | None = None
    alias_offset: int = 0
    # The origin of an alias of an alias, once it has been asked for.
    _origin: tuple[Variable, int] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    category = "G"

    @property
    def size(self) -> int:
        """Bytes."""
        return self.count * self.type.size

    def origin(self) -> tuple[Variable, int]:
        """The variable that owns the bytes, and the byte offset in it."""
        if self.alias is None:
            return self, 0
        if self._origin is not None:
            return self._origin
        variable, offset = self.alias, self.alias_offset
        while variable._origin is None and (base := variable.alias) is not None:
            variable, offset = base, offset + variable.alias_offset
        if variable._origin is not None:  # long chains are walked once
            variable, more = variable._origin
            offset += more
        object.__setattr__(self, "_origin", (variable, offset))
        return variable, offset


@dataclass(frozen=True, slots=True, eq=False)
class AddressVariable(Declared):
    """`v_type=A`: `count` register addresses, 1–16."""

    category = "A"


@dataclass(frozen=True, slots=True, eq=False)
class PredicateVariable(Declared):
    """`v_type=P`: `count` bits, 1, 2, 4, 8, 16 or 32."""

    category = "P"


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceVariable(Declared):
    """`v_type=T`: indices of surfaces."""

    alternate: str | None = None  # v_name=
    category = "T"


@dataclass(frozen=True, slots=True, eq=False)
class SamplerVariable(Declared):
    """`v_type=S`: indices of samplers."""

    alternate: str | None = None
    category = "S"


_TYPED: tuple[tuple[str, Type, int], ...] = (
    ("%null", UD, 1),
    ("%thread_x", UW, 1),
    ("%thread_y", UW, 1),
    ("%group_id_x", UD, 1),
    ("%group_id_y", UD, 1),
    ("%group_id_z", UD, 1),
    ("%tsc", UD, 5),
    ("%r0", UD, 8),
    ("%arg", UD, 256),
    ("%retval", UD, 96),
    ("%sp", UQ, 1),
    ("%fp", UQ, 1),
    ("%hw_id", UD, 1),
    ("%sr0", UD, 4),
    ("%cr0", UD, 1),
    ("%ce0", UD, 1),
    ("%dbg0", UD, 2),
    ("%color", UW, 1),
    ("%impl_arg_buf_ptr", UQ, 1),
    ("%local_id_buf_ptr", UQ, 1),
    ("%msg0", UD, 3),
    ("%scratchloc", UQ, 1),
)
_SURFACES = ("%slm", "T1", "T2", "TSS", "%bss", "%scratch")

PREDEFINED: dict[str, Declared] = {
    **{
        name: Variable(name, count, type, predefined=index)
        for index, (name, type, count) in enumerate(_TYPED)
    },
    **{name: SurfaceVariable(name, 1, predefined=index) for index, name in enumerate(_SURFACES)},
    "S31": SamplerVariable("S31", 1, predefined=31),
}

# A predefined variable answers to its number too.
NUMBERED = {f"V{v.predefined}": v for v in PREDEFINED.values() if isinstance(v, Variable)}

# What the documents call some; Intel's front end has other names.
DOCUMENTED = {
    "%tm": PREDEFINED["%tsc"],
    "%implicit_arg_ptr": PREDEFINED["%impl_arg_buf_ptr"],
    "%implicit_local_id_buf_ptr": PREDEFINED["%local_id_buf_ptr"],
}

# Names of words of the header r0 (PRM, thread payload): the ids of the group, or the place in the
# thread space of the media pipeline.
THREAD_SPACE: dict[str, int] = {"%thread_x": 4, "%thread_y": 6}
R0_ALIASES: dict[str, int] = {
    **{"%group_id_x": 4, "%group_id_y": 24, "%group_id_z": 28},
    **THREAD_SPACE,
}


def by_type_name(name: str) -> Type | None:
    """The type that a declaration or an immediate names, in lower or upper case."""
    return TYPES.get(name) or (TYPES.get(name.lower()) if name.isupper() else None)


class Scope:
    """Names visible at a point; `{ }` in the text opens an inner scope."""

    def __init__(self, outer: Scope | None = None, grf_bytes: int | None = None) -> None:
        self.outer = outer
        self.grf_bytes: int | None = grf_bytes if outer is None else outer.grf_bytes
        self._names: dict[str, Declared] = {}

    def declare(self, variable: Declared) -> Declared | None:
        """Add a name; returns the one it collides with in the same scope."""
        previous = self._names.get(variable.name)
        self._names[variable.name] = variable
        return previous

    def find(self, name: str) -> Declared | None:
        """The innermost declaration of a name, predefined ones last."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._names:
                return scope._names[name]
            scope = scope.outer
        return PREDEFINED.get(name) or NUMBERED.get(name) or DOCUMENTED.get(name)

    def size_of(self, name: str) -> int | None:
        """Bytes of a general variable, or of a `GRF` where the device is known."""
        if name == "GRF":
            return self.grf_bytes
        variable = self.find(name)
        return variable.size if isinstance(variable, Variable) else None

    def __iter__(self) -> Iterator[str]:
        scope: Scope | None = self
        while scope is not None:
            yield from scope._names
            scope = scope.outer
        yield from PREDEFINED

    def suggest(self, name: str) -> str:
        """ "; did you mean 'X'?" or nothing."""
        close = get_close_matches(name, list(self), 1, 0.75)
        return f"; did you mean '{close[0]}'?" if close else ""
