"""Runs one thread of native code: registers in, registers out.

The registers start as the thread payload, results leave through stores that are appended in IR, so
any engine can be asked.  A run file is assembly text with comment lines on top::

    // run: r1:d=[1, 2, 3] -> r2:d=[2, 4, 6] r3.4:ub=[0xFF]
    // run width=8 lanes=5 local=4: r1:f=[1.5] -> r2:f=[nan]

Values are repeated on the left over the whole register and compared as far as they go on the right;
`_` may be anything.  The end of the thread is added.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eumu import native
from eumu.exec.grid import Grid, Payload
from eumu.exec.host import Engine, Refusal
from eumu.ir import Builder, Function, Input, Region, Space
from eumu.ir.function import Op
from eumu.ir.operations.state import Write
from eumu.lower_native import lower
from eumu.native import Program
from eumu.types import BOOL, TYPES, UB, UQ, Type
from runfile import bits
from visa_thread import BASE, FlatHost

END = "\n(W) send (8|M0) null r127 0x27 0x02000010 {EOT}\n"
REGISTER = 32
_HEADER = re.compile(r"//\s*run\b([^:]*):\s*(.*)")
_BINDING = re.compile(r"r(\d+)(?:\.(\d+))?:(\w+)=\[([^\]]*)\]")


@dataclass(frozen=True)
class Operand:
    """Elements of registers and their values as text."""

    byte: int
    type: Type
    words: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One `// run:` line of a file."""

    path: Path
    line: int
    text: str
    before: tuple[Operand, ...]
    after: tuple[Operand, ...]
    width: int
    lanes: int


def read(path: Path) -> list[Run]:
    """The runs of a file; a file without any is an error."""
    text, found = path.read_text(encoding="utf-8"), []
    for number, line in enumerate(text.splitlines(), 1):
        match = _HEADER.match(line)
        if match is None:
            continue
        options = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", match[1])}
        left, arrow, right = match[2].partition("->")
        assert arrow, f"{path.name}:{number}: a run needs '->'"
        width = options.get("width", 8)
        lanes = options.get("lanes", width)
        found.append(Run(path, number, text, _operands(left), _operands(right), width, lanes))
    assert found, f"{path.name} has no '// run:' line"
    return found


def _operands(text: str) -> tuple[Operand, ...]:
    found = []
    for number, element, name, values in _BINDING.findall(text):
        type = TYPES[name]
        byte = REGISTER * int(number) + int(element or 0) * type.size
        found.append(Operand(byte, type, tuple(v.strip() for v in values.split(","))))
    assert len(found) == text.count("="), f"not understood: {text}"
    return tuple(found)


def differences(run: Run, engine: Engine) -> list[str]:
    """Run a line; every difference in words."""
    registers = bytearray(128 * REGISTER)
    for operand in run.before:
        size = operand.type.size
        count = max(len(operand.words), (REGISTER - operand.byte % REGISTER) // size)
        for k in range(count):
            value = bits(operand.type, operand.words[k % len(operand.words)])
            place = operand.byte + k * size
            registers[place : place + size] = value.to_bytes(size, "little")
    program = native.parse(run.text + END, run.path.name)
    after = execute(program, bytes(registers), engine, run.width, run.lanes)
    found = []
    for operand in run.after:
        for k, word in enumerate(operand.words):
            place = operand.byte + k * operand.type.size
            got = int.from_bytes(after[place : place + operand.type.size], "little")
            if word != "_" and not _same(operand.type, got, word):
                where = f"r{place // REGISTER}, byte {place % REGISTER}"
                found.append(f"{where}: {got:#x}, expected {bits(operand.type, word):#x}")
    return found


def _same(type: Type, got: int, word: str) -> bool:
    want = bits(type, word)
    if type.is_float and word == "nan":
        exponent = {2: 0x7C00, 4: 0x7F80_0000, 8: 0x7FF << 52}[type.size]
        return got & (1 << type.bits - 1) - 1 > exponent
    return got == want


class _Host(FlatHost):
    """A device without images: messages to them are faults of the thread."""

    def message(self, record: Any, *request: Any) -> Any:
        raise Refusal(f"nothing here answers {type(record).__name__}")


def execute(
    program: Program,
    registers: bytes,
    engine: Engine,
    width: int = 8,
    lanes: int | None = None,
    *,
    threads: int = 1,
    slm: int = 1024,
) -> bytes:
    """The register file after one thread, or the last of a group, has run."""
    function = lower(program, width)
    file = function.roots["grf"]
    start = 4 * REGISTER  # the engine fills in what is before
    function.inputs.append(Input(file, 0, start, len(registers)))
    _store_at_the_end(function)
    host = _Host(file.size)
    payload = Payload((0,) * 8, None, 0, start, registers)
    local = ((threads - 1) * width + (lanes or width), 1, 1)
    engine.run(Grid(function, (1, 1, 1), local, payload, {}, slm, 4096, fuel=100_000), host)
    return host.arena[: file.size].tobytes()


def _store_at_the_end(function: Function) -> None:
    used = [op for block in function.blocks for op in block.ops]
    first = max((v.id for op in used for v in op.results), default=-1) + 1
    file, step = function.roots["grf"], REGISTER
    for block in function.blocks:
        if block.end is None or block.end.name != "ret":
            continue
        end, block.end = block.end, None
        b = Builder(function, first)
        b.block, b.inst = block, end.inst
        mask = b.const(BOOL, 1)
        for byte in _written(function, used):
            data = b.read(file, Region.packed(byte, 1), UB, step)
            b.store_block(Space.FLAT, b.const(UQ, BASE + byte), mask, data)
        block.end = end
        first += 4 * file.size


def _written(function: Function, ops: list[Op]) -> list[int]:
    """The registers that an operation may write; all if one writes to an address."""
    file = function.roots["grf"]
    if any(op.name == "write_indirect" for op in ops):
        return list(range(0, file.size, REGISTER))
    found = set()
    for op in ops:
        if isinstance(op, Write) and op.root is file:
            value = op.args[0]
            for offset in op.offsets:
                found |= {(offset + k) // REGISTER * REGISTER for k in range(value.type.size)}
    return sorted(found)
