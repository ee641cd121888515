"""All 256 functions of `bfn`; what else integers do is in `test_pairwise.py`."""

from __future__ import annotations

import pytest

from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.text import parse
from visa_thread import execute

ENGINES = {"interp": Interpreter(), "jit": Jit()}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_function(engine: str) -> None:
    """All 256 in one kernel, on operands that have every combination of bits."""
    sources = {"x": 0xAAAAAAAA, "y": 0xCCCCCCCC, "z": 0xF0F0F0F0}
    names = [*sources, *(f"d{table}" for table in range(256))]
    lines = [".version 4.1", '.kernel "k"', ".kernel_attr SimdSize=1"]
    lines += [f".decl {name} v_type=G type=ud num_elts=1" for name in names]
    lines += [
        f"    bfn.x{table:02x} (M1, 1) d{table}(0,0)<1> x(0,0)<0;1,0> y(0,0)<0;1,0> z(0,0)<0;1,0>"
        for table in range(256)
    ]
    kernel = parse("\n".join([*lines, "    ret (M1, 1)", ""])).kernels[0]
    before = {name: bits.to_bytes(4, "little") for name, bits in sources.items()}
    after = execute(kernel, before, names[3:], "pvc", ENGINES[engine])
    for table in range(256):
        want = sum((table >> k % 8 & 1) << k for k in range(32))
        assert int.from_bytes(after[f"d{table}"], "little") == want, f"bfn.x{table:02x}"
