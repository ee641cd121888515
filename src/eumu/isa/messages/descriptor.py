"""What a message descriptor says: shared function, message, and every field by name.

The tables are data.  A row knows the fields of one message; those that all messages of a shared
function have stand with the function.  Source: public driver headers and the compiler's output,
measured against what Intel's assembler decodes; where that one shows messages or names of other
generations, the driver's Gen9 headers are followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final

from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class FieldRow:
    """Bits `high` to `low` of the descriptor (of the extended one if so) and what values mean."""

    name: str
    high: int
    low: int
    meanings: Mapping[int, str] = field(default_factory=dict)
    extended: bool = False

    def value(self, ex_desc: int, desc: int) -> int:
        word = ex_desc if self.extended else desc
        return word >> self.low & (1 << self.high - self.low + 1) - 1


@dataclass(frozen=True, slots=True)
class MessageField:
    """A field's value; `meaning` is empty for plain numbers."""

    row: FieldRow
    value: int

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def meaning(self) -> str:
        return self.row.meanings.get(self.value, "")

    def __str__(self) -> str:
        return f"{self.name} {self.meaning or self.value}"


@dataclass(frozen=True, slots=True)
class Message:
    """A decoded descriptor; `is_known` if this shared function has such a message."""

    sfid: int
    function: str
    name: str
    fields: tuple[MessageField, ...]
    is_known: bool

    def __str__(self) -> str:
        return f"{self.function}: {self.name}"

    def get(self, name: str) -> int | None:
        """The value of a field, None if this message has no such field."""
        return next((f.value for f in self.fields if f.name == name), None)

    def bits(self, *, extended: bool = False) -> int:
        """The bits of the descriptor, or of the extended one, that are in a field."""
        mask = 0
        for row in (f.row for f in self.fields):
            if row.extended is extended:
                mask |= (1 << row.high + 1) - (1 << row.low)
        return mask


@dataclass(frozen=True, slots=True)
class _Kind:
    """A message of a shared function; Gen9 does not have those of `later` generations."""

    name: str
    fields: tuple[FieldRow, ...] = ()
    later: bool = False


@dataclass(frozen=True, slots=True)
class _Function:
    """A shared function: where its messages are told apart, and what all of them have."""

    name: str
    selector: FieldRow | None = None
    kinds: Mapping[int, _Kind] = field(default_factory=dict)
    shared: tuple[FieldRow, ...] = ()


_FLAG: Final = {0: "no", 1: "yes"}
_SFID: Final = FieldRow("shared function", 3, 0, extended=True)
_EOT: Final = FieldRow("end of thread", 5, 5, _FLAG, extended=True)
_XLEN: Final = FieldRow("extended message length", 10, 6, extended=True)
_MLEN: Final = FieldRow("message length", 28, 25)
_RLEN: Final = FieldRow("response length", 24, 20)
_HEADER: Final = FieldRow("header", 19, 19, _FLAG)
_COMMON: Final = (_SFID, _EOT, _XLEN, _MLEN, _RLEN)

_SURFACES: Final = {
    252: "bindless",
    253: "stateless, not coherent",
    254: "shared local memory",
    255: "stateless",
}
_BTI: Final = FieldRow("binding table index", 7, 0, _SURFACES)
_TYPE: Final = FieldRow("message type", 18, 14)
_INVALIDATE: Final = FieldRow("invalidate after read", 13, 13, _FLAG)
_OWORDS: Final = FieldRow(
    "block size", 10, 8, {0: "1 oword low", 1: "1 oword high", 2: "2", 3: "4", 4: "8"}
)
_DWORD_COUNT: Final = FieldRow("dwords", 9, 8, {2: "8", 3: "16"})
_BYTE_SIZE: Final = FieldRow("data size", 11, 10, {0: "byte", 1: "word", 2: "dword"})
_SIMD_1: Final = FieldRow("SIMD mode", 8, 8, {0: "SIMD8", 1: "SIMD16"})
_SIMD_2: Final = FieldRow("SIMD mode", 13, 12, {0: "SIMD4x2", 1: "SIMD16", 2: "SIMD8"})
_SLOTS_2: Final = FieldRow("slot group", 13, 12, {0: "SIMD4x2", 1: "low 8", 2: "high 8"})
_OFF: Final = FieldRow("channels off", 11, 8)
_RETURN: Final = FieldRow("return data", 13, 13, _FLAG)
_SIMD_REVERSED: Final = FieldRow("SIMD mode", 12, 12, {0: "SIMD16", 1: "SIMD8"})
_INTEGER_OPS: Final = dict(
    enumerate(
        (
            *("cmpwr64", "and", "or", "xor", "mov", "inc", "dec", "add", "sub", "revsub"),
            *("imax", "imin", "umax", "umin", "cmpwr", "predec"),
        )
    )
)
_ATOMIC: Final = FieldRow("operation", 11, 8, _INTEGER_OPS)
_FLOAT_ATOMIC: Final = FieldRow("operation", 10, 8, {1: "fmax", 2: "fmin", 3: "fcmpwr", 4: "fadd"})

