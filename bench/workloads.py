"""Items that people run today: networks' layers, sorting, transforms, sparse rows, hashes."""

from __future__ import annotations

import numpy as np
from item import Array, Data, Item, Pairs, Step, floats

i32, f32, u32 = np.int32, np.float32, np.uint32


def _bfloats(x: Array) -> Array:
    """The upper halves of floats."""
    return (x.view(u32) >> 16).astype(np.uint16)


def _halves(x: Array) -> Array:
    return x.astype(np.float16).view(np.uint16)


def tile(name: str, n: int) -> Item:
    """A product of matrices of 16-bit floats by `dpas`, which no CPU runtime compiles."""
    narrow = _halves if name == "tile_half" else _bfloats

    def data(r: np.random.Generator) -> Data:
        a, b = (narrow(floats(r, n, n) - f32(0.5)) for _ in "ab")
        pairs = b[0::2].astype(u32) | b[1::2].astype(u32) << 16
        return {"a": a, "b": pairs, "c": np.zeros((n, n), f32), "n": i32(n)}

    def wide(x: Array) -> Array:
        if name == "tile_half":
            return x.view(np.float16).astype(f32)
        return (x.astype(u32) << 16).view(f32)

    def check(b: Data, a: Data) -> Pairs:
        right = np.empty((n, n), np.uint16)
        right[0::2], right[1::2] = b["b"] & 0xFFFF, b["b"] >> 16
        return [(a["c"], wide(b["a"]) @ wide(right))]

    return Item(
        name,
        "tiles",
        data=data,
        steps=(Step(name, (n, n // 8), (16, 1), ("a", "b", "c", "n")),),
        check=check,
        flops=2 * n**3,
        bytes=8 * n * n,
        small=lambda: tile(name, 64),
        rtol=1e-3,
    )


def softmax(rows: int, columns: int) -> Item:
    def check(b: Data, a: Data) -> Pairs:
        powers = np.exp(b["x"] - b["x"].max(axis=1, keepdims=True))
        return [(a["y"], powers / powers.sum(axis=1, keepdims=True))]

    return Item(
        "softmax",
        "softmax",
        data=lambda r: {
            "x": 8 * floats(r, rows, columns),
            "y": np.zeros((rows, columns), f32),
            "columns": i32(columns),
        },
        steps=(Step("softmax", (128 * rows,), (128,), ("x", "y", "columns")),),
        check=check,
        flops=5 * rows * columns,
        bytes=8 * rows * columns,
        small=lambda: softmax(8, 512),
    )


def layer_norm(rows: int, columns: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        vectors = {"gain": floats(r, columns), "shift": floats(r, columns)}
        x = floats(r, rows, columns)
        return {"x": x, **vectors, "y": np.zeros_like(x), "columns": i32(columns)}

    def check(b: Data, a: Data) -> Pairs:
        x = b["x"].astype(np.float64)
        away = x - x.mean(axis=1, keepdims=True)
        scale = 1 / np.sqrt((away**2).mean(axis=1, keepdims=True) + 1e-5)
        return [(a["y"], away * scale * b["gain"] + b["shift"])]

    names = ("x", "gain", "shift", "y", "columns")
    return Item(
        "layer_norm",
        "layer_norm",
        data=data,
        steps=(Step("layer_norm", (128 * rows,), (128,), names),),
        check=check,
        flops=8 * rows * columns,
        bytes=8 * rows * columns,
        small=lambda: layer_norm(8, 512),
    )


def attention(count: int) -> Item:
    depth = 32

    def data(r: np.random.Generator) -> Data:
        matrices = {name: floats(r, count, depth) - f32(0.5) for name in ("q", "keys", "values")}
        scale = f32(depth**-0.5)
        return {**matrices, "out": np.zeros((count, depth), f32), "count": i32(count), "s": scale}

    def check(b: Data, a: Data) -> Pairs:
        powers = np.exp(b["q"] @ b["keys"].T * b["s"])
        return [(a["out"], powers @ b["values"] / powers.sum(axis=1, keepdims=True))]

    return Item(
        "attention",
        "attention",
        data=data,
        steps=(Step("attention", (count,), (64,), ("q", "keys", "values", "out", "count", "s")),),
        check=check,
        flops=4 * depth * count**2,
        bytes=16 * depth * count,
        small=lambda: attention(128),
        rtol=1e-3,
    )


def quantised_dot(rows: int, blocks: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        weights = r.integers(0, 1 << 32, (8 * blocks, rows), u32)
        x = r.integers(0, 1 << 32, 8 * blocks, u32)
        vectors = {"scales": floats(r, blocks, rows), "x": x, "y": np.zeros(rows, f32)}
        return {"weights": weights, **vectors, "blocks": i32(blocks)}

    def check(b: Data, a: Data) -> Pairs:
        weights = b["weights"].reshape(blocks, 8, rows, 1).view(np.int8).astype(i32)
        x = b["x"].reshape(blocks, 8, 1, 1).view(np.int8).astype(i32)
        return [(a["y"], ((weights * x).sum(axis=(1, 3)) * b["scales"]).sum(axis=0))]

    names = ("weights", "scales", "x", "y", "blocks")
    return Item(
        "quantised_dot",
        "quantised_dot",
        data=data,
        steps=(Step("quantised_dot", (rows,), (64,), names),),
        check=check,
        flops=64 * rows * blocks,
        bytes=36 * rows * blocks,
        small=lambda: quantised_dot(256, 8),
    )


def radix_sort(n: int) -> Item:
    groups = n // 1024

    def data(r: np.random.Generator) -> Data:
        arrays = {"x": r.integers(0, 1 << 32, n, u32), "y": np.zeros(n, u32)}
        shifts = {f"s{shift}": i32(shift) for shift in range(0, 32, 4)}
        return {**arrays, "counts": np.zeros(16 * groups, u32), **shifts, "n": i32(16 * groups)}

    steps: list[Step] = []
    for shift in range(0, 32, 4):
        x, y = ("x", "y") if shift % 8 == 0 else ("y", "x")
        steps += [
            Step("count", (n // 16,), (64,), (x, "counts", f"s{shift}")),
            Step("add_up", (256,), (256,), ("counts", "n")),
            Step("scatter", (n // 16,), (64,), (x, "counts", y, f"s{shift}")),
        ]
    return Item(
        "radix_sort",
        "radix_sort",
        data=data,
        steps=tuple(steps),
        check=lambda b, a: [(a["x"], np.sort(b["x"]))],
        flops=0,
        bytes=8 * 12 * n,
        small=lambda: radix_sort(1 << 14),
        rtol=0.0,
    )


def fft(count: int) -> Item:
    points = 1024

    def data(r: np.random.Generator) -> Data:
        roots = np.exp(-2j * np.pi * np.arange(points) / points).astype(np.complex64)
        x = floats(r, count, points, 2) - f32(0.5)
        return {"x": x, "y": np.zeros_like(x), "roots": roots.view(f32)}

    def check(b: Data, a: Data) -> Pairs:
        x = b["x"].view(np.complex64)[..., 0]
        return [(a["y"], np.fft.fft(x).astype(np.complex64).view(f32))]

    return Item(
        "fft",
        "fft",
        data=data,
        steps=(Step("fft", (256 * count,), (256,), ("x", "y", "roots")),),
        check=check,
        flops=5 * 10 * points * count,
        bytes=16 * points * count,
        small=lambda: fft(4),
    )


def spmv(rows: int) -> Item:
    def data(r: np.random.Generator) -> Data:
        lengths = r.integers(4, 28, rows)
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(i32)
        columns = r.integers(0, rows, starts[-1], i32)
        vectors = {"values": floats(r, int(starts[-1])), "x": floats(r, rows)}
        return {"starts": starts, "columns": columns, **vectors, "y": np.zeros(rows, f32)}

    def check(b: Data, a: Data) -> Pairs:
        products = b["values"].astype(np.float64) * b["x"][b["columns"]]
        return [(a["y"], np.add.reduceat(products, b["starts"][:-1]))]

    return Item(
        "spmv",
        "spmv",
        data=data,
        steps=(Step("spmv", (rows,), (256,), ("starts", "columns", "values", "x", "y")),),
        check=check,
        flops=31 * rows,
        bytes=8 * 15.5 * rows + 12 * rows,
        small=lambda: spmv(1 << 12),
    )


def stencil3d(n: int) -> Item:
    def check(b: Data, a: Data) -> Pairs:
        x = b["x"]
        c = slice(1, n - 1)
        around = (
            x[c, c, :-2] + x[c, c, 2:] + x[c, :-2, c] + x[c, 2:, c] + x[:-2, c, c] + x[2:, c, c]
        )
        return [(a["y"][c, c, c], f32(0.4) * x[c, c, c] + f32(0.1) * around)]

    return Item(
        "stencil3d",
        "stencil3d",
        data=lambda r: {"x": floats(r, n, n, n), "y": np.zeros((n, n, n), f32), "n": i32(n)},
        steps=(Step("stencil3d", (n, n), (32, 8), ("x", "y", "n")),),
        check=check,
        flops=8 * n**3,
        bytes=8 * n**3,
        small=lambda: stencil3d(32),
    )


def xxhash(n: int) -> Item:
    p1, p2, p3 = u32(2654435761), u32(2246822519), u32(3266489917)

    def turned(x: Array, bits: int) -> Array:
        return x << u32(bits) | x >> u32(32 - bits)

    def check(b: Data, a: Data) -> Pairs:
        seed = np.array([b["seed"]], u32)
        sums = np.repeat(np.concatenate((seed + p1 + p2, seed + p2, seed, seed - p1))[None], n, 0)
        for k in range(4):
            sums = turned(sums + b["x"].reshape(n, 4, 4)[:, k] * p2, 13) * p1
        h = sum(turned(sums[:, k], bits) for k, bits in enumerate((1, 7, 12, 18))) + u32(64)
        h = (h ^ h >> u32(15)) * p2
        h = (h ^ h >> u32(13)) * p3
        return [(a["y"], h ^ h >> u32(16))]

    return Item(
        "xxhash",
        "xxhash",
        data=lambda r: {
            "x": r.integers(0, 1 << 32, 16 * n, u32),
            "y": np.zeros(n, u32),
            "seed": u32(7),
        },
        steps=(Step("xxhash", (n,), (256,), ("x", "y", "seed")),),
        check=check,
        flops=0,
        bytes=68 * n,
        small=lambda: xxhash(1 << 12),
        rtol=0.0,
    )


WORKLOADS = (
    tile("tile_half", 512),
    tile("tile_bfloat", 512),
    softmax(1024, 2048),
    layer_norm(1024, 2048),
    attention(1024),
    quantised_dot(4096, 64),
    radix_sort(1 << 20),
    fft(1024),
    spmv(1 << 17),
    stencil3d(160),
    xxhash(1 << 19),
)
