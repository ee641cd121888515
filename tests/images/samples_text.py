"""Kernels of plain vISA text that send one sampler message, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

import eumu

_TEXT = """.version 4.1
.kernel "text"
.decl IMAGE v_type=T num_elts=1 v_name=IMAGE
.decl STATE v_type=S num_elts=1 v_name=STATE
.decl POINTS v_type=G type=uq num_elts=1 align=qword
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl AT v_type=G type=uq num_elts=1 align=qword
.decl IN v_type=G type={type} num_elts={inputs} align=GRF
.decl RESULT v_type=G type={result} num_elts={outputs} align=GRF
.input POINTS offset=32 size=8
.input OUT offset=40 size=8
.input IMAGE offset=48 size=4
.input STATE offset=52 size=4
.kernel_attr Target="3d"
.kernel_attr SimdSize={simd}
.function "text"
{body}
    ret (M1, 1)
"""


@cache
def _program(message: str, simd: int, rows: int, results: int, type: str, wide: str) -> Any:
    pitch = 4 * simd
    body = []
    for k in range(rows * pitch // 32):
        body.append(f"    add (M1, 1) AT(0,0)<1> POINTS(0,0)<0;1,0> {32 * k:#x}:uq")
        body.append(f"    svm_block_ld (2) AT(0,0)<0;1,0> IN.{32 * k}")
    operands = " ".join(f"IN.{pitch * k}" for k in range(rows))
    body.append("    " + message.format(lanes=f"(M1, {simd})", params=operands))
    for k in range(results * pitch // 32):
        body.append(f"    add (M1, 1) AT(0,0)<1> OUT(0,0)<0;1,0> {32 * k:#x}:uq")
        body.append(f"    svm_block_st (2) AT(0,0)<0;1,0> RESULT.{32 * k}")
    text = _TEXT.format(
        type=type,
        result=wide,
        inputs=max(1, rows * simd),
        outputs=results * simd,
        simd=simd,
        body="\n".join(body),
    )
    return eumu.load(text.encode(), device="skl")


def send(
    device: eumu.Device,
    message: str,
    image: Any,
    sampler: Any,
    parameters: Sequence[Any],
    *,
    results: int = 4,
    simd: int = 8,
    dtype: str = "f4",
) -> np.ndarray[Any, Any]:
    """The response [results, lanes] to a message with `{lanes}` and `{params}` in its text.

    Parameters are a number or `simd` of them each, all floats or all integers.
    """
    kind = np.float32 if any(np.asarray(p).dtype.kind == "f" for p in parameters) else np.int32
    rows = np.zeros((max(1, len(parameters)), simd), kind)
    for k, row in enumerate(parameters):
        rows[k] = row
    type, wide = ("f" if kind is np.float32 else "ud"), "ud"
    program = _program(message, simd, len(parameters), results, type, wide)
    out = device.array((results, simd), np.uint32)
    args = [device.array(rows), out, image, sampler]
    program["text"].launch(device, simd, simd, args=args)
    return out.numpy().view(dtype)
