"""Random tiles: loops over shared local memory through registers that differ by constants.

A thread has bytes of its own there.  Addresses are made in front of loops out of each other: by
constants, by scalars, under masks or not.  Loops load and store through them and through what they
make of them, move them on, all lanes or some, and lose lanes.  In some bundles a register goes
outside in the midst of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import ClassVar, Final

from eumu.compare.memory import BASE
from eumu.exec.grid import Grid, Payload
from eumu.fuzz.machine import MEMORY, THREADS, HarnessMemory
from eumu.fuzz.statements import Block, Node, Section
from eumu.fuzz.walking import Walker, Walks
from eumu.ir import Input
from eumu.lower import lower
from eumu.platforms import platform
from eumu.text import parse

TILES_HEADER: Final = "// random tiles: "
AREA: Final = 2048  # bytes of shared local memory that a thread has
REGISTERS: Final = 5
_FIRST: Final = 900  # where lanes begin, so that none ends outside
_STRIDES: Final = (4, 4, 4, 8, 2, 0, 0)
_STEPS: Final = (4, 4, 2, -4, 0, 1)
_WAYS: Final = (4, 16, 32, 64, -64, -4, 8, 2, 60, 0)
_SHAPES: Final = ("d32", "d32", "d32", "d8c32", "d16c32", "d32x2")
_LIDS: Final = 64  # bytes of local ids in a payload
_FAR: Final = (2 * AREA, 0x10000, -2 * AREA, 0x40000000, 0x7FFFFF00)


class Tiler(Walker):
    """Makes one section; the same seed, device, SIMD size and mark make the same."""

    def __init__(self, seed: int, device: str, simd: int, mark: str, *, leaves: bool) -> None:
        super().__init__(seed, device, simd, mark)
        self.random = Random(f"tiles {seed} {device} {simd} {leaves}")
        self.chunk = min(simd, self.grf // 2)  # lanes of an address in two registers
        self.leaves, self.thread = leaves, self.random.choice((0, 64))
        self.moves = [self.random.choice(_STEPS) for _ in range(REGISTERS)]

    def section(self) -> Section:
        body: Block = (Node("start", tuple(self._addresses_in_front())),)
        for _ in range(self.random.choice((1, 1, 2))):
            body += (self._loop(self.random.random() < 0.25),)
        return Section(self.seed, body)

    # ---- where lanes are

    def _chunks(self, nomask: bool = True) -> Iterator[tuple[int, str]]:
        for lane in range(0, self.simd, self.chunk):
            yield lane, f"(M{lane // 4 + 1}{'_NM' if nomask else ''}, {self.chunk})"

    def _addresses_in_front(self) -> Iterator[str]:
        stride, first = self.random.choice(_STRIDES), _FIRST + self.random.choice((0, 0, 4, 2))
        yield f"mul (M1_NM, 1) TB(0,0)<1> THREAD(0,0)<0;1,0> {AREA - self.simd * stride}:ud"
        yield f"add (M1_NM, 1) TB(0,0)<1> TB(0,0)<0;1,0> {first}:ud"
        yield "and (M1_NM, 1) TS(0,0)<1> S0(0,0)<0;1,0> 0x1c:ud"
        for lane, where in self._chunks():
            t, id = self._at("W0", lane, 4), self._at("LID", lane, 2)
            yield f"mov {where} {t}<1> {id}<1;1,0>"
            yield f"mul {where} {t}<1> {t}<1;1,0> {stride}:ud"
            yield f"add {where} {t}<1> {t}<1;1,0> TB(0,0)<0;1,0>"
        for k in range(1, REGISTERS):
            yield from self._made_of(k, self.random.randrange(k))

    def _made_of(self, k: int, j: int) -> Iterator[str]:
        """A register out of another one."""
        how = self.random.choices(
            ("way", "scalar", "both", "same", "mad", "lane"), (6, 1, 2, 1, 1, 2)
        )[0]
        guard, nomask = self._guard(0.08), self.random.random() < 0.6
        way = self.random.choice(_WAYS)
        one = self.random.randrange(self.simd)
        for lane, where in self._chunks(nomask):
            t, u = self._at(f"W{k}", lane, 4), self._at(f"W{j}", lane, 4)
            if guard:  # lanes that are left out
                yield f"mov {where.replace('_NM', '').replace(',', '_NM,')} {t}<1> {u}<1;1,0>"
            if how == "way":
                yield f"{guard}add {where} {t}<1> {u}<1;1,0> {way}:d"
            elif how == "same":
                yield f"{guard}mov {where} {t}<1> {u}<1;1,0>"
            elif how == "lane":  # of which all lanes get the address
                yield f"{guard}add {where} {t}<1> {self._at(f'W{j}', one, 4)}<0;1,0> {way}:d"
            elif how == "mad":
                yield f"{guard}mad {where} {t}<1> TS(0,0)<0;1,0> 2:ud {u}<1;1,0>"
            else:
                yield f"{guard}add {where} {t}<1> {u}<1;1,0> TS(0,0)<0;1,0>"
                if how == "both":
                    yield f"{guard}add {where} {t}<1> {t}<1;1,0> {way}:w"

    def _step(self, k: int) -> Node:
        """A register moves on, or is made again; now and then in some lanes only."""
        if self.random.random() < 0.15:
            return Node("again", tuple(self._made_of(k + 1, k)))
        guard, step = self._guard(0.15), self.moves[k]
        nomask = self.random.random() < 0.4
        lines = []
        for lane, where in self._chunks(nomask):
            t = self._at(f"W{k}", lane, 4)
            lines.append(f"{guard}add {where} {t}<1> {t}<1;1,0> {step}:d")
        return Node("step", tuple(lines))

    def _any_move(self) -> Node:
        return self._step(self.random.randrange(REGISTERS - 1))

    # ---- what a turn does

    def _place(self, lane: int, where: str) -> tuple[list[str], str]:
        """Lines, and the register of an address; some are made here."""
        t = f"W{self.random.randrange(REGISTERS)}"
        if self.random.random() < 0.5:
            return [], t
        way, source = self.random.choice(_WAYS), self._at(t, lane, 4)
        return [f"add {where} {self._at('OFFS', lane, 4)}<1> {source}<1;1,0> {way}:d"], "OFFS"

    def _load(self, k: int) -> Node:
        """Sums and what is at several places."""
        return Node("load", tuple(x for _ in range(self.random.choice((1, 2, 3, 5)))
                                  for x in self._one_load()))  # fmt: skip

    def _one_load(self) -> Iterator[str]:
        total, guard = f"S{self.random.randrange(4)}", self._guard(0.1)
        shape = self.random.choice(_SHAPES)
        for lane, where in self._chunks(nomask=False):
            lines, t = self._place(lane, where)
            yield from lines
            if self.has_lsc:
                name = t if lane == 0 else f"{t}_{lane}"
                yield f"{guard}lsc_load.slm {where} X0:{shape} flat[{name}]:a32"
            else:
                yield f"{guard}gather_scaled.4 {where} %slm 0x0:ud {t}.{4 * lane} X0.0"
            for n in range(0, self.chunk, 8):
                sum, got = self._at(total, lane + n, 4), self._at("X0", n, 4)
                at = f"(M{(lane + n) // 4 + 1}, 8)"
                yield f"mul {at} {sum}<1> {sum}<1;1,0> 5:ud"
                yield f"add {at} {sum}<1> {sum}<1;1,0> {got}<1;1,0>"

    def _store(self, k: int) -> Node:
        out, guard, total = [], self._guard(0.1), f"S{self.random.randrange(4)}"
        for lane, where in self._chunks(nomask=False):
            lines, t = self._place(lane, where)
            if self.has_lsc:
                name, data = (x if lane == 0 else f"{x}_{lane}" for x in (t, total))
                store = f"lsc_store.slm {where} flat[{name}]:a32 {data}:d32"
            else:
                store = f"scatter_scaled.4 {where} %slm 0x0:ud {t}.{4 * lane} {total}.{4 * lane}"
            out += [*lines, guard + store]
        return Node("store", tuple(out))

    def _leave(self) -> Node:
        """In a turn of one thread, lanes or a lane of a register go outside."""
        k, far = self.random.randrange(REGISTERS), self.random.choice(_FAR)
        if self.thread and self.random.random() < 0.7:  # to the end of local memory
            far = AREA - _FIRST - self.random.randrange(0, 320, 4)
        turn = self.random.randrange(1, 6)
        lines = [
            "mad (M1_NM, 1) TQ(0,0)<1> THREAD(0,0)<0;1,0> 64:ud N0(0,0)<0;1,0>",
            f"cmp.eq (M1_NM, {self.simd}) PL TQ(0,0)<0;1,0> {turn + self.thread}:d",
        ]
        lane = self.random.randrange(self.simd)
        if self.random.random() < 0.4:
            place = self._at(f"W{k}", lane, 4)
            lines.append(f"(PL) add (M1_NM, 1) {place}<1> {place}<0;1,0> {far}:d")
        else:
            for lane, where in self._chunks():
                place = self._at(f"W{k}", lane, 4)
                lines.append(f"(PL) add {where} {place}<1> {place}<1;1,0> {far}:d")
        return Node("outside", tuple(lines))

    def _body(self, end: str) -> Block:
        random = self.random
        parts = [self._load(0) for _ in range(random.choice((1, 2, 3)))]
        extra: tuple[tuple[float, Callable[[], Node]], ...] = (
            (0.5, self._any_move),
            (0.3, self._any_move),
            (0.5, partial(self._store, 0)),
            (0.3, partial(self._store, 0)),
            (0.12, self._if),
            (0.2, self._flags),
        )
        parts += [write() for chance, write in extra if random.random() < chance]
        if random.random() < 0.12:
            p = f"P{random.randrange(1, 4)}"
            parts.append(Node("leave", (f"({p}) goto (M1, {self.simd}) {end}",)))
        if self.leaves:
            parts.append(self._leave())
        random.shuffle(parts)
        return tuple(parts)

    def _loop(self, nested: bool) -> Node:
        """Most are left by all lanes at once."""
        if nested or self.random.random() < 0.35:
            return super()._loop(nested)
        top, end, turns = self._label(), self._label(), self.random.choice((1, 3, 5, 9, 17))
        parts: tuple[str | Block, ...] = (
            f"mov (M1_NM, 1) N0(0,0)<1> {turns}:d",
            f"{top}:",
            self._body(end),
            "add (M1_NM, 1) N0(0,0)<1> N0(0,0)<0;1,0> -1:d",
            "cmp.gt (M1_NM, 1) PL N0(0,0)<0;1,0> 0:d",
            f"(PL) jmp (M1, 1) {top}",
            f"{end}:",
        )
        return Node("loop", parts)


class Tiles(Walks):
    """Random tiles for one device and one SIMD size, one a group."""

    may_fault: ClassVar[bool] = True

    def file(self) -> str:
        _, _, text = super().file().partition(": ")
        return TILES_HEADER + text

    @classmethod
    def read(cls, text: str) -> Tiles:
        found = super().read(text.replace(TILES_HEADER, "// random walks: ", 1))
        assert isinstance(found, Tiles)
        return found

    def _variables(self) -> dict[str, tuple[str, int]]:
        wanted = {f"W{k}": ("ud", 32) for k in range(REGISTERS)}
        wanted |= {
            "OFFS": ("ud", 32),
            "LID": ("uw", 32),
            "TB": ("ud", 1),
            "TS": ("ud", 1),
            "TQ": ("d", 1),
        }
        wanted["SLMO"] = "ud", 8
        return super()._variables() | {
            name: (f".decl {name} v_type=G type={type} num_elts={count} align=GRFx2", 0)
            for name, (type, count) in wanted.items()
        }

    def _declarations(self) -> Iterator[str]:
        yield from super()._declarations()
        for name in ("OFFS", *(f"W{k}" for k in range(REGISTERS)), *(f"S{k}" for k in range(4))):
            yield f".decl {name}_16 v_type=G type=ud num_elts=16 align=GRFx2 alias=<{name}, 64>"

    def _prologue(self) -> Iterator[str]:
        """As walks have it; and sums into the thread's local memory."""
        yield from super()._prologue()
        yield from (
            "    mov (M1_NM, 8) SLMO(0,0)<1> 0x76543210:uv",
            "    shl (M1_NM, 8) SLMO(0,0)<1> SLMO(0,0)<1;1,0> 0x2:ud",
            f"    mul (M1_NM, 1) TB(0,0)<1> THREAD(0,0)<0;1,0> {AREA}:ud",
            "    add (M1_NM, 8) SLMO(0,0)<1> SLMO(0,0)<1;1,0> TB(0,0)<0;1,0>",
        )
        for n, start in enumerate(range(0, AREA, 32)):
            yield f"    scatter_scaled.4 (M1_NM, 8) %slm {start:#x}:ud SLMO.0 S{n % 4}.0"
            if n % 4 == 3:
                yield "    mul (M1_NM, 8) S0(0,0)<1> S0(0,0)<1;1,0> 0x5bd1e995:ud"

    def grid(self) -> tuple[Grid, HarnessMemory, dict[str, int]]:
        old, memory, places = super().grid()
        (main,) = parse(self.text(), "random", platform(self.device).grf_bytes).kernels
        function = lower(main, platform(self.device), [])
        grf = function.grf_bytes
        function.inputs.append(Input(function.roots["MEM"], 0, grf + _LIDS, 8))
        function.inputs.append(Input(function.roots["LID"], 0, grf, 2 * self.simd))
        start = BASE + self.groups * THREADS * MEMORY
        record = Payload(
            (0,) * (grf // 4), grf, _LIDS, grf + _LIDS, start.to_bytes(8, "little"),
            numbers_threads=True, local_id_rows=1,
        )  # fmt: skip
        grid = Grid(
            function, old.group_count, old.local_size, record, {}, slm_bytes=THREADS * AREA,
            fuel=200_000,
        )  # fmt: skip
        return grid, memory, places


def bundle(number: int, kernels: int, devices: tuple[str, ...], sizes: tuple[int, ...]) -> Tiles:
    """The tiles of a number; their seeds follow each other.  In two of five one goes outside."""
    device = devices[number % len(devices)]
    simd = sizes[number // len(devices) % len(sizes)]
    first, leaves = number * kernels, number // 6 % kernels if number % 5 > 2 else None
    made = (
        Tiler(first + k, device, simd, f"k{k}", leaves=k == leaves).section()
        for k in range(kernels)
    )
    return Tiles(device, simd, number, tuple(made))
