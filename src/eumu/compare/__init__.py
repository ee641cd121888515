"""A kernel in several forms, run on the same inputs, and the first difference between them.

The forms are levels (vISA and its native code) and builds (options, SIMD widths).  What outlives
the run is compared: memory (arrays, images, variables of the program), printed text, and faults.  A
difference in memory is traced back to the first store whose value differs between two forms.
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
