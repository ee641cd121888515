"""`dataclass` with the meaning that `dataclasses` gives it; methods are written when first called.

The standard one makes up to nine functions of each class from text when the class is defined: half
a millisecond.  A command defines hundreds of such classes and makes objects of few.  Here a
definition takes a tenth of that.  `__init__` is made from text at the first object, the other
methods need none; the first object of a frozen class with slots is set slot by slot, not by name.

What differs: a field without default behind one with a default is an error at the first object,
not at the definition.  `InitVar` and `unsafe_hash` are not there; fields make no docstring.
`field`, `fields`, `replace` and the others are those of `dataclasses`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from dataclasses import dataclass as standard
from functools import partial
from inspect import get_annotations
from reprlib import recursive_repr
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

_Class = Any  # a class with attributes of its own
_Method = Callable[..., Any]
_RECIPE: Final = "__record__"
_NO_FIELD: Final = ("ClassVar", "typing.ClassVar", "KW_ONLY")
_ABSENT: Final = object()  # stands for an argument that was not given

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """As `dataclasses.dataclass`; see above."""
        return partial(_defined, **options) if cls is None else _defined(cls, **options)


class _Recipe:
    """What a definition says, for what is written later."""

    __slots__ = ("frozen", "kw_only", "namespace", "own")

    def __init__(self, cls: _Class, *, frozen: bool, kw_only: bool) -> None:
        said = get_annotations(cls)
        self.own = tuple(n for n, kind in said.items() if not str(kind).startswith(_NO_FIELD))
        defaults = {n: cls.__dict__[n] for n in said if n in cls.__dict__}
        names = {"__module__": cls.__module__, "__annotations__": said, "__doc__": "Fields."}
        self.namespace = names | defaults
        self.frozen, self.kw_only = frozen, kw_only


class _Later:
    """A method of a class, or what is known of its fields, that is written when it is asked for."""

    __slots__ = ("cls", "name", "write")

    def __init__(self, cls: _Class, name: str, write: Callable[[_Class], Any]) -> None:
        self.cls, self.name, self.write = cls, name, write

    def __get__(self, instance: object, owner: _Class | None = None) -> Any:
        written = self.write(self.cls)
        setattr(self.cls, self.name, written)
        if isinstance(written, FunctionType):
            return written.__get__(instance, owner)
        return written


def _defined(
    cls: _Class,
    *,
    eq: bool = True,
    repr: bool = True,
    order: bool = False,
    frozen: bool = False,
    kw_only: bool = False,
    slots: bool = False,
    weakref_slot: bool = False,
) -> _Class:
    recipe = _Recipe(cls, frozen=frozen, kw_only=kw_only)
    made = _slotted(cls, recipe, weakref_slot) if slots else _with_defaults(cls, recipe)
    setattr(made, _RECIPE, recipe)
    if any(base.frozen is not frozen for _, base in _recipes(made)):
        raise TypeError(f"{cls.__qualname__} is frozen and what it inherits is not, or reversely")
    later: dict[str, Callable[[_Class], Any]] = {
        "__dataclass_fields__": _fields,
        "__match_args__": _match_args,
        "__init__": _init,
    }
    if eq:
        later["__eq__"] = _eq
    if order:
        later |= {f"__{name}__": partial(_compared, name) for name in ("lt", "le", "gt", "ge")}
    said = made.__dict__
    if eq and said.get("__hash__") is None:
        made.__hash__ = _Later(made, "__hash__", _hash) if frozen else None
    for name, write in later.items():
        if name not in said:
            setattr(made, name, _Later(made, name, write))
    if repr and "__repr__" not in said:
        made.__repr__ = _repr
    if frozen:
        made.__setattr__, made.__delattr__ = _refuse_assignment, _refuse_deletion
        if slots:
            made.__getstate__, made.__setstate__ = _getstate, _setstate
    return made


def _recipes(cls: _Class) -> Iterator[tuple[_Class, _Recipe]]:
    """The records that a class is, the first ancestor first."""
    for base in reversed(cls.__mro__):
        if _RECIPE in base.__dict__:
            yield base, base.__dict__[_RECIPE]


# ---- classes


def _slotted(cls: _Class, recipe: _Recipe, weakref_slot: bool) -> _Class:
    """The class again: slots are made with a class."""
    taken = {name for base in cls.__mro__[1:] for name in _slots_of(base)}
    names = [name for _, known in _recipes(cls) for name in known.own]
    extra = ("__weakref__",) if weakref_slot else ()
    slots = tuple(dict.fromkeys(n for n in (*names, *recipe.own, *extra) if n not in taken))
    gone = {*recipe.own, "__dict__", "__weakref__"}
    namespace = {name: value for name, value in cls.__dict__.items() if name not in gone}
    made: _Class = type(cls)(cls.__name__, cls.__bases__, namespace | {"__slots__": slots})
    made.__qualname__ = cls.__qualname__
    return made


def _slots_of(cls: _Class) -> tuple[str, ...]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _with_defaults(cls: _Class, recipe: _Recipe) -> _Class:
    """The class whose attributes are the defaults of its fields."""
    for name in recipe.own:
        value = cls.__dict__.get(name)
        if isinstance(value, Field):
            if value.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value.default)
    return cls


# ---- what is written later


def _fields(cls: _Class) -> dict[str, Field[Any]]:
    """The fields of a class and of what it inherits, in order."""
    found: dict[str, Field[Any]] = {}
    for base, recipe in _recipes(cls):
        if base is not cls:
            found |= base.__dataclass_fields__
            continue
        read = standard(init=False, repr=False, eq=False, match_args=False, kw_only=recipe.kw_only)
        own: _Class = type(cls.__name__, (), dict(recipe.namespace))
        found |= read(own).__dataclass_fields__
    return found


def _match_args(cls: _Class) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls) if f.init and not f.kw_only)


def _init(cls: _Class) -> _Method:
    known: dict[str, Any] = {"_ABSENT": _ABSENT, "_set": object.__setattr__}
    parameters, body = ["self"], list[str]()
    for n, f in enumerate(sorted(fields(cls), key=lambda f: bool(f.kw_only))):
        known |= {f"_default{n}": f.default, f"_make{n}": f.default_factory}
        if f.init:
            parameters += ["*"] if f.kw_only and "*" not in parameters else []
            parameters.append(f.name + _default(f, n))
        if f.init or f.default_factory is not MISSING or f.default is not MISSING:
            body.append(_assignment(cls, f, n, known))
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "\n    ".join(body or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n    {lines}\n", known)
    init: FunctionType = known["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init


def _default(f: Field[Any], n: int) -> str:
    """What stands behind a parameter."""
    if f.default_factory is not MISSING:
        return "=_ABSENT"
    return "" if f.default is MISSING else f"=_default{n}"


def _assignment(cls: _Class, f: Field[Any], n: int, known: dict[str, Any]) -> str:
    """A line of `__init__`; names that it needs go to `known`."""
    value = f.name if f.init else f"_default{n}"
    if f.default_factory is not MISSING:
        value = f"_make{n}() if {f.name} is _ABSENT else {f.name}" if f.init else f"_make{n}()"
    if not cls.__dict__[_RECIPE].frozen:
        return f"self.{f.name} = {value}"
    slot = getattr(cls, f.name, None)
    if isinstance(slot, MemberDescriptorType):
        known[f"_set{n}"] = slot.__set__
        return f"_set{n}(self, {value})"
    return f"_set(self, {f.name!r}, {value})"


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values of fields, as a tuple."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _compared_values(cls: _Class) -> Callable[[Any], tuple[Any, ...]]:
    return _values([f.name for f in fields(cls) if f.compare])


def _eq(cls: _Class) -> _Method:
    values = _compared_values(cls)

    def __eq__(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _compared(name: str, cls: _Class) -> _Method:
    values, compare = _compared_values(cls), getattr(operator, name)

    def method(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(values(self), values(other))

    return method


def _hash(cls: _Class) -> _Method:
    hashed = [f.name for f in fields(cls) if (f.compare if f.hash is None else f.hash)]
    values = _values(hashed)

    def __hash__(self: object) -> int:
        return hash(values(self))

    return __hash__


# ---- methods that all have


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_assignment(self: object, name: str, value: object) -> None:
    """A class that is no record and inherits from one may have attributes of its own."""
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deletion(self: object, name: str) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(self: Any, name: str) -> bool:
    return _RECIPE in self.__class__.__dict__ or name in self.__dataclass_fields__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
