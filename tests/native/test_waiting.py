"""Lanes of native code that wait for other lanes of their thread: for ever, as on hardware."""

from __future__ import annotations

import pytest

from eumu import native
from eumu.errors import Fault
from native.native_thread import END, execute
from native.test_runs import ENGINES

# Channel 0 is in the loop until another one, which left it, has written behind the loop: there the
# finalizer gives registers of the loop to other values.  A loop with a fence may wait.
TEXT = """
        mov (8|M0)  r2.0<1>:d        0:d
        mov (8|M0)  r3.0<1>:uw       0x76543210:v
Lagain:
(W)     send (8|M0) r10              r0 0xA 0x0219E000
(W)     mov (8|M0)  r11.0<1>:ud      r10.0<8;8,1>:ud
        cmp (8|M0)  (eq)f0.0 null<1>:w r3.0<8;8,1>:w 0:w
(f0.0)  cmp (8|M0)  (eq)f0.0 null<1>:d r2.1<0;1,0>:d 0:d
(f0.0)  while (8|M0) Lagain
        mov (8|M0)  r2.0<1>:d        1:d
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_it_waits_for_ever(engine: str) -> None:
    program = native.parse(TEXT + END, "waits")
    with pytest.raises(Fault, match="instruction budget") as caught:
        execute(program, bytes(32), ENGINES[engine]())
    assert "lanes of a thread that wait for each other" in str(caught.value)
