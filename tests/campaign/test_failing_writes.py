"""A disk that is full at any place of a campaign's store: typed errors, and whole tasks."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eumu.campaign.store import Store, StoreError
from eumu.campaign.tasks import SAME, Result, Task
from failing_calls import each_call_fails

MOST = 64 << 10  # bytes that the file and what SQLite writes beside it never have
STEP = 1024


def task(number: int) -> Task:
    return Task("files", "skl", path=f"{number}.cl")


def results(number: int) -> list[Result]:
    return [Result(f"program {number}:{k}", SAME, "", "x" * 40) for k in range(20)]


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file of this process may be longer; more is the system's error, not a signal."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """Wherever a write fails, the tasks before it are there, the others are not, and it goes on."""
    kept = tmp_path / "kept"
    with Store(kept) as store:
        store.add(task(0), results(0))
    failed = 0
    for size in range(0, MOST, STEP):
        path = tmp_path / str(size)
        shutil.copy(kept, path)
        written = [0]
        try:
            with room(size), Store(path) as store:
                for number in range(1, 6):
                    store.add(task(number), results(number))
                    written.append(number)
        except StoreError as error:
            assert str(path) in str(error)
            failed += 1
        with Store(path) as store:
            assert store.done() == {task(n).name for n in written}
            assert len(store.of_tasks(store.done())) == 20 * len(written)
            store.add(task(9), results(9))
            assert task(9).name in store.done()
    assert 10 < failed < MOST // STEP


def test_a_new_store_on_a_full_disk(tmp_path: Path) -> None:
    """A file of which nothing was written is none; the next call makes it."""
    failed = 0
    for size in range(0, MOST, STEP):
        path = tmp_path / f"new-{size}"
        try:
            with room(size), Store(path):
                pass
        except StoreError:
            failed += 1
        with Store(path) as store:
            assert store.done() == set()
    assert failed > 5


def test_calls_of_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store"

    def action() -> None:
        with Store(path) as store:
            store.add(task(1), results(1))

    def check(call: str, raised: BaseException | None) -> None:
        assert raised is None or isinstance(raised, StoreError), (call, raised)

    each_call_fails(action, check)
    with Store(path) as store:
        assert store.done() == {task(1).name}
