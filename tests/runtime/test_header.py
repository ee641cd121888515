"""What code may take for certain of the header, and what each launch has of its own there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.exec.grid import Grid, RunStats

_TEXT = """.version 4.1
.kernel "header"
.decl out v_type=G type=uq num_elts=1
.decl word v_type=G type=ud num_elts=8
.input out offset=32 size=8
.kernel_attr SimdSize=8
main:
    mov (M1_NM, 8) word(0,0)<1> %r0(0,0)<1;1,0>
    svm_block_st (2) out(0,0)<0;1,0> word.0
    ret (M1, 1)
"""


def _launched(device: eumu.Device, kernel: eumu.Kernel, out: eumu.Array) -> Grid:
    """The grid of a launch."""
    found: list[Grid] = []
    run = device.run

    def noted(grid: Grid, *more: Any) -> tuple[RunStats, str]:
        found.append(grid)
        return run(grid, *more)

    device.run = noted  # type: ignore[method-assign]
    kernel.launch(device, 1, 1, [out])
    device.run = run  # type: ignore[method-assign]
    return found[0]


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_each_launch_has_its_own_header(engine: str) -> None:
    """The memory of an earlier launch of the same code is used again."""
    device = eumu.Device("skl", engine=engine)
    out = device.array(8, np.uint32)
    kernel = eumu.load(_TEXT.encode(), device="skl")["header"]
    grid = _launched(device, kernel, out)
    for varying in (False, True):
        for sampler, table, scratch in ((64, 96, 0), (32, 160, 1024), (64, 96, 2048), (0, 0, 0)):
            r0 = (0, 0, 0, sampler, table, scratch, 0, 0)
            payload = replace(grid.payload, r0=r0, tables_vary=varying)
            device.run(replace(grid, payload=payload))
            assert out.numpy()[3:6].tolist() == [sampler, table, scratch]


def test_code_does_not_depend_on_where_tables_are() -> None:
    """Each launch with images has tables elsewhere; it was compiled anew for each place."""
    pytest.importorskip("llvmlite")
    source = """
    kernel void copy(read_only image2d_t from, global float4 *to) {
        int x = get_global_id(0);
        to[x] = read_imagef(from, (int2)(x, 0));
    }"""
    device = eumu.Device("skl", engine="jit")
    kernel = eumu.build(source, device)["copy"]
    for turn in range(4):
        image = device.image(np.full((1, 16, 4), turn * 17, np.uint8))
        out = device.array((16, 4), np.float32)
        kernel.launch(device, 16, 16, [image, out])
        assert (out.numpy() == np.float32(turn / 15)).all()
    engine: Any = device._get("jit")
    assert len(engine._kernels) == 1
