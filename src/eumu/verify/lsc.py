"""Rules on the LSC messages: data, addresses, caching, fences.

Source: vISA pages "LSC_UNTYPED", "LSC_TYPED", "LSC_FENCE".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from eumu.isa.kinds.lsc import (
    Caching,
    CachingKind,
    LscAddress,
    LscAddressKind,
    LscData,
    LscDataKind,
    LscExecKind,
)
from eumu.isa.kinds.lsc_typed import TypedAddress, TypedAddressKind
from eumu.isa.kinds.operands import DataShape, Immediate
from eumu.isa.limits import By
from eumu.isa.spec import Field, Opcode
from eumu.isa.visa.lsc import ATOMICS
from eumu.platforms import PLATFORMS
from eumu.verify.rules import Finding, On, listed, rule
from eumu.verify.subject import Use

PAGE: Final = "LSC_UNTYPED"

_BYTES: Final = {"d8": 1, "d16": 2, "d32": 4, "d64": 8, "d8c32": 4, "d16c32": 4, "d16c32h": 4}
_ATOMIC_SIZES: Final = ("d16c32", "d32", "d64")
_PREFIX: Final = "lsc_atomic_"
_LANE_VECTORS: Final = {"ugml": (1, 2, 4), "ugm": (1, 2, 3, 4, 8), "slm": (1, 2, 3, 4, 8)}
MAX_REGISTERS: Final = 8


@cache
def access(opcode: Opcode) -> str:
    """`load`, `store`, `atomic` …: what the message's caching is for; empty for other ones."""
    kinds = [f.kind for f in opcode.fields if isinstance(f.kind, CachingKind)]
    if opcode.mnemonic.startswith(_PREFIX):
        return "atomic"
    return kinds[0].access if kinds else ""


def _sources(opcode: Opcode) -> int:
    """How many operands an atomic operation has beside memory."""
    return len(ATOMICS[opcode.mnemonic.removeprefix(_PREFIX)][1].sources)


def _sfid(use: Use) -> str:
    return use.operand("sfid") or "tgm"


def _has_data(opcode: Opcode) -> bool:
    return any(isinstance(f.kind, LscDataKind) for f in opcode.fields)


def _is_atomic(opcode: Opcode) -> bool:
    return access(opcode) == "atomic" and _has_data(opcode) and bool(opcode.field("src2"))


def _is_counter(opcode: Opcode) -> bool:
    """An append counter's operation: an atomic one without an address."""
    return access(opcode) == "atomic" and _has_data(opcode) and not opcode.field("src2")


# ---- data


@rule(
    "lsc-transpose",
    "Transposed data comes from one address.",
    on=On.INSTRUCTION,
    page=PAGE,
    applies=_has_data,
)
def lsc_transpose(use: Use) -> Iterator[str]:
    data: LscData = use.operand("data")
    if not data.shape.transposed:
        return
    if access(use.opcode) == "atomic":
        yield "an atomic operation has no transposed data"
    elif use.exec is not None and use.size != 1:
        yield f"transposed data with execution size {use.size}; 1 is allowed"


@rule(
    "lsc-vector",
    "The message has only these vector sizes.",
    on=On.INSTRUCTION,
    page=PAGE,
    applies=_has_data,
)
def lsc_vector(use: Use) -> Iterator[Finding]:
    shape = use.operand("data").shape
    allowed = _LANE_VECTORS.get(_sfid(use))
    if allowed is None or shape.transposed or shape.channels or shape.elements in allowed:
        return
    legal = listed(f"x{n}" for n in allowed)
    yield Finding(f"vectors of x{shape.elements}; .{_sfid(use)} has {legal}", "data")


