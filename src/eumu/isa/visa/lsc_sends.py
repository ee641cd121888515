"""LSC messages by descriptor: the same accesses as the LSC instructions.

The payload has the addresses of all lanes, then the data; a split send has the data in its second
stretch.  The descriptor has the operation in bits 5:0, the size of addresses in 8:7 and of data in
11:9, the elements in 14:12 (or enabled channels in 15:12), the order in 15 and the address model in
30:29; the extended one has a binding-table index in 31:24 or the offset of a surface's state.
Source: vISA page "LSC_UNTYPED" for the operations, Intel's assembler for the fields.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa.kinds import InstBuilder, Rows
from eumu.isa.kinds.lsc import VECTORS, Addresses, DataRows
from eumu.isa.kinds.operands import DataShape
from eumu.isa.visa.lsc import ATOMICS, ELEMENTS, access_places, load_data, store_data, swap_data
from eumu.records import dataclass
from eumu.types import BOOL, UD

SLM, TGM, UGM, UGML = 14, 13, 15, 1
LSC_PORTS: Final = {SLM: "slm", TGM: "tgm", UGM: "ugm", UGML: "ugml"}

_MODELS: Final = ("flat", "bss", "ss", "bti")
_ADDRESS_BITS: Final = {1: 16, 2: 32, 3: 64}
_DATA: Final = ("d8", "d16", "d32", "d64", "d8c32", "d16c32", "d16c32h")
_NAMES: Final = {
    0x00: "load",
    0x02: "load_quad",
    0x03: "load_block2d",
    0x04: "store",
    0x06: "store_quad",
    0x07: "store_block2d",
    0x1B: "load_status",
    0x1C: "store_uncompressed",
    0x1D: "ccs_update",
    0x1E: "read_state_info",
    0x1F: "fence",
    **{number: f"atomic_{name}" for number, name in enumerate(ATOMICS, 0x08)},
}


def operation(desc: int) -> str:
    """The name of what an LSC message does."""
    return _NAMES.get(desc & 0x3F, f"operation {desc & 0x3F:#x}")


@dataclass(frozen=True, slots=True)
class LscMessage:
    """A message to one of the LSC shared functions; `second` is the stretch of a split send."""

    sfid: int
    ex_desc: Value
    ex_known: int | None
    desc: int
    first: Rows
    second: Rows | None
    dst: Rows

    def __str__(self) -> str:
        return f"lsc_{self.name}.{LSC_PORTS[self.sfid]}, descriptor {self.desc:#x}"

    @property
    def name(self) -> str:
        return operation(self.desc)

    @property
    def model(self) -> str:
        return _MODELS[self.desc >> 29 & 3]

    def unsupported(self, why: str) -> Unsupported:
        return Unsupported(f"the message '{self}': {why}")

    def shape(self) -> DataShape:
        """What the descriptor says of the data."""
        size = self.desc >> 9 & 7
        if size >= len(_DATA):
            raise self.unsupported("its data size is reserved")
        if self.name.endswith("quad"):
            channels = tuple(c for c in range(4) if self.desc >> 12 + c & 1)
            return DataShape(_DATA[size], channels=channels)
        return DataShape(_DATA[size], VECTORS[self.desc >> 12 & 7], bool(self.desc >> 15 & 1))

    def addresses(self, b: InstBuilder) -> Addresses:
        """Addresses from the first register on."""
        bits = _ADDRESS_BITS.get(self.desc >> 7 & 3)
        if bits is None:
            raise self.unsupported("its address size is reserved")
        return Addresses(self.model, self._surface(b), self.first, bits, 0, 1, None)

    def _surface(self, b: InstBuilder) -> Value | None:
        if self.model == "flat":
            return None
        if self.model != "bti":
            return b.and_(b.convert(self.ex_desc, UD), b.const(UD, ~0x3F))
        if self.ex_known is None:
            return b.shr(b.convert(self.ex_desc, UD), b.const(UD, 24))
        return b.const(UD, self.ex_known >> 24)

    def data(self, b: InstBuilder, addresses: Addresses, place: int) -> Rows:
        """The registers of the `place`-th operand behind the addresses."""
        shape = self.shape()
        width = b.channel(ELEMENTS[shape.size].slot.size)
        if self.second is not None:
            return _from(self.second, place * width)
        return _from(self.first, b.channel(addresses.size // 8) + place * width)


def _from(rows: Rows, offset: int) -> Rows:
    return replace(rows, offset=rows.offset + offset)


def lsc_send(b: InstBuilder, message: LscMessage) -> None:
    """What the message does; `Unsupported` says which message it is."""
    name, port = message.name, LSC_PORTS[message.sfid]
    if name == "fence":
        b.fence("local" if port == "slm" else "global")
        return
    if port == "tgm":
        raise message.unsupported("typed messages are not modelled")
    if name in ("load_block2d", "store_block2d"):
        raise message.unsupported("the shape of its block is known at run time only")
    if name == "load_status":
        b.row_write(message.dst, 0, b.mask_bits(b.mask), b.const(BOOL, 1))
        return
    addresses = message.addresses(b)
    if name in ("load", "load_quad"):
        shape = message.shape()
        load_data(b, *access_places(b, port, addresses), DataRows(message.dst, shape))
    elif name in ("store", "store_quad", "store_uncompressed"):
        data = DataRows(message.data(b, addresses, 0), message.shape())
        store_data(b, *access_places(b, port, addresses), data)
    elif name.startswith("atomic_"):
        _, atomic = ATOMICS[name.removeprefix("atomic_")]
        sources = message.data(b, addresses, 0), message.data(b, addresses, 1)
        rows = DataRows(message.dst, message.shape())
        swap_data(b, atomic, *access_places(b, port, addresses), rows, sources)
    else:
        raise message.unsupported("it is not modelled")
