"""Which blocks a macroblock is cut into, from the best vector of each of the 41 blocks."""

from __future__ import annotations

from dataclasses import field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from eumu.device.vme.costs import Costs
from eumu.device.vme.distortion import MOST
from eumu.device.vme.shapes import BLOCKS, MAJORS, MINORS
from eumu.records import dataclass

Ints = NDArray[np.int64]


@dataclass(slots=True)
class Record:
    """The best of the 41 blocks in one direction: distortions without shapes, and vectors.

    Vectors are in quarters of a pixel.
    """

    distortion: Ints = field(default_factory=lambda: np.full(len(BLOCKS), MOST, np.int64))
    mv: Ints = field(default_factory=lambda: np.zeros((len(BLOCKS), 2), np.int64))
    ref_id: Ints = field(default_factory=lambda: np.zeros(len(BLOCKS), np.int64))


@dataclass(frozen=True, slots=True)
class Partition:
    """A cut macroblock: `parts` are its major blocks, each with its direction and its pieces.

    `minor` are the shapes of the quarters if the major shape is 8x8.
    """

    major: int
    minor: tuple[int, ...]
    directions: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]
    distortion: int
    count: int

    @property
    def sub_mb_shape(self) -> int:
        return sum(shape << 2 * k for k, shape in enumerate(self.minor))


@dataclass(frozen=True, slots=True)
class _Part:
    """A way to predict one major block."""

    distortion: int
    blocks: tuple[int, ...]
    minor: int = 0
    direction: int = 0


def best_partition(
    records: list[Record], costs: Costs, disabled: int, limit: int, *, mix: bool
) -> tuple[Partition, bool]:
    """The cheapest partition of at most `limit` vectors; whether the limit forbade a cheaper one.

    `disabled` is SubMbPartMask.  Without `mix` all parts have the same direction.  Of equals the
    larger blocks, then the forward reference.
    """
    candidates: list[Partition] = []
    every = [tuple(range(len(records)))] if mix else [(d,) for d in range(len(records))]
    for directions in every:
        for major in range(4):
            if not (disabled >> 3 == 15 if major == 3 else disabled >> major & 1):
                candidates += _cuts(records, costs, disabled, major, directions)
    candidates.sort(key=lambda p: p.distortion)
    allowed = [p for p in candidates if p.count <= limit]
    if not allowed:  # nothing fits: the fewest vectors
        allowed = sorted(candidates, key=lambda p: p.count)[:1]
    return allowed[0], allowed[0].distortion > candidates[0].distortion


def _cuts(
    records: list[Record], costs: Costs, disabled: int, major: int, directions: tuple[int, ...]
) -> list[Partition]:
    """The partitions of one major shape that may be the best."""
    whole = costs.major(major) if major < 3 else 0
    choices = []
    for place, block in enumerate(MAJORS[major]):
        shapes: list[tuple[int, tuple[int, ...], int]] = [(0, (block,), 0)]
        if major == 3:
            shapes = [
                (m, MINORS[place][m], costs.minor(m)) for m in range(4) if not disabled >> 3 + m & 1
            ]
        choices.append(
            [_cheapest(records, blocks, m, cost, directions) for m, blocks, cost in shapes]
        )
    cuts = []
    for parts in product(*choices):
        cuts.append(
            Partition(
                major,
                tuple(p.minor for p in parts) if major == 3 else (),
                tuple(p.direction for p in parts),
                tuple(p.blocks for p in parts),
                min(MOST, whole + sum(p.distortion for p in parts)),
                sum(len(p.blocks) for p in parts),
            )
        )
    return cuts


def _cheapest(
    records: list[Record],
    blocks: tuple[int, ...],
    minor: int,
    cost: int,
    directions: tuple[int, ...],
) -> _Part:
    """The direction in which the blocks cost least."""
    ways = [
        _Part(int(records[d].distortion[list(blocks)].sum()) + cost, blocks, minor, d)
        for d in directions
    ]
    return min(ways, key=lambda way: way.distortion)
