"""A kernel run in several forms on the same inputs: where they first disagree.

The forms are levels (vISA and the native code beside it) and builds (options, SIMD widths).  What
is compared is all memory that outlives the run (arrays, images, variables of the program), what is
printed, and whether there is a fault; a difference in memory is traced back to the first store that
has another value in one form than in the other.
"""

from eumu.compare.blame import Blame, blame, tell
from eumu.compare.reduce import reduce
from eumu.compare.report import describe
from eumu.compare.search import Difference, Divergence, Ending, Printed, compare
from eumu.compare.sides import Launch, Side, sides

__all__ = [
    "Blame",
    "Difference",
    "Divergence",
    "Ending",
    "Launch",
    "Printed",
    "Side",
    "blame",
    "compare",
    "describe",
    "reduce",
    "sides",
    "tell",
]
