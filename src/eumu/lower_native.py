"""From native Gen9 code to IR: the same IR, passes and engines as vISA's.

Channels wait at blocks as in vISA: they wait where an instruction sends them, at a JIP or UIP, and
the lowest waiting block runs next.  Blocks are in the order of addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from eumu.errors import BuildError, Diagnostic, Source, Span, Unsupported
from eumu.ir import Block, Function, Input, Region, Value
from eumu.ir.passes.modes import fold_modes
from eumu.ir.verify import check
from eumu.isa.gen9.machine import Machine
from eumu.isa.gen9.operands import Constant, Destination, Options, Register, Target
from eumu.isa.gen9.thread import ACCUMULATOR_DISABLE
from eumu.native.program import Instruction, Program
from eumu.native.text import print_instruction
from eumu.platforms import Platform
from eumu.types import BOOL, UD, UQ, integer
from eumu.zebin.program import Relocation, RelocationType

_CR0: Final = 0x80
_PADDING: Final = "illegal"
_FFTID: Final = 20  # the byte of r0.5, whose low bits are the number of the hardware thread


def lower(
    program: Program,
    simd_width: int,
    payload: int = 0,
    *,
    entry: int = 0,
    relocations: Iterable[Relocation] = (),
) -> Function:
    """The IR of native code that runs with `simd_width` channels from byte `entry` on.

    The registers hold `payload` bytes of the thread payload at the start.  Immediates that
    `relocations` patch are addresses of symbols.  Raises `BuildError` for branches to where no
    instruction is and operands outside their register file, and `Unsupported` with the place of
    what is not modelled.
    """
    function = fold_modes(_Lowering(program, simd_width, relocations).run(payload, entry))
    check(function, folded=True)
    return function


class _Lowering(Machine):
    def __init__(
        self, program: Program, simd_width: int, relocations: Iterable[Relocation]
    ) -> None:
        platform: Platform = program.platform
        super().__init__(Function(program.name, simd_width, platform.grf_bytes), platform)
        self.program = program
        self._code = _without_padding(program.instructions)
        self._index = {i.offset: k for k, i in enumerate(self._code)}
        self._places: dict[int, int] = {}  # offset of an instruction -> block
        self._patches = {r.offset: r for r in relocations}
        self._at = 0  # the instruction, as an index of the code
        self._text = "".join(f"{_line(i)}\n" for i in self._code)
        self.may_disable_accumulator = any(map(_may_disable, self._code))

    def run(self, payload: int, entry: int) -> Function:
        if not self._code:
            raise BuildError(f"{self.program.name or 'the code'} has no instruction")
        self._inputs(payload)
        self._leaders(entry)
        if entry:
            self._open("entry")
            self.begin_at(self._index_of(entry, None))
            self.terminate("jump", (), (self.block_at(entry),))
        for k, instruction in enumerate(self._code):
            self._instruction(k, instruction)
        self._finish()
        self._thread_number()
        return self.function

    def _inputs(self, payload: int) -> None:
        if payload > self.file.size:
            raise BuildError(
                f"{self.program.name}: the thread payload has {payload} bytes,"
                f" the register file {self.file.size}"
            )
        if payload:
            self.function.inputs.append(Input(self.file, 0, 0, payload))

    # ---- blocks

    def _leaders(self, entry: int) -> None:
        """Number the blocks: where branches lead, and behind what ends a block."""
        starts = {0, self._index_of(entry, None)}
        for k, instruction in enumerate(self._code):
            span = self._span_of(k)
            for target in _targets(instruction):
                starts.add(self._index_of(target.offset, span))
            if _ends_block(instruction):
                starts.add(k + 1)
        before = 1 if entry else 0
        for number, k in enumerate(sorted(starts)):
            offset = self._code[k].offset if k < len(self._code) else self._end
            self._places[offset] = number + before

    @property
    def _end(self) -> int:
        last = self._code[-1]
        return last.offset + last.size

    def _index_of(self, offset: int, span: Span | None) -> int:
        if offset in self._index:
            return self._index[offset]
        if offset == self._end:
            return len(self._code)
        message = f"a branch goes to byte {offset:#x}, where no instruction begins"
        raise BuildError.of([Diagnostic("label", message, span)])

    def block_at(self, offset: int) -> int:
        return self._places[offset]

    def next_block(self) -> int:
        return self._places[self.next_offset]

    def loop_end(self, offset: int) -> int | None:
        at = self._index.get(offset)
        if at is None or self._code[at].opcode.mnemonic != "while":
            return None
        return self._code[at].offset + self._code[at].size

    def table_of_jumps(self) -> list[tuple[int, int]]:
        found = []
        for instruction in self._code[self._at + 1 :]:
            target = instruction.operand("target")
            if instruction.opcode.mnemonic != "jmpi" or not isinstance(target, Target):
                break
            found.append((instruction.offset - self.next_offset, target.offset))
        return found

    def _open(self, label: str) -> None:
        self.block = Block(label)
        self.function.blocks.append(self.block)

    def _finish(self) -> None:
        """Code that runs off its end is an illegal instruction there."""
        if self._end in self._places or self.block is None or self.block.end is None:
            if self.block is not None and self.block.end is None:
                self._places.setdefault(self._end, len(self.function.blocks))
                self.terminate("jump", (), (len(self.function.blocks),))
            self._open("end")
            self.terminate("trap", (), (), reason="the code ends without an end of thread")

    # ---- instructions

    def begin_at(self, k: int) -> None:
        """Turn to an instruction."""
        instruction = self._code[k]
        self._at, self.offset = k, instruction.offset
        self.next_offset = instruction.offset + instruction.size
        self.span = self._span_of(k)
        self.inst = len(self.function.spans)
        self.function.spans.append(self.span)
        self.function.texts.append(_line(instruction))

    def _instruction(self, k: int, instruction: Instruction) -> None:
        if instruction.offset in self._places:
            if self.block is not None and self.block.end is None:
                self.terminate("jump", (), (self._places[instruction.offset],))
            self._open(f"L{instruction.offset}")
        self.begin_at(k)
        self._align16_channel = 0
        pairs = zip(instruction.opcode.fields, instruction.operands, strict=True)
        try:
            bound = [field.kind.bind(operand, self) for field, operand in pairs]
            instruction.opcode.body(self, *bound)
        except Unsupported as error:
            what = f"{instruction.opcode}: {error.what}"
            raise Unsupported(what, span=self.span, spec=error.spec) from error

    def constant(self, operand: Constant) -> Value:
        """An immediate, or the address that belongs there."""
        wide = operand.type.size == 8
        patch = self._patches.get(self.offset + (8 if wide else 12))
        if patch is None:
            return super().constant(operand)
        address = self.symbol(patch.symbol.name)
        if patch.addend:
            address = self.add(address, self.const(UQ, patch.addend))
        if patch.type is RelocationType.ADDRESS_32_HIGH:
            address = self.shr(address, self.const(UQ, 32))
        elif patch.type not in (RelocationType.ADDRESS_64, RelocationType.ADDRESS_32):
            raise Unsupported(f"a relocation of type {patch.type.name} in code")
        unsigned = integer(operand.type.bits, signed=False)
        return self.splat(self.bitcast(self.convert(address, unsigned), operand.type), self.width)

    def _span_of(self, k: int) -> Span | None:
        if k >= len(self._code):
            return None
        own = self._code[k].span
        if own is not None:
            return own
        source = Source(f"{self.program.name or 'code'}.native", self._text)
        return Span(source, k + 1, 1, k + 1, len(_line(self._code[k])) + 1)

    def _thread_number(self) -> None:
        """sr0.0 and, if the payload is there, bits 8:0 of r0.5 start as the thread's number."""
        first = self.function.blocks[0]
        self.block, self.inst = Block("thread number"), 0
        one = self.const(BOOL, 1)
        if "%sr0" in self.function.roots:
            number = self.special("hardware_thread", UD)
            self.write_root(self.function.roots["%sr0"], Region.scalar(0), number, one)
        if self.function.inputs:
            given = self.read(self.file, Region.scalar(_FFTID), UD, 1)
            number = self.or_(given, self.special("fftid", UD))
            self.write_root(self.file, Region.scalar(_FFTID), number, one)
        first.ops[:0] = self.block.ops


