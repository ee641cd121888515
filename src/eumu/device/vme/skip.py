"""Skip check: how much the macroblock differs from where given vectors point."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.vme.costs import Costs
from eumu.device.vme.distortion import MOST, Measure, saturated
from eumu.device.vme.payload import UniversalInput
from eumu.device.vme.prediction import Predictor
from eumu.device.vme.shapes import BLOCKS, MAJORS, SLOTS
from eumu.errors import Unsupported
from eumu.records import dataclass

Ints = NDArray[np.int64]

# The forward transform of AVC, before any scaling; and which threshold a coefficient has.
_TRANSFORM: Final = np.array([[1, 1, 1, 1], [2, 1, -1, -2], [1, -1, -1, 1], [1, -2, 2, -1]])
_FREQUENCY: Final = np.arange(4)[:, None] + np.arange(4)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Distortions [16] with penalties, of all without; counts and sums of coefficients [4]."""

    distortion: Ints
    total: int
    raw: int
    mv: Ints
    counts: Ints
    sums: Ints


def skip_check(
    source: Ints, centers: Ints, uni: UniversalInput, predictor: Predictor, ids: Ints, costs: Costs
) -> Skipped:
    """`centers` [4, direction, 2] in quarters; `ids` [quarter, direction] are identifiers."""
    if uni.inter_chroma_mode:
        raise Unsupported("a skip check with InterChromaMode: how it moves is described nowhere")
    if uni.ft_enable and uni.t8x8_flag_for_inter_en:
        raise Unsupported(
            "a skip check with FTEnable and T8x8FlagForInterEn: the thresholds of an 8x8 transform"
            " are described nowhere"
        )
    measure = Measure.of(uni.inter_sad, ac_only=uni.ac_only_haar, field="InterSAD")
    predicted, distortion = np.zeros((16, 16), np.int64), np.zeros(16, np.int64)
    mv, total = np.zeros((16, 2, 2), np.int64), 0
    for k, index in enumerate(MAJORS[3 if uni.skip_mode_type else 0]):
        block = BLOCKS[index]
        ways = [d for d in (0, 1) if uni.skip_center_mask >> (2 * k + d) & 1]
        if not ways:
            raise uni.error("skip_center_mask", f"enables no reference for block {k}")
        parts = [
            predictor.block(block, d, (int(centers[k, d, 0]), int(centers[k, d, 1]))) for d in ways
        ]
        predicted[block.pixels] = parts[0] if len(parts) == 1 else predictor.both(*parts)
        differs = int(measure.tile(source[block.pixels] - predicted[block.pixels]))
        for d in ways:
            if uni.non_skip_zmv_added:
                differs += costs.reference(int(ids[block.quarter, d]))
                differs += int(costs.vector(centers[k, d][None], block.quarter, d)[0])
            if uni.non_skip_mode_added:
                differs += costs.direction(bool(d))
        if uni.non_skip_mode_added:
            differs += costs.minor(0) if uni.skip_mode_type else costs.major(0)
        distortion[SLOTS[index]] = min(MOST, differs)
        mv[SLOTS[index]] = centers[k]
        total += differs
    residual = source - predicted
    counts, sums = _coefficients(residual, uni)
    raw = _raw(measure.blocks(residual), uni)
    return Skipped(distortion, min(MOST, total), min(MOST, raw), mv, counts, sums)


def _raw(blocks: Ints, uni: UniversalInput) -> int:
    """The distortion without penalties, or that of the worst block."""
    if not uni.block_based_skip_enable:
        return int(blocks.sum())
    return int(blocks.reshape(4, 4).sum(1).max() if uni.t8x8_flag_for_inter_en else blocks.max())


def _coefficients(residual: Ints, uni: UniversalInput) -> tuple[Ints, Ints]:
    """How many coefficients of each quarter are above their thresholds, and by how much."""
    if not uni.ft_enable:
        return np.zeros(4, np.int64), np.zeros(4, np.int64)
    names = ("dc", *(str(k) for k in range(1, 7)))
    limits = np.array([getattr(uni, f"fwd_t_coeff_threshold_{n}") for n in names])[_FREQUENCY]
    cut = residual.reshape(2, 2, 4, 2, 2, 4).transpose(0, 3, 1, 4, 2, 5).reshape(4, 4, 4, 4)
    over = np.abs(_TRANSFORM @ cut @ _TRANSFORM.T) - limits
    above = np.where(over > 0, over, 0)
    return (above > 0).sum((1, 2, 3)), saturated(above.sum((1, 2, 3)))
