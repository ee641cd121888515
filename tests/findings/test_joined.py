"""An access without a line of the source has the lines that make its address."""

from __future__ import annotations

import numpy as np
import pytest

import eumu

ENGINES = ("interp", "jit")
BRANCHES = """
inline float one_of(global const float *p, int rows, int columns, int i, int j)
{
    if (rows == 1)
        return p[j];
    else if (columns == 1)
        return p[i * rows];
    else
        return p[i * rows + j];
}
kernel void f(global const int *s, global const float *p, global float *o)
{
    int k = get_global_id(0);
    float x = one_of(p, s[0], s[1], k / s[2], k % s[2]);
    if (k < s[3])
        o[k] = x;
}
"""
_HEAD = """.version 4.1
.kernel "k"
.decl A v_type=G type=uq num_elts=16 align=GRF
.decl B v_type=G type=uq num_elts=16 align=GRF
.decl D v_type=G type=ud num_elts=16 align=GRF
.decl P1 v_type=P num_elts=16
.decl OUT v_type=G type=uq num_elts=1 align=qword
.input OUT offset=64 size=8
.kernel_attr SimdSize=16
.kernel_attr PerThreadInputSize=0
    FILE "k.cl"
    LOC 1
    mov (M1, 16) A(0,0)<1> OUT(0,0)<0;1,0>
    mov (M1, 16) B(0,0)<1> OUT(0,0)<0;1,0>
    mov (M1, 16) D(0,0)<1> 0x0:ud
    setp (M1, 16) P1 0xff:uw
"""
_LOAD = """    LOC 0
    lsc_load.ugm (M1, 16)  D:d32  flat[A]:a64
    ret (M1, 1)
"""


def notes_of(fault: eumu.Fault) -> list[str]:
    return [note for note in fault.finding.notes if "no line" in note]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("device", "level"), [("pvc", "visa"), ("skl", "visa"), ("skl", "native")])
def test_accesses_of_branches_that_the_compiler_joins(
    device: str, level: str, engine: str, ocloc: str
) -> None:
    dev = eumu.Device(device, engine=engine)
    s = dev.array(np.array([2, 2, 1, 3], np.int32))
    p, o = dev.array(4, np.float32), dev.array(16, np.float32)
    kernel = eumu.build(BRANCHES, dev)["f"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 16, 16, [s, p, o], level=level)
    (note,) = notes_of(caught.value)
    lines = {int(word.rstrip(",").rpartition(":")[2]) for word in note.split() if ".cl:" in word}
    assert lines >= {5, 7, 9} and lines <= set(range(4, 10))
    assert note in str(caught.value)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("    LOC 2\n    add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 0x1000000:uq\n", [2]),
        # Predicated: what was there before is still there in other lanes.
        ("    LOC 2\n    (P1) add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 0x1000000:uq\n", [1, 2]),
        # Half of the register.
        ("    LOC 2\n    add (M1, 8) A(0,0)<1> A(0,0)<1;1,0> 0x1000000:uq\n", [1, 2]),
        # What has no line either leads further.
        (
            "    LOC 3\n    add (M1, 16) B(0,0)<1> B(0,0)<1;1,0> 0x1000000:uq\n"
            "    LOC 0\n    mov (M1, 16) A(0,0)<1> B(0,0)<1;1,0>\n",
            [3],
        ),
        # Two ways to the access.
        (
            "    LOC 4\n    (P1) goto (M1, 16) other\n"
            "    LOC 5\n    add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 0x1000000:uq\n"
            "    goto (M1, 16) both\n"
            "other:\n    LOC 6\n    add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 0x2000000:uq\n"
            "both:\n",
            [5, 6],
        ),
        # Another register does not count.
        (
            "    LOC 2\n    add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 0x1000000:uq\n"
            "    LOC 7\n    add (M1, 16) B(0,0)<1> B(0,0)<1;1,0> 0x1:uq\n",
            [2],
        ),
    ],
)
def test_which_writes_count(body: str, lines: list[int]) -> None:
    dev = eumu.Device("pvc", engine="interp")
    kernel = eumu.load((_HEAD + body + _LOAD).encode(), device="pvc")["k"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 16, 16, [dev.array(16, np.int32)])
    (note,) = notes_of(caught.value)
    assert note.rpartition(" at ")[2] == ", ".join(f"k.cl:{line}" for line in lines)


def test_a_loop_ends() -> None:
    """Writes that lead to themselves, and many lines."""
    adds = "".join(
        f"    LOC {n}\n    (P1) add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> {n:#x}:uq\n"
        for n in range(10, 30)
    )
    body = (
        "again:\n"
        + adds
        + "    LOC 0\n    add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 0x1000000:uq\n"
        + "    cmp.eq (M1, 16) P1 D(0,0)<1;1,0> 0x1:ud\n    (P1) goto (M1, 16) again\n"
    )
    dev = eumu.Device("pvc", engine="interp")
    kernel = eumu.load((_HEAD + body + _LOAD).encode(), device="pvc")["k"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 16, 16, [dev.array(16, np.int32)])
    (note,) = notes_of(caught.value)
    assert note.endswith("k.cl:15, k.cl:16 and 13 more lines")


def test_without_lines_there_is_no_note() -> None:
    text = (_HEAD + _LOAD).replace('    FILE "k.cl"\n    LOC 1\n', "")
    text = text.replace("OUT(0,0)<0;1,0>\n", "0x10:uq\n", 1)
    dev = eumu.Device("pvc", engine="interp")
    kernel = eumu.load(text.encode(), device="pvc")["k"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, 16, 16, [dev.array(16, np.int32)])
    assert notes_of(caught.value) == []
