"""Fills a dataclass from a tree: the annotations of its fields are the schema.

`int` with an `Among` or a `Range`, `bool`, `str`, a tuple of three `int`, another dataclass, or a
tuple of dataclasses.  A field without a default is a key that must be there.  A field called
`extra` takes the keys that no field is named after.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

from eumu.errors import FormatError
from eumu.records import dataclass
from eumu.zebin.yaml_tree import Node, plain

_T = TypeVar("_T")
_Reader = Callable[[Node, str], Any]

_INTEGER: Final = re.compile(r"[+-]?(0x[0-9a-fA-F]{1,16}|[0-9]{1,20})", re.ASCII)
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Range:
    """The integers from `low` to `high`, both included."""

    low: int
    high: int

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low} … {self.high}"


@dataclass(frozen=True, slots=True)
class Among:
    """One of a few integers."""

    values: tuple[int, ...]

    def __contains__(self, value: int) -> bool:
        return value in self.values

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    read: _Reader
    required: bool


_SCHEMAS: Final[dict[type[Any], tuple[tuple[_Field, ...], bool]]] = {}


def record(cls: type[_T], node: Node, where: str) -> _T:
    """One `cls` from a mapping; `where` leads every complaint ("k.bin: kernel 'add'")."""
    if not isinstance(node.value, dict):
        raise _error(node, where, f"a mapping is expected, not {node.what}")
    rest = dict(node.value)
    values: dict[str, Any] = {}
    fields, has_extra = _schema(cls)
    for field in fields:
        child = rest.pop(field.name, None)
        if child is not None:
            values[field.name] = field.read(child, f"{where}, {field.name}")
        elif field.required:
            raise _error(node, where, f"the key {field.name!r} is missing")
    if has_extra and rest:
        values["extra"] = {key: plain(child) for key, child in rest.items()}
    return cls(**values)


def records(cls: type[_T], node: Node, where: str) -> tuple[_T, ...]:
    """A tuple of `cls` from a list of mappings; an empty value is an empty list."""
    if node.value == "":
        return ()
    if not isinstance(node.value, list):
        raise _error(node, where, f"a list is expected, not {node.what}")
    return tuple(record(cls, child, f"{where}[{i}]") for i, child in enumerate(node.value))


def _schema(cls: type[Any]) -> tuple[tuple[_Field, ...], bool]:
    if cls not in _SCHEMAS:
        hints = get_type_hints(cls, include_extras=True)
        every = dataclasses.fields(cls)
        missing = dataclasses.MISSING
        fields = tuple(
            _Field(f.name, _reader(hints[f.name]), f.default is f.default_factory is missing)
            for f in every
            if f.name != "extra"
        )
        _SCHEMAS[cls] = fields, len(fields) < len(every)
    return _SCHEMAS[cls]


def _reader(hint: Any) -> _Reader:
    if hint is str:
        return _text
    if hint is bool:
        return _boolean
    if get_origin(hint) is Annotated:
        kind, allowed = get_args(hint)
        return _integer(allowed) if kind is int else _three(allowed)
    if get_origin(hint) is tuple:
        item = get_args(hint)[0]
        return lambda node, where: records(item, node, where)
    return lambda node, where: record(hint, node, where)


def _text(node: Node, where: str) -> str:
    if not isinstance(node.value, str):
        raise _error(node, where, f"a word is expected, not {node.what}")
    return node.value


def _boolean(node: Node, where: str) -> bool:
    if not isinstance(node.value, str) or node.value not in _BOOLEANS:
        raise _error(node, where, f"true or false is expected, not {node.what}")
    return _BOOLEANS[node.value]


def _integer(allowed: Range | Among) -> _Reader:
    def read(node: Node, where: str) -> int:
        if not isinstance(node.value, str) or not _INTEGER.fullmatch(node.value):
            raise _error(node, where, f"an integer is expected, not {node.what}")
        value = int(node.value, 16 if "x" in node.value else 10)
        if value not in allowed:
            raise _error(node, where, f"{value} is not allowed ({allowed})")
        return value

    return read


def _three(allowed: Range | Among) -> _Reader:
    one = _integer(allowed)

    def read(node: Node, where: str) -> tuple[int, ...]:
        if not isinstance(node.value, list) or len(node.value) != 3:
            raise _error(node, where, f"a list of three integers is expected, not {node.what}")
        return tuple(one(child, f"{where}[{i}]") for i, child in enumerate(node.value))

    return read


def _error(node: Node, where: str, message: str) -> FormatError:
    return FormatError(f"{where}: {message} (line {node.line} of .ze_info)")
