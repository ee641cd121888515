"""From native Gen9 code to IR: the same IR, passes and engines as vISA's.

Channels wait at blocks as in vISA: they wait where an instruction sends them, at a JIP or UIP, and
the lowest waiting block runs next.  Blocks are in the order of addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from eumu.errors import BuildError, Diagnostic, Place, Source, Span, Unsupported
from eumu.ir import Block, Function, Input, Region, Root, RootKind, Value
from eumu.ir.operations.ends import Jump, Trap
from eumu.ir.passes.modes import fold_modes
from eumu.ir.verify import check_lowered
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.jumps import PLACES
from eumu.isa.gen9.operands import (
    BranchTarget,
    Constant,
    Destination,
    Execution,
    InstructionOptions,
    Register,
)
from eumu.isa.gen9.operands import NativeSource as Operand
from eumu.isa.gen9.thread import ACCUMULATOR_DISABLE
from eumu.isa.messages import describe, is_stateless
from eumu.isa.messages.request import GENERAL_STATE, GENERAL_STATE_BYTES
from eumu.native.program import Instruction, Program
from eumu.native.text import print_instruction
from eumu.platforms import Platform
from eumu.types import BOOL, UD, UQ, integer
from eumu.zebin.program import Relocation, RelocationType

_CR0: Final = 0x80
_PADDING: Final = "illegal"
_JUMP_SHIFT: Final = 4  # a jmpi has 16 bytes
_CALLS: Final = frozenset({"call", "calla"})
_BRANCHES: Final = frozenset({"brd", "brc"})
_FFTID: Final = 20  # the byte of r0.5, whose low bits are the number of the hardware thread


def lower(
    program: Program,
    simd_width: int,
    payload: int = 0,
    *,
    entry: int = 0,
    relocations: Iterable[Relocation] = (),
    functions: Mapping[int, int] | None = None,
    thread_space: bool = False,
    general_state: int | None = None,
    line_of: Callable[[int], Place | None] | None = None,
) -> Function:
    """The IR of native code that runs with `simd_width` channels from byte `entry` on.

    The registers hold `payload` bytes of the thread payload at the start.  Immediates that
    `relocations` patch are addresses of symbols.  `functions` are the addresses of those that are
    called through registers, and where in the code they begin.  In a `thread_space` r0.1 is the
    place of a thread.  From byte `general_state` of what a thread gets, `GENERAL_STATE_BYTES` say
    where 32-bit stateless addresses count from: General State Base Address (8 bytes), and how far
    from it scratch space is (4) and how large (4); without it such addresses are in scratch space.
    `line_of` says which line of the source the code at an offset comes from.

    Lanes keep their order, as on hardware: the finalizer gives registers of lanes that are in a
    loop to code behind it.

    Raises `BuildError` for branches to where no instruction is and operands outside their register
    file, and `Unsupported` with the place of what is not modelled.
    """
    lowering = _Lowering(program, simd_width, relocations, functions or {})
    lowering.function.thread_space = thread_space
    lowering.function.together = True
    lowering.line_of = line_of
    if general_state is not None:
        lowering.add_general_state(payload, general_state)
    function = fold_modes(lowering.run(payload, entry))
    check_lowered(function)
    return function


def counts_from_general_state(program: Program) -> bool:
    """Whether messages have 32-bit stateless addresses, or may: descriptors come from registers."""
    for instruction in program.instructions:
        ex_desc, desc = instruction.operand("ex_desc"), instruction.operand("desc")
        if desc is None:
            continue
        if not isinstance(ex_desc, int) or not isinstance(desc, int):
            return True
        if is_stateless(describe(ex_desc, desc)):
            return True
    return False


class _Lowering(Gen9Builder):
    def __init__(
        self,
        program: Program,
        simd_width: int,
        relocations: Iterable[Relocation],
        functions: Mapping[int, int],
    ) -> None:
        platform: Platform = program.platform
        super().__init__(Function(program.name, simd_width, platform.grf_bytes), platform)
        self.program = program
        self._code = _without_padding(program.instructions)
        self._index = {i.offset: k for k, i in enumerate(self._code)}
        self._places: dict[int, int] = {}  # offset of an instruction -> block
        self._patches = {r.offset: r for r in relocations}
        self.line_of: Callable[[int], Place | None] | None = None
        self._at = 0  # the instruction, as an index of the code
        self._own_block = self._total = 0  # the instruction's block; how many the code has
        self._annexed: list[tuple[str, Callable[[], None], tuple[int, int, Execution]]] = []
        self.functions = [(address & 0xFFFF_FFFF, place) for address, place in functions.items()]
        self.goes_far = self._goes_far()
        self._lines = [print_instruction(i).strip() for i in self._code]
        text = "".join(f"{line}\n" for line in self._lines)
        self._source = Source(f"{program.name or 'code'}.native", text)
        self.may_disable_accumulator = any(map(_may_disable, self._code))

    def run(self, payload: int, entry: int) -> Function:
        if not self._code:
            raise BuildError(f"{self.program.name or 'the code'} has no instruction")
        self._inputs(payload)
        self._leaders(entry)
        if entry:
            self._open("entry")
            self.begin_at(self._index_of(entry, None))
            self.terminate(Jump((), (self.block_at(entry),)))
        for k, instruction in enumerate(self._code):
            self._instruction(k, instruction)
        self._finish()
        self._thread_number()
        if self.function.thread_space:
            self._thread_place()
        return self.function

    def _inputs(self, payload: int) -> None:
        if payload > self.file.size:
            raise BuildError(
                f"{self.program.name}: the thread payload has {payload} bytes,"
                f" the register file {self.file.size}"
            )
        if payload and self.general_state is None:
            self.function.inputs.append(Input(self.file, 0, 0, payload))

    def add_general_state(self, payload: int, at: int) -> None:
        """The payload has a stretch that goes to no register."""
        self.general_state = Root(GENERAL_STATE, RootKind.GRF, 16, 2 * self.file.size)
        self.function.roots[GENERAL_STATE] = self.general_state
        behind = at + GENERAL_STATE_BYTES
        inputs = [
            Input(self.file, 0, 0, at),
            Input(self.general_state, 0, at, 16),
            Input(self.file, at, behind, payload - at),
        ]
        self.function.inputs += [part for part in inputs if part.size]

    # ---- blocks

    def _leaders(self, entry: int) -> None:
        """Number the blocks: where branches lead, and behind what ends a block."""
        starts = {0, self._index_of(entry, None), len(self._code)}
        starts |= {self._index_of(place, None) for _, place in self.functions}
        if self._leads_anywhere():
            starts |= set(range(len(self._code)))
        for k, instruction in enumerate(self._code):
            span = self._span_of(k)
            for target in _targets(instruction):
                starts.add(self._index_of(target.offset, span))
            if _ends_block(instruction):
                starts.add(k + 1)
        number, last = (1 if entry else 0), None
        for k in sorted(starts):
            number += 0 if last is None else 1 + self._kept_behind(k - 1)
            self._places[self._code[k].offset if k < len(self._code) else self._end] = number
            last = k
        self._total = number + 1

    def _leads_anywhere(self) -> bool:
        """Whether an instruction may lead to any other."""
        codes = enumerate(self._code)
        return any(_is_far(i) and len(self._places_of(k)) == len(self._code) for k, i in codes)

    def _kept_behind(self, k: int) -> int:
        """How many blocks an instruction needs behind its own."""
        instruction = self._code[k]
        if not _is_far(instruction):
            return 0
        if instruction.opcode.mnemonic == "jmpi":
            return 3 if self.goes_far else 1
        if instruction.opcode.mnemonic == "ret":
            return PLACES + len(self._places_of(k)) if self.goes_far else 0
        return 0 if instruction.opcode.mnemonic in _CALLS else PLACES + len(self._code)

    def _places_of(self, k: int) -> Sequence[int]:
        mnemonic = self._code[k].opcode.mnemonic
        if mnemonic == "jmpi" and (table := self._table_behind(k)):
            return table
        if (self.functions and mnemonic not in _BRANCHES) or (
            mnemonic == "ret" and not self.goes_far
        ):
            return ()
        return [i.offset for i in self._code]

    def _table_behind(self, k: int) -> list[int]:
        """The offsets of the jumps right behind an instruction.

        One alone is a table only where the instruction's own distance is a number of jumps.
        """
        table = []
        for instruction in self._code[k + 1 :]:
            if instruction.opcode.mnemonic != "jmpi" or _is_far(instruction):
                break
            table.append(instruction.offset)
        return table if len(table) > 1 or self._counts_jumps(k) else []

    def _counts_jumps(self, k: int) -> bool:
        """Whether the distance in a jump's register is a row of a table, times its bytes."""
        target = self._code[k].operand("target")
        for instruction in reversed(self._code[:k]):
            if _ends_block(instruction) or not isinstance(target, Operand):
                return False
            written = instruction.operand("dst")
            if isinstance(written, Destination) and written.place == target.place:
                shift = instruction.operand("src1")
                is_scaled = instruction.opcode.mnemonic == "shl" and isinstance(shift, Constant)
                return is_scaled and shift.bits == _JUMP_SHIFT
        return False

    def _goes_far(self) -> bool:
        """Whether code jumps to addresses, other than into tables, or returns by hand."""
        names = {i.opcode.mnemonic for i in self._code}
        if "ret" in names and not names & _CALLS and not self.functions:
            return True
        far = [k for k, i in enumerate(self._code) if _is_far(i)]
        jumps = [k for k in far if self._code[k].opcode.mnemonic == "jmpi"]
        return any(self._code[k].opcode.mnemonic in _CALLS for k in far) or any(
            self.functions or not self._table_behind(k) for k in jumps
        )

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

    def places(self) -> Sequence[int]:
        return self._places_of(self._at)

    def loop_end(self, offset: int) -> int | None:
        at = self._index.get(offset)
        if at is None or self._code[at].opcode.mnemonic != "while":
            return None
        return self._code[at].offset + self._code[at].size

    def _open(self, label: str) -> None:
        self.block = Block(label)
        self.function.blocks.append(self.block)

    def behind(self, number: int) -> int:
        return self._own_block + 1 + number

    def open_behind(self, label: str) -> None:
        self._open(label)
        self.execute(self.execution)

    def annex(self, label: str, body: Callable[[], None]) -> int:
        state = self._at, self.inst, self.execution
        self._annexed.append((label, body, state))
        return self._total + len(self._annexed) - 1

    def _finish(self) -> None:
        """Code that runs off its end is an illegal instruction there; then the annexed blocks."""
        if self.block is not None and self.block.end is None:
            self.terminate(Jump((), (self._places[self._end],)))
        self._open("end")
        self.terminate(Trap(reason="the code ends without an end of thread"))
        for label, body, (at, inst, execution) in self._annexed:  # grows meanwhile
            self._open(label)
            self._turn_to(at)
            self.inst = inst
            self.execute(execution)
            body()

    # ---- instructions

    def begin_at(self, k: int) -> None:
        """Turn to an instruction."""
        self._turn_to(k)
        self.inst = len(self.function.spans)
        self.function.spans.append(self.span)
        self.function.origins.append(self.line_of(self.offset) if self.line_of else None)
        self.function.texts.append(self._lines[k])

    def _turn_to(self, k: int) -> None:
        instruction = self._code[k]
        self._at, self.offset = k, instruction.offset
        self.next_offset = instruction.offset + instruction.size
        self.span = self._span_of(k)

    def _instruction(self, k: int, instruction: Instruction) -> None:
        if instruction.offset in self._places:
            if self.block is not None and self.block.end is None:
                self.terminate(Jump((), (self._places[instruction.offset],)))
            self._open(f"L{instruction.offset}")
        self._own_block = len(self.function.blocks) - 1
        self.begin_at(k)
        self._align16_channel = 0
        pairs = zip(instruction.opcode.fields, instruction.operands, strict=True)
        try:
            bound = [field.kind.bind(operand, self) for field, operand in pairs]
            instruction.opcode.build(self, bound)
            fidelity = instruction.opcode.fidelity
            self.function.note_fidelity(self.inst, fidelity, self._own_block)
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
        return Span(self._source, k + 1, 1, k + 1, len(self._lines[k]) + 1)

    def _thread_number(self) -> None:
        """sr0.0 and, if the payload is there, bits 8:0 of r0.5 start as the thread's number."""
        first = self.function.blocks[0]
        self.block, self.inst = Block("thread number"), 0
        one = self.const(BOOL, 1)
        if "%sr0" in self.function.roots:
            number = self.special("hardware_thread", UD)
            self.write_root(self.function.roots["%sr0"], Region.scalar(0), number, one)
            self.dispatch_masks(self.function.roots["%sr0"])
        if self.function.inputs:
            header = self.read(self.file, Region.scalar(_FFTID), UD, 1)
            number = self.or_(header, self.special("fftid", UD))
            self.write_root(self.file, Region.scalar(_FFTID), number, one)
        first.ops[:0] = self.block.ops

    def _thread_place(self) -> None:
        """A launch gives group ids; a thread of the media pipeline has x and y in dword 1 of r0."""
        first = self.function.blocks[0]
        self.block, self.inst = Block("thread place"), 0
        one = self.const(BOOL, 1)
        x, y = (self.read(self.file, Region.scalar(4 * dword), UD, 1) for dword in (1, 6))
        place = self.or_(x, self.shl(y, self.const(UD, 16)))
        for dword, value in ((1, place), (6, self.const(UD, 0))):
            self.write_root(self.file, Region.scalar(4 * dword), value, one)
        first.ops[:0] = self.block.ops


def _without_padding(code: Sequence[Instruction]) -> list[Instruction]:
    """The code, of illegal instructions in a row only the first."""
    kept: list[Instruction] = []
    for instruction in code:
        if (
            instruction.opcode.mnemonic != _PADDING
            or not kept
            or kept[-1].opcode.mnemonic != _PADDING
        ):
            kept.append(instruction)
    return kept


def _is_far(instruction: Instruction) -> bool:
    """Whether a register says where an instruction leads."""
    return instruction.opcode.mnemonic == "ret" or any(
        isinstance(instruction.operand(name), Operand) for name in ("target", "jip")
    )


def _targets(instruction: Instruction) -> Iterator[BranchTarget]:
    """Where channels or the thread may go; a `break` leads behind the `while` that it names."""
    yield from (o for o in instruction.operands if isinstance(o, BranchTarget))


def _ends_block(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.flow or opcode.mnemonic in ("wait", _PADDING):
        return True
    options = instruction.operand("options")
    if isinstance(options, InstructionOptions) and options.eot:
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
