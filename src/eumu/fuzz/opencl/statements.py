"""Random statements: assignments, control flow, and branches that no run takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from eumu.fuzz.opencl.expressions import Expressions
from eumu.fuzz.opencl.scope import Lvalue, Scope
from eumu.fuzz.opencl.types import UINT, any_type

_FLOW: Final = 2  # blocks in each other
_LOOPS: Final = 2  # loops in each other
_TURNS: Final = 7  # of a loop, at most, less one: a mask
DEAD_WORDS: Final = 8  # of the argument `dead`, which are 0

# Around what no run reaches, and around a condition that always holds: a variant has neither.
_DEAD: Final = ("// dead {", "// } dead")
_LIVE: Final = "// live"
# One may be in another one, deeper.
_DEAD_PART: Final = re.compile(rf"^( *){_DEAD[0]}$.*?^\1{_DEAD[1]}$\n", re.MULTILINE | re.DOTALL)
_LIVE_LINE: Final = re.compile(rf"^( *)if \(.*\) {{ {_LIVE}$", re.MULTILINE)


def variant(text: str) -> str:
    """The program without the branches that depend on `dead`: it must do the same."""
    return _LIVE_LINE.sub(r"\1{", _DEAD_PART.sub("", text))


class Statements:
    """Writes statements that assign to the places of a scope.

    `knows_dead`: the argument `dead` can be seen here, as it can in a kernel.
    """

    def __init__(self, random: Random, scope: Scope, *, knows_dead: bool = False) -> None:
        self.random, self.scope, self.knows_dead = random, scope, knows_dead
        self.expressions = Expressions(random, scope)
        self._counters = 0

    def block(self, count: int, depth: int = 0, loops: int = 0) -> list[str]:
        """So many statements, one of which may hold others."""
        return [line for _ in range(count) for line in self.statement(depth, loops)]

    def statement(self, depth: int, loops: int) -> list[str]:
        chance = self.random.random()
        if depth < _FLOW and chance < 0.3:
            forms = ["_if", "_if_else", "_switch"] + ["_for", "_while"] * (loops < _LOOPS)
            forms += ["_dead", "_live"] * self.knows_dead
            made: Iterator[str] = getattr(self, self.random.choice(forms))(depth + 1, loops)
            return list(made)
        if loops and chance < 0.36:
            leave = self.random.choice(("break", "continue"))
            return [f"if {self.expressions.condition()} {leave};"]
        return list(self.assignment())

    # ---- assignments

    def assignment(self) -> Iterator[str]:
        """A place gets a value; whole lanes of a vector may, too."""
        place = self._target()
        if place is None:
            return
        text, value = self.expressions.place(place, 2), self.expressions.of(place.type)
        chance = self.random.random()
        if chance < 0.1 and place.type.is_vector:
            lane = self.random.randrange(place.type.lanes)
            yield f"{text}.s{lane:x} = {self.expressions.of(place.type.of(1))};"
        elif chance < 0.3:
            yield f"{text} {self.random.choice('&|^')}= {value};"
        elif chance < 0.4 and not place.type.is_signed:
            yield f"{text} += {value};"
        else:
            yield f"{text} = {value};"

    def _target(self) -> Lvalue | None:
        places = [p for p in self.scope.places if not p.is_fixed]
        return self.random.choice(places) if places else None

    # ---- control flow

    def _inside(self, depth: int, loops: int, most: int = 2) -> Iterator[str]:
        lines = self.block(self.random.randint(1, most), depth, loops)
        return (f"    {line}" for line in lines)

    def _if(self, depth: int, loops: int) -> Iterator[str]:
        yield f"if {self.expressions.condition(3)} {{"
        yield from self._inside(depth, loops)
        yield "}"

    def _if_else(self, depth: int, loops: int) -> Iterator[str]:
        yield f"if {self.expressions.condition(3)} {{"
        yield from self._inside(depth, loops)
        yield "} else {"
        yield from self._inside(depth, loops)
        yield "}"

    def _switch(self, depth: int, loops: int) -> Iterator[str]:
        """Some cases go on into the next one; `continue` and `break` are those of the switch."""
        yield f"switch ({self.expressions.of(UINT, 2)} & 7u) {{"
        for value in self.random.sample(range(8), self.random.randint(2, 4)):
            yield f"case {value}:"
            yield from self._inside(_FLOW, 0, 1)
            if self.random.random() < 0.7:
                yield "    break;"
        yield "default:"
        yield from self._inside(_FLOW, 0, 1)
        yield "}"

    def _counter(self) -> str:
        self._counters += 1
        return f"i{self._counters}"

    def _for(self, depth: int, loops: int) -> Iterator[str]:
        name = self._counter()
        turns = f"({self.expressions.of(UINT, 2)} & {_TURNS}u)"
        if self.random.random() < 0.4:
            turns = f"{self.random.randint(1, _TURNS)}u"
        yield f"for (uint {name} = 0u, e{name} = {turns}; {name} < e{name}; ++{name}) {{"
        yield from self._with(Lvalue(name, UINT, is_fixed=True), depth, loops)
        yield "}"

    def _while(self, depth: int, loops: int) -> Iterator[str]:
        name = self._counter()
        yield f"uint {name} = {self.expressions.of(UINT, 2)} & {_TURNS}u;"
        yield f"while ({name}-- > 0u) {{"
        yield from self._with(Lvalue(name, UINT, is_fixed=True), depth, loops)
        yield "}"

    def _with(self, place: Lvalue, depth: int, loops: int) -> Iterator[str]:
        """The inside of a loop, which sees its counter."""
        self.scope.places.append(place)
        lines = list(self._inside(depth, loops + 1))
        self.scope.places.remove(place)
        yield from lines

    # ---- equivalence modulo inputs

    def _dead(self, depth: int, loops: int) -> Iterator[str]:
        yield _DEAD[0]
        yield f"if (dead[{self.random.randrange(DEAD_WORDS)}]) {{"
        yield from self._inside(depth, loops)
        yield "}"
        yield _DEAD[1]

    def _live(self, depth: int, loops: int) -> Iterator[str]:
        yield f"if (!dead[{self.random.randrange(DEAD_WORDS)}]) {{ {_LIVE}"
        yield from self._inside(depth, loops)
        yield "}"


def declared(
    statements: Statements, names: Sequence[str], *, from_input: str = ""
) -> Iterator[str]:
    """Variables of any types, each of which has a value: from an array of numbers, if one is named.

    They are places of the scope from then on.
    """
    for name in names:
        type = any_type(statements.random)
        value = statements.expressions.of(type, 2)
        if from_input and not type.is_vector:
            at = f"gid * {statements.random.randrange(64)}u + {statements.random.randrange(64)}u"
            value = f"({type}){from_input}[({at}) & 63u]"
        yield f"{type} {name} = {value};"
        statements.scope.places.append(Lvalue(name, type))
