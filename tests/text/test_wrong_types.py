"""Types that an instruction has no operation on: a diagnostic with its place, never a crash."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import pytest

from eumu.errors import BuildError, Unsupported
from eumu.isa.kinds.vector import DestinationKind, SourceKind
from eumu.isa.spec import Field, Opcode
from eumu.isa.visa.registry import VISA
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


def test_a_variable_that_is_too_small_is_no_wrong_type() -> None:
    """The compiler gives coordinates of :ud, which no page lists."""
    text = """.version 4.1
.kernel "k"
.decl X v_type=G type=ub num_elts=16 align=GRF
.kernel_attr SimdSize=16
    media_ld.nomod (16,2) %bss 0 0x0:ud 0x0:ud X.0
    ret (M1, 1)
"""
    with pytest.raises(BuildError) as caught:
        lower(parse(text, "k", 32).kernels[0], platform("dg2"))
    (first,) = caught.value.diagnostics
    assert "media_ld reaches byte 31 of 'X', which has 16 bytes" in str(first)


TYPES = ("b", "ub", "w", "uw", "d", "ud", "q", "uq", "hf", "f", "df", "bf")
SOME = ("b", "q", "hf", "bf")
ELEMENTS = (DestinationKind, SourceKind)


def _of_elements(opcode: Opcode) -> list[Field] | None:
    """The operands of an opcode that has no others but its lanes and a predicate."""
    fields = [f for f in opcode.fields if isinstance(f.kind, ELEMENTS)]
    return fields if {f.name for f in opcode.fields} <= {f.name for f in fields} | _OTHERS else None


_OTHERS = {"exec", "pred"}
OPCODES = {str(o): fields for o in VISA if (fields := _of_elements(o))}


@pytest.mark.parametrize("device", ["skl", "cri"])
@pytest.mark.parametrize("mnemonic", OPCODES)
def test_no_types_are_an_internal_error(mnemonic: str, device: str) -> None:
    """Of the destination, the first source, and the others."""
    fields, target = OPCODES[mnemonic], platform(device)
    for types in [*product(TYPES, TYPES), *(("f", t, u) for t, u in product(SOME, SOME))]:
        own = [types[min(k, len(types) - 1)] for k in range(len(fields))]
        lines = [f".decl X{k} v_type=G type={t} num_elts=64 align=GRF" for k, t in enumerate(own)]
        places = ["<1>" if isinstance(f.kind, DestinationKind) else "<1;1,0>" for f in fields]
        operands = " ".join(f"X{k}(0,0){place}" for k, place in enumerate(places))
        lines += [".kernel_attr SimdSize=16", f"{mnemonic} (M1, 16) {operands}", "ret (M1, 1)"]
        text = "\n".join(['.version 4.1\n.kernel "k"', *lines, ""])
        with suppress(BuildError, Unsupported):
            lower(parse(text, "k", target.grf_bytes).kernels[0], target)
