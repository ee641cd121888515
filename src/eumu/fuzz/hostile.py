"""Kernels whose accesses are where a check may go wrong, and launches that aim beside memory.

A kernel has some memory operations, each of which runs only if its bit of an argument is set.
Their addresses are sums and products of lanes, arguments and constants from the thresholds of the
compiler: where affine forms of lanes wrap, where a distance no longer fits a type, where an access
becomes too wide for one vector.  What is loaded goes to a result.
"""

from __future__ import annotations

from functools import cache
from math import prod
from random import Random
from typing import Final

import numpy as np

from eumu import addresses
from eumu.errors import Fault
from eumu.exec.grid import BufferSurface, Grid, Payload
from eumu.exec.host import Engine
from eumu.exec.jit import Jit
from eumu.exec.jit.analysis import affine_forms
from eumu.exec.jit.codegen import irregular, memory, stores
from eumu.exec.jit.host.target import host
from eumu.exec.jit.llvm import lanes
from eumu.exec.jit.llvm.layout import LINE, VOID_BYTES
from eumu.fuzz.canaries import ARRAY, SHORT, Memory
from eumu.fuzz.kernel import RNE, Kernel
from eumu.ir import Function, Region, RootKind, Space, Value
from eumu.ir.passes import fold_modes
from eumu.records import dataclass
from eumu.types import BOOL, DF, HF, UB, UD, UQ, UW, B, D, F, Q, Type, W

_OPERATIONS: Final = 6
_EVERY_LANE: Final = _OPERATIONS + 1  # a bit beside those of the operations and of the results
_TYPES: Final = (UB, B, UW, W, UD, D, UQ, Q, F, DF, HF)
_ATOMICS: Final = (
    *("add", "sub", "and", "or", "xor", "xchg", "min", "max"),
    *("inc", "dec", "predec", "load", "cmpxchg"),
)
_SURFACES: Final = (0, 1, 2, 3, 4, 5)
_RESERVED: Final = (
    *(addresses.BTI_SLM, addresses.BTI_STATELESS, addresses.BTI_STATELESS_NON_COHERENT),
    *(addresses.SCRATCH_STATE, 6, 200, 0xFFFF_FFFF),
)
# Where the compiler decides: lanes of a group, runs of a store, bits that a mask must keep, …
_THRESHOLDS: Final = (
    *(lanes.MAX_GROUPS, stores.MOST_RUNS, memory.COVER, irregular.LEAST_LANES, LINE, VOID_BYTES),
    *(1 << affine_forms.LEAST_KEPT, lanes.CHEAP, ARRAY),
)
_POWERS: Final = (7, 8, 15, 16, 31, 32, 33, 47, 48, 60, 61, 62, 63, 64)
EDGES: Final = tuple(
    sorted(
        {
            (base + more) & (1 << 64) - 1
            for base in (*_THRESHOLDS, *(1 << p for p in _POWERS), 0)
            for more in (-8, -4, -2, -1, 0, 1, 2, 4, 8)
        }
    )
)
_ALONE: Final = ((16, 1, 1), (16, 1, 1), (8, 1, 1), (5, 1, 1))
_STRIDES: Final = (1, 2, 4, 8, 16, 64, 3, 0)


@dataclass(frozen=True)
class Hostile:
    """A function, and what its grids have."""

    function: Function
    slm_bytes: int
    scratch_bytes: int
    local: tuple[int, int, int]
    groups: tuple[int, int, int]


