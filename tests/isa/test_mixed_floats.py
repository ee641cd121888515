"""Halves that are computed with into a float: the execution type is that of the float.

The result is not rounded to a half in between.  Intel's compiler relies on it: it folds the
conversions of `(float)a * (float)b` into the sources of a native `mul`.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu import native, text
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from native.native_thread import END, execute
from visa_thread import execute as execute_visa

ENGINES = {"interp": Interpreter, "jit": Jit}
X = np.array([1 / 3, 0.1, 2049, -7.7, 60000, 3e-4, -1e-4, 1.5], np.float16)
Y = np.array([1 / 3, 0.3, 1025, 5.1, 60000, 5e-2, 0, -3.25], np.float16)
WANTED = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "mad": lambda x, y: x * y + x,
}
VISA = """.version 3.6
.kernel "mixed"
.decl X v_type=G type=hf num_elts=8 align=GRF
.decl Y v_type=G type=hf num_elts=8 align=GRF
.decl R v_type=G type=f num_elts=8 align=GRF
.kernel_attr SimdSize=8
    {op} (M1, 8) R(0,0)<1> {sources}
    ret (M1, 1)
"""


def _wanted(op: str) -> NDArray[np.float32]:
    exact = WANTED[op](X.astype(np.float64), Y.astype(np.float64))
    return np.asarray(exact, np.float32)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("op", ["add", "mul", "mad"])
def test_native(op: str, engine: str) -> None:
    if op == "mad":
        code = "mad (8|M0) r10.0<1>:f r1.0<2;1>:hf r1.0<2;1>:hf r2.0<1>:hf"
    else:
        code = f"{op} (8|M0) r10.0<1>:f r1.0<8;8,1>:hf r2.0<8;8,1>:hf"
    before = bytearray(4096)
    before[32:48], before[64:80] = X.tobytes(), Y.tobytes()
    after = execute(native.parse(code + END), before, ENGINES[engine](), 8)
    assert np.frombuffer(after, np.float32, 8, 320).tolist() == _wanted(op).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_fraction(engine: str) -> None:
    """A little below a whole number, the fraction is no half."""
    before = bytearray(4096)
    before[32:48] = X.tobytes()
    code = native.parse("frc (8|M0) r10.0<1>:f r1.0<8;8,1>:hf" + END)
    after = execute(code, before, ENGINES[engine](), 8)
    single = X.astype(np.float32)
    assert np.frombuffer(after, np.float32, 8, 320).tolist() == (single - np.floor(single)).tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("op", ["add", "mul", "mad"])
def test_visa(op: str, engine: str) -> None:
    """The finalizer makes one native instruction of each."""
    x, y = "X(0,0)<1;1,0>", "Y(0,0)<1;1,0>"
    (kernel,) = text.parse(
        VISA.format(op=op, sources=f"{x} {y} {x}" if op == "mad" else f"{x} {y}")
    ).kernels
    values = {"X": X.tobytes(), "Y": Y.tobytes()}
    after = execute_visa(kernel, values, ["R"], "skl", ENGINES[engine]())
    assert np.frombuffer(after["R"], np.float32).tolist() == _wanted(op).tolist()
