"""Records are what `dataclasses` makes of the same definitions, and every one in eumu is sound."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import weakref
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, field, fields, replace
from types import SimpleNamespace
from typing import Any, ClassVar, Generic, TypeVar

import pytest

import eumu
from eumu import records

T = TypeVar("T")
Decorator = Callable[..., Any]


def _definitions(dataclass: Decorator) -> SimpleNamespace:
    """Classes with everything that a definition may say."""

    @dataclass(frozen=True, slots=True)
    class Point:
        kinds: ClassVar[int] = 3
        x: int
        y: int = 2

    @dataclass(frozen=True, slots=True)
    class Named(Point, Generic[T]):
        name: str = "p"
        y: int = 5
        parts: tuple[T, ...] = field(default=(), compare=False)

    @dataclass(frozen=True, slots=True)
    class One:
        value: float

    @dataclass(frozen=True, slots=True)
    class Nothing:
        pass

    @dataclass(slots=True)
    class Bag:
        items: list[int] = field(default_factory=list)
        seen: dict[str, int] = field(default_factory=dict, init=False, repr=False)
        size: int = field(default=0, init=False)

        def __post_init__(self) -> None:
            self.size = len(self.items)

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Keyed(Point):
        late: int
        last: int = 9

    @dataclass(frozen=True)
    class Mixed:
        first: int
        _: KW_ONLY
        second: int = 2
        third: list[int] = field(default_factory=list, hash=False)

    @dataclass(frozen=True, slots=True, order=True)
    class Version:
        major: int
        minor: int = 0

    @dataclass(frozen=True, slots=True, eq=False)
    class Same:
        value: int

    @dataclass
    class Plain:
        value: int = 1
        other: list[int] = field(default_factory=list)

    @dataclass(frozen=True, slots=True)
    class Own:
        value: int

        def __repr__(self) -> str:
            return f"<{self.value}>"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.value % 10 == other.value % 10

        def __hash__(self) -> int:
            return self.value % 10

    @dataclass(slots=True, eq=False, weakref_slot=True)
    class Watched:
        value: int

    class Child(Named[int]):
        """No record itself."""

    return SimpleNamespace(**{n: c for n, c in locals().items() if isinstance(c, type)})


OURS, STANDARD = _definitions(records.dataclass), _definitions(dataclasses.dataclass)
CALLS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("Point", (1,), {}),
    ("Point", (1, 3), {}),
    ("Point", (), {"y": 1, "x": 2}),
    ("Point", (), {}),
    ("Point", (1, 2, 3), {}),
    ("Named", (1,), {"parts": (1, 2)}),
    ("Child", (1, 4, "c"), {}),
    ("One", (float("inf"),), {}),
    ("Nothing", (), {}),
    ("Bag", ([1, 2],), {}),
    ("Bag", (), {}),
    ("Bag", ([], {}), {}),
    ("Keyed", (1,), {"late": 2}),
    ("Keyed", (1, 2, 3), {}),
    ("Mixed", (1,), {"third": [1]}),
    ("Mixed", (1, 2), {}),
    ("Version", (1, 2), {}),
    ("Same", (1,), {}),
    ("Plain", (), {}),
    ("Own", (14,), {}),
    ("Watched", (1,), {}),
)


def _outcome(do: Callable[[], Any]) -> Any:
    try:
        return do()
    except (TypeError, AttributeError) as error:
        return type(error)


def _facts(known: SimpleNamespace, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """All that can be seen of an object, made by a call of a class."""
    cls = getattr(known, name)
    try:
        made = cls(*given, **named)
    except TypeError as error:
        return str(error).replace(f"{_definitions.__qualname__}.<locals>.", "")
    first = fields(cls)[0].name if fields(cls) else "x"
    same = cls(*given, **named)
    return (
        repr(made) if name not in ("Same", "Watched") else type(made).__name__,
        made == same,
        made == 1,
        _outcome(lambda: hash(made) == hash(same)),
        _outcome(lambda: setattr(made, first, 7)) is None,
        _outcome(lambda: delattr(made, first)) is None,
        _outcome(lambda: repr(replace(same, **{first: 3}))),
        _outcome(lambda: made < same),
        _outcome(lambda: dataclasses.asdict(same)),
        _outcome(lambda: repr(copy.copy(same))),
        getattr(cls, "__slots__", None),
        cls.__match_args__,
        [(f.name, f.type, f.init, f.repr, f.compare, f.kw_only) for f in fields(cls)],
        [
            (p.name, p.kind, p.default is p.empty)
            for p in inspect.signature(cls).parameters.values()
        ],
        cls.__dict__.get("__hash__", 1) is None,
        getattr(cls, "y", None).__class__.__name__,
    )


@pytest.mark.parametrize(("name", "given", "named"), CALLS, ids=lambda v: str(v))
def test_as_the_standard_ones(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    assert _facts(OURS, name, given, named) == _facts(STANDARD, name, given, named)


def test_order() -> None:
    few, many = OURS.Version(1, 9), OURS.Version(2, 0)
    assert few < many and few <= many and many > few and many >= few and not many < few
    assert sorted([many, few]) == [few, many]
    with pytest.raises(TypeError):
        _ = few < 3


def test_nan_is_itself() -> None:
    """Tuples compare by identity first, as the standard ones do."""
    nan = float("nan")
    assert OURS.One(nan) == OURS.One(nan)
    assert (STANDARD.One(nan) == STANDARD.One(nan)) is True


def test_weak_references() -> None:
    made = OURS.Watched(1)
    assert weakref.ref(made)() is made


def test_frozen_is_said() -> None:
    frozen = dataclasses.FrozenInstanceError
    with pytest.raises(frozen, match="cannot assign to field 'x'"):
        OURS.Point(1).x = 2
    with pytest.raises(frozen, match="cannot delete field 'x'"):
        del OURS.Point(1).x
    with pytest.raises(frozen, match="cannot assign to field 'unheard'"):
        OURS.Point(1).unheard = 2
    child = OURS.Child(1)
    child.unheard = 2
    with pytest.raises(frozen, match="cannot assign to field 'x'"):
        child.x = 2
    assert (child.x, child.unheard) == (1, 2)
    with pytest.raises(TypeError, match="frozen"):

        @records.dataclass(slots=True)
        class _Loose(OURS.Point):  # type: ignore[name-defined,misc]
            pass


@records.dataclass(frozen=True, slots=True)
class Kept:
    """Pickled by its name."""

    x: int
    y: tuple[int, ...] = ()


def test_pickle() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, (2, 3)))) == Kept(1, (2, 3))
    assert copy.deepcopy(Kept(1)) == Kept(1)


def test_match() -> None:
    match Kept(1, (2,)):
        case Kept(a, b):
            assert (a, b) == (1, (2,))
        case _:
            raise AssertionError


def test_the_first_call_may_be_any() -> None:
    """By a class that inherits, by `super()`, by a comparison."""

    @records.dataclass(frozen=True, slots=True)
    class Base:
        x: int

    class Sub(Base):
        def __init__(self) -> None:
            super().__init__(3)

    assert Sub().x == 3
    assert Sub() == Sub()
    assert repr(Base(1)).endswith("Base(x=1)")


def test_methods_are_written_when_called() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Fresh:
        x: int

    def written() -> set[str]:
        return {n for n, v in Fresh.__dict__.items() if not isinstance(v, records._Later)}

    assert not {"__init__", "__eq__", "__hash__", "__dataclass_fields__"} & written()
    made = Fresh(1)
    assert {"__init__", "__dataclass_fields__"} <= written()
    assert not {"__eq__", "__hash__"} & written()
    assert len({made, Fresh(1)}) == 1
    assert {"__eq__", "__hash__"} <= written()


def _all_records() -> Iterator[type]:
    optional = {"pygls", "lsprotocol", "pygments", "rich", "PIL", "pytest", "distributed", "dask"}
    for module in pkgutil.walk_packages(eumu.__path__, "eumu."):
        if module.name.endswith("__main__"):
            continue
        try:
            content = vars(importlib.import_module(module.name))
        except ImportError as error:
            assert (error.name or "").partition(".")[0] in optional
            continue
        for value in list(content.values()):
            if isinstance(value, type) and value.__module__ == module.name:
                yield value


def test_every_definition_is_sound() -> None:
    """A mistake in one would show at its first object only."""
    count = 0
    for cls in _all_records():
        if records._RECIPE in cls.__dict__:
            count += 1
            for name, value in list(cls.__dict__.items()):
                if isinstance(value, records._Later):
                    getattr(cls, name)
            assert not any(isinstance(v, records._Later) for v in cls.__dict__.values())
        else:
            assert "__dataclass_fields__" not in cls.__dict__, f"{cls} is of the standard kind"
    assert count > 500
