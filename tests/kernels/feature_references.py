"""The kernels of `features/` with their launches and their results by NumPy and Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np

from kernels.case import Buffer, Case, Local, Output, Setup, Value
from kernels.feature_integers import (
    I32,
    byte_products,
    byte_products_by_name,
    functions,
    integers_of,
    of_bytes,
    of_int,
    of_long,
    of_uint,
    quotient,
    signed,
    xe_instructions,
)

FEATURES = Path(__file__).resolve().parent / "features"


@dataclass(frozen=True, slots=True)
class Feature:
    """A source with what its head comment says: devices, compiler options, what is expected."""

    name: str
    devices: tuple[str, ...]
    options: str = ""
    internal_options: str = ""
    expect: str = ""

    @property
    def path(self) -> Path:
        return FEATURES / f"{self.name}.cl"


def _read(path: Path) -> Feature:
    facts = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        word, colon, rest = line.removeprefix("// ").partition(":")
        if line.startswith("// ") and colon:
            facts[word.replace(" ", "_")] = rest.strip()
    devices = tuple(facts.pop("devices").split())
    return Feature(path.stem, devices, **facts)


PROGRAMS = {path.stem: _read(path) for path in sorted(FEATURES.glob("*.cl"))}


# ---- barriers and fences


def split_barrier(case: Case) -> Setup:
    x = integers_of(case, np.int32)
    local = np.arange(case.n) % case.local_size[0]
    start = np.arange(case.n) - local
    want = x[start + (local ^ 21)] + x[np.arange(case.n) ^ 1] * np.int32(3)
    args = (Buffer(x), Buffer(np.zeros_like(x)), Local(4 * case.local_size[0]))
    return Setup(args, (Output(1, want),))


def named_barrier(case: Case) -> Setup:
    x = integers_of(case, np.int32)
    local = np.arange(case.n) % case.local_size[0]
    want = x[np.arange(case.n) - local + (local ^ 37)]
    args = (Buffer(x), Buffer(np.zeros_like(x)), Local(4 * case.local_size[0]))
    return Setup(args, (Output(1, want),))


def fences(case: Case) -> Setup:
    x, i = integers_of(case, np.int32), np.arange(case.n)
    want = np.concatenate([x[i ^ 1], x[i ^ 3]])
    args = (Buffer(x), Buffer(np.zeros_like(want)), Local(4 * case.n))
    return Setup(args, (Output(1, want),))


# ---- surfaces


def bindless_dwords(case: Case) -> Setup:
    y = integers_of(case, np.int32)
    want = np.zeros_like(y)
    want[:100] = y[:100][::-1] * np.int32(3)
    args = (Buffer(np.zeros_like(y)), Buffer(y), Value(np.int32(100)))
    return Setup(args, (Output(0, want),))


def bindless_bytes(case: Case) -> Setup:
    y = case.rng().integers(0, 256, 4 * case.n).astype(np.uint8)
    sums = y + np.tile(np.arange(1, 5, dtype=np.uint8), case.n)
    want = np.concatenate([sums, y[7:8]])
    args = (Buffer(np.zeros_like(want)), Buffer(y), Value(np.int32(len(y))))
    return Setup(args, (Output(0, want),))


# ---- matrices


def matrix_product(case: Case) -> Setup:
    """Element k of a row of `a` is in dword k // 2 of the row; lane i has column i of `b`, `c`."""
    lanes, rng = 16, case.rng()
    a = rng.uniform(-1, 1, (case.groups, 8, 16)).astype(np.float16)
    b = rng.uniform(-1, 1, (case.groups, 16, 16)).astype(np.float16)
    c = rng.uniform(-1, 1, (case.groups, 8, 16)).astype(np.float32)
    want = c.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64)
    rows = a.view(np.int32).reshape(case.groups, 4, lanes).transpose(0, 2, 1)
    columns = np.ascontiguousarray(b.transpose(0, 2, 1)).view(np.int32)
    args = (Buffer(rows), Buffer(columns), Buffer(c.transpose(0, 2, 1)))
    return Setup(args, (Output(2, want.transpose(0, 2, 1), rtol=1e-5, atol=1e-5),))


