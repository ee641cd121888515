"""Launch sizes: what is completed, what is refused and in which words."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from eumu.errors import LaunchError
from eumu.platforms import platform
from eumu.runtime.ndrange import Range, default_local_size


def make(global_size: Any, local_size: Any = None, offset: Any = 0, **more: Any) -> Range:
    options = {"platform": platform("pvc"), "simd_width": 32, "required": None} | more
    return Range.of(global_size, local_size, offset, **options)


def test_unused_dimensions() -> None:
    r = make((128, 4), (32,), (5,))
    assert r.dimensions == 2
    assert r.global_size == (128, 4, 1)
    assert r.local_size == (32, 1, 1)
    assert r.offset == (5, 0, 0)
    assert r.group_count == (4, 4, 1)
    assert make(64).global_size == (64, 1, 1)
    assert make(np.int64(64)).global_size == (64, 1, 1)


@pytest.mark.parametrize(
    ("whole", "expected"),
    [
        ((1024, 1, 1), (256, 1, 1)),
        ((100, 1, 1), (100, 1, 1)),
        ((16, 64, 1), (16, 16, 1)),
        ((1000, 1, 1), (250, 1, 1)),
        ((8, 8, 8), (8, 8, 4)),
        ((1021, 1, 1), (1021, 1, 1)),
        ((65537, 1, 1), (1, 1, 1)),
        ((7, 1, 1), (7, 1, 1)),
    ],
)
def test_default_local_size(whole: tuple[int, int, int], expected: tuple[int, int, int]) -> None:
    found = default_local_size(whole, 32)
    assert found == expected
    assert prod(found) <= 1024
    assert make(whole).local_size == expected


def test_required_local_size_is_the_default() -> None:
    assert make(64, required=(16, 1, 1)).local_size == (16, 1, 1)
    assert make(64, 16, required=(16, 1, 1)).local_size == (16, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((100,), (64,)), "global size 100 in x does not divide into groups of 64 .*128 does, and"),
        (((3, 10), (1, 16)), "global size 10 in y does not divide into groups of 16 .*; 16 does; "),
        (((0,),), "global_size is .*: 0 is not an integer from 1"),
        (((-4,),), "-4 is not an integer"),
        (((2.5,),), "2.5 is not an integer"),
        ((64, (0,)), "local_size is .*0 is not an integer"),
        (((1, 1, 1, 1),), "global_size has 4 dimensions, 1 to 3 are possible"),
        (((),), "global_size has 0 dimensions"),
        ((64, (8, 8)), "has more dimensions than global_size"),
        ((4096, 2048), r"a group of 2048 work items .* pvc runs up to 1024"),
        ((64, 8, -1), "global_offset is -1"),
        ((2**32 - 1, 1, 2), "global ids in x end at 4294967296, beyond"),
    ],
)
def test_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        make(*arguments)


def test_numbers_of_numpy() -> None:
    assert make(np.int64(64), np.array([16])) == make(64, 16)
    assert make(np.array([64, 2]), (np.uint8(16), 1)) == make((64, 2), (16, 1))
    with pytest.raises(LaunchError, match="is not an integer"):
        make(np.array([[64]]))


def test_required_size_is_not_negotiable() -> None:
    with pytest.raises(LaunchError, match=r"requires local_size \(16, 1, 1\)"):
        make(64, 32, required=(16, 1, 1))


def test_parts_have_groups_of_one_size() -> None:
    parts = make((10, 7), (4, 3), (100, 0), smaller_groups=True).parts()
    assert [(p.first_group[:2], p.groups[:2], p.group_size[:2]) for p in parts] == [
        ((0, 0), (2, 2), (4, 3)),
        ((2, 0), (1, 2), (2, 3)),
        ((0, 2), (2, 1), (4, 1)),
        ((2, 2), (1, 1), (2, 1)),
    ]
    assert all(p.group_count == (3, 3, 1) and p.local_size == (4, 3, 1) for p in parts)
    assert parts[3].first_item == (108, 6, 0)
    assert [p.group_size[0] for p in make(3, 8, smaller_groups=True).parts()] == [3]
    assert len(make(64, 8, smaller_groups=True).parts()) == 1