_UNTYPED: Final = (_HEADER, _SIMD_2, _OFF, _BTI)
_TYPED: Final = (_HEADER, _SLOTS_2, _OFF, _BTI)
_TYPED_ATOMIC: Final = (
    *(_HEADER, _RETURN),
    FieldRow("slot group", 12, 12, {0: "low 8", 1: "high 8"}),
    *(_ATOMIC, _BTI),
)
_COUNTER: Final = (_HEADER, _RETURN, _SIMD_REVERSED, _ATOMIC, _BTI)
_FLAT_UNTYPED: Final = (_SIMD_2, _OFF, _BTI)
_FLAT_SCATTERED: Final = (
    _INVALIDATE,
    FieldRow("SIMD mode", 12, 12, {0: "SIMD8", 1: "SIMD16"}),
    FieldRow("elements", 11, 10, {0: "1", 1: "2", 2: "4", 3: "8"}),
    FieldRow("data size", 9, 8, {0: "byte", 1: "dword", 2: "qword"}),
    _BTI,
)
_FLAT_BLOCK: Final = (
    *(_HEADER, _INVALIDATE),
    FieldRow("block", 12, 11, {0: "aligned owords", 1: "owords", 2: "2 x oword", 3: "hwords"}),
    *(_OWORDS, _BTI),
)
_FLAT_ATOMIC: Final = (
    _RETURN,
    FieldRow("data size", 12, 12, {0: "dword", 1: "qword"}),
    *(_ATOMIC, _BTI),
)
_MEDIA_BLOCK: Final = (
    _HEADER,
    FieldRow("vertical line stride override", 10, 8),
    _BTI,
)

_DATA_CACHE_1: Final = {
    0x01: _Kind("untyped surface read", _UNTYPED),
    0x02: _Kind("untyped atomic", _COUNTER),
    0x03: _Kind("untyped atomic SIMD4x2", (_HEADER, _RETURN, _ATOMIC, _BTI)),
    0x04: _Kind("media block read", _MEDIA_BLOCK),
    0x05: _Kind("typed surface read", _TYPED),
    0x06: _Kind("typed atomic", _TYPED_ATOMIC),
    0x07: _Kind("typed atomic SIMD4x2", _TYPED_ATOMIC),
    0x09: _Kind("untyped surface write", _UNTYPED),
    0x0A: _Kind("media block write", _MEDIA_BLOCK),
    0x0B: _Kind("atomic counter", _COUNTER),
    0x0C: _Kind("atomic counter SIMD4x2", _COUNTER),
    0x0D: _Kind("typed surface write", _TYPED),
    0x0E: _Kind("typed surface read with status", _TYPED, later=True),
    0x10: _Kind("A64 scattered read", _FLAT_SCATTERED),
    0x11: _Kind("A64 untyped surface read", _FLAT_UNTYPED),
    0x12: _Kind("A64 untyped atomic", _FLAT_ATOMIC),
    0x14: _Kind("A64 block read", _FLAT_BLOCK),
    0x15: _Kind("A64 block write", _FLAT_BLOCK),
    0x19: _Kind("A64 untyped surface write", _FLAT_UNTYPED),
    0x1A: _Kind("A64 scattered write", _FLAT_SCATTERED),
    0x1B: _Kind("untyped float atomic", (_HEADER, _RETURN, _SIMD_REVERSED, _FLOAT_ATOMIC, _BTI)),
    0x1D: _Kind("A64 untyped float atomic", (_RETURN, _FLOAT_ATOMIC, _BTI)),
}

