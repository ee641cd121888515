"""Functions of bfloat numbers, of which the newest compiler makes instructions of :bf."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu

NAMES = ("sin", "cos", "log", "exp", "sqrt", "tanh", "sigm", "inv")
_DECLARED = "ushort __builtin_bf16_{0}(ushort) __attribute__((overloadable));\n"
_STORED = "  o[{1} * 65536 + i] = __builtin_bf16_{0}(i);\n"
SOURCE = (
    "".join(_DECLARED.format(name) for name in NAMES)
    + "kernel void k(global ushort *o) {\n  ushort i = get_global_id(0);\n"
    + "".join(_STORED.format(name, k) for k, name in enumerate(NAMES))
    + "}\n"
)


def _exact(name: str, x: Any) -> Any:
    functions = {"exp": np.exp2, "log": np.log2, "inv": np.reciprocal}
    functions |= {"sigm": lambda x: 1 / (1 + np.exp(-x))}
    with np.errstate(all="ignore"):
        return functions.get(name, getattr(np, name, None))(x.astype(np.float64))


def _widened(bits: Any) -> Any:
    return (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_functions_of_bfloat(
    engine: str, newest_ocloc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All numbers: within one unit in the last place, and special numbers as those of :f."""
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    device = eumu.Device("cri", engine)
    out = device.array(np.zeros(len(NAMES) * 65536, np.uint16))
    eumu.build(SOURCE, "cri")["k"].launch(device, 65536, 64, [out])
    x = _widened(np.arange(65536))
    usual = np.isfinite(x) & ((np.abs(x) >= 2.0**-126) | (x == 0))
    for name, got in zip(NAMES, _widened(out.numpy().reshape(len(NAMES), -1)), strict=True):
        want = _exact(name, x)
        kept = usual & (np.abs(x) < 2**15) if name in ("sin", "cos") else usual
        kept &= (np.abs(want) >= 2.0**-125) | ~np.isfinite(want) | (want == 0)
        nan = np.isnan(want)
        assert (np.isnan(got) == nan)[kept].all(), name
        kept &= ~nan
        unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(want), 2.0**-126))) - 7)
        with np.errstate(invalid="ignore"):
            near = (got == want) | (np.abs(got - want) <= unit)
        large = np.abs(want) >= 2.0**128
        assert (near | large & np.isinf(got))[kept].all(), name
