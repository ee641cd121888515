"""vISA: one function per instruction, by family.

Importing this package fills :data:`VISA`.
"""

from eumu.isa.visa import (
    analytics,
    arith,
    bits,
    calls,
    compare,
    fences,
    flow,
    formats,
    four_bits,
    graphics,
    images,
    logic,
    lsc,
    lsc_block2d,
    lsc_counters,
    macros,
    mathematics,
    matrix,
    media,
    move,
    packed,
    render,
    sampler,
    scaling,
    sends,
    surface,
    svm,
    sync,
)
from eumu.isa.visa.registry import VISA

FAMILIES = (
    *(
        arith,
        packed,
        logic,
        bits,
        compare,
        move,
        formats,
        four_bits,
        mathematics,
        macros,
        graphics,
        flow,
        calls,
    ),
    *(surface, svm, lsc, lsc_block2d, lsc_counters, images, sampler, render, scaling, media),
    *(analytics, sends, fences, sync, matrix),
)

__all__ = ["FAMILIES", "VISA"]
