"""Tables of OpenCL C expressions: one kernel computes every row for every work item.

A row may have a *twin*, the same in NumPy, and a bound in units of the last place.  Results of eumu
are compared with the twin, and with another implementation of OpenCL where one is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.compare.nans import unequal
from eumu.runtime.parameters import element_type
from opencl_c.cpu_runtime import Launch

Values = NDArray[Any]
PRAGMAS = "".join(
    f"#pragma OPENCL EXTENSION {name} : enable\n" for name in ("cl_khr_fp16", "cl_khr_fp64")
)


@dataclass(frozen=True, slots=True)
class Piece:
    """What a twin sees: the sub-group's work items, or all of them where there are none.

    `a`, `b`, `c` are the inputs of these work items, `whole` those of all; `first` is the number of
    the first one.  `lane` counts from 0, `size` is the sub-group size (of a full one).
    """

    inputs: tuple[Values, ...]
    whole: tuple[Values, ...]
    first: int
    size: int
    local: int

    @property
    def a(self) -> Values:
        return self.inputs[0]

    @property
    def b(self) -> Values:
        return self.inputs[1]

    @property
    def c(self) -> Values:
        return self.inputs[2]

    @property
    def lane(self) -> NDArray[np.int64]:
        return np.arange(len(self.inputs[0]))


Twin = Callable[[Piece], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """An expression of a, b, c, or statements that set `r`; those of `stores` write to `to`.

    `ulps` is how far results may be off; with `zeros` either zero may come out.  `defined` says of
    which work items OpenCL C defines the result; `theirs` is why the other implementation is wrong.
    `fused` is the result of a fused multiply-add, which OpenCL allows: the other implementation may
    give this or the twin's, as Intel's runtime chooses by the processor that it runs on.
    """

    text: str
    twin: Twin | None = None
    ulps: int = 0
    zeros: bool = False
    defined: Callable[[Piece], Any] | None = None
    theirs: str = ""
    stores: bool = False
    fused: Twin | None = None


@dataclass(frozen=True)
class Table:
    """A kernel: `params` and `result` are types of OpenCL C, `inputs` the arrays.

    With a sub-group size, groups have `local` work items, and its last sub-group may be smaller.
    """

    name: str
    params: tuple[str, ...]
    result: str
    rows: tuple[Row, ...]
    inputs: tuple[Values, ...] = field(repr=False)
    sub_group: int = 0
    local: int = 64
    spare: int = 0  # elements of the inputs behind the last work item
    without: tuple[str, ...] = ()  # devices that the compiler does not make it for

    @property
    def count(self) -> int:
        """Work items."""
        lanes = _lanes(self.params[0])
        return len(self.inputs[0]) // lanes - self.spare

    @property
    def source(self) -> str:
        """The kernel."""
        parameters = [f"global const {t} *{v}_" for t, v in zip(self.params, "abc", strict=False)]
        parameters.append(f"global {self.result} *out")
        attribute = (
            f"__attribute__((intel_reqd_sub_group_size({self.sub_group})))\n"
            if self.sub_group
            else ""
        )
        lines = [
            f"{attribute}kernel void {self.name}({', '.join(parameters)}) {{",
            "    uint i = get_global_id(0), n = get_global_size(0);",
            *(f"    {t} {v} = {v}_[i];" for t, v in zip(self.params, "abc", strict=False)),
        ]
        if self.sub_group:
            lines.append("    uint l = get_sub_group_local_id();")
        for k, row in enumerate(self.rows):
            text = row.text if ";" in row.text else f"r = {row.text};"
            if row.stores:
                lines.append(f"    {{ global {self.result} *to = out + {k} * n; {text} }}")
            else:
                lines.append(f"    {{ {self.result} r = 0; {text} out[{k} * n + i] = r; }}")
        return "\n".join([*lines, "}\n"])

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        known = element_type(self.result)
        assert known is not None
        return known[0]

    def launch(self, source: str, options: str) -> Launch:
        """Of the kernel in a source with others."""
        out = np.zeros(len(self.rows) * self.count * _lanes(self.result), self.dtype)
        arrays = (*self.inputs, out)
        return Launch(source, options, self.name, arrays, self.count, self.local)

    def shaped(self, out: Values) -> Values:
        """A result as (row, work item), or (row, work item, element of the vector)."""
        return _items(out, self.result).reshape(len(self.rows), self.count, *self._tail)

    @property
    def _tail(self) -> tuple[int, ...]:
        lanes = _lanes(self.result)
        return (lanes,) if lanes > 1 else ()

    def pieces(self) -> Iterator[tuple[slice, Piece]]:
        """Sub-groups, or all work items at once."""
        whole = tuple(_items(x, t) for x, t in zip(self.inputs, self.params, strict=True))
        for part in self._parts():
            given = tuple(x[part] for x in whole)
            yield part, Piece(given, whole, part.start, self.sub_group, self.local)

    def _parts(self) -> Iterator[slice]:
        if not self.sub_group:
            yield slice(0, self.count)
            return
        for group in range(0, self.count, self.local):
            for first in range(0, self.local, self.sub_group):
                end = min(first + self.sub_group, self.local)
                yield slice(group + first, group + end)

    def expected(self, twin: Twin | None) -> Values:
        """What a twin says."""
        assert twin is not None
        out = np.zeros((self.count, *self._tail), self.dtype)
        with np.errstate(all="ignore"):
            for part, piece in self.pieces():
                out[part] = twin(piece)
        return out

    def defined(self, row: Row) -> NDArray[np.bool_]:
        """The work items whose result has a meaning."""
        found = np.ones(self.count, bool)
        if row.defined is not None:
            for part, piece in self.pieces():
                found[part] = row.defined(piece)
        return found


def differences(table: Table, row: Row, got: Values, want: Values) -> str:
    """The first work item with another result, in words; empty if there is none."""
    wrong = _unlike(got, want, row.ulps, row.zeros)
    wrong = wrong.reshape(len(wrong), -1).any(axis=1) & table.defined(row)
    if not wrong.any():
        return ""
    k = int(np.flatnonzero(wrong)[0])
    given = [
        f"{v}={_items(x, t)[k]!r}"
        for v, x, t in zip("abc", table.inputs, table.params, strict=False)
    ]
    return (
        f"{table.name}: {row.text}: item {k} ({', '.join(given)}) is {got[k]!r}, not {want[k]!r};"
        f" {int(wrong.sum())} of {len(wrong)} differ"
    )


def _unlike(got: Values, want: Values, ulps: int, zeros: bool) -> NDArray[np.bool_]:
    wrong = unequal(got.reshape(-1), want.reshape(-1)).reshape(got.shape)
    if got.dtype.kind != "f":
        return wrong
    if zeros or ulps:
        wrong &= ~((got == 0) & (want == 0))
    if ulps:
        x, y = (np.ascontiguousarray(v).view(f"i{v.itemsize}") for v in (got, want))
        with np.errstate(over="ignore"):
            apart = np.abs(_ordered(x).astype(np.float64) - _ordered(y).astype(np.float64))
        wrong &= (apart > ulps) | np.isnan(got) | np.isnan(want)
    return wrong


def _ordered(bits: Values) -> Values:
    """Floats' bits as numbers in their order."""
    least = np.iinfo(bits.dtype).min
    return np.where(bits < 0, least - bits, bits)


def _lanes(type_name: str) -> int:
    """Elements of a type in memory."""
    known = element_type(type_name)
    assert known is not None
    return 4 if known[1] == 3 else known[1]


def _items(array: Values, type_name: str) -> Values:
    """An array by work items."""
    lanes = _lanes(type_name)
    return array.reshape(-1, lanes) if lanes > 1 else array


def source(tables: Sequence[Table], extensions: Sequence[str] = ()) -> str:
    """All kernels in one text."""
    more = "".join(f"#pragma OPENCL EXTENSION {name} : enable\n" for name in extensions)
    return PRAGMAS + more + "\n".join(t.source for t in tables)
