"""The end of an engine process: its program is gone."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from eumu.drm import engine
from eumu.drm.options import DrmOptions


class _Busy:
    """A hardware context whose batch takes the engine and never ends."""

    def __init__(self, device: Any, memory: Any, turn: threading.Lock, *_: Any) -> None:
        turn.acquire()

    def put(self, message: Any) -> None:
        pass


def _one_message(*_: Any) -> Iterator[Any]:
    yield SimpleNamespace(context=1)


def test_a_batch_that_runs_does_not_keep_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, fake in {
        "HardwareContext": _Busy,
        "messages": _one_message,
        "Progress": lambda fd: None,
        "DriverMemory": lambda *_, **__: SimpleNamespace(),
    }.items():
        monkeypatch.setattr(engine, name, fake)
    file = os.memfd_create("memory")
    program: Any = SimpleNamespace(
        control_fd=-1, memory_fd=file, is_low=False, pid=os.getpid(), peer=None
    )
    options = DrmOptions(gpu="skl", engine="interp")
    serving = threading.Thread(target=engine.serve, args=(program, options), daemon=True)
    serving.start()
    serving.join(timeout=10)
    os.close(file)
    assert not serving.is_alive()
