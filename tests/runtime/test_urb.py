"""The URB of a device: what a kernel writes to it stays."""

from __future__ import annotations

import numpy as np
import pytest

import eumu

_TEXT = """.version 4.1
.kernel "emit"
.decl HANDLE v_type=G type=ud num_elts=8 align=GRF
.decl DATA v_type=G type=ud num_elts=8 align=GRF
.decl FIRST v_type=G type=ud num_elts=1 align=dword
.input FIRST offset=32 size=4
.kernel_attr SimdSize=8
main:
    mov (M1, 8) HANDLE(0,0)<1> 0x76543210:uv
    shl (M1, 8) HANDLE(0,0)<1> HANDLE(0,0)<1;1,0> 0x1:ud
    add (M1, 8) DATA(0,0)<1> HANDLE(0,0)<1;1,0> FIRST(0,0)<0;1,0>
    add (M1, 8) HANDLE(0,0)<1> HANDLE(0,0)<1;1,0> FIRST(0,0)<0;1,0>
    urb_write_3d (M1, 8) 1 1 %null.0 HANDLE.0 %null.0 DATA.0
    ret (M1, 1)
"""


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_kernels_write_rows_of_the_device(engine: str) -> None:
    device = eumu.Device("skl", engine=engine)
    kernel = eumu.load(_TEXT.encode(), device="skl")["emit"]
    kernel.launch(device, 8, 8, args=[100])
    kernel.launch(device, 8, 8, args=[200])
    rows = device.urb.numpy()
    expected = np.zeros_like(rows)
    for first in (100, 200):
        expected[first + 1 : first + 17 : 2, 0] = np.arange(first, first + 16, 2)
    assert np.array_equal(rows, expected)


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_row_beyond_the_last_is_a_fault(engine: str) -> None:
    device = eumu.Device("skl", engine=engine)
    kernel = eumu.load(_TEXT.encode(), device="skl")["emit"]
    with pytest.raises(eumu.Fault, match="outside the 65536 bytes"):
        kernel.launch(device, 8, 8, args=[len(device.urb.numpy())])
