"""Steps that follow labels through the operations of a block, see :mod:`eumu.exec.interp.labels`.

What an operation takes, what it returns has, lane by lane where it works so; what is loaded from an
address has its labels, too.  What is behind a branch does not get those of the condition: that it
was reached is written down.  The step of an operation is in front of its own: it sees the arguments
as they are then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from eumu.errors import InternalError
from eumu.exec.fidelity import Sink
from eumu.exec.interp.labels import (
    Accessing,
    Bits,
    Labels,
    any_of,
    of_thread,
    root_labels,
    some,
    union,
)
from eumu.exec.interp.registers import element_offsets, region_bytes, register_space
from eumu.exec.interp.site import BlockSite
from eumu.exec.interp.values import ALL, Lanes, Mask, Run, Slots, Step, full, wide
from eumu.ir import Block, Op, Terminator, Value
from eumu.ir.operations.arithmetic import Dot, InDword
from eumu.ir.operations.ends import OfLanes
from eumu.ir.operations.lanes import Bitcast, Concat, Shuffle
from eumu.ir.operations.memory import Access, Atomic, LoadBlock
from eumu.ir.operations.messages import Message, Send
from eumu.ir.operations.row import OPERATIONS, Table
from eumu.ir.operations.state import (
    OnFlag,
    OnRegion,
    OnRoot,
    Partner,
    ReadFlag,
    ReadIndirect,
    WriteIndirect,
)


def follow(labels: Labels, site: BlockSite, block: Block, steps: Sequence[Step]) -> list[Step]:
    """The steps of a block's operations, with those of labels around them."""
    own, made = _Steps(labels, site), list[Step]()
    for op, step in zip(block.ops, steps, strict=True):
        own.note_flags(op)
        made.append(RULES.get(op.name, _nothing)(own, op))
        made.append(step)
        if isinstance(op, Access):
            made.append(own.after(op))
    assert block.end is not None
    return [*made, own.end(block.end)] if block.end.args else made


class _Steps:
    """The steps that follow the values of one block; `made` are their labels by number."""

    def __init__(self, of: Labels, site: BlockSite) -> None:
        self.of, self.site = of, site
        self.found: dict[int, Bits | None] = {}
        self.flags: set[int] = set()  # masks made of flags

    def get(self, *values: Value) -> Bits | None:
        return union(*(self.found[x.id] for x in values))

    def set(self, values: Iterable[Value], labels: Bits | None) -> None:
        for value in values:
            self.found[value.id] = labels

    def note_flags(self, op: Op) -> None:
        """Note masks that come from flags: a select by them is a predicate's."""
        of_flags = any(x.id in self.flags for x in op.args)
        if isinstance(op, ReadFlag) or (of_flags and op.results and op.result.is_mask):
            self.flags.add(op.result.id)

    def executing(self, op: Op, width: int, run: Run) -> Mask | None:
        """Which lanes execute; None: all."""
        if run.active is ALL or not self.site.is_masked(op):
            return None
        return _lanes(run, self.site.first_lane(op), width)

    def steered(self, op: Op, mask: Value, run: Run) -> Bits | None:
        """The labels of a mask, by which an operation is predicated; that is written down."""
        labels = self.get(mask)
        if labels is not None:
            on = self.executing(op, mask.width, run)
            self.of.use(op.inst, Sink.PREDICATE, labels, on, run)
        return labels

    def after(self, op: Access) -> Step:
        """Behind an access: the labels of what it has loaded."""

        def step(v: Slots, run: Run) -> None:
            now, also = self.of.now, self.of.now.steered
            request, loaded = now.request, now.loaded
            if request is None or loaded is None or not loaded.any():
                self.set(op.results, also)
            elif isinstance(op, LoadBlock):
                out = np.zeros((run.count, op.result.width), np.uint64)
                out[request.row] = loaded
                self.set(op.results, union(out, also))
            else:
                for k, value in enumerate(op.results):
                    self.set((value,), union(request.spread(loaded[:, k]), also))

        return step

    def end(self, end: Terminator) -> Step:
        """What steers where lanes go."""
        offset = end.offset if isinstance(end, OfLanes) else 0

        def step(v: Slots, run: Run) -> None:
            for x in end.args:
                all_run = run.active is ALL or x.width == 1
                mask = None if all_run else _lanes(run, offset, x.width)
                self.of.use(end.inst, Sink.BRANCH, self.get(x), mask, run)

        return step


def _lanes(run: Run, first: int, width: int) -> Mask:
    """Which of some lanes of the thread execute."""
    mask = run.active[:, first : first + width]
    return np.pad(mask, ((0, 0), (0, width - mask.shape[1])))


