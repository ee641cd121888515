"""Conversions of every 16-bit value: `mov` from hf, bf, uw and w to every type, also saturating."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eumu.compare.nans import unequal_bits
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.text import parse
from eumu.types import BF, HF, TYPES, UW, F, Type, W
from visa_thread import Buffer, execute

ENGINES = {"interp": Interpreter(), "jit": Jit(workers=1)}
COUNT = 1 << 16
LANES = 32
Array = np.ndarray[Any, Any]

NUMBERS = tuple(TYPES[n] for n in ("ub", "b", "uw", "w", "ud", "d", "uq", "q", "hf", "f", "df"))
TARGETS = {HF: NUMBERS, UW: NUMBERS, W: NUMBERS, BF: (F, BF)}


def program(source: Type, saturate: bool) -> str:
    """All values, 32 at a time: read from IN, converted to each type, written to its buffer."""
    targets = TARGETS[source]
    names = [f"{t.name.upper()}" for t in targets]
    sat = ".sat" if saturate else ""
    out = [
        ".version 4.1",
        '.kernel "k"',
        f".decl X v_type=G type={source} num_elts={LANES} align=GRF",
    ]
    for name, type in zip(names, targets, strict=True):
        out.append(f".decl {name} v_type=G type={type} num_elts={LANES} align=GRFx2")
        out.append(f".decl A_{name} v_type=G type=uq num_elts=1")
    out += [
        ".decl A_IN v_type=G type=uq num_elts=1",
        ".decl N v_type=G type=d num_elts=1",
        ".decl AT v_type=G type=uq num_elts=1",
        ".decl P1 v_type=P num_elts=1",
        ".kernel_attr SimdSize=32",
        "    or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud",
        f"    mov (M1_NM, 1) N(0,0)<1> {COUNT // LANES}:d",
        "again:",
        "    svm_block_ld (4) A_IN(0,0)<0;1,0> X.0",
        "    add (M1_NM, 1) A_IN(0,0)<1> A_IN(0,0)<0;1,0> 0x40:ud",
    ]
    for name, type in zip(names, targets, strict=True):
        out += _convert(name, type, sat)
    out += [
        "    add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> -1:d",
        "    cmp.gt (M1_NM, 1) P1 N(0,0)<0;1,0> 0:d",
        "    (P1) jmp (M1_NM, 1) again",
        "    ret (M1, 1)",
        "",
    ]
    return "\n".join(out)


def _convert(name: str, type: Type, sat: str) -> list[str]:
    lines = []
    step = 16 if type.size == 8 else LANES  # two registers at a time
    for first in range(0, LANES, step):
        row = f"({first * type.size // 64},0)"
        lines.append(f"    mov{sat} (M1_NM, {step}) {name}{row}<1> X(0,{first})<1;1,0>")
    size = LANES * type.size
    for start in range(0, size, 128):
        part = min(128, size - start)
        lines.append(f"    svm_block_st ({part // 16}) A_{name}(0,0)<0;1,0> {name}.{start}")
        lines.append(f"    add (M1_NM, 1) A_{name}(0,0)<1> A_{name}(0,0)<0;1,0> {part:#x}:ud")
    return lines


def wanted(source: Type, target: Type, saturate: bool) -> Array:
    """What NumPy makes of all values."""
    patterns = np.arange(COUNT, dtype=np.uint16)
    if source is BF:
        values: Array = (patterns.astype(np.uint32) << 16).view(np.float32)
    else:
        values = patterns.view(source.dtype)
    with np.errstate(all="ignore"):
        if target.is_int:
            return _integers(values, target, saturate)
        if saturate:
            values = np.where(values > 0, np.minimum(values, 1), 0).astype(values.dtype)
        if target is BF:
            return (values.view(np.uint32) >> 16).astype(np.uint16)
        return values.astype(target.dtype)


def _integers(values: Array, target: Type, saturate: bool) -> Array:
    """Floats truncate and clamp, a NaN is 0; integers wrap, or clamp to the type."""
    is_float = values.dtype.kind == "f"
    exact = np.nan_to_num(values, nan=0).astype(np.int64) if is_float else values.astype(np.int64)
    if saturate or is_float:
        exact = np.clip(exact, target.minimum, min(target.maximum, 1 << 62))
    result = exact.astype(target.dtype)
    if is_float:
        result[np.isposinf(values)], result[np.isneginf(values)] = target.maximum, target.minimum
    return result


@pytest.mark.parametrize("saturate", [False, True], ids=["plain", "sat"])
@pytest.mark.parametrize("source", TARGETS, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_16_bit_value(engine: str, source: Type, saturate: bool) -> None:
    names = {t.name.upper(): t for t in TARGETS[source]}
    buffers = [Buffer("IN", 2 * COUNT, "A_IN")]
    buffers += [Buffer(f"B_{n}", t.size * COUNT, f"A_{n}") for n, t in names.items()]
    before = {"IN": np.arange(COUNT, dtype=np.uint16).tobytes()}
    kernel = parse(program(source, saturate)).kernels[0]
    results = [b.name for b in buffers[1:]]
    after = execute(kernel, before, results, "pvc", ENGINES[engine], buffers=buffers)
    for name, type in names.items():
        got = np.frombuffer(after[f"B_{name}"], type.dtype)
        want = wanted(source, type, saturate)
        patterns = (v.astype(type.dtype).view(f"u{type.size}") for v in (got, want))
        wrong = unequal_bits(type, *patterns)
        assert not wrong.any(), f"{type} <- {source}: {wrong.nonzero()[0][:5]}"
