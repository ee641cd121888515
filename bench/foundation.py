"""The kernels that the project began with, as items."""

from __future__ import annotations

import numpy as np
from item import Array, Data, Item, LocalBytes, Pairs, Step, floats

i32, f32 = np.int32, np.float32


def saxpy(n: int) -> Item:
    return Item(
        "saxpy",
        "saxpy",
        data=lambda r: {"x": floats(r, n), "y": floats(r, n), "a": f32(2)},
        steps=(Step("saxpy", (n,), (256,), ("x", "y", "a")),),
        check=lambda b, a: [(a["y"], 2 * b["x"] + b["y"])],
        flops=2 * n,
        bytes=12 * n,
        small=lambda: saxpy(1 << 16),
    )


def sgemm(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        matrices = {name: floats(r, n, n) for name in "abc"}
        return {**matrices, "n": i32(n), "k": i32(n), "alpha": f32(1), "beta": f32(0)}

    return Item(
        "sgemm",
        "sgemm",
        data=data,
        steps=(Step("sgemm", (n, n), (16, 16), ("a", "b", "c", "n", "k", "alpha", "beta")),),
        check=lambda b, a: [(a["c"], b["a"] @ b["b"])],
        flops=2 * n**3,
        bytes=12 * n * n,
        small=lambda: sgemm(96),
    )


def nbody(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        return {
            **{"p": floats(r, n, 4), "v": floats(r, n, 4), "out": np.zeros((n, 4), f32)},
            **{"tile": LocalBytes(16 * 256), "n": i32(n), "dt": f32(0.01), "soft": f32(0.1)},
        }

    def check(b: Data, a: Data) -> Pairs:
        some = slice(0, n, n // 64)
        d = b["p"][None, :, :3] - b["p"][some, None, :3]
        weight = b["p"][None, :, 3] * ((d.astype(np.float64) ** 2).sum(-1) + 0.1) ** -1.5
        moved = b["v"][some, :3] + 0.01 * (d * weight[..., None]).sum(1)
        return [(a["v"][some, :3], moved)]

    step = Step("nbody", (n,), (256,), ("p", "v", "out", "tile", "n", "dt", "soft"))
    return Item(
        "nbody",
        "nbody",
        data=data,
        steps=(step,),
        check=check,
        flops=20 * n * n,
        bytes=64 * n,
        small=lambda: nbody(1024),
    )


def mandelbrot(n: int) -> Item:
    step = f32(3 / n)

    def data(r: np.random.Generator) -> Data:
        corner = {"x0": f32(-2), "y0": f32(-1.5), "step": step, "limit": i32(256)}
        return {"count": np.zeros((n, n), i32), **corner}

    def check(b: Data, a: Data) -> Pairs:
        rows = np.arange(0, n, max(1, n // 16))
        cx = f32(-2) + np.arange(n, dtype=f32)[None, :] * step
        cy = f32(-1.5) + rows.astype(f32)[:, None] * step
        x, y = np.zeros((2, len(rows), n), f32)
        count = np.zeros(x.shape, i32)
        for _ in range(256):
            inside = x * x + y * y <= 4
            count += inside
            x, y = (
                np.where(inside, x * x - y * y + cx, x),
                np.where(inside, f32(2) * x * y + cy, y),
            )
        return [(a["count"][rows], count)]

    return Item(
        "mandelbrot",
        "mandelbrot",
        data=data,
        steps=(Step("mandelbrot", (n, n), (32, 8), ("count", "x0", "y0", "step", "limit")),),
        check=check,
        # About 70 turns a point of 8 operations each.
        flops=8 * 70 * n * n,
        bytes=4 * n * n,
        small=lambda: mandelbrot(96),
        rtol=0.0,
    )


def reduce(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        return {"x": floats(r, n), "out": np.zeros(n // 256, f32), "t": LocalBytes(4 * 256)}

    return Item(
        "reduce",
        "reduce",
        data=data,
        steps=(Step("reduce", (n,), (256,), ("x", "out", "t")),),
        check=lambda b, a: [(a["out"], b["x"].reshape(-1, 256).sum(1))],
        flops=n,
        bytes=4 * n,
        small=lambda: reduce(1 << 14),
    )


def histogram(n: int, items: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        return {"x": r.integers(0, 256, n, np.uint8), "bins": np.zeros(256, np.uint32), "n": i32(n)}

    return Item(
        "histogram",
        "histogram",
        data=data,
        steps=(Step("histogram", (items,), (256,), ("x", "bins", "n")),),
        check=lambda b, a: [(a["bins"], b["bins"] + np.bincount(b["x"], minlength=256))],
        flops=0,
        bytes=n,
        small=lambda: histogram(1 << 16, 1 << 13),
        rtol=0.0,
    )


def transpose(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        return {"x": floats(r, n, n), "y": np.zeros((n, n), f32), "w": i32(n), "h": i32(n)}

    return Item(
        "transpose",
        "transpose",
        data=data,
        steps=(Step("transpose", (n, n), (16, 16), ("x", "y", "w", "h")),),
        check=lambda b, a: [(a["y"], b["x"].T)],
        flops=0,
        bytes=8 * n * n,
        small=lambda: transpose(128),
        rtol=0.0,
    )


def scan(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        x = r.integers(0, 100, n, i32)
        sums = np.zeros(n // 512, i32)
        return {"x": x, "y": np.zeros_like(x), "sums": sums, "t": LocalBytes(4 * 512)}

    def check(b: Data, a: Data) -> Pairs:
        total = b["x"].reshape(-1, 512).cumsum(1)
        return [(a["y"], total - b["x"].reshape(-1, 512)), (a["sums"], total[:, -1])]

    return Item(
        "scan",
        "scan",
        data=data,
        steps=(Step("scan", (n // 2,), (256,), ("x", "y", "sums", "t")),),
        check=check,
        flops=0,
        bytes=8 * n,
        small=lambda: scan(1 << 15),
        rtol=0.0,
    )


def _cdf(x: Array) -> Array:
    k = 1 / (1 + 0.2316419 * np.abs(x))
    c = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    series = sum(w * k ** (e + 1) for e, w in enumerate(c))
    tail = 0.39894228040 * np.exp(-0.5 * x * x) * series
    return np.asarray(np.where(x > 0, 1 - tail, tail))


def black_scholes(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        given = {"s": floats(r, n) * f32(90) + f32(10), "k": floats(r, n) * f32(90) + f32(10)}
        out = {"call": np.zeros(n, f32), "put": np.zeros(n, f32)}
        years = floats(r, n) + f32(0.25)
        return {**given, "t": years, **out, "rate": f32(0.02), "vol": f32(0.3)}

    def check(b: Data, a: Data) -> Pairs:
        s, k, t = (b[name].astype(np.float64) for name in "skt")
        d1 = (np.log(s / k) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
        d2 = d1 - 0.3 * np.sqrt(t)
        discounted = k * np.exp(-0.02 * t)
        yield a["call"], s * _cdf(d1) - discounted * _cdf(d2)
        yield a["put"], discounted * _cdf(-d2) - s * _cdf(-d1)

    step = Step("black_scholes", (n,), (256,), ("s", "k", "t", "call", "put", "rate", "vol"))
    return Item(
        "black_scholes",
        "black_scholes",
        data=data,
        steps=(step,),
        check=check,
        flops=100 * n,
        bytes=20 * n,
        small=lambda: black_scholes(1 << 13),
    )


def convolve3x3(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        images = {"x": floats(r, n, n), "y": np.zeros((n, n), f32)}
        return {**images, "weight": floats(r, 9), "w": i32(n), "h": i32(n)}

    def check(b: Data, a: Data) -> Pairs:
        p, w = np.pad(b["x"], 1, mode="edge"), b["weight"].reshape(3, 3)
        yield a["y"], sum(w[j, i] * p[j : j + n, i : i + n] for j in range(3) for i in range(3))

    return Item(
        "convolve3x3",
        "convolve3x3",
        data=data,
        steps=(Step("convolve3x3", (n, n), (32, 8), ("x", "y", "weight", "w", "h")),),
        check=check,
        flops=18 * n * n,
        bytes=8 * n * n,
        small=lambda: convolve3x3(96),
    )


def bitonic_sort(n: int) -> Item:
    """One group, as the kernel sorts within a group: this is mostly the launch."""
    return Item(
        "bitonic_sort",
        "bitonic_sort",
        data=lambda r: {"x": r.integers(0, 1 << 32, 2 * n, np.uint32), "t": LocalBytes(8 * n)},
        steps=(Step("bitonic_sort", (n,), (n,), ("x", "t")),),
        check=lambda b, a: [(a["x"], np.sort(b["x"]))],
        flops=0,
        bytes=16 * n,
        small=lambda: bitonic_sort(256),
        rtol=0.0,
    )


def arithmetic_double(n: int) -> Item:
    def check(b: Data, a: Data) -> Pairs:
        x, y, z, out = b["a"], b["b"], b["c"], a["out"].reshape(10, n)
        rows = (x + y, x - y, x * y, x * y + z, -x, abs(x), np.fmin(x, y), np.fmax(x, y))
        return zip(out, rows, strict=False)

    return Item(
        "double",
        "arithmetic_double",
        data=lambda r: {**{name: r.random(n) - 0.5 for name in "abc"}, "out": np.zeros(10 * n)},
        steps=(Step("float_arithmetic", (n,), (256,), ("a", "b", "c", "out")),),
        check=check,
        flops=10 * n,
        bytes=8 * 13 * n,
        small=lambda: arithmetic_double(1 << 13),
        rtol=1e-9,
        source_options="-DT=double -DINT=long",
        source_name="float_arithmetic",
    )


def arithmetic_long(n: int) -> Item:
    def check(b: Data, a: Data) -> Pairs:
        x, y, z, out = b["a"], b["b"], b["c"], a["out"].reshape(10, n)
        rows = (x + y, x - y, x * y, x * y + z, -x, np.minimum(x, y), np.maximum(x, y))
        return [(got & 0xFFFF, want & 0xFFFF) for got, want in zip(out, rows, strict=False)]

    return Item(
        "long",
        "arithmetic_long",
        data=lambda r: {
            **{name: r.integers(-1 << 40, 1 << 40, n) for name in "abc"},
            **{"out": np.zeros(10 * n, np.int64)},
        },
        steps=(Step("integer_arithmetic", (n,), (256,), ("a", "b", "c", "out")),),
        check=check,
        flops=0,
        bytes=8 * 13 * n,
        small=lambda: arithmetic_long(1 << 13),
        rtol=0.0,
        source_options="-DT=long",
        source_name="integer_arithmetic",
    )


def switch_case(n: int) -> Item:
    def check(b: Data, a: Data) -> Pairs:
        x = b["x"].astype(np.int64)
        x0, x1, i = np.roll(x, -1), np.roll(x, -7), np.arange(n)
        part = np.concatenate([[0], x[:7].cumsum()])
        near = x[np.minimum(np.roll(x, -2) & 63, n - 1)]
        branches = (5 * x0, x1 - 3, near, x // (x0 | 1), x << 3, x + part[i & 7], (x ^ 77) + 1)
        want = np.choose(np.minimum(x & 15, 8), (*branches, x + 1, -1))
        return [(a["y"], np.where(x & 15 == 9, 0, want))]

    return Item(
        "switch_case",
        "switch_case",
        data=lambda r: {"x": r.integers(0, 4096, n, i32), "y": np.zeros(n, i32), "n": i32(n)},
        steps=(Step("switch_lanes", (n,), (256,), ("x", "y", "n")),),
        check=check,
        flops=0,
        bytes=8 * n,
        small=lambda: switch_case(1 << 13),
        rtol=0.0,
    )


def call_noinline(n: int) -> Item:
    def check(b: Data, a: Data) -> Pairs:
        x = b["x"].astype(np.float64)

        def horner(scale: float, count: int) -> Array:
            v = x
            for c in b["p"][:count]:
                v = v * scale + c
            return v

        want = np.where(x <= 0, -x, horner(0.5, 32) + x)
        return [(a["y"], want + np.where(x < 1, horner(0.25, 16), 0))]

    return Item(
        "call_noinline",
        "call_noinline",
        data=lambda r: {
            **{"x": floats(r, n) * f32(4) - f32(2), "p": floats(r, 33)},
            **{"y": np.zeros(n, f32), "n": i32(32)},
        },
        steps=(Step("call_noinline", (n,), (256,), ("x", "p", "y", "n")),),
        check=check,
        flops=56 * n,
        bytes=8 * n,
        small=lambda: call_noinline(1 << 13),
    )


_PARAMETERS = np.dtype(
    {
        "names": ["scale", "offset", "sign", "step", "weight", "big"],
        "formats": [("f4", 4), "i4", "i1", "i2", ("f4", 3), "i8"],
        "offsets": [0, 16, 20, 22, 24, 40],
        "itemsize": 48,
    }
)
_RECORD = np.dtype([("value", "f4"), ("tag", "u1"), ("link", "i4")], align=True)


def struct_argument(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        p, records = np.zeros((), _PARAMETERS), np.zeros(n, _RECORD)
        p["scale"], p["offset"], p["sign"], p["step"] = (1, -2, 0.5, 8), 1000, -1, -300
        p["weight"], p["big"] = (0.25, 0.5, 0.75), 1 << 40
        records["value"], records["tag"] = r.integers(-100, 100, n), r.integers(0, 256, n)
        records["link"] = r.permutation(n)
        out = {"out": np.zeros(n, f32), "total": np.zeros(n, np.int64)}
        return {"p": p[()], "records": records, **out}

    def check(b: Data, a: Data) -> Pairs:
        p, records, i = b["p"], b["records"], np.arange(n)
        yield a["out"], records["value"] * p["scale"][i % 4] - 1000 + p["weight"][i % 3]
        linked = records["link"][records["link"]]
        yield a["total"], (1 << 40) - 300 * records["tag"].astype(np.int64) + linked

    return Item(
        "struct_argument",
        "struct_argument",
        data=data,
        steps=(Step("struct_argument", (n,), (256,), ("p", "records", "out", "total")),),
        check=check,
        flops=3 * n,
        bytes=28 * n,
        small=lambda: struct_argument(1 << 13),
        rtol=1e-7,
    )


def private_array(n: int) -> Item:
    def check(b: Data, a: Data) -> Pairs:
        some = np.arange(0, n, n // 64)
        x = b["x"].reshape(n, 32)
        want = []
        for i in some:
            count = np.bincount(x[i] & 15, weights=np.arange(32), minlength=16)
            want.append(count[(int(b["x"].flat[i]) + np.arange(16)) & 15])
        return [(a["y"].reshape(n, 16)[some], np.array(want))]

    return Item(
        "private_array",
        "private_array",
        data=lambda r: {"x": r.integers(0, 256, 32 * n, np.uint8), "y": np.zeros(16 * n, i32)},
        steps=(Step("private_array", (n,), (256,), ("x", "y")),),
        check=check,
        flops=0,
        bytes=96 * n,
        small=lambda: private_array(1 << 13),
        rtol=0.0,
    )


FOUNDATION = (
    saxpy(1 << 22),
    sgemm(512),
    nbody(8192),
    mandelbrot(1024),
    reduce(1 << 22),
    histogram(1 << 22, 1 << 14),
    transpose(2048),
    scan(1 << 21),
    black_scholes(1 << 20),
    convolve3x3(2048),
    bitonic_sort(256),
    arithmetic_double(1 << 18),
    arithmetic_long(1 << 18),
    switch_case(1 << 20),
    call_noinline(1 << 20),
    struct_argument(1 << 19),
    private_array(1 << 17),
)