def _line(instruction: Instruction) -> str:
    return print_instruction(instruction).strip()


def _without_padding(code: Sequence[Instruction]) -> list[Instruction]:
    """The code, of the illegal instructions at its end only the first."""
    last = len(code)
    while last > 1 and all(i.opcode.mnemonic == _PADDING for i in code[last - 2 : last]):
        last -= 1
    return list(code[:last])


def _targets(instruction: Instruction) -> Iterator[Target]:
    """Where channels or the thread may go; a `break` leads behind the `while` that it names."""
    yield from (o for o in instruction.operands if isinstance(o, Target))


def _ends_block(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.flow or opcode.mnemonic in ("wait", _PADDING):
        return True
    options = instruction.operand("options")
    if isinstance(options, Options) and options.eot:
        return True
    ex_desc = instruction.operand("ex_desc")
    return isinstance(ex_desc, int) and ex_desc & 15 == 3


def _may_disable(instruction: Instruction) -> bool:
    """Whether an instruction may set the bit of cr0 that stops updates of accumulators."""
    dst = instruction.operand("dst")
    if not isinstance(dst, Destination) or dst.place != Register(True, _CR0, dst_byte(dst)):
        return False
    if dst_byte(dst):
        return False
    if instruction.opcode.mnemonic not in ("or", "and", "xor"):
        return True
    mask = instruction.operand("src1")
    return not isinstance(mask, Constant) or (
        instruction.opcode.mnemonic != "and" and bool(mask.bits & ACCUMULATOR_DISABLE)
    )


def dst_byte(dst: Destination) -> int:
    """The byte of a direct destination in its register."""
    return dst.place.byte if isinstance(dst.place, Register) else 0
