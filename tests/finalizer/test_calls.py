"""Calls and returns of one lane in wider kernels, which the finalizer makes as wide as the kernel.

The vISA pages CALL and RET say that a scalar call goes as a whole if its predicate is true.  The
finalizer gives every call and return the kernel's SIMD size and leaves the predicate as it is, so
that each lane goes by a bit of its own.  Where all bits are the same, as with .any and .all, that
is no difference.
"""

from __future__ import annotations

import pytest

from eumu.compare.differential import Pair, grid, pairs
from eumu.compare.finalizer import Refusal
from eumu.compare.harness import wrap
from eumu.exec.host import Engine
from finalizer.witness import engines
from visa_thread import FlatHost

SIMD = 16
VALUES = (0, 0xFFFF, 0xA5C3, 0x5A3C)
FORMS = ("P", "!P", "P.any", "!P.any", "P.all", "!P.all")


def text(form: str, exec: str) -> str:
    """Lanes that call set bit 0, those that stay in the subroutine bit 1."""
    return f"""\
.version 4.1
.kernel "calls"
.decl Z v_type=G type=d num_elts={SIMD} align=GRF
.decl BITS v_type=G type=ud num_elts=1
.decl P v_type=P num_elts={SIMD}
.kernel_attr SimdSize={SIMD}
    setp (M1_NM, {SIMD}) P BITS(0,0)<0;1,0>
    ({form}) call ({exec}) twice
    setp (M1_NM, {SIMD}) P 0xffff:ud
    call (M1, {SIMD}) all
    ret (M1, 1)
.function "twice"
twice:
    or (M1, {SIMD}) Z(0,0)<1> Z(0,0)<1;1,0> 1:d
    ret (M1, {SIMD})
.function "all"
all:
    setp (M1_NM, {SIMD}) P BITS(0,0)<0;1,0>
    ({form}) ret ({exec})
    or (M1, {SIMD}) Z(0,0)<1> Z(0,0)<1;1,0> 2:d
    ret (M1, {SIMD})
"""


def run(pair: Pair, level: str, engine: Engine, bits: int) -> bytes:
    host = FlatHost(pair.harness.size)
    image = pair.harness.image({"BITS": bits.to_bytes(4, "little")})
    host.arena[: len(image)] = list(image)
    host.run(grid(pair.function(level), host.base), engine)
    return pair.harness.results(bytes(host.results[: pair.harness.size]))["Z"]


@pytest.mark.parametrize("mask", ["M1", "M1_NM"])
@pytest.mark.parametrize("form", FORMS)
def test_one_lane(form: str, mask: str, genx_ir: str) -> None:
    """As the text says for predicates of equal bits; else as a call of all lanes."""
    one, wide = pairs(wrap(text(form, e), ["Z", "BITS"]) for e in (f"{mask}, 1", f"M1, {SIMD}"))
    assert not isinstance(one.native, Refusal), one.native
    for bits in VALUES:
        is_one = bits in (0, 0xFFFF) or "." in form
        for engine in engines().values():
            wanted = run(one if is_one else wide, "visa", engine, bits)
            assert run(one, "native", engine, bits) == wanted, (form, hex(bits))


def test_the_levels_differ(genx_ir: str) -> None:
    (pair,) = pairs([wrap(text("P", "M1_NM, 1"), ["Z", "BITS"])])
    (interpreter, _) = engines().values()
    first, last = (run(pair, level, interpreter, 0xA5C3) for level in ("visa", "native"))
    assert first == (1).to_bytes(4, "little") * SIMD  # bit 0 is set: all go, and all come back
    assert last == b"".join(
        (1 if 0xA5C3 >> k & 1 else 2).to_bytes(4, "little") for k in range(SIMD)
    )
