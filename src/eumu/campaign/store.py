"""The store of a campaign: one file of SQLite, with a row for each program."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final, TypeVar

import eumu
from eumu.campaign.tasks import Result, Task
from eumu.errors import EumuError

_APPLICATION: Final = 0x65756D75  # "eumu", where SQLite has a place for whose file it is
_FORMAT: Final = 2
_BEFORE: Final = 1  # without numbers of builds
_FACTS: Final = "create table facts (name text primary key, value text not null) without rowid;"
_RESULTS: Final = """
create table results (
    program text primary key, task text not null,
    kind text not null, sort text not null, what text not null{builds}
) without rowid;
create index tasks on results (task);
"""
_BUILDS: Final = ", builds integer not null"
# What makes the tables of each format that this version reads.
_TABLES: Final = {
    _BEFORE: _FACTS + _RESULTS.format(builds=""),
    _FORMAT: _FACTS + _RESULTS.format(builds=_BUILDS),
}
_UPGRADE: Final = f"""
drop index tasks;
alter table results rename to former;
{_RESULTS.format(builds=_BUILDS)}
insert into results select *, 0 from former;
drop table former;
pragma user_version = {_FORMAT};
"""


_Value = TypeVar("_Value", str, int)


class StoreError(EumuError, ValueError):
    """A file that is no store, is damaged, belongs to another version, or cannot be written."""


class Store:
    """Results by program.  One process at a time has it open.

    Results of a task are written together, or none of them: a store is whole whenever it is read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._errors():
            self._data = sqlite3.connect(self.path, timeout=1.0, isolation_level=None)
        try:
            with self._errors():
                self._open()
        except BaseException:
            self._data.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._data.close()

    def done(self) -> set[str]:
        """Names of the tasks that have run."""
        return {name for (name,) in self._texts("select distinct task from results")}

    def add(self, task: Task, results: Sequence[Result]) -> None:
        """Write the results of a task down."""
        rows = [(r.program, task.name, r.kind, r.sort, r.what, r.builds) for r in results]
        with self._errors(), self._whole():
            self._data.executemany("insert or replace into results values (?,?,?,?,?,?)", rows)

    def of_tasks(self, names: Collection[str]) -> list[Result]:
        """The results of some tasks, in the order of their programs' names."""
        query = "select task, program, kind, sort, what from results order by program"
        counted = self._rows("select builds from results order by program", int)
        rows = zip(self._texts(query), counted, strict=True)
        return [
            Result(program, kind, sort, what, builds)
            for (task, program, kind, sort, what), (builds,) in rows
            if task in names
        ]

    # ---- the file

    def _texts(self, query: str) -> list[tuple[str, ...]]:
        return self._rows(query, str)

    def _rows(self, query: str, type: type[_Value]) -> list[tuple[_Value, ...]]:
        """The rows of a query, whose values are of a type unless somebody else wrote them."""
        with self._errors():
            rows: list[tuple[_Value, ...]] = self._data.execute(query).fetchall()
        if not all(isinstance(value, type) for row in rows for value in row):
            raise StoreError(f"{self.path} is damaged: it has other values than texts and numbers")
        return rows

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """All that is written within, or nothing of it."""
        self._data.execute("begin")
        try:
            yield
        except BaseException:
            self._data.execute("rollback")
            raise
        self._data.execute("commit")

    def _open(self) -> None:
        self._data.execute("pragma locking_mode = exclusive")
        self._data.execute("begin exclusive")
        (tables,) = self._data.execute("select count(*) from sqlite_master").fetchone()
        (owner,) = self._data.execute("pragma application_id").fetchone()
        if tables == 0 and owner == 0:
            _make(self._data)
        elif owner != _APPLICATION:
            raise StoreError(f"{self.path} is another program's database")
        self._data.execute("commit")
        self._check()

    def _check(self) -> None:
        (format,) = self._data.execute("pragma user_version").fetchone()
        if format not in _TABLES:
            raise StoreError(f"{self.path} has format {format}; this version knows {_FORMAT}")
        if _schema(self._data) != _own_schema(format):  # before a view of somebody else's is asked
            raise StoreError(f"{self.path} is no store of eumu: it has other tables")
        (state,) = self._data.execute("pragma quick_check(1)").fetchone()
        if state != "ok":
            raise StoreError(f"{self.path} is damaged: {' '.join(state.split())}")
        facts = {name: value for name, value in self._texts("select name, value from facts")}
        if facts.get("version") != eumu.__version__:
            raise StoreError(
                f"{self.path} has results of eumu {facts.get('version')}, this is"
                f" {eumu.__version__}: what one found need not hold for the other; name a new file"
            )
        if format == _BEFORE:
            with self._whole():
                _run(self._data, _UPGRADE)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StoreError(f"{self.path}: another campaign writes to it") from None
            raise StoreError(f"{self.path}: {error}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path} is damaged or no store: {error}") from None


def _make(data: sqlite3.Connection, format: int = _FORMAT) -> None:
    data.execute(f"pragma application_id = {_APPLICATION}")
    data.execute(f"pragma user_version = {format}")
    _run(data, _TABLES[format])
    data.execute("insert into facts values ('version', ?)", (eumu.__version__,))


def _run(data: sqlite3.Connection, statements: str) -> None:
    """Run statements in the transaction that there is, which `executescript` would end."""
    for statement in statements.split(";")[:-1]:
        data.execute(statement)


def _schema(data: sqlite3.Connection) -> list[tuple[str, ...]]:
    """What there is in a database, and the statements that made it."""
    return data.execute("select type, name, tbl_name, sql from sqlite_master order by 2").fetchall()


@cache
def _own_schema(format: int) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as data:
        _make(data, format)
        return _schema(data)
