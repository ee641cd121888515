"""What the threads of a group do together, and matrix products."""

from __future__ import annotations

from random import Random

from eumu.fuzz.messages import AREA
from eumu.fuzz.operands import COPIES
from eumu.fuzz.statements import Node
from eumu.isa.kinds.matrix import PRECISIONS, Precision
from eumu.platforms import platform

ROWS = 8
_INTEGERS = [p for p in PRECISIONS if p.bits in (2, 4, 8) and not p.is_float]
_FLOATS = [p for p in PRECISIONS if p.is_float]


class Teams:
    """Writes barriers with an exchange of data, and products of the matrices MA and MB."""

    def __init__(self, random: Random, device: str, simd: int) -> None:
        self.random, self.device, self.simd = random, device, simd

    # ---- barriers

    def barrier(self, between: Node) -> Node:
        return self._exchange("barrier", ("barrier",), (), between)

    def sbarrier(self, between: Node) -> Node:
        return self._exchange("sbarrier", ("sbarrier.signal",), ("sbarrier.wait",), between)

    def nbarrier(self, between: Node) -> Node:
        """Of two threads, each a producer and a consumer, or one that the other waits for."""
        number = self.random.randrange(1, 32)
        words = self.random.choice(("0x2:ub", "0x0:ub 0x2:ub 0x2:ub", "TEAM(0,1)<0;1,0>"))
        signal = f"nbarrier.signal {number:#x}:ub {words}"
        return self._exchange("nbarrier", (signal,), (f"nbarrier.wait {number:#x}:ub",), between)

    def _exchange(
        self, what: str, signal: tuple[str, ...], wait: tuple[str, ...], between: Node
    ) -> Node:
        """Each thread writes to its shared local memory, and reads the other's."""
        x, y = (f"UD{self.random.randrange(COPIES)}" for _ in range(2))
        return Node(
            what,
            (
                "mov (M1_NM, 8) OFF(0,0)<1> 0x76543210:uv",
                "shl (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> 0x2:ud",
                "add (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> SLMB(0,0)<0;1,0>",
                f"scatter_scaled.4 (M1_NM, 8) %slm 0x0:ud OFF.0 {x}.0",
                *signal,
                (between,),
                *wait,
                "mov (M1_NM, 8) OFF(0,0)<1> 0x76543210:uv",
                "shl (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> 0x2:ud",
                "add (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> SLMB(0,0)<0;1,0>",
                f"xor (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> {AREA:#x}:ud",
                f"gather_scaled.4 (M1_NM, 8) %slm 0x0:ud OFF.0 {y}.0",
                *signal,
                *wait,
            ),
        )

    # ---- matrices

    def dpas(self) -> Node:
        return self._product("dpas")

    def dpasw(self) -> Node:
        return self._product("dpasw")

    def _product(self, word: str) -> Node:
        random, size = self.random, platform(self.device).grf_bytes // 4
        b, a, dst, src0 = self._precisions()
        repeats = random.randint(1, 8)
        if word == "dpasw":  # each thread has whole registers of the left matrix
            repeats = 2 * random.randint(1, 4)
        nomask = random.choice(("", "", "_NM"))
        matrix = random.choice(("MA", "MB"))
        row, source = random.randrange(ROWS), f"UD{random.randrange(COPIES)}"
        return Node(
            word,
            (
                f"mov (M1_NM, 8) {matrix}({row},0)<1> {source}(0,0)<1;1,0>",
                f"{word}.{b.name}.{a.name}.8.{repeats} (M1{nomask}, {size})"
                f" {dst}.0 {src0} MB.0 MA(0,0)",
            ),
        )

    def _precisions(self) -> tuple[Precision, Precision, str, str]:
        """Precisions of src1 and src2, and the sums: dst and src0."""
        random, latest = self.random, platform(self.device).grf_bytes == 64
        if random.random() < 0.5:
            b, a = random.choice(_INTEGERS), random.choice(_INTEGERS)
            return b, a, "MD", random.choice(("MD.0", "%null.0"))
        precisions = _FLOATS if latest else [p for p in _FLOATS if p.bits == 16]
        b = random.choice(precisions)
        sums = ["MF"]
        if latest and b.bits == 16:
            sums.append("MHF" if b.name == "hf" else "MBF")
        src0 = random.choice([*sums, "%null"])
        return b, b, random.choice(sums), f"{src0}.0"
