"""What the driver lists by releases after 22.43: each extension's functions, against NumPy."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from cl.programs import SOURCES, run
from drm.programs import compiled
from eumu.cl.builds import build
from eumu.cl.facts import absent, extensions, features
from eumu.cl.protocol import Form, Wanted
from eumu.platforms import platform

DEVICES = ("tgllp", "dg2", "pvc", "bmg")
ITEMS = 16
DATA = np.random.default_rng(3).integers(0, 1 << 32, (4, ITEMS), np.uint32)
i64 = np.int64


def _octets(words: Any, *, signed: bool) -> Any:
    return words.view(np.int8 if signed else np.uint8).reshape(-1, 4).astype(i64)


def _dots(a: Any, b: Any, c: Any, _: Any) -> Any:
    rows = []
    for signs in ((0, 0), (1, 1), (0, 1), (1, 0)):
        x, y = (_octets(v, signed=bool(s)) for v, s in zip((a, b), signs, strict=True))
        total = (x * y).sum(1)
        start = c.view(np.int32).astype(i64) if any(signs) else c.astype(i64)
        low, high = (-(1 << 31), (1 << 31) - 1) if any(signs) else (0, (1 << 32) - 1)
        rows += [total, total, np.clip(start + total, low, high), np.clip(start + total, low, high)]
    return np.array(rows).astype(np.uint32)


def _dot_rows() -> str:
    rows = []
    for name, x, y, result in (
        ("uu_uint", "uchar4", "uchar4", "uint"),
        ("ss_int", "char4", "char4", "int"),
        ("us_int", "uchar4", "char4", "int"),
        ("su_int", "char4", "uchar4", "int"),
    ):
        vectors = f"as_{x}(a), as_{y}(b)"
        rows += [f"dot_4x8packed_{name}(a, b)", f"dot({vectors})"]
        rows += [f"dot_acc_sat_4x8packed_{name}(a, b, ({result})c)"]
        rows += [f"dot_acc_sat({vectors}, ({result})c)"]
    return "".join(f"o[{k} * n + i] = {row};" for k, row in enumerate(rows))


def _bits(a: Any, b: Any, *_: Any) -> Any:
    inserted = a & ~np.uint32(31 << 3) | (b & 31) << 3
    signed = (a.view(np.int32) << 23 >> 25).view(np.uint32)
    reverse = [int(f"{word:032b}"[::-1], 2) for word in a.tolist()]
    return np.array([inserted, a >> 2 & 127, signed, np.array(reverse, np.uint32)])


# Statements for each work item i of n, with words a, b, c and d of its own; what is then in `o`.
CASES: dict[str, tuple[str, Callable[..., Any]]] = {
    "cl_khr_integer_dot_product": (_dot_rows(), _dots),
    "cl_khr_extended_bit_ops": (
        "o[i] = bitfield_insert(a, b, 3u, 5u); o[n + i] = bitfield_extract_unsigned(a, 2u, 7u);"
        "o[2 * n + i] = bitfield_extract_signed(a, 2u, 7u); o[3 * n + i] = bit_reverse(a);",
        _bits,
    ),
    "cl_khr_expect_assume": (
        "__builtin_assume(n == 16); o[i] = __builtin_expect(a > b, 1) ? a : b;",
        lambda a, b, *_: np.maximum(a, b)[None],
    ),
    "cl_intel_split_work_group_barrier": (
        "l[i] = a; intel_work_group_barrier_arrive(CLK_LOCAL_MEM_FENCE); o[n + i] = b;"
        "intel_work_group_barrier_wait(CLK_LOCAL_MEM_FENCE); o[i] = l[i ^ 15];",
        lambda a, b, *_: np.array([a[::-1], b]),
    ),
    "cl_intel_subgroup_local_block_io": (
        "l[i] = a; barrier(CLK_LOCAL_MEM_FENCE); o[i] = intel_sub_group_block_read(l);"
        "barrier(CLK_LOCAL_MEM_FENCE); intel_sub_group_block_write_us((local ushort *)l, b);"
        "barrier(CLK_LOCAL_MEM_FENCE); o[n + i] = ((local ushort *)l)[i];",
        lambda a, b, *_: np.array([a, b & 0xFFFF]),
    ),
    "cl_intel_bfloat16_conversions": (
        "o[i] = as_uint(intel_convert_as_bfloat16_float(a));"
        "o[n + i] = intel_convert_bfloat16_as_ushort(convert_float(b));",
        lambda a, b, *_: np.array([a << 16, _rounded(b.astype(np.float32))]),
    ),
    "cl_intel_subgroup_buffer_prefetch": (
        "intel_sub_group_block_prefetch_ui4((global uint *)x); o[i] = a;",
        lambda a, *_: a[None],
    ),
}


def _rounded(x: Any) -> Any:
    """Floats as bfloat numbers, to the nearest even one."""
    bits = x.view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _source(statements: str) -> str:
    return (
        f"__attribute__((intel_reqd_sub_group_size({ITEMS})))\n"
        "kernel void k(global uint *x, global uint *o, local uint *l) {\n"
        f"  uint n = {ITEMS}, i = get_local_id(0), a = x[i], b = x[n + i], c = x[2 * n + i],"
        f" d = x[3 * n + i];\n  {statements}\n}}\n"
    )


@pytest.fixture
def newest(newest_ocloc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_functions(name: str, device: str, engine: str, newest: None) -> None:
    if name not in extensions(platform(device)):
        assert name in ("cl_intel_bfloat16_conversions", "cl_intel_subgroup_buffer_prefetch")
        return
    statements, wanted = CASES[name]
    machine = eumu.Device(device, engine)
    want = wanted(*DATA)
    x, out = machine.array(DATA), machine.array(np.zeros(want.shape, np.uint32))
    kernel = eumu.build(_source(statements), device, options="-cl-std=CL3.0")["k"]
    kernel.launch(machine, ITEMS, ITEMS, [x, out, eumu.Local(4 * ITEMS)])
    assert (out.numpy() == want).all()


MATRIX = """
#if TF32
typedef float4 A; typedef float8 B;
#define MAD intel_sub_group_tf32_tf32_matrix_mad_k8
#elif SIMD == 8
typedef int8 A; typedef int8 B;
#define MAD intel_sub_group_bf16_bf16_matrix_mad_k16
#else
typedef short8 A; typedef int8 B;
#define MAD intel_sub_group_bf16_bf16_matrix_mad_k16
#endif
__attribute__((intel_reqd_sub_group_size(SIMD)))
kernel void k(global A *a, global B *b, global float8 *c) {
  uint i = get_local_id(0);
  c[i] = MAD(a[i], b[i], c[i]);
}
"""


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", ["dg2", "pvc", "bmg"])
def test_matrices(device: str, engine: str, newest: None) -> None:
    """Sums of 16 products, rows of A by work items' elements, small whole numbers: exact."""
    assert "cl_intel_subgroup_matrix_multiply_accumulate" in extensions(platform(device))
    simd = 8 if device == "dg2" else 16
    random = np.random.default_rng(5)
    a, b = (random.integers(-8, 9, shape).astype(np.float32) for shape in ((8, 16), (16, simd)))
    c = random.integers(-99, 99, (8, simd)).astype(np.float32)
    short_a, short_b = (_rounded(np.ascontiguousarray(m)).astype(np.uint16) for m in (a, b))
    # Work item i has pairs (of one column of A where it has 16 bits) i, and column i of B in pairs.
    mine_a = short_a.view(np.uint32 if simd == 8 else np.uint16).T
    mine_b = np.ascontiguousarray(short_b.reshape(8, 2, simd).transpose(2, 0, 1))
    machine = eumu.Device(device, engine)
    arrays = [machine.array(np.ascontiguousarray(m)) for m in (mine_a, mine_b, c.T)]
    options = f"-cl-std=CL3.0 -DSIMD={simd} -DTF32=0"
    eumu.build(MATRIX, device, options=options)["k"].launch(machine, simd, simd, arrays)
    assert (arrays[2].numpy() == (c + a @ b).T).all()


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", ["pvc", "bmg"])
def test_matrices_of_tf32(device: str, engine: str, newest: None) -> None:
    """Eight products; work item i has rows 2 k + i / 8 of A in column i % 8."""
    assert "cl_intel_subgroup_matrix_multiply_accumulate_tf32" in extensions(platform(device))
    random = np.random.default_rng(6)
    a, b = (random.integers(-99, 99, shape).astype(np.float32) for shape in ((8, 8), (8, 16)))
    c = random.integers(-99, 99, (8, 16)).astype(np.float32)
    mine_a = a.reshape(4, 2, 8).transpose(1, 2, 0).reshape(16, 4)
    machine = eumu.Device(device, engine)
    arrays = [machine.array(np.ascontiguousarray(m)) for m in (mine_a, b.T, c.T)]
    options = "-cl-std=CL3.0 -DSIMD=16 -DTF32=1"
    eumu.build(MATRIX, device, options=options)["k"].launch(machine, 16, 16, arrays)
    assert (arrays[2].numpy() == (c + a @ b).T).all()


