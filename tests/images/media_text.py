"""Kernels of plain vISA text with one instruction of the media sampler."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import eumu

_TEXT = """.version 4.1
.kernel "k"
.decl IMAGE v_type=T num_elts=1 v_name=IMAGE
.decl TARGET v_type=T num_elts=1 v_name=TARGET
.decl STATE v_type=S num_elts=1 v_name=STATE
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl AT v_type=G type=uq num_elts=1 align=qword
.decl PARAMS v_type=G type=f num_elts=8 align=GRF
.decl OFFSETS v_type=G type=w num_elts=32 align=GRF
.decl RESULT v_type=G type=ud num_elts={dwords} align=GRF
.decl PARAMS_UD v_type=G type=ud num_elts=8 alias=<PARAMS, 0>
.decl SENT v_type=G type=ud num_elts=16 align=GRF
.input PARAMS offset=32 size=32
.input OFFSETS offset=64 size=64
.input OUT offset=128 size=8
.input IMAGE offset=136 size=4
.input TARGET offset=140 size=4
.input STATE offset=144 size=4
.kernel_attr Target="3d"
.kernel_attr SimdSize=8
.function "k"
{body}
    ret (M1, 1)
"""


@cache
def program(instruction: str, size: int) -> Any:
    """The kernel of an instruction that leaves `size` bytes in RESULT; `{name}` are parameters."""
    names = {f"p{k}": f"PARAMS(0,{k})<0;1,0>" for k in range(8)}
    body = ["    " + instruction.format(**names)]
    for k in range(size // 32):
        body.append(f"    add (M1, 1) AT(0,0)<1> OUT(0,0)<0;1,0> {32 * k:#x}:uq")
        body.append(f"    svm_block_st (2) AT(0,0)<0;1,0> RESULT.{32 * k}")
    text = _TEXT.format(dwords=max(size // 4, 8), body="\n".join(body))
    return eumu.load(text.encode(), device="skl")


def ask(
    device: eumu.Device,
    instruction: str,
    image: Any,
    state: Any,
    parameters: Any = (),
    *,
    size: int = 0,
    dtype: str = "u1",
    offsets: Any = None,
    target: Any = None,
    groups: int = 1,
) -> np.ndarray[Any, Any]:
    """What an instruction leaves in `size` bytes of registers, rounded up to whole ones."""
    whole = -(-size // 32) * 32
    out = device.array((max(whole, 32),), np.uint8)
    row = np.zeros(8, np.float32)
    row[: len(parameters)] = parameters
    pairs = np.zeros(32, np.int16) if offsets is None else np.asarray(offsets, np.int16).ravel()
    args = [row, pairs, out, image, target if target is not None else image, state]
    program(instruction, whole)["k"].launch(device, 8 * groups, 8, args=args)
    return out.numpy()[:size].view(dtype)