class _Builder:
    """Makes one function."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.width = random.choice((1, 2, 4, 8, 16, 32)) if random.random() < 0.2 else 16
        self.kernel = k = Kernel(width=max(8, self.width), arguments=6)
        self.width = k.width
        self.slm = random.choice((0, 1, 63, 64, 1000, 4096, 65536))
        self.scratch = random.choice((0, 8, 100, 1024))
        b = k.b
        self.mask = k.mask()
        self.bits = b.read(k.function.roots["ARG3"], Region.scalar(0), UD, 1)
        self.values: list[Value] = []
        for n in range(_OPERATIONS):
            k.inst(n + 1)
            self.operation(n)
        k.inst(_OPERATIONS + 1)
        self.results()
        k.end()

    # ---- lanes

    def edge(self, type: Type = UQ) -> int:
        some = self.random.choice(EDGES if self.random.random() < 0.6 else _STRIDES)
        return some & (1 << type.bits) - 1

    def number(self, type: Type, value: int) -> Value:
        return self.kernel.number(type, value & (1 << type.bits) - 1)

    def lane(self, type: Type) -> Value:
        """A value with a pattern: lanes, local ids, constants of each lane, or one for all."""
        k, b, random = self.kernel, self.kernel.b, self.random
        kind = random.randrange(7)
        if kind == 0:
            return b.convert(k.lane(), type, rounding=RNE) if type is not UD else k.lane()
        if kind == 1:
            x = k.get("X", UW)
            return b.convert(x, type, rounding=RNE)
        if kind == 2:
            few = [self.edge(type) for _ in range(3)]
            return k.lanes(type, *(random.choice(few) for _ in range(self.width)))
        if kind == 3:
            start, step = self.edge(type), self.edge(type)
            limit = (1 << type.bits) - 1
            return k.lanes(type, *(start + n * step & limit for n in range(self.width)))
        if kind == 4:
            return self.number(type, self.edge(type))
        if kind == 5 and type is UQ:
            return self.lane_of_words()
        return self.argument(random.choice((0, 1, 2, 4)), type)

    def lane_of_words(self) -> Value:
        """32 bits made wider: where they have wrapped, lanes are no longer beside each other."""
        return self.kernel.b.convert(self.expression(UD, 1), UQ, rounding=RNE)

    def argument(self, n: int, type: Type) -> Value:
        k = self.kernel
        root = k.function.roots[f"ARG{n}"]
        return k.b.splat(k.b.read(root, Region.scalar(0), type, 1), self.width)

    def expression(self, type: Type, depth: int) -> Value:
        k, b, random = self.kernel, self.kernel.b, self.random
        x = self.lane(type)
        for _ in range(random.randrange(depth + 1)):
            kind = random.randrange(6)
            if kind < 2:
                x = k.add(x, self.lane(type))
            elif kind == 2:
                x = k.mul(x, self.number(type, self.edge(type)))
            elif kind == 3:
                x = b.shl(x, self.number(type, random.randrange(type.bits)))
            elif kind == 4:
                x = b.and_(x, self.number(type, self.edge(type)))
            else:
                x = b.sub(x, self.lane(type), RNE)
        return x

    def address(self, type: Type) -> Value:
        """Often near memory, so that some lanes are inside."""
        random, k = self.random, self.kernel
        half = 1 << (type.bits - 1)
        if random.random() < 0.2:
            # Near one another, and half of all numbers away: in sum they go all the way round.
            near = (0, 4, 8, 16, half, half + 4, half + 8, half - 4, half - 8, ARRAY, half + ARRAY)
            few = [random.choice(near) + random.choice((0, 0, 4)) for _ in range(self.width)]
            few[random.randrange(self.width)] = half - random.choice((1, 2, 4, 8))
            few[random.randrange(self.width)] = half
            few[0] = random.choice((0, 0, few[0]))
            limit = (1 << type.bits) - 1
            x = k.lanes(type, *(n & limit for n in few))
            if random.random() < 0.8:
                return k.add(k.add(x, self.argument(random.choice((0, 1, 2)), type)),
                             self.number(type, half))  # fmt: skip
        elif random.random() < 0.45:
            step = random.choice((1, 2, 4, 8, 12, 64))
            x = k.mul(k.b.convert(k.lane(), type, rounding=RNE) if type is UQ else k.lane(),
                      self.number(type, step))  # fmt: skip
        else:
            x = self.expression(type, 3)
        if random.random() < 0.8:
            x = k.add(x, self.argument(random.choice((0, 1, 2)), type))
        return x

    def predicate(self, n: int) -> Value:
        """The operation's bit, and some lanes."""
        k, b, random = self.kernel, self.kernel.b, self.random
        one = b.const(UD, 1 << n)
        on = b.cmp("ne", b.and_(self.bits, one), b.const(UD, 0))
        mask = b.splat(on, self.width)
        if random.random() < 0.7:
            mask = b.and_(mask, self.mask)
        kind = random.randrange(4)
        if kind == 0:
            mask = b.and_(mask, k.lanes(BOOL, *(random.randrange(2) for _ in range(self.width))))
        elif kind == 1:
            low = self.argument(4, UD)
            mask = b.and_(mask, b.cmp("lt", k.lane(), low))
        elif kind == 2:
            # The first group shows the place an array; what later ones do more is checked by that.
            own = k.lanes(UD, *(random.randrange(3) for _ in range(self.width)))
            mask = b.and_(mask, b.cmp("le", own, k.group_id()))
        return mask

    # ---- operations

    def operation(self, n: int) -> None:
        random, b = self.random, self.kernel.b
        if random.random() < 0.08:
            self.array(n)
            return
        space = random.choice((Space.FLAT, Space.FLAT, Space.SURFACE, Space.SLM, Space.SCRATCH))
        surface = None
        if space is Space.SURFACE:
            index = random.choice(_SURFACES if random.random() < 0.85 else _RESERVED)
            surface = b.const(UD, index)
            if random.random() < 0.3:
                surface = b.read(self.kernel.function.roots["ARG4"], Region.scalar(4), UD, 1)
        kind = UQ if space is Space.FLAT else UD
        verb = random.choice(("load", "load", "store", "store", "block", "put", "atomic"))
        mask = self.predicate(n)
        type = random.choice(_TYPES)
        if verb == "atomic":
            self.atomic(space, kind, mask, surface)
            return
        if verb in ("block", "put"):
            self.block(space, kind, mask, surface, type, is_store=verb == "put")
            return
        count = random.choice((1, 1, 1, 2, 3, 4, 8)) if type.size >= 4 else random.choice((1, 1, 2))
        address = self.address(kind)
        more = [surface] if surface else []
        if verb == "load" and random.random() < 0.2:
            one, first = b.shuffle(mask, (0,)), b.shuffle(address, (0,))
            found = b.load(space, first, one, type, count, *more)
            self.values += [b.splat(x, self.width) for x in found]
        elif verb == "load":
            self.values += b.load(space, address, mask, type, count, *more)
        else:
            data = [self.data(type) for _ in range(count)]
            b.store(space, address, mask, data, *more)

    def array(self, n: int) -> None:
        """An array in registers, as compilers update it: all lanes read an element, then each
        writes its own.  Where the operation's bit is set, the element of one lane may be outside,
        and where the bit `_EVERY_LANE` is, too, that of any: lanes are written one after the other,
        so they are as many operations that may fault."""
        k, b, random, width = self.kernel, self.kernel.b, self.random, self.width
        type, every = random.choice((UB, UW, UD, UD)), self.kernel.true()
        rows = random.choice((1, 4, 8))
        array = k.root(f"ARRAY{n}", rows * width * type.size)
        held = k.root(f"HELD{n}", type.size * width)
        places = k.root(f"PLACES{n}", 4 * width, RootKind.ADDR)
        flag = k.root(f"FLAG{n}", 32, RootKind.FLAG)
        for row in range(rows):
            k.put(array.name, self.data(type), every, row * width * type.size)
        on = b.cmp("ne", b.and_(self.bits, b.const(UD, 1 << n)), b.const(UD, 0))
        near = k.lanes(UD, *(random.choice((0, rows - 1, rows - 1, rows)) for _ in range(width)))
        far = random.choice((near, self.argument(4, UD), self.lane(UD)))
        every_lane = b.cmp("ne", b.and_(self.bits, b.const(UD, 1 << _EVERY_LANE)), b.const(UD, 0))
        own = random.randrange(width)
        one = k.lanes(BOOL, *(lane == own for lane in range(width)))
        lanes = b.and_(b.splat(on, width), b.or_(one, b.splat(every_lane, width)))
        chosen = b.select(lanes, far, k.number(UD, 0))
        offset = k.add(k.mul(chosen, k.number(UD, width * type.size)), b.iota(UD, width, type.size))
        address = k.add(b.splat(b.root_address(array, 0), width), offset)
        x = b.read_indirect(address, type, width, k.mask(), offset=0, vstride=0, row=1, hstride=0)
        k.put(held.name, k.add(x, self.data(type)))
        k.put(places.name, address, every)
        for lane in range(width):
            b.write_flag(flag, 0, b.bits_mask(b.const(UD, 1 << lane), 32), k.true(32))
            place = b.read(places, Region.scalar(4 * lane), UD, 1)
            mask = b.and_(k.mask(), b.read_flag(flag, 0, width))
            value = b.read(held, Region.scalar(type.size * lane), type, width)
            b.write_indirect(place, value, mask, offset=0, hstride=0)
        self.values += [k.get(array.name, type, m * width * type.size) for m in range(rows)]

    def data(self, type: Type, width: int | None = None) -> Value:
        width = width or self.width
        limit = (1 << type.bits) - 1
        if type.is_float:
            limit >>= 4  # no NaN, whose bits may change
        return self.kernel.b.const(type, tuple(self.random.randint(0, limit) for _ in range(width)),
                                   width)  # fmt: skip

    def block(
        self, space: Space, kind: Type, mask: Value, surface: Value | None, type: Type, *,
        is_store: bool,
    ) -> None:  # fmt: skip
        b, random = self.kernel.b, self.random
        one, width = b.shuffle(mask, (0,)), random.choice((1, 2, 4, 8, 16, 32, 64))
        address = b.shuffle(self.address(kind), (0,))
        more = [surface] if surface else []
        if is_store:
            b.store_block(space, address, one, self.data(type, width), *more)
            return
        found = b.load_block(space, address, one, type, width, *more)
        if width >= self.width:
            self.values.append(b.shuffle(found, tuple(range(self.width))))
        else:
            self.values.append(b.splat(b.shuffle(found, (0,)), self.width))

    def atomic(self, space: Space, kind: Type, mask: Value, surface: Value | None) -> None:
        b, random = self.kernel.b, self.random
        type = random.choice((UD, D, UQ, UW))
        name = random.choice(_ATOMICS)
        count = {"inc": 0, "dec": 0, "predec": 0, "load": 0, "cmpxchg": 2}.get(name, 1)
        data = [self.data(type) for _ in range(count)]
        address = b.and_(self.address(kind), self.number(kind, -type.size))
        self.values.append(b.atomic(name, space, address, mask, type, data, surface))

    def results(self) -> None:
        """A number of all that was loaded, into the third array if its bit is set."""
        k, b = self.kernel, self.kernel.b
        total = k.number(UD, 0)
        for x in self.values:
            bits = b.bitcast(x, {1: UB, 2: UW, 4: UD, 8: UQ}[x.type.size])
            word = bits if bits.type is UD else b.convert(bits, UD, rounding=RNE)
            total = k.add(k.mul(total, k.number(UD, 0x9E3779B1)), word)
        on = b.cmp("ne", b.and_(self.bits, b.const(UD, 1 << _OPERATIONS)), b.const(UD, 0))
        mask = b.and_(b.splat(on, self.width), self.mask)
        place = self.argument(5, UQ)
        step = k.mul(b.convert(k.local_id(), UQ, rounding=RNE), k.number(UQ, 4))
        b.store(Space.FLAT, k.add(place, step), mask, [total])


