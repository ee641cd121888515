"""Every bit of every modelled message: it acts, it is refused, or it is a hint with a reason."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from eumu import native
from eumu.addresses import URB_SURFACE
from eumu.errors import EumuError
from eumu.exec.grid import BufferSurface, Grid, Payload
from eumu.exec.interp import Interpreter
from eumu.ir import Function, Input
from eumu.isa import messages
from eumu.isa.kinds import Rows
from eumu.isa.messages.route import ROUTES
from eumu.isa.messages.unheeded import hint
from eumu.lower_native import lower
from eumu.types import UD
from native.native_thread import END, REGISTER, _store_at_the_end
from visa_thread import BASE, FlatHost

# Bytes behind the registers, where messages to flat memory and to the URB go.
FLAT, MEMORY = 128 * REGISTER, 4096
MEMORY_BEFORE = np.random.default_rng(9).integers(0, 256, 2 * MEMORY, dtype=np.uint8)
FIRST, SECOND, ANSWER = 10, 20, 40
EXTENDED = (*range(4), *range(5, 10), *range(16, 32))
LATER = 100  # registers that memory is read back to


@dataclass(frozen=True)
class Case:
    """A message: both descriptors, channels, and where the addresses begin behind r10."""

    name: str
    ex_desc: int
    desc: int
    width: int = 8
    flat: bool = False
    header: tuple[int, ...] = ()


# A pixel mask that is not the same in both halves, and what rectangles and pictures want.
MASK = (0, 0, 0, 0, 0, 0, 0, 0x3A5C)
BLOCK = (4, 2, 0x00030007)
PIXELS = (*[0] * 10, 0x20004, 0x40006, 0x60008, 0x20010, 0, 0x9C6F)
ESTIMATION = tuple(range(8))

CASES = (
    Case("oword block read", 0xA, 0x022803FE, header=(0, 0, 2)),
    Case("oword block read", 0xA, 0x021801FE, header=(0, 0, 2)),
    Case("unaligned oword block read", 0xA, 0x021842FE, header=(0, 0, 8)),
    Case("unaligned oword block read", 0x4, 0x021842FE, header=(0, 0, 8)),
    Case("oword block read", 0x9, 0x021802FE, header=(0, 0, 2)),
    Case("oword block write", 0x4A, 0x020A02FE, header=(0, 0, 2)),
    Case("dword scattered read", 0xA, 0x0210C2FE),
    Case("dword scattered read", 0x9, 0x0210C2FE),
    Case("dword scattered read", 0xA, 0x0420C3FE, 16),
    Case("dword scattered write", 0x4A, 0x0202C2FE),
    Case("byte scattered read", 0xA, 0x021108FE),
    Case("byte scattered read", 0xA, 0x041904FE, header=(0, 0, 8)),
    Case("byte scattered write", 0x4A, 0x020304FE),
    Case("memory fence", 0xA, 0x0219E0FE),
    Case("memory fence", 0xA, 0x0219E000),
    Case("scratch block read", 0xA, 0x022C1001, header=(0,) * 8),
    Case("scratch block read", 0xA, 0x022D1001, 16, header=(0,) * 8),
    Case("scratch block write", 0x4A, 0x020E0001, header=(0,) * 8),
    Case("scratch block write", 0x4A, 0x020F0001, header=(0,) * 8),
    Case("untyped surface read", 0xC, 0x02206CFE),
    Case("untyped surface read", 0xC, 0x04186EFE, header=MASK),
    Case("untyped surface read", 0xC, 0x04205EFE, 16),
    Case("untyped surface write", 0x8C, 0x02026CFE),
    Case("untyped surface write", 0x4C, 0x040A6EFE, header=MASK),
    Case("untyped atomic", 0x4C, 0x0210B7FE),
    Case("untyped atomic", 0x4C, 0x040897FE, header=MASK),
    Case("untyped float atomic", 0x4C, 0x0216F1FE),
    Case("A64 scattered read", 0xC, 0x041401FF, flat=True),
    Case("A64 scattered read", 0xC, 0x042405FF, flat=True),
    Case("A64 scattered write", 0x4C, 0x040681FF, flat=True),
    Case("A64 untyped surface read", 0xC, 0x04246CFF, flat=True),
    Case("A64 untyped surface write", 0x4C, 0x04066EFF, flat=True),
    Case("A64 untyped atomic", 0x4C, 0x0414A7FF, flat=True),
    Case("A64 untyped atomic", 0x4C, 0x040487FF, flat=True),
    Case("A64 untyped float atomic", 0x4C, 0x041761FF, flat=True),
    Case("A64 block read", 0xC, 0x021D0AFF, flat=True),
    Case("A64 block write", 0x4C, 0x020D4AFF, flat=True),
    Case("A64 block read", 0xC, 0x021D19FF, flat=True),
    Case("A64 block read", 0xC, 0x022D1AFF, 16, flat=True),
    Case("A64 block write", 0x4C, 0x020D59FF, flat=True),
    Case("A64 block write", 0x8C, 0x020D5AFF, 16, flat=True),
    Case("typed surface read", 0xC, 0x06415002),
    Case("typed surface read", 0xC, 0x06295C02, header=MASK),
    Case("typed surface write", 0x10C, 0x04035002),
    Case("typed surface write", 0x10C, 0x060B6002, header=MASK),
    Case("typed atomic", 0x4C, 0x0411A702),
    Case("typed atomic", 0x4C, 0x06099702, header=MASK),
    Case("media block read", 0xC, 0x02190002, header=BLOCK),
    Case("media block write", 0x4C, 0x020A8002, header=BLOCK),
    Case("sample_lz", 0x2, 0x04438102),
    Case("sample_lz", 0x2, 0x068D8102, 16, header=ESTIMATION),
    Case("ld", 0x2, 0x04427002),
    Case("sample_lz", 0x2, 0x04198102, header=ESTIMATION),
    Case("resinfo", 0x2, 0x0242A002),
    Case("sample_8x8", 0x2, 0x040EB102, header=ESTIMATION),
    Case("sample_unorm", 0x2, 0x048EC102, header=ESTIMATION),
    Case("cache flush", 0x2, 0x021FF000, header=ESTIMATION),
    Case("render target write", 0x5, 0x10031002, 16),
    Case("render target write", 0x5, 0x140B1002, 16, header=PIXELS),
    Case("render target write", 0x5, 0x0C0B1402, header=PIXELS),
    Case("render target write", 0x5, 0x060B1102, 16, header=PIXELS),
    Case("render target read", 0x5, 0x048B4002, 16, header=PIXELS),
    Case("render target read", 0x5, 0x044B4102, header=PIXELS),
    Case("SIMD8 write", 0x86, 0x02080027),
    Case("SIMD8 read", 0x6, 0x02280028),
    Case("barrier", 0x3, 0x02000004),
    Case("integer search", 0x8, 0x0A784002, header=ESTIMATION),
    Case("skip and intra check", 0xD, 0x08782002, header=ESTIMATION),
    Case("fractional and bidirectional refinement", 0xD, 0x08786002, header=ESTIMATION),
    Case("dereference resource", 0x27, 0x02000010),
)
IDS = [f"{case.name}, {case.desc:#010x}" for case in CASES]


class _Host(FlatHost):
    """Says what it was asked, and answers something that hangs on all of it."""

    def __init__(self, size: int, function: Function) -> None:
        super().__init__(size)
        self.asked: list[str] = []
        ops = [op for block in function.blocks for op in block.ops if op.name == "message"]
        self._shapes = {repr(op.record): [r for r in op.results] for op in ops}

    def message(self, record: object, *request: Any) -> list[np.ndarray[Any, Any]]:
        said = repr(record) + repr([np.asarray(x).tolist() for x in request[1:2]])
        said += repr([x.tolist() for x in request[2]])
        self.asked.append(said)
        rng = random.Random(said)
        return [
            np.array([[rng.randrange(200) for _ in range(r.width)]], np.uint8).astype(r.type.dtype)
            for r in self._shapes[repr(record)]
        ]


def _registers(case: Case) -> bytes:
    """Small addresses where the message has them, other numbers everywhere else."""
    found = np.random.default_rng(5).integers(0, 1 << 31, (128, 8), dtype=np.uint32)
    place = FIRST
    place += -(-len(case.header) // 8)
    lanes = np.arange(16)
    if case.flat:
        found[place : place + 4] = (
            (BASE + FLAT + lanes * 32).astype(np.uint64).view("<u4").reshape(4, 8)
        )
    elif "block" not in case.name and "render" not in case.name:
        step = 4 if "dword" in case.name else 16
        found[place : place + 2] = (lanes * step).astype(np.uint32).reshape(2, 8)
        found[place + 2 : place + 4] = found[place : place + 2]
    return found.tobytes()


# Shared local memory and scratch space are written before and read back later, by messages that are
# not looked at.
_HEADERS = "(W) mov (8|M0) r126.0<1>:ud 0:ud\n(W) mov (8|M0) r127.0<1>:ud 0:ud\n"
_BEFORE = _HEADERS + (
    "(W) sends (8|M0) null:ud r126 r50 0x10A 0x020A04FE\n(W) mov (1|M0) r126.2<1>:ud 8:ud\n"
    "(W) sends (8|M0) null:ud r126 r54 0x10A 0x020A04FE\n"
    "(W) sends (8|M0) null:ud r127 r60 0x20A 0x020E3000\n"
)
_AFTER = _HEADERS + (
    f"(W) send (8|M0) r{LATER}:ud r126 0xA 0x024804FE\n(W) mov (1|M0) r126.2<1>:ud 8:ud\n"
    f"(W) send (8|M0) r{LATER + 4}:ud r126 0xA 0x024804FE\n"
    f"(W) send (8|M0) r{LATER + 8}:ud r127 0xA 0x028C3000\n"
)
_PREDICATE = "(W) mov (1|M0) f0.0<1>:uw 0xB6D5:uw\n"


def _outcome(case: Case, ex_desc: int, desc: int) -> object:
    """Registers, memory, questions and fences; the error of what is refused."""
    option = " {EOT}" if ex_desc >> 5 & 1 else ""
    before, after = (_BEFORE, _AFTER) if case.ex_desc & 15 in (4, 9, 10, 12) else ("", "")
    header = "".join(
        f"(W) mov (1|M0) r{FIRST + k // 8}.{k % 8}<1>:ud {word:#x}:ud\n"
        for k, word in enumerate(case.header)
    )
    text = (
        before
        + header
        + _PREDICATE
        + f"(f0.0) sends ({case.width}|M0) r{ANSWER}:ud r{FIRST} r{SECOND} {ex_desc:#x}"
        + f" {desc:#x}{option}\n{after}(W) mov (1|M0) r125.0<1>:ud 1:ud"
        + END
    )
    if case.name == "barrier":
        text = text.replace("(f0.0) sends", "(W) sends")
    registers = _registers(case)
    try:
        function = lower(native.parse(text, "t.native"), case.width, REGISTER)
        file, start = function.roots["grf"], 4 * REGISTER
        function.inputs.append(Input(file, REGISTER, start, len(registers) - REGISTER))
        fences = [
            (op.name, getattr(op, "kind", None))
            for block in function.blocks
            for op in (*block.ops, *([block.end] if block.end else []))
            if op.name in ("fence", "barrier")
        ]
        _store_at_the_end(function)
        host = _Host(file.size + MEMORY, function)
        payload = Payload((0,) * 8, None, 0, start, registers[REGISTER:])
        urb = {URB_SURFACE: BufferSurface(BASE + FLAT, MEMORY // 2)}
        size = (case.width, 1, 1)
        grid = Grid(function, (1, 1, 1), size, payload, urb, 4096, 4096, fuel=100_000)
        host.arena[FLAT:] = MEMORY_BEFORE[: len(host.arena) - FLAT]
        Interpreter().run(grid, host)
    except EumuError as error:
        return error
    return host.arena.tobytes(), tuple(host.asked), tuple(fences)


def _request(case: Case, ex_desc: int, desc: int) -> messages.MessageRequest:
    rows = Rows(None, 0, UD)
    return messages.MessageRequest(ex_desc, desc, messages.MessagePayload(rows, 0), rows)


def _is_hint(case: Case, *, extended: bool, bit: int) -> bool:
    request = _request(case, case.ex_desc, case.desc)
    rows = [f.row for f in request.message.fields if f.row.extended is extended]
    return any(hint(request, r.name) for r in rows if r.low <= bit <= r.high)


def _silent(case: Case) -> Sequence[str]:
    """Bits that change nothing without being hints, and hints that do something.

    The assembler takes no other bits of the extended descriptor.
    """
    base = _outcome(case, case.ex_desc, case.desc)
    assert not isinstance(base, Exception), base
    found = []
    for extended, bit in [(False, k) for k in range(31)] + [(True, k) for k in EXTENDED]:
        ex_desc, desc = case.ex_desc ^ extended << bit, case.desc ^ (not extended) << bit
        changed = _outcome(case, ex_desc, desc)
        is_flat_index = "A64" in case.name and not extended and bit == 1  # 255 and 253
        if changed == base and not is_flat_index:
            if not _is_hint(case, extended=extended, bit=bit):
                found.append(f"{'ex. ' * extended}bit {bit} does nothing")
        elif _is_hint(case, extended=extended, bit=bit) and not isinstance(changed, Exception):
            found.append(f"{'ex. ' * extended}bit {bit} does something and is a hint")
    return found


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_every_bit_acts_or_is_refused_or_is_a_hint(case: Case) -> None:
    message = native.describe(case.ex_desc, case.desc)
    assert message.name.removesuffix(", end of thread") == case.name
    assert not _silent(case)


def test_every_message_is_there() -> None:
    kinds = [native.describe(case.ex_desc, case.desc) for case in CASES]
    there = {(m.sfid, m.get("operation" if m.sfid == 6 else "message type")) for m in kinds}
    modes = {(10, kind) for kind in range(0x10, 0x20)}  # of scratch blocks
    assert set(ROUTES) - modes <= there | {(4, 0), (4, 3), (9, 1)}
