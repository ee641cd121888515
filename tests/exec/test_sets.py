"""Disjoint sets against a list of labels that is painted over."""

from __future__ import annotations

import random

import numpy as np
import pytest

from eumu.exec.jit.analysis.sets import UnitedSets


def _painted(labels: list[int], a: int, b: int) -> None:
    old, new = labels[a], labels[b]
    for k, label in enumerate(labels):
        if label == old:
            labels[k] = new


@pytest.mark.parametrize("seed", range(60))
def test_unions_of_many(seed: int) -> None:
    random.seed(seed)
    count = random.randint(1, 60)
    sets, labels = UnitedSets(count), list(range(count))
    for _ in range(random.randint(0, 12)):
        size = random.choice([0, 1, 2, count])
        first, second = (random.choices(range(count), k=size) for _ in "ab")
        sets.unite(np.array(first, np.intp), np.array(second, np.intp))
        for a, b in zip(first, second, strict=True):
            _painted(labels, a, b)
    least = {label: labels.index(label) for label in labels}
    assert sets.all().tolist() == [least[label] for label in labels]


def test_several_partners_of_one_root() -> None:
    sets = UnitedSets(5)
    sets.unite(np.array([4, 4, 4, 0]), np.array([3, 2, 1, 4]))
    assert sets.all().tolist() == [0, 0, 0, 0, 0]


def test_long_chains() -> None:
    sets, every = UnitedSets(100_000), np.arange(100_000)
    sets.unite(every[:-1], every[1:])
    assert not sets.all().any()
