"""Results of the integer kernels of `features/`, and the data that others start from too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernels.case import Array, Buffer, Case, Output, Setup

I32 = np.iinfo(np.int32)


def signed(x: int, bits: int = 32) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def clamp(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def table(rows: list[Callable[..., int]], *columns: Array) -> Array:
    """A row for each function, of its values for the columns' elements, wrapped to their type."""
    bits = 8 * columns[0].dtype.itemsize
    numbers = list(zip(*(c.tolist() for c in columns), strict=True))
    table = [[f(*args) & ((1 << bits) - 1) for args in numbers] for f in rows]
    return np.array(table, f"u{bits // 8}").view(columns[0].dtype)


def integers_of(case: Case, dtype: type, count: int = 0) -> Array:
    """Boundary values first, then random ones."""
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 7, info.max, info.max - 1, info.min, info.min + 1, info.max // 3]
    count = count or case.n
    random = case.rng().integers(info.min, info.max, count, dtype, endpoint=True)
    return np.array([*edges, *random.tolist()][:count], dtype)


def pairs(case: Case, dtype: type) -> tuple[Array, Array]:
    x = integers_of(case, dtype)
    return x, np.roll(x[::-1], 5)


def dot(x: int, y: int, kinds: str) -> int:
    """The sum of the products of the bytes of two dwords, each signed (s) or not (u)."""
    total = 0
    for k in range(4):
        left, right = (x >> 8 * k & 255, y >> 8 * k & 255)
        left = signed(left, 8) if kinds[0] == "s" else left
        right = signed(right, 8) if kinds[1] == "s" else right
        total += left * right
    return total


def rotated(x: int, n: int, bits: int = 32) -> int:
    x, n = x & ((1 << bits) - 1), n % bits
    return x << n | x >> (bits - n)


def xe_instructions(case: Case) -> Setup:
    x, y = pairs(case, np.int32)
    z = np.roll(x, 3)
    rows: list[Callable[..., int]] = [
        lambda x, y, z: rotated(x, y),
        lambda x, y, z: rotated(x, -y),
        lambda x, y, z: x + y + z,
        lambda x, y, z: x + dot(y, z, "ss"),
        lambda x, y, z: (x | y) & z | x & y,  # of each three bits, the majority
    ]
    want = table(rows, x, y, z)
    args = (Buffer(x), Buffer(y), Buffer(z), Buffer(np.zeros_like(want)))
    names = ("rol", "ror", "add3", "dp4a", "bfn")
    return Setup(args, (Output(3, want, rows=names),))


def byte_products(case: Case) -> Setup:
    """One element more than work-items on each side, as items read what follows theirs."""
    a = integers_of(case, np.int32, case.n + 2)
    b, c = a[::-1].copy(), np.roll(integers_of(case, np.int32), 2)
    n = case.n
    rows: list[Callable[..., int]] = [
        lambda a, a1, a2, b, b1, c: dot(a, a1, "ss"),
        lambda a, a1, a2, b, b1, c: dot(a, b, "su"),
        lambda a, a1, a2, b, b1, c: clamp(dot(a, a2, "ss") + c, I32.min, I32.max),
        lambda a, a1, a2, b, b1, c: dot(b, b1, "uu"),
    ]
    columns = (a[:n], a[1 : n + 1], a[2:], b[:n], b[1 : n + 1], c)
    want = table(rows, *columns)
    # The compiler's instruction has no `.sat`.
    rows[2] = lambda a, a1, a2, b, b1, c: dot(a, a2, "ss") + c
    compiled = table(rows, *columns)
    bytes_of = (Buffer(a.view(np.int8)), Buffer(b.view(np.uint8)))
    args = (*bytes_of, Buffer(c), Buffer(np.zeros_like(want)))
    names = ("ss", "su", "sat", "uu")
    return Setup(args, (Output(3, want, rows=names, compiled=compiled),))


def byte_products_by_name(case: Case) -> Setup:
    a, b = pairs(case, np.int32)
    c = np.roll(a, 2)
    field = ((1 << 5) - 1) << 3
    rows: list[Callable[..., int]] = [
        *(lambda a, b, c, k=k: c + dot(a, b, k) for k in ("ss", "uu", "su", "us")),
        lambda a, b, c: b & ~field | a << 3 & field,
        lambda a, b, c: int(f"{a & 0xFFFFFFFF:032b}"[::-1], 2),
    ]
    want = table(rows, a, b, c)
    # The newest compiler makes `dp4a.sat` of these builtins; unsigned sums do not reach the limit.
    sums = [
        lambda a, b, c, k=k: min(max(c + dot(a, b, k), I32.min), I32.max)
        for k in ("ss", "su", "us")
    ]
    now = table([sums[0], rows[1], *sums[1:], *rows[4:]], a, b, c)
    args = (Buffer(a), Buffer(b), Buffer(c), Buffer(np.zeros_like(want)))
    names = ("ss", "uu", "su", "us", "bfi", "bfrev")
    return Setup(args, (Output(3, want, rows=names, compiled_now=now),))


