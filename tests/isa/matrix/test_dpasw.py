"""DPASW: two threads share the left matrix; against NumPy, as text and as compiled."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import eumu
from eumu.errors import Fault
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.text import parse
from isa.matrix.test_dpas import BITS, Case, Matrix, integers, packed, packed_b
from visa_thread import execute

ENGINES: dict[str, Engine] = {"interp": Interpreter(), "jit": Jit(workers=1)}
SOURCE = """
float8 __attribute__((overloadable))
intel_sub_group_f16_f16_split_matrix_mad_k16(int4, int8, float8);
__attribute__((intel_reqd_sub_group_size(8)))
kernel void dpw(global int4 *a, global int8 *b, global float8 *c) {
    int i = get_global_id(0);
    c[i] = intel_sub_group_f16_f16_split_matrix_mad_k16(a[i], b[i], c[i]);
}"""


def copy(source: str) -> str:
    return "\n".join(f"    mov (M1_NM, 8) A({k},0)<1> {source}({k},0)<1;1,0>" for k in range(8))


def run(case: Case, a: Matrix, b: Matrix, engine: str, threads: int = 2) -> bytes:
    """DST of every thread; A lies in R1 (even threads) and R2 (odd ones), half of it in each."""
    shape = f"{case.b}.{case.a}.{case.depth}.{case.repeats}"
    text = f"""
.version 4.1
.kernel "k"
.decl LID v_type=G type=uw num_elts=16 align=GRF
.decl T v_type=G type=uw num_elts=1 align=GRF
.decl P1 v_type=P num_elts=1
.decl DST v_type=G type=d num_elts={8 * case.repeats} align=GRF
.decl B v_type=G type=ud num_elts=64 align=GRF
.decl R1 v_type=G type=ud num_elts=64 align=GRF
.decl R2 v_type=G type=ud num_elts=64 align=GRF
.decl A v_type=G type=ud num_elts=64 align=GRF
.input LID offset=32 size=16
.kernel_attr SimdSize=8
    and (M1_NM, 1) T(0,0)<1> LID(0,0)<0;1,0> 0x8:uw
    cmp.ne (M1_NM, 1) P1 T(0,0)<0;1,0> 0x0:uw
{copy("R1")}
    (!P1) goto (M1, 1) both
{copy("R2")}
both:
    dpasw.{shape} (M1, 8) DST.0 %null.0 B.0 A(0,0)
    ret (M1, 1)
"""
    data = packed(a, case.a)
    registers = -(-len(data) // 32)
    half = 32 * (registers - registers // 2)
    before = {
        "R1": data[:half].ljust(256, b"\xaa"),
        "R2": data[half:].ljust(256, b"\xbb"),
        "B": packed_b(case, b).ljust(256, b"\xff"),
    }
    kernel = parse(text.lstrip(), "dpasw").kernels[0]
    return execute(kernel, before, ["DST"], "dg2", ENGINES[engine], threads=threads)["DST"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("b", "a"), [("s8", "s8"), ("u4", "s8"), ("s2", "u4"), ("u8", "s2")])
def test_halves_of_the_left_matrix(b: str, a: str, engine: str) -> None:
    rng = np.random.default_rng(BITS[a] * 16 + BITS[b])
    for depth, repeats in ((8, 8), (8, 3), (4, 1)):
        case = Case(b, a, depth, repeats, "dg2")
        right, left = (
            integers(rng, b, (case.inner, 8)),
            integers(rng, a, (case.repeats, case.inner)),
        )
        want = (left @ right).astype(np.uint32).tobytes()
        assert run(case, left, right, engine, threads=4) == 4 * want, case


@pytest.mark.parametrize("engine", ENGINES)
def test_a_thread_without_another_one(engine: str) -> None:
    case = Case("s8", "s8", 8, 8, "dg2")
    zeros = np.zeros((case.inner, 8), int), np.zeros((8, case.inner), int)
    with pytest.raises(Fault, match="thread 2 has no other thread to share registers with"):
        run(case, zeros[1], zeros[0], engine, threads=3)


@pytest.mark.parametrize("engine", ENGINES)
def test_as_the_compiler_writes_it(engine: str, ocloc: str) -> None:
    dev = eumu.Device("dg2", engine=engine)
    groups, rng = 3, np.random.default_rng(2)
    a = rng.integers(-4, 5, (groups, 8, 16)).astype(np.float16)
    b = rng.integers(-4, 5, (groups, 2, 16, 8)).astype(np.float16)
    c = rng.integers(-9, 10, (groups, 2, 8, 8)).astype(np.float32)
    # Lane i of a thread has dword i of each of its four rows of A, and column i of B and C.
    half = a.view(np.uint32).reshape(groups, 2, 4, 8).transpose(0, 1, 3, 2)
    pairs = b.reshape(groups, 2, 8, 2, 8).transpose(0, 1, 4, 2, 3).copy().view(np.uint32)
    buffers = [
        dev.array(np.ascontiguousarray(x).reshape(-1))
        for x in (half, pairs, c.transpose(0, 1, 3, 2))
    ]
    kernel = eumu.build(SOURCE, dev)["dpw"]
    report = kernel.launch(dev, groups * 16, 16, buffers)
    assert report.engine == engine
    got = buffers[2].numpy().reshape(groups, 2, 8, 8).transpose(0, 1, 3, 2)
    want = [[a[g].astype(np.float32) @ b[g, t] + c[g, t] for t in (0, 1)] for g in range(groups)]
    assert (got == np.array(want)).all()


def test_matrices_of_one_register() -> None:
    """Then all of it is the even thread's."""
    for engine, repeats in product(ENGINES, (1, 2)):
        case = Case("u2", "u2", 8, repeats, "dg2")
        right, left = np.ones((case.inner, 8), int), np.ones((repeats, case.inner), int)
        got = np.frombuffer(run(case, left, right, engine), np.uint32)
        assert (got == case.inner).all()
