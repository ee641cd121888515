"""The number of an inter macroblock type, as AVC numbers those of B slices (H.264, table 7-14)."""

from __future__ import annotations

from typing import Final

_FORWARD, _BACKWARD, _BOTH = 0, 1, 2
# The pairs of directions of two blocks, in the order of the table; 16x8, then 8x16 of each.
_PAIRS: Final = (
    (_FORWARD, _FORWARD),
    (_BACKWARD, _BACKWARD),
    (_FORWARD, _BACKWARD),
    (_BACKWARD, _FORWARD),
    (_FORWARD, _BOTH),
    (_BACKWARD, _BOTH),
    (_BOTH, _FORWARD),
    (_BOTH, _BACKWARD),
    (_BOTH, _BOTH),
)
_QUARTERS: Final = 22


def inter(major: int, directions: tuple[int, ...]) -> int:
    """Of a major shape (0 16x16, 1 16x8, 2 8x16, 3 8x8) and the directions of its blocks.

    >>> inter(0, (0,)), inter(2, (0, 1)), inter(3, (0, 0, 0, 0))
    (1, 9, 22)
    """
    if major == 0:
        return 1 + directions[0]
    if major == 3:
        return _QUARTERS
    return 4 + 2 * _PAIRS.index((directions[0], directions[1])) + (major == 2)
