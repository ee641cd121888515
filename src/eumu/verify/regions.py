"""Rules on where operands lie: regions, bounds, alignment, addresses, read-only variables.

Source: vISA page "Operands": region-based addressing, region restrictions, raw operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eumu.isa.kinds.lsc import LscAddress, LscAddressKind, LscData, LscDataKind
from eumu.isa.kinds.lsc_block2d import BlockData, BlockDataKind
from eumu.isa.kinds.lsc_typed import TypedAddress, TypedAddressKind
from eumu.isa.kinds.operands import AddressOperand, General, Indirect, Raw
from eumu.isa.kinds.raw import RawKind
from eumu.isa.kinds.render import RenderData, RenderDataKind
from eumu.isa.kinds.sampler import ParametersKind
from eumu.isa.kinds.vector import DestinationKind, SourceKind
from eumu.isa.limits import By, since
from eumu.isa.spec import Field, Opcode
from eumu.verify.operands import is_typed
from eumu.verify.rules import Finding, On, rule
from eumu.verify.subject import Subject, Use

PAGE: Final = "5 Operands"
VECTOR: Final = (SourceKind, DestinationKind)
MAX_ADDRESSES: Final = 16

# What a program may write among the predefined variables; all of it, or these bytes.
WRITABLE: Final[dict[str, frozenset[int] | None]] = {
    **dict.fromkeys(("%arg", "%retval", "%sp", "%fp", "%cr0", "%dbg0", "%null"), None),
    **dict.fromkeys(("%impl_arg_buf_ptr", "%local_id_buf_ptr"), None),
    "%tsc": frozenset({16}),
    "%sr0": frozenset({8, 12}),
}


def _width(use: Use, field: Field, operand: General | Indirect) -> int:
    """Lanes of an operand: a scalar one has a single lane, whatever its region."""
    scalar = isinstance(field.kind, SourceKind) and field.kind.scalar
    return 1 if scalar else use.size


@rule(
    "region-width",
    "A row of a region is a part of the lanes.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(SourceKind,),
    classes=(General, Indirect),
)
def region_width(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if isinstance(operand, General | Indirect) and operand.width > use.size:
        yield Finding(
            f"width {operand.width} is greater than the execution size {use.size}", field.name
        )


@rule(
    "region-addresses",
    "There are 16 address registers, since Xe3p 32.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(SourceKind,),
    classes=(Indirect,),
)
def region_addresses(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if isinstance(operand, Indirect) and operand.vstride is None:
        count = use.size // operand.width
        most = MAX_ADDRESSES * (2 if use.subject.platform.name in since("nvlp") else 1)
        if count > most:
            yield Finding(
                f"a region <{operand.width},{operand.hstride}> of {use.size} lanes needs {count}"
                f" addresses; there are up to {most}",
                field.name,
            )


@rule(
    "address-bounds",
    "An address beyond the variable belongs to another one.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=VECTOR,
    classes=(Indirect, AddressOperand),
)
def address_bounds(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if isinstance(operand, Indirect):
        variable, first = operand.address, operand.element
        many = operand.vstride is None
        count = -(-_width(use, field, operand) // operand.width) if many else 1
    elif isinstance(operand, AddressOperand):
        variable, first = operand.variable, operand.element
        is_dst = isinstance(field.kind, DestinationKind)
        count = use.size if is_dst else min(operand.width, use.size)
    else:
        return
    if first + count > variable.count:
        which = f"element {first}" if count == 1 else f"elements {first} to {first + count - 1}"
        yield Finding(f"{which} of '{variable.name}', which has {variable.count}", field.name)


@rule(
    "indirect-offset",
    "The encoding has 10 bits for the offset.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=VECTOR,
    classes=(Indirect,),
)
def indirect_offset(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if isinstance(operand, Indirect) and not -512 <= operand.offset <= 511:
        yield Finding(f"offset {operand.offset}; -512 to 511 is allowed", field.name)


def extent(operand: General, lanes: int, grf: int, *, is_dst: bool) -> tuple[int, int]:
    """First byte and end of a region, counted from its variable."""
    size = operand.type.size
    first = operand.row * grf + operand.col * size
    if is_dst:
        last = (lanes - 1) * operand.hstride
    else:
        width = min(operand.width, lanes)
        last = (lanes // width - 1) * operand.vstride + (width - 1) * operand.hstride
    return first, first + last * size + size


def _extent(use: Use, field: Field, operand: General) -> tuple[int, int]:
    """First byte and end of an operand in its variable."""
    key = (id(operand), use.size, field.kind)
    reach = use.subject.extents.get(key)
    if reach is None:
        lanes, is_dst = _width(use, field, operand), isinstance(field.kind, DestinationKind)
        reach = extent(operand, lanes, use.subject.grf, is_dst=is_dst)
        use.subject.extents[key] = reach
    return reach


@rule(
    "region-bounds",
    "Bytes beyond the variable belong to other variables.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=VECTOR,
    classes=(General,),
)
def region_bounds(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    _, end = _extent(use, field, operand)
    size = use.subject.size(operand.variable)
    if end > size and operand.variable.name not in _REGISTERS:
        yield Finding(
            f"byte {end - 1} of '{operand.variable.name}', which has {size} bytes", field.name
        )


@rule(
    "region-bounds-emitted",
    "A copy of the header r0 is a whole register.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=(DestinationKind,),
    classes=(General,),
)
def region_bounds_emitted(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    size = use.subject.copies.get(operand.variable)
    if size is not None and _extent(use, field, operand)[1] > operand.variable.size:
        what = f"the copy of %r0 in '{operand.variable.name}' has {size} bytes"
        yield Finding(f"{what}, the variable {operand.variable.size}", field.name)


# Reads of architecture registers beyond what is declared are the business of the platform.
_REGISTERS: Final = frozenset({"%null"})


@rule(
    "region-span",
    "The hardware reads and writes two registers of an operand at a time.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=VECTOR,
    classes=(General,),
)
def region_span(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    grf = use.subject.grf
    first, end = _extent(use, field, operand)
    if end - first <= grf:
        return
    start = operand.variable.origin()[1] if operand.variable.alias else 0
    count = (start + end - 1) // grf - (start + first) // grf + 1
    if count > 2:
        yield Finding(f"the region spans {count} registers; up to 2 are allowed", field.name)


@rule(
    "column",
    "A column counts within the row's register.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=VECTOR,
    classes=(General,),
)
def column(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if isinstance(operand, General) and operand.col * operand.type.size >= use.subject.grf:
        per_row = use.subject.grf // operand.type.size
        row, col = operand.row + operand.col // per_row, operand.col % per_row
        yield Finding(
            f"column {operand.col} lies beyond the register; write ({row},{col})", field.name
        )


def _aligned(opcode: Opcode) -> bool:
    return bool(opcode.limits.aligned)


@rule(
    "operand-alignment",
    "The unit that runs the instruction has no regions and reads from fixed places.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=_aligned,
)
def operand_alignment(use: Use) -> Iterator[Finding]:
    if use.size == 1:
        return
    for name, needed in use.opcode.limits.aligned.items():
        operand = use.operand(name)
        if not isinstance(operand, General) or (operand.vstride == 0 == operand.hstride):
            continue
        needed = use.subject.grf if needed == 32 else needed
        offset = _offset_in_register(operand, use.subject)
        if offset % needed:
            yield Finding(
                f"{name} lies at byte {offset} of a register; a multiple of {needed} is needed",
                name,
            )


def _offset_in_register(operand: General, subject: Subject) -> int:
    offset = operand.row * subject.grf + operand.col * operand.type.size
    return (operand.variable.origin()[1] + offset) % subject.grf


# ---- raw operands

RAW: Final = (
    *(RawKind, LscDataKind, LscAddressKind, TypedAddressKind, BlockDataKind),
    *(ParametersKind, RenderDataKind),
)


def raws(operand: Any) -> tuple[Raw, ...]:
    """The raw operands in an operand of a message."""
    match operand:
        case Raw():
            return (operand,)
        case LscData() | BlockData():
            return (operand.register,)
        case LscAddress():
            return (operand.base,)
        case TypedAddress():
            return operand.u, operand.v, operand.r, operand.lod
        case RenderData():
            return operand.header, *operand.registers
        case tuple():
            return tuple(raw for raw in operand if isinstance(raw, Raw))
    return ()


@rule(
    "raw-alignment",
    "A message takes whole registers.",
    on=On.OPERAND,
    page=PAGE,
    kinds=RAW,
)
def raw_alignment(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    grf = use.subject.grf
    for raw in raws(operand):
        if raw.variable is None or raw.variable.predefined is not None:
            continue
        owner, offset = raw.variable.origin()
        offset += raw.offset
        base = raw.variable if owner.predefined is not None else owner
        if base.size >= grf and offset % grf:
            yield Finding(
                f"'{raw.variable.name}.{raw.offset}' begins at byte {offset} of '{owner.name}';"
                f" a multiple of {grf} is needed",
                field.name,
            )


@rule(
    "raw-bounds",
    "Bytes beyond the variable belong to other variables.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=RAW,
)
def raw_bounds(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    for raw in raws(operand):
        size = use.subject.size(raw.variable) if raw.variable is not None else 0
        if raw.variable is not None and raw.offset >= size:
            yield Finding(
                f"byte {raw.offset} of '{raw.variable.name}', which has {size} bytes", field.name
            )


# ---- what may be written


@rule(
    "read-only",
    "The variable shows a register that the hardware sets.",
    on=On.OPERAND,
    page="4 vISA header",
    kinds=(DestinationKind,),
    classes=(General,),
)
def read_only(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if not isinstance(operand, General) or operand.variable.predefined is None:
        return
    if use.subject.parity and not is_typed(use.opcode):
        return  # the front end looks at arithmetic, logic and moves
    writable = WRITABLE.get(operand.variable.name, frozenset())
    first = operand.row * use.subject.grf + operand.col * operand.type.size
    if writable is None or first in writable:
        return
    some = f" but for byte {_bytes(writable)}" if writable else ""
    yield Finding(f"'{operand.variable.name}' is read-only{some}", field.name)


_PAUSE: Final = 16  # its byte in %tsc
XE2: Final = since("bmg")


@rule(
    "pause-counter",
    "These execution units have no counter that a thread can wait for.",
    on=On.OPERAND,
    page="4 vISA header",
    kinds=(DestinationKind,),
    classes=(General,),
)
def pause_counter(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    looked_at = not use.subject.parity or use.opcode.mnemonic == "mov"
    here = use.subject.platform.name
    if here in since("pvc") and looked_at and _pauses(operand) and not _emits_pauses(use):
        yield Finding(f"the pause counter is not there on {here}", field.name)


def _emits_pauses(use: Use) -> bool:
    """Whether Intel's compiler writes the counter where the documents have none."""
    return not use.subject.parity and use.subject.platform.name not in since("icllp") - XE2


@rule(
    "pause-counter-emitted",
    "The counter that a thread can wait for came with Gen11, and pvc has none.",
    on=On.OPERAND,
    page="4 vISA header",
    by=By.DOCUMENTS,
    kinds=(DestinationKind,),
    classes=(General,),
)
def pause_counter_emitted(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    here = use.subject.platform.name
    if _emits_pauses(use) and _pauses(operand):
        yield Finding(f"the pause counter is not there on {here}", field.name)


def _pauses(operand: Any) -> bool:
    """Whether a destination is the pause counter."""
    if not isinstance(operand, General) or operand.variable.name != "%tsc":
        return False
    return operand.col * operand.type.size == _PAUSE


def _bytes(offsets: frozenset[int]) -> str:
    return " and ".join(str(k) for k in sorted(offsets))
