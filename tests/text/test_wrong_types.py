"""Integers where an instruction takes floats only: a diagnostic with its place, never a crash."""

from __future__ import annotations

import pytest

from eumu.errors import BuildError
from eumu.lower import lower
from eumu.platforms import platform
from eumu.text import parse


@pytest.mark.parametrize("mnemonic", ["exp", "frc", "sqrt", "rndd", "inv", "sin", "rsqrt", "log"])
def test_integers_for_floats(mnemonic: str) -> None:
    text = f""".version 4.1
.kernel "k"
.decl X v_type=G type=ud num_elts=16 align=GRF
.kernel_attr SimdSize=16
    {mnemonic} (M1, 16) X(0,0)<1> X(0,0)<1;1,0>
    ret (M1, 1)
"""
    kernel = parse(text, "k", 64).kernels[0]
    with pytest.raises(BuildError) as caught:
        lower(kernel, platform("pvc"))
    first = str(caught.value.diagnostics[0])
    assert first.startswith(f"k:5:5: error: dst of {mnemonic} is :ud; it may be ")
