"""Both engines, and what they left in memory side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.compare.nans import unequal_bits
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import host as processor
from eumu.types import Type

SCRATCH_BYTES = 16 << 10  # with room for what the finalizer spills


@cache
def engines() -> dict[str, Engine]:
    """Both; the fast one with little effort of LLVM's."""
    quick = Jit(workers=1, processor=replace(processor(), effort=0, numbering=False))
    return {"interp": Interpreter(), "jit": quick}


def differences(
    types: Mapping[str, tuple[Type, int]], want: Mapping[str, bytes], got: Mapping[str, bytes]
) -> list[str]:
    """The first element of each variable that is another one; NaNs of any kind are one."""
    return [
        f"{name}[{k}] is {y[k]:#x} natively, {x[k]:#x} as vISA"
        for name, type in ((n, t) for n, (t, _) in types.items() if n in want)
        for x, y in [_elements(type, want[name], got[name])]
        for k in _unequal(type, x, y)[:1]
    ]


def _elements(type: Type, *data: bytes) -> list[NDArray[Any]]:
    return [np.frombuffer(d, f"<u{type.size}") for d in data]


def _unequal(type: Type, x: NDArray[Any], y: NDArray[Any]) -> Sequence[int]:
    return np.flatnonzero(unequal_bits(type, x, y)).tolist()
