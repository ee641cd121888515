"""How many workers launches take."""

from __future__ import annotations

import pytest

from eumu.exec.jit.crew import Crew


def settled(seconds: dict[int, float], most: int) -> list[int]:
    """The numbers of workers that launches take, if each number takes so long."""
    crew, counts = Crew(), []
    for _ in range(20):
        trial = crew.trial(100, most)
        counts.append(trial.count)
        trial.took(seconds[trial.count])
    return counts


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
    counts = settled(seconds, max(seconds))
    assert counts[-1] == kept
    assert list(dict.fromkeys(counts)) == tried


def test_it_is_tried_again() -> None:
    crew = Crew()
    for _ in range(50):
        trial = crew.trial(100, 2)
        trial.took(1e-3)
    assert crew.trial(100, 2).count == 1
    counts = set()
    for _ in range(1000):
        trial = crew.trial(100, 2)
        counts.add(trial.count)
        trial.took(1e-3)
    assert counts == {1, 2}


def test_sizes_are_tried_by_themselves() -> None:
    crew = Crew()
    assert crew.trial(100, 4) is crew.trial(120, 4)
    assert crew.trial(100, 4) is not crew.trial(1000, 4)
    assert crew.trial(100, 4) is not crew.trial(100, 2)
