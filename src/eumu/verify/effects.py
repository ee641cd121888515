"""What instructions read and write, and where control goes after them.

Most instructions touch what their regions say.  That is found out once for every instruction and
class of operands, by comparing the regions with what the meaning does (:mod:`eumu.verify.trial`);
from then on the regions are enough.  Messages and the like are run once a shape.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

from eumu.isa.kinds.control import ExecKind, PredicateKind
from eumu.isa.kinds.operands import (
    AddressOperand,
    ExecSize,
    General,
    Indirect,
    Predicate,
    PredicateOperand,
)
from eumu.isa.kinds.variables import Declared, Variable
from eumu.isa.kinds.vector import DestinationKind, SourceKind
from eumu.isa.spec import Opcode
from eumu.platforms import Platform
from eumu.program import Inst
from eumu.verify import trial
from eumu.verify.trial import MIDDLE, Reference, Shape

# A variable that is no alias, and a mask of its bytes (of a predicate's bits).
Touch = tuple[Declared, int]


class Effect(NamedTuple):
    """What an instruction touches; `shape` has what does not depend on the variables."""

    reads: list[Touch]
    writes: list[Touch]
    shape: Shape


def region_mask(operand: General, lanes: int, grf: int, *, is_dst: bool) -> int:
    """The bytes of a region, counted from the start of its variable."""
    size = operand.type.size
    start = operand.row * grf + operand.col * size
    width = 1 if is_dst else min(operand.width, lanes)
    vstride = operand.hstride if is_dst else operand.vstride
    hstride = operand.hstride
    if lanes == 1 or (vstride == width * hstride and (hstride == 1 or width == 1 == vstride)):
        return ((1 << size * lanes) - 1) << start
    element, mask = (1 << size) - 1, 0
    for step in {k // width * vstride + k % width * hstride for k in range(lanes)}:
        mask |= element << step * size
    return mask << start


class _Role(NamedTuple):
    field: int  # which operand
    name: str  # 'dst', 'src', 'scalar', 'pred'


@cache
def _roles(opcode: Opcode) -> tuple[_Role, ...]:
    roles = []
    for field in opcode.fields:
        if isinstance(field.kind, DestinationKind):
            roles.append(_Role(field.index, "dst"))
        elif isinstance(field.kind, SourceKind):
            roles.append(_Role(field.index, "scalar" if field.kind.scalar else "src"))
        elif isinstance(field.kind, PredicateKind):
            roles.append(_Role(field.index, "pred"))
    return tuple(roles)


@cache
def exec_index(opcode: Opcode) -> int | None:
    """Which operand is the execution size."""
    return next((f.index for f in opcode.fields if isinstance(f.kind, ExecKind)), None)


_ONE: Final = ExecSize(1)
_UNTRIED: Final = Shape()
# (register size, opcode, lanes, classes of operands) -> the shape if regions tell all.
_REGULAR: dict[tuple[Any, ...], Shape | None] = {}
_SHAPES: dict[tuple[Any, ...], Shape] = {}


class Effects:
    """The effects of the instructions of one kernel."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._grf = platform.grf_bytes
        self._touches: dict[tuple[int, int, str], Touch | None] = {}
        self._described: dict[int, tuple[Any, list[Reference]]] = {}
        self._kept: list[Any] = []  # whose id is a key above

    def of(self, inst: Inst) -> Effect:
        """What an instruction reads and writes."""
        opcode, operands = inst.opcode, inst.operands
        index = exec_index(opcode)
        exec = _ONE if index is None else operands[index] or _ONE
        # How many lanes there are matters to branches, and otherwise only whether there are many.
        lanes = exec.size if opcode.flow else exec.size > 1
        key = (self._grf, opcode, lanes, *map(type, operands))
        shape = _REGULAR.get(key, _UNTRIED)
        if shape is _UNTRIED:
            shape = _REGULAR[key] = self._regular(inst, exec)
        if shape is None:
            return self._irregular(inst)
        reads, writes = self._regions(inst, exec)
        return Effect(reads, writes, shape)

    def _regular(self, inst: Inst, exec: ExecSize) -> Shape | None:
        """The shape, if regions alone tell what the instruction touches."""
        effect = self._irregular(inst)
        if not effect.shape.known:
            return None
        reads, writes = self._regions(inst, exec)
        same = _merged(reads) == _merged(effect.reads) and _merged(writes) == _merged(effect.writes)
        return effect.shape if same else None

    # ---- regions

    def _regions(self, inst: Inst, exec: ExecSize) -> tuple[list[Touch], list[Touch]]:
        reads: list[Touch] = []
        writes: list[Touch] = []
        lanes = exec.size | exec.offset << 8
        touches = self._touches
        for index, role in _roles(inst.opcode):
            operand = inst.operands[index]
            key = (id(operand), lanes, role)
            if key not in touches:
                touches[key] = self._touch(operand, exec, role)
                self._kept.append(operand)
            touch = touches[key]
            if touch is not None:
                # The address of an indirect destination is read.
                is_write = role == "dst" and not isinstance(operand, Indirect)
                (writes if is_write else reads).append(touch)
        return reads, writes

    def _touch(self, operand: Any, exec: ExecSize, role: str) -> Touch | None:
        lanes = 1 if role == "scalar" else exec.size
        match operand:
            case General():
                mask = region_mask(operand, lanes, self._grf, is_dst=role == "dst")
                owner, base = operand.variable.origin()
                return owner, mask << base
            case Predicate() | PredicateOperand():
                return operand.variable, ((1 << exec.size) - 1) << exec.offset
            case AddressOperand():
                count = lanes if role == "dst" else min(operand.width, lanes)
                return operand.variable, ((1 << 4 * count) - 1) << 4 * operand.element
            case Indirect():
                many = operand.vstride is None
                count = -(-lanes // min(operand.width, lanes)) if many and role != "dst" else 1
                return operand.address, ((1 << 4 * count) - 1) << 4 * operand.element
        return None

    # ---- shapes

    def _irregular(self, inst: Inst) -> Effect:
        keys: list[Any] = [self._grf, inst.opcode]
        references: list[Reference] = []
        for operand in inst.operands:
            described = self._described.get(id(operand))
            if described is None:
                own: list[Reference] = []
                described = trial.describe(operand, own), own
                self._described[id(operand)] = described
                self._kept.append(operand)
            keys.append(described[0])
            references += described[1]
        key = tuple(keys)
        shape = _SHAPES.get(key)
        if shape is None:
            shape = _SHAPES[key] = trial.run(inst.opcode, inst.operands, self._platform)
        return Effect(
            [self._placed(references[n], mask) for n, mask in shape.reads],
            [self._placed(references[n], mask) for n, mask in shape.writes],
            shape,
        )

    def _placed(self, reference: Reference, mask: int) -> Touch:
        declared, start = reference
        if not isinstance(declared, Variable):
            return declared, mask
        owner, base = declared.origin()
        if start < 0:  # a row
            start = (-1 - start) * self._grf
        shift = base + start - MIDDLE
        return owner, mask << shift if shift >= 0 else mask >> -shift


def _merged(touches: list[Touch]) -> dict[Declared, int]:
    merged: dict[Declared, int] = {}
    for declared, mask in touches:
        if declared.category in "GPA":
            merged[declared] = merged.get(declared, 0) | mask
    return merged
