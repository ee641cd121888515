"""Runs random kernels on both engines and compares everything that they computed.

Many kernels are one program, so that the fast engine compiles one module for all of them: the
number of the thread group chooses the kernel that the group runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from random import Random
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eumu.compare.appending import Appender, root_of, variables
from eumu.compare.memory import BASE, FlatHost
from eumu.compare.nans import unequal_bits
from eumu.errors import Fault
from eumu.exec.grid import BufferSurface, Grid, Payload
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import Processor
from eumu.fuzz import stack
from eumu.fuzz.messages import AREA
from eumu.fuzz.operands import COPIES, FLOATS, INTEGERS, PREDICATE_COUNT, edge
from eumu.fuzz.statements import Block, Section, lines
from eumu.fuzz.teams import ROWS
from eumu.fuzz.updating import DECLARATION
from eumu.ir import Function, Input, Region, Rounding, Space
from eumu.lower import lower
from eumu.platforms import platform
from eumu.records import dataclass
from eumu.text import parse
from eumu.types import BF, BOOL, HF, TYPES, UB, UD, UQ, UW, D, F, Type, W

HEADER = "// random kernels: "
THREADS = 2  # of each group
MEMORY = 2 * AREA  # bytes of each thread
FIRST_SURFACE = 8
CHUNK = 64
COUNTERS = 6  # of nested loops: of the body, and of each subroutine
GROUP_ID = 4  # where the header has it


@dataclass(frozen=True)
class Difference:
    """Where the engines differ: a variable or the memory of a group, and how."""

    group: int
    what: str


@dataclass
class Bundle:
    """Random kernels for one device and one SIMD size.

    One that was read from a file has its text as `source`, and no sections.
    """

    device: str
    simd: int
    seed: int
    sections: tuple[Section, ...] = ()
    source: str = ""
    groups: int = 0
    may_fault: ClassVar[bool] = False  # a fault is a result, to be the same on both engines
    outputs: list[tuple[str, Type, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.groups = len(self.sections) or self.groups
        count, where = self.simd + 8, platform(self.device)
        for name in (*INTEGERS, *FLOATS):
            self.outputs += [(f"{name.upper()}{k}", TYPES[name], count) for k in range(COPIES)]
        self.outputs += [
            ("BIG", UD, 80), ("BF", F, 64), ("BQ", UQ, 32),
            ("UDW", UD, 2 * self.simd + 16), ("FW", F, 2 * self.simd), ("PB", UD, PREDICATE_COUNT),
        ]  # fmt: skip
        if where.has_systolic:
            words = ROWS * where.grf_bytes // 4
            self.outputs += [(n, UD, words) for n in ("MA", "MB")]
            self.outputs += [("MD", D, words), ("MF", F, words)]
            self.outputs += [("MHF", HF, words), ("MBF", BF, words)]

    # ---- the text

    def text(self) -> str:
        return self.source or "\n".join(self._lines()) + "\n"

    def file(self) -> str:
        """The text, with all that is needed to run it again in comments."""
        facts = f"{self.device} simd={self.simd} seed={self.seed} groups={self.groups}"
        return f"{HEADER}{facts}\n{self.text()}"

    @classmethod
    def read(cls, text: str) -> Bundle:
        """What `file` wrote."""
        first, _, source = text.partition("\n")
        device, *facts = first.removeprefix(HEADER).split()
        numbers = {name: int(value) for name, value in (fact.split("=") for fact in facts)}
        return cls(device, numbers["simd"], numbers["seed"], (), source, numbers["groups"])

    def _lines(self) -> Iterator[str]:
        yield from (".version 4.1", '.kernel "random"')
        yield from self._declarations()
        yield f".kernel_attr SimdSize={self.simd}"
        yield from self._prologue()
        if len(self.sections) > 1:
            for k in range(1, len(self.sections)):
                yield f"    cmp.eq (M1_NM, 1) PL %group_id_x(0,0)<0;1,0> {k}:ud"
                yield f"    (PL) jmp (M1_NM, 1) section{k}"
        for k, section in enumerate(self.sections):
            if k:
                yield f"section{k}:"
            yield from map(_indented, _statements(section.body))
            yield "    jmp (M1_NM, 1) finish"
        yield "finish:"
        for k in range(PREDICATE_COUNT):
            yield f"    mov (M1_NM, 1) PB(0,{k})<1> P{k + 1}"
        yield "    ret (M1, 1)"
        for section in self.sections:
            for label, block in section.subroutines:
                yield f'.function "{label}"'
                yield f"{label}:"
                yield from map(_indented, _statements(block))
                yield f"    ret (M1, {self.simd})"
        variables, grf = self._variables(), platform(self.device).grf_bytes
        for section in self.sections:
            for name, block in section.functions:
                yield from stack.function(name, block, self.simd, grf, variables, section.seed)

    def _variables(self) -> dict[str, tuple[str, int]]:
        """Declarations by name, and how many dwords of each must have a value from the start."""
        simd, variables = self.simd, {}
        for name, type, count in self.outputs:
            line = f".decl {name} v_type=G type={type} num_elts={count} align=GRFx2"
            variables[name] = line, type.size * count // 4
        # A view of the integers, with other elements: they share the bytes.
        alias = f"num_elts={2 * simd + 16} align=GRFx2 alias=<UDW, 0>"
        variables["DW"] = f".decl DW v_type=G type=d {alias}", 0
        for name, type, count in (
            ("OFF", UD, simd), ("ADR", UQ, simd), ("IDX", UW, 32), ("CASE", UD, 1),
            ("WHERE", UQ, 1), *((f"L{k}", W, simd) for k in range(COUNTERS)),
            *((f"N{k}", D, 1) for k in range(COUNTERS)),
        ):  # fmt: skip
            variables[name] = f".decl {name} v_type=G type={type} num_elts={count} align=GRFx2", 0
        for name in (*(f"P{k + 1}" for k in range(PREDICATE_COUNT)), "PL"):
            variables[name] = f".decl {name} v_type=P num_elts={simd}", 0
        for name, count in (("A1", 16), ("A2", 1)):
            variables[name] = f".decl {name} v_type=A num_elts={count}", 0
        return variables

    def _declarations(self) -> Iterator[str]:
        yield from (line for line, _ in self._variables().values())
        for name, type, count in (
            ("SI", UD, 1), ("MEM", UQ, 1), ("SLMB", UD, 1), ("THREAD", UD, 1),
            ("TEAM", UB, 4),
        ):  # fmt: skip
            yield f".decl {name} v_type=G type={type} num_elts={count} align=GRFx2"
        yield ".decl T6 v_type=T num_elts=1"
        for section in self.sections:
            for block in (section.body, *(block for _, block in section.subroutines)):
                yield from (line for line in lines(block) if line.startswith(DECLARATION))
        if any(section.functions for section in self.sections):
            yield from stack.ALIASES

    def _prologue(self) -> Iterator[str]:
        """Predicates, addresses, loop counts, and the memory that only threads have."""
        random = Random(self.seed)
        rounding = random.choice((0, 0, 0x10, 0x20, 0x30))
        modes = 0x4C0 if random.random() < 0.8 else 0
        yield f"    or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {modes | rounding:#x}:ud"
        for k in range(PREDICATE_COUNT):
            yield f"    setp (M1_NM, {self.simd}) P{k + 1} {random.getrandbits(32):#x}:ud"
        yield f"    setp (M1_NM, {self.simd}) PL 0:ud"
        yield from self._place_of_thread()
        yield "    movs (M1_NM, 1) T6(0) SI(0,0)<0;1,0>"
        yield from (
            "    addr_add (M1_NM, 8) A1(0)<8> &UD0 0:uw",
            "    addr_add (M1_NM, 8) A1(8)<8> &UD0 0:uw",
            "    addr_add (M1_NM, 1) A2(0)<1> &UD0 0:uw",
            "    mov (M1_NM, 8) OFF(0,0)<1> 0x76543210:uv",
            "    shl (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> 4:ud",
        )
        yield from _filled("%scratch")
        yield "    add (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> SLMB(0,0)<0;1,0>"
        yield from _filled("%slm")
        if any(section.functions for section in self.sections):
            yield "    mov (M1_NM, 8) RET(0,0)<1> UD0(0,0)<1;1,0>"

    def _place_of_thread(self) -> Iterator[str]:
        """Memory of its own, and values that the other thread of the group has not."""
        yield from (
            "    and (M1_NM, 1) THREAD(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud",
            f"    mul (M1_NM, 1) SLMB(0,0)<1> THREAD(0,0)<0;1,0> {AREA:#x}:ud",
            f"    mul (M1_NM, 1) SI(0,0)<1> %group_id_x(0,0)<0;1,0> {THREADS}:ud",
            "    add (M1_NM, 1) SI(0,0)<1> SI(0,0)<0;1,0> THREAD(0,0)<0;1,0>",
            f"    mul (M1_NM, 1) ADR(0,0)<1> SI(0,0)<0;1,0> {MEMORY:#x}:ud",
            "    add (M1_NM, 1) MEM(0,0)<1> MEM(0,0)<0;1,0> ADR(0,0)<0;1,0>",
            f"    add (M1_NM, 1) SI(0,0)<1> SI(0,0)<0;1,0> {FIRST_SURFACE}:ud",
            f"    mov (M1_NM, 4) TEAM(0,0)<1> {THREADS:#x}:ub",
            "    mul (M1_NM, 1) THREAD(0,0)<1> THREAD(0,0)<0;1,0> 0x5bd1e995:ud",
        )
        for name in ("UD0", "UD1"):
            yield f"    xor (M1_NM, 8) {name}(0,0)<1> {name}(0,0)<1;1,0> THREAD(0,0)<0;1,0>"

    # ---- the run

    def initial(self) -> dict[str, bytes]:
        """What each variable holds at first, and (name '') the memory."""
        random = Random(self.seed)
        data = {}
        for name, type, count in self.outputs:
            lanes = [_lane(random, name, type) for _ in range(count)]
            data[name] = b"".join(bits.to_bytes(type.size, "little") for bits in lanes)
        floats = [edge(random, F) for _ in range(AREA // 4)]
        data[""] = random.randbytes(AREA) + np.array(floats, "<u4").tobytes()
        return data

    def grid(self) -> tuple[Grid, HarnessMemory, dict[str, int]]:
        """A launch, its memory, and where each variable is stored in a thread's results."""
        kernels = parse(self.text(), "random", platform(self.device).grf_bytes).kernels
        main = next(k for k in kernels if not k.is_function)
        function = lower(main, platform(self.device), [k for k in kernels if k.is_function])
        named, threads = variables(main), self.groups * THREADS
        initial = self.initial()
        memory_bytes = initial.pop("")
        memory = HarnessMemory(threads, memory_bytes, sum(t.size * n for _, t, n in self.outputs))
        grf = function.grf_bytes
        payload = b""
        for name, data in {**initial, "MEM": BASE.to_bytes(8, "little")}.items():
            if name in function.roots:
                owner = root_of(function, named[name])
                function.inputs.append(Input(owner, 0, grf + len(payload), len(data)))
                payload += data
        places = _store_results(function, self.outputs, memory)
        surfaces = {
            FIRST_SURFACE + k: BufferSurface(BASE + k * MEMORY, MEMORY, strict=False)
            for k in range(threads)
        }
        record = Payload((0,) * (grf // 4), None, 0, grf, payload, numbers_threads=True)
        grid = Grid(
            function, (self.groups, 1, 1), (THREADS * self.simd, 1, 1), record,
            surfaces, slm_bytes=THREADS * AREA, scratch_bytes=AREA, fuel=100_000,
        )  # fmt: skip
        return grid, memory, places


class HarnessMemory(FlatHost):
    """The memory of every thread, then the results of every thread."""

    def __init__(self, threads: int, data: bytes, pitch: int) -> None:
        super().__init__(threads * (MEMORY + pitch))
        self.threads, self.pitch = threads, pitch
        self._data = np.frombuffer(data * threads, np.uint8)
        self.reset()

    def reset(self) -> None:
        self.arena[:] = 0
        self.arena[: self._data.size] = self._data

    def take(self) -> NDArray[np.uint8]:
        used = self.threads * (MEMORY + self.pitch)
        return self.arena[:used].copy()


def _store_results(
    function: Function, outputs: list[tuple[str, Type, int]], memory: HarnessMemory
) -> dict[str, int]:
    """Stores in front of the `ret` of the block `finish`; where each variable lies."""
    block = next(b for b in function.blocks if b.label == "finish")
    end, block.end = block.end, None
    builder = Appender(function)
    builder.block = block
    places: dict[str, int] = {}
    offset = 0
    header = function.roots["%r0"]
    group = builder.convert(builder.read(header, Region.scalar(GROUP_ID), UD, 1), UQ)
    before = builder.mul(group, builder.const(UQ, THREADS), Rounding.RNE)
    thread = builder.add(before, builder.special("thread_id", UQ), Rounding.RNE)
    first = builder.mul(thread, builder.const(UQ, memory.pitch), Rounding.RNE)
    for name, type, count in outputs:
        places[name] = offset
        size = type.size * count
        if name in function.roots:
            owner = function.roots[name]
            for start in range(0, size, CHUNK):
                many = min(CHUNK, size - start)
                value = builder.read(owner, Region.packed(start, 1), UB, many)
                at = BASE + memory.threads * MEMORY + offset + start
                address = builder.add(first, builder.const(UQ, at), Rounding.RNE)
                builder.store_block(Space.FLAT, address, builder.const(BOOL, 1), value)
        offset += size
    block.end = end
    return places


def _lane(random: Random, name: str, type: Type) -> int:
    """The bits of an element at first; matrices are read as short floats, too."""
    if name in ("MA", "MB"):
        return edge(random, HF) << 16 | edge(random, HF)
    return edge(random, type)


def _filled(surface: str) -> Iterator[str]:
    """Random words into memory that only threads have."""
    for start in range(0, AREA, 128):
        yield f"    scatter4_scaled.RGBA (M1_NM, 8) {surface} {start:#x}:ud OFF.0 BIG.0"


def _statements(block: Block) -> Iterator[str]:
    """The lines of a block that are no declarations."""
    return (line for line in lines(block) if not line.startswith(DECLARATION))


def _indented(line: str) -> str:
    return line if line.endswith(":") else f"    {line}"


def run(grid: Grid, memory: HarnessMemory, engine: Engine) -> tuple[NDArray[np.uint8], int]:
    memory.reset()
    stats = engine.run(grid, memory)
    return memory.take(), stats.instructions


def fault_of(grid: Grid, memory: HarnessMemory, engine: Engine) -> str:
    """What a run says of its fault; nothing if it has none."""
    try:
        run(grid, memory, engine)
    except Fault as fault:
        return str(fault)
    return ""


def differences(bundle: Bundle, processor: Processor | None = None) -> list[Difference]:
    """Run on both engines; everything that is not the same, NaNs of any kind being the same."""
    grid, memory, places = bundle.grid()
    if bundle.may_fault and (wanted := fault_of(grid, memory, Interpreter())):
        said = fault_of(grid, memory, Jit(workers=1, processor=processor))
        return [] if said == wanted else [Difference(0, f"{said!r}, not {wanted!r}")]
    want, expected = run(grid, memory, Interpreter())
    got, counted = run(grid, memory, Jit(workers=1, processor=processor))
    listed = list(_compare(bundle, memory, places, want, got))
    if not listed and expected != counted:
        listed.append(Difference(0, f"{expected} instructions, {counted} in the fast engine"))
    return listed


def _compare(
    bundle: Bundle,
    memory: HarnessMemory,
    places: dict[str, int],
    want: NDArray[np.uint8],
    got: NDArray[np.uint8],
) -> Iterator[Difference]:
    if np.array_equal(want, got):
        return
    start = memory.threads * MEMORY
    for thread in range(memory.threads):
        parts = [
            ("memory", UB, AREA, thread * MEMORY),
            ("floats", F, AREA // 4, thread * MEMORY + AREA),
        ]
        parts += [
            (name, type, count, start + thread * memory.pitch + places[name])
            for name, type, count in bundle.outputs
        ]
        for name, type, count, at in parts:
            x, y = (a[at : at + count * type.size].view(f"<u{type.size}") for a in (want, got))
            wrong = unequal_bits(type, x, y)
            if wrong.any():
                k = int(wrong.nonzero()[0][0])
                what = f"{name}[{k}] is {int(y[k]):#x}, expected {int(x[k]):#x}"
                yield Difference(thread // THREADS, f"{what} in thread {thread % THREADS}")
