"""The row of an operation, and the base class of the builder's methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from eumu.errors import InternalError
from eumu.ir.function import Block, Function, Op, Terminator, Value
from eumu.records import dataclass
from eumu.types import BF, BOOL, DF, HF, INTEGERS, F, Type

INT: Final = frozenset(INTEGERS)
FLOAT: Final = frozenset({HF, F, DF})
NUMBER: Final = INT | FLOAT
DATA: Final = NUMBER | {BF}
BITS: Final = INT | {BOOL}
ANY: Final = DATA | {BOOL}


@dataclass(frozen=True, slots=True)
class Row:
    """One operation: its class, the types of `x`, and words for arguments and results.

    Words: `x` has the operation's type and width, `y` another type of the same width; `m` is a mask
    of the same width, `a` an address, `s` a surface index; `ud` and `uq` are those types.  After a
    word, `1` means one lane, `*` any number of lanes, `..` any number of such values, and `?` that
    the value is optional.  An operation with an `effect` reads or changes more than the thread's
    registers.
    """

    kind: type[Op]
    types: frozenset[Type]
    args: tuple[str, ...]
    results: tuple[str, ...]
    effect: bool

    @property
    def is_lanewise(self) -> bool:
        """Whether each lane of the result depends only on the same lane of every argument."""
        return {"x", "y", "m"}.issuperset((*self.args, *self.results)) and bool(
            self.args and self.results
        )


OPERATIONS: Final[dict[str, Row]] = {}

Method = TypeVar("Method", bound=Callable[..., object])


def operation(
    name: str, kind: type[Op], types: frozenset[Type], words: str, *, effect: bool = False
) -> Callable[[Method], Method]:
    """Declare an operation; the decorated method of the builder appends it."""
    args, _, results = words.partition("->")
    OPERATIONS[name] = Row(kind, types, tuple(args.split()), tuple(results.split()), effect)
    return lambda method: method


Item = TypeVar("Item", bound=Op | Terminator)
Context = TypeVar("Context")
More = ParamSpec("More")
Result = TypeVar("Result")


class Table(
    dict[str, Callable[Concatenate[Context, Any, More], Result]], Generic[Context, More, Result]
):
    """A function for each operation or terminator, which takes a context and then the item."""

    def on(
        self, kind: type[Item], *names: str
    ) -> Callable[
        [Callable[Concatenate[Context, Item, More], Result]],
        Callable[Concatenate[Context, Item, More], Result],
    ]:
        """Register the decorated function for a class, or for the named operations of it."""
        for name in names:
            if not issubclass(OPERATIONS[name].kind, kind):
                raise InternalError(f"IR {name} is no {kind.__name__}")

        def add(
            function: Callable[Concatenate[Context, Item, More], Result],
        ) -> Callable[Concatenate[Context, Item, More], Result]:
            self.update(dict.fromkeys(names or _names(kind), function))
            return function

        return add


def _names(kind: type[object]) -> list[str]:
    if issubclass(kind, Terminator):
        return [kind.name]
    return [name for name, row in OPERATIONS.items() if row.kind is kind]


class Emitter:
    """Appends operations to `block`, each marked with the instruction index `inst`.

    Values are numbered from `first` on.
    """

    def __init__(self, function: Function, first: int = 0) -> None:
        self.function = function
        self.block: Block | None = None
        self.inst = -1
        self._count = first

    def fresh(self, type: Type, width: int, count: int = 1) -> tuple[Value, ...]:
        """New values, all of one type and width."""
        first = self._count
        self._count += count
        if count == 1:
            return (Value(first, type, width),)
        return tuple(Value(k, type, width) for k in range(first, self._count))

    def append(self, op: Op) -> tuple[Value, ...]:
        """Append an operation; its results."""
        if self.block is None or self.block.end is not None:
            raise InternalError(f"IR operation {op.name} outside a block")
        self.block.ops.append(op)
        return op.results

    def plain(self, name: str, args: Sequence[Value], type: Type, width: int) -> Value:
        """Append an operation without attributes that has one result."""
        return self.append(Op(name, tuple(args), self.fresh(type, width), self.inst))[0]


def same(name: str, *values: Value) -> Value:
    """The first of several values, which must be of one type and width."""
    first = values[0]
    for v in values[1:]:
        if (v.type, v.width) != (first.type, first.width):
            raise InternalError(f"IR {name}: {first.type}x{first.width} with {v.type}x{v.width}")
    return first
