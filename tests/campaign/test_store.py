"""Stores: whole after every task, refused by name where they are not stores."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import eumu
from eumu.campaign import random_visa
from eumu.campaign.store import Store, StoreError
from eumu.campaign.tasks import SAME, Result, Task, failed

TASKS = list(random_visa.tasks("skl", 2 * random_visa.BATCH, 60.0))


def filled(path: Path) -> Path:
    with Store(path) as store:
        for task in TASKS:
            store.add(task, failed(task, SAME, "x" * 200))
    return path


def test_results_come_back(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    with Store(path) as store:
        assert store.done() == {task.name for task in TASKS}
        found = store.of_tasks({TASKS[1].name})
    assert {r.program for r in found} == set(TASKS[1].programs)
    assert all(r == Result(r.program, SAME, "", "x" * 200) for r in found)


def test_a_task_is_written_whole_or_not(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    wrong = [*failed(TASKS[0], SAME, ""), Result("p", None)]  # type: ignore[arg-type]
    with Store(path) as store:
        with pytest.raises(StoreError):
            store.add(TASKS[0], wrong)
        assert store.done() == set()


@pytest.mark.parametrize("damage", ["text", "cut", "bytes", "empty page"])
def test_damage_is_said(damage: str, tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    data = bytearray(path.read_bytes())
    match damage:
        case "text":
            data = bytearray(b"not a store " * 100)
        case "cut":
            del data[len(data) // 2 :]
        case "bytes":
            data[4096:] = bytes(x ^ 0x5A for x in data[4096:])
        case "empty page":
            data[8192:12288] = bytes(4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"s\.sqlite"), Store(path) as store:
        store.of_tasks({TASKS[0].name})


_ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n) select x, x from n"


@pytest.mark.parametrize(
    "statements",
    [
        ["drop table facts", f"create view facts as {_ENDLESS}"],
        ["drop table results", f"create view results as {_ENDLESS}"],
        ["create trigger t after insert on results begin delete from results; end"],
        ["update results set what = x'00ff'"],
        ["update results set task = x'00ff'"],
        ["update results set builds = 'many'"],
        ["update facts set value = x'00ff'"],
        ["pragma writable_schema = on", "update sqlite_master set sql = sql || x'ff'"],
    ],
)
def test_what_others_put_in_is_refused(statements: list[str], tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    with sqlite3.connect(path) as other:
        for statement in statements:
            other.execute(statement)
    other.close()
    with pytest.raises(StoreError, match=r"s\.sqlite"), Store(path) as store:
        store.done()
        store.of_tasks({TASKS[0].name})


def test_other_databases_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("create table mine (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program's database"):
        Store(path)
    assert path.read_bytes() == before


def test_results_of_another_version_are_not_mixed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path / "s.sqlite")
    monkeypatch.setattr("eumu.__version__", "99.0")
    with pytest.raises(StoreError, match=r"this is 99\.0"):
        Store(path)


def test_a_store_without_numbers_of_builds_goes_on(tmp_path: Path) -> None:
    """What versions before wrote, with the tables that they made."""
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as other:
        for statement in _FORMER.split(";"):
            other.execute(statement)
        other.execute("insert into facts values ('version', ?)", (eumu.__version__,))
        row = (TASKS[0].programs[0], TASKS[0].name, SAME, "", "x")
        other.execute("insert into results values (?,?,?,?,?)", row)
    other.close()
    for _ in range(2):
        with Store(path) as store:
            assert store.of_tasks({TASKS[0].name}) == [Result(row[0], SAME, "", "x")]
    with Store(path) as store:
        store.add(TASKS[1], [Result("p", SAME, builds=10)])
        assert store.of_tasks({TASKS[1].name}) == [Result("p", SAME, builds=10)]


_FORMER = """
pragma application_id = 1702194549;
pragma user_version = 1;
create table facts (name text primary key, value text not null) without rowid;
create table results (
    program text primary key, task text not null,
    kind text not null, sort text not null, what text not null
) without rowid;
create index tasks on results (task)"""


def test_a_store_of_a_later_format_is_refused(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    with sqlite3.connect(path) as other:
        other.execute("pragma user_version = 3")
    other.close()
    with pytest.raises(StoreError, match="format 3; this version knows 2"):
        Store(path)


def test_two_campaigns_do_not_write_one_store(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    with Store(path), pytest.raises(StoreError, match="another campaign writes"):
        Store(path)


def test_names_of_tasks_tell_them_apart() -> None:
    seeds = [t.name for d in ("skl", "pvc") for t in random_visa.tasks(d, 240, 60.0)]
    file = Task("files", "bxt", path="k.cl", digest="0123")
    others = [
        file.name,
        Task("files", "bxt", path="k.cl", digest="4567").name,
        Task("files", "skl", path="k.cl", digest="0123").name,
        Task("files", "bxt", path="k.cl", digest="0123", options="-DX").name,
    ]
    assert len({*seeds, *others}) == len(seeds) + len(others)