# ---- rules; what has none takes the labels of its arguments lane by lane, or none (see the end)

RULES: Table[_Steps, [], Step] = Table()


def _nothing(s: _Steps, op: Op) -> Step:
    """Its results come from nothing that has labels."""

    def step(v: Slots, run: Run) -> None:
        s.set(op.results, None)

    return step


def _lanewise(s: _Steps, op: Op) -> Step:
    def step(v: Slots, run: Run) -> None:
        s.set(op.results, s.get(*op.args))

    return step


RULES.on(Op, "splat")(_lanewise)


@RULES.on(Op, "select")
def _select(s: _Steps, op: Op) -> Step:
    mask, x, y = op.args
    m, predicated = s.site.slot(mask), mask.id in s.flags

    def step(v: Slots, run: Run) -> None:
        first, second = s.found[x.id], s.found[y.id]
        steered = s.steered(op, mask, run) if predicated else s.found[mask.id]
        chosen = None
        if first is not None or second is not None:
            chosen = np.where(v[m], some(first), some(second))
        s.set(op.results, union(chosen, steered))

    return step


@RULES.on(Shuffle)
def _shuffle(s: _Steps, op: Shuffle) -> Step:
    lanes = list(op.lanes)

    def step(v: Slots, run: Run) -> None:
        labels = s.get(*op.args)
        s.set(op.results, labels if labels is None or labels.shape[1] == 1 else labels[:, lanes])

    return step


@RULES.on(Concat)
def _concat(s: _Steps, op: Op) -> Step:
    def step(v: Slots, run: Run) -> None:
        parts = [s.found[x.id] for x in op.args]
        if all(part is None for part in parts):
            s.set(op.results, None)
            return
        spread = [full(some(p), run, x.width) for p, x in zip(parts, op.args, strict=True)]
        s.set(op.results, np.concatenate(spread, axis=1))

    return step


@RULES.on(Bitcast)
def _bitcast(s: _Steps, op: Op) -> Step:
    (source,), target = op.args, op.result

    def step(v: Slots, run: Run) -> None:
        labels = s.get(source)
        if labels is not None and source.type.size != target.type.size:
            each = np.repeat(wide(labels, source.width), source.type.size, axis=1)
            labels = any_of(each.reshape(len(each), target.width, target.type.size))
        s.set(op.results, labels)

    return step


def _whole(s: _Steps, op: Op) -> Step:
    """Every lane of the result may come from any lane."""

    def step(v: Slots, run: Run) -> None:
        s.set(op.results, union(*(of_thread(s.found[x.id]) for x in op.args)))

    return step


RULES.on(Dot)(_whole)
RULES.on(Op, "any", "all")(_whole)
RULES.on(InDword)(_whole)


@RULES.on(OnRegion, "read", "partner")
def _read(s: _Steps, op: OnRegion) -> Step:
    value, name = op.value, op.root.name
    columns = np.array(region_bytes(op.region, value.type, value.width)).reshape(value.width, -1)
    per_group, partner = s.site.state.threads_per_group, isinstance(op, Partner)

    def step(v: Slots, run: Run) -> None:
        threads = run.threads
        if partner:
            threads = threads // per_group * per_group + (threads % per_group ^ 1)
        s.set(op.results, s.of.read(name, threads, columns))

    return step


@RULES.on(ReadFlag)
def _read_flag(s: _Steps, op: OnFlag) -> Step:
    columns, name = np.array(op.bits)[:, None], op.root.name

    def step(v: Slots, run: Run) -> None:
        s.set(op.results, s.of.read(name, run.threads, columns))

    return step


@RULES.on(OnRoot, "write", "write_flag")
def _write(s: _Steps, op: OnRoot) -> Step:
    x, mask = op.args
    m, own, name = s.site.slot(mask), s.of.own.get(op.inst), op.root.name
    if isinstance(op, OnRegion):
        places = region_bytes(op.region, x.type, x.width)
    else:
        assert isinstance(op, OnFlag)
        places = list(op.bits)
    columns = np.array(places).reshape(x.width, -1)
    made = None if own is None else np.full((1, 1), own)

    def step(v: Slots, run: Run) -> None:
        steered = s.steered(op, mask, run)
        s.of.write(name, run, columns, union(s.get(x), steered, made), v[m], steered)

    return step


