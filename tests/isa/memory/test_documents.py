"""Forms that the documents show and Intel's front end does not read; they are read here."""

from __future__ import annotations

import numpy as np
import pytest

from eumu import text
from eumu.errors import Unsupported
from isa.memory.machine import BASE, Thread, noise

PRELUDE = """.version 4.1
.kernel "documents"
.decl V40 v_type=G type=ud num_elts=64 align=GRF
.decl V42 v_type=G type=uq num_elts=64 align=GRF
.decl V43 v_type=G type=ud num_elts=256 align=GRF
.decl T6 v_type=T num_elts=1
.decl P1 v_type=P num_elts=16
"""

# As written -> as printed (None: the same).
FORMS: dict[str, str | None] = {
    "lsc_load_strided.ugm  V43:d32x2  flat[V42, 0x4]:a64": None,
    "lsc_load.ugm (M1,32) V43:d32  bss(V40(0,0))[V42]:a64": (
        "lsc_load.ugm (M1, 32)  V43:d32  bss(V40)[V42]:a64"
    ),
    "lsc_load.ugm (M1, 8) V43:d8u32 flat[V42]:a64": (
        "lsc_load.ugm (M1, 8)  V43:d8c32  flat[V42]:a64"
    ),
    "lsc_load.ugm (M1, 8) V43:d16u32h flat[V42]:a64": (
        "lsc_load.ugm (M1, 8)  V43:d16c32h  flat[V42]:a64"
    ),
    "lsc_load.slm (M1,32) V43:d32x4  flat[0x4*V40-0x10]:a32": (
        "lsc_load.slm (M1, 32)  V43:d32x4  flat[4*V40-0x10]:a32"
    ),
    "lsc_load_quad.tgm V43:d32.xyzw bti(0x4)[V42,V42,V42]:a64": (
        "lsc_load_quad.tgm   V43:d32.xyzw  bti(0x4)[V42, V42, V42]:a64"
    ),
    "lsc_load_quad.tgm (M1, 8) V43:d32.xy bti(0x4)[V40, V40, %null, %null]:a32": (
        "lsc_load_quad.tgm (M1, 8)  V43:d32.xy  bti(0x4)[V40, V40]:a32"
    ),
    "lsc_store_quad.tgm bti(0x4)[V42,V42]:a64 V43:d32.xz": (
        "lsc_store_quad.tgm   bti(0x4)[V42, V42]:a64  V43:d32.xz"
    ),
    "lsc_load_block2d.tgm V43:64x2 bti(0x0)[V40,V40(0,1)]": (
        "lsc_load_block2d.tgm   V43:64x2  bti(0x0)[V40, V40(0,1)]"
    ),
    "lsc_store_block2d.tgm bti(0x0)[V40,V40] V43:33x4": (
        "lsc_store_block2d.tgm   bti(0x0)[V40, V40]  V43:33x4"
    ),
    "lsc_apndctr_atomic_add.ugm  (M1,32) V43:d32 bti(0xA0) V40:d32": (
        "lsc_apndctr_atomic_add.ugm (M1, 32)  V43:d32  bti(0xa0)  V40:d32"
    ),
    "lsc_apndctr_atomic_sub.ugm.uc.uc (M1, 32) V43:d32 bss(V40(0,0)) V40:d32": (
        "lsc_apndctr_atomic_sub.ugm.uc.uc (M1, 32)  V43:d32  bss(V40)  V40:d32"
    ),
    "(P1) lsc_apndctr_atomic_sub.ugm.uc.wb (M1, 16)  %null:d32  ss(V40(0,1))  V40.64:d32": None,
    "dword_atomic.imin (M1, 8) T6 V40.0 V40.0 %null.0 V43.0": (
        "dword_atomic.minsint (M1, 8) T6 V40.0 V40.0 %null.0 V43.0"
    ),
    "svm_atomic.IMAX (M1, 8) V42.0 V43.0 V40.0 %null.0": (
        "svm_atomic.maxsint (M1, 8) V42.0 V43.0 V40.0 %null.0"
    ),
    "dword_atomic.predec (M1, 8) T6 V40.0 %null.0 %null.0 V43.0": None,
    "svm_block_ld.unaligned (4) V42(0,0)<0;1,0> V43.0": None,
    "fence_local.R": None,
    "fence_local.": "fence_local",
}


@pytest.mark.parametrize("written", FORMS)
def test_documented_form(written: str) -> None:
    module = text.parse(PRELUDE + f"    {written}\n")
    printed = FORMS[written] or written
    (inst,) = module.kernels[0].instructions
    assert text.print_instruction(inst).split() == printed.split()
    again = text.parse(PRELUDE + f"    {text.print_instruction(inst)}\n")
    assert text.print_instruction(again.kernels[0].instructions[0]) == text.print_instruction(inst)


@pytest.mark.parametrize(("device", "lanes"), (("dg2", 16), ("pvc", 32)))
def test_without_an_execution_size_it_is_the_native_one(device: str, lanes: int) -> None:
    memory, before = noise(1, 0x400), noise(2, 128)
    addresses = np.arange(32, dtype="<u8") * 4 + BASE
    thread = Thread(device, memory, {"A": addresses.view(np.uint8), "D": before})
    _, after = thread.run("lsc_load.ugm D:d32 flat[A]:a64")
    assert np.array_equal(after["D"], np.r_[memory[: 4 * lanes], before[4 * lanes :]])


def test_what_no_page_describes_is_refused() -> None:
    thread = Thread("pvc", noise(1, 64), {"A": noise(2, 256)})
    with pytest.raises(Unsupported, match="no public page says") as caught:
        thread.run("lsc_read_state_info.tgm A bti(0x1)")
    assert caught.value.span is not None
