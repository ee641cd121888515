"""What a random statement may name: variables, functions, and what the device has."""

from __future__ import annotations

from dataclasses import field
from random import Random

from eumu.fuzz.opencl.types import Type
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Lvalue:
    """Something with a value: a variable, a field, elements of an array.

    `text` has `{}` where an index stands, if there are `count` elements, a power of two.
    """

    text: str
    type: Type
    count: int = 0
    is_fixed: bool = False  # it is read, never assigned to
    is_uniform: bool = False  # all work items of a group see the same value


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the program; it has no effect but its result."""

    name: str
    result: Type
    parameters: tuple[Type, ...]


@dataclass(slots=True)
class Scope:
    places: list[Lvalue] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    features: frozenset[str] = frozenset()  # "half", "double"

    def find(self, random: Random, type: Type, *, writable: bool = False) -> Lvalue | None:
        """A place of exactly that type."""
        places = [p for p in self.places if p.type == type and not (writable and p.is_fixed)]
        return random.choice(places) if places else None

    def with_lanes(self, random: Random, vector: bool) -> Lvalue | None:
        """Any vector, or any scalar."""
        places = [p for p in self.places if p.type.is_vector == vector]
        return random.choice(places) if places else None
