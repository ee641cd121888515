"""Long calls on another thread: wherever the caller is interrupted, the process ends in order."""

from __future__ import annotations

import threading
import time

import pytest

from eumu.exec.jit.host import apart as module
from eumu.exec.jit.host.apart import apart


@pytest.fixture(autouse=True)
def ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the process is of this test alone."""
    monkeypatch.setattr(module, "_ENDING", threading.Event())


def test_results_and_errors_come_back() -> None:
    assert apart(lambda: 7) == 7
    with pytest.raises(ValueError, match="seven"):
        apart(lambda: int("seven"))
    assert not module._RUNNING


def test_a_thread_that_never_began_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        apart(lambda: 7)
    module._wait()


def test_a_call_that_goes_on_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    start, begun, ended = threading.Thread.start, threading.Event(), []

    def interrupted(self: threading.Thread) -> None:
        start(self)
        begun.wait(60)
        raise KeyboardInterrupt

    def work() -> None:
        begun.set()
        time.sleep(0.2)
        ended.append(1)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        apart(work)
    module._wait()
    assert ended


def test_what_begins_at_the_end_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[threading.Thread] = []
    start, did = threading.Thread.start, []

    def interrupted(self: threading.Thread) -> None:
        late.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        apart(lambda: did.append(1))
    module._wait()
    start(late[0])
    late[0].join(60)
    assert not did
    assert apart(lambda: 7) == 7
