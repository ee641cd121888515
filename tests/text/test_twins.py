"""The compiler's text lacks the braces of inline assembly: a variable of two blocks comes twice."""

from __future__ import annotations

import numpy as np
import pytest

import eumu
from eumu.errors import BuildError, Severity
from eumu.text.parser import parse_with_diagnostics
from text.oracle import rejected

HEAD = '.version 3.6\n.kernel "twice"\n'
TMP = ".decl tmp v_type=G type=d num_elts=16 align=GRF\n"
PLACES = ".decl AT v_type=G type=ud num_elts=16 align=GRF\n.decl T6 v_type=T num_elts=1\n"
BODY = """.input T6 offset=32 size=4
.kernel_attr Target="cm"
    mov (M1, 16) tmp(0,0)<1> 0x3:d
    mul (M1, 16) tmp(0,0)<1> tmp(0,0)<1;1,0> 0x5:d
    mov (M1, 16) tmp(0,0)<1> 0x7:d
    oword_st (4) T6 0x0:ud tmp.0
    ret (M1, 1)
"""


def test_alike_is_one_variable() -> None:
    module, found = parse_with_diagnostics(HEAD + TMP + PLACES + TMP + BODY)
    assert [(d.severity, d.code) for d in found] == [(Severity.NOTE, "redeclared")]
    assert "line 3" in found[0].message
    assert [v.name for v in module.kernels[0].declarations].count("tmp") == 1


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_it_runs(engine: str) -> None:
    dev = eumu.Device("skl", engine=engine)
    out = dev.array(16, np.int32)
    program = eumu.load((HEAD + TMP + PLACES + TMP + BODY).encode(), device="skl")
    program["twice"].launch(dev, 1, args=[out])
    assert out.numpy().tolist() == [7] * 16


@pytest.mark.parametrize("other", ["type=f num_elts=16", "type=d num_elts=32"])
def test_not_alike_is_an_error(other: str) -> None:
    with pytest.raises(BuildError, match="'tmp' is already declared in line 3"):
        eumu.load((HEAD + TMP + TMP.replace("type=d num_elts=16", other) + PLACES + BODY).encode())


def test_twice_in_braces_is_an_error(genx_ir: str) -> None:
    """There text has its braces, and Intel's front end says the same."""
    braces = BODY.replace("    mov", "{\n" + TMP + TMP + "    mov", 1).replace(
        "    ret", "}\n    ret"
    )
    source = HEAD + TMP + PLACES + braces
    with pytest.raises(BuildError, match="'tmp' is already declared"):
        eumu.load(source.encode())
    assert rejected(genx_ir, source, "SKL")
