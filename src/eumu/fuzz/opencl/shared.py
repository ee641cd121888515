"""Random statements in which work items meet: local memory, atomics, sub-groups, images."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from eumu.fuzz.opencl.statements import Statements
from eumu.fuzz.opencl.types import UINT, Type, any_type

_BARRIER: Final = "barrier(CLK_LOCAL_MEM_FENCE);"
# Their results do not depend on the order in which work items come.
OPERATIONS: Final = ("add", "sub", "xor", "or", "and", "min", "max")
_SLOTS: Final = 4  # of a local array of counters, and of each operation on the shared ones
SHARED_WORDS: Final = len(OPERATIONS) * _SLOTS
TEXELS: Final = 16  # of an image, in each direction


class Meetings:
    """Writes statements at which all work items of a group arrive.

    `local` are the declarations that they need at the start of the kernel.
    """

    def __init__(self, statements: Statements, items: int, features: frozenset[str]) -> None:
        self.statements, self.items, self.features = statements, items, features
        self.random: Random = statements.random
        self.local: list[str] = []

    def meeting(self) -> list[str]:
        forms = ["_exchange", "_exchange", "_counters", "_shared", "_exclusive"]
        forms += ["_sub_group", "_sub_group"] * ("sub_group" in self.features)
        forms += ["_texel", "_texel"] * ("image" in self.features)
        made: Iterator[str] = getattr(self, self.random.choice(forms))()
        return list(made)

    def _value(self, type: Type) -> str:
        return self.statements.expressions.of(type, 3)

    def _array(self, type: Type, count: int) -> str:
        name = f"l{len(self.local)}"
        self.local.append(f"__local {type} {name}[{count}];")
        return name

    def _take(self, type: Type, value: str) -> Iterator[str]:
        """Keep a value of some type in a variable."""
        place = self.statements.scope.find(self.random, type, writable=True)
        if place is None:
            place = self.statements.scope.find(self.random, UINT, writable=True)
            value = f"(uint)({value}{'.s0' if type.is_vector else ''})"
        if place is not None:
            yield f"{self.statements.expressions.place(place, 1)} ^= {value};"

    def _exchange(self) -> Iterator[str]:
        """Each work item reads what another one has written."""
        type = any_type(self.random)
        name = self._array(type, self.items)
        yield _BARRIER
        yield f"{name}[lid] = {self._value(type)};"
        yield _BARRIER
        other = f"lid {self.random.choice('+^')} {self.random.randrange(self.items)}u"
        yield from self._take(type, f"{name}[({other}) & {self.items - 1}u]")

    def _counters(self) -> Iterator[str]:
        """Atomic operations of one kind on some words."""
        type = self.random.choice((UINT, UINT.signed))
        name, operation = self._array(type, _SLOTS), self.random.choice(OPERATIONS)
        yield _BARRIER
        yield f"if (lid < {_SLOTS}u) {name}[lid] = {type.literal(self.random)};"
        yield _BARRIER
        update = f"atomic_{operation}(&{name}[{self._value(UINT)} & {_SLOTS - 1}u]"
        yield f"if {self.statements.expressions.condition()} {update}, {self._value(type)});"
        yield _BARRIER
        yield from self._take(type, f"{name}[{self._value(UINT)} & {_SLOTS - 1}u]")

    def _shared(self) -> Iterator[str]:
        """The same on words of all groups, each of which has one operation; they are read later."""
        number = self.random.randrange(len(OPERATIONS))
        index = f"{number * _SLOTS}u + ({self._value(UINT)} & {_SLOTS - 1}u)"
        yield f"atomic_{OPERATIONS[number]}(&shared[{index}], {self._value(UINT)});"

    def _exclusive(self) -> Iterator[str]:
        """A sum by exchanges that are tried until nobody came in between."""
        name = self._array(UINT, 1)
        yield _BARRIER
        yield f"if (lid == 0u) {name}[0] = {UINT.literal(self.random)};"
        yield _BARRIER
        yield f"{{ const uint more = {self._value(UINT)};"
        yield f"uint seen = atomic_or(&{name}[0], 0u), before;"
        yield "do { before = seen;"
        yield f"seen = atomic_cmpxchg(&{name}[0], before, before + more);"
        yield "} while (seen != before); }"
        yield _BARRIER
        yield from self._take(UINT, f"{name}[0]")

    # ---- sub-groups of any size: what they give is gathered by the group

    def _sub_group(self) -> Iterator[str]:
        form = self.random.choice(("_reduction", "_ranks", "_vote", "_broadcast"))
        made: Iterator[str] = getattr(self, form)()
        yield from made

    def _set(self, name: str, value: str) -> Iterator[str]:
        """One work item sets what all see then."""
        yield _BARRIER
        yield f"if (lid == 0u) {name}[0] = {value};"
        yield _BARRIER

    def _reduction(self) -> Iterator[str]:
        operation = self.random.choice(("add", "min", "max"))
        type = self.random.choice((UINT, UINT.signed))
        signed = operation == "add"  # a sum may not overflow
        value = f"({self._value(type)} & ({type})(0xffff))" if signed else self._value(type)
        name = self._array(type, 1)
        yield from self._set(name, "0")
        yield f"{{ const {type} all = sub_group_reduce_{operation}({value});"
        yield f"if (get_sub_group_local_id() == 0u) atomic_{operation}(&{name}[0], all); }}"
        yield _BARRIER
        yield from self._take(type, f"{name}[0]")

    def _ranks(self) -> Iterator[str]:
        """Sums before each work item of its sub-group, added up."""
        name = self._array(UINT, 1)
        yield from self._set(name, "0u")
        yield f"{{ const uint one = {self._value(UINT)} & 0xffffu;"
        yield "const uint before = sub_group_scan_exclusive_add(one);"
        yield "const uint with = sub_group_scan_inclusive_add(one);"
        yield f"atomic_add(&{name}[0], with - before); }}"
        yield _BARRIER
        yield from self._take(UINT, f"{name}[0]")

    def _vote(self) -> Iterator[str]:
        word = self.random.choice(("any", "all"))
        name, operation = self._array(UINT, 1), {"any": "or", "all": "and"}[word]
        yield from self._set(name, f"{int(word == 'all')}u")
        condition = self.statements.expressions.condition()
        vote = f"sub_group_{word}({condition}) ? 1u : 0u"
        yield f"{{ const uint vote = {vote}; atomic_{operation}(&{name}[0], vote); }}"
        yield _BARRIER
        yield from self._take(UINT, f"{name}[0]")

    def _broadcast(self) -> Iterator[str]:
        """A value that all work items have comes from any of them."""
        name = self._array(UINT, 1)
        yield from self._set(name, self._value(UINT))
        lane = self.random.randrange(8)
        yield from self._take(UINT, f"sub_group_broadcast({name}[0], {lane}u)")

    # ---- images

    def _texel(self) -> Iterator[str]:
        """A texel of one image goes, changed, to the place of the work item in another."""
        x, y = (f"(int)({self._value(UINT)} & {TEXELS - 1}u)" for _ in "xy")
        yield f"{{ const uint4 texel = read_imageui(source, plain, (int2)({x}, {y}));"
        changed = f"(texel ^ {self._value(UINT.of(4))}) & 0xffu"
        if self.random.random() < 0.5:
            yield f"write_imageui(target, (int2)((int)gid, 0), {changed});"
        yield from self._take(UINT.of(4), "texel")
        yield "}"
