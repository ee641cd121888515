"""Updates of arrays in random kernels: lanes load an element each, change it and store it again.

That is what compilers make of `a[i] += x`, in shared local memory, in scratch space, and in arrays
that a work item has in registers.  Registers on the way are those of one update only, so that an
engine sees all that becomes of an element.  Lanes meet in one element, or keep apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from eumu.fuzz.messages import AREA
from eumu.fuzz.operands import COPIES
from eumu.platforms import platform

DECLARATION = ".decl "  # such lines of a node stand at the begin of the kernel
_ROWS = 4  # that an index chooses from
_CHANGES = ("add", "xor", "and", "or", "add")


class Updates:
    """Writes updates as lists of lines; `seed` makes the names of their variables their own."""

    def __init__(
        self, random: Random, device: str, simd: int, seed: int, addresses: str = ""
    ) -> None:
        """`addresses`: the address variable of arrays; each has its own if there is none."""
        self.random, self.simd, self.seed, self.addresses = random, simd, seed, addresses
        self.grf = platform(device).grf_bytes
        self._made = 0
        self._waiting: list[str] = []  # declarations

    def update(self) -> list[str]:
        """One of memory that only a thread or its group has."""
        random, lanes = self.random, self._lanes()
        size = random.choice((1, 2, 4, 4))
        surface = random.choice(("%slm", "%slm", "%scratch"))
        where, data = self._own("ud", lanes), self._own("ud", lanes)
        out = [*self._declared(), *self._offsets(where, lanes, size)]
        if surface == "%slm":
            out.append(f"add (M1_NM, {lanes}) {where}(0,0)<1> {where}(0,0)<1;1,0> SLMB(0,0)<0;1,0>")
        message = f"{size} (M1, {lanes}) {surface} 0x0:ud {where}.0 {data}.0"
        before, changes = self._changes(data, lanes)
        out += [*before, f"gather_scaled.{message}", *changes]
        shown, mask = self._own("ud", lanes), f"{(1 << 8 * size) - 1:#x}:ud"
        result = f"UD{random.randrange(COPIES)}(0,0)<1>"
        return [
            *out,
            f"scatter_scaled.{message}",
            *self._declared(),
            f"gather_scaled.{message.removesuffix(f'{data}.0')}{shown}.0",
            f"and (M1, {lanes}) {result} {shown}(0,0)<1;1,0> {mask}",
        ]

    def array(self) -> list[str]:
        """One of registers with an index, which is written one lane after the other."""
        random, lanes = self.random, self._lanes()
        array, row, data = (self._own("ud", n) for n in (_ROWS * lanes, lanes, lanes))
        index, predicate = self._own("uw", lanes), self._own("p", lanes)
        a = self.addresses or self._own("a", lanes)
        source = f"UD{random.randrange(COPIES)}(0,0)<1;1,0>"
        out = [*self._declared()]
        for first in range(0, _ROWS * lanes, 8):
            place = self._at(array, first)
            out.append(f"mul (M1_NM, 8) {place}<1> {source} {first + 3:#x}:uw")
        before, changes = self._changes(data, lanes)
        out += [
            *before,
            f"and (M1_NM, {lanes}) {row}(0,0)<1> {source} {_ROWS - 1:#x}:ud",
            f"mul (M1_NM, {lanes}) {row}(0,0)<1> {row}(0,0)<1;1,0> {4 * lanes:#x}:uw",
            *self._numbers(index, lanes, 4),
            f"add (M1, {lanes}) {index}(0,0)<1> {index}(0,0)<1;1,0> {row}(0,0)<1;1,0>",
            f"addr_add (M1, {lanes}) {a}(0)<{lanes}> &{array} {index}(0,0)<1;1,0>",
            f"mov (M1, {lanes}) {data}(0,0)<1> r[{a}(0),0]<1,0>:ud",
            *changes,
            f"mov (M1, {lanes}) {index}(0,0)<1> {row}(0,0)<1;1,0>",
            f"addr_add (M1, {lanes}) {a}(0)<{lanes}> &{array} {index}(0,0)<1;1,0>",
        ]
        for lane in range(lanes):
            out.append(f"setp (M1_NM, {lanes}) {predicate} {1 << lane:#x}:ud")
            value = f"{self._at(data, lane)}<0;1,0>"
            out.append(f"({predicate}) mov (M1, {lanes}) r[{a}({lane}),0]<1>:ud {value}")
        shown = self._at(array, 8 * random.randrange(_ROWS * lanes // 8))
        return [*out, f"mov (M1_NM, 8) UD{random.randrange(COPIES)}(0,0)<1> {shown}<1;1,0>"]

    # ---- pieces

    def _lanes(self) -> int:
        """All of a kernel, mostly."""
        return min(self.simd, self.random.choice((8, 16, 16, 16)))

    def _own(self, type: str, count: int) -> str:
        """A variable of this update: of a type, a predicate `p`, or addresses `a`."""
        self._made += 1
        name = f"{type.upper()}{self.seed}{self._made:03}"
        if type in ("a", "p"):
            declared = f"v_type={type.upper()} num_elts={count}"
        else:
            declared = f"v_type=G type={type} num_elts={count} align=GRFx2"
        self._waiting.append(f"{DECLARATION}{name} {declared}")
        return name

    def _declared(self) -> list[str]:
        waiting, self._waiting = self._waiting, []
        return waiting

    def _at(self, name: str, index: int) -> str:
        row, byte = divmod(4 * index, self.grf)
        return f"{name}({row},{byte // 4})"

    def _numbers(self, name: str, lanes: int, step: int) -> Iterator[str]:
        """The numbers of lanes, times a step, in words."""
        for first in range(0, lanes, 8):
            place = f"{name}(0,{first})"
            yield f"mov (M1_NM, 8) {place}<1> 0x76543210:uv"
            yield f"mul (M1_NM, 8) {place}<1> {place}<1;1,0> {step}:uw"
            if first:
                yield f"add (M1_NM, 8) {place}<1> {place}<1;1,0> {first * step}:uw"

    def _offsets(self, name: str, lanes: int, size: int) -> Iterator[str]:
        """Where each lane's element is: a row in which it has a place of its own, or one of few
        elements, where lanes meet."""
        random = self.random
        source = f"UD{random.randrange(COPIES)}(0,0)<1;1,0>"
        if random.random() < 0.5:
            few = random.choice((1, 3, 7, lanes - 1, AREA // size - 1))
            yield f"and (M1_NM, {lanes}) {name}(0,0)<1> {source} {few * size:#x}:ud"
            return
        numbers = self._own("uw", lanes)
        yield from self._declared()
        yield from self._numbers(numbers, lanes, size)
        yield f"and (M1_NM, {lanes}) {name}(0,0)<1> {source} 0x3:ud"
        yield f"mul (M1_NM, {lanes}) {name}(0,0)<1> {name}(0,0)<1;1,0> {lanes * size:#x}:uw"
        sum = f"{name}(0,0)<1> {name}(0,0)<1;1,0> {numbers}(0,0)<1;1,0>"
        yield f"add (M1_NM, {lanes}) {sum}"

    def _changes(self, name: str, lanes: int) -> tuple[list[str], list[str]]:
        """What stands before an update, and lines that make new values of elements."""
        before, changes = [], []
        for _ in range(self.random.randint(1, 2)):
            other = f"{self.random.getrandbits(31):#x}:ud"
            if self.random.random() < 0.5:
                own, source = self._own("ud", lanes), f"UD{self.random.randrange(COPIES)}"
                before += self._declared()
                before.append(f"mov (M1_NM, {lanes}) {own}(0,0)<1> {source}(0,0)<1;1,0>")
                other = f"{own}(0,0)<1;1,0>"
            word = self.random.choice(_CHANGES)
            changes.append(f"{word} (M1, {lanes}) {name}(0,0)<1> {name}(0,0)<1;1,0> {other}")
        return before, changes