BLOCK = """
__attribute__((intel_reqd_sub_group_size(16)))
kernel void k(global uint *x, global uint *o) {
  uint d[8], i = get_local_id(0);
  intel_sub_group_2d_block_read_32b_8r16x1c(x, 128, 16, 128, (int2)(3, 2), d);
  intel_sub_group_2d_block_write_32b_8r16x1c(o, 64, 8, 64, (int2)(0, 0), d);
}
"""


@pytest.mark.parametrize("device", ["pvc", "bmg"])
def test_blocks_of_two_dimensions(device: str, newest: None) -> None:
    assert "cl_intel_subgroup_2d_block_io" in extensions(platform(device))
    machine = eumu.Device(device)
    data = np.arange(16 * 32, dtype=np.uint32).reshape(16, 32)
    x, out = machine.array(data), machine.array(np.zeros((8, 16), np.uint32))
    eumu.build(BLOCK, device, options="-cl-std=CL3.0")["k"].launch(machine, 16, 16, [x, out])
    assert (out.numpy() == data[2:10, 3:19]).all()


MEDIA = """
__attribute__((intel_reqd_sub_group_size(16)))
kernel void k(read_only image2d_t x, write_only image2d_t o) {
  uchar2 v = intel_sub_group_media_block_read_uc2((int2)(3, 1), 16, 2, x);
  intel_sub_group_media_block_write_uc2((int2)(4, 2), 16, 2, v, o);
}
"""


