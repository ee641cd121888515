"""Campaigns on two workers of Dask: what is run, what is kept, and what a death changes."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign.stand_ins import PLANTED, answer, once_killed, waited
from eumu.campaign import random_visa
from eumu.campaign.campaign import Summary, explanations, run
from eumu.campaign.cluster import ClusterError, connected
from eumu.campaign.store import Store
from eumu.campaign.tasks import SAME, Result, Task

pytest.importorskip(
    "distributed", reason="distributed is not installed: pip install 'eumu[campaign]'"
)
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
BATCH = random_visa.BATCH


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with connected(2, None) as found:
        yield found


def batches(count: int) -> list[Task]:
    return list(random_visa.tasks("skl", count, 60.0))


def ran(client: Any, path: Path, tasks: list[Task], **more: Any) -> Summary:
    summary = Summary()
    with Store(path) as store:
        run(tasks, store, summary, lambda: nullcontext(client), **{"work": answer, **more})
    return summary


def test_a_larger_count_goes_on(client: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    first = ran(client, path, batches(2 * BATCH))
    again = ran(client, path, batches(2 * BATCH))
    assert (first.ran, again.ran) == (2 * BATCH, 0)
    assert first.results == again.results
    assert again.line().endswith("; nothing was left to run")
    more = ran(client, path, batches(5 * BATCH))
    assert (more.ran, len(more.results)) == (3 * BATCH, 5 * BATCH)
    assert more.results == ran(client, tmp_path / "other.sqlite", batches(5 * BATCH)).results


def test_a_difference_is_counted_until_it_is_explained(client: Any, tmp_path: Path) -> None:
    summary = ran(client, tmp_path / "s.sqlite", batches(BATCH))
    (found,) = summary.differing
    assert found.program == f"random-visa/skl/{PLANTED}"
    counts = f"{BATCH} programs: {BATCH - 1} {SAME}, 1 differs: native on interp; {BATCH} in "
    assert summary.line().startswith(counts)
    reasons = tmp_path / "explained"
    reasons.write_text(f"# known\n{found.program}: the finalizer drops it\n")
    summary.explained = explanations(reasons)
    assert not summary.differing
    assert ", 1 explained, 0 differ; " in summary.line()


def test_builds_are_counted_where_the_kind_counts_them() -> None:
    summary = Summary([Result("a", SAME, builds=10), Result("b", SAME, builds=4)])
    assert summary.line() == f"2 programs in 14 builds: 2 {SAME}, 0 differ; nothing was left to run"


def test_a_worker_that_dies_loses_nothing(client: Any, tmp_path: Path) -> None:
    """The third task kills the worker that has it, once."""
    tasks = batches(8 * BATCH)
    undisturbed = ran(client, tmp_path / "a.sqlite", tasks)
    tasks[2] = replace(tasks[2], path=str(tmp_path / "died"))
    disturbed = ran(client, tmp_path / "b.sqlite", tasks, work=once_killed)
    assert (tmp_path / "died").exists()
    assert disturbed.results == undisturbed.results
    assert disturbed.ran == 8 * BATCH


def test_ctrl_c_leaves_a_store_that_resumes(client: Any, tmp_path: Path) -> None:
    path, tasks = tmp_path / "s.sqlite", batches(8 * BATCH)

    def interrupt(done: int, total: int) -> None:
        if done == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        ran(client, path, tasks, report=interrupt)
    rest = ran(client, path, tasks)
    assert rest.ran == 5 * BATCH
    assert rest.results == ran(client, tmp_path / "whole.sqlite", tasks).results


def test_a_cluster_that_waits_takes_little(client: Any) -> None:
    """With Dask's own intervals the worker and this process take a twelfth of a processor."""
    start = time.process_time()
    first, last = client.submit(waited, 4, pure=False).result()
    assert last - first + time.process_time() - start < 0.2


def test_no_scheduler_is_said() -> None:
    said = r"no scheduler answers at tcp://127\.0\.0\.1:1"
    with pytest.raises(ClusterError, match=said), connected(1, "tcp://127.0.0.1:1"):
        pass
