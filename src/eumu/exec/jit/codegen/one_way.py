"""Whether all lanes go one way, told by scalars.

Work-item ids are consecutive, and what they are compared with is mostly the same in all lanes: the
last lane then answers for all of them.  Where it does not, all lanes are compared after all.
"""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.analysis.affine_forms import SUMMED_BITS
from eumu.exec.jit.codegen.checks import conjunction
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.scalars import all_hold
from eumu.exec.jit.llvm.emit import scalar_type
from eumu.exec.jit.llvm.lanes import AffineForm
from eumu.ir import Block, Op, Value
from eumu.ir.operations.arithmetic import Compare
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.state import Read, ReadFlag, Write, WriteFlag
from eumu.records import dataclass
from eumu.types import Type

_MOST_EFFORT: Final = 64  # operations that are looked at for one mask
_OPPOSITE: Final = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_SWAPPED: Final = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def every(k: KernelLowering, index: int, mask: Value, wanted: bool) -> str | None:
    """Emit an i1 that says, if it is true, that each lane of a mask is `wanted`.

    None if scalars do not say so.  All lanes run in the block `index`, where the mask was made and
    whose end is being lowered.
    """
    return _Search(k, k.function.blocks[index]).every(mask, wanted)


@dataclass(slots=True)
class _Search:
    """What the operations of one block made masks of; `left` is how many are still looked at."""

    k: KernelLowering
    block: Block
    left: int = _MOST_EFFORT

    def every(self, mask: Value, wanted: bool) -> str | None:
        """Whether each lane of a mask is `wanted`."""
        place, op = self._maker(mask)
        if self.left <= 0:
            return None
        if isinstance(op, ReadFlag):
            written = self._flag(place, op)
            return None if written is None else self.every(written, wanted)
        if isinstance(op, Compare):
            return self._compared(op, wanted)
        if op.name == "not":
            return self.every(op.args[0], not wanted)
        if op.name != ("and" if wanted else "or"):
            return None
        return self._both(self.every(op.args[0], wanted), op.args[1], wanted)

    def _both(self, first: str | None, mask: Value, wanted: bool) -> str | None:
        second = None if first is None else self.every(mask, wanted)
        return None if first is None or second is None else conjunction(self.k.e, first, second)

    def _compared(self, op: Compare, wanted: bool) -> str | None:
        found = _compared(self.k, op, op.rel if wanted else _OPPOSITE[op.rel])
        number, zero = op.args
        if found is None and op.rel in ("eq", "ne") and self._is_nonzero(zero) is False:
            return self.nonzero(number, wanted == (op.rel == "ne"))
        return found

    def nonzero(self, number: Value, wanted: bool) -> str | None:
        """Whether each lane of a number is another one than 0, or each is 0.

        Compilers make such numbers of masks, and masks of them.
        """
        place, op = self._maker(number)
        if self.left <= 0 or not number.type.is_int:
            return None
        if isinstance(op, Read):
            written = self._register(place, op)
            return None if written is None else self.nonzero(written, wanted)
        if op.name == "neg" or (op.name == "bitcast" and _is_same_size(op)):
            return self.nonzero(op.args[0], wanted)
        return self._selected(op, wanted) if op.name == "select" else None

    def _selected(self, op: Op, wanted: bool) -> str | None:
        mask, x, y = op.args
        known_x, known_y = self._is_nonzero(x), self._is_nonzero(y)
        if None not in (known_x, known_y) and known_x != known_y:
            return self.every(mask, wanted == known_x)
        if known_y is (not wanted):
            return self._both(self.nonzero(x, wanted), mask, True)
        if known_x is (not wanted):
            return self._both(self.nonzero(y, wanted), mask, False)
        return None

    def _is_nonzero(self, value: Value) -> bool | None:
        """Whether all lanes of a constant are, or none; None of what is no such constant."""
        _, op = self._maker(value)
        if not isinstance(op, Const) or not value.type.is_int:
            return None
        zeros = {lane == 0 for lane in op.lanes}
        return None if len(zeros) > 1 else zeros == {False}

    def _maker(self, value: Value) -> tuple[int, Op]:
        self.left -= 1
        return next((n, op) for n, op in enumerate(self.block.ops) if value in op.results)

    def _flag(self, place: int, read: ReadFlag) -> Value | None:
        """What was written to all lanes of a flag that an operation reads, in the same block."""
        for op in reversed(self.block.ops[:place]):
            if isinstance(op, WriteFlag) and op.root.name == read.root.name:
                is_same = op.offset == read.offset and op.args[0].width == read.result.width
                return op.args[0] if is_same and self.k.lanes(op.args[1]).full else None
            if isinstance(op, Write) and op.root.name == read.root.name:
                return None
        return None

    def _register(self, place: int, read: Read) -> Value | None:
        """The same of a register that nothing leads to."""
        if read.root.name in self.k.registers.memory:
            return None
        for op in reversed(self.block.ops[:place]):
            if isinstance(op, Write) and op.root.name == read.root.name:
                value, mask = op.args
                is_same = op.offsets == read.offsets and value.type.size == read.result.type.size
                is_same &= value.type.is_int and self.k.lanes(mask).full
                return value if is_same else None
            if isinstance(op, WriteFlag) and op.root.name == read.root.name:
                return None
        return None


def _is_same_size(op: Op) -> bool:
    source, target = op.args[0], op.results[0]
    return source.type.is_int and source.type.size == target.type.size


# ---- comparisons


def _compared(k: KernelLowering, op: Compare, relation: str) -> str | None:
    """Whether a relation holds in all lanes, one side of which is the same in all of them."""
    type = op.args[0].type
    if not type.is_int or type.bits > SUMMED_BITS or op.args[1].type is not type:
        return None
    forms = [k.lanes(a).affine for a in op.args]
    x, y = forms
    if x is None or y is None or not (_is_certain(x) and _is_certain(y)):
        return None
    if not y.shape.uniform:
        x, y, relation = y, x, _SWAPPED[relation]
    return _holds(k, type, x, relation, y) if y.shape.uniform else None


def _is_certain(form: AffineForm) -> bool:
    return form.shape.exact and form.shape.groups == 1 and form.sure == "true"


def _holds(
    k: KernelLowering, type: Type, x: AffineForm, relation: str, y: AffineForm
) -> str | None:
    """Whether lanes are all so to one number."""
    (head,), (other,), kind = x.scalars, y.scalars, scalar_type(type)
    if x.shape.uniform:
        sign = "" if relation in ("eq", "ne") else "s" if type.is_signed else "u"
        return k.e.op(f"icmp {sign}{relation} {kind} {head}, {other}")
    if relation in ("eq", "ne"):
        return None
    return all_hold(k.e, type, x.shape, head, relation, other)
