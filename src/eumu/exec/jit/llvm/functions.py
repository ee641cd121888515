"""Functions of LLVM that count and branch, written with values and blocks of Python.

Numbers are unsigned, of 64 bits.  What changes from turn to turn of a loop is a variable, in stack
memory that LLVM's first pass makes values of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from eumu.exec.jit.llvm.emit import Emitter
from eumu.exec.jit.llvm.layout import Context
from eumu.exec.jit.llvm.vectors import Vector, Writer
from eumu.records import dataclass

Number = Vector | int

RARELY: Final = ", !prof !0"  # ends a branch: weights that the module has
MOSTLY: Final = ", !prof !1"


@dataclass(frozen=True, slots=True)
class Variable:
    """A number that changes: in stack memory, or a word of a record."""

    f: FunctionBuilder
    place: str

    def get(self) -> Vector:
        return self.f.number(self.f.op(f"load i64, ptr {self.place}"))

    def set(self, value: Number) -> None:
        self.f.do(f"store i64 {self.f.name_of(value)}, ptr {self.place}")

    def add(self, value: Number) -> None:
        self.set(self.get() + value)


class FunctionBuilder(Writer):
    """A function in the making; `head` is what stands behind `define`.

    It declares what it calls where another emitter does, that of its module.
    """

    def __init__(self, head: str, beside: Emitter | None = None) -> None:
        super().__init__(half_conversions=beside is None or beside.half_conversions)
        self._head = head
        if beside is not None:
            self.declarations, self.support = beside.declarations, beside.support

    def text(self) -> str:
        body = "\n".join([*self.entry, *self.lines])
        return f"\ndefine {self._head} {{\nentry:\n{body}\n}}\n"

    # ---- values

    def number(self, name: str) -> Vector:
        return Vector(self, "w", name, 1)

    def flag(self, text: str) -> Vector:
        return Vector(self, "b", self.op(text), 1)

    def small(self, name: str) -> Vector:
        """A number of 32 bits."""
        return Vector(self, "u", name, 1)

    def name_of(self, value: Number) -> str:
        return value.name if isinstance(value, Vector) else str(int(value))

    def one_if(self, flag: Vector) -> Vector:
        """1 or 0."""
        return self.number(self.op(f"zext {flag.typed} to i64"))

    def context(self, word: Context) -> Variable:
        """A word of the worker's context, which ``%ctx`` points to."""
        return self.word("%ctx", word)

    def pointer(self, value: Vector) -> str:
        return self.op(f"inttoptr {value.typed} to ptr")

    def elements(self, bits: int, base: str, index: Number) -> str:
        """A pointer to an element of so many bits."""
        return self.op(f"getelementptr i{bits}, ptr {base}, i64 {self.name_of(index)}")

    def copy(self, bits: int, source: str, target: str) -> None:
        value = self.op(f"load i{bits}, ptr {source}, align 1")
        self.do(f"store i{bits} {value}, ptr {target}, align 1")

    def variable(self, value: Number = 0) -> Variable:
        return Variable(self, self.alloca("i64", self.name_of(value)))

    def word(self, base: str, index: Number) -> Variable:
        """A word of what a pointer points to."""
        place = self.name_of(index)
        return Variable(self, self.op(f"getelementptr i64, ptr {base}, i64 {place}"))

    # ---- ways

    def go(self, label: str) -> None:
        self.do(f"br label %{label}")

    def give(self, value: str) -> None:
        """Return; what follows is not reached."""
        self.do(f"ret {value}")
        self.label(self.name("after"))

    def leave(self, block: str) -> None:
        """Go to the end of a block; what follows is not reached."""
        self.go(block)
        self.label(self.name("after"))

    @contextmanager
    def block(self) -> Iterator[str]:
        """A part that ends early where something says `leave`."""
        end = self.name("end")
        yield end
        self.go(end)
        self.label(end)

    @contextmanager
    def when(self, flag: Vector, odds: str = "") -> Iterator[None]:
        """What is done if a flag is set; `RARELY` and `MOSTLY` say how likely that is."""
        yes, on = self.name("when"), self.name("on")
        self.do(f"br {flag.typed}, label %{yes}, label %{on}{odds}")
        with self._part(yes, on):
            yield
        self.label(on)

    def either(self, flag: Vector) -> tuple[AbstractContextManager[None], ...]:
        """What is done if a flag is set, and if not: two blocks that come in this order."""
        yes, no, on = (self.name(hint) for hint in ("when", "else", "on"))
        self.do(f"br {flag.typed}, label %{yes}, label %{no}")
        return self._part(yes, on), self._part(no, on, last=True)

    @contextmanager
    def _part(self, label: str, on: str, *, last: bool = False) -> Iterator[None]:
        self.label(label)
        yield
        self.go(on)
        if last:
            self.label(on)

    @contextmanager
    def repeat(self, more: Callable[[], Vector]) -> Iterator[None]:
        """A loop that ends where `more` gives a flag that is not set."""
        test, body, on = (self.name(hint) for hint in ("test", "turn", "on"))
        self.go(test)
        self.label(test)
        self.do(f"br {more().typed}, label %{body}, label %{on}")
        with self._part(body, test):
            yield
        self.label(on)

    @contextmanager
    def times(self, count: Number) -> Iterator[Vector]:
        """A loop; the value is 0, 1, … below `count`."""
        turn = self.variable()
        turn.set(0)
        with self.repeat(lambda: turn.get() < count):
            yield turn.get()
            turn.add(1)

    @contextmanager
    def lanes_of(self, mask: Vector) -> Iterator[Vector]:
        """A loop over the bits of a mask that are set, from the lowest one on."""
        left = self.variable()
        left.set(mask)
        with self.repeat(lambda: self.differ(left.get(), 0)):
            lane = self.number(self.op(f"call i64 @llvm.cttz.i64({left.get().typed}, i1 true)"))
            left.set(left.get() & (left.get() - 1))
            yield lane