def split_matrix_product(case: Case) -> Setup:
    """A pair of sub-groups shares `a`: each has half of its rows and lends the other the rest."""
    pairs, lanes, rng = case.n // 16, 8, case.rng()
    a = rng.uniform(-1, 1, (pairs, 8, 16)).astype(np.float16)
    b = rng.uniform(-1, 1, (pairs, 2, 16, lanes)).astype(np.float16)
    c = rng.uniform(-1, 1, (pairs, 2, 8, lanes)).astype(np.float32)
    want = c.astype(np.float64) + a[:, None].astype(np.float64) @ b.astype(np.float64)
    halves = a.view(np.int32).reshape(pairs, 2, 4, lanes).transpose(0, 1, 3, 2)
    columns = np.ascontiguousarray(b.transpose(0, 1, 3, 2)).view(np.int32)
    args = (Buffer(halves), Buffer(columns), Buffer(c.transpose(0, 1, 3, 2)))
    return Setup(args, (Output(2, want.transpose(0, 1, 3, 2), rtol=1e-5, atol=1e-5),))


# ---- instructions by name


def inline_assembly(case: Case) -> Setup:
    x = case.rng().uniform(-9, 9, (2, case.n)).astype(np.float32)
    b = (np.arange(case.n, dtype=np.int32) * 5) % 7
    floats = np.concatenate([x[0] * x[1], x[1]])
    args = (Buffer(x.reshape(-1)), Buffer(b))
    return Setup(args, (Output(0, floats), Output(1, np.where(b > 3, b, 9).astype(np.int32))))