_OWORD_BLOCK: Final = (_HEADER, _OWORDS, _BTI)
_DWORD_SCATTERED: Final = (_HEADER, _INVALIDATE, _DWORD_COUNT, _BTI)
_BYTE_SCATTERED: Final = (_HEADER, _INVALIDATE, _BYTE_SIZE, _SIMD_1, _BTI)
_SCRATCH: Final = (
    _HEADER,
    FieldRow("channel mode", 16, 16, {0: "oword", 1: "dword"}),
    FieldRow("invalidate after read", 15, 15, _FLAG),
    FieldRow("hwords", 13, 12, {0: "1", 1: "2", 2: "4", 3: "8"}),
    FieldRow("hword offset", 11, 0),
)
_DATA_CACHE_0: Final = {
    0x00: _Kind("oword block read", _OWORD_BLOCK),
    0x01: _Kind("unaligned oword block read", _OWORD_BLOCK),
    0x02: _Kind("oword dual block read", (_HEADER, _BTI)),
    0x03: _Kind("dword scattered read", _DWORD_SCATTERED),
    0x04: _Kind("byte scattered read", _BYTE_SCATTERED),
    0x07: _Kind(
        "memory fence",
        (_HEADER, FieldRow("commit", 13, 13, _FLAG), FieldRow("caches to flush", 12, 8), _BTI),
    ),
    0x08: _Kind("oword block write", _OWORD_BLOCK),
    0x09: _Kind("aligned hword block write", _OWORD_BLOCK, later=True),
    0x0A: _Kind("oword dual block write", (_HEADER, _BTI)),
    0x0B: _Kind("dword scattered write", _DWORD_SCATTERED),
    0x0C: _Kind("byte scattered write", _BYTE_SCATTERED),
    **dict.fromkeys(range(0x10, 0x18, 2), _Kind("scratch block read", _SCRATCH)),
    **dict.fromkeys(range(0x18, 0x20, 2), _Kind("scratch block write", _SCRATCH)),
}
_READ_ONLY_BLOCK: Final = (_INVALIDATE, _OWORDS)
_READ_ONLY: Final = {
    0x00: _Kind("oword block read", _READ_ONLY_BLOCK),
    0x01: _Kind("unaligned oword block read", _READ_ONLY_BLOCK),
    0x03: _Kind("dword scattered read", (_INVALIDATE, _DWORD_COUNT)),
}
_SECTORS: Final = FieldRow("sector update", 11, 8)
_CONSTANT_CACHE: Final = {
    **_READ_ONLY,
    0x09: _Kind("uncompressed untyped surface write", (_SIMD_2, _OFF), later=True),
    0x0C: _Kind("typed surface compression update", (_SLOTS_2, _SECTORS), later=True),
    0x0D: _Kind("uncompressed typed surface write", (_SLOTS_2, _OFF), later=True),
    0x17: _Kind("page compression update", (FieldRow("page update", 9, 8),), later=True),
    0x18: _Kind("A64 surface compression update", (_SIMD_2, _SECTORS), later=True),
    0x19: _Kind("uncompressed A64 surface write", (_SIMD_2, _OFF), later=True),
}

_SAMPLES: Final = (
    *("sample", "sample_b", "sample_l", "sample_c", "sample_d", "sample_b_c", "sample_l_c", "ld"),
    *("gather4", "lod", "resinfo", "sampleinfo", "sample+killpix", "", "", ""),
    *("gather4_c", "gather4_po", "gather4_po_c", "", "sample_d_c", "", "sample_min", "sample_max"),
    *("sample_lz", "sample_c_lz", "ld_lz", "", "ld2dms_w", "ld_mcs", "ld2dms", "ld2dss"),
)
_SAMPLER: Final = {k: _Kind(name) for k, name in enumerate(_SAMPLES) if name}
# In SIMD mode 3 numbers are those of other messages.
_SIMD_64: Final = 3
_WITHOUT_LANES: Final = {
    0xB: _Kind("sample_8x8"),
    0xC: _Kind("sample_unorm"),
    0x1F: _Kind("cache flush"),
}
_SAMPLER_FIELDS: Final = (
    _HEADER,
    FieldRow("return format", 30, 30, {0: "32-bit", 1: "16-bit"}),
    FieldRow("SIMD mode [2]", 29, 29),
    FieldRow("SIMD mode", 18, 17, {0: "SIMD8D/4x2", 1: "SIMD8", 2: "SIMD16", 3: "SIMD32/64"}),
    FieldRow("sampler index", 11, 8),
    _BTI,
)

_ESTIMATION_TYPE: Final = FieldRow("message type", 14, 13)
_STREAMS: Final = (
    FieldRow("stream in", 16, 16, _FLAG),
    FieldRow("stream out", 15, 15, _FLAG),
)