# ---- functions of OpenCL C


def ordered(x: int, y: int) -> int:
    return abs(x - y)


def leading(x: int, bits: int) -> int:
    return bits - (x & ((1 << bits) - 1)).bit_length()


def of_int() -> list[tuple[str, Callable[[int, int], int]]]:
    low, high = I32.min, I32.max
    ones = (1 << 32) - 1
    return [
        ("clz", lambda x, y: leading(x, 32)),
        ("popcount", lambda x, y: (x & ones).bit_count()),
        ("mul_hi", lambda x, y: x * y >> 32),
        ("mad_hi", lambda x, y: (x * y >> 32) + 4),
        ("mul24", lambda x, y: (x >> 8) * (y >> 8)),
        ("rotate", lambda x, y: rotated(x, y)),
        ("add_sat", lambda x, y: clamp(x + y, low, high)),
        ("sub_sat", lambda x, y: clamp(x - y, low, high)),
        ("abs_diff", ordered),
        ("hadd", lambda x, y: x + y >> 1),
        ("rhadd", lambda x, y: x + y + 1 >> 1),
        ("div", lambda x, y: quotient(x, y | 1)),
        ("rem", lambda x, y: x - (y | 1) * quotient(x, y | 1)),
        ("shift", lambda x, y: x >> (y & 31)),
        ("mad_sat", lambda x, y: clamp(x * y + 7, low, high)),
        ("clamp", lambda x, y: clamp(x, -4, 100)),
        ("bitselect", lambda x, y: x & ~0x0FF00FF0 | y & 0x0FF00FF0),
        ("ctz", lambda x, y: (x & -x).bit_length() - 1 if x else 32),
    ]


def of_uint() -> list[tuple[str, Callable[[int, int], int]]]:
    top = (1 << 32) - 1
    return [
        ("mul_hi", lambda x, y: x * y >> 32),
        ("div", lambda x, y: x // (y | 1)),
        ("rem", lambda x, y: x % (y | 1)),
        ("add_sat", lambda x, y: min(x + y, top)),
        ("upsample", lambda x, y: (x & 0xFFFF) << 16 | y & 0xFFFF),
        ("by 7", lambda x, y: x // 7),
        ("by 10", lambda x, y: x % 10),
        ("sub_sat", lambda x, y: max(x - y, 0)),
        ("rhadd", lambda x, y: x + y + 1 >> 1),
        ("abs_diff", ordered),
    ]


def of_long() -> list[tuple[str, Callable[[int, int], int]]]:
    ones = (1 << 64) - 1
    return [
        ("mul", lambda x, y: x * y),
        ("div", lambda x, y: quotient(x, y | 1)),
        ("rem", lambda x, y: x - (y | 1) * quotient(x, y | 1)),
        ("shift", lambda x, y: x >> (y & 63)),
        ("mul_hi", lambda x, y: x * y >> 64),
        ("min", min),
        ("clz", lambda x, y: leading(x, 64)),
        ("popcount", lambda x, y: (x & ones).bit_count()),
        ("rotate", lambda x, y: rotated(x, y, 64)),
        ("udiv", lambda x, y: (x & ones) // ((y & ones) | 1)),
        ("shl", lambda x, y: x << (y & 63)),
    ]


def functions(
    dtype: type, rows: list[tuple[str, Callable[[int, int], int]]]
) -> Callable[..., Setup]:
    def make(case: Case) -> Setup:
        x, y = pairs(case, dtype)
        want = table([f for _, f in rows], x, y)
        args = (Buffer(x), Buffer(y), Buffer(np.zeros_like(want)))
        return Setup(args, (Output(2, want, rows=tuple(name for name, _ in rows)),))

    return make


def of_bytes(case: Case) -> Setup:
    rng = case.rng()
    x, y = rng.integers(0, 256, (2, case.n, 16)).astype(np.int64)
    shuffled = np.take_along_axis(x, y % 16, 1)
    rows = [
        shuffled, x + y + 1 >> 1, np.minimum(x + y, 255), x * y & 255,
        np.clip(x * 3 - 100, 0, 255), np.maximum(x, y),
    ]  # fmt: skip
    want = np.array([r.reshape(-1) for r in rows]).astype(np.uint8)
    arrays = (x.astype(np.uint8), y.astype(np.uint8), np.zeros_like(want))
    names = ("shuffle", "rhadd", "add_sat", "mul", "convert_sat", "max")
    return Setup(tuple(map(Buffer, arrays)), (Output(2, want, rows=names),))
