"""State objects as Gen8 has them: the same bytes as Gen9's, but for the fields below.

Each function takes the bytes of a Gen8 object and gives those of the Gen9 object that means the
same.  StateError for values that Gen8 does not have, and for what is not modelled.  Source: the
state tables of Mesa (genxml) for both generations, and how its surface layout fills them (isl).
"""

from __future__ import annotations

from typing import Final

from eumu.device.state.fields import StateError

_SLM_CODES: Final = {0: 0, 1: 3, 2: 4, 4: 5, 8: 6, 16: 7}  # units of 4 KB; Gen9 has logarithms
_BUFFERS: Final = (4, 5)  # SURFTYPE_BUFFER, SURFTYPE_STRBUF
_1D, _3D = 0, 2


def interface_descriptor(data: bytes) -> bytes:
    """INTERFACE_DESCRIPTOR_DATA: the size of shared local memory counts 4 KB."""
    title = "INTERFACE_DESCRIPTOR_DATA"
    words = _words(data)
    if words[6] >> 15 & 1:
        raise _reserved(title, 6, "15")
    code = words[6] >> 16 & 31
    if code not in _SLM_CODES:
        raise StateError(
            f"{title}: Shared Local Memory Size (dword 6 bits 20:16) is {code}, which is reserved"
            f" on Gen8; defined: {', '.join(f'{c} ({4 * c} KB)' for c in _SLM_CODES)}",
            "Shared Local Memory Size",
        )
    words[6] = words[6] & ~(31 << 16) | _SLM_CODES[code] << 16
    return _bytes(words)


def surface(data: bytes) -> bytes:
    """RENDER_SURFACE_STATE: no auxiliary surfaces, no mip maps of lines and volumes."""
    title = "RENDER_SURFACE_STATE"
    words = _words(data)
    kind = words[0] >> 29
    for dword, bits, place in ((0, 1 << 27, "27"), (5, 3 << 18, "19:18")):
        if words[dword] & bits:
            raise _reserved(title, dword, place)
    if kind not in _BUFFERS and words[6] & 7:
        raise StateError(
            f"{title}: Auxiliary Surface Mode (dword 6 bits 2:0) is {words[6] & 7}, which is not"
            " modelled on Gen8",
            "Auxiliary Surface Mode",
        )
    if kind in (_1D, _3D) and words[5] & 15:
        raise StateError(
            f"{title}: MIP Count LOD (dword 5 bits 3:0) is {words[5] & 15}; where Gen8 has the"
            " smaller levels of lines and volumes is not modelled",
            "MIP Count LOD",
        )
    if kind == _3D:
        words[1] = words[1] & ~0x7FFF | _slice_rows(words) >> 2
    words[7] &= (1 << 28) - 1  # clear colours of a bit each; Gen9's are behind
    words[10:] = [0] * 6 if kind in _BUFFERS else [words[10] & ~0x3FF, *words[11:12], 0, 0, 0, 0]
    return _bytes(words)


def sampler(data: bytes) -> bytes:
    """SAMPLER_STATE: a first level instead of a quality, and no reduction."""
    title = "SAMPLER_STATE"
    words = _words(data)
    if words[0] >> 22 & 31:
        raise StateError(
            f"{title}: Base Mip Level (dword 0 bits 26:22) is {(words[0] >> 22 & 31) / 2}, which is"
            " not modelled",
            "Base Mip Level",
        )
    for bits, place in ((3 << 22, "23:22"), (1 << 9, "9")):
        if words[3] & bits:
            raise _reserved(title, 3, place)
    return data


def _slice_rows(words: list[int]) -> int:
    """Rows from slice to slice of a volume of one level: its height, aligned.

    Gen8 has no Surface QPitch for volumes; Gen9 has.
    """
    height, align = (words[2] >> 16 & 0x3FFF) + 1, 2 << (words[0] >> 16 & 3)
    return -(-height // align) * align


def _reserved(title: str, dword: int, place: str) -> StateError:
    return StateError(f"{title}: bits {place} of dword {dword} are reserved on Gen8", "reserved")


def _words(data: bytes) -> list[int]:
    return [int.from_bytes(data[k : k + 4], "little") for k in range(0, len(data), 4)]


def _bytes(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)
