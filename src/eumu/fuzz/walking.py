"""Random loops that step through memory: what the fast engine may read turns ahead, and may not.

A thread has bytes of its own, through which pointers and counters of lanes move: forwards and
backwards, by multiples of an element and not, all lanes alike, each from a place of its own, some
of them only in some turns.  Loops load, store to what other loads read, change predicates and lose
lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from eumu.compare.memory import BASE
from eumu.exec.grid import Grid, Payload
from eumu.fuzz.machine import HEADER, MEMORY, THREADS, Bundle, HarnessMemory
from eumu.fuzz.operands import PREDICATE_COUNT
from eumu.fuzz.statements import Block, Node, Section, lines
from eumu.ir import Input
from eumu.lower import lower
from eumu.platforms import platform
from eumu.text import parse
from eumu.types import UB, UD

WALKS_HEADER: Final = "// random walks: "
DATA: Final = 8192  # bytes that a thread walks through
POINTERS: Final = 3
_RESULTS: Final = ("S0", "S1", "S2", "S3")  # dwords of 32 lanes each
_PITCH: Final = DATA + 128 * len(_RESULTS)
_FIRST: Final = 1800  # where walks begin, so that none ends outside
_MOST_TURNS: Final = 36
_STEPS: Final = (4, 8, 1, 2, 16, 3, 5, 6, 12, 20, 0, -1, -4, -16)
_STRIDES: Final = (100, 68, 72, 41, 33, 4, 1, 0)
_LOADS: Final = {  # elements by the words of a message: bytes of each, how many
    "svm": {"1.1": (1, 1), "1.4": (1, 4), "4.1": (4, 1), "4.2": (4, 2), "8.1": (8, 1)},
    "lsc": {
        **{"d32": (4, 1), "d8c32": (1, 1), "d16c32": (2, 1)},
        **{"d64": (8, 1), "d32x2": (4, 2), "d32x4": (4, 4)},
    },
}


class Walker:
    """Makes one section; the same seed, device and SIMD size make the same."""

    def __init__(self, seed: int, device: str, simd: int, mark: str = "S") -> None:
        self.seed, self.simd, self.mark = seed, simd, mark
        self.random = Random(f"walks {seed} {device} {simd}")
        self.has_lsc = platform(device).has_lsc
        self.grf = platform(device).grf_bytes
        self.chunk = min(simd, self.grf // 4)  # lanes of an address in two registers
        self.labels = 0
        # Of each pointer: what it is made from, and how wide that is.
        self.forms = [self.random.choice(("pointer", "counter", "byte", "scalar")) for _ in "012"]
        self.loads = [self._any_load() for _ in "012"]
        self.steps = [self._any_step(*_LOADS[kind][shape]) for kind, shape in self.loads]

    def section(self) -> Section:
        setup = [line for k in range(POINTERS) for line in self._start(k)]
        body: Block = (Node("start", tuple(setup)),)
        for _ in range(self.random.choice((1, 1, 2))):
            body += (self._loop(self.random.random() < 0.25),)
        return Section(self.seed, body)

    # ---- pieces

    def _any_load(self) -> tuple[str, str]:
        kind = "lsc" if self.has_lsc and self.random.random() < 0.7 else "svm"
        return kind, self.random.choice(list(_LOADS[kind]))

    def _any_step(self, size: int, count: int) -> int:
        """Most steps are elements."""
        if self.random.random() < 0.6:
            return size * (1 if count > 1 else self.random.choice((1, 1, 2, 3)))
        return self.random.choice(_STEPS)

    def _at(self, name: str, lane: int, size: int) -> str:
        row, byte = divmod(lane * size, self.grf)
        return f"{name}({row},{byte // size})"

    def _each(self, write: Callable[[int, str], str]) -> list[str]:
        """A line for each chunk of lanes: `write` gets the first one and the mask control."""
        nomask = "_NM" if self.random.random() < 0.15 else ""
        firsts = range(0, self.simd, self.chunk)
        return [write(k, f"(M{k // 4 + 1}{nomask}, {self.chunk})") for k in firsts]

    def _guard(self, chance: float) -> str:
        if self.random.random() >= chance:
            return ""
        p = f"P{self.random.randrange(1, PREDICATE_COUNT + 1)}"
        return self.random.choice((f"({p}) ", f"(!{p}) "))

    # ---- where lanes are

    def _start(self, k: int) -> Iterator[str]:
        """C is where lanes begin, in bytes from the thread's own; PTR the same as addresses."""
        stride, first = self.random.choice(_STRIDES), _FIRST + self.random.choice((0, 1, 2, 4, 64))
        for lane in range(0, self.simd, 8):
            place = self._at(f"C{k}", lane, 4)
            yield f"mov (M1_NM, 8) {place}<1> 0x76543210:uv"
            yield f"mul (M1_NM, 8) {place}<1> {place}<1;1,0> {stride}:ud"
            yield f"add (M1_NM, 8) {place}<1> {place}<1;1,0> {first + lane * stride}:ud"
            if stride and self.random.random() < 0.2:  # each lane from a place of its own
                yield f"and (M1_NM, 8) OFF(0,0)<1> {self._at('S0', lane, 4)}<1;1,0> 0xff:ud"
                yield f"add (M1_NM, 8) {place}<1> {place}<1;1,0> OFF(0,0)<1;1,0>"
        for lane in range(0, self.simd, self.chunk):
            source, place = self._at(f"C{k}", lane, 4), self._at(f"PTR{k}", lane, 8)
            yield f"add (M1_NM, {self.chunk}) {place}<1> {source}<1;1,0> OWN(0,0)<0;1,0>"
        yield f"mov (M1_NM, 1) I{k}(0,0)<1> 0:d"
        yield f"mov (M1_NM, 32) B{k}(0,0)<1> {self.random.choice((0, 200, 240))}:ub"

    def _address(self, k: int, nomask: str = "") -> list[str]:
        """ADR = where the lanes of a pointer are in this turn."""
        name = {"counter": "C", "byte": "B", "scalar": "I"}.get(self.forms[k])
        if name is None:
            return []
        out = []
        for lane in range(0, self.simd, self.chunk):
            place, pointer = self._at("ADR", lane, 8), self._at(f"PTR{k}", lane, 8)
            where = f"(M{lane // 4 + 1}{nomask}, {self.chunk})"
            if name == "C":
                counter = self._at("C" + str(k), lane, 4)
                out.append(f"add {where} {place}<1> {counter}<1;1,0> OWN(0,0)<0;1,0>")
            elif name == "B":
                counter = self._at("B" + str(k), lane, 1)
                out.append(f"add {where} {place}<1> {counter}<1;1,0> {pointer}<1;1,0>")
            else:
                out.append(f"add {where} {place}<1> I{k}(0,0)<0;1,0> {pointer}<1;1,0>")
        return out

    def _step(self, k: int) -> Node:
        """A pointer moves on; now and then only some of its lanes, or a part of a lane."""
        step, form = self.steps[k], self.forms[k]
        if form == "scalar":
            return Node("step", (f"add (M1_NM, 1) I{k}(0,0)<1> I{k}(0,0)<0;1,0> {step}:d",))
        name, size, type = {
            "pointer": ("PTR", 8, "d"),
            "counter": ("C", 4, "d"),
            "byte": ("B", 1, "w"),
        }[form]
        guard = self._guard(0.1)
        if self.random.random() < 0.06:
            place = self._at(f"{name}{k}", self.random.randrange(self.simd), size)
            return Node("step_of_one", (f"add (M1_NM, 1) {place}<1> {place}<0;1,0> {step}:{type}",))

        def write(lane: int, where: str) -> str:
            place = self._at(f"{name}{k}", lane, size)
            return f"{guard}add {where} {place}<1> {place}<1;1,0> {step}:{type}"

        return Node("step", tuple(self._each(write)))

    # ---- what a turn does

    def _load(self, k: int) -> Node:
        """S = 5 * S + what is there."""
        kind, shape = self.loads[k] if self.random.random() < 0.8 else self._any_load()
        size, count = _LOADS[kind][shape]
        guard, total = self._guard(0.25), self.random.choice(_RESULTS)
        address = "PTR" + str(k) if self.forms[k] == "pointer" else "ADR"
        nomask = "_NM" if self.random.random() < 0.1 else ""
        out = self._address(k, nomask)
        for lane in range(0, self.simd, self.chunk):
            where = f"(M{lane // 4 + 1}{nomask}, {self.chunk})"
            if kind == "lsc":
                register = f"{address}{'' if lane == 0 else f'_{lane}'}"
                out.append(f"{guard}lsc_load.ugm {where} X{size // 8}:{shape} flat[{register}]:a64")
            else:
                out.append(f"{guard}svm_gather.{shape} {where} {address}.{8 * lane} X{size // 8}.0")
            for part in range(count if kind == "lsc" or size > 1 else 1):
                for n in range(0, self.chunk, 8):
                    sum = self._at(total, lane + n, 4)
                    got = self._at("X0", part * self.chunk + n, 4)
                    if size == 8:
                        row, byte = divmod(8 * n, self.grf)
                        got = f"X2({row},{byte // 4})<2;1,0>"
                    else:
                        got += "<1;1,0>"
                    at = f"(M{(lane + n) // 4 + 1}, 8)"
                    out += [f"mul {at} {sum}<1> {sum}<1;1,0> 5:ud",
                            f"add {at} {sum}<1> {sum}<1;1,0> {got}"]  # fmt: skip
        return Node("load", tuple(out))

    def _store(self, k: int) -> Node:
        """Sums go to where lanes of a pointer are, which a load may come to later."""
        address = "PTR" + str(k) if self.forms[k] == "pointer" else "ADR"
        out, total = self._address(k), self.random.choice(_RESULTS)
        for lane in range(0, self.simd, self.chunk):
            where = f"(M{lane // 4 + 1}, {self.chunk})"
            out.append(f"svm_scatter.4.1 {where} {address}.{8 * lane} {total}.{4 * lane}")
        return Node("store", tuple(out))

    def _flags(self) -> Node:
        """A predicate that differs from turn to turn."""
        p = f"P{self.random.randrange(1, PREDICATE_COUNT + 1)}"
        relation = self.random.choice(("lt", "gt"))
        where = f"(M1{self.random.choice(('', '_NM'))}, 8)"
        x, y = self.random.sample(_RESULTS, 2)
        return Node("flags", (f"cmp.{relation} {where} {p} {x}(0,0)<1;1,0> {y}(0,0)<1;1,0>",))

    def _if(self) -> Node:
        end = self._label()
        p = f"P{self.random.randrange(1, PREDICATE_COUNT + 1)}"
        body = (self._load(self.random.randrange(POINTERS)),)
        return Node("if", (f"({p}) goto (M1, {self.simd}) {end}", body, f"{end}:"))

    def _label(self) -> str:
        self.labels += 1
        return f"{self.mark}_{self.labels}"

    # ---- loops

    def _body(self, end: str) -> Block:
        random, used = (
            self.random,
            self.random.sample(range(POINTERS), self.random.choice((1, 1, 2, 3))),
        )
        parts = [self._load(k) for k in used] + [self._step(k) for k in used]
        extra = (
            (0.12, self._if),
            (0.2, self._flags),
            (0.05, lambda: self._store(random.choice(used))),
            (0.1, lambda: self._load(random.randrange(POINTERS))),
            (0.1, lambda: self._step(random.choice(used))),
        )
        parts += [write() for chance, write in extra if random.random() < chance]
        if random.random() < 0.15:
            p = f"P{random.randrange(1, PREDICATE_COUNT + 1)}"
            parts.append(Node("leave", (f"({p}) goto (M1, {self.simd}) {end}",)))
        random.shuffle(parts)
        return tuple(parts)

    def _loop(self, nested: bool) -> Node:
        """All lanes as often, or each as often as it wants; inside another one or by itself."""
        top, end, simd = self._label(), self._label(), self.simd
        turns = self.random.choice((2, 7, 12) if nested else (1, 3, 5, 9, 17, 18))
        body = self._body(end)
        if self.random.random() < 0.6:
            parts: tuple[str | Block, ...] = (
                f"mov (M1_NM, 1) N0(0,0)<1> {turns}:d",
                f"{top}:",
                body,
                "add (M1_NM, 1) N0(0,0)<1> N0(0,0)<0;1,0> -1:d",
                f"cmp.gt (M1_NM, {self.random.choice((1, simd))}) PL N0(0,0)<0;1,0> 0:d",
                f"(PL) goto (M1, {simd}) {top}",
                f"{end}:",
            )
        else:
            parts = (*self._own_turns(turns), f"{top}:", body,
                     f"add (M1, {simd}) L0(0,0)<1> L0(0,0)<1;1,0> -1:w",
                     f"cmp.gt (M1, {simd}) PL L0(0,0)<1;1,0> 0:w",
                     f"(PL) goto (M1, {simd}) {top}", f"{end}:")  # fmt: skip
        if not nested:
            return Node("loop", parts)
        again = self._label()
        outer = (
            "mov (M1_NM, 1) N1(0,0)<1> 3:d",
            f"{again}:",
            (Node("loop", parts),),
            "add (M1_NM, 1) N1(0,0)<1> N1(0,0)<0;1,0> -1:d",
            "cmp.gt (M1_NM, 1) PL N1(0,0)<0;1,0> 0:d",
            f"(PL) jmp (M1, 1) {again}",
        )
        return Node("nested", outer)

    def _own_turns(self, turns: int) -> Iterator[str]:
        """L0 = how often each lane runs a loop: not much less than others."""
        for lane in range(0, self.simd, 8):
            place = self._at("L0", lane, 2)
            bits = self._at("S1", lane, 4)
            yield f"and (M1_NM, 8) OFF(0,0)<1> {bits}<1;1,0> 3:ud"
            yield f"add (M1_NM, 8) {place}<1> (-)OFF(0,0)<1;1,0> {turns}:w"


