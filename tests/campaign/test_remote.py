"""A campaign on a scheduler and workers that somebody else has started, as on a cluster."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.stand_ins import once_killed
from eumu.campaign import random_visa
from eumu.campaign.campaign import Summary, run
from eumu.campaign.cluster import connected
from eumu.campaign.store import Store
from eumu.campaign.tasks import Task

pytest.importorskip(
    "distributed", reason="distributed is not installed: pip install 'eumu[campaign]'"
)
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
WORKERS, TASKS, SECONDS = 2, 12, 60


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and the processes of its workers."""
    where = tmp_path / "scheduler.json"
    paths = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), *sys.path)))
    local = ("--scheduler-file", str(where))
    with ExitStack() as stack:

        def started(*words: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                (sys.executable, "-m", "dask", *words),
                cwd=tmp_path,
                env=os.environ | {"PYTHONPATH": paths},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        own = ("--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0")
        started("scheduler", *local, *own)
        waited = time.monotonic()
        while not (where.exists() and where.read_text().endswith("}")):
            assert time.monotonic() - waited < SECONDS, "no scheduler"
            time.sleep(0.05)
        words = (*local, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        workers = [started("worker", *words) for _ in range(WORKERS)]
        yield json.loads(where.read_text())["address"], workers


def kept(path: Path, tasks: list[Task], address: str) -> bytes:
    """Run a campaign; the bytes of its store, written in order."""
    with Store(path) as store:
        run(tasks, store, Summary(), lambda: connected(1, address), work=once_killed)
    whole = path.with_suffix(".whole")
    with closing(sqlite3.connect(path)) as data:
        data.execute("vacuum into ?", (str(whole),))
    return whole.read_bytes()


def test_a_worker_elsewhere_dies_in_the_middle(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    address, workers = cluster
    tasks = list(random_visa.tasks("skl", TASKS * random_visa.BATCH, 60.0))
    undisturbed = kept(tmp_path / "a.sqlite", tasks, address)
    assert [w.poll() for w in workers] == [None] * WORKERS
    tasks[TASKS // 2] = replace(tasks[TASKS // 2], path=str(tmp_path / "died"))
    disturbed = kept(tmp_path / "b.sqlite", tasks, address)
    assert sum(w.poll() is not None for w in workers) == 1
    assert disturbed == undisturbed
