"""From a program to IR: binds operands and runs each instruction's meaning.

This is the only file that sees both.  Blocks come out in program order, which is their priority.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eumu.addresses import SCRATCH_HANDLE, function_address
from eumu.errors import BuildError, Diagnostic, InternalError, Place, Span, Unsupported
from eumu.ir import Block, Function, Input, Region, Root, RootKind, Value
from eumu.ir.operations.ends import Barrier, CallIndirect, Jump, Ret
from eumu.ir.operations.state import OnRegion
from eumu.ir.passes.frames import Procedure, save_roots
from eumu.ir.passes.modes import fold_modes
from eumu.ir.passes.wanted import mark_wanted
from eumu.ir.passes.written import SHADOW_DISTANCE
from eumu.ir.verify import are_meant, check_lowered
from eumu.isa.kinds.builder import InstBuilder
from eumu.isa.kinds.operands import ExecSize
from eumu.isa.kinds.variables import R0_ALIASES, THREAD_SPACE, Declared, PredicateVariable, Variable
from eumu.platforms import Platform
from eumu.program import Inst, Kernel, LabelMark, SourceMark
from eumu.program.header_copies import header_copies
from eumu.program.numbers import misfits, unfit
from eumu.program.operands import meaningless
from eumu.program.predicates import missing, unwritten
from eumu.types import BOOL, TYPES, UD, UQ

# Register-space addresses start here, and roots are so far apart, so that the address of one
# variable plus a small offset is never the address of another: as far as there is space for all.
_FIRST_ADDRESS = 0x1_0000
_GAPS = (0x1_0000, 0x4000, 0x1000, 0x400)
_SPACE = SHADOW_DISTANCE  # bytes; what lies behind says which of them are undefined
_PREDEFINED = 64  # roots, or fewer, that no declaration makes

_KINDS = {
    "A": (RootKind.ADDR, 4),
    "P": (RootKind.FLAG, 1),
    "T": (RootKind.STATE, 4),
    "S": (RootKind.STATE, 4),
}
_NOWHERE: Place | None = None
_ARCHITECTURE = {"%cr0", "%sr0", "%ce0", "%dbg0", "%tsc", "%hw_id", "%msg0", "%null"}


def lower(kernel: Kernel, platform: Platform, functions: Sequence[Kernel] = ()) -> Function:
    """The IR of a kernel and of all `functions` that it can reach by stack calls.

    A function's place in `functions` is its address (:func:`eumu.addresses.function_address`).
    Raises `BuildError` with every fault of the program that lowering sees (undefined labels,
    operands outside their variable, control that runs off the end), and `Unsupported` with the
    place of the first instruction that is not modelled.
    """
    function = mark_wanted(fold_modes(_Lowering(kernel, platform, functions).run()))
    check_lowered(function)
    return function


class _Lowering(InstBuilder):
    def __init__(self, kernel: Kernel, platform: Platform, functions: Sequence[Kernel]) -> None:
        function = Function(kernel.name, kernel.simd_width, platform.grf_bytes)
        function.full_threads = kernel.is_explicit
        super().__init__(function, platform)
        self.kernel = kernel
        self.functions = {f.name: f for f in functions}
        self.diagnostics: list[Diagnostic] = []
        self._unit = kernel  # the kernel or function that is being lowered
        self._roots: dict[Declared, Root] = {}
        self._own: list[Root] = []  # the unit's roots
        self._first = 0  # the unit's first block
        self._gap = _gap((kernel, *functions))
        self._address = _FIRST_ADDRESS
        self._labels: dict[tuple[str, str], int] = {}  # unit, label -> placeholder, below zero
        self._entries: dict[str, int] = {}  # called function -> placeholder
        self._addressed: list[str] = []  # functions whose address is taken
        self._places: dict[int, int] = {}  # placeholder -> block
        self._label_spans: dict[int, Span | None] = {}
        self._reach: dict[Variable, int] = {}
        self._unwritten: dict[PredicateVariable, int] = {}
        self._file, self._origin = "", _NOWHERE

    def run(self) -> Function:
        procedures = [self._procedure(self.kernel)]
        done = 0
        while done < len(self._entries):
            name, entry = list(self._entries.items())[done]
            done += 1
            self._places[entry] = self.next_block()
            procedures.append(self._procedure(self.functions[name]))
        if self.diagnostics:
            raise BuildError.of(self.diagnostics)
        for block in self.function.blocks:
            self._resolve(block)
        save_roots(self.function, procedures)
        self._thread_numbers()
        if self.function.thread_space:
            self._thread_place()
        return self.function

    def _procedure(self, unit: Kernel) -> Procedure:
        """Lower a kernel or a function behind the blocks that there are."""
        first = self._first = self.next_block()
        self._unit, self._own = unit, []
        self._file, self._origin = "", _NOWHERE
        self._reach |= _alias_reach(unit)
        self._unwritten |= unwritten(unit)
        for variable, end in header_copies(unit, self.grf).items():
            self._reach[variable] = max(self._reach.get(variable, 0), end)
        for argument in unit.inputs:
            self._input(argument.variable, argument.offset, argument.size)
        self._open("entry" if unit is self.kernel else unit.name)
        for item in unit.body:
            if isinstance(item, LabelMark):
                self._place(item)
            elif isinstance(item, Inst):
                self._instruction(item)
            elif isinstance(item, SourceMark):
                self._mark(item)
        self._finish()
        return Procedure(first, self.next_block(), tuple(self._own))

    def _thread_numbers(self) -> None:
        """%hw_id and %sr0 start as the number of the hardware thread, %msg0 as its subslice's.

        Kernels find their part of private memory by it; %sr0 has gaps in the number, and the masks
        of dispatch.
        """
        first = self.function.blocks[0]
        self.block, self.inst = Block("thread number"), 0
        for name, gaps in (("%hw_id", ()), ("%sr0", self.platform.sr0_gaps)):
            root = self.function.roots.get(name)
            if root is not None:
                number = self.special("hardware_thread", UD)
                if gaps and self.platform.sr0_thread_bits:
                    number = self._by_units(number)
                for bit, count in gaps:
                    number = self._spread(number, bit, count)
                self.write_root(root, Region.scalar(0), number, self.const(BOOL, 1))
        if (root := self.function.roots.get("%sr0")) is not None:
            self.dispatch_masks(root)
        if (root := self.function.roots.get("%msg0")) is not None:
            threads = self.platform.eus_per_subslice * self.platform.threads_per_eu
            number = self.div(self.special("hardware_thread", UD), self.const(UD, threads))
            self.write_root(root, Region.scalar(0), number, self.const(BOOL, 1))
        first.ops[:0] = self.block.ops

    def _by_units(self, number: Value) -> Value:
        """The execution unit's number above the bits of its thread's."""
        threads = self.const(UD, self.platform.threads_per_eu)
        unit = self.div(number, threads)
        place = self.sub(number, self.mul(unit, threads))
        return self.or_(self.shl(unit, self.const(UD, self.platform.sr0_thread_bits)), place)

    def _thread_place(self) -> None:
        """A launch gives group ids; a thread of the media pipeline has x and y in dword 1 of r0."""
        first = self.function.blocks[0]
        self.block, self.inst = Block("thread place"), 0
        header, true = self._r0(), self.const(BOOL, 1)
        x, y = (self.read(header, Region.scalar(4 * dword), UD, 1) for dword in (1, 6))
        place = self.or_(x, self.shl(y, self.const(UD, 16)))
        for dword, value in ((1, place), (6, self.const(UD, 0))):
            self.write_root(header, Region.scalar(4 * dword), value, true)
        first.ops[:0] = self.block.ops

    def _spread(self, x: Value, bit: int, count: int) -> Value:
        """`count` zero bits put in at `bit`."""
        low = self.and_(x, self.const(UD, (1 << bit) - 1))
        high = self.shr(x, self.const(UD, bit))
        return self.or_(low, self.shl(high, self.const(UD, bit + count)))

    # ---- blocks and labels

    def _open(self, label: str) -> None:
        self.block = Block(label)
        self.function.blocks.append(self.block)

    def next_block(self) -> int:
        return len(self.function.blocks)

    def meet_partner(self) -> None:
        self.transfer(Barrier(kind="pair"))
        self._open(f"shared_{self.inst}")
        self.begin(self.exec)

    def go_on(self, name: str) -> int:
        place = self.next_block()
        self.terminate(Jump((), (place,)))
        self._open(f"{name}_{self.inst}")
        self.begin(self.exec)
        return place

    def wide_root(self, name: str, size: int) -> Root:
        root = self.function.roots.get(name)
        return root if root is not None else self._add(name, RootKind.ARF, size)

    def label(self, name: str) -> int:
        number = self._labels.setdefault((self._unit.name, name), self._placeholder())
        self._label_spans.setdefault(number, self._span())
        return number

    def _placeholder(self) -> int:
        """A number that stands for a block not known yet."""
        return -1 - len(self._labels) - len(self._entries)

    def callee(self, name: str) -> int:
        if name not in self.functions:
            self._report(
                "call",
                f"function '{name}' is called and is nowhere in the program",
                self._span(),
                "FCALL",
            )
            return 0
        width = self.functions[name].attribute("SimdSize")
        if isinstance(width, int) and width < self.function.width:
            raise Unsupported(
                f"a call of '{name}', which is SIMD{width}, from SIMD{self.function.width} code"
            )
        return self._entries.setdefault(name, self._placeholder())

    def function_address(self, name: str) -> int | None:
        if name not in self.functions:
            return None
        self.callee(name)
        if name not in self._addressed:
            self._addressed.append(name)
        return self._address_of(name)

    def _place(self, mark: LabelMark) -> None:
        if self.block is not None and self.block.end is None:
            # A label in front of everything else needs no block before it.
            if not self.block.ops and len(self.function.blocks) == self._first + 1:
                self.function.blocks.pop()
            else:
                self.terminate(Jump((), (self.next_block(),)))
        number = self.label(mark.name)
        if number in self._places:
            self._report("label", f"label '{mark.name}' is defined twice", mark.span)
        self._places[number] = self.next_block()
        self._open(mark.name)

    def _finish(self) -> None:
        end = len(self.function.blocks)
        if self.function.blocks[-1].end is not None and self._reaches(end):
            self._open("end")
        if self.function.blocks[-1].end is None:
            # Intel's front end accepts a body without a final `ret`; the thread ends there.
            self.begin(ExecSize(1))
            every = self.const(BOOL, 1, self.function.width)
            self.terminate(Ret((every,), (len(self.function.blocks) - 1,), offset=0))
        for number, span in self._label_spans.items():
            if number not in self._places:
                _, name = next(n for n, k in self._labels.items() if k == number)
                self._report("label", f"label '{name}' is not defined", span)
        self._label_spans.clear()

    def _reaches(self, index: int) -> bool:
        ends = [b.end for b in self.function.blocks if b.end is not None]
        return index in self._places.values() or any(index in e.targets for e in ends)

    def _resolve(self, block: Block) -> None:
        end = block.end
        assert end is not None
        targets = end.targets
        if isinstance(end, CallIndirect):
            targets = (*(self._entries[name] for name in self._addressed), *targets)
            addresses = tuple(self._address_of(name) & 0xFFFF_FFFF for name in self._addressed)
            end = replace(end, addresses=addresses)
        block.end = replace(end, targets=tuple(self._places[t] if t < 0 else t for t in targets))

    def _address_of(self, name: str) -> int:
        return function_address(list(self.functions).index(name))

    # ---- instructions

    def _mark(self, mark: SourceMark) -> None:
        """Line 0 says that what follows is the compiler's own."""
        self._file = self._file if mark.file is None else mark.file
        self._origin = Place(self._file, mark.line) if mark.line and self._file else _NOWHERE

    def _instruction(self, inst: Inst) -> None:
        if self.block is None or self.block.end is not None:
            self._open(f"after_{self.inst}")
        self.inst = len(self.function.spans)
        self.function.spans.append(inst.span)
        self.function.origins.append(self._origin)
        self.function.texts.append(inst.opcode.mnemonic)
        self.begin(ExecSize(1))
        before = len(self.diagnostics)
        for name, actual, allowed in misfits(inst):
            legal = ", ".join(f":{t}" for t in TYPES.values() if t in allowed)
            what = f"{name} of {inst.opcode} is :{actual}; it may be {legal}"
            self._report("types", what, inst.span, inst.opcode.page)
        for what in missing(inst, self._unwritten):
            self._report("predicate-size", what, inst.span, "5 Operands")
        for code, what in meaningless(inst):
            self._report(code, what, inst.span, inst.opcode.page)
        if len(self.diagnostics) > before:
            return
        first = self.next_block() - 1
        try:
            pairs = zip(inst.opcode.fields, inst.operands, strict=True)
            bound = [field.kind.bind(operand, self) for field, operand in pairs]
            inst.opcode.build(self, bound)
            self.function.note_fidelity(self.inst, inst.opcode.fidelity, first)
            is_meant = self._is_meant(inst, first)
        except InternalError:
            if unfit(inst) is None:
                raise
            is_meant = False
        except Unsupported as error:
            if error.span is not None or inst.span is None:
                raise
            page = error.spec or inst.opcode.page
            raise Unsupported(f"{inst.opcode}: {error.what}", span=inst.span, spec=page) from error
        if len(self.diagnostics) == before:
            self._check_bounds(inst)
        if not is_meant and len(self.diagnostics) == before:
            what = f"{inst.opcode} has no operation on {unfit(inst)}"
            self._report("types", what, inst.span, inst.opcode.page)

    def _is_meant(self, inst: Inst, first: int) -> bool:
        """Whether what was made of an instruction since a block has types that it is defined on."""
        assert self.block is not None
        blocks = (*self.function.blocks[first:], self.block)
        ops = (op for block in blocks for op in block.ops if op.inst == self.inst)
        return unfit(inst) is None or are_meant(self.function, ops)

    def _check_bounds(self, inst: Inst) -> None:
        """Operands must stay inside the variable that owns their bytes."""
        assert self.block is not None
        for op in reversed(self.block.ops):
            if op.inst != self.inst:
                break
            if isinstance(op, OnRegion) and (min(op.offsets) < 0 or op.end > op.root.size):
                self._report(
                    "region",
                    f"{inst.opcode} reaches byte {op.end - 1} of '{op.root.name}',"
                    f" which has {op.root.size} bytes",
                    inst.span,
                    "Operands",
                )

    def _span(self) -> Span | None:
        return self.function.spans[self.inst] if 0 <= self.inst < len(self.function.spans) else None

    def _report(self, code: str, message: str, span: Span | None, spec: str = "") -> None:
        diagnostic = Diagnostic(code, message, span, spec=spec)
        if diagnostic not in self.diagnostics:
            self.diagnostics.append(diagnostic)

    # ---- variables

    def root(self, variable: Declared) -> tuple[Root, int]:
        offset = 0
        if isinstance(variable, Variable):
            variable, offset = variable.origin()
            if variable.name in R0_ALIASES and variable.predefined is not None:
                self.function.thread_space |= variable.name in THREAD_SPACE
                return self._r0(), offset + R0_ALIASES[variable.name]
        declared = self._roots.get(variable)
        root = declared if declared is not None else self._new_root(variable)
        if variable.name == "%ce0" and variable.predefined is not None:  # the lanes of this moment
            self.write_root(root, Region.scalar(0), self.channels, self.const(BOOL, 1))
        if variable.name == "%scratchloc" and variable.predefined is not None:
            place = self.const(UQ, SCRATCH_HANDLE)
            self.write_root(root, Region.scalar(0), place, self.const(BOOL, 1))
        return root, offset

    def _r0(self) -> Root:
        root = self.function.roots.get("%r0")
        if root is None:
            root = self._add("%r0", RootKind.GRF, self.grf)
            self.function.inputs.append(Input(root, 0, 0, self.grf))
        return root

    def dispatch_header(self, registers: int = 2) -> Root:
        if self.grf != 32:
            raise Unsupported("a message whose header is the thread's payload, of larger registers")
        name = "%dispatch_header" if registers == 2 else f"%dispatch_header.{registers}"
        root = self.function.roots.get(name)
        if root is None:
            root = self._add(name, RootKind.GRF, registers * self.grf)
            self.function.inputs.append(Input(root, 0, 0, registers * self.grf))
        return root

    def _new_root(self, variable: Declared) -> Root:
        if variable.name == "%r0" and variable.predefined is not None:
            root = self._r0()
        elif variable.predefined is not None:
            root = self._add(variable.name, *self._storage(variable))
        else:
            prefix = "" if self._unit is self.kernel else f"{self._unit.name}."
            root = self._add(self._unique(prefix + variable.name), *self._storage(variable))
            self._own.append(root)
        self._roots[variable] = root
        return root

    def _storage(self, variable: Declared) -> tuple[RootKind, int]:
        """Kind and size of a variable's root."""
        if isinstance(variable, Variable):
            arf = variable.predefined is not None and variable.name in _ARCHITECTURE
            return RootKind.ARF if arf else RootKind.GRF, self._size(variable)
        kind, size = _KINDS[variable.category]
        if isinstance(variable, PredicateVariable):
            return kind, max(variable.count, self._unwritten.get(variable, 0))
        return kind, size * variable.count

    def _size(self, variable: Variable) -> int:
        """Bytes of a root: the variable and whatever aliases of it and copies of r0 reach."""
        size = variable.size
        if variable.predefined is not None:
            return size * (self.grf // 32) if variable.name in ("%arg", "%retval") else size
        return max(size, self._reach.get(variable, 0))

    def _unique(self, name: str) -> str:
        unique, k = name, 1
        while unique in self.function.roots:
            unique, k = f"{name}.{k}", k + 1
        return unique

    def _add(self, name: str, kind: RootKind, size: int) -> Root:
        address = 0
        if kind is RootKind.GRF:
            address = self._address
            self._address += _taken(size, self._gap)
            if self._address > _SPACE:
                raise Unsupported("more variables than the register space holds")
        root = Root(name, kind, size, address)
        self.function.roots[name] = root
        return root

    def _input(self, variable: Declared, payload_offset: int, size: int) -> None:
        root, offset = self.root(variable)
        self.function.inputs.append(Input(root, offset, payload_offset, size))

    def address_of(self, variable: Declared, offset: int) -> Value:
        root, base = self.root(variable)
        if root.kind is RootKind.GRF:
            return self.root_address(root, base + offset)
        return self.read(root, Region.scalar(base + offset), UD, 1)


def _taken(size: int, gap: int) -> int:
    """Bytes of the register space from the start of a root of `size` bytes to the next one."""
    return -(-size // gap) * gap + gap


def _gap(units: Sequence[Kernel]) -> int:
    """The largest gap between roots with which all variables have a place, or the smallest one."""
    variables = [d for unit in units for d in unit.declarations if isinstance(d, Variable)]
    sizes = [v.size for v in variables if v.alias is None]
    for gap in _GAPS:
        if sum(_taken(size, gap) for size in sizes) + _PREDEFINED * 2 * gap <= _SPACE:
            return gap
    return _GAPS[-1]


def _alias_reach(kernel: Kernel) -> dict[Variable, int]:
    """How many bytes of each variable its aliases reach."""
    reach: dict[Variable, int] = {}
    for declared in kernel.declarations:
        if isinstance(declared, Variable) and declared.alias is not None:
            owner, offset = declared.origin()
            reach[owner] = max(reach.get(owner, 0), offset + declared.size)
    return reach
