"""Lowers one function to one LLVM function that runs a hardware thread.

``i32 @thread(ptr ctx, ptr rec, i64 lanes)`` starts at the record's resume point and returns an
:class:`~eumu.exec.jit.llvm.layout.ThreadOutcome`.  Blocks are lowered in program order; inside one
every value is an LLVM value, between blocks only roots and masks live on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Any

from eumu.exec.jit.analysis.affine_forms import LANE_WISE, know, of_results
from eumu.exec.jit.analysis.dataflow import Analysis
from eumu.exec.jit.analysis.flow import Flow
from eumu.exec.jit.analysis.slots import BlockState, Facts, KnownValue, Slot, find, slice_shape
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.elementwise import emitter_of
from eumu.exec.jit.codegen.scalars import scalars_of
from eumu.exec.jit.interface import FaultSite
from eumu.exec.jit.llvm.emit import Emitter, lane_type, literal, scalar_type, vector_literal
from eumu.exec.jit.llvm.lanes import AffineForm, Lanes, Shape, shape_of_constants, vector_of_affine
from eumu.exec.jit.llvm.layout import SITE_WORDS, Context, FaultKind, Record, ThreadOutcome
from eumu.ir import Function, Op, Root, Value
from eumu.ir.operations.row import Table
from eumu.ir.operations.state import ExecMask, Read, Write
from eumu.records import dataclass
from eumu.types import Type

Place = tuple[int, int]  # a block and an operation of it
# Places of a block whose operations are emitted elsewhere, or by a function there.
Deferred = Mapping[int, Callable[[], None] | None]


@dataclass(slots=True)
class KernelLowering:
    """Lowering state."""

    function: Function
    facts: Facts
    analysis: Analysis
    registers: regs.Registers
    e: Emitter
    slm_bytes: int
    scratch_bytes: int
    masked_stores: bool
    gathers: bool
    scatters: bool
    octet_products: bool
    free: frozenset[Place] = frozenset()  # writes that need not keep other lanes
    untouched: frozenset[Place] = frozenset()  # where a speculative version may still begin again
    leaves_to_learn: bool = False  # an access that is not as its site knows begins again at once
    em: str = "%em"  # the variable of the lanes that execute
    streams: bool = False  # stores of whole lines may pass by the caches
    sites: list[FaultSite] = field(default_factory=list)
    values: dict[int, Lanes] = field(default_factory=dict)
    known: dict[int, KnownValue] = field(default_factory=dict)
    found: dict[int, KnownValue] | None = (
        None  # of the block's values, if nothing more is known here
    )
    state: BlockState = field(default_factory=BlockState)
    likely: BlockState = field(
        default_factory=BlockState
    )  # not in `state`, and not written in this block
    shadows: dict[tuple[Slot, Shape], tuple[list[str], str]] = field(default_factory=dict)
    held: dict[tuple[Slot, Shape], tuple[list[str], str]] = field(default_factory=dict)
    written: dict[Slot, tuple[Lanes, Type]] = field(default_factory=dict)  # in this block
    executing: dict[tuple[int, int], str] = field(default_factory=dict)  # masks: first lane, width
    guesses: bool = False  # whether a form of this block is one that is only likely
    pads: dict[tuple[str, str], str] = field(default_factory=dict)
    pointees: dict[int, Root] | None = None  # of register-indirect accesses, when first wanted
    users: dict[str, set[int]] | None = None  # the blocks that access each root, when first wanted
    loading: frozenset[int] | None = None  # blocks of loops that only load, when first wanted
    fetched: set[int] = field(default_factory=set)  # blocks that fetch what will be stored to
    assured: dict[Place, AffineForm] = field(default_factory=dict)  # what was checked before
    prepared: dict[Place, str] = field(default_factory=dict)  # numbers of all lanes, made before
    looped: frozenset[int] = frozenset()  # blocks that may run more than once
    observed: frozenset[int] = frozenset()  # blocks of loops that may wait for other lanes
    sums: Any = None  # of registers where blocks begin, and of which visits, when first wanted
    merges: Callable[[KernelLowering, int], bool] | None = None  # lowers a block so, if it may
    shared_sites: dict[tuple[Place, str], int] | None = None  # of a block that is lowered twice
    counted: dict[int, Any] = field(default_factory=dict)  # loops whose turns are counted
    ahead: dict[Place, Any] = field(default_factory=dict)  # loads that read ahead
    updated: set[int] = field(default_factory=set)  # blocks that update memory lane by lane
    delayed: list[Any] = field(default_factory=list)  # register-indirect writes not emitted yet
    emit_delayed: Callable[[], None] | None = None  # emits them, if there are any
    block: int = 0
    place: int = 0  # of the operation in the block
    cost: int = 0  # instructions of the block
    faults: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # where; words
    losses: int = 0  # accesses that record their faults themselves

    @property
    def flow(self) -> Flow:
        return self.facts.flow

    @property
    def width(self) -> int:
        return self.function.width

    @property
    def may_restart(self) -> bool:
        """Whether what is not as expected here may end the thread with `Outcome.AGAIN`."""
        return (self.block, self.place) in self.untouched

    @property
    def is_assured(self) -> bool:
        """Whether the access here was checked before the block."""
        return (self.block, self.place) in self.assured

    def site(self, inst: int, what: str) -> int:
        if self.shared_sites is not None:
            key = (self.block, self.place), what
            if key not in self.shared_sites:
                self.shared_sites[key] = self._new_site(inst, what)
            return self.shared_sites[key]
        return self._new_site(inst, what)

    def _new_site(self, inst: int, what: str) -> int:
        self.sites.append(FaultSite(inst, self.block, self.place, what))
        return len(self.sites) - 1

    # ---- context and record

    def context(self, word: int) -> str:
        """The address of a word of the worker's context."""
        return self.e.op(f"getelementptr i64, ptr %ctx, i64 {int(word)}")

    def context_load(self, word: Context) -> str:
        return self.e.op(f"load i64, ptr {self.context(word)}")

    def site_pointer(self, site: int) -> str:
        return self.context(Context.SITES + site * SITE_WORDS)

    def scratchpad(self, purpose: str, type: str) -> str:
        """Stack memory that one cold path uses for a moment; one for each purpose and type."""
        key = (purpose, type)
        if key not in self.pads:
            self.pads[key] = self.e.alloca(type, None)
        return self.pads[key]

    # ---- values

    def plain(self, value: Value, text: str) -> None:
        """Define a value of which nothing is known."""
        lanes = Lanes(value.type, value.width, text)
        if value.width == 1:
            lanes.affine = AffineForm(Shape(1, (0,)), (text,))
        self.values[value.id] = lanes

    def groups(self, value: Value, shape: Shape, scalars: tuple[str, ...]) -> None:
        """Define a value that is uniform in groups of lanes; its vector is made if wanted."""
        lanes = Lanes(value.type, value.width, affine=AffineForm(shape, scalars))
        assert lanes.affine is not None
        lanes.make = partial(_of_affine, self.e, value.type, lanes.affine)
        self.values[value.id] = lanes

    def lanes(self, value: Value) -> Lanes:
        return self.values[value.id]

    def vector(self, value: Value) -> str:
        return self.values[value.id].get()

    def mask(self, value: Value) -> str | None:
        """The mask's vector, or None if every lane is set."""
        lanes = self.values[value.id]
        return None if lanes.full else lanes.get()

    def write_mask(self, value: Value) -> str | None:
        """The mask of the write that is being lowered, or None if it may change every lane."""
        return None if (self.block, self.place) in self.free else self.mask(value)

    # ---- one block

    def lower_block(self, index: int, deferred: Deferred) -> None:
        """Emit the operations of a block (its label is already placed)."""
        if not deferred and self.merges is not None and self.merges(self, index):
            return
        self.enter_block(index)
        self.lower_operations(index, deferred)

    def enter_block(self, index: int) -> None:
        """Know what is known where a block begins."""
        self.block = self.registers.block = index
        self.state = self.analysis.entry.get(index, BlockState()).copy()
        visit = self.analysis.visits.get(index)
        self.found = None
        if visit is not None and visit.holds(index, self.state, self.facts):
            self.found = visit.known
            self.known.update(visit.known)
        self.likely = self.analysis.likely.get(index, BlockState()).copy()
        self.written, self.held, self.executing = {}, {}, {}
        self.guesses = False

    def lower_operations(self, index: int, deferred: Deferred) -> None:
        """Emit the operations of a block that was entered."""
        for place, op in enumerate(self.function.blocks[index].ops):
            self.e.mark(op.inst)
            if self.emit_delayed is not None and not self._passes(op):
                self.emit_delayed()
            if place not in deferred:
                self.lower_at(place, op)
            elif emit := deferred[place]:
                self.place = place
                emit()
        if self.emit_delayed is not None:
            self.emit_delayed()

    def lower_at(self, place: int, op: Op) -> None:
        """Emit an operation of a block that was entered."""
        self.place = place
        self.lower(op)
        if isinstance(op, ExecMask):
            self.executing[op.offset, op.result.width] = self.values[op.result.id].get()

    def _passes(self, op: Op) -> bool:
        """Whether an operation may come before register-indirect writes that precede it."""
        if isinstance(op, (Read, Write)):
            return op.root.name not in self.registers.memory
        return op.name in PASSING

    def lower(self, op: Op) -> None:
        forms = [self.known[a.id] for a in op.args]
        source, likely = self._slot_of(op, self.state), None
        if self.found is not None and op.results:
            result = self.found[op.results[0].id]
        else:
            result = know(op, forms, self.state, self.block, self.facts)
        if op.name in ("read", "write", "write_indirect"):
            likely = self._likely(op, result)
        if likely is not None:
            shape = slice_shape(self.likely[likely[0]], likely[1], op.result.width)
            assert shape is not None
            result = KnownValue(replace(shape, active=True, certain=False, bound=None))
            self.guesses = True
            self.found = None  # more is known here, and so of what is made of it
        if self.found is None:
            self.known.update(of_results(op, result))
        if result.bits is not None and op.name != "const":
            constant_lanes(self, op.result, result.bits)
        elif isinstance(op, Read):
            self.values[op.result.id] = self._read(op, result, source)
            if likely is not None:
                self._test(self.lanes(op.result), result, *likely)
        elif isinstance(op, Write):
            self._write(op)
        elif op.name in LOWERINGS:
            LOWERINGS[op.name](self, op)
        else:
            self.values[op.results[0].id] = self._compute(op, result)
        if op.results:
            lanes = self.values[op.results[0].id]
            lanes.full, lanes.executing, lanes.bits = result.full, result.executing, result.bits
            lanes.possible = result.possible

    def _slot_of(self, op: Op, state: BlockState) -> tuple[Slot, int] | None:
        if not isinstance(op, Read) or op.result.width == 1 or not state.roots():
            return None
        return find(state, Slot.of(op))

    def _likely(self, op: Op, form: KnownValue) -> tuple[Slot, int] | None:
        """The slot whose affine form a register is likely to have, if nothing is certain."""
        if isinstance(op, Write):
            if self.likely.roots():
                self.likely.kill(Slot.of(op))
        elif op.name == "write_indirect":
            self.likely.forget(self.facts.blocked)
        elif form.shape is None and op.result.width == self.width and op.result.type.size >= 4:
            likely = self._slot_of(op, self.likely) if op.result.type.is_int else None
            if likely is not None and slice_shape(self.likely[likely[0]], likely[1], self.width):
                return likely
        return None

    def _test(self, lanes: Lanes, form: KnownValue, slot: Slot, start: int) -> None:
        """Compare the executing lanes with the affine form that they had when they were written."""
        assert form.shape is not None
        e, width = self.e, lanes.width
        held = replace(self.likely[slot], certain=True)
        affine = self._shadow_load(lanes.type, form.shape, held, slot, start)
        vector = lane_type(lanes.type, width)
        expected = vector_of_affine(e, lanes.type, affine)
        same = e.op(f"icmp eq {vector} {lanes.get()}, {expected}")
        bits = regs.bits_of_mask(e, same, width, width)
        off = e.op(f"xor i{width} {e.op(f'load i{width}, ptr {self.em}')}, -1")
        sure = e.op(f"icmp eq i{width} {e.op(f'or i{width} {bits}, {off}')}, -1")
        lanes.affine = AffineForm(form.shape, affine.scalars, sure)

    def _compute(self, op: Op, form: KnownValue) -> Lanes:
        """A lane-wise operation: scalars for its affine form, the vector when wanted."""
        number = self.prepared.get((self.block, self.place))
        if number is not None:
            return self._of_number(op.result, form, number)
        args = [self.lanes(a) for a in op.args]
        emit, width, result = emitter_of(op), op.results[0].width, op.results[0]
        e = self.e
        lanes = Lanes(result.type, width)
        lanes.make = lambda cold: emit(e, op, width, *(a.cold() if cold else a.get() for a in args))
        lanes.cost = 1 + sum(a.cost for a in args)
        if width == 1:
            lanes.affine = AffineForm(Shape(1, (0,)), (lanes.get(),))
        elif form.shape is not None:
            forms = [self.known[a.id] for a in op.args]
            lanes.affine = scalars_of(e, op, form.shape, args, forms)
            if form.shape.exact:
                affine = lanes.affine
                lanes.make = lambda cold: vector_of_affine(e, result.type, affine)
        else:
            lanes.get()
            lanes.cost, lanes.make = 1, None
        return lanes

    def _of_number(self, value: Value, form: KnownValue, number: str) -> Lanes:
        """A value all of whose lanes are one number."""
        shape = form.shape or Shape(1, (0,) * value.width)
        lanes = Lanes(value.type, value.width)
        lanes.affine = AffineForm(shape, (number,) * shape.groups)
        lanes.make = partial(_of_affine, self.e, value.type, lanes.affine)
        return lanes

    # ---- roots with affine forms

    def _read(self, op: Read, form: KnownValue, source: tuple[Slot, int] | None) -> Lanes:
        value, root, region = op.result, op.root, op.region
        lanes = Lanes(value.type, value.width)
        if value.width > 1 and len(set(op.offsets)) == 1:
            scalar = regs.load(self.e, self.registers, root, region, value.type, 1)
            lanes.affine = AffineForm(Shape(1, (0,) * value.width), (scalar,))
            lanes.make = partial(_of_affine, self.e, value.type, lanes.affine)
            return lanes
        if value.width > 1 and form.shape is not None and source is not None:
            held = self.state[source[0]]
            lanes.affine = self._shadow_load(value.type, form.shape, held, *source)
            if form.shape.exact:
                lanes.make = partial(_of_affine, self.e, value.type, lanes.affine)
                return lanes
        lanes.vector = regs.load(self.e, self.registers, root, region, value.type, value.width)
        if source is not None and source[0] in self.written and source[0] == Slot.of(op):
            origin, kind = self.written[source[0]]
            if scalar_type(kind) == scalar_type(value.type):
                lanes.origin, lanes.cost = origin, origin.cost
        if value.width == 1:
            lanes.affine = AffineForm(Shape(1, (0,)), (lanes.vector,))
        return lanes

    def shadow(self, slot: Slot, shape: Shape, scalar: str) -> tuple[list[str], str]:
        """Variables for the scalars of a slot's affine form, and for whether it is sure."""
        key = (slot, Shape(shape.groups, shape.offsets))
        if key not in self.shadows:
            zero = literal_zero(scalar)
            heads = [self.e.alloca(scalar, zero) for _ in range(shape.groups)]
            sure = self.e.alloca("i1", "false")
            self.registers.variables |= {**dict.fromkeys(heads, scalar), sure: "i1"}
            self.shadows[key] = heads, sure
        return self.shadows[key]

    def _shadow_load(
        self, type: Type, shape: Shape, held: Shape, slot: Slot, start: int
    ) -> AffineForm:
        scalar = f"i{type.bits}"
        e, size = self.e, len(held.offsets)
        first, step = divmod(start, size)
        here = self.held.get((slot, Shape(held.groups, held.offsets)))
        variables, sure = here or self.shadow(slot, held, scalar)
        heads = []
        for head in variables[first : first + shape.groups]:
            if here is None:
                self.registers.use(head)
                head = e.op(f"load {scalar}, ptr {head}")
            if held.offsets[step]:
                head = e.op(f"add {scalar} {head}, {held.offsets[step]}")
            heads.append(e.bitcast(head, scalar, scalar_type(type)))
        if held.certain:
            return AffineForm(shape, tuple(heads))
        if here is None:
            self.registers.use(sure)
            sure = e.op(f"load i1, ptr {sure}")
        return AffineForm(shape, tuple(heads), sure)

    def _write(self, op: Write) -> None:
        root, (x, m) = op.root, op.args
        lanes, mask = self.lanes(x), self.write_mask(m)
        regs.store(self.e, self.registers, root, op.region, x.type, x.width, lanes.get(), mask)
        slot = Slot.of(op)
        held = self.state.get(slot)
        self.written[slot] = lanes, x.type
        if held is None or lanes.affine is None or held.constant is not None:
            return
        scalar = f"i{x.type.bits}"
        heads = [self.e.bitcast(h, scalar_type(x.type), scalar) for h in lanes.affine.scalars]
        if self.registers.is_inside(root, slot.offsets[0]):
            self.held[slot, Shape(held.groups, held.offsets)] = heads, lanes.affine.sure
            return
        variables, sure = self.shadow(slot, held, scalar)
        for variable, bits in zip(variables, heads, strict=True):
            self.registers.define(variable)
            self.e.do(f"store {scalar} {bits}, ptr {variable}")
        self.registers.define(sure)
        self.e.do(f"store i1 {lanes.affine.sure}, ptr {sure}")

    # ---- faults

    def fault(self, kind: FaultKind | str, site: int, lanes: str = "0", address: str = "0") -> None:
        """Emit the cold end of a thread: record the fault (or one known at run time) and leave."""
        number = kind if isinstance(kind, str) else str(int(kind))
        group = len(self.faults) // _TOGETHER
        self.faults.append((self.e.current_label(), (number, str(site), lanes, address)))
        self.e.do(f"br label %faulted{group}")

    def lose(self, faulty: str) -> None:
        """Leave where an i1 says that a fault has been recorded."""
        group = self.losses // _TOGETHER
        self.losses += 1
        on = self.e.name("on")
        self.e.do(f"br i1 {faulty}, label %faulty{group}, label %{on}, !prof !0")
        self.e.label(on)

    def finish(self) -> None:
        """The places where faults are recorded and faulty threads leave, for many faults each: a
        dozen instructions behind every access would be more than the access.  What merges in one
        place for all of a long function takes LLVM a time that grows as the square."""
        e = self.e
        for group, start in enumerate(range(0, len(self.faults), _TOGETHER)):
            faults = self.faults[start : start + _TOGETHER]
            e.label(f"faulted{group}")
            labels = [label for label, _ in faults]
            values = []
            for row in zip(*(said for _, said in faults), strict=True):
                ways = (f"[ {x}, %{label} ]" for x, label in zip(row, labels, strict=True))
                values.append(e.op(f"phi i64 {', '.join(ways)}"))
            for word, value in zip(_FAULT_WORDS, values, strict=True):
                e.do(f"store i64 {value}, ptr {self.context(word)}")
            self.leave(ThreadOutcome.FAULT)
        for group in range(-(-self.losses // _TOGETHER)):
            e.label(f"faulty{group}")
            self.leave(ThreadOutcome.FAULT)

    def count(self) -> str:
        """Instructions run so far: what may run until the thread looks up is counted down."""
        limit = self.e.op("load i64, ptr %limit")
        return self.e.op(f"sub i64 {limit}, {self.e.op('load i64, ptr %left')}")

    def leave(self, outcome: int) -> None:
        """Return a `ThreadOutcome` from the thread function; the instruction count goes to the
        record."""
        e = self.e
        place = e.op(f"getelementptr i64, ptr %rec, i64 {int(Record.COUNT)}")
        e.do(f"store i64 {self.count()}, ptr {place}")
        e.do(f"ret i32 {int(outcome)}")


_TOGETHER = 64  # faults that are recorded in one place
_FAULT_WORDS = (Context.FAULT, Context.FAULT_SITE, Context.FAULT_LANES, Context.FAULT_ADDRESS)


def _of_affine(e: Emitter, type: Type, affine: AffineForm, cold: bool) -> str:
    return vector_of_affine(e, type, affine)


def literal_zero(scalar: str) -> str:
    return "0.0" if scalar in ("float", "double") else "0"


# What neither touches registers in memory nor can fault.
# fmt: off
PASSING = LANE_WISE | {
    "const", "splat", "shuffle", "concat", "bitcast", "root_address", "exec_mask", "bits_mask",
    "mask_bits", "read_flag", "write_flag", "write_indirect",
}
# fmt: on

# The operations that are not lane-wise; the modules that lower them add themselves.
LOWERINGS: Table[KernelLowering, [], None] = Table()


def constant_lanes(k: KernelLowering, value: Value, lanes: tuple[int, ...]) -> None:
    """Define a value whose lanes, or the one that is all of them, have these bits."""
    bits = lanes * value.width if len(lanes) == 1 else lanes
    names = {b: literal(value.type, b) for b in set(bits)}
    texts = [names[b] for b in bits]
    vector = vector_literal(scalar_type(value.type), texts)
    result = Lanes(value.type, value.width, vector)
    form = k.known[value.id]
    if form.shape is not None:
        shape = shape_of_constants(bits, value.type.bits or 1)
        assert shape is not None
        heads = tuple(literal(value.type, h) for h in shape[1])
        result.affine = AffineForm(form.shape, heads)
    k.values[value.id] = result
