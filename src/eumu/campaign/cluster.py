"""Where tasks run: workers on this machine, or those of a scheduler of Dask elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from eumu.campaign.tasks import DIED, Task, failed
from eumu.campaign.worker import Answer, perform
from eumu.errors import EumuError, ToolMissing

if TYPE_CHECKING:
    from distributed import Client

_AHEAD: Final = 3  # tasks of each worker that the scheduler knows of
_DEATHS: Final = 5  # of workers with a task, after which it is the task's fault
# How often workers and the scheduler look at themselves.  A worker only waits for a process: Dask's
# own intervals took a twelfth of a processor from it.
_SELDOM: Final = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}

Perform = Callable[[Task], Answer]


class ClusterError(EumuError, RuntimeError):
    """A scheduler that does not answer, or workers that are gone."""


@contextmanager
def connected(workers: int, scheduler: str | None) -> Iterator[Client]:
    """A client of a scheduler, or of one that is started here with so many workers.

    Raises `ToolMissing` without the package `distributed`, `ClusterError` for an address where no
    scheduler answers.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise ToolMissing(
            "campaigns run on Dask, which is not installed\n"
            "  install it with: pip install 'eumu[campaign]'"
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS})
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=10)
        except (OSError, ValueError) as error:
            raise ClusterError(f"no scheduler answers at {scheduler}: {error}") from None
        with client:
            yield client
        return
    local = {"processes": True, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set(_SELDOM),
        LocalCluster(
            n_workers=workers,
            host="127.0.0.1",
            memory_limit=0,
            silence_logs=logging.CRITICAL,
            **local,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def answers(
    client: Client, tasks: Iterable[Task], run: Perform = perform
) -> Iterator[tuple[Task, Answer]]:
    """What each task found, as they end; a task that kills its workers is a result as well."""
    from distributed import KilledWorker, as_completed

    waiting = iter(tasks)
    running: dict[Any, Task] = {}

    def submit(task: Task) -> Any:
        future = client.submit(run, task, key=task.name, pure=False, retries=1)
        running[future.key] = task
        return future

    def width() -> int:
        threads: dict[str, int] = client.nthreads()
        return _AHEAD * max(1, sum(threads.values()))

    many = width()
    first = [submit(task) for _, task in zip(range(many), waiting, strict=False)]
    ended = as_completed(first)
    for future in ended:
        task = running.pop(future.key)
        try:
            answer = future.result()
        except KilledWorker:
            answer = Answer(failed(task, DIED, f"{_DEATHS} workers died with it"), 0.0)
        future.release()
        yield task, answer
        many = max(many, width()) if len(running) < 2 else many
        while len(running) < many:
            following = next(waiting, None)
            if following is None:
                break
            ended.add(submit(following))
