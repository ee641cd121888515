"""Bit fields of state objects as data: a frozen dataclass whose annotations say where each lies.

    surface_type: Annotated[SurfaceType, bits(0, 31, 29)] = SurfaceType.S2D

Decoding and encoding follow from it, and so do messages: a value that a field cannot have is a
:class:`StateError` that names object, field and place.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import fields
from enum import IntEnum
from typing import Annotated, Any, Final, Self, get_args, get_origin, get_type_hints

from eumu.errors import EumuError
from eumu.records import dataclass


class StateError(EumuError, ValueError):
    """A state object that the hardware would not accept; `field` is the name of the wrong field."""

    def __init__(self, what: str, field: str) -> None:
        super().__init__(what)
        self.field = field


# Conditions under which a field that shares its bits with another one is meant.
Condition = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Bits:
    """Bits `high` … `low` of a dword, or from bit `low` of it to bit `high` of `last`.

    A number has `fraction` fractional bits and a sign if `signed`.  An `address` keeps its low bits
    in place: its value is a multiple of 1 << low.  `real` is an IEEE float.
    """

    dword: int
    high: int
    low: int
    last: int
    fraction: int = 0
    signed: bool = False
    address: bool = False
    real: bool = False
    when: Condition | None = None

    @property
    def size(self) -> int:
        return 32 * (self.last - self.dword) + self.high - self.low + 1

    @property
    def place(self) -> str:
        """`dword 0 bits 31:29`."""
        if self.last != self.dword:
            return f"dword {self.dword} bit {self.low} to dword {self.last} bit {self.high}"
        if self.size == 1:
            return f"dword {self.dword} bit {self.low}"
        return f"dword {self.dword} bits {self.high}:{self.low}"


def bits(
    dword: int,
    high: int,
    low: int | None = None,
    *,
    last: int | None = None,
    fraction: int = 0,
    signed: bool = False,
    address: bool = False,
    real: bool = False,
    when: Condition | None = None,
) -> Bits:
    """Bits `high` … `low` of a dword; one bit without `low`."""
    low = high if low is None else low
    last = dword if last is None else last
    return Bits(dword, high, low, last, fraction, signed, address, real, when)


_WORDS: Final = {
    **{w: w.upper() for w in ("lod", "mip", "mocs", "uv", "ewa", "tcx", "tcy", "tcz", "u", "v")},
    **{"qpitch": "QPitch", "preclamp": "PreClamp", "chromakey": "ChromaKey", "of": "of"},
    **{"for": "for", "or": "or", "at": "at"},
}


def title(name: str) -> str:
    """The name of a field as the documents spell it.

    >>> title("mip_count_lod")
    'MIP Count LOD'
    """
    return " ".join(_WORDS.get(w, w.capitalize()) for w in name.split("_"))


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    type: Any
    bits: Bits

    @property
    def title(self) -> str:
        return title(self.name)


class State:
    """What all state objects share; `TITLE` is the documents' name, `DWORDS` the length."""

    __slots__ = ()

    TITLE = ""
    DWORDS = 0

    @classmethod
    def rows(cls) -> tuple[_Row, ...]:
        """Name, type and place of every field, in the order of the class."""
        rows = _ROWS.get(cls)
        if rows is None:
            rows = _ROWS[cls] = _rows(cls)
        return rows

    @classmethod
    def size(cls) -> int:
        """Bytes."""
        return 4 * cls.DWORDS

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The object in the first bytes of `data`."""
        if len(data) < cls.size():
            raise StateError(f"{cls.TITLE} has {cls.size()} bytes, not {len(data)}", "length")
        whole = int.from_bytes(data[: cls.size()], "little")
        always, late = cls._readers()
        values = {name: read(whole >> shift & mask) for name, shift, mask, read in always}
        state = cls(**values)
        shared = {
            name: read(whole >> shift & mask)
            for (name, shift, mask, read), when in late
            if when(state)
        }
        return cls(**values, **shared) if shared else state

    @classmethod
    def _readers(cls) -> tuple[tuple[_Reader, ...], tuple[tuple[_Reader, Condition], ...]]:
        """How fields are read: those that exist always, and those that share their bits."""
        readers = _READERS.get(cls)
        if readers is None:
            rows = [(_reader(cls, row), row.bits.when) for row in cls.rows()]
            always = tuple(reader for reader, when in rows if when is None)
            readers = always, tuple((r, when) for r, when in rows if when is not None)
            _READERS[cls] = readers
        return readers

    def encode(self) -> bytes:
        """The object's bytes."""
        whole = 0
        for row in self.rows():
            value = getattr(self, row.name)
            if row.bits.when is None or row.bits.when(self):
                whole |= self._code(row, value) << (32 * row.bits.dword + row.bits.low)
            elif value:
                raise self.error(row.name, f"is {value}; it does not exist in this object")
        return whole.to_bytes(self.size(), "little")

    @classmethod
    def error(cls, name: str, what: str) -> StateError:
        """An error that names the field: `name` is the attribute, `what` goes on after it."""
        row = next(r for r in cls.rows() if r.name == name)
        return StateError(f"{cls.TITLE}: {row.title} ({row.bits.place}) {what}", row.title)

    @classmethod
    def _choice(cls, row: _Row, raw: int) -> IntEnum:
        try:
            choice: IntEnum = row.type(raw)
        except ValueError:
            choices = ", ".join(f"{int(v)} {v.name}" for v in row.type)
            if len(choices) > 200:
                choices = f"{len(row.type)} others"
            raise cls.error(row.name, f"is {raw}, which is reserved; defined: {choices}") from None
        return choice

    @classmethod
    def _code(cls, row: _Row, value: Any) -> int:
        place = row.bits
        if place.real:
            return int.from_bytes(struct.pack("<f", value), "little")
        if isinstance(value, bool) or issubclass(row.type, IntEnum):
            return int(cls._choice(row, int(value)) if row.type is not bool else value)
        raw = round(value * (1 << place.fraction)) if place.fraction else int(value)
        if place.address:
            if raw & (1 << place.low) - 1:
                raise cls.error(row.name, f"is {raw:#x}, not a multiple of {1 << place.low}")
            raw >>= place.low
        low = -(1 << place.size - 1) if place.signed else 0
        high = (1 << place.size - place.signed) - 1
        if not low <= raw <= high:
            scale = 1 << place.fraction
            unit = (1 << place.low) if place.address else 1
            ends = (low, high * unit) if scale == 1 else (low / scale, high * unit / scale)
            raise cls.error(row.name, f"is {value}; it goes from {ends[0]} to {ends[1]}")
        return raw & (1 << place.size) - 1


