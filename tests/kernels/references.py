"""Every kernel of the tests with its launches and its result by NumPy."""

from __future__ import annotations

import numpy as np

from kernels import reference_arithmetic, reference_conversion
from kernels.case import Array, Buffer, Case, Local, Output, Setup, Value


def _uniform(case: Case, low: float, high: float, shape: int | tuple[int, ...]) -> Array:
    return case.rng().uniform(low, high, shape).astype(np.float32)


def saxpy(case: Case) -> Setup:
    x, y = _uniform(case, -10, 10, (2, case.n))
    a = np.float32(2.5)
    want = np.float64(a) * x + y
    return Setup((Buffer(x), Buffer(y), Value(a)), (Output(1, want, rtol=1e-6, atol=1e-5),))


def sgemm(case: Case) -> Setup:
    (n, m), k = case.global_size, 32
    rng = case.rng()
    a, b, c = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
    alpha, beta = np.float32(1.5), np.float32(-0.5)
    want = alpha * (a.astype(np.float64) @ b) + beta * c
    args = (Buffer(a), Buffer(b), Buffer(c), *map(Value, (np.int32(n), np.int32(k), alpha, beta)))
    return Setup(args, (Output(2, want, rtol=1e-5, atol=1e-5),))


def nbody(case: Case) -> Setup:
    n, rng = case.n, case.rng()
    position = rng.uniform(-1, 1, (n, 4)).astype(np.float32)
    position[:, 3] = rng.uniform(0.5, 2, n)
    velocity = rng.uniform(-1, 1, (n, 4)).astype(np.float32)
    dt, softening = np.float32(0.01), np.float32(0.05)
    p, v = position.astype(np.float64), velocity.astype(np.float64)
    d = p[None, :, :3] - p[:, None, :3]
    weight = p[None, :, 3] * ((d**2).sum(-1) + softening) ** -1.5
    v[:, :3] += dt * (d * weight[..., None]).sum(1)
    moved = np.concatenate([p[:, :3] + dt * v[:, :3], p[:, 3:]], axis=1)
    args = (
        *(Buffer(position), Buffer(velocity), Buffer(np.zeros_like(position))),
        *(Local(16 * case.local_size[0]), Value(np.int32(n)), Value(dt), Value(softening)),
    )
    return Setup(args, (Output(1, v, rtol=1e-4, atol=1e-4), Output(2, moved, rtol=1e-5, atol=1e-5)))


def mandelbrot(case: Case) -> Setup:
    width, height = case.global_size
    x0, y0, step, limit = np.float32(-2.2), np.float32(-1.2), np.float32(3.2 / width), 40
    cx = x0 + np.arange(width, dtype=np.float32)[None, :] * step
    cy = y0 + np.arange(height, dtype=np.float32)[:, None] * step
    x, y = np.zeros((2, height, width), np.float32)
    count = np.zeros((height, width), np.int32)
    for _ in range(limit):
        inside = x * x + y * y <= np.float32(4)
        count += inside
        x, y = (
            np.where(inside, x * x - y * y + cx, x),
            np.where(inside, np.float32(2) * x * y + cy, y),
        )
    args = (Buffer(np.zeros_like(count)), *map(Value, (x0, y0, step, np.int32(limit))))
    return Setup(args, (Output(0, count),))


