"""Rules on motion estimation: how large its registers are.

Source: vISA pages "VME_IME", "VME_SIC", "VME_FBR", "VME_IDM".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eumu.isa.kinds.media import SearchModes, WordKind
from eumu.isa.limits import By
from eumu.isa.spec import Field, Opcode
from eumu.verify.rules import Finding, On, rule
from eumu.verify.subject import Use

# Bytes of each operand.
SIZES: Final[dict[str, dict[str, int]]] = {
    "vme_ime": {"uni": 128, "ref0": 4, "ref1": 4, "costs": 32},
    "vme_sic": {"uni": 128, "sic": 128, "dst": 224},
    "vme_fbr": {"uni": 128, "fbr": 128, "dst": 224},
    "vme_idm": {"uni": 128, "idm": 32, "dst": 512},
}


def _is_estimation(opcode: Opcode) -> bool:
    return opcode.mnemonic in SIZES


def _sizes(use: Use) -> dict[str, int]:
    sizes = dict(SIZES[use.opcode.mnemonic])
    if use.opcode.mnemonic == "vme_ime":
        modes: SearchModes = use.operand("modes")
        streams, two = bool(modes.stream), modes.search == 3
        sizes["ime"] = 64 if not streams else 192 if two else 128
        sizes["dst"] = 224 if not streams else 352 if two else 288
    return sizes


@rule(
    "vme-size",
    "The payload and the answer of the message have these sizes.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=_is_estimation,
)
def vme_size(use: Use) -> Iterator[Finding]:
    for name, size in _sizes(use).items():
        raw = use.operand(name)
        if raw.variable is None:
            continue
        owner, offset = raw.variable.origin()
        room = use.subject.size(owner) - offset - raw.offset
        if room < size:
            yield Finding(f"{name} has {max(0, room)} bytes; {size} are needed", name)


@rule(
    "front-end-pixels",
    "Intel's front end accepts two of the four sizes of a block.",
    on=On.OPERAND,
    by=By.FRONT_END,
    kinds=(WordKind,),
)
def front_end_pixels(use: Use, field: Field, operand: str) -> Iterator[Finding]:
    if operand in ("AVS_8x4", "AVS_4x4"):
        yield Finding(f"{operand} is not read; AVS_16x4 and AVS_16x8 are", field.name)
