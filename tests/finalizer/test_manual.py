"""The example of each instruction's manual page (`eumu explain`) through Intel's finalizer."""

from __future__ import annotations

import pytest

from eumu.compare.differential import pairs
from eumu.compare.finalizer import Refusal
from finalizer.explained import MANUAL, MANUAL_FAULTS, MANUAL_REFUSED, WITHOUT_AN_END
from finalizer.manual import EXAMPLES, compared, made
from finalizer.witness import engines

NAMES = [name for name in EXAMPLES if name not in WITHOUT_AN_END]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_native_code_does_what_the_example_says(name: str, genx_ir: str) -> None:
    example = made(EXAMPLES[name])
    (pair,) = pairs([example.harness])
    if isinstance(pair.native, Refusal):
        assert MANUAL_REFUSED.get(name, "none") in pair.native.message, pair.native.message
        return
    assert name not in MANUAL_REFUSED
    found = compared(example, pair, engines())
    if name in MANUAL:
        assert found.differences, "it does not differ any more"
    else:
        assert not found.differences, "\n".join(found.differences[:4])
    assert bool(found.ends) == (name in MANUAL_FAULTS or name in ENDS_AS_VISA), found.ends


# vISA that ends with an error of its own, where native code goes on or ends elsewhere.
ENDS_AS_VISA = frozenset({"faddr"})


def test_no_row_is_left_over() -> None:
    known = {*MANUAL, *MANUAL_REFUSED, *MANUAL_FAULTS, *WITHOUT_AN_END}
    assert known <= set(EXAMPLES)
    assert len(known) == sum(map(len, (MANUAL, MANUAL_REFUSED, MANUAL_FAULTS, WITHOUT_AN_END)))
