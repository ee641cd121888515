"""The thread payload in both documented orders, read by native code."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from eumu import native
from eumu.exec.grid import Grid, Payload
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.lower_native import lower
from native.native_thread import END
from visa_thread import BASE, FlatHost

ENGINES = {"interp": Interpreter, "jit": Jit}
WIDTH, LOCAL, GROUPS = 16, (16, 2, 1), (3, 1, 1)
# Each work item stores group id * 1000 + local y * 100 + local x + a constant where it belongs.
TEXT = """
(W) mov (1|M0) r20.0<1>:uq {constants}.0<0;1,0>:uq
    mov (16|M0) r22.0<1>:ud {y}.0<16;16,1>:uw
    mul (16|M0) r24.0<1>:ud r22.0<8;8,1>:ud 100:w
    add (16|M0) r24.0<1>:ud r24.0<8;8,1>:ud {x}.0<16;16,1>:uw
(W) mul (1|M0) r26.0<1>:ud r0.1<0;1,0>:ud 1000:w
    add (16|M0) r24.0<1>:ud r24.0<8;8,1>:ud r26.0<0;1,0>:ud
    add (16|M0) r24.0<1>:ud r24.0<8;8,1>:ud {constants}.2<0;1,0>:ud
    mul (16|M0) r28.0<1>:ud r22.0<8;8,1>:ud 16:w
    add (16|M0) r28.0<1>:ud r28.0<8;8,1>:ud {x}.0<16;16,1>:uw
(W) mul (1|M0) r26.1<1>:ud r0.1<0;1,0>:ud 32:w
    add (16|M0) r28.0<1>:ud r28.0<8;8,1>:ud r26.1<0;1,0>:ud
    shl (16|M0) r28.0<1>:ud r28.0<8;8,1>:ud 2:w
    add (8|M0)  r30.0<1>:uq r20.0<0;1,0>:uq r28.0<8;8,1>:ud
    add (8|M8)  r32.0<1>:uq r20.0<0;1,0>:uq r29.0<8;8,1>:ud
    sends (8|M0) null:ud r30 r24 0x4C 0x040681FF
    sends (8|M8) null:ud r32 r25 0x4C 0x040681FF
"""


def _run(payload: Payload, engine: str, **registers: str) -> list[int]:
    program = native.parse(TEXT.format(**registers) + END)
    function = lower(program, WIDTH, payload.size)
    host = FlatHost(4 * 96)
    ENGINES[engine]().run(Grid(function, GROUPS, LOCAL, payload, fuel=10_000), host)
    found: list[int] = host.arena[: 4 * 96].view(np.uint32).tolist()
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_both_orders(engine: str) -> None:
    constants = struct.pack("<QI", BASE, 7).ljust(32, b"\0")
    ids_first = Payload((0,) * 8, 32, 32, 128, constants)
    last = ids_first.constants_first()
    assert (ids_first.size, last.size) == (160, 160)
    assert (last.cross_thread_offset, last.local_id_offset) == (32, 64)
    want = [g * 1000 + y * 100 + x + 7 for g in range(3) for y in range(2) for x in range(16)]
    assert _run(ids_first, engine, x="r1", y="r2", constants="r4") == want
    assert _run(last, engine, x="r2", y="r3", constants="r1") == want
