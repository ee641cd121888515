"""Attributes of kernels and variables: a name, and bytes that the name gives a meaning."""

from __future__ import annotations

from eumu.isa.kinds.bytes import EncodeError

Value = int | str | None

TARGETS = ("cm", "3d")
STRINGS = frozenset({"AsmName", "OutputAsmPath", "LTO_InvokeOptTarget"})
# Numbers of four bytes; older files have some of them in one.
NUMBERS = frozenset(
    {
        *("SimdSize", "SLMSize", "PerThreadInputSize", "CrossThreadInputSize", "SpillMemOffset"),
        *("ArgSize", "RetValSize", "NBarrierCnt", "SepSpillPvtSS", "Scope", "SurfaceUsage"),
    }
)
_NUMBER_SIZES = (1, 2, 4, 8)


def pack_value(name: str, value: Value) -> bytes:
    """The bytes of an attribute; a flag has none."""
    if name == "Target" and isinstance(value, str):
        if value not in TARGETS:
            raise EncodeError(f"Target '{value}' has no code; {' and '.join(TARGETS)} have")
        return bytes([TARGETS.index(value)])
    if value is None:
        return b""
    if isinstance(value, str):
        data = encode_string(value)
        if len(data) > 0xFF:
            raise EncodeError(f"the value of '{name}' has {len(data)} bytes; 255 is the most")
        return data
    if not -(1 << 31) <= value < 1 << 32:
        raise EncodeError(f"the value {value} of '{name}' does not fit the object file's 32 bits")
    return (value & 0xFFFFFFFF).to_bytes(4, "little")


def unpack_value(name: str, data: bytes) -> Value:
    """The value of an attribute; names that are not known are told by their bytes."""
    if name == "Target" and len(data) == 1 and data[0] < len(TARGETS):
        return TARGETS[data[0]]
    if name in STRINGS:
        return decode_string(data)
    if not data:
        return None
    text = data.isascii() and data.decode("latin-1").isprintable()
    if len(data) in _NUMBER_SIZES and (name in NUMBERS or not text):
        return int.from_bytes(data, "little")
    return decode_string(data)


def encode_string(text: str) -> bytes:
    """The bytes of a string of the file, which is not said to have an encoding."""
    return text.encode("utf-8", "surrogateescape")


def decode_string(data: bytes) -> str:
    """A string of the file: UTF-8, or a character per byte where it is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