@pytest.mark.parametrize("device", ["tgllp", "dg2"])
def test_media_blocks(device: str, newest: None) -> None:
    """Coordinates are bytes and rows."""
    assert "cl_intel_media_block_io" in extensions(platform(device))
    machine = eumu.Device(device)
    data = np.arange(8 * 64, dtype=np.uint32).reshape(8, 64).astype(np.uint8)
    x = machine.image(data, format="R8_UINT")
    out = machine.image(np.zeros_like(data), format="R8_UINT")
    eumu.build(MEDIA, device, options="-cl-std=CL3.0")["k"].launch(machine, 16, 16, [x, out])
    want = np.zeros_like(data)
    want[2:4, 4:20] = data[1:3, 3:19]
    assert (out.numpy() == want).all()


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("type", "bits"), [("half", 16), ("float", 32), ("double", 64)])
def test_float_atomics(type: str, bits: int, device: str, engine: str, newest: None) -> None:
    """Small whole numbers: sums are exact. What a device lists of a type and a memory acts."""
    listed = [name for name in features(platform(device)) if f"_ext_fp{bits}_" in name]
    assert bool(listed) == (type != "double" or platform(device).has_double)
    machine = eumu.Device(device, engine)
    x = np.random.default_rng(7).integers(-9, 10, 64).astype(f"f{bits // 8}")
    for name in listed:
        memory, kind = name.split("_")[6], name.split("atomic_")[1]
        calls = {"add": ("add", "sub"), "min_max": ("min", "max")}[kind]
        orders = "memory_order_relaxed, memory_scope_device"
        rows = "".join(
            f"atomic_fetch_{call}_explicit((volatile {memory} atomic_{type} *)p + {n}, x[i],"
            f" {orders});"
            for n, call in enumerate(calls)
        )
        text = (
            f"kernel void k(global {type} *x, global {type} *o) {{ local {type} l[2];"
            " uint i = get_global_id(0); if (i < 2) l[i] = 0; barrier(CLK_LOCAL_MEM_FENCE);"
            f" {memory} {type} *p = {'l' if memory == 'local' else 'o'}; {rows}"
            f" barrier(CLK_LOCAL_MEM_FENCE); if ({int(memory == 'local')} && i < 2) o[i] = l[i]; }}"
        )
        arrays = [machine.array(x), machine.array(np.zeros(2, x.dtype))]
        eumu.build(text, device, options="-cl-std=CL3.0")["k"].launch(machine, 64, 64, arrays)
        want = {"add": [x.sum(), -x.sum()], "min_max": [min(0, x.min()), max(0, x.max())]}[kind]
        assert (arrays[1].numpy() == want).all(), name


@pytest.mark.parametrize("device", DEVICES)
def test_programs_see_the_features(device: str, newest: None) -> None:
    part = platform(device)
    there = [*features(part), *(n for n in extensions(part) if n in CASES and "_khr_" in n)]
    text = "".join(f"#ifndef {name}\n#error {name}\n#endif\n" for name in there)
    text += "".join(f"#ifdef {name}\n#error {name}\n#endif\n" for name in absent(part))
    source = f"{text}kernel void k() {{}}".encode()
    assert build(Wanted.PROGRAM, Form.SOURCE, "-cl-std=CL3.0", [("", source)], part).data


def test_a_release_without_them_lists_none(ocloc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    assert not {*CASES, "cl_intel_media_block_io", "cl_ext_float_atomics"} & {
        *extensions(platform("dg2"))
    }


def test_queries(newest_ocloc: str, ocloc: str, tmp_path: Path) -> None:
    program = compiled(SOURCES / "cl" / "products.c", tmp_path, "OpenCL")

    def said(device: str, compiler: str) -> str:
        done: subprocess.CompletedProcess[str] = run(
            program, EUMU_DEVICE=device, EUMU_OCLOC=compiler
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    assert said("dg2", newest_ocloc) == (
        "floats 70007, doubles 0, halves 40004\n3, all accelerated, version 2.0, instructions 3"
    )
    assert said("pvc", newest_ocloc).startswith("floats 70007, doubles 70007, halves 40004\n")
    last = said("tgllp", newest_ocloc).splitlines()[-1]
    assert last == "3, all accelerated, version 2.0, instructions 1"
    assert said("dg2", ocloc) == "no atomics of floats\nnot listed, instructions 3"
    assert said("skl", ocloc) == "no atomics of floats\nnot listed, instructions 0"
