"""Random kernels as complete texts: one or many in a text, each with two threads and memory.

They are those of `fuzz.generator`, but for statements of which it is known what the finalizer makes
(`fuzz.unsuited`), and what the documents leave undefined is given a value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from eumu.compare.differential import Pair, grid
from eumu.compare.harness import Harness, wrap
from eumu.compare.memory import Buffer, FlatHost
from eumu.exec.grid import BufferSurface
from eumu.exec.host import Engine
from eumu.fuzz.generator import SIMD, Generator
from eumu.fuzz.machine import FIRST_SURFACE, MEMORY, THREADS, Bundle
from eumu.fuzz.messages import AREA
from eumu.fuzz.statements import Block, Node
from eumu.fuzz.statements import lines as lines_of
from eumu.fuzz.unsuited import folded, sets_predicate, skips_nothing, unsuited
from eumu.fuzz.witness import SCRATCH_BYTES, differences
from eumu.ir import Function
from eumu.isa.spec import Opcode
from eumu.platforms import platform
from eumu.records import dataclass
from eumu.types import TYPES, UB, F, Type

FUEL = 200_000
GRF = platform("skl").grf_bytes
FAMILY = 48  # so many seeds in a row have the same values and modes at first
_LEFT_OUT = ("short_atomic",)  # Gen9 has none


def is_suited(lines: Sequence[str]) -> bool:
    """Whether the finalizer is not known to make something else of any of these lines."""
    alone = any(unsuited(line) for line in lines)
    return not (alone or folded(lines) or skips_nothing(lines))


class Suited(Generator):
    """Draws statements again that are known to differ."""

    ADDRESSES = "A1"  # of more than 16 words the finalizer loses some

    def node(self, depth: int, loops: int) -> Node:
        made = super().node(depth, loops)
        while not is_suited(list(made.lines())):
            made = super().node(depth, loops)
        return made

    def vector(self, opcode: Opcode | None = None) -> Node:
        made = super().vector(opcode)
        while any(unsuited(line) for line in made.lines()):
            made = super().vector(opcode)
        return made

    def _subroutine(self) -> Block:
        """None that sets a predicate in its lanes: to the finalizer it does so in all, also where
        a call has a predicate, and another variable gets the place of what the others hold."""
        made = super()._subroutine()
        while any(sets_predicate(line, self.simd) for line in lines_of(made)):
            made = super()._subroutine()
        return made

    def _functions(self) -> list[tuple[str, Block]]:
        """None: the finalizer makes a file of each, which a loader has to link."""
        return []

    def _family(self, kind: str) -> str:
        family = super()._family(kind)
        return self._family(kind) if family in _LEFT_OUT else family


@dataclass(frozen=True)
class FinalizedBundle:
    """Random kernels with their harness: each is run by a group of its own."""

    bundle: Bundle
    harness: Harness

    @property
    def types(self) -> dict[str, tuple[Type, int]]:
        types = {name: (type, count) for name, type, count in self.bundle.outputs}
        return types | {"memory": (UB, AREA), "floats": (F, AREA // 4)}

    @property
    def seeds(self) -> list[int]:
        return [section.seed for section in self.bundle.sections]


def program(seed: int, device: str = "skl") -> FinalizedBundle:
    """The kernel of a seed."""
    simd = SIMD[seed % len(SIMD)]
    section = Suited(seed, device, simd, f"k{seed}").section()
    return complete(Bundle(device, simd, seed - seed % FAMILY, (section,)))


def together(programs: Sequence[FinalizedBundle]) -> FinalizedBundle:
    """Programs of one family and SIMD size as one."""
    sections = tuple(s for made in programs for s in made.bundle.sections)
    return complete(replace(programs[0].bundle, sections=sections, groups=0, outputs=[]))


def complete(bundle: Bundle) -> FinalizedBundle:
    """A bundle with its harness, which loads and stores the variables that occur."""
    text = "\n".join(_defined(bundle.text().splitlines(), bundle.simd)) + "\n"
    used = Counter(_WORD.findall(text))
    used["UDW"] += used["DW"] - 1  # the alias of the other
    names = [name for name, _, _ in bundle.outputs if used[name] > 1]
    return FinalizedBundle(bundle, wrap(text, [*names, "MEM"], THREADS, bundle.groups))


def smaller(made: FinalizedBundle) -> Iterator[FinalizedBundle]:
    """The same kernel with less in it."""
    (section,) = made.bundle.sections
    for less in section.smaller():
        yield complete(replace(made.bundle, sections=(less,), outputs=[]))


# ---- what the documents leave open

_WORD = re.compile(r"\b[A-Z]+\d*\b")
_BITS = re.compile(
    r"\s*mov(?:\.sat)? \((M\d(?:_NM)?), 1\) (\w+\(\d+,\d+\)|r\[\S+\])<\d>(:\w+)? P\d$"
)
_SHORT = re.compile(
    r"\s*(?:\(.*?\) )?(?:svm_gather\.1|gather|gather_scaled)\.([12]) .* (BIG|UD\d)\.0$"
)
_EVEN = re.compile(r"\s*(?:\(.*?\) )?sad2(?:\.sat)? .*?(\d+)\) ([A-Z]+)(\d*)\((\d+),(\d+)\)<(\d)>")
_SWITCH = re.compile(r"\s*switchjmp .* \((.*)\)$")


def _defined(lines: list[str], simd: int) -> Iterator[str]:
    """Lines that give what is undefined a value."""
    for line in lines:
        if line.startswith(".kernel_attr"):
            # Behind the scratch space that the kernel itself uses.
            yield f".kernel_attr SpillMemOffset={AREA}"
        if match := _SWITCH.match(line):  # an index past the last label jumps behind the table
            last = match[1].count(",")
            yield f"    min (M1_NM, 1) CASE(0,0)<1> CASE(0,0)<0;1,0> {last}:ud"
        yield line
        if match := _BITS.match(line):  # bits of lanes that do not exist
            lanes, place, type, mask = match[1], match[2], match[3] or "", (1 << simd) - 1
            yield f"    and ({lanes}, 1) {place}<1>{type} {place}<0;1,0>{type} {mask:#x}:ud"
        if match := _SHORT.match(line):  # the upper bytes of elements
            mask = {"1": 0xFF, "2": 0xFFFF}[match[1]]
            for row in range(0, -(-simd // 8)):
                place = f"{match[2]}({row},0)"
                yield f"    and (M1_NM, 8) {place}<1> {place}<1;1,0> {mask:#x}:ud"
        if (match := _EVEN.match(line)) and match[1] != "1":  # odd lanes
            yield from _odd_lanes(*match.groups())


def _odd_lanes(lanes: str, type: str, number: str, *place: str) -> Iterator[str]:
    """Clears every other element of a destination, from the second one on, one by one if they lie
    further apart than a destination's may."""
    row, column, stride = map(int, place)
    size, per_row = int(lanes) // 2, GRF // TYPES[type.lower()].size
    together = 2 * stride <= 4
    for k in range(1 if together else size):
        line, at = divmod(row * per_row + column + stride * (2 * k + 1), per_row)
        region = (size, 2 * stride) if together else (1, 1)
        yield f"    mov (M1_NM, {region[0]}) {type}{number}({line},{at})<{region[1]}> 0x0:uw"


