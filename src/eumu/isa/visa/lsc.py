"""LSC messages on raw memory: global (`.ugm`, `.ugml`) and shared local (`.slm`).

The byte address of a lane is base + scale * addr + offset, where the model says what the base is:
nothing (flat), or a surface.  (The specification's loads scale the base too and its stores the
offset; its comments do not, and neither does the hardware.)  Elements of a vector lie one register
block after the other; `transposed` data is one address' elements side by side.  Caching is checked
and has no effect: memory is coherent here.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from eumu.addresses import IMPLICIT_ARGUMENTS, SURFACE_STATE_BASE
from eumu.errors import Unsupported
from eumu.ir import Space, Value
from eumu.isa.kinds import InstBuilder, Pred, Rows
from eumu.isa.kinds.control import ChoiceKind
from eumu.isa.kinds.lsc import (
    SFID_CODES,
    SFIDS,
    Addresses,
    Caching,
    CachingKind,
    DataRows,
    LscAddressKind,
    LscDataKind,
    LscExecKind,
)
from eumu.isa.kinds.operands import DataShape, ExecSize
from eumu.isa.kinds.raw import RawKind
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.memory import (
    DWORD,
    FLAT,
    LSC_PLATFORMS,
    QWORD,
    SLM,
    Atomic,
    Element,
    MemoryTarget,
    load_block,
    load_channels,
    store_block,
    store_channels,
)
from eumu.isa.visa.registry import opcode
from eumu.platforms import platform
from eumu.types import BOOL, UB, UD, UQ, UW, D, Q

PAGE = "LSC_UNTYPED"

# The object file takes data and address apart.
HEAD = (
    "sub exec pred sfid caching address.model address.scale address.offset address.size"
    " data.size data.order data.elements data.channels address.surface address.index>4.1"
)
NULL = "000000000000"
_LOAD = f"{HEAD} data.register address.base {NULL} {NULL}"
_LOAD_STRIDED = f"{HEAD} data.register address.base address.pitch {NULL}"
_STORE = f"{HEAD} {NULL} address.base data.register {NULL}"
_STORE_STRIDED = f"{HEAD} {NULL} address.base address.pitch data.register"
_ATOMIC = f"{HEAD} data.register address.base src1 src2"

Sfid = Annotated[str, ChoiceKind("shared function", *SFIDS, numbers=SFID_CODES)]
LoadCaching = Annotated[Caching, CachingKind("load")]
Fetching = Annotated[Caching, CachingKind("load", overfetch=True)]
StoreCaching = Annotated[Caching, CachingKind("store")]
AtomicCaching = Annotated[Caching, CachingKind("atomic")]
Data = Annotated[DataRows, LscDataKind()]
QuadData = Annotated[DataRows, LscDataKind(channels=True)]
Address = Annotated[Addresses, LscAddressKind()]
StridedAddress = Annotated[Addresses, LscAddressKind(strided=True)]
LscSrc = Annotated[Rows, RawKind(bare=True)]

ELEMENTS: dict[str, Element] = {
    "d8": Element(UB, UB),
    "d16": Element(UW, UW),
    "d32": DWORD,
    "d64": QWORD,
    "d8c32": Element(UB, UD),
    "d16c32": Element(UW, UD),
    "d16c32h": Element(UW, UD, high=True),
}


# Operands that the text shows and no meaning looks at.
IMPLIED = {"exec": Annotated[ExecSize, LscExecKind()], "pred": Pred}
untyped = partial(
    opcode,
    0x89,
    page=PAGE,
    limits=maps.LSC,
    front_end=maps.OF_ANY_SIZE,
    platforms=LSC_PLATFORMS,
    implied=IMPLIED,
)


def target_of(b: InstBuilder, sfid: str, address: Addresses) -> MemoryTarget:
    """The space that a shared function and an address model name together."""
    if sfid == "slm":
        if address.model != "flat" or address.size == 64 or address.extension:
            raise Unsupported(f"shared local memory at {address.model} a{address.size} addresses")
        return SLM
    if address.model == "arg":
        if sfid != "ugm" or address.size != 32 or address.extension:
            raise Unsupported(f"implicit arguments at .{sfid} a{address.size} addresses")
        if b.platform.order >= platform("nvlp").order:
            raise Unsupported(f"address model arg on {b.platform}: its kernels' own arguments")
        return FLAT
    if address.surface is None or address.model == "flat":
        return FLAT
    if address.model == "bti":
        return MemoryTarget(Space.SURFACE, address.surface)
    return MemoryTarget(Space.SURFACE, b.add(address.surface, b.const(UD, SURFACE_STATE_BASE)))


def _scaled(b: InstBuilder, target: MemoryTarget, address: Addresses, lanes: Value) -> Value:
    """scale * lanes + offset in the width of the address (16-bit ones in 32).

    A base is added in 64 bits, or in shared local memory, whose addresses have 32, in these: the
    sign of an address makes no difference then.
    """
    if address.extension and address.model not in ("flat", "surf"):
        raise Unsupported(f"a32{address.extension} addresses in a surface")
    if address.extension == "s":
        lanes = b.convert(b.bitcast(lanes, D), Q)
    lanes = b.convert(lanes, UQ if address.size == 64 or address.extension else UD)
    if address.scale != 1:
        lanes = b.mul(lanes, b.const(lanes.type, address.scale, lanes.width))
    if address.offset:
        lanes = b.add(lanes, b.const(lanes.type, address.offset, lanes.width))
    if address.model == "flat" and address.surface is not None:
        if target is SLM:
            return b.add(lanes, b.splat(b.convert(address.surface, UD), lanes.width))
        if address.size != 64 and not address.extension:
            raise Unsupported(f"a{address.size} addresses with a base, whose sign nothing tells")
        lanes = b.add(lanes, b.splat(address.surface, lanes.width))
    if address.model == "arg":
        base = b.splat(b.symbol(IMPLICIT_ARGUMENTS), lanes.width)
        lanes = b.add(b.convert(lanes, UQ), base)
    return lanes


def _read(b: InstBuilder, address: Addresses, width: int) -> Value:
    type = {16: UW, 32: UD, 64: UQ}[address.size]
    return b.row_read(address.base, 0, type, width)


def access_places(b: InstBuilder, sfid: str, address: Addresses) -> tuple[MemoryTarget, Value]:
    """Where each lane's access goes."""
    target = target_of(b, sfid, address)
    return target, target.offsets(b, _scaled(b, target, address, _read(b, address, b.width)))


