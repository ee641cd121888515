"""Random operands: regions of declared variables, immediates, register addresses, predicates."""

from __future__ import annotations

from random import Random

from eumu.fuzz.edges import EDGES
from eumu.fuzz.vocabulary import Signature, modifiers, operand_classes
from eumu.isa.kinds.vector import DestinationKind
from eumu.isa.spec import Field
from eumu.isa.visa.graphics import QuadKind, RegistersKind
from eumu.platforms import platform
from eumu.types import BOOL, TYPES, Kind, Type

INTEGERS = ("ub", "b", "uw", "w", "ud", "d", "uq", "q")
FLOATS = ("hf", "bf", "f", "df")
COPIES = 2  # variables of each type
PREDICATE_COUNT = 3


def edge(random: Random, type: Type) -> int:
    """The bits of a lane: a boundary value more often than not."""
    if type.name == "bf":
        return edge(random, TYPES["f"]) >> 16
    if random.random() < 0.6:
        return random.choice(EDGES[type.name])
    if type.is_float and random.random() < 0.7:
        # A number of ordinary size, so that sums and products do not all overflow.
        exponent, mantissa = {2: (15, 10), 4: (127, 23), 8: (1023, 52)}[type.size]
        near = exponent + random.randint(-6, 6)
        return (
            random.getrandbits(1) << (type.bits - 1)
            | near << mantissa
            | random.getrandbits(mantissa)
        )
    return random.getrandbits(type.bits if random.random() < 0.5 else type.bits // 2)


class Operands:
    """Writes operands for a thread of `simd` lanes.

    `before` collects the lines that must stand in front of the instruction (register addresses).
    """

    def __init__(self, random: Random, device: str, simd: int) -> None:
        self.random, self.device, self.simd = random, device, simd
        self.grf = platform(device).grf_bytes
        self.before: list[str] = []

    @property
    def count(self) -> int:
        """Elements of a variable: more than lanes, so that regions have room."""
        return self.simd + 8

    def variable(self, type: Type) -> str:
        return f"{type.name.upper()}{self.random.randrange(COPIES)}"

    def predicate(self) -> str:
        return f"P{self.random.randrange(1, PREDICATE_COUNT + 1)}"

    def place(self, type: Type, index: int) -> str:
        """`(row,column)` of an element."""
        row, byte = divmod(index * type.size, self.grf)
        return f"({row},{byte // type.size})"

    # ---- sources

    def source(self, signature: Signature, field: Field, type: Type, lanes: int) -> str:
        opcode, random = signature.opcode, self.random
        if type is BOOL:
            return self.predicate()
        if type.kind is Kind.PACKED:
            return f"{random.getrandbits(32):#x}:{type.name}"
        if isinstance(field.kind, QuadKind):
            start = 4 * random.randrange(self.count // 4 - 1)
            shape = "<0;4,1>" if lanes > 2 else "<0;1,0>"  # no wider than the instruction
            return f"{self.variable(type)}{self.place(type, start)}{shape}"
        if isinstance(field.kind, RegistersKind):
            return f"{type.name.upper()}W(0,0)<1;1,0>"
        allowed = operand_classes(opcode, field)
        chance = random.random()
        if "i" in allowed and chance < 0.12 and type.name != "bf":
            return f"{edge(random, type):#x}:{type.name}"
        modifier = random.choice(modifiers(opcode, type)) if random.random() < 0.3 else ""
        prefix = f"({modifier})" if modifier else ""
        # One such source: there are 16 address registers.
        may = "r" in allowed and lanes <= 16 and not opcode.limits.aligned
        if may and chance < 0.2 and not any("A1" in line for line in self.before):
            return prefix + self.indirect(type, lanes)
        if opcode.limits.aligned:
            return f"{prefix}{self.variable(type)}(0,0)<1;1,0>"
        return f"{prefix}{self.variable(type)}{self.region(type, lanes)}"

    def region(self, type: Type, lanes: int) -> str:
        """`(row,column)<v;w,h>` inside a variable and inside two registers."""
        shapes = [(0, 1, 0)]
        if lanes > 1:
            shapes += [(1, 1, 0), (1, 1, 0), (1, 1, 0), (2, 1, 0)]
            for width in (2, 4, 8):
                if width < lanes:
                    shapes += [
                        (0, width, 1),
                        (width, width, 1),
                        (2 * width, width, 2),
                        (1, width, 0),
                    ]
                    shapes += [(2 * width, width, 1), (1, width, 1), (0, width, 2)]
        for _ in range(8):
            v, w, h = self.random.choice(shapes)
            last = (lanes // w - 1) * v + (w - 1) * h
            if last >= self.count:
                continue
            start = self.random.choice((0, 0, self.random.randrange(self.count - last)))
            if self._registers(type, start, last) <= 2:
                return f"{self.place(type, start)}<{v};{w},{h}>"
        return "(0,0)<1;1,0>" if lanes > 1 else "(0,0)<0;1,0>"

    def _registers(self, type: Type, start: int, last: int) -> int:
        """How many registers hold elements `start` to `start + last`."""
        end = (start + last) * type.size + type.size - 1
        return end // self.grf - start * type.size // self.grf + 1

    def indirect(self, type: Type, lanes: int) -> str:
        """A source at register addresses: one for all lanes, or one for each (group of) lanes."""
        random, name = self.random, self.variable(type)
        many = lanes > 1 and random.random() < 0.6
        if not many:
            shape = "<0;1,0>" if lanes == 1 else random.choice(("<1;1,0>", "<0;1,0>"))
            reach = lanes if shape == "<1;1,0>" else 1
            start = random.randrange(self.count - reach + 1) * type.size
            shift = random.choice((0, 0, min(start, 16)))
            self.before.append(f"addr_add (M1_NM, 1) A1(0)<1> &{name} {start - shift:#x}:uw")
            return f"r[A1(0),{shift}]{shape}:{type.name}"
        width = random.choice([w for w in (1, 2, 4) if w < lanes])
        rows = lanes // width
        limit = self.count - width + 1
        spread = 1 << (limit.bit_length() - 1)
        source = f"UW{random.randrange(COPIES)}(0,0)<1;1,0>"
        self.before += [
            f"and (M1_NM, {rows}) IDX(0,0)<1> {source} {spread - 1:#x}:uw",
            f"shl (M1_NM, {rows}) IDX(0,0)<1> IDX(0,0)<1;1,0> {type.size.bit_length() - 1}:uw",
            f"addr_add (M1_NM, {rows}) A1(0)<{rows}> &{name} IDX(0,0)<1;1,0>",
        ]
        return f"r[A1(0),0]<{width},{1 if width > 1 else 0}>:{type.name}"

    # ---- destinations

    def destination(self, signature: Signature, field: Field, type: Type, lanes: int) -> str:
        assert isinstance(field.kind, DestinationKind)
        random = self.random
        if type is BOOL:
            return self.predicate()
        if signature.opcode.mnemonic == "madw":
            return f"{type.name.upper()}W(0,0)<1>"
        if signature.opcode.limits.aligned:
            return f"{self.variable(type)}(0,0)<1>"
        if field.name in ("carry", "borrow"):  # apart from the first destination
            return f"{type.name.upper()}W(0,0)<1>"
        if "r" in operand_classes(signature.opcode, field) and random.random() < 0.08:
            start = random.randrange(self.count - lanes + 1)
            self.before.append(
                f"addr_add (M1_NM, 1) A2(0)<1> &{self.variable(type)} {start * type.size:#x}:uw"
            )
            return f"r[A2(0),0]<1>:{type.name}"
        for _ in range(4):
            stride = random.choice((1, 1, 1, 2, 4))
            last = (lanes - 1) * stride
            if last >= self.count:
                continue
            start = random.choice((0, 0, random.randrange(self.count - last)))
            if self._registers(type, start, last) <= 2:
                return f"{self.variable(type)}{self.place(type, start)}<{stride}>"
        return f"{self.variable(type)}(0,0)<1>"
