"""Run-time facts of the `special` operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from eumu.exec.interp.site import BlockSite
from eumu.exec.interp.values import Lanes, Run


def _member(site: BlockSite, run: Run) -> Lanes:
    """The thread's number within its group."""
    return (run.threads % site.state.threads_per_group)[:, None]


def _group(site: BlockSite, run: Run) -> Lanes:
    """How many threads a group has."""
    return np.full((1, 1), site.state.threads_per_group)


def _hardware_thread(site: BlockSite, run: Run) -> Lanes:
    """A number that no other thread of the batch has."""
    return run.threads[:, None]


def _timestamp(site: BlockSite, run: Run) -> Lanes:
    """Instructions that the thread has run so far: time that is the same in every run."""
    return site.state.used[run.rows][:, None]


def _zero(site: BlockSite, run: Run) -> Lanes:
    return np.zeros((1, 1), np.int64)


SPECIAL: Final[dict[str, Callable[[BlockSite, Run], Lanes]]] = {
    "timestamp": _timestamp,
    "thread_id": _member,
    "group_threads": _group,
    "hardware_thread": _hardware_thread,
    "fftid": _hardware_thread,
    "eu_id": _zero,
    "subslice_id": _zero,
    "slice_id": _zero,
}