def _strided(
    b: InstBuilder, sfid: str, address: Addresses, shape: DataShape
) -> tuple[MemoryTarget, Value]:
    """Lane n at base + n * pitch."""
    target = target_of(b, sfid, address)
    base = b.splat(_scaled(b, target, address, _read(b, address, 1)), b.width)
    if address.pitch is None:
        steps = b.iota(base.type, b.width, ELEMENTS[shape.size].memory.size * shape.elements)
    else:
        pitch = b.splat(b.convert(address.pitch, base.type), b.width)
        steps = b.mul(b.iota(base.type, b.width), pitch)
    return target, target.offsets(b, b.add(base, steps))


def load_data(b: InstBuilder, target: MemoryTarget, lanes: Value, data: DataRows) -> None:
    """Elements at the addresses, as the data's shape says."""
    shape, element = data.shape, ELEMENTS[data.shape.size]
    if shape.channels:
        load_channels(b, target, lanes, data.rows, element, shape.channels)
    elif not shape.transposed:
        load_channels(b, target, lanes, data.rows, element, range(shape.elements))
    elif b.width == 1:
        b.aligned(element.memory.size)
        load_block(b, target, lanes, data.rows, element.memory, shape.elements, b.mask)
    else:
        raise Unsupported("transposed data of more than one lane")


def store_data(b: InstBuilder, target: MemoryTarget, lanes: Value, data: DataRows) -> None:
    """The inverse."""
    shape, element = data.shape, ELEMENTS[data.shape.size]
    if data.rows.root is None:
        raise Unsupported("a store without data")
    if shape.channels:
        store_channels(b, target, lanes, data.rows, element, shape.channels)
    elif not shape.transposed:
        store_channels(b, target, lanes, data.rows, element, range(shape.elements))
    elif b.width == 1:
        b.aligned(element.memory.size)
        store_block(b, target, lanes, data.rows, element.memory, shape.elements, b.mask)
    else:
        raise Unsupported("transposed data of more than one lane")


@untyped("{pred}lsc_load.{sfid}{caching} {exec}  {data}  {address}", sub=0x00, layout=_LOAD)
def lsc_load(b: InstBuilder, sfid: Sfid, caching: Fetching, data: Data, address: Address) -> None:
    """Elements from each lane's address, c32 sizes zero-extended; a prefetch into `%null`."""
    load_data(b, *access_places(b, sfid, address), data)


@untyped(
    "{pred}lsc_load_strided.{sfid}{caching} {exec}  {data}  {address}",
    sub=0x01,
    layout=_LOAD_STRIDED,
)
def lsc_load_strided(
    b: InstBuilder, sfid: Sfid, caching: LoadCaching, data: Data, address: StridedAddress
) -> None:
    """As `lsc_load`, from base + n * pitch for lane n; without a pitch the lanes are packed."""
    load_data(b, *_strided(b, sfid, address, data.shape), data)


@untyped("{pred}lsc_load_quad.{sfid}{caching} {exec}  {data}  {address}", sub=0x02, layout=_LOAD)
def lsc_load_quad(
    b: InstBuilder, sfid: Sfid, caching: Fetching, data: QuadData, address: Address
) -> None:
    """Element c of each lane's four, for each enabled channel c, to the next registers."""
    load_data(b, *access_places(b, sfid, address), data)


@untyped("{pred}lsc_store.{sfid}{caching} {exec}  {address}  {data}", sub=0x04, layout=_STORE)
def lsc_store(
    b: InstBuilder, sfid: Sfid, caching: StoreCaching, address: Address, data: Data
) -> None:
    """Write elements to each lane's address, the low bytes of c32 sizes."""
    store_data(b, *access_places(b, sfid, address), data)