@RULES.on(ReadIndirect)
def _read_indirect(s: _Steps, op: ReadIndirect) -> Step:
    value, space, (address, *_) = op.result, register_space(s.site), op.args
    size, width, a = value.type.size, value.width, s.site.slot(address)
    lane, distance = element_offsets(op, width)

    def step(v: Slots, run: Run) -> None:
        steered = s.get(address)
        s.of.use(op.inst, Sink.ADDRESS, steered, None, run)
        if steered is not None:
            steered = wide(steered, address.width)[:, lane]
        if not s.of.labelled:
            s.set(op.results, steered)
            return
        places = full(v[a], run, address.width).astype(np.int64)[:, lane] + distance
        index, inside = space.find(places, size)
        out = np.zeros((run.count, width), np.uint64)
        for k in np.unique(index[inside]):
            row, column = np.nonzero(inside & (index == k))
            first = places[row, column] - space.starts[k]
            array = s.of.arrays[root_labels(space.roots[k].name)]
            for byte in range(size):
                out[row, column] |= array[run.threads[row], first + byte]
        s.set(op.results, union(out, steered))

    return step


@RULES.on(WriteIndirect)
def _write_indirect(s: _Steps, op: WriteIndirect) -> Step:
    address, x, mask = op.args
    a, m = s.site.slots((address, mask))
    space, size, width, own = register_space(s.site), x.type.size, x.width, s.of.own.get(op.inst)
    distance = np.arange(width) * op.hstride + op.offset
    made = None if own is None else np.full((1, 1), own)

    def step(v: Slots, run: Run) -> None:
        steered = s.get(address)
        s.of.use(op.inst, Sink.ADDRESS, steered, None, run)
        chosen = s.steered(op, mask, run)
        new = union(s.get(x, mask), made, steered)
        if new is None and not s.of.labelled:
            return
        on = full(v[m], run, width)
        places = full(v[a], run, width).astype(np.int64) + distance
        index, inside = space.find(places, size)
        put(on & inside, full(some(new), run, width), run, index, places, adds=False)
        if chosen is not None:  # what the mask has left may have been written
            put(~on & inside, full(chosen, run, width), run, index, places, adds=True)

    def put(
        where: Mask, labels: Bits, run: Run, index: Lanes, places: Lanes, *, adds: bool
    ) -> None:
        """Give the bytes of elements these labels, or add them."""
        for k in np.unique(index[where]):
            row, column = np.nonzero(where & (index == k))
            first, name = places[row, column] - space.starts[k], space.roots[k].name
            array = s.of.arrays[root_labels(name)]
            for byte in range(size):
                at = run.threads[row], first + byte
                array[at] = labels[row, column] | (array[at] if adds else 0)
            s.of.labelled.add(name)

    return step


@RULES.on(Access)
def _access(s: _Steps, op: Access) -> Step:
    address, mask = op.args[:2]
    surfaces, m = op.args[2 + len(op.data) :], s.site.slot(mask)

    def step(v: Slots, run: Run) -> None:
        use, on = s.of.use, v[m]
        place = s.get(address, *surfaces)
        use(op.inst, Sink.ADDRESS, place, on, run)
        steered = union(place, s.steered(op, mask, run))
        data = [s.found[x.id] for x in op.data]
        if isinstance(op, Atomic):
            use(op.inst, Sink.ATOMIC, union(*data), on, run)
        s.of.now = Accessing(data, steered)

    return step


for _kind in Access.__subclasses__():
    RULES.on(_kind)(_access)


@RULES.on(Message)
def _message(s: _Steps, op: Message) -> Step:
    mask, *data = op.args
    m = s.site.slot(mask)
    lanewise = all(x.width == mask.width for x in (*data, *op.results))

    def step(v: Slots, run: Run) -> None:
        sources = [s.found[x.id] for x in data]
        for x, labels in zip(data, sources, strict=True):
            on = v[m] if x.width == mask.width else None
            s.of.use(op.inst, Sink.MESSAGE, labels, on, run)
        s.steered(op, mask, run)
        parts = sources if lanewise else [of_thread(x) for x in sources]
        s.set(op.results, union(*parts))

    return step


@RULES.on(Send)
def _send(s: _Steps, op: Send) -> Step:
    ex_desc, desc, enabled, mask, *stretches = op.args

    def step(v: Slots, run: Run) -> None:
        s.of.use(op.inst, Sink.ADDRESS, s.get(ex_desc, desc), None, run)
        s.steered(op, enabled, run)
        s.steered(op, mask, run)
        parts = [of_thread(s.found[x.id]) for x in stretches]
        s.of.use(op.inst, Sink.MESSAGE, union(*parts), None, run)
        s.set(op.results, union(*parts))

    return step


for _name, _row in OPERATIONS.items():
    if _row.is_lanewise:
        RULES.setdefault(_name, _lanewise)
    elif _row.args and _row.results and _name not in RULES:
        raise InternalError(f"IR {_name}: no rule says which labels its result has")