@rule(
    "lsc-registers",
    "A message moves eight registers at most.",
    on=On.INSTRUCTION,
    page=PAGE,
    applies=_has_data,
)
def lsc_registers(use: Use) -> Iterator[Finding]:
    shape, grf = use.operand("data").shape, use.subject.grf
    count = len(shape.channels) or shape.elements
    size = _BYTES[shape.size]
    if shape.transposed:
        registers = max(1, count * size // grf)
    else:
        registers = count * max(1, size * use.size // grf)
    if registers > MAX_REGISTERS:
        yield Finding(
            f"{shape} with execution size {use.size} takes {registers} registers; up to"
            f" {MAX_REGISTERS} are allowed",
            "data",
        )


@rule(
    "lsc-channels",
    "A store writes one contiguous stretch a lane.",
    on=On.INSTRUCTION,
    page=PAGE,
    applies=lambda opcode: _has_data(opcode) and _is_quad_store(opcode),
)
def lsc_channels(use: Use) -> Iterator[Finding]:
    channels = use.operand("data").shape.channels
    if isinstance(use.operand("address"), TypedAddress) and not use.subject.parity:
        return  # the documents' own example writes .xz
    if channels != tuple(range(len(channels))):
        shown = "".join("xyzw"[c] for c in channels)
        yield Finding(f"channels .{shown}; a store takes .x, .xy, .xyz or .xyzw", "data")


def _is_quad_store(opcode: Opcode) -> bool:
    kinds = [f.kind for f in opcode.fields if isinstance(f.kind, LscDataKind)]
    index = {f.name: f.index for f in opcode.fields}
    address_first = "address" in index and index["address"] < index["data"]
    return kinds[0].channels and (access(opcode) == "store" or address_first)


@rule(
    "lsc-no-data",
    "There is nothing to store.",
    on=On.INSTRUCTION,
    page=PAGE,
    applies=lambda opcode: _has_data(opcode) and _stores(opcode),
)
def lsc_no_data(use: Use) -> Iterator[Finding]:
    if use.operand("data").register.variable is None:
        yield Finding(f"{use.opcode} needs data, not %null", "data")


def _stores(opcode: Opcode) -> bool:
    index = {f.name: f.index for f in opcode.fields}
    return "address" in index and index["address"] < index["data"] and not _is_atomic(opcode)


# ---- atomics


@rule(
    "lsc-atomic-data",
    "The memory's arithmetic unit works on one element of 16, 32 or 64 bits a lane.",
    on=On.INSTRUCTION,
    page=PAGE,
    applies=_is_atomic,
)
def lsc_atomic_data(use: Use) -> Iterator[Finding]:
    shape = use.operand("data").shape
    if shape.size not in _ATOMIC_SIZES or shape.elements > 1:
        yield Finding(f"{shape}; atomic operations take {listed(_ATOMIC_SIZES)}", "data")
    if _sfid(use) == "slm" and shape.size == "d64" and use.opcode.mnemonic != f"{_PREFIX}icas":
        yield Finding("of 64-bit elements, .slm knows lsc_atomic_icas alone", "data")


@rule(
    "lsc-atomic-float",
    "Only global memory adds floats.",
    on=On.INSTRUCTION,
    page=PAGE,
    applies=lambda opcode: opcode.mnemonic in (f"{_PREFIX}fadd", f"{_PREFIX}fsub"),
)
def lsc_atomic_float(use: Use) -> Iterator[Finding]:
    if _sfid(use) not in ("ugm", "ugml"):
        yield Finding(f"{use.opcode} in .{_sfid(use)}; .ugm and .ugml are allowed", "sfid")


@rule(
    "lsc-atomic-source",
    "The message has as many sources as the operation.",
    on=On.INSTRUCTION,
    page=PAGE,
    applies=_is_atomic,
)
def lsc_atomic_source(use: Use) -> Iterator[Finding]:
    wanted = _sources(use.opcode)
    for number, name in enumerate(("src1", "src2"), 1):
        has_source = use.operand(name).variable is not None
        if has_source and number > wanted:
            yield Finding(f"{name} of {use.opcode} must be %null", name)
        elif not has_source and number <= wanted:
            yield Finding(f"{use.opcode} needs {name}", name)


@rule(
    "lsc-counter",
    "An append counter is a dword that belongs to a surface in global memory.",
    on=On.INSTRUCTION,
    page=PAGE,
    by=By.DOCUMENTS,
    applies=_is_counter,
)
def lsc_counter(use: Use) -> Iterator[Finding]:
    if _sfid(use) != "ugm":
        yield Finding(f"{use.opcode} in .{_sfid(use)}; .ugm is allowed", "sfid")
    for name in ("data", "src"):
        shape = use.operand(name).shape
        if shape != DataShape("d32"):
            yield Finding(f"{shape}; an append counter is d32", name)
    if use.operand("src").register.variable is None:
        yield Finding(f"{use.opcode} needs src", "src")


# ---- addresses


def _has_address(opcode: Opcode) -> bool:
    return any(isinstance(f.kind, LscAddressKind) for f in opcode.fields)


@rule(
    "lsc-address-size",
    "Local memory has 64 KB or little more, global memory more than 64.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(LscAddressKind,),
)
def lsc_address_size(use: Use, field: Field, operand: LscAddress) -> Iterator[Finding]:
    sfid = _sfid(use)
    if operand.size == 16 and sfid != "slm":
        yield Finding(f"16-bit addresses in .{sfid}; they are for .slm", field.name)
    if operand.size == 64 and sfid == "slm":
        yield Finding("64-bit addresses in .slm; it takes :a16 and :a32", field.name)
    if operand.extension and use.subject.platform.order < PLATFORMS["nvlp"].order:
        how = f"a32{operand.extension} addresses on {use.subject.platform}"
        yield Finding(f"{how}; they are there since nvlp", field.name)
    if operand.size == 16 and not -0x7FFF <= operand.offset <= 0x7FFF:
        yield Finding(f"offset {operand.offset} does not fit 16-bit addresses", field.name)


@rule(
    "lsc-model",
    "Local memory is not a surface.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(LscAddressKind,),
)
def lsc_model(use: Use, field: Field, operand: LscAddress) -> Iterator[Finding]:
    if _sfid(use) == "slm" and operand.model not in ("flat", "arg"):
        yield Finding(f"address model {operand.model} in .slm; it takes flat", field.name)


@rule(
    "lsc-pitch",
    "The encoding has 16 bits for a pitch.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(LscAddressKind,),
)
def lsc_pitch(use: Use, field: Field, operand: LscAddress) -> Iterator[Finding]:
    pitch = operand.pitch
    if isinstance(pitch, Immediate) and 0xFFFF < pitch.bits < 1 << 31:
        yield Finding(f"a pitch of {pitch.bits} bytes; up to 65535 are allowed", field.name)


@rule(
    "lsc-typed-address",
    "Intel's front end accepts only 32-bit coordinates; the documents' examples have 64 bits.",
    on=On.OPERAND,
    page="LSC_TYPED",
    by=By.FRONT_END,
    kinds=(TypedAddressKind,),
)
def lsc_typed_address(use: Use, field: Field, operand: TypedAddress) -> Iterator[Finding]:
    if operand.size == 64:
        yield Finding("64-bit coordinates; :a32 is allowed", field.name)


@rule(
    "lsc-coordinate",
    "There is no texel without a first coordinate.",
    on=On.OPERAND,
    page="LSC_TYPED",
    kinds=(TypedAddressKind,),
)
def lsc_coordinate(use: Use, field: Field, operand: TypedAddress) -> Iterator[Finding]:
    if operand.u.variable is None:
        yield Finding("the first coordinate must not be %null", field.name)


# ---- caching and fences


@rule(
    "lsc-caching",
    "Messages of this shared function do not pass through these caches.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(CachingKind,),
)
def lsc_caching(use: Use, field: Field, operand: Caching) -> Iterator[Finding]:
    if _sfid(use) == "ugml" and operand != Caching():
        yield Finding(f"caching .{operand.l1}.{operand.l3} in .ugml; the default is allowed", "")


@rule(
    "lsc-typed-caching",
    "Intel's front end accepts only default caching for images; the documents allow more.",
    on=On.INSTRUCTION,
    page="LSC_TYPED",
    by=By.FRONT_END,
    applies=lambda opcode: opcode.page == "LSC_TYPED" and opcode.field("caching") is not None,
)
def lsc_typed_caching(use: Use) -> Iterator[Finding]:
    operand = use.operand("caching")
    if operand != Caching():
        yield Finding(f"caching .{operand} in .tgm; the default is allowed")


@rule(
    "lsc-slm-caching",
    "Local memory is not cached.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=(CachingKind,),
)
def lsc_slm_caching(use: Use, field: Field, operand: Caching) -> Iterator[Finding]:
    if _sfid(use) == "slm" and operand != Caching():
        yield Finding(f"caching .{operand.l1}.{operand.l3} in .slm; the default is allowed", "")


@rule(
    "lsc-ugml",
    "Only pvc has memory of other tiles.",
    on=On.INSTRUCTION,
    page=PAGE,
    by=By.DOCUMENTS,
    applies=lambda opcode: bool(opcode.field("sfid")),
)
def lsc_ugml(use: Use) -> Iterator[Finding]:
    if use.operand("sfid") == "ugml" and use.subject.platform.name != "pvc":
        yield Finding(f".ugml on {use.subject.platform}; it is there on pvc", "sfid")


def _is_fence(opcode: Opcode) -> bool:
    return bool(opcode.field("sfid") and opcode.field("scope") and opcode.field("flush"))


@rule(
    "lsc-fence",
    "Only the group sees local memory, and nothing of it is cached.",
    on=On.INSTRUCTION,
    page="LSC_FENCE",
    applies=_is_fence,
)
def lsc_fence(use: Use) -> Iterator[Finding]:
    if _sfid(use) == "slm":
        if use.operand("flush") != "none":
            yield Finding(f".{use.operand('flush')} of .slm; .none is allowed", "flush")
        if use.operand("scope") != "group":
            yield Finding(f".{use.operand('scope')} of .slm; .group is allowed", "scope")


@rule(
    "lsc-exec",
    "Intel's front end requires an explicit execution size.",
    on=On.OPERAND,
    page=PAGE,
    by=By.FRONT_END,
    kinds=(LscExecKind,),
)
def lsc_exec(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    if operand is None:
        yield Finding("the execution size is missing, as in (M1, 16)", "")