# ---- the run


def outcome(made: FinalizedBundle, function: Function, engine: Engine) -> dict[str, bytes]:
    """What all variables and the memory of all threads hold at the end."""
    harness, threads = made.harness, THREADS * made.bundle.groups
    memory = Buffer("memory", threads * MEMORY)
    host = FlatHost(harness.size, [memory])
    before = made.bundle.initial()
    host.fill(memory, before.pop("") * threads)
    start = host.places["memory"]
    values = {name: data for name, data in before.items() if name in harness.places}
    image = harness.image({**values, "MEM": start.to_bytes(8, "little")})
    host.arena[: len(image)] = np.frombuffer(image, np.uint8)
    launch = grid(
        function,
        host.base,
        threads=THREADS,
        groups=made.bundle.groups,
        surfaces={
            FIRST_SURFACE + k: BufferSurface(start + k * MEMORY, MEMORY, strict=False)
            for k in range(threads)
        },
        slm_bytes=THREADS * AREA,
        scratch_bytes=SCRATCH_BYTES,
        fuel=FUEL,
    )
    host.run(launch, engine)
    results = harness.results(bytes(host.results[: harness.size]))
    del results["MEM"]
    rows = [host.bytes_of(memory)[k * MEMORY :][:MEMORY] for k in range(threads)]
    results["memory"] = b"".join(row[:AREA] for row in rows)
    results["floats"] = b"".join(row[AREA:] for row in rows)
    return results


def compared(
    made: FinalizedBundle, pair: Pair, engines: Mapping[str, Engine], *, thorough: bool
) -> list[str]:
    """How native code differs on each engine from vISA on the first, in words.

    `thorough`: of every second family vISA instead of native code runs on the other engines; other
    tests compare it with the first.  Where anything differs, both do.
    """
    functions = {level: pair.function(level) for level in ("visa", "native")}
    (first, engine), *others = engines.items()
    want = outcome(made, functions["visa"], engine)

    def differ(level: str, name: str) -> list[str]:
        got = outcome(made, functions[level], engines[name])
        return [f"{level} on {name}: {d}" for d in differences(made.types, want, got)]

    levels = (
        ("visa", "native") if thorough and made.bundle.seed // FAMILY % 2 else ("native", "visa")
    )
    found = differ("native", first)
    found += [d for name, _ in others for d in differ(levels[0], name)]
    if found and thorough:
        found += [d for name, _ in others for d in differ(levels[1], name)]
    return found
