"""Values of a JSON text, taken out by name, type and range: what a file says is not believed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class FieldError(Exception):
    """A value is missing, or is not what it must be; the reader of the file says which file."""


class Fields:
    """An object or an array of JSON; each method takes one value, or raises `FieldError`.

    A reader ends with `done`, so that no value is left which nobody has looked at.

    >>> Fields({"size": 7}, "the file").number("size", 0, 8)
    7
    """

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, (dict, list)):
            raise FieldError(f"{where} is {_kind(value)}, not an object")
        self._value: Any = value
        self._where = where
        self._taken: set[str | int] = set()

    def done(self) -> None:
        """FieldError if there are values that nobody took."""
        for name in self._value if isinstance(self._value, dict) else range(len(self._value)):
            if name not in self._taken:
                raise FieldError(f"{self._at(name)} is not known")

    @property
    def names(self) -> tuple[str, ...]:
        """Those of an object, in order."""
        return tuple(self._value) if isinstance(self._value, dict) else ()

    def number(self, name: str | int, low: int, high: int) -> int:
        """An integer from `low` to `high`, inclusive."""
        value = self._get(name)
        if type(value) is not int or not low <= value <= high:
            raise FieldError(f"{self._at(name)} is {_short(value)}, no number {low} to {high}")
        return value

    def maybe(self, name: str, low: int, high: int) -> int | None:
        """The same, or null."""
        return None if self._get(name) is None else self.number(name, low, high)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._get(name)
        if not isinstance(value, bool):
            raise FieldError(f"{self._at(name)} is {_short(value)}, not true or false")
        return value

    def text(self, name: str | int, most: int) -> str:
        """A text of at most `most` characters."""
        value = self._get(name)
        if not isinstance(value, str) or len(value) > most:
            raise FieldError(
                f"{self._at(name)} is {_short(value)}, no text up to {most} characters"
            )
        return value

    def numbers(self, name: str, least: int, most: int, low: int, high: int) -> tuple[int, ...]:
        """`least` to `most` integers from `low` to `high`."""
        value = self._get(name)
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise FieldError(f"{self._at(name)} is no list of {least} to {most} numbers")
        rows = Fields(value, self._at(name))
        return tuple(rows.number(k, low, high) for k in range(len(value)))

    def inside(self, name: str) -> Fields:
        """An object."""
        value = self._get(name)
        if not isinstance(value, dict):
            raise FieldError(f"{self._at(name)} is {_short(value)}, not an object")
        return Fields(value, self._at(name))

    def rows(self, name: str) -> Iterator[Fields]:
        """The arrays in an array."""
        value = self._get(name)
        if not isinstance(value, list):
            raise FieldError(f"{self._at(name)} is {_short(value)}, not a list")
        for k, row in enumerate(value):
            if not isinstance(row, list):
                raise FieldError(f"{self._at(name)}[{k}] is {_short(row)}, not a list")
            yield Fields(row, f"{self._at(name)}[{k}]")

    def _get(self, name: str | int) -> Any:
        self._taken.add(name)
        try:
            return self._value[name]
        except (KeyError, IndexError, TypeError):
            raise FieldError(f"{self._at(name)} is missing") from None

    def _at(self, name: str | int) -> str:
        return f"{self._where}[{_cut(repr(name))}]"


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _short(value: Any) -> str:
    if isinstance(value, int) and not -(1 << 128) < value < 1 << 128:
        return "a number of more than 128 bits"
    text = repr(value) if isinstance(value, (int, float, str)) else _kind(value)
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
