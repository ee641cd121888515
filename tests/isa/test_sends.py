"""Messages that the program composes: which are not modelled, and what Intel's assembler says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from eumu.errors import Unsupported
from eumu.exec.interp import Interpreter
from eumu.isa.kinds import Rows
from eumu.isa.visa.lsc_sends import LscMessage
from eumu.lower import lower
from eumu.platforms import platform
from eumu.text import parse
from eumu.types import UD
from runfile import read, run

HEAD = """\
.version 4.1
.kernel "k"
.decl A v_type=G type=ud num_elts=32 align=GRFx2
.decl R v_type=G type=ud num_elts=32 align=GRFx2
.kernel_attr SimdSize=8
"""


@pytest.mark.parametrize(
    ("device", "line", "reason"),
    [
        ("skl", "raw_send (M1, 8) 0x2 1 1 0x2180000:ud A.0 R.0", "'sampler: sample': this form"),
        (
            "skl",
            "raw_send (M1, 8) 0x6 1 0 0x2000000:ud A.0 %null.0",
            "'URB: hword write': it is not",
        ),
        ("skl", "raw_send (M1, 8) 0x3 1 0 A(0,0)<0;1,0> A.0 %null.0", "known at run time only"),
        ("skl", "raw_send (M1, 8) 0xc 1 1 0x213eefe:ud A.0 R.0", "Gen9 has no such message"),
        (
            "pvc",
            "raw_send (M1, 16) 0xa 1 1 0x2100500:ud A.0 R.0",
            "data cache data port 0.* on pvc",
        ),
        ("pvc", "raw_send (M1, 16) 0xd 1 1 0x2100500:ud A.0 R.0", "lsc_load.tgm.*typed messages"),
        ("pvc", "raw_send (M1, 1) 0xf 1 1 0x2100503:ud A.0 R.0", "lsc_load_block2d.ugm"),
        (
            "pvc",
            "raw_send (M1, 16) 0xf 1 1 0x210051d:ud A.0 R.0",
            "lsc_ccs_update.ugm.*not modelled",
        ),
        ("pvc", "raw_send (M1, 16) 0xf 1 1 0x2100f00:ud A.0 R.0", "its data size is reserved"),
    ],
)
def test_a_message_that_is_not_modelled_says_which(device: str, line: str, reason: str) -> None:
    kernel = parse(f"{HEAD}    {line}\n    ret (M1, 1)\n", "k.visaasm").kernels[0]
    with pytest.raises(Unsupported, match=reason) as caught:
        lower(kernel, platform(device))
    assert caught.value.span is not None and caught.value.span.line == 6


def test_the_end_of_a_thread(tmp_path: Path) -> None:
    path = tmp_path / "end.visa"
    path.write_text(
        "// platforms: skl\n// run: -> R=[0]\n"
        f"{HEAD}    raw_sends_eot.7.1.0.0 (M1_NM, 8) 0x27:ud 0x2000010:ud A.0 %null.0 %null.0\n"
        "    mov (M1, 8) R(0,0)<1> 0x1:ud\n    ret (M1, 1)\n"
    )
    file = read(path)
    assert not run(file, file.runs[0], "skl", Interpreter())


# Descriptors, and the operation with its data as the assembler's comment has them.
DESCRIPTORS = {
    0x02100500: "load.slm.d32.a32",
    0x02000504: "store.slm.d32.a32",
    0x0210050C: "atomic_iadd.slm.d32.a32",
    0x02100518: "atomic_and.slm.d32.a32",
    0x0210D580: "load.slm.d32x16t.a64",
    0x02101580: "load.slm.d32x2.a64",
    0x02100B00: "load.slm.d16u32.a32",
    0x02100700: "load.slm.d64.a32",
    0x60100500: "load.slm.d32.a32.bti",
}


@pytest.mark.parametrize("desc", DESCRIPTORS, ids=hex)
def test_fields_of_lsc_descriptors(desc: int, tmp_path: Path) -> None:
    message = LscMessage(14, None, 0, desc, Rows(None, 0, UD), None, Rows(None, 0, UD))  # type: ignore[arg-type]
    bits = {1: 16, 2: 32, 3: 64}[desc >> 7 & 3]
    data = str(message.shape()).replace("c32", "u32")
    model = "" if message.model == "flat" else f".{message.model}"
    assert f"{message.name}.slm.{data}.a{bits}{model}" == DESCRIPTORS[desc]
    if shutil.which("iga64") is None:
        pytest.skip("iga64 is not installed")
    text, code = tmp_path / "t.s", tmp_path / "t.bin"
    text.write_text(f"(W) send.slm (16|M0) r10 r20 r30:0 0x0 {desc:#x}\n")
    subprocess.run(["iga64", "-p=12p72", "-a", text, "-o", code], check=True)
    shown = subprocess.run(
        ["iga64", "-p=12p72", "-d", code], check=True, capture_output=True, text=True
    ).stdout
    found = re.search(r"rd:\d; ([\w.]+)", shown)
    assert found is not None and found[1] == DESCRIPTORS[desc]
