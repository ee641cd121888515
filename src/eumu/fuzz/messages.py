"""Random messages: loads, stores, blocks and atomics, all inside the memory that a kernel has.

A thread has 512 bytes of integers and 512 bytes of `f` at the address MEM, which is also the
surface T6, 512 bytes of shared local memory from SLMB on and 512 bytes of scratch space.  Accesses
through the surface may lie outside it: reads give 0 there, and writes are dropped.  Floats and
integers stay apart, as the bits of a NaN are nobody's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from eumu.fuzz.operands import COPIES, PREDICATE_COUNT
from eumu.isa.visa.lsc import ATOMICS as LSC_ATOMICS
from eumu.isa.visa.surface import ATOMICS as LEGACY_ATOMICS
from eumu.platforms import platform

AREA = 512  # bytes of each kind of memory
FLOAT_AREA = AREA  # where those of floats begin


class Messages:
    """Writes messages as lists of lines, the last of which is the message.

    Methods are families (`fuzz.families`).
    """

    def __init__(self, random: Random, device: str, simd: int) -> None:
        self.random, self.device, self.simd = random, device, simd
        self.has_lsc = platform(device).has_lsc
        self.has_short_atomics = platform(device).order >= platform("tgllp").order

    # ---- pieces

    def _exec(self, *sizes: int) -> tuple[int, str]:
        size = self.random.choice([n for n in sizes if n <= self.simd] or [min(sizes)])
        place = self.random.randrange(0, self.simd - size + 1, max(4, size))
        nomask = "_NM" if self.random.random() < 0.15 else ""
        return size, f"(M{place // 4 + 1}{nomask}, {size})"

    def _guard(self) -> str:
        if self.random.random() < 0.7:
            return ""
        name = f"P{self.random.randrange(1, PREDICATE_COUNT + 1)}"
        return self.random.choice((f"({name}) ", f"(!{name}) ", f"({name}.any) "))

    def _data(self, type: str) -> str:
        return f"{type}{self.random.randrange(COPIES)}"

    def _offsets(
        self, lanes: int, size: int, floats: bool, scale: int = 1, surface: str = ""
    ) -> list[str]:
        """OFF[i] = scale * (a multiple of the element's size), so that `size` bytes fit."""
        unit = 4 if size >= 4 else size
        limit = 1 << ((AREA - size) // unit + 1).bit_length() - 1
        mask = (limit - 1) * unit
        source = f"UD{self.random.randrange(COPIES)}(0,0)<1;1,0>"
        lines = []
        for first in range(0, lanes, 8):  # no more than two registers at a time
            count = min(8, lanes - first)
            place = self._place("OFF", first, 4)
            lines.append(f"and (M1_NM, {count}) {place}<1> {source} {mask:#x}:ud")
            source = f"UD{self.random.randrange(COPIES)}(0,0)<1;1,0>"
            if floats:
                add = f"{FLOAT_AREA:#x}:ud"
                lines.append(f"add (M1_NM, {count}) {place}<1> {place}<1;1,0> {add}")
            if surface == "%slm":
                add = "SLMB(0,0)<0;1,0>"
                lines.append(f"add (M1_NM, {count}) {place}<1> {place}<1;1,0> {add}")
            if scale > 1:
                shift = scale.bit_length() - 1
                lines.append(f"shr (M1_NM, {count}) {place}<1> {place}<1;1,0> {shift}:ud")
        return lines

    def _place(self, name: str, index: int, size: int) -> str:
        row, byte = divmod(index * size, platform(self.device).grf_bytes)
        return f"{name}({row},{byte // size})"

    def _addresses(self, lanes: int, size: int, floats: bool) -> list[str]:
        """ADR[i] = MEM + OFF[i]."""
        lines = self._offsets(lanes, size, floats)
        step = min(lanes, 8)
        for first in range(0, lanes, step):
            lines.append(
                f"add (M1_NM, {step}) {self._place('ADR', first, 8)}<1>"
                f" {self._place('OFF', first, 4)}<1;1,0> MEM(0,0)<0;1,0>"
            )
        return lines

    def _surface(self) -> str:
        return self.random.choice(("T6", "T6", "%slm", "%scratch"))

    # ---- shared virtual memory

    def svm_gather(self) -> list[str]:
        size, count = self.random.choice(((1, 1), (1, 2), (1, 4), (4, 1), (4, 2), (8, 1), (8, 2)))
        lanes, exec = self._exec(4, 8, 16)
        lines = self._addresses(lanes, 8 * size * count, floats=False)
        name = "BQ" if size == 8 else "BIG"
        word = self.random.choice(("svm_gather", "svm_scatter"))
        return [*lines, f"{self._guard()}{word}.{size}.{count} {exec} ADR.0 {name}.0"]

    def svm_quads(self) -> list[str]:
        floats = self.random.random() < 0.3
        lanes, exec = self._exec(8, 16)
        channels = self.random.choice(("R", "RG", "GA", "RGBA", "B"))
        lines = self._offsets(lanes, 16, floats)
        step = 8
        for first in range(0, lanes, step):
            lines.append(
                f"mov (M1_NM, {step}) {self._place('ADR', first, 8)}<1>"
                f" {self._place('OFF', first, 4)}<1;1,0>"
            )
        name = "BF" if floats else "BIG"
        word = self.random.choice(("svm_gather4scaled", "svm_scatter4scaled"))
        message = f"{word}.{channels} {exec} MEM(0,0)<0;1,0> ADR.0 {name}.0"
        return [*lines, self._guard() + message]

    def svm_block(self) -> list[str]:
        owords = self.random.choice((1, 2, 4, 8))
        place = 16 * self.random.randrange((AREA - 16 * owords) // 16 + 1)
        word = self.random.choice(("svm_block_ld", "svm_block_ld.unaligned", "svm_block_st"))
        place += 4 * self.random.randrange(4) * (word.endswith("unaligned") and place < 256)
        return [
            f"add (M1_NM, 1) ADR(0,0)<1> MEM(0,0)<0;1,0> {place:#x}:ud",
            f"{word} ({owords}) ADR(0,0)<0;1,0> BIG.{64 * self.random.randrange(2)}",
        ]

    def svm_atomic(self) -> list[str]:
        name = self.random.choice(list(LEGACY_ATOMICS))
        floats = name.startswith("f")
        bits = "" if floats or self.random.random() < 0.7 else ".64"
        lanes, exec = self._exec(1, 2, 4, 8)
        lines = self._addresses(lanes, 8, floats)
        x, y, old = self._atomic_operands(name, bits == ".64")
        load = f"svm_gather.{8 if bits else 4}.1 {exec} ADR.0"
        lines += self._expected(LEGACY_ATOMICS[name].sources, load, x, y)
        order = f"{old} {x} {y}"
        return [*lines, f"{self._guard()}svm_atomic.{name}{bits} {exec} ADR.0 {order}"]

    def _expected(self, sources: Sequence[int], load: str, x: str, y: str) -> list[str]:
        """Lets the operand that is compared with memory be what is there, mostly: numbers made at
        random are never equal to it, and then an exchange that goes wrong leaves no trace."""
        if len(sources) < 2 or self.random.random() < 0.4:
            return []
        return [f"{load} {(x, y)[sources[0]]}"]

    def _atomic_operands(self, name: str, wide: bool) -> tuple[str, str, str]:
        used = LEGACY_ATOMICS[name].sources
        signed = name.endswith("sint")
        type = (
            "F"
            if name.startswith("f")
            else ("Q" if wide else "D")
            if signed
            else "U" + ("Q" if wide else "D")
        )
        first, second = self._data(type), self._data(type)
        old = self.random.choice((f"{self._data(type)}.0", "%null.0"))
        x = f"{first}.0" if used else "%null.0"
        y = f"{second}.0" if len(used) > 1 else "%null.0"
        return x, y, old

    # ---- surfaces

    def gather(self) -> list[str]:
        size = self.random.choice((1, 2, 4))
        lanes, exec = self._exec(1, 8, 16, 32)
        word = self.random.choice(("gather_scaled", "scatter_scaled"))
        offset, surface = self.random.choice(("0x0", "0x4", "0x8")), self._surface()
        message = f"{word}.{size} {exec} {surface} {offset}:ud OFF.0 {self._data('UD')}.0"
        lines = self._offsets(lanes, 16, floats=False, surface=surface)
        return [*lines, self._guard() + message]

    def scatter(self) -> list[str]:
        lanes, exec = self._exec(8, 16)
        word = self.random.choice(("gather_scaled", "scatter_scaled"))
        message = f"{word}.4 {exec} T6 0x0:ud OFF.0 {self._data('F')}.0"
        return [*self._offsets(lanes, 4, floats=True), self._guard() + message]

    def scattered_elements(self) -> list[str]:
        size = self.random.choice((1, 2, 4))
        lanes, exec = self._exec(1, 8, 16)
        word, surface = self.random.choice(("gather", "scatter")), self._surface()
        message = f"{word}.{size} {exec} {surface} 0x1:ud OFF.0 {self._data('UD')}.0"
        lines = self._offsets(lanes, 16, floats=False, scale=size, surface=surface)
        return [*lines, message]

    def quads(self) -> list[str]:
        lanes, exec = self._exec(8, 16)
        channels = self.random.choice(("R", "RG", "GA", "RGBA", "B"))
        word = self.random.choice(("gather4_scaled", "scatter4_scaled"))
        surface = self._surface()
        message = f"{word}.{channels} {exec} {surface} 0x0:ud OFF.0 BIG.0"
        lines = self._offsets(lanes, 16, floats=False, surface=surface)
        return [*lines, self._guard() + message]

    def owords(self) -> list[str]:
        count = self.random.choice((1, 2, 4, 8))
        surface = self.random.choice(("T6", "%scratch"))
        place = self.random.randrange((AREA - 16 * count) // 16 + 1)
        word = self.random.choice(("oword_ld", "oword_ld_unaligned", "oword_st"))
        if word == "oword_ld_unaligned":
            place *= 4
        return [f"{word} ({count}) {surface} {place:#x}:ud BIG.0"]

    def dword_atomic(self) -> list[str]:
        name = self.random.choice(list(LEGACY_ATOMICS))
        floats = name.startswith("f")
        lanes, exec = self._exec(1, 8, 16)
        surface = "T6" if floats else self.random.choice(("T6", "%slm"))
        x, y, old = self._atomic_operands(name, wide=False)
        message = f"dword_atomic.{name} {exec} {surface} OFF.0 {x} {y} {old}"
        lines = self._offsets(lanes, 4, floats, surface=surface)
        load = f"gather_scaled.4 {exec} {surface} 0x0:ud OFF.0"
        lines += self._expected(LEGACY_ATOMICS[name].sources, load, x, y)
        return [*lines, self._guard() + message]

    def short_atomic(self) -> list[str]:
        """On 16 bits, where there are such: of a surface, at addresses, or as LSC has it."""
        size, bits = (2, ".16") if self.has_short_atomics else (4, "")
        names = [n for n, a in LEGACY_ATOMICS.items() if not n.startswith("f")]
        name, forms = self.random.choice(names), ["svm_atomic", "dword_atomic"]
        form = self.random.choice([*forms, "lsc"] if self.has_lsc else forms)
        lanes, exec = self._exec(1, 8)
        x, y, old = self._atomic_operands(name, wide=False)
        if form == "svm_atomic":
            lines, message = self._addresses(lanes, size, False), f"ADR.0 {old} {x} {y}"
        elif form == "dword_atomic":
            lines, message = self._offsets(lanes, size, False), f"T6 OFF.0 {x} {y} {old}"
        else:
            return self._short_lsc(lanes, exec)
        return [*lines, f"{self._guard()}{form}.{name}{bits} {exec} {message}"]

    def _short_lsc(self, lanes: int, exec: str) -> list[str]:
        name = self.random.choice([n for n in LSC_ATOMICS if not n.startswith("f")])
        used = LSC_ATOMICS[name][1].sources
        x, y = (self._data("UD") if len(used) > k else "%null" for k in range(2))
        old = self.random.choice((self._data("UD"), "%null"))
        message = f"lsc_atomic_{name}.ugm {exec} {old}:d16c32 flat[ADR]:a64 {x} {y}"
        return [*self._addresses(lanes, 2, False), self._guard() + message]

    def quadwords(self) -> list[str]:
        lanes, exec = self._exec(8, 16)
        word = self.random.choice(("qw_gather", "qw_scatter"))
        message = f"{word}.1 {exec} T6 OFF.0 BQ.0"
        return [*self._offsets(lanes, 8, False), self._guard() + message]

    # ---- LSC

    def _lsc_place(self, lanes: int, size: int, floats: bool) -> tuple[list[str], str, str]:
        """Lines, the shared function, and the address without its bracket's end."""
        kind = self.random.choice(("flat", "flat", "bti") if floats else ("flat", "bti", "slm"))
        if kind == "flat":
            return self._addresses(lanes, size, floats), "ugm", "flat[ADR"
        if kind == "slm":
            return self._offsets(lanes, size, floats, surface="%slm"), "slm", "flat[OFF"
        return self._offsets(lanes, size, floats), "ugm", "bti(SI(0,0))[OFF"

    def lsc(self) -> list[str]:
        floats = self.random.random() < 0.25
        shapes = (
            ("d32",) if floats else ("d8c32", "d16c32", "d16c32h", "d32", "d32x2", "d32x4", "d64")
        )
        shape = self.random.choice(shapes)
        lanes, exec = self._exec(1, 8, 16)
        lines, sfid, address = self._lsc_place(lanes, 32, floats)
        size = "a64" if "ADR" in address else "a32"
        offset = self.random.choice(("", "+0x4" if not floats else "")) if sfid == "ugm" else ""
        name = "BF" if floats else "BQ" if shape == "d64" else "BIG"
        place, data = f"{address}{offset}]:{size}", f"{name}:{shape}"
        if self.random.random() < 0.5:
            return [*lines, f"{self._guard()}lsc_load.{sfid} {exec} {data} {place}"]
        return [*lines, f"{self._guard()}lsc_store.{sfid} {exec} {place} {data}"]

    def lsc_block(self) -> list[str]:
        elements = self.random.choice((1, 2, 3, 4, 8, 16))
        lines, sfid, address = self._lsc_place(1, 64, floats=False)
        size = "a64" if "ADR" in address else "a32"
        place, data = f"{address}]:{size}", f"BIG:d32x{elements}t"
        exec = self.random.choice(("(M1_NM, 1)", "(M1, 1)"))
        if self.random.random() < 0.5:
            return [*lines, f"lsc_load.{sfid} {exec} {data} {place}"]
        return [*lines, f"lsc_store.{sfid} {exec} {place} {data}"]

    def lsc_strided(self) -> list[str]:
        _, exec = self._exec(8, 16)
        pitch = self.random.choice(("0x4", "0x8", "0xc", "CASE(0,0)"))
        lines = [*self._addresses(1, 256, floats=False), "mov (M1_NM, 1) CASE(0,0)<1> 0x8:ud"]
        place, data = f"flat[ADR, {pitch}]:a64", "BIG:d32"
        if self.random.random() < 0.5:
            return [*lines, f"{self._guard()}lsc_load_strided.ugm {exec} {data} {place}"]
        return [*lines, f"{self._guard()}lsc_store_strided.ugm {exec} {place} {data}"]

    def lsc_quad(self) -> list[str]:
        lanes, exec = self._exec(8, 16)
        lines, sfid, address = self._lsc_place(lanes, 16, floats=False)
        size = "a64" if "ADR" in address else "a32"
        place = f"{address}]:{size}"
        if self.random.random() < 0.5:
            channels = self.random.choice(("x", "xy", "yw", "xyzw", "z"))
            return [
                *lines,
                f"{self._guard()}lsc_load_quad.{sfid} {exec} BIG:d32.{channels} {place}",
            ]
        channels = self.random.choice(("x", "xy", "xyz", "xyzw"))
        return [*lines, f"{self._guard()}lsc_store_quad.{sfid} {exec} {place} BIG:d32.{channels}"]

    def lsc_atomic(self) -> list[str]:
        name = self.random.choice(list(LSC_ATOMICS))
        floats = name in ("fadd", "fsub", "fmin", "fmax", "fcas")
        lanes, exec = self._exec(1, 8, 16)
        lines, sfid, address = self._lsc_place(lanes, 8, floats)
        # Shared local memory knows one operation on 64 bits.
        wide = not floats and (sfid != "slm" or name == "icas") and self.random.random() < 0.3
        used = LSC_ATOMICS[name][1].sources
        type = "F" if floats else "UQ" if wide else "UD"
        x = self._data(type) if used else "%null"
        y = self._data(type) if len(used) > 1 else "%null"
        old = self.random.choice((self._data(type), "%null"))
        size, shape = ("a64" if "ADR" in address else "a32"), "d64" if wide else "d32"
        if len(used) > 1 and self.random.random() < 0.6:  # as in `_expected`
            data = (x, y)[used[0]]
            lines.append(f"lsc_load.{sfid} {exec} {data}:{shape} {address}]:{size}")
        message = f"lsc_atomic_{name}.{sfid} {exec} {old}:{shape} {address}]:{size} {x} {y}"
        return [*lines, self._guard() + message]

    def lsc_block2d(self) -> list[str]:
        """A matrix of eight rows of 64 bytes: what lies outside it is 0, or is not written."""
        random = self.random
        store = random.random() < 0.5
        bits, order = random.choice((8, 16, 32, 64)), "nn"
        if not store:
            orders = {8: ("nn", "nt"), 16: ("nn", "nt"), 32: ("nn", "tn"), 64: ("nn", "tn")}
            order = random.choice(orders[bits])
        width, height = random.choice((1, 2, 4, 8)), random.choice((1, 2, 3, 4))
        if order == "nt":
            height = random.choice((4, 8))
        if order == "tn":
            width, height = random.choice((1, 2, 4)), random.choice((1, 2, 4, 8))
        x, y = random.choice((-2, 0, 0, 3, 64 // (bits // 8) - 2)), random.choice((-1, 0, 1, 6))
        shape = f"BIG:d{bits}.{width}x{height}{order}"
        matrix = f"flat[MEM, 0x3f, 0x7, 0x3f, {x & 0xFFFFFFFF:#x}, {y & 0xFFFFFFFF:#x}]"
        exec = random.choice(("(M1_NM, 1)", "(M1, 1)"))
        if store:
            return [f"{self._guard()}lsc_store_block2d.ugm {exec} {matrix} {shape}"]
        return [f"{self._guard()}lsc_load_block2d.ugm {exec} {shape} {matrix}"]