def reduce(case: Case) -> Setup:
    x = _uniform(case, -1, 1, case.n)
    t = x.reshape(case.groups, -1)
    while t.shape[1] > 1:
        t = t[:, : t.shape[1] // 2] + t[:, t.shape[1] // 2 :]
    partial = np.zeros(case.groups, np.float32)
    args = (Buffer(x), Buffer(partial), Local(4 * case.local_size[0]))
    return Setup(args, (Output(1, t[:, 0]),))


def histogram(case: Case) -> Setup:
    data = case.rng().normal(100, 12, 5 * case.n - 7).astype(np.uint8)
    want = np.bincount(data, minlength=256).astype(np.uint32)
    bins = np.zeros(256, np.uint32)
    return Setup((Buffer(data), Buffer(bins), Value(np.int32(data.size))), (Output(1, want),))


def _atomics(x: Array, i: Array) -> list[int]:
    return [
        *(x.sum(), -x.sum(), x.size, -x.size, min(0, x.min()), max(0, x.max())),
        np.bitwise_and.reduce(~(1 << (i & 15))),
        np.bitwise_or.reduce(1 << (i & 31)),
        *(np.bitwise_xor.reduce(x), 1005),
    ]


def atomics(case: Case) -> Setup:
    x = case.rng().integers(-1000, 1000, case.n)
    start = [0, 0, 0, 0, 0, 0, -1, 0, 0, 5]
    per_group = [_atomics(g, np.arange(case.local_size[0])) for g in x.reshape(case.groups, -1)]
    want = np.array([_atomics(x, np.arange(case.n)), *per_group]).astype(np.int32)
    result = np.array([start] + [[0] * 10] * case.groups, np.int32)
    order = np.zeros(case.n + 1, np.int32)
    args = (Buffer(result), Buffer(x.astype(np.int32)), Buffer(order))
    ids = np.sort(np.append(np.arange(case.n), case.n)).astype(np.int32)
    return Setup(args, (Output(0, want), Output(2, ids, unordered=True)))


def atomics_loop(case: Case) -> Setup:
    x = case.rng().integers(1, 100, case.n).astype(np.float32)
    limits = np.array([0xFFFFFFFF, 0], np.uint32)
    want = np.array([x.min(), x.max()]).view(np.uint32)
    args = (Buffer(limits), Buffer(np.zeros(1, np.int32)), Buffer(x))
    return Setup(args, (Output(0, want), Output(1, x.sum(keepdims=True).view(np.int32))))


def transpose(case: Case) -> Setup:
    width, height = case.global_size
    x = _uniform(case, -1, 1, (height, width))
    args = (Buffer(x), Buffer(np.zeros((width, height), np.float32)))
    return Setup((*args, Value(np.int32(width)), Value(np.int32(height))), (Output(1, x.T.copy()),))


def scan(case: Case) -> Setup:
    x = case.rng().integers(-100, 100, (case.groups, 2 * case.local_size[0])).astype(np.int32)
    total = x.cumsum(axis=1, dtype=np.int32)
    args = (Buffer(x), Buffer(np.zeros_like(x)), Buffer(np.zeros(case.groups, np.int32)))
    local = Local(8 * case.local_size[0])
    return Setup((*args, local), (Output(1, total - x), Output(2, total[:, -1].copy())))


def _normal_cdf(x: Array) -> Array:
    k = 1 / (1 + 0.2316419 * np.abs(x))
    c = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    tail = 0.39894228040 * np.exp(-0.5 * x * x) * sum(w * k ** (e + 1) for e, w in enumerate(c))
    return np.where(x > 0, 1 - tail, tail)


def black_scholes(case: Case) -> Setup:
    price, strike = _uniform(case, 5, 100, (2, case.n))
    years = _uniform(case, 0.25, 10, case.n)
    rate, volatility = np.float32(0.02), np.float32(0.3)
    s, k, t, r, v = (np.asarray(x, np.float64) for x in (price, strike, years, rate, volatility))
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    discounted = k * np.exp(-r * t)
    call = s * _normal_cdf(d1) - discounted * _normal_cdf(d2)
    put = discounted * _normal_cdf(-d2) - s * _normal_cdf(-d1)
    zeros = np.zeros(case.n, np.float32)
    args = (*map(Buffer, (price, strike, years, zeros, zeros)), Value(rate), Value(volatility))
    return Setup(args, tuple(Output(i, w, 1e-5, 1e-4) for i, w in ((3, call), (4, put))))


def convolve3x3(case: Case) -> Setup:
    width, height = case.global_size[0] - 3, case.global_size[1] - 2
    x = _uniform(case, -1, 1, (height, width))
    weight = _uniform(case, -1, 1, (3, 3))
    padded = np.pad(x, 1, mode="edge").astype(np.float64)
    want = sum(
        weight[j, i] * padded[j : j + height, i : i + width] for j in range(3) for i in range(3)
    )
    args = (Buffer(x), Buffer(np.zeros_like(x)), Buffer(weight))
    sizes = (Value(np.int32(width)), Value(np.int32(height)))
    return Setup((*args, *sizes), (Output(1, np.asarray(want), 1e-5, 1e-5),))


def bitonic_sort(case: Case) -> Setup:
    x = case.rng().integers(0, 2**32, 2 * case.n, dtype=np.uint32)
    return Setup((Buffer(x), Local(4 * x.size)), (Output(0, np.sort(x)),))


def switch_lanes(case: Case) -> Setup:
    n = case.n
    x = [int(v) for v in case.rng().integers(0, 4096, n)]
    before, want = np.full(n, 12345, np.int32), np.full(n, 12345, np.int32)
    for i, v in enumerate(x):
        branch = v & 15
        if branch == 9:
            continue
        want[i] = {
            0: 5 * x[(i + 1) % n],
            1: x[(i + 7) % n] - 3,
            2: x[x[(i + 2) % n] & 63],
            3: v // (x[(i + 1) % n] | 1),
            4: v << 3,
            5: v + sum(x[: i & 7]),
            6: (v ^ 77) + 1,
            7: v + 1,
        }.get(branch, -1)
    args = (Buffer(np.array(x, np.int32)), Buffer(before), Value(np.int32(n)))
    return Setup(args, (Output(1, want),))


def switch_uniform(case: Case, branch: int) -> Setup:
    x = case.rng().integers(-4096, 4096, case.n).astype(np.int32)
    want = (
        *(5 * x, x - 3, x[x & 63], np.abs(x) // np.abs(x | 1), x << 3, x ^ 77),
        *(x + 1, x | 9, np.full_like(x, -1)),
    )[min(branch, 8)]
    args = (Buffer(x), Buffer(np.zeros_like(x)), Value(np.int32(branch)))
    return Setup(args, (Output(1, want),))


def control_flow(case: Case) -> Setup:
    x = [int(v) for v in case.rng().integers(0, 2000, 24)]
    x[20] = -7

    def count(i: int) -> int:
        s = 0
        for v in x:
            if int(np.fmod(v, 5)) == i % 5:
                continue
            if v < 0:
                break
            while v > 0:
                s += (v & 1) + (i & 3)
                v >>= 1
                if s > 40:
                    return s
            s = min(s - 1, 20)
        return s

    want = np.array([count(i) for i in range(case.n)], np.int32)
    args = (Buffer(np.array(x, np.int32)), Buffer(np.zeros(case.n, np.int32)))
    return Setup((*args, Value(np.int32(len(x)))), (Output(1, want),))


def collatz(case: Case) -> Setup:
    x = case.rng().integers(0, 400, case.n).astype(np.uint32)

    def steps(v: int) -> int:
        count = 0
        while v > 1:
            v, count = (3 * v + 1 if v & 1 else v // 2), count + 1
        return count

    want = np.array([steps(int(v)) for v in x], np.uint32)
    return Setup((Buffer(x), Buffer(np.zeros_like(x))), (Output(1, want),))


def call_noinline(case: Case) -> Setup:
    n = 9
    x = _uniform(case, -2, 2, case.n)
    p = _uniform(case, -1, 1, n + 1)

    def horner(v: Array, b: float, count: int) -> Array:
        for c in p[:count]:
            v = v * b + c
        return v

    v = x.astype(np.float64)
    want = np.where(v <= 0, -v, horner(v, 0.5, n) + v)
    want += np.where(v < 1, horner(v, 0.25, n // 2), 0)
    args = (Buffer(x), Buffer(p), Buffer(np.zeros_like(x)), Value(np.int32(n)))
    return Setup(args, (Output(2, want, 1e-5, 1e-5),))


PARAMETERS = np.dtype(
    {
        "names": ["scale", "offset", "sign", "step", "weight", "big"],
        "formats": [("f4", 4), "i4", "i1", "i2", ("f4", 3), "i8"],
        "offsets": [0, 16, 20, 22, 24, 40],
        "itemsize": 48,
    }
)
ITEM = np.dtype([("value", "f4"), ("tag", "u1"), ("link", "i4")], align=True)


def struct_argument(case: Case) -> Setup:
    n, rng = case.n, case.rng()
    p = np.zeros((), PARAMETERS)
    p["scale"], p["offset"], p["sign"], p["step"] = (1, -2, 0.5, 8), 1000, -1, -300
    p["weight"], p["big"] = (0.25, 0.5, 0.75), 1 << 40
    items = np.zeros(n, ITEM)
    items["value"] = rng.integers(-100, 100, n)
    items["tag"] = rng.integers(0, 256, n)
    items["link"] = rng.permutation(n)
    i = np.arange(n)
    out = items["value"] * p["scale"][i % 4] - 1000 + p["weight"][i % 3]
    total = (1 << 40) - 300 * items["tag"].astype(np.int64) + items["link"][items["link"]]
    args = (Buffer(items), Buffer(np.zeros(n, np.float32)), Buffer(np.zeros(n, np.int64)))
    return Setup((Value(p[()]), *args), (Output(2, out), Output(3, total)))


def private_array(case: Case) -> Setup:
    x = case.rng().integers(0, 256, (case.n, 32)).astype(np.uint8)
    want = np.zeros((case.n, 16), np.int32)
    for i, row in enumerate(x):
        count = np.bincount(row & 15, weights=np.arange(32), minlength=16)
        want[i] = count[(int(x.flat[i]) + np.arange(16)) & 15]
    return Setup((Buffer(x), Buffer(np.zeros_like(want))), (Output(1, want),))


def private_sort(case: Case) -> Setup:
    x = case.rng().integers(-1000, 1000, (case.n, 12)).astype(np.int32)
    return Setup((Buffer(x), Buffer(np.zeros_like(x))), (Output(1, np.sort(x, axis=1)),))


def private_memory(case: Case) -> Setup:
    x = case.rng().integers(0, 256, (case.n, 32)).astype(np.uint8)
    want = np.zeros(case.n, np.uint32)
    for i, row in enumerate(x):
        table = [k * (i + 1) for k in range(128)]
        for k, byte in enumerate(row):
            a = int(byte) & 127
            b = (a * 7 + k) & 127
            table[a], table[b] = table[b] + 1, table[a]
        total = 0
        for value in table:
            total = (total * 31 + value) % 2**32
        want[i] = total
    return Setup((Buffer(x), Buffer(np.zeros_like(want))), (Output(1, want),))


def print_values(case: Case) -> Setup:
    x, n = np.arange(case.n, dtype=np.float32) / 8 - 1, 5
    lines = [f"item {i} of x: {x[i]:.3f} {i * 17:x} {chr(97 + i)}" for i in range(n)]
    return Setup((Buffer(x), Value(np.int32(n))), prints=tuple(lines))


def print_wide(case: Case) -> Setup:
    big = np.int64(-(1 << 40))
    v = np.array([1, -2.5, 3.25, 1000], np.float32)
    lines = ("no argument", f"{big}    42|42   |00042 7", "1.0,-2.5,3.2,1000.0 100%")
    return Setup((Value(big), Value(v)), prints=lines)


def vector_arguments(case: Case) -> Setup:
    f, v = np.array([1, -2, 0.5, 8], np.float32), np.array([7, -9, 1 << 20], np.int32)
    b, s, c, u = np.array([3, 200], np.uint8), np.int16(-300), np.int8(-5), np.uint64(2**63 + 12345)
    i = np.arange(case.n)
    out = f * i[:, None].astype(np.float32) + np.append(v, s).astype(np.float32)
    mixed = np.array([(int(u) + 3 * 256 + 200 - 5 + k) % 2**64 for k in range(case.n)], np.uint64)
    buffers = (Buffer(np.zeros_like(out)), Buffer(np.zeros_like(mixed)))
    return Setup((*map(Value, (f, v, b, s, c, u)), *buffers), (Output(6, out), Output(7, mixed)))


def vector_memory(case: Case) -> Setup:
    n, rng = case.n, case.rng()
    triple = rng.integers(-50, 50, (n, 3)).astype(np.float32)
    pixel = rng.integers(0, 256, (n, 4)).astype(np.uint8)
    packed = rng.integers(-30000, 30000, (n, 8)).astype(np.int16)
    total = pixel.astype(np.int32) + np.array([0, 1, 2, 3], np.int32)
    total[:, 0] += np.arange(n, dtype=np.int32)
    wide = np.concatenate([packed, packed[:, ::-1]], axis=1).astype(np.float32)
    arrays = (triple, np.zeros_like(triple), pixel, np.zeros_like(total), packed, wide * 0)
    outputs = (Output(1, triple * 2), Output(3, total), Output(5, wide))
    return Setup(tuple(map(Buffer, arrays)), outputs)


def local_pointers(case: Case) -> Setup:
    size = case.local_size[0]
    x = case.rng().integers(-1000, 1000, (case.groups, size)).astype(np.int32)
    fixed = 100 * (np.arange(4)[None, :] + np.arange(case.groups)[:, None])
    second = 0.5 * np.arange(size)[::-1]
    want = np.roll(x, -1, axis=1) + second + fixed[:, np.arange(size) & 3]
    args = (Local(4 * size), Local(4 * size), Buffer(x), Buffer(np.zeros(x.shape, np.float32)))
    return Setup(args, (Output(3, want),))


def constant_table(case: Case) -> Setup:
    x = case.rng().integers(0, 1000, case.n).astype(np.int32)
    weight = np.array([0.5, 0.25, 2, 1, -1, 8, 0.125, 4])
    weighted = [sum(weight[(v + k) & 7] * k for k in range(i % 6)) for i, v in enumerate(x)]
    args = (Buffer(x), Buffer(np.zeros_like(x)), Buffer(np.zeros(case.n, np.float32)))
    return Setup(args, (Output(1, (x & 255) ** 2), Output(2, np.array(weighted))))


def work_items(case: Case) -> Setup:
    g = np.array((*case.global_size, 1, 1)[:3])
    s = np.array((*case.local_size, 1, 1)[:3])
    want = np.zeros((g[2], g[1], g[0], 3, 8), np.uint32)
    for z, y, x in np.ndindex(int(g[2]), int(g[1]), int(g[0])):
        for d, i in enumerate((x, y, z)):
            item = (i, i % s[d], i // s[d], g[d], s[d], g[d] // s[d], 0, len(case.global_size))
            want[z, y, x, d] = item
    return Setup((Buffer(np.zeros_like(want)),), (Output(0, want),))


def empty(case: Case) -> Setup:
    return Setup()


def _switch_uniform_cases() -> tuple[Case, ...]:
    def make(branch: int) -> Case:
        return Case(
            *("switch_case", "switch_uniform", (64,), (64,)),
            make=lambda case: switch_uniform(case, branch),
            variant=f"case{branch}",
        )

    return tuple(make(branch) for branch in (0, 2, 3, 5, 7, 9))


CASES: tuple[Case, ...] = (
    Case("saxpy", "saxpy", (1024,), (64,), saxpy),
    Case("saxpy", "saxpy", (1000,), (40,), saxpy, "part-of-a-thread"),
    Case("saxpy", "saxpy", (7,), (1,), saxpy, "one-item-groups"),
    Case("sgemm", "sgemm", (32, 48), (16, 16), sgemm),
    Case("nbody", "nbody", (128,), (64,), nbody),
    Case("mandelbrot", "mandelbrot", (64, 24), (16, 4), mandelbrot),
    Case("reduce", "reduce", (512,), (128,), reduce),
    Case("reduce", "reduce", (64,), (16,), reduce, "small-groups"),
    Case("histogram", "histogram", (256,), (128,), histogram),
    Case("atomics", "atomics", (192,), (64,), atomics),
    Case("atomics", "atomics_loop", (96,), (48,), atomics_loop),
    Case("transpose", "transpose", (48, 32), (16, 16), transpose),
    Case("scan", "scan", (192,), (64,), scan),
    Case("black_scholes", "black_scholes", (256,), (64,), black_scholes),
    Case("convolve3x3", "convolve3x3", (40, 24), (8, 8), convolve3x3),
    Case("bitonic_sort", "bitonic_sort", (128,), (128,), bitonic_sort),
    Case("switch_case", "switch_lanes", (256,), (64,), switch_lanes),
    *_switch_uniform_cases(),
    Case("control_flow", "control_flow", (64,), (32,), control_flow),
    Case("control_flow", "collatz", (128,), (64,), collatz),
    Case("call_noinline", "call_noinline", (96,), (48,), call_noinline),
    Case("struct_argument", "struct_argument", (96,), (32,), struct_argument),
    Case("private_array", "private_array", (64,), (32,), private_array),
    Case("private_array", "private_sort", (64,), (32,), private_sort),
    Case("private_array", "private_memory", (96,), (48,), private_memory),
    Case("empty", "empty", (64,), (16,), empty),
    Case("print_values", "print_values", (64,), (64,), print_values),
    Case("print_values", "print_wide", (32,), (32,), print_wide),
    Case("vector_arguments", "vector_arguments", (64,), (64,), vector_arguments),
    Case("vector_arguments", "vector_memory", (64,), (32,), vector_memory),
    Case("local_pointers", "local_pointers", (192,), (64,), local_pointers),
    Case("constant_table", "constant_table", (128,), (64,), constant_table),
    Case("work_items", "work_items", (8, 6, 4), (4, 2, 2), work_items),
    Case("work_items", "work_items", (96,), (24,), work_items, "one-dimension"),
    *reference_arithmetic.CASES,
    *reference_conversion.CASES,
)
