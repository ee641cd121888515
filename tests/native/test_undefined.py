"""Undefined values in native code, which uses a register for one thing after another."""

from __future__ import annotations

import struct

import pytest

from eumu import native
from eumu.exec.grid import Grid, Payload
from eumu.ir.passes import find_undefined
from eumu.lower_native import lower
from native.native_thread import END
from native.test_runs import ENGINES
from visa_thread import BASE, FlatHost

# A block of 16 bytes, of which one half is written.
TEXT = """
(W)     mov (1|M0)   r6.0<1>:uq    r4.0<0;1,0>:uq
(W)     mov (1|M0)   r14.{half}<1>:uq   r4.0<0;1,0>:uq
(W)     sends (8|M0) null:ud r6 r14 0x4C 0x020D40FF
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("half", [0, 1])
def test_the_first_half_of_the_least_block(half: int, engine: str) -> None:
    """As a frame of a call keeps 8 bytes; of the second half alone that is not so."""
    constants = struct.pack("<Q", BASE).ljust(32, b"\0")
    payload = Payload((0,) * 8, 32, 32, 128, constants)
    function = lower(native.parse(TEXT.format(half=half) + END), 8, payload.size)
    grid = Grid(find_undefined(function), (1, 1, 1), (8, 1, 1), payload, fuel=1000)
    found = ENGINES[engine]().run(grid, FlatHost(64)).findings
    assert len(found) == half
    assert all("undefined stored data in lanes 0-1" in str(finding) for finding in found)
