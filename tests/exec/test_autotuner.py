"""How many workers launches take, and which order of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from eumu.exec.jit import Jit
from eumu.exec.jit.host.autotuner import Autotuner, Setup
from eumu.ir.passes import fold_modes
from eumu.types import UD
from exec.launching import Host, Kernel, grid_of


def settled(seconds: Callable[[Setup], float], most: int, *rows: int) -> list[Setup]:
    """What launches run with, if each setup takes so long."""
    tuner, setups = Autotuner(rows or (1,)), []
    for _ in range(30):
        trial = tuner.trial(100, most)
        setups.append(trial.setup)
        trial.took(trial.setup, seconds(trial.setup))
    return setups


@pytest.mark.parametrize(
    ("seconds", "tried", "kept"),
    [
        ({8: 1e-3, 4: 2e-3}, [8, 4], 8),
        ({8: 1e-3, 4: 1.1e-3, 2: 2.2e-3}, [8, 4, 2], 4),
        ({8: 1e-3, 4: 1e-3, 2: 0.9e-3, 1: 1e-3}, [8, 4, 2, 1], 1),
        ({8: 1.0}, [8], 8),  # too long to try
        ({3: 1e-3, 1: 1.9e-3}, [3, 1], 3),
        ({1: 1e-3}, [1], 1),
    ],
)
def test_workers_that_are_worth_it(seconds: dict[int, float], tried: list[int], kept: int) -> None:
    counts = [setup.workers for setup in settled(lambda s: seconds[s.workers], max(seconds))]
    assert counts[-1] == kept
    assert list(dict.fromkeys(counts)) == tried


@pytest.mark.parametrize(("seconds", "kept"), [(1e-3, 2), (1.8e-3, 2), (1.95e-3, 8), (3e-3, 8)])
def test_the_faster_order_is_kept(seconds: float, kept: int) -> None:
    times = {8: 2e-3, 2: seconds}
    setups = settled(lambda s: times[s.row] * (1 if s.workers == 2 else 1.5), 2, 8, 2)
    assert setups[:6] == [Setup(2, 8)] * 3 + [Setup(2, 2)] * 3
    assert setups[6:9] == [Setup(1, kept)] * 3
    assert setups[9:] == [Setup(2, kept)] * 21


def test_a_late_launch_with_another_setup_counts_for_nothing() -> None:
    trial = Autotuner().trial(100, 2)
    first = trial.setup
    for _ in range(3):
        trial.took(first, 1e-3)
    for _ in range(3):
        trial.took(first, 1.0)
    assert trial.setup == Setup(1, 1)


def test_what_takes_much_longer_is_tried_once() -> None:
    setups = settled(lambda s: {8: 1e-3, 2: 1.8e-3}[s.row] * (2 / s.workers), 2, 8, 2)
    assert setups[:5] == [Setup(2, 8)] * 3 + [Setup(2, 2), Setup(1, 8)]
    assert setups[5:] == [Setup(2, 8)] * 25


def test_it_is_tried_again() -> None:
    assert settled(lambda setup: 1e-3, 2)[-1] == Setup(1, 1)
    tuner, counts = Autotuner(), []
    for _ in range(1100):
        trial = tuner.trial(100, 2)
        counts.append(trial.setup.workers)
        trial.took(trial.setup, 1e-3)
    assert counts[50:1000] == [1] * 950
    assert set(counts[1000:]) == {1, 2}


def test_sizes_are_tried_by_themselves() -> None:
    tuner = Autotuner()
    assert tuner.trial(100, 4) is tuner.trial(120, 4)
    assert tuner.trial(100, 4) is not tuner.trial(1000, 4)
    assert tuner.trial(100, 4) is not tuner.trial(100, 2)


def test_launches_from_many_threads() -> None:
    """Each runs all its groups, whatever is tried meanwhile."""
    k = Kernel()
    place = k.item(16)
    k.result(1, place, k.add(k.input(0, place, UD), k.number(UD, 5)))
    k.end()
    function, jit = fold_modes(k.function), Jit(workers=4)
    x = np.arange(16 * 2000, dtype=np.uint32)
    hosts = [[Host([x, np.zeros_like(x)]) for _ in range(12)] for _ in range(6)]

    def run(mine: list[Host]) -> None:
        for host in mine:
            jit.run(grid_of(function, host, 2000), host)

    threads = [threading.Thread(target=run, args=(mine,)) for mine in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for host in (h for mine in hosts for h in mine):
        np.testing.assert_array_equal(host.read(1), x + 5)
