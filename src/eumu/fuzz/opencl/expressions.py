"""Random expressions of integer types, without undefined behaviour."""

from __future__ import annotations

import re
from random import Random
from typing import Final

from eumu.fuzz.opencl.exact import Exact
from eumu.fuzz.opencl.scope import Lvalue, Scope
from eumu.fuzz.opencl.types import LANES, UINT, Type, scalar

_DEPTH: Final = 3
_INDEX_DEPTH: Final = 2  # left of the depth within an index
# Functions of the language that take and give one type; on 64 bits compilers have known faults.
_BOTH: Final = ("max", "min", "rotate", "abs_diff")
_NARROW: Final = ("add_sat", "sub_sat", "hadd", "rhadd", "mul_hi")
_THREE: Final = ("mad_sat", "mad_hi", "clamp", "bitselect")
_HIGH: Final = ("mul_hi", "mad_hi")  # wrong of ushort in both releases (docs/findings.md)
_NAME: Final = re.compile(r"(?<![.\w])[a-z]\w*")


class Expressions:
    """Writes expressions over a scope; `random` is all that they depend on."""

    def __init__(self, random: Random, scope: Scope) -> None:
        self.random, self.scope = random, scope
        self.exact = Exact(random, scope.features, lambda depth: self.of(UINT, depth))

    def of(self, type: Type, depth: int = _DEPTH) -> str:
        """A value of the type, in brackets."""
        if depth <= 0 or self.random.random() < 0.12:
            return self._leaf(type, depth)
        forms = self._VECTOR if type.is_vector else self._SCALAR
        (form,) = self.random.choices(tuple(forms), tuple(forms.values()))
        text: str = getattr(self, form)(type, depth - 1)
        return f"(({type})({text}))" if not type.is_vector else f"({text})"

    def condition(self, depth: int = 2) -> str:
        """Whether something holds, for `if` and the like."""
        type = scalar(self.random)
        sign = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        return f"({self.of(type, depth)} {sign} {self.of(type, depth)})"

    def place(self, place: Lvalue, depth: int) -> str:
        """A place in words: its index is masked."""
        if not place.count:
            return place.text
        index = f"{self.of(UINT, min(depth, _INDEX_DEPTH))} & {place.count - 1}u"
        return place.text.format(index)

    # ---- leaves

    def _leaf(self, type: Type, depth: int) -> str:
        chance = self.random.random()
        if chance < 0.75 and (place := self.scope.find(self.random, type)):
            return f"({self.place(place, depth - 1)})"
        if (
            chance < 0.9
            and not type.is_vector
            and (place := self.scope.with_lanes(self.random, False))
        ):
            return f"(({type})({self.place(place, depth - 1)}))"
        if type.is_vector and chance < 0.6:
            return f"(({type})({self._leaf(type.of(1), depth - 1)}))"
        return type.literal(self.random)

    # ---- forms of scalars

    _SCALAR: Final = {
        "_arithmetic": 6,
        "_bits": 4,
        "_shift": 3,
        "_division": 2,
        "_comparison": 2,
        "_choice": 2,
        "_conversion": 3,
        "_saturated": 1,
        "_component": 2,
        "_call": 2,
        "_builtin": 3,
        "_negation": 1,
        "_count_bits": 1,
        "_float": 1,
    }

    def _arithmetic(self, type: Type, depth: int) -> str:
        a, b = self.of(type, depth), self.of(type, depth)
        sign = self.random.choice("+-*")
        if type.is_vector:
            a = self._varied(type, a, b)
            free = type.unsigned
            return f"as_{type}(as_{free}({a}) {sign} as_{free}({b}))"
        return f"({type.wide}){a} {sign} ({type.wide}){b}"

    def _bits(self, type: Type, depth: int) -> str:
        return f"{self.of(type, depth)} {self.random.choice('&|^')} {self.of(type, depth)}"

    def _shift(self, type: Type, depth: int) -> str:
        by = f"({self.of(type.unsigned, depth - 1)} & ({type.unsigned})({type.bits - 1}))"
        value = self.of(type, depth)
        left = self.random.random() < 0.5
        if not type.is_vector:
            return f"({type.wide}){value} << {by}" if left else f"{value} >> {by}"
        if left:
            return f"as_{type}(as_{type.unsigned}({value}) << {by})"
        return f"{value} >> as_{type}({by})"

    def _division(self, type: Type, depth: int) -> str:
        """By a number from 1 to the greatest of the type: the lowest by -1 overflows, but for short
        numbers, whose quotients are of `int`.
        """
        if type.is_signed and not type.is_vector and type.bits < 32:
            by = f"({self.of(type, depth)} | ({type})(1))"
            return f"{self.of(type, depth)} {self.random.choice('/%')} {by}"
        most = (1 << (type.bits - type.is_signed)) - 1
        by = f"(({self.of(type, depth)} & ({type})({most:#x})) | ({type})(1))"
        value = self.of(type, depth)
        if type.is_vector:
            value = self._varied(type, value, by)
        return f"{value} {self.random.choice('/%')} {by}"

    def _comparison(self, type: Type, depth: int) -> str:
        if self.random.random() < 0.3:
            both = self.random.choice(("&&", "||"))
            return f"{self.condition(depth - 1)} {both} {self.condition(depth - 1)}"
        return self.condition(depth)

    def _choice(self, type: Type, depth: int) -> str:
        return f"{self.condition(depth - 1)} ? {self.of(type, depth)} : {self.of(type, depth)}"

    def _conversion(self, type: Type, depth: int) -> str:
        return self.of(scalar(self.random).of(type.lanes), depth)

    def _saturated(self, type: Type, depth: int) -> str:
        return f"convert_{type}_sat({self.of(scalar(self.random).of(type.lanes), depth)})"

    def _component(self, type: Type, depth: int) -> str:
        place = self.scope.with_lanes(self.random, True)
        if place is None:
            return self._leaf(type, depth)
        lane = self.random.randrange(place.type.lanes)
        return f"({self.place(place, depth - 1)}).s{lane:x}"

    def _call(self, type: Type, depth: int) -> str:
        functions = [f for f in self.scope.functions if f.result == type]
        if not functions:
            return self._arithmetic(type, depth)
        chosen = self.random.choice(functions)
        return f"{chosen.name}({', '.join(self.of(p, depth - 1) for p in chosen.parameters)})"

    def _builtin(self, type: Type, depth: int) -> str:
        names = _BOTH + ((*_NARROW, *_THREE) if type.bits < 64 else ("clamp", "bitselect"))
        if type.bits == 16 and not type.is_signed:
            names = tuple(name for name in names if name not in _HIGH)
        name = self.random.choice(names)
        if name == "clamp":
            low, high = sorted(self.random.randrange(1 << (type.bits - 1)) for _ in "ab")
            return f"clamp({self.of(type, depth)}, ({type})({low:#x}), ({type})({high:#x}))"
        arguments = [self.of(type, depth - 1) for _ in range(3 if name in _THREE else 2)]
        if name == "sub_sat" and type.is_signed:  # less a constant it is wrong at -O0
            arguments[1] = self._varied(type, arguments[1])
        if name == "mad_hi" and type.is_signed:  # the high half is at most a quarter of all numbers
            arguments[2] = f"(({type})({arguments[2]} >> ({type})(1)))"
        text = f"{name}({', '.join(arguments)})"
        return f"as_{type}({text})" if name == "abs_diff" else text

    def _negation(self, type: Type, depth: int) -> str:
        value = self.of(type, depth)
        if self.random.random() < 0.5:
            return f"~{value}"
        return f"0 - ({type.wide}){value}" if not type.is_vector else f"{value} ^ ({type})(-1)"

    def _count_bits(self, type: Type, depth: int) -> str:
        return f"{self.random.choice(('clz', 'popcount'))}({self.of(type, depth)})"

    def _float(self, type: Type, depth: int) -> str:
        return self.exact.integer(depth)

    # ---- forms of vectors

    _VECTOR: Final = {
        "_arithmetic": 5,
        "_bits": 3,
        "_shift": 2,
        "_division": 1,
        "_lanes": 2,
        "_swizzle": 3,
        "_converted": 2,
        "_saturated": 1,
        "_compared": 2,
        "_select": 2,
        "_builtin": 2,
        "_negation": 1,
        "_count_bits": 1,
        "_reinterpreted": 1,
        "_call": 1,
    }

    def _lanes(self, type: Type, depth: int) -> str:
        inner = depth - 1 if type.lanes <= 4 else 0
        lanes = (self.of(type.of(1), inner) for _ in range(type.lanes))
        return f"({type})({', '.join(lanes)})"

    def _swizzle(self, type: Type, depth: int) -> str:
        """Lanes of another vector, in any order."""
        lanes = self.random.choice(LANES)
        source = self.scope.find(self.random, type.of(lanes))
        if source is None:
            return self._leaf(type, depth)
        order = "".join(f"{self.random.randrange(lanes):x}" for _ in range(type.lanes))
        return f"({self.place(source, depth - 1)}).s{order}"

    def _converted(self, type: Type, depth: int) -> str:
        return f"convert_{type}({self.of(scalar(self.random).of(type.lanes), depth)})"

    def _compared(self, type: Type, depth: int) -> str:
        sign = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        a, b = self.of(type, depth), self.of(type, depth)
        return f"as_{type}({self._varied(type, a, b)} {sign} {b})"

    def _select(self, type: Type, depth: int) -> str:
        a, b, c, d = (self.of(type, depth - 1) for _ in range(4))
        c = self._varied(type, c, d)
        return f"select({a}, {b}, {c} {self.random.choice(('<', '=='))} {d})"

    def _varied(self, type: Type, value: str, *others: str) -> str:
        """The value, or a variable in its place if it and the others are constants.

        Of two constant vectors, both releases make one lane of their sum at -O0, and end where they
        compare them (docs/findings.md).
        """
        names = {p.text.partition(".")[0].strip("(*){}[]") for p in self.scope.places}
        names |= {f.name for f in self.scope.functions}
        if not names.isdisjoint(_NAME.findall(" ".join((value, *others)))):
            return value
        place = self.random.choice(self.scope.places)
        lane = ".s0" if place.type.is_vector else ""
        return f"(({type})(({type.base})({self.place(place, 0)}{lane})))"

    def _reinterpreted(self, type: Type, depth: int) -> str:
        """The bytes of another vector; those with three lanes have room for four."""
        total = type.bits * type.lanes
        others = [
            (bits, total // bits) for bits in (8, 16, 32, 64) if total // bits in (2, 4, 8, 16)
        ]
        if type.lanes == 3 or not others:
            return self._arithmetic(type, depth)
        bits, lanes = self.random.choice(others)
        source = next(t for t in self.random.sample(_SIZED[bits], 2))
        return f"as_{type}({self.of(source.of(lanes), depth)})"


_SIZED: Final = {
    bits: tuple(Type(f"{u}{base}", bits, not u) for u in ("", "u"))
    for base, bits in (("char", 8), ("short", 16), ("int", 32), ("long", 64))
}
