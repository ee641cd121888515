"""Whole random kernels: types, functions, the kernel itself, and what it is launched with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.fuzz.opencl.expressions import Expressions
from eumu.fuzz.opencl.scope import Function, Lvalue, Scope
from eumu.fuzz.opencl.shared import SHARED_WORDS, TEXELS, Meetings
from eumu.fuzz.opencl.statements import DEAD_WORDS, Statements, declared, variant
from eumu.fuzz.opencl.types import Type, any_type, scalar
from eumu.records import dataclass

INPUT_WORDS: Final = 64
_GROUPS: Final = 2
_ITEMS: Final = (8, 16, 32, 64)
# A feature, how many kernels in ten have it, and the line that it needs in a source.
_FEATURES: Final = {
    "half": (2, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable"),
    "double": (2, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"),
    "sub_group": (2, ""),
    "image": (2, "__constant sampler_t plain = CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST;"),
    "call": (3, ""),
}
FEATURES: Final = frozenset(_FEATURES)


@dataclass(frozen=True, slots=True)
class RandomKernel:
    """A kernel with its types and functions, and its launch.

    `outputs` are the words of `out` for each work item: the value of a variable each, mixed up.
    """

    seed: int
    name: str
    text: str
    features: frozenset[str]
    items: int  # of a group
    outputs: int

    @property
    def global_size(self) -> int:
        return _GROUPS * self.items

    @property
    def has_variant(self) -> bool:
        """Whether anything in it depends on zeros that the compiler does not know."""
        return variant(self.text) != self.text

    def variant(self) -> RandomKernel:
        """The same without what depends on zeros that the compiler does not know."""
        text = variant(self.text).replace(self.name, f"{self.name}v")
        return RandomKernel(
            *(self.seed, f"{self.name}v", text, self.features, self.items, self.outputs)
        )

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What the arguments that are arrays hold before the launch."""
        numbers = np.random.default_rng(self.seed)
        return {
            "out": np.zeros(self.outputs * self.global_size, np.uint64),
            "in": numbers.integers(0, 1 << 32, INPUT_WORDS, np.uint32),
            "dead": np.zeros(DEAD_WORDS, np.int32),
            "shared": numbers.integers(0, 1 << 32, SHARED_WORDS, np.uint32),
        }

    def images(self) -> dict[str, NDArray[np.uint8]]:
        """The texels of its images, if it has any: of the one that is read, and of the other."""
        if "image" not in self.features:
            return {}
        numbers = np.random.default_rng(self.seed)
        texels = numbers.integers(0, 256, (TEXELS, TEXELS, 4), np.uint8)
        return {"source": texels, "target": np.zeros((1, self.global_size, 4), np.uint8)}


def source(kernels: Sequence[RandomKernel]) -> str:
    """One program of several kernels."""
    wanted = frozenset[str]().union(*(k.features for k in kernels))
    lines = [line for name, (_, line) in _FEATURES.items() if name in wanted and line]
    return "\n".join((*lines, "", *(k.text for k in kernels)))


def kernel(seed: int, allowed: frozenset[str] = FEATURES) -> RandomKernel:
    """The kernel of a seed, with no features but the allowed ones."""
    return _Writer(seed, allowed).kernel()