def build(seed: int) -> Hostile:
    """The kernel of a seed."""
    made = _Builder(seed)
    random = Random(seed ^ 0x5EED)
    local = random.choice((*_ALONE, (32, 1, 1), (33, 1, 1), (4, 4, 2), (64, 1, 1)))
    groups = random.choice(((1, 1, 1), (4, 1, 1), (2, 1, 1), (3, 2, 1)))
    return Hostile(fold_modes(made.kernel.function), made.slm, made.scratch, local, groups)


def _aim(random: Random, memory: Memory) -> int:
    """An address: at an array's begin or end, at the arena's, or anywhere."""
    kind = random.random()
    near: int = random.choice((*range(-9, 10), 64, -64, 512, random.randrange(ARRAY)))
    if kind < 0.65:
        return random.choice(memory.addresses[:-1]) + random.choice((0, 0, ARRAY)) + near
    if kind < 0.75:
        return memory.base + random.choice((0, len(memory.arena))) + near
    if kind < 0.85:
        return random.choice((0, 64, 1000, 1024, 4096, 65536)) + near
    return random.choice(EDGES) + random.choice((0, near))


def _surfaces(random: Random, memory: Memory) -> dict[int, BufferSurface]:
    whole = random.choice(memory.addresses[:SHORT])
    sizes = (0, 1, 3, 6, 64, 100, ARRAY - 2, ARRAY)
    size = random.choice(sizes)
    return {
        0: BufferSurface(whole, ARRAY, constant=random.random() < 0.3),
        1: BufferSurface(whole, ARRAY, strict=False),
        2: BufferSurface(
            whole + ARRAY - size, size, strict=random.random() < 0.7, constant=random.random() < 0.5
        ),
        3: BufferSurface(whole + ARRAY - 100, random.choice((101, 4096, 1 << 32)), strict=False),
        4: BufferSurface(random.choice(EDGES), random.choice((1, ARRAY, (1 << 64) - 1)), False),
    }