_ROWS: Final[dict[type[State], tuple[_Row, ...]]] = {}
_Reader = tuple[
    str, int, int, Callable[[int], Any]
]  # of a field: its name, shift and mask, its value
_READERS: Final[
    dict[type[State], tuple[tuple[_Reader, ...], tuple[tuple[_Reader, Condition], ...]]]
] = {}


def _reader(cls: type[State], row: _Row) -> _Reader:
    place = row.bits
    shift, mask = 32 * place.dword + place.low, (1 << place.size) - 1
    return row.name, shift, mask, _value(cls, row)


def _value(cls: type[State], row: _Row) -> Callable[[int], Any]:
    """What a field's bits mean."""
    place = row.bits
    if place.address:
        return lambda raw: raw << place.low
    if place.real:
        return lambda raw: struct.unpack("<f", raw.to_bytes(4, "little"))[0]
    if place.signed or place.fraction:
        sign, one = place.signed << place.size - 1, 1 << place.fraction
        if place.fraction:
            return lambda raw: (raw - 2 * (raw & sign)) / one
        return lambda raw: raw - 2 * (raw & sign)
    if row.type is not bool and issubclass(row.type, IntEnum):
        return _choice(cls, row)
    return bool if row.type is bool else int


def _choice(cls: type[State], row: _Row) -> Callable[[int], IntEnum]:
    known = {int(value): value for value in row.type}
    return lambda raw: known[raw] if raw in known else cls._choice(row, raw)


def _rows(cls: type[State]) -> tuple[_Row, ...]:
    rows = []
    hints = get_type_hints(cls, include_extras=True)
    for field in fields(cls):  # type: ignore[arg-type]  # every subclass is a dataclass
        hint = hints[field.name]
        assert get_origin(hint) is Annotated
        kind, place = get_args(hint)
        rows.append(_Row(field.name, kind, place))
    return tuple(rows)
