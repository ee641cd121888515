"""Both engines in one order: each group, and in it each thread until it waits or ends, in turn.

That is what compiled code does on one worker, and one of the orders that are allowed.  What races
ends the same on both engines then, unless one of them is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from eumu.exec.interp import engine, machine
from eumu.exec.interp.fairness import Threads
from eumu.exec.state import BLOCKED


class _OneByOne(Threads):
    """The lowest thread that can run goes on."""

    def choose(self) -> tuple[int, slice | NDArray[np.intp]]:
        ready = np.flatnonzero(self._next < BLOCKED)
        if not ready.size:
            return super().choose()
        return int(self._next[ready[0]]), slice(int(ready[0]), int(ready[0]) + 1)


@contextmanager
def in_turn() -> Iterator[None]:
    """Devices that are made meanwhile run threads in turn."""
    with (
        mock.patch.object(machine, "Threads", _OneByOne),
        mock.patch.object(engine.Interpreter, "_batch", lambda *_: 1),
        mock.patch.dict(os.environ, EUMU_WORKERS="1"),
    ):
        yield