@untyped(
    "{pred}lsc_store_strided.{sfid}{caching} {exec}  {address}  {data}",
    sub=0x05,
    layout=_STORE_STRIDED,
)
def lsc_store_strided(
    b: InstBuilder, sfid: Sfid, caching: StoreCaching, address: StridedAddress, data: Data
) -> None:
    """As `lsc_store`, to base + n * pitch for lane n; without a pitch the lanes are packed.

    The specification adds the immediate offset twice here; it counts once.
    """
    store_data(b, *_strided(b, sfid, address, data.shape), data)


@untyped("{pred}lsc_store_quad.{sfid}{caching} {exec}  {address}  {data}", sub=0x06, layout=_STORE)
def lsc_store_quad(
    b: InstBuilder, sfid: Sfid, caching: StoreCaching, address: Address, data: QuadData
) -> None:
    """Write the enabled channels of each lane's four elements."""
    store_data(b, *access_places(b, sfid, address), data)


@untyped("{pred}lsc_load_status.{sfid}{caching} {exec}  {data}  {address}", sub=0x1B, layout=_LOAD)
def lsc_load_status(
    b: InstBuilder, sfid: Sfid, caching: Fetching, data: Data, address: Address
) -> None:
    """One dword: bit n is set if lane n is active, because eumu has no null pages."""
    b.row_write(data.rows, 0, b.mask_bits(b.mask), b.const(BOOL, 1))


@untyped(
    "{pred}lsc_store_uncompressed.{sfid}{caching} {exec}  {address}  {data}",
    sub=0x1C,
    layout=_STORE,
)
def lsc_store_uncompressed(
    b: InstBuilder, sfid: Sfid, caching: StoreCaching, address: Address, data: Data
) -> None:
    """As `lsc_store`; there is no compressed memory."""
    store_data(b, *access_places(b, sfid, address), data)


# ---- atomics

# Name -> (what it does, in the words of the manual; how); in the order of the sub-opcodes from 8.
ATOMICS: dict[str, tuple[str, Atomic]] = {
    "iinc": ("old + 1", Atomic("inc", sources=())),
    "idec": ("old - 1", Atomic("dec", sources=())),
    "load": ("old", Atomic("load", sources=())),
    "store": ("src1", Atomic("xchg")),
    "iadd": ("old + src1", Atomic("add")),
    "isub": ("old - src1", Atomic("sub")),
    "smin": ("min(old, src1), signed", Atomic("min", "signed")),
    "smax": ("max(old, src1), signed", Atomic("max", "signed")),
    "umin": ("min(old, src1)", Atomic("min")),
    "umax": ("max(old, src1)", Atomic("max")),
    "icas": ("old == src1 ? src2 : old", Atomic("cmpxchg", sources=(1, 0))),
    "fadd": ("old + src1 in floating point", Atomic("add", "float")),
    "fsub": ("old - src1 in floating point", Atomic("add", "float", negate=True)),
    "fmin": ("min(old, src1) in floating point", Atomic("min", "float")),
    "fmax": ("max(old, src1) in floating point", Atomic("max", "float")),
    "fcas": ("old == src1 ? src2 : old in floating point", Atomic("cmpxchg", "float", (1, 0))),
    "and": ("old & src1", Atomic("and")),
    "or": ("old | src1", Atomic("or")),
    "xor": ("old ^ src1", Atomic("xor")),
}
_ATOMIC_BITS = {"d16c32": 16, "d32": 32, "d64": 64}


def swap_data(
    b: InstBuilder,
    atomic: Atomic,
    target: MemoryTarget,
    lanes: Value,
    data: DataRows,
    sources: tuple[Rows, Rows],
) -> None:
    """An atomic operation at the addresses."""
    bits = _ATOMIC_BITS.get(data.shape.size)
    if bits is None or data.shape.elements > 1 or data.shape.transposed:
        raise Unsupported(f"an atomic operation on {data.shape}; d16c32, d32, d64 are defined")
    atomic.run(b, target, lanes, bits, data.rows, sources)


def _declare(sub: int, name: str, meaning: str, atomic: Atomic) -> None:
    @untyped(
        f"{{pred}}lsc_atomic_{name}.{{sfid}}{{caching}} {{exec}}"
        "  {data}  {address}  {src1}  {src2}",
        sub=sub,
        layout=_ATOMIC,
        doc=f"data[i] = old value at each lane's address, replaced by {meaning}.",
    )
    def lsc_atomic(
        b: InstBuilder,
        sfid: Sfid,
        caching: AtomicCaching,
        data: Data,
        address: Address,
        src1: LscSrc,
        src2: LscSrc,
    ) -> None:
        swap_data(b, atomic, *access_places(b, sfid, address), data, (src1, src2))


for _number, (_name, (_meaning, _atomic)) in enumerate(ATOMICS.items(), 0x08):
    _declare(_number, _name, _meaning, _atomic)
