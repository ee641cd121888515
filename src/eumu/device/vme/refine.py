"""Fractional and bidirectional refinement: better vectors for the blocks of a known partition.

Around a vector the eight places at a distance of half a pixel are tried, then the eight a quarter
around the best of those.  Then a major block may be predicted from both references.  Of equals the
first place, from left to right and down, wins, and before all the one that was there.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.vme.costs import Costs
from eumu.device.vme.distortion import MOST, Measure
from eumu.device.vme.payload import UniversalInput
from eumu.device.vme.prediction import Predictor
from eumu.device.vme.shapes import BLOCKS, MAJORS, MINORS, SLOTS, MacroblockPart
from eumu.records import dataclass

Ints = NDArray[np.int64]
Vector = tuple[int, int]

BIDIRECTIONAL: Final = 2
_STEPS: Final = {0: (), 1: (2,), 3: (2, 1)}  # by SubPelMode: integer, half, quarter
_AROUND: Final = [(x, y) for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y]


@dataclass(slots=True)
class Refined:
    """The answer: of the sixteen blocks vectors [16, direction, 2] and distortions."""

    mv: Ints
    distortion: Ints = field(default_factory=lambda: np.zeros(16, np.int64))
    directions: list[int] = field(default_factory=list)
    total: int = 0
    count: int = 0


@dataclass(slots=True)
class _Part:
    """A major block while it is refined: for each way the distortions of its pieces."""

    pieces: tuple[int, ...]
    ways: dict[int, list[int]]
    vectors: dict[int, list[Vector]]
    direction: int
    shape: int

    def total(self, direction: int) -> int:
        return sum(self.ways[direction]) + self.shape


def refine(
    source: Ints, mv: Ints, uni: UniversalInput, predictor: Predictor, ids: Ints, costs: Costs
) -> Refined:
    """`mv` [16, direction, 2] in quarters; `ids` [quarter, direction] are reference identifiers."""
    work = _Refinement(source, uni, predictor, ids, costs)
    parts = [work.part(k, mv) for k in range(len(MAJORS[uni.fbr_mb_mode]))]
    if not uni.bme_disable_fbr:
        work.try_both(parts)
    out = Refined(mv.copy())
    for part in parts:
        out.directions.append(part.direction)
        out.total += part.total(part.direction)
        out.count += len(part.pieces) * (1 + (part.direction == BIDIRECTIONAL))
        for k, piece in enumerate(part.pieces):
            for direction, vectors in part.vectors.items():
                out.mv[SLOTS[piece], direction] = vectors[k]
            out.distortion[SLOTS[piece]] = min(MOST, part.ways[part.direction][k])
    out.total = min(MOST, out.total + work.whole)
    return out


class _Refinement:
    def __init__(
        self, source: Ints, uni: UniversalInput, predictor: Predictor, ids: Ints, costs: Costs
    ) -> None:
        self._source, self._uni, self._predictor = source, uni, predictor
        self._ids, self._costs = ids, costs
        self._measure = Measure.of(uni.inter_sad, ac_only=uni.ac_only_haar, field="InterSAD")
        if uni.sub_pel_mode not in _STEPS:
            raise uni.error("sub_pel_mode", f"is {uni.sub_pel_mode}; it is 0, 1 or 3")
        self.whole = costs.major(uni.fbr_mb_mode) if uni.fbr_mb_mode < 3 else 0

    def part(self, index: int, mv: Ints) -> _Part:
        """Refine the pieces of a major block in every direction that may be needed."""
        uni = self._uni
        direction = uni.fbr_sub_pred_mode >> 2 * index & 3
        if direction == 3:
            raise uni.error("fbr_sub_pred_mode", f"has 3 for block {index}, which is illegal")
        shape = uni.fbr_sub_mb_shape >> 2 * index & 3 if uni.fbr_mb_mode == 3 else 0
        pieces: tuple[int, ...] = (MAJORS[uni.fbr_mb_mode][index],)
        cost = 0
        if uni.fbr_mb_mode == 3:
            pieces, cost = MINORS[index][shape], self._costs.minor(shape)
        is_both = direction == BIDIRECTIONAL or not uni.bme_disable_fbr
        refined = _Part(pieces, {}, {}, direction, cost)
        for way in (0, 1) if is_both else (direction,):
            first = [SLOTS[p].start for p in pieces]
            best = [
                self._best(BLOCKS[p], way, (int(mv[k, way, 0]), int(mv[k, way, 1])))
                for p, k in zip(pieces, first, strict=True)
            ]
            refined.vectors[way] = [vector for vector, _ in best]
            refined.ways[way] = [distortion for _, distortion in best]
        if direction == BIDIRECTIONAL:
            refined.ways[BIDIRECTIONAL] = self._both(refined)
        return refined

    def try_both(self, parts: list[_Part]) -> None:
        """Predict major blocks from both references where that is better."""
        for part in parts:
            part.ways[BIDIRECTIONAL] = self._both(part)
        better = [p.total(BIDIRECTIONAL) < p.total(p.direction) for p in parts]
        if self._uni.bi_mix_dis:  # all or none
            every = sum(p.total(BIDIRECTIONAL) for p in parts)
            better = [every < sum(p.total(p.direction) for p in parts)] * len(parts)
        for part, is_better in zip(parts, better, strict=True):
            if is_better:
                part.direction = BIDIRECTIONAL

    def _best(self, block: MacroblockPart, direction: int, start: Vector) -> tuple[Vector, int]:
        """The best vector near one, and its distortion."""
        patch = self._predictor.around(block, direction, start, 1)
        source = self._source[block.pixels]

        def distortion(mv: Vector) -> int:
            differs = int(self._measure.tile(source - patch.at(mv)))
            return differs + self._penalty(block, direction, mv)

        best, least = start, distortion(start)
        for step in _STEPS[self._uni.sub_pel_mode]:
            x, y = best
            for i, j in _AROUND:
                mv = x + i * step, y + j * step
                if (cost := distortion(mv)) < least:
                    best, least = mv, cost
        return best, least

    def _both(self, part: _Part) -> list[int]:
        """The distortions of the pieces predicted from both references."""
        pairs = []
        for k, piece in enumerate(part.pieces):
            block = BLOCKS[piece]
            forward, backward = part.vectors[0][k], part.vectors[1][k]
            mean = self._predictor.both(
                self._predictor.block(block, 0, forward), self._predictor.block(block, 1, backward)
            )
            differs = int(self._measure.tile(self._source[block.pixels] - mean))
            penalties = self._penalty(block, 0, forward) + self._penalty(block, 1, backward)
            pairs.append(differs + penalties)
        return pairs

    def _penalty(self, block: MacroblockPart, direction: int, mv: Vector) -> int:
        costs = self._costs
        flat = costs.direction(bool(direction)) + costs.reference(
            int(self._ids[block.quarter, direction])
        )
        return flat + int(costs.vector(np.array([mv]), block.quarter, direction)[0])
