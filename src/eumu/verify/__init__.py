"""The verifier: rules on a decoded program, for one device.

Every rule is a small function in the table :data:`RULES`, with a code, a severity, the page of the
specification and a reason.  The types, modifiers and sizes of an instruction are in its own
declaration.
"""

from eumu.verify import (
    block2d,
    branches,
    declarations,
    execution,
    front_end,
    lsc,
    matrix,
    media,
    messages,
    operands,
    regions,
    render,
    sampler,
    sends,
)
from eumu.verify.check import Editing, check, check_text
from eumu.verify.compiler import BROKEN_BY_THE_COMPILER
from eumu.verify.lints import FAMILIES as LINTS
from eumu.verify.rules import RULES, Rule

FAMILIES = (
    declarations,
    execution,
    operands,
    regions,
    messages,
    lsc,
    block2d,
    branches,
    matrix,
    sampler,
    render,
    media,
    sends,
    branches,
    front_end,
    *LINTS,
)

__all__ = ["BROKEN_BY_THE_COMPILER", "FAMILIES", "RULES", "Editing", "Rule", "check", "check_text"]
