"""Random IR programs, for running on both engines: edge-biased lanes, regions, masks, control flow.

Roots start with random bytes from the payload and are stored to memory at the end, so that memory
holds everything a program computed.  NaNs are made canonical where they arise: their payload is
not specified.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

import numpy as np

from eumu.addresses import DEVICE_BASE
from eumu.exec.grid import BufferSurface, Grid, Payload
from eumu.exec.observe import Observer
from eumu.ir import Block, Builder, Function, Input, Region, Root, RootKind, Rounding, Space, Value
from eumu.ir.operations.ends import Branch, Diverge, Jump, Ret
from eumu.types import BOOL, DF, FLOATS, HF, INTEGERS, UD, UQ, UW, B, D, F, Q, Type, integer

RNE = Rounding.RNE
FLOAT_TYPES = tuple(t for t in FLOATS if t.name != "bf")
ROUNDINGS = (RNE, RNE, RNE, Rounding.RU, Rounding.RD, Rounding.RTZ)
EXTENT = 4096  # arena offset of the only allocation
SIZE = 1 << 16
SLM = 1024
SURFACE = 3
_GRF = 32

_INT_EDGES = (0, 1, -1, 2, 7, 31, 32, 63)
_FLOAT_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 65504.0, 65520.0, 1e-8, 6e-8, 1e-40, 3e38)


class Memory:
    """A host with one allocation of random bytes."""

    progress: Callable[[int, int], object] | None = None
    observer: Observer | None = None

    def __init__(self, seed: int) -> None:
        self.base = DEVICE_BASE
        self.arena = np.zeros(EXTENT + SIZE + 4096, np.uint8)
        random = np.random.default_rng(seed)
        self.arena[EXTENT : EXTENT + SIZE] = random.integers(0, 256, SIZE, np.uint8)

    def extents(self) -> tuple[np.ndarray, np.ndarray]:
        start = np.array([self.base + EXTENT], np.uint64)
        return start, start + np.uint64(SIZE)

    def describe(self, address: int) -> str:
        return f"{address:#x}"

    def printed(self, text: str) -> None:
        raise AssertionError(text)


def edge(random: Random, type: Type) -> int:
    """The bits of an interesting lane."""
    mask = (1 << type.bits) - 1
    if type.is_float and random.random() < 0.7:
        value = random.choice((*_FLOAT_EDGES, float("inf"), float("-inf")))
        code = {2: "<e", 4: "<f", 8: "<d"}[type.size]
        try:
            return int.from_bytes(struct.pack(code, value), "little")
        except OverflowError:
            return mask >> 1 & ~1
    if random.random() < 0.6:
        return random.choice((*_INT_EDGES, 1 << (type.bits - 1), (1 << (type.bits - 1)) - 1)) & mask
    return random.getrandbits(type.bits)


class Program:
    """Builds one random function."""

    def __init__(self, random: Random, *, branches: bool) -> None:
        self.random, self.branches = random, branches
        self.width = random.choice((8, 16, 32))
        self.function = Function("random", self.width, _GRF)
        self.b = Builder(self.function)
        self.roots: list[Root] = []
        self.payload = bytearray()
        self._declare()
        self._build()

    # ---- state

    def _declare(self) -> None:
        self.r0 = self._root("r0", RootKind.GRF, _GRF)
        self.function.inputs.append(Input(self.r0, 0, 0, _GRF))
        self.ids = self._root("ids", RootKind.GRF, 2 * self.width)
        self.function.inputs.append(Input(self.ids, 0, _GRF, 2 * self.width))
        self.cross = _GRF + 3 * 64
        for n in range(self.random.randint(2, 4)):
            size = self.width * 8
            root = self._root(f"v{n}", RootKind.GRF, size)
            self.roots.append(root)
            self.function.inputs.append(Input(root, 0, self.cross + len(self.payload), size))
            type = self.random.choice((*INTEGERS, *FLOAT_TYPES))
            for _ in range(size // type.size):
                self.payload += edge(self.random, type).to_bytes(type.size, "little")
        self.flags = [self._root(f"f{n}", RootKind.FLAG, 32) for n in range(2)]
        self.counters = [self._root(f"c{n}", RootKind.GRF, 4) for n in range(3)]

    def _root(self, name: str, kind: RootKind, size: int) -> Root:
        root = Root(name, kind, size, 0x10000 * (1 + len(self.function.roots)))
        self.function.roots[name] = root
        return root

    def _region(self, type: Type) -> Region:
        """A region of `width` elements that lies in a root of width * 8 bytes."""
        if self.random.random() < 0.15:
            return Region.scalar(type.size * self.random.randrange(self.width))
        stride = type.size * self.random.choice((1, 1, 1, 2)) if type.size < 8 else 8
        room = self.width * 8 - (self.width - 1) * stride - type.size
        offset = type.size * self.random.randint(0, room // type.size // 2)
        return Region.strided(offset, stride)

    def _packed(self, type: Type) -> Region:
        stride = type.size * (self.random.choice((1, 1, 2)) if type.size < 8 else 1)
        return Region.strided(0, stride)

    # ---- values

    def value(self, type: Type) -> Value:
        """A source operand: a root, a constant, lane numbers, the work item's id."""
        b, choice = self.b, self.random.random()
        if choice < 0.6:
            return b.read(self.random.choice(self.roots), self._region(type), type, self.width)
        if choice < 0.8 or type.is_float:
            count = self.random.choice((1, self.width))
            lanes = tuple(edge(self.random, type) for _ in range(count))
            return (
                b.const(type, lanes, count)
                if count > 1
                else b.splat(b.const(type, lanes, 1), self.width)
            )
        if choice < 0.9:
            return b.iota(type, self.width, self.random.choice((1, 2, 4, -1)))
        ids = b.read(self.ids, Region.packed(0, 2), UW, self.width)
        return b.convert(ids, type, rounding=RNE)

    def mask(self) -> Value:
        """A write mask."""
        b, choice = self.b, self.random.random()
        if choice < 0.4:
            return b.exec_mask(0, self.width)
        if choice < 0.6:
            return b.const(BOOL, 1, self.width)
        flag = b.read_flag(self.random.choice(self.flags), 0, self.width)
        if choice < 0.7:
            return b.and_(b.exec_mask(0, self.width), b.not_(flag))
        return b.and_(b.exec_mask(0, self.width), flag)

    def canonical(self, x: Value) -> Value:
        """The same value with every NaN positive and quiet."""
        if not x.type.is_float:
            return x
        # On the bits: LLVM may take "x if x is a number, else NaN" for x, whatever x's payload is.
        b, bits = self.b, integer(x.type.bits, signed=False)
        quiet, infinity = {
            HF: (0x7E00, 0x7C00),
            F: (0x7FC00000, 0x7F800000),
            DF: (0x7FF8 << 48, 0x7FF0 << 48),
        }[x.type]
        raw = b.bitcast(x, bits)
        every = b.splat(b.const(bits, (1 << (bits.bits - 1)) - 1), x.width)
        nan = b.cmp("gt", b.and_(raw, every), b.splat(b.const(bits, infinity), x.width))
        chosen = b.select(nan, b.splat(b.const(bits, quiet), x.width), raw)
        return b.bitcast(chosen, x.type)

    # ---- operations

    def statement(self) -> None:
        """One instruction."""
        self.b.inst += 1
        choice = self.random.random()
        kinds: list[tuple[float, Callable[[], None]]] = [
            (0.30, self._arithmetic),
            (0.42, self._bits),
            (0.56, self._convert),
            (0.70, self._compare),
            (0.80, self._memory),
            (0.86, self._shared),
            (0.92, self._lanes),
            (1.01, self._atomic),
        ]
        next(action for limit, action in kinds if choice < limit)()

    def _write(self, x: Value) -> None:
        root = self.random.choice(self.roots)
        self.b.write_root(root, self._packed(x.type), self.canonical(x), self.mask())

    def _arithmetic(self) -> None:
        random, b = self.random, self.b
        type = random.choice((*INTEGERS, *FLOAT_TYPES, F, F, D))
        x, y = self.value(type), self.value(type)
        names = ["add", "sub", "mul", "min", "max", "neg", "abs", "div"]
        names += ["fma", "sqrt", "round", "flush"] if type.is_float else ["rem"]
        name = random.choice(names)
        rounding = random.choice(ROUNDINGS)
        if name in ("add", "sub", "mul", "div"):
            self._write(getattr(b, name)(x, y, rounding))
        elif name == "fma":
            self._write(b.fma(x, y, self.value(type), rounding))
        elif name in ("sqrt", "round"):
            self._write(getattr(b, name)(x, rounding))
        elif name in ("neg", "abs", "flush"):
            self._write(getattr(b, name)(x))
        else:
            self._write(getattr(b, name)(x, y))

    def _bits(self) -> None:
        random, b = self.random, self.b
        type = random.choice(INTEGERS)
        x, y = self.value(type), self.value(type)
        name = random.choice(
            [
                "and_",
                "or_",
                "xor",
                "not_",
                "shl",
                "shr",
                "rotl",
                "popcount",
                "clz",
                "ctz",
                "bitreverse",
            ]
        )
        unary = name in ("not_", "popcount", "clz", "ctz", "bitreverse")
        self._write(getattr(b, name)(x) if unary else getattr(b, name)(x, y))

    def _convert(self) -> None:
        source, target = (self.random.choice((*INTEGERS, *FLOAT_TYPES)) for _ in range(2))
        rounding = self.random.choice(ROUNDINGS)
        saturate = self.random.random() < 0.5
        x = self.value(source)
        self._write(self.b.convert(x, target, saturate=saturate, rounding=rounding))

    def _compare(self) -> None:
        random, b = self.random, self.b
        type = random.choice((*INTEGERS, *FLOAT_TYPES))
        found = b.cmp(
            random.choice(["eq", "ne", "lt", "le", "gt", "ge"]), self.value(type), self.value(type)
        )
        if random.random() < 0.6:
            b.write_flag(random.choice(self.flags), 0, found, self.mask())
        else:
            self._write(b.select(found, self.value(type), self.value(type)))

    def _address(self, type: Type, count: int) -> Value:
        """Addresses inside the allocation: consecutive, uniform, strided or scattered."""
        b, random = self.b, self.random
        wanted = random.random()
        if wanted < 0.5:
            index = b.convert(
                b.read(self.ids, Region.packed(0, 2), UW, self.width), UD, rounding=RNE
            )
        elif wanted < 0.6:
            index = b.splat(b.const(UD, random.randrange(64)), self.width)
        else:
            index = b.and_(self.value(UD), b.splat(b.const(UD, 255), self.width))
        scale = type.size * count * random.choice((1, 1, 1, 2))
        return b.mul(index, b.splat(b.const(UD, scale), self.width), RNE)

    def _memory(self) -> None:
        b, random = self.b, self.random
        type = random.choice((*INTEGERS, F))
        count = random.choice((1, 1, 2, 4))
        offset = self._address(type, count)
        surface = None
        if random.random() < 0.5:
            space, address = Space.SURFACE, offset
            surface = b.const(UD, SURFACE)
        else:
            space = Space.FLAT
            base = b.splat(b.const(UQ, DEVICE_BASE + EXTENT), self.width)
            address = b.add(base, b.convert(offset, UQ, rounding=RNE), RNE)
        if random.random() < 0.5:
            for x in b.load(space, address, self.mask(), type, count, surface):
                self._write(x)
        else:
            data = [self.value(type) for _ in range(count)]
            b.store(space, address, self.mask(), data, surface)

    def _shared(self) -> None:
        b, type = self.b, self.random.choice((B, UW, D, Q, F))
        limit = b.splat(b.const(UD, SLM // 2 - 1), self.width)
        address = b.and_(self._address(type, 1), limit)
        if self.random.random() < 0.5:
            self._write(b.load(Space.SLM, address, self.mask(), type)[0])
        else:
            b.store(Space.SLM, address, self.mask(), [self.value(type)])

    def _lanes(self) -> None:
        b, random = self.b, self.random
        type = random.choice((*INTEGERS, *FLOAT_TYPES))
        x = self.value(type)
        half = self.width // 2
        choice = random.randrange(4)
        if choice == 0:
            self._write(b.shuffle(x, [random.randrange(self.width) for _ in range(self.width)]))
        elif choice == 1:
            self._write(b.concat([b.slice(x, half, half), b.slice(x, 0, half)]))
        elif choice == 2:
            bits = b.mask_bits(b.read_flag(self.flags[0], 0, self.width))
            self._write(b.splat(bits, self.width))
        else:
            found = b.bits_mask(b.read(self.roots[0], Region.scalar(0), UD, 1), self.width)
            b.write_flag(self.flags[1], 0, found, self.mask())

    def _atomic(self) -> None:
        b, random = self.b, self.random
        type = random.choice((UD, D, UQ, Q))
        names = [
            "add",
            "sub",
            "inc",
            "dec",
            "predec",
            "and",
            "or",
            "xor",
            "xchg",
            "load",
            "min",
            "max",
            "cmpxchg",
        ]
        operation = random.choice(names)
        count = {"inc": 0, "dec": 0, "predec": 0, "load": 0, "cmpxchg": 2}.get(operation, 1)
        data = [self.value(type) for _ in range(count)]
        limit = b.splat(b.const(UD, SLM // 2 - 8), self.width)
        offset = b.and_(self._address(type, 1), limit)
        if random.random() < 0.5:
            space, address = Space.SLM, offset
        else:
            base = b.splat(b.const(UQ, DEVICE_BASE + EXTENT), self.width)
            space, address = Space.FLAT, b.add(base, b.convert(offset, UQ, rounding=RNE), RNE)
        self._write(b.atomic(operation, space, address, self.mask(), type, data))

    # ---- control flow

    def _build(self) -> None:
        count = self.random.randint(3, 7) if self.branches else 1
        loops = {}
        for index in range(count):
            self._open(index)
            for _ in range(self.random.randint(1, 4 if self.branches else 10)):
                self.statement()
            self._end(index, count, loops)
        self._open(count)
        self._finish()

    def _open(self, index: int) -> None:
        block = Block(f"b{index}")
        self.function.blocks.append(block)
        self.b.block = block

    def _end(self, index: int, count: int, loops: dict[int, int]) -> None:
        b, random = self.b, self.random
        b.inst += 1
        forward = random.randint(index + 1, count)
        choice = random.random()
        flag = b.read_flag(random.choice(self.flags), 0, self.width)
        if choice < 0.45:
            b.terminate(Diverge((flag,), tuple(random.sample((index + 1, forward), 2)), offset=0))
        elif choice < 0.55:
            b.terminate(Branch((b.any(flag),), (index + 1, forward)))
        elif choice < 0.75 and len(loops) < len(self.counters):
            self._loop(index, len(loops))
            loops[index] = len(loops)
        elif choice < 0.8 and index:
            b.terminate(Ret((flag,), (index + 1,), offset=0))
        else:
            b.terminate(Jump((), (random.choice((index + 1, forward)),)))

    def _loop(self, index: int, number: int) -> None:
        """A back-edge for some lanes, taken a bounded number of times."""
        b, root = self.b, self.counters[number]
        every = b.const(BOOL, 1, 1)
        count = b.add(b.read(root, Region.scalar(0), UD, 1), b.const(UD, 1), RNE)
        b.write_root(root, Region.scalar(0), count, every)
        more = b.cmp("lt", count, b.const(UD, 4))
        back = self.random.randint(0, index)
        if self.random.random() < 0.5:
            b.terminate(Branch((more,), (back, index + 1)))
        else:
            flag = b.read_flag(self.flags[0], 0, self.width)
            again = b.and_(b.splat(more, self.width), flag)
            b.terminate(Diverge((again,), (back, index + 1), offset=0))

    def _finish(self) -> None:
        """Store every root and flag where only this thread writes."""
        b = self.b
        b.inst += 1
        group = b.read(self.r0, Region.scalar(4), UD, 1)
        one, place = b.const(BOOL, 1, 1), EXTENT + SIZE // 2
        words = len(self.roots) * self.width * 2 + 2
        step = b.mul(b.convert(group, UQ, rounding=RNE), b.const(UQ, words * 4), RNE)
        base = b.add(b.const(UQ, DEVICE_BASE + place), step, RNE)
        for n, root in enumerate(self.roots):
            data = b.read(root, Region.packed(0, 4), UD, self.width * 2)
            offset = b.const(UQ, n * self.width * 8)
            b.store_block(Space.FLAT, b.add(base, offset, RNE), one, data)
        for n, flag in enumerate(self.flags):
            bits = b.mask_bits(b.read_flag(flag, 0, 32))
            offset = b.const(UQ, words * 4 - 8 + 4 * n)
            b.store_block(Space.FLAT, b.add(base, offset, RNE), one, bits)
        b.terminate(
            Ret((b.const(BOOL, 1, self.width),), (len(self.function.blocks) - 1,), offset=0)
        )

    def grid(self, *, tail: bool) -> Grid:
        """Three groups of one thread each, with a part of the lanes if `tail`."""
        lanes = self.random.randint(1, self.width) if tail else self.width
        payload = Payload((0,) * 8, _GRF, 64, self.cross, bytes(self.payload))
        return Grid(
            self.function,
            (1, 1, 1),
            (lanes, 1, 1),
            payload,
            surfaces={SURFACE: BufferSurface(DEVICE_BASE + EXTENT, SIZE // 2)},
            slm_bytes=SLM,
            fuel=1 << 20,
        )