def atomic_float(case: Case) -> Setup:
    n = case.n
    total = np.array([n, n * (n - 1) // 2], np.float32)
    args = (Buffer(np.zeros(2, np.float32)), Buffer(np.zeros(n, np.float32)))
    before = Output(1, np.arange(n, dtype=np.float32), unordered=True)
    return Setup(args, (Output(0, total), before))


def bfloat16(case: Case) -> Setup:
    x = case.rng().normal(0, 100, case.n).astype(np.float32)
    x[:6] = 0.0, -0.0, np.inf, 1e-40, 3.4e38, np.float32(1 + 2**-8)
    bits = x.view(np.uint32).astype(np.uint64)
    narrow = (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)
    b = case.rng().integers(0, 0x7F80, case.n).astype(np.uint16)
    wide = (b.astype(np.uint32) << 16).view(np.float32)
    args = (Buffer(x), Buffer(np.zeros_like(b)), Buffer(b), Buffer(np.zeros_like(x)))
    return Setup(args, (Output(1, narrow), Output(3, wide)))


def hardware_ids(case: Case) -> Setup:
    """What each machine answers is its own; `test_features` looks at it."""
    return Setup((Buffer(np.full(4 * case.n, 0xFFFF_FFFF, np.uint32)),))


# ---- functions, pointers, memory


def _polynomial(a: int, b: int, p: list[int]) -> int:
    return signed(reduce(lambda a, x: a * b + x, p[:10], a))


def _through(a: int, p: list[int], n: int) -> int:
    return a if n <= 0 else _polynomial(a, 2, p) + a


def _calls(case: Case, n: int, results: Callable[[list[int], int], int]) -> Setup:
    x = case.rng().integers(-99, 99, case.n + 1).astype(np.int32)
    values = [signed(results(x.tolist(), i)) for i in range(case.n)]
    args = (Buffer(x), Buffer(np.zeros(case.n, np.int32)), Value(np.int32(n)))
    return Setup(args, (Output(1, np.array(values, np.int32)),))


def two_calls(case: Case) -> Setup:
    return _calls(case, 1, lambda x, i: _through(x[i], x, 1) + _polynomial(x[i + 1], 3, x))


def one_call(case: Case) -> Setup:
    return _calls(case, 1, lambda x, i: _through(x[i], x, 1 - i % 3))


def generic_pointers(case: Case) -> Setup:
    which = int(case.variant)
    x, n = case.rng().integers(-99, 99, case.n).astype(np.int32), case.n
    own = np.array([sum(x[(i + k) % n] + which for k in range(8)) for i in range(n)])
    sums = {1: np.full(n, x[:8].sum()), 2: np.full(n, 2 * x[:8].sum()), 3: own}[which]
    spaces = np.full(n, {1: 2, 2: 1, 3: 4}[which])
    want = np.concatenate([sums, spaces]).astype(np.int32)
    # Intel's compiler took pointers to private memory for pointers to global memory.
    compiled = np.concatenate([sums, np.full(n, 2)]) if which == 3 else None
    args = (Buffer(x), Buffer(np.zeros_like(want)), Local(4 * n), Value(np.int32(which)))
    return Setup(args, (Output(1, want, compiled=compiled, compiled_now=want),))


def spill(case: Case) -> Setup:
    a = case.rng().integers(0, 1 << 32, (case.n, 96)).astype(np.uint32)
    r = a.astype(np.uint64).T.copy()
    for _ in range(5):
        for k in range(96):
            r[k] = (r[k] * r[(k * 5 + 1) % 96] + r[(k * 11 + 3) % 96]) & 0xFFFFFFFF
    return Setup((Buffer(a),), (Output(0, r.T.astype(np.uint32)),))


def sub_group_of_16(case: Case) -> Setup:
    a, b = case.rng().uniform(-9, 9, (2, case.n)).astype(np.float32)
    n = case.n - 5
    want = np.where(np.arange(case.n) < n, a * b, a)
    return Setup((Buffer(a), Buffer(b), Value(np.int32(n))), (Output(0, want),))


def group_of_16x16(case: Case) -> Setup:
    width, height = case.global_size
    x = case.rng().integers(0, 99, (height, width)).astype(np.float32)
    y, i = np.mgrid[:height, :width]
    local = (i % 16) + 16 * (y % 16)
    want = x[i % 16, y % 16] + width + height // 16 + 1 + 0 + 2 + 0 + local
    args = (Buffer(x), Buffer(np.zeros_like(x)), Value(np.int32(width)))
    return Setup(args, (Output(1, want.astype(np.float32)),))


def collectives(case: Case) -> Setup:
    x = case.rng().integers(-99, 99, case.n).astype(np.int32)
    v = x.reshape(-1, 16)
    s = np.arange(16)
    before = np.concatenate([np.full((len(v), 1), I32.min), v[:, :-1]], axis=1)
    down = np.concatenate([v[:, 1:], v[:, :1] + 1], axis=1)
    up = np.concatenate([v[:, -2:] + 2, v[:, :-2]], axis=1)
    per_group = case.local_size[0] // 16
    numbers = np.arange(len(v)) % per_group + 16 * per_group + 16
    bits = 2 * (v > -90).all(1) + (v > 90).any(1)
    rows = [
        np.repeat(v.sum(1), 16), np.maximum.accumulate(before, 1), np.minimum.accumulate(v, 1),
        np.repeat(v[:, 3] + bits, 16), v[:, s ^ 1], down, up, v[:, s ^ 4], np.repeat(numbers, 16),
    ]  # fmt: skip
    want = np.array([np.asarray(r).reshape(-1) for r in rows]).astype(np.int32)
    names = ("add", "max", "min", "broadcast", "shuffle", "down", "up", "xor", "ids")
    return Setup((Buffer(x), Buffer(np.zeros_like(want))), (Output(1, want, rows=names),))


def blocks(case: Case) -> Setup:
    count = case.n * 4
    args: list[Buffer] = []
    for dtype in (np.uint32, np.uint16, np.uint64):
        args += [Buffer(integers_of(case, dtype, count)), Buffer(np.zeros(count, dtype))]
    a, c, e = (args[k].array for k in (0, 2, 4))
    reversed_rows = a.reshape(-1, 4, 16)[:, ::-1].reshape(-1)
    tripled = c * np.uint16(3)
    outputs = (Output(1, reversed_rows), Output(3, tripled), Output(5, e + np.uint64(1)))
    return Setup(tuple(args), outputs)


def blocks_of_8(case: Case) -> Setup:
    x = integers_of(case, np.uint32, case.n * 8)
    v = x.reshape(-1, 8, 8)
    first = v[:, 0].reshape(-1)
    more = first[np.arange(case.n) ^ 1].reshape(-1, 1, 8)
    want = (v[:, ::-1] + more).reshape(-1)
    args = (Buffer(x), Buffer(np.zeros_like(x)), Local(4 * case.n))
    return Setup(args, (Output(1, want),))


# ---- switches and loops


def _case_of(x: int, v: list[int], i: int) -> list[int]:
    """What the first five cases of both switches give."""
    return [
        5 * v[i + 1], v[i + 7] - 3, v[v[i + 2] & 63], quotient(x, v[i + 1] | 1), x << 3,
    ]  # fmt: skip


def of_lanes(case: Case) -> Setup:
    v = case.rng().integers(-1, 11, case.n + 64).astype(np.int32)
    values, n = v.tolist(), 12

    def result(i: int) -> int:
        x = values[i]
        more = {5: x + sum(values[:n]), 6: (x ^ 77) + 1, 7: x + 1, 9: -100}
        return _case_of(x, values, i)[x] if 0 <= x < 5 else more.get(x, -1)

    want = np.array([signed(result(i)) for i in range(case.n)], np.int32)
    args = (Buffer(v), Buffer(np.zeros_like(want)), Value(np.int32(n)))
    return Setup(args, (Output(1, want),))


def of_all(case: Case) -> Setup:
    v, n = case.rng().integers(-99, 99, case.n + 64).astype(np.int32), int(case.variant)
    values = v.tolist()

    def result(i: int) -> int:
        x = values[i]
        cases = [*_case_of(x, values, i), x ^ 77, x + 1, x * values[i + 3], x]
        return cases[n]

    want = np.array([signed(result(i)) for i in range(case.n)], np.int32)
    args = (Buffer(v), Buffer(np.zeros_like(want)), Value(np.int32(n)))
    return Setup(args, (Output(1, want),))


def nested(case: Case) -> Setup:
    v = case.rng().integers(0, 1 << 12, case.n).astype(np.int32)
    v[::3] = np.arange(case.n)[::3]
    v[case.n - 4] = -1

    def result(i: int) -> int:
        s = 0
        for k in v.tolist():
            if k == i:
                continue
            if k < 0:
                break
            while k > 0:
                s, k = s + (k & 1), k >> 1
                if s > 20 + i:
                    return s
            s = min(s - 1, 10)
        return s

    want = np.array([result(i) for i in range(case.n)], np.int32)
    args = (Buffer(v), Buffer(np.zeros_like(want)), Value(np.int32(case.n)))
    return Setup(args, (Output(1, want),))


# ---- vectors


def vectors(case: Case) -> Setup:
    n, rng = case.n, case.rng()
    a = rng.integers(0, 256, (n, 16)).astype(np.uint8)
    f = rng.uniform(-9, 9, (n, 3)).astype(np.float32)
    s = rng.integers(0, 1 << 16, (n + 1, 4)).astype(np.uint16)
    m = rng.integers(-(1 << 60), 1 << 60, (n + 1, 4)).astype(np.int64)
    c = rng.integers(-99, 99, 16).astype(np.int32)
    t = np.zeros((n, 4), np.uint16)
    arrays = (a, a * 0, f, f * 0, s, t, m, m[1:] * 0, c)
    sums = m[1:] + c[np.arange(n) & 15].astype(np.int64)[:, None]
    # The fourth element of a vector of three is nobody's.
    three = s[1:].astype(np.float64)
    three[:, 3] = np.nan
    outputs = (Output(1, a[:, ::-1].copy()), Output(3, f[:, ::-1].copy()), Output(7, sums))
    return Setup(tuple(map(Buffer, arrays)), outputs)


def large_vectors(case: Case) -> Setup:
    n, rng = case.n, case.rng()
    q = rng.integers(I32.min, I32.max, (n + 1, 16)).astype(np.int32)
    d = rng.uniform(-9, 9, n + 1)
    pairs = np.stack([d[:-1] * 2, d[1:]], 1)
    arrays = (q, q[1:] * 0, d, pairs * 0)
    with np.errstate(over="ignore"):
        outputs = (Output(1, q[1:] * np.int32(3)), Output(3, pairs))
    return Setup(tuple(map(Buffer, arrays)), outputs)


def program_memory(case: Case) -> Setup:
    a = case.rng().integers(-99, 99, case.n).astype(np.int32)
    want = ((a & 15) + 1 + 5).astype(np.int32)
    return Setup((Buffer(a),), (Output(0, want),))


CASES = (
    Case("split_barrier", "split_barrier", (128,), (64,), split_barrier),
    Case("named_barrier", "named_barrier", (128,), (64,), named_barrier),
    Case("matrix_product", "matrix_product", (64,), (16,), matrix_product),
    Case("split_matrix_product", "split_matrix_product", (64,), (16,), split_matrix_product),
    Case("xe_instructions", "xe_instructions", (64,), (32,), xe_instructions),
    Case("inline_assembly", "inline_assembly", (64,), (32,), inline_assembly),
    Case("atomic_float", "atomic_float", (128,), (32,), atomic_float),
    Case("bfloat16", "bfloat16", (64,), (32,), bfloat16),
    Case("stack_calls", "two_calls", (64,), (32,), two_calls),
    Case("stack_calls", "one_call", (64,), (32,), one_call),
    Case("byte_products", "byte_products", (64,), (32,), byte_products),
    Case("byte_products_by_name", "byte_products_by_name", (64,), (32,), byte_products_by_name),
    *(
        Case("generic_pointers", "generic_pointers", (32,), (32,), generic_pointers, which)
        for which in ("1", "2", "3")
    ),
    Case("hardware_ids", "hardware_ids", (128,), (32,), hardware_ids),
    Case("integers", "of_int", (64,), (32,), functions(np.int32, of_int())),
    Case("integers", "of_uint", (64,), (32,), functions(np.uint32, of_uint())),
    Case("integers", "of_long", (64,), (32,), functions(np.int64, of_long())),
    Case("integers", "of_bytes", (32,), (32,), of_bytes),
    Case("fences", "fences", (64,), (64,), fences),
    Case("bindless_buffers", "bindless_dwords", (128,), (64,), bindless_dwords),
    Case("bindless_buffers", "bindless_bytes", (64,), (32,), bindless_bytes),
    Case("required_sizes", "sub_group_of_16", (64,), (32,), sub_group_of_16),
    Case("required_sizes", "group_of_16x16", (32, 32), (16, 16), group_of_16x16),
    Case("spill", "spill", (32,), (16,), spill),
    Case("sub_groups", "collectives", (128,), (64,), collectives),
    Case("sub_groups", "blocks", (64,), (64,), blocks),
    Case("sub_groups_of_8", "blocks_of_8", (32,), (32,), blocks_of_8),
    Case("switches", "of_lanes", (64,), (32,), of_lanes),
    *(Case("switches", "of_all", (32,), (32,), of_all, f"{n}") for n in (0, 2, 3, 7, 8)),
    Case("switches", "nested", (64,), (32,), nested),
    Case("vector_memory", "vectors", (64,), (32,), vectors),
    Case("vector_memory", "large_vectors", (32,), (16,), large_vectors),
    Case("vector_memory", "program_memory", (64,), (32,), program_memory),
)