_RENDER_FIELDS: Final = (
    FieldRow("data size", 30, 30, {0: "32-bit", 1: "16-bit"}),
    FieldRow("header", 19, 19, _FLAG),
    FieldRow("per coarse pixel", 18, 18, _FLAG),
    FieldRow("per sample", 13, 13, _FLAG),
    FieldRow("last render target", 12, 12, _FLAG),
    FieldRow("slot group", 11, 11, {0: "low", 1: "high"}),
    FieldRow(
        "control",
        10,
        8,
        {
            0: "SIMD16",
            1: "SIMD16 replicated",
            2: "dual low",
            3: "dual high",
            4: "SIMD8",
            5: "image",
        },
    ),
    _BTI,
)
_GATEWAY: Final = dict(
    enumerate(
        map(
            _Kind,
            (
                *("open gateway", "close gateway", "forward", "get timestamp", "barrier"),
                *("update gateway state", "MMIO read or write"),
            ),
        )
    )
)
_URB: Final = {
    0: _Kind("hword write"),
    1: _Kind("oword write"),
    2: _Kind("hword read"),
    3: _Kind("oword read"),
    6: _Kind("atomic add"),
    7: _Kind("SIMD8 write"),
    8: _Kind("SIMD8 read"),
}
_URB_FIELDS: Final = (
    _HEADER,
    FieldRow("global offset", 14, 4),
    FieldRow("channel mask", 15, 15, _FLAG),
    FieldRow("offset of each slot", 17, 17, _FLAG),
)
_SPAWNER_FIELDS: Final = (
    FieldRow("requester", 1, 1, {0: "root thread", 1: "child thread"}),
    FieldRow("resource", 4, 4, {0: "dereference URB", 1: "do not dereference URB"}),
)

_SAMPLER_ID: Final = 2
_FUNCTIONS: Final = {
    _SAMPLER_ID: _Function("sampler", FieldRow("message type", 16, 12), _SAMPLER, _SAMPLER_FIELDS),
    3: _Function(
        "message gateway",
        FieldRow("function", 2, 0),
        _GATEWAY,
        (_HEADER, FieldRow("notify", 16, 15), FieldRow("acknowledgement", 14, 14, _FLAG)),
    ),
    4: _Function("sampler cache data port", _TYPE, _READ_ONLY, (_HEADER, _BTI)),
    5: _Function(
        "render cache data port",
        FieldRow("message type", 17, 14),
        {12: _Kind("render target write"), 13: _Kind("render target read")},
        _RENDER_FIELDS,
    ),
    6: _Function("URB", FieldRow("operation", 3, 0), _URB, _URB_FIELDS),
    7: _Function(
        "thread spawner",
        FieldRow("operation", 0, 0),
        {0: _Kind("dereference resource"), 1: _Kind("spawn thread")},
        _SPAWNER_FIELDS,
    ),
    8: _Function(
        "video motion estimation",
        _ESTIMATION_TYPE,
        {0: _Kind("distortion mesh"), 2: _Kind("integer search", _STREAMS)},
        (_HEADER, _BTI),
    ),
    9: _Function("constant cache data port", _TYPE, _CONSTANT_CACHE, (_HEADER, _BTI)),
    10: _Function("data cache data port 0", _TYPE, _DATA_CACHE_0),
    11: _Function("pixel interpolator"),
    12: _Function("data cache data port 1", _TYPE, _DATA_CACHE_1),
    13: _Function(
        "check and refinement engine",
        _ESTIMATION_TYPE,
        {1: _Kind("skip and intra check"), 3: _Kind("fractional and bidirectional refinement")},
        (_HEADER, _BTI),
    ),
}


def describe(ex_desc: int, desc: int) -> Message:
    """The message that a pair of immediate descriptors asks for; never fails."""
    sfid = _SFID.value(ex_desc, desc)
    function = _FUNCTIONS.get(sfid)
    if function is None:
        fields = tuple(_values(_COMMON, ex_desc, desc))
        return Message(sfid, f"shared function {sfid}", "no such function", fields, False)
    kind, rows = None, list(_COMMON)
    name = "a message"
    if function.selector is not None:
        number = function.selector.value(ex_desc, desc)
        kind = function.kinds.get(number)
        if sfid == _SAMPLER_ID and desc >> 17 & 3 == _SIMD_64:
            kind = _WITHOUT_LANES.get(number, kind)
        rows.append(function.selector)
        name = kind.name if kind else f"unknown message {number:#x}"
        name += " (later generations)" if kind and kind.later else ""
    rows += function.shared
    rows += kind.fields if kind else ()
    if _EOT.value(ex_desc, desc):
        name += ", end of thread"
    is_known = function.selector is None or (kind is not None and not kind.later)
    return Message(sfid, function.name, name, tuple(_values(rows, ex_desc, desc)), is_known)


def _values(rows: Iterable[FieldRow], ex_desc: int, desc: int) -> Iterator[MessageField]:
    return (MessageField(row, row.value(ex_desc, desc)) for row in rows)