def grids(seed: int, hostile: Hostile, memory: Memory, count: int) -> list[Grid]:
    """Launches of a kernel."""
    random, found = Random(seed ^ 0xA1), []
    # Threads take turns in one engine and go in step in the other: where there are several, one
    # operation at a time.
    alone = prod(hostile.groups) == 1 and prod(hostile.local) <= hostile.function.width
    limit = (1 << 64) - 1
    for _ in range(count):
        words = [_aim(random, memory) & limit for _ in range(3)]
        bits = 1 << _OPERATIONS | 1 << random.randrange(_OPERATIONS)
        if alone:
            bits |= random.getrandbits(1) << _EVERY_LANE
        if alone and random.random() < 0.3:
            bits |= random.getrandbits(_OPERATIONS)
        low = random.choice((0, 1, 4, 15, 16, 17)) | random.choice((*_SURFACES, *_RESERVED)) << 32
        cross = np.array([*words, bits, low, memory.addresses[-1]], np.uint64).tobytes()
        payload = Payload((0,) * 16, 64, 64, 256, cross)
        found.append(
            Grid(hostile.function, hostile.groups, hostile.local, payload,
                 _surfaces(random, memory), hostile.slm_bytes, hostile.scratch_bytes, fuel=100_000)
        )  # fmt: skip
    return found


@cache
def _quick_and_best() -> tuple[Jit, Jit]:
    return Jit(workers=1, processor=host().hasty()), Jit(workers=1)


def fast_engine(seed: int) -> Jit:
    """What runs a kernel beside the interpreter: of each fourth, code that is quickly made."""
    quick, best = _quick_and_best()
    return quick if seed % 4 == 3 else best


def difference(grid: Grid, memory: Memory, *engines: Engine) -> str:
    """What is wrong with one launch on two engines: results or faults that differ, a canary
    touched; empty if nothing is."""
    found = []
    for engine in engines:
        memory.reset()
        try:
            outcome = str(engine.run(grid, memory))
        except Fault as fault:
            outcome = str(fault)
        if not memory.is_whole():
            return f"{engine.name} has written beside the arrays"
        found.append((outcome, memory.arena.tobytes()))
    (left, before), (right, after) = found
    if left != right:
        return f"{engines[0].name}: {left} // {engines[1].name}: {right}"
    if before != after and "fault:" not in left:
        return "memory differs"
    return ""
