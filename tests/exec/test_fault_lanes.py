"""A fault names lanes of the thread, whatever block it is in."""

from __future__ import annotations

import pytest

from eumu.errors import Fault
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.text import parse
from visa_thread import execute

TEXT = """\
.version 4.1
.kernel "k"
.decl A v_type=G type=ud num_elts=16 align=GRFx2
.kernel_attr SimdSize=32
    mov (M5_NM, 16) A(0,0)<1> 0x10000:ud
    scatter_scaled.4 (M5, 16) %slm 0x0:ud A.0 A.0
LATER:
    mov (M1_NM, 16) A(0,0)<1> 0x0:ud
    ret (M1, 1)
"""


@pytest.mark.parametrize("engine", [Interpreter(), Jit()], ids=["interp", "jit"])
def test_upper_lanes_of_a_block_that_is_not_the_last(engine: Engine) -> None:
    kernel = parse(TEXT, "k.visaasm").kernels[0]
    with pytest.raises(Fault) as caught:
        execute(kernel, {}, ["A"], "skl", engine)
    assert caught.value.lanes == tuple(range(16, 32))
