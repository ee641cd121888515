"""A limit of processor time notices the work of its block, and only that."""

from __future__ import annotations

import gc
import time
from threading import Event, Thread

import pytest

from limits import within


def _work(seconds: float, stop: Event) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end and not stop.is_set():
        pass


def test_work_is_noticed() -> None:
    with pytest.raises(AssertionError, match="of a processor"), within(0.05):
        _work(0.1, Event())


def test_another_thread_is_not() -> None:
    stop = Event()
    other = Thread(target=_work, args=(60.0, stop))
    other.start()
    start = time.process_time()
    try:
        with within(0.2):
            while time.process_time() - start < 0.5:
                time.sleep(0.01)
    finally:
        stop.set()
        other.join()


def test_old_garbage_is_not_looked_through() -> None:
    old = [[number] for number in range(1000)]
    with within(60):
        assert gc.get_freeze_count() >= len(old)
    assert gc.get_freeze_count() == 0
