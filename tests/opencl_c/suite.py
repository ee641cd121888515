"""Runs tables on eumu, in every form, and on another implementation, and compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu.compare.nans import unequal
from opencl_c import cpu_runtime
from opencl_c.table import Row, Table, differences, source

# (device, level, engine)
Form = tuple[str, str, str]
FORMS: tuple[Form, ...] = tuple(
    (device, level, engine)
    for device, level in (("skl", "visa"), ("skl", "native"), ("pvc", "visa"))
    for engine in ("interp", "jit")
)


@dataclass
class Suite:
    """Tables that are compiled together."""

    tables: Sequence[Table]
    options: str = "-cl-std=CL2.0"
    extensions: tuple[str, ...] = ()
    _programs: dict[str, eumu.Program] = field(default_factory=dict)
    _ours: dict[tuple[str, Form], NDArray[Any]] = field(default_factory=dict)
    _theirs: dict[str, NDArray[Any] | str] | str | None = None

    def forms(self, table: Table) -> tuple[Form, ...]:
        """Those that a table's kernel can be compiled for."""
        return tuple(f for f in FORMS if f[0] not in table.without)

    def _source(self, device: str) -> str:
        usable = [t for t in self.tables if any(f[0] == device for f in self.forms(t))]
        return source(usable, self.extensions)

    def ours(self, table: Table, form: Form) -> NDArray[Any]:
        """A table on eumu, as (row, work item)."""
        if (table.name, form) not in self._ours:
            self._ours[table.name, form] = self._launched(table, form)
        return self._ours[table.name, form]

    def _launched(self, table: Table, form: Form) -> NDArray[Any]:
        name, level, engine = form
        if name not in self._programs:
            self._programs[name] = eumu.build(self._source(name), name, self.options)
        device = eumu.Device(name, engine)
        launch = table.launch("", self.options)
        arrays = [device.array(a) for a in launch.arrays]
        kernel = self._programs[name][table.name]
        kernel.launch(device, launch.global_size, launch.local_size, arrays, level=level)
        return table.shaped(arrays[-1].numpy())

    def theirs(self, table: Table) -> NDArray[Any] | str:
        """A table on Intel's CPU runtime; a text if it cannot run."""
        if self._theirs is None:
            text = source(self.tables, self.extensions)
            launches = [t.launch(text, self.options) for t in self.tables]
            found = cpu_runtime.results("intel", launches)
            names = [t.name for t in self.tables]
            self._theirs = found if isinstance(found, str) else dict(zip(names, found, strict=True))
        if isinstance(self._theirs, str):
            return self._theirs
        made = self._theirs[table.name]
        return made if isinstance(made, str) else table.shaped(made)

    def against_twins(self, table: Table, form: Form) -> list[str]:
        """Rows that eumu and NumPy disagree about."""
        got = self.ours(table, form)
        twins = ((k, row, table.expected(row.twin)) for k, row in enumerate(table.rows) if row.twin)
        found = [differences(table, row, got[k], want) for k, row, want in twins]
        return [f"{form}: {f}" for f in found if f]

    def against_theirs(self, table: Table, form: Form, theirs: NDArray[Any]) -> list[str]:
        """Rows that eumu and the other implementation disagree about, unless that is wrong."""
        got = self.ours(table, form)
        rows = [(k, row) for k, row in enumerate(table.rows) if not row.theirs]
        found = [differences(table, row, got[k], _chosen(table, row, theirs[k])) for k, row in rows]
        return [f"{form}: {f}" for f in found if f]

    def no_mistakes(self, table: Table, theirs: NDArray[Any]) -> list[str]:
        """Rows that are said to be the other's mistake, where it agrees with the twin."""
        rows = [(k, row) for k, row in enumerate(table.rows) if row.theirs]
        right = [r for k, r in rows if not differences(table, r, theirs[k], table.expected(r.twin))]
        return [f"{table.name}: {r.text} is no mistake: {r.theirs}" for r in right]


def _chosen(table: Table, row: Row, theirs: NDArray[Any]) -> NDArray[Any]:
    """Their results, with the twin's where they are those of a fused multiply-add."""
    if row.fused is None:
        return theirs
    return np.where(unequal(theirs, table.expected(row.fused)), theirs, table.expected(row.twin))


def patterns(count: int, seed: int) -> NDArray[np.float16]:
    """Half-precision values: edges with each other, small numbers, and any bits."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 1 << 16, count).astype(np.uint16)
    near = slice(count // 2, count * 3 // 4)
    size = len(values[near])
    values[near] = random.integers(0x3800, 0x5000, size) | (random.integers(0, 2, size) << 15)
    pairs = min(len(EDGES) ** 2, count // 2)
    across = np.arange(pairs)
    values[:pairs] = np.take(EDGES, (across, across // len(EDGES), across * 7)[seed], mode="wrap")
    return values.view(np.float16)


EDGES = np.array(
    [
        0x0000, 0x0001, 0x0200, 0x03FF, 0x0400, 0x3555, 0x3800, 0x3BFF, 0x3C00, 0x3C01, 0x3E00,
        0x4000, 0x4200, 0x5BFF, 0x63FF, 0x6400, 0x6401, 0x7BFF, 0x7C00, 0x7E00,
    ],
    np.uint16,
)  # fmt: skip
EDGES = np.concatenate([EDGES, EDGES | 0x8000])
