"""What a message leaves of a spilled variable: seeds 58118 and 75905."""

from __future__ import annotations

import pytest

from eumu import native
from eumu.fuzz.spilled import loses_lanes
from eumu.fuzz.verdicts import SPILLED, verdicts

MESSAGE = "send (8|M8) r61:f r106:uq 0xC 0x04146EFF"
OTHER = "(W) mov (8|M0) r61.0<1>:ud 0x5:uw"
LOAD = "(W) send (8|M0) r61:uw r0 0xA 0x021C0017"
STORE = "(W) sends (8|M0) null:uw r0 r61 0x4A 0x020F0017"
PREDICATED = "(W&f0.0) send (8|M0) r61:f r106:uq 0xC 0x04146EFF"


@pytest.mark.parametrize("message", [MESSAGE, PREDICATED, MESSAGE.replace("r61", "r60")])
def test_lanes_that_are_off_are_lost(message: str) -> None:
    """Two registers come back, so that the store of the second one counts, too."""
    code = [message.replace("0x04146EFF", "0x04246CFF"), STORE]
    assert loses_lanes(native.parse("\n".join(code)))
    assert loses_lanes(native.parse("\n".join([LOAD, OTHER, *code])))


@pytest.mark.parametrize(
    "code",
    [
        (LOAD, MESSAGE, STORE),
        (MESSAGE, OTHER, STORE),
        (MESSAGE, LOAD, STORE),
        (MESSAGE, STORE.replace("r61", "r62")),
        (MESSAGE, STORE.replace("(W) ", "")),
        ("(W) " + MESSAGE, STORE),
        (STORE, MESSAGE),
    ],
)
def test_nothing_is_lost(code: tuple[str, ...]) -> None:
    assert not loses_lanes(native.parse("\n".join(code)))


@pytest.mark.parametrize("seed", [58118, 75905])
def test_a_kernel_that_differs_so_says_it(seed: int, genx_ir: str) -> None:
    """The result of a message in a subroutine; the same is seen without one."""
    assert dict(verdicts([seed])) == {seed: SPILLED}