class Walks(Bundle):
    """Random walks for one device and one SIMD size, one a group."""

    def __post_init__(self) -> None:
        self.groups = len(self.sections) or self.groups
        self.outputs = [("DATA", UB, DATA), *((name, UD, 32) for name in _RESULTS)]

    def file(self) -> str:
        return super().file().replace(HEADER, WALKS_HEADER, 1)

    @classmethod
    def read(cls, text: str) -> Walks:
        found = super().read(text.replace(WALKS_HEADER, HEADER, 1))
        assert isinstance(found, Walks)
        return found

    def _variables(self) -> dict[str, tuple[str, int]]:
        wanted = {
            **dict.fromkeys(_RESULTS, ("ud", 32)),
            **{"X0": ("ud", 128), "X1": ("ud", 64), "OFF": ("ud", 8), "L0": ("w", 32)},
            **{
                "THREAD": ("ud", 1),
                "MEM": ("uq", 1),
                "OWN": ("uq", 1),
                "N0": ("d", 1),
                "N1": ("d", 1),
            },
        }
        for k in range(POINTERS):
            wanted |= {
                f"PTR{k}": ("uq", 32),
                f"C{k}": ("ud", 32),
                f"B{k}": ("ub", 32),
                f"I{k}": ("d", 1),
            }
        wanted["ADR"] = "uq", 32
        variables = {}
        for name, (type, count) in wanted.items():
            variables[name] = f".decl {name} v_type=G type={type} num_elts={count} align=GRFx2", 0
        return variables

    def _declarations(self) -> Iterator[str]:
        yield from (line for line, _ in self._variables().values())
        yield ".decl X2 v_type=G type=ud num_elts=64 align=GRFx2 alias=<X1, 0>"
        for name in ("ADR", *(f"PTR{k}" for k in range(POINTERS))):
            for lane in (8, 16, 24):
                where = f"num_elts={32 - lane} align=GRFx2 alias=<{name}, {8 * lane}>"
                yield f".decl {name}_{lane} v_type=G type=uq {where}"
        for name in (*(f"P{k + 1}" for k in range(PREDICATE_COUNT)), "PL"):
            yield f".decl {name} v_type=P num_elts={self.simd}"

    def _prologue(self) -> Iterator[str]:
        """Where the thread's bytes lie, predicates, and sums out of its data."""
        random = Random(self.seed)
        yield from (
            "    and (M1_NM, 1) THREAD(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud",
            f"    mul (M1_NM, 1) OFF(0,0)<1> %group_id_x(0,0)<0;1,0> {THREADS}:ud",
            "    add (M1_NM, 1) OFF(0,0)<1> OFF(0,0)<0;1,0> THREAD(0,0)<0;1,0>",
            f"    mul (M1_NM, 1) OWN(0,0)<1> OFF(0,0)<0;1,0> {_PITCH:#x}:ud",
            "    add (M1_NM, 1) OWN(0,0)<1> MEM(0,0)<0;1,0> OWN(0,0)<0;1,0>",
            "    mov (M1_NM, 32) L0(0,0)<1> 0:w",
        )
        for k in range(PREDICATE_COUNT):
            yield f"    setp (M1_NM, {self.simd}) P{k + 1} {random.getrandbits(32):#x}:ud"
        yield f"    setp (M1_NM, {self.simd}) PL 0:ud"
        for k, name in enumerate(_RESULTS):
            yield f"    add (M1_NM, 1) ADR(0,0)<1> OWN(0,0)<0;1,0> {128 * k}:ud"
            yield f"    svm_block_ld.unaligned (8) ADR(0,0)<0;1,0> {name}.0"

    def _lines(self) -> Iterator[str]:
        yield from (".version 4.1", '.kernel "random"')
        yield from self._declarations()
        yield f".kernel_attr SimdSize={self.simd}"
        yield from self._prologue()
        for k in range(1, len(self.sections)):
            yield f"    cmp.eq (M1_NM, 1) PL %group_id_x(0,0)<0;1,0> {k}:ud"
            yield f"    (PL) jmp (M1_NM, 1) section{k}"
        for k, section in enumerate(self.sections):
            if k:
                yield f"section{k}:"
            yield from (
                line if line.endswith(":") else f"    {line}" for line in lines(section.body)
            )
            yield "    jmp (M1_NM, 1) finish"
        yield "finish:"
        for k, name in enumerate(_RESULTS):
            yield f"    add (M1_NM, 1) ADR(0,0)<1> OWN(0,0)<0;1,0> {DATA + 128 * k}:ud"
            yield f"    svm_block_st (8) ADR(0,0)<0;1,0> {name}.0"
        yield "    ret (M1, 1)"

    def initial(self) -> dict[str, bytes]:
        return {"": Random(self.seed).randbytes(DATA)}

    def grid(self) -> tuple[Grid, HarnessMemory, dict[str, int]]:
        (main,) = parse(self.text(), "random", platform(self.device).grf_bytes).kernels
        function = lower(main, platform(self.device), [])
        threads, grf = self.groups * THREADS, function.grf_bytes
        memory = _Walked(threads, self.initial()[""], _PITCH)
        start = BASE + threads * MEMORY
        function.inputs.append(Input(function.roots["MEM"], 0, grf, 8))
        payload = start.to_bytes(8, "little")
        record = Payload((0,) * (grf // 4), None, 0, grf, payload, numbers_threads=True)
        places = {name: DATA + 128 * k for k, name in enumerate(_RESULTS)} | {"DATA": 0}
        grid = Grid(
            function, (self.groups, 1, 1), (THREADS * self.simd, 1, 1), record, {}, fuel=200_000
        )  # fmt: skip
        return grid, memory, places


class _Walked(HarnessMemory):
    """What each thread walks through has the same bytes at first."""

    def reset(self) -> None:
        self.arena[:] = 0
        own = self.arena[self.threads * MEMORY :][: self.threads * self.pitch]
        own.reshape(self.threads, self.pitch)[:, :DATA] = self._data[:DATA]


def bundle(number: int, kernels: int, devices: tuple[str, ...], sizes: tuple[int, ...]) -> Walks:
    """The walks of a number; their seeds follow each other."""
    device = devices[number % len(devices)]
    simd = sizes[number // len(devices) % len(sizes)]
    first = number * kernels
    made = (Walker(first + k, device, simd, f"k{k}").section() for k in range(kernels))
    return Walks(device, simd, number, tuple(made))