class _Writer:
    def __init__(self, seed: int, allowed: frozenset[str]) -> None:
        self.random = Random(f"OpenCL C {seed}")
        self.seed, self.name = seed, f"k{seed}"
        drawn = {n for n, (tenth, _) in _FEATURES.items() if self.random.randrange(10) < tenth}
        self.features = frozenset(drawn) & allowed
        self.items = self.random.choice(_ITEMS)
        self.scope = Scope(features=self.features)
        self._fields: list[tuple[str, Type, int]] = []

    def kernel(self) -> RandomKernel:
        lines = list(self._structure())
        for k in reversed(range(self.random.choice((0, 0, 1, 2)))):
            lines += self._function(f"{self.name}f{k}")
        lines += self._changer()
        body, outputs = self._body()
        text = "\n".join((*lines, self._head(), *(f"    {line}" for line in body), "}\n"))
        return RandomKernel(self.seed, self.name, text, self.features, self.items, outputs)

    # ---- types and functions

    def _structure(self) -> Iterator[str]:
        """A structure of mixed fields, arrays among them, inside another one."""
        yield f"struct {self.name}s {{"
        for k in range(self.random.randint(2, 3)):
            type, count = any_type(self.random), self.random.choice((0, 0, 0, 2))
            self._fields.append((f"f{k}", type, count))
            yield f"    {type} f{k}{f'[{count}]' if count else ''};"
        yield "};"
        yield f"struct {self.name}o {{ {scalar(self.random)} first; struct {self.name}s in; }};"

    def _places(self, name: str) -> list[Lvalue]:
        return [Lvalue(f"{name}.{f}{'[{}]' if n else ''}", t, n) for f, t, n in self._fields]

    def _function(self, name: str) -> Iterator[str]:
        """A function of numbers and of a structure, which may call those before it."""
        parameters = tuple(any_type(self.random) for _ in range(self.random.randint(1, 3)))
        result = any_type(self.random)
        inner = Scope(functions=list(self.scope.functions), features=self.features)
        inner.places = [Lvalue(f"p{k}", type) for k, type in enumerate(parameters)]
        statements = Statements(self.random, inner)
        listed = ", ".join(f"{type} p{k}" for k, type in enumerate(parameters))
        noinline = "__attribute__((noinline)) " if "call" in self.features else ""
        yield f"{noinline}{result} {name}({listed}) {{"
        yield from (f"    {line}" for line in declared(statements, ("a", "b")))
        yield from (f"    {line}" for line in statements.block(self.random.randint(1, 3), 1))
        yield f"    return {statements.expressions.of(result)};"
        yield "}"
        self.scope.functions.append(Function(name, result, parameters))

    def _changer(self) -> Iterator[str]:
        """A function that changes a structure of its caller's."""
        inner = Scope(functions=list(self.scope.functions), features=self.features)
        inner.places = [Lvalue("p", any_type(self.random)), *self._places("(*s)")]
        listed = f"struct {self.name}s *s, {inner.places[0].type} p"
        yield f"void {self.name}c({listed}) {{"
        statements = Statements(self.random, inner)
        yield from (f"    {line}" for line in statements.block(self.random.randint(1, 3), 1))
        yield "}"
        self._changed_by = inner.places[0].type

    # ---- the kernel

    def _head(self) -> str:
        more = ", read_only image2d_t source, write_only image2d_t target"
        images = more if "image" in self.features else ""
        return (
            f"__kernel __attribute__((reqd_work_group_size({self.items}, 1, 1)))\n"
            f"void {self.name}(__global ulong *out, __global const uint *in,"
            f" __global const int *dead,\n    __global uint *shared, uint n{images}) {{"
        )

    def _body(self) -> tuple[list[str], int]:
        statements = Statements(self.random, self.scope, knows_dead=True)
        meetings = Meetings(statements, self.items, self.features)
        start = list(self._variables(statements))
        middle: list[str] = []
        for _ in range(self.random.randint(2, 5)):
            middle += self._part(statements, meetings)
        end = list(self._results())
        return [*meetings.local, *start, *middle, *end], len(end)

    def _variables(self, statements: Statements) -> Iterator[str]:
        yield "const uint gid = get_global_id(0), lid = get_local_id(0);"
        self.scope.places += [Lvalue(name, by, is_fixed=True) for name, by in _FIXED]
        names = [f"v{k}" for k in range(self.random.randint(2, 4))]
        yield from declared(statements, names, from_input="in")
        yield from self._array(statements.expressions)
        yield f"struct {self.name}o so; struct {self.name}s s0, s1;"
        yield from self._filled("s0", statements.expressions)
        self.scope.places += self._places("s0")
        yield "s1 = s0; so.in = s0;"
        self.scope.places += [*self._places("s1"), *self._places("so.in")]

    def _array(self, expressions: Expressions) -> Iterator[str]:
        """A private array, each element of which has a value."""
        type, count = any_type(self.random), self.random.choice((4, 8))
        yield f"{type} pa[{count}];"
        yield f"for (uint i = 0u; i < {count}u; ++i) pa[i] = {expressions.of(type, 2)};"
        self.scope.places.append(Lvalue("pa[{}]", type, count))

    def _filled(self, name: str, expressions: Expressions) -> Iterator[str]:
        for field, type, count in self._fields:
            if count:
                value = expressions.of(type, 1)
                yield f"for (uint i = 0u; i < {count}u; ++i) {name}.{field}[i] = {value};"
            else:
                yield f"{name}.{field} = {expressions.of(type, 2)};"

    def _part(self, statements: Statements, meetings: Meetings) -> list[str]:
        chance = self.random.random()
        if chance < 0.4:
            return statements.block(self.random.randint(1, 2))
        if chance < 0.75:
            return meetings.meeting()
        if chance < 0.85:  # n is the same number for all work items
            turns = "for (uint turn = 0u; turn < (n & 3u); ++turn) {"
            return [turns, *statements.block(1, 1), *meetings.meeting(), "}"]
        if chance < 0.95:
            text = statements.expressions.of(self._changed_by, 2)
            return [f"{self.name}c(&{self.random.choice(('s0', 's1', 'so.in'))}, {text});"]
        return [self.random.choice(("s0 = s1;", "s1 = so.in;", "so.in = s0;"))]

    def _results(self) -> Iterator[str]:
        """A word of each place: all of its elements and lanes mixed up."""
        written = [p for p in self.scope.places if not p.is_fixed]
        for k, place in enumerate(written):
            word = f"out[{k}u * {_GROUPS * self.items}u + gid]"
            if place.count:
                mixed = _mixed(place.text.format("i"), place.type, word)
                yield f"for (uint i = 0u; i < {place.count}u; ++i) {word} = {mixed};"
            else:
                yield f"{word} = {_mixed(place.text, place.type, '0UL')};"


_FIXED: Final = tuple((name, Type("uint", 32, False)) for name in ("gid", "lid", "n"))


def _mixed(name: str, type: Type, text: str) -> str:
    """The lanes of a value and a number in one."""
    for lane in range(type.lanes):
        part = f"{name}.s{lane:x}" if type.is_vector else name
        text = f"({text} * 31UL + (ulong){part})"
    return text
