"""Items in the style of PolyBench and of NVIDIA's samples, written for this benchmark."""

from __future__ import annotations

import numpy as np
from item import Data, Item, LocalBytes, Pairs, Step, floats

i32, f32 = np.int32, np.float32
ALPHA, BETA = f32(1.5), f32(0.5)


def gemm(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        matrices = {name: floats(r, n, n) for name in "abc"}
        return {**matrices, "alpha": ALPHA, "beta": BETA, "nj": i32(n), "nk": i32(n)}

    return Item(
        "gemm",
        "gemm",
        data=data,
        steps=(Step("gemm", (n, n), (32, 8), ("a", "b", "c", "alpha", "beta", "nj", "nk")),),
        check=lambda b, a: [(a["c"], ALPHA * (b["a"] @ b["b"]) + BETA * b["c"])],
        flops=2 * n**3,
        bytes=16 * n * n,
        small=lambda: gemm(96),
    )


def two_mm(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        matrices = {name: floats(r, n, n) for name in "abcd"}
        t = np.zeros((n, n), f32)
        return {**matrices, "t": t, "alpha": ALPHA, "beta": BETA, "n": i32(n)}

    return Item(
        "2mm",
        "two_mm",
        data=data,
        steps=(
            Step("first", (n, n), (32, 8), ("a", "b", "t", "alpha", "n")),
            Step("second", (n, n), (32, 8), ("t", "c", "d", "beta", "n")),
        ),
        check=lambda b, a: [(a["d"], ALPHA * (b["a"] @ b["b"]) @ b["c"] + BETA * b["d"])],
        flops=4 * n**3,
        bytes=24 * n * n,
        small=lambda: two_mm(96),
    )


def atax(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        vectors = {"x": floats(r, n), "t": np.zeros(n, f32), "y": np.zeros(n, f32)}
        return {"a": floats(r, n, n), **vectors, "n": i32(n)}

    return Item(
        "atax",
        "atax",
        data=data,
        steps=(
            Step("rows", (n,), (256,), ("a", "x", "t", "n")),
            Step("columns", (n,), (256,), ("a", "t", "y", "n")),
        ),
        check=lambda b, a: [(a["y"], b["a"].T @ (b["a"] @ b["x"]))],
        flops=4 * n * n,
        bytes=8 * n * n,
        small=lambda: atax(512),
    )


def conv2d(n: int) -> Item:
    weight = np.array([[0.2, -0.3, 0.4], [0.5, 0.6, 0.7], [-0.8, -0.9, 0.1]], f32)

    def check(b: Data, a: Data) -> Pairs:
        x, inside = b["x"], slice(1, n - 1)
        terms = (weight[j, i] * x[j : j + n - 2, i : i + n - 2] for j in range(3) for i in range(3))
        return [(a["y"][inside, inside], sum(terms))]

    return Item(
        "conv2d",
        "conv2d",
        data=lambda r: {"x": floats(r, n, n), "y": np.zeros((n, n), f32), "n": i32(n)},
        steps=(Step("conv2d", (n, n), (32, 8), ("x", "y", "n")),),
        check=check,
        flops=17 * n * n,
        bytes=8 * n * n,
        small=lambda: conv2d(96),
    )


def fdtd2d(n: int, times: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        fields = {name: floats(r, n, n) for name in ("ex", "ey", "hz")}
        clock = {f"t{t}": i32(t) for t in range(times)}
        return {**fields, "source": floats(r, times), **clock, "n": i32(n)}

    def check(b: Data, a: Data) -> Pairs:
        ex, ey, hz = (b[name].copy() for name in ("ex", "ey", "hz"))
        for t in range(times):
            ey[1:] -= f32(0.5) * (hz[1:] - hz[:-1])
            ey[0] = b["source"][t]
            ex[:, 1:] -= f32(0.5) * (hz[:, 1:] - hz[:, :-1])
            around = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
            hz[:-1, :-1] -= f32(0.7) * around
        return [(a["ex"], ex), (a["ey"], ey), (a["hz"], hz)]

    steps: list[Step] = []
    for t in range(times):
        steps += [
            Step("electric_y", (n, n), (32, 8), ("source", "ey", "hz", f"t{t}", "n")),
            Step("electric_x", (n, n), (32, 8), ("ex", "hz", "n")),
            Step("magnetic", (n, n), (32, 8), ("ex", "ey", "hz", "n")),
        ]
    cells = times * n * n
    return Item(
        "fdtd2d",
        "fdtd2d",
        data=data,
        steps=tuple(steps),
        check=check,
        flops=11 * cells,
        bytes=40 * cells,
        small=lambda: fdtd2d(96, 2),
    )


def correlation(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        vectors = {"mean": np.zeros(n, f32), "deviation": np.zeros(n, f32)}
        matrices = {"x": floats(r, n, n), "t": np.zeros((n, n), f32), "out": np.zeros((n, n), f32)}
        return {**matrices, **vectors, "n": i32(n)}

    return Item(
        "correlation",
        "correlation",
        data=data,
        steps=(
            Step("moments", (n,), (64,), ("x", "mean", "deviation", "n", "n")),
            Step("normalise", (n, n), (32, 8), ("x", "mean", "deviation", "t", "n", "n")),
            Step("correlate", (n,), (64,), ("t", "out", "n", "n")),
        ),
        check=lambda b, a: [(a["out"], np.corrcoef(b["x"], rowvar=False))],
        flops=n**3 + 9 * n * n,
        bytes=20 * n * n,
        small=lambda: correlation(128),
    )


def matrix_mul(n: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        matrices = {name: floats(r, n, n) for name in "abc"}
        tiles = {"ta": LocalBytes(1024), "tb": LocalBytes(1024)}
        return {**matrices, **tiles, "wa": i32(n), "wb": i32(n)}

    return Item(
        "matrixMul",
        "matrix_mul",
        data=data,
        steps=(Step("matrix_mul", (n, n), (16, 16), ("c", "a", "b", "ta", "tb", "wa", "wb")),),
        check=lambda b, a: [(a["c"], b["a"] @ b["b"])],
        flops=2 * n**3,
        bytes=12 * n * n,
        small=lambda: matrix_mul(96),
    )


def histogram64(groups: int) -> Item:
    per_item = 60
    n = groups * 64 * per_item

    def data(r: np.random.Generator) -> Data:
        bins = {"partial": np.zeros(64 * groups, np.uint32), "bins": np.zeros(64, np.uint32)}
        counts = {"per_item": i32(per_item), "groups": i32(groups)}
        return {"x": r.integers(0, 1 << 32, n, np.uint32), **bins, **counts}

    return Item(
        "histogram64",
        "histogram64",
        data=data,
        steps=(
            Step("count", (64 * groups,), (64,), ("x", "partial", "per_item")),
            Step("merge", (64,), (64,), ("partial", "bins", "groups")),
        ),
        check=lambda b, a: [(a["bins"], np.bincount(b["x"].view(np.uint8) >> 2, minlength=64))],
        flops=0,
        bytes=4 * n,
        small=lambda: histogram64(4),
        rtol=0.0,
    )


SUITES = (
    gemm(512),
    two_mm(384),
    atax(2048),
    conv2d(2048),
    fdtd2d(1024, 4),
    correlation(384),
    matrix_mul(512),
    histogram64(512),
)
