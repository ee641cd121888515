"""The manual's examples of vISA instructions as kernels, with the variables that they name."""

from __future__ import annotations

from eumu import text
from eumu.fuzz.vocabulary import is_vector, operands, signatures
from eumu.isa.kinds.raw import SurfaceKind
from eumu.isa.limits import By
from eumu.isa.spec import Opcode
from eumu.manual import example
from eumu.platforms import platform
from eumu.program import Kernel
from eumu.types import BOOL, Kind, Type

# What examples name besides the operands themselves.
GENERAL = {"base", "x", "y", "u", "v", "barrier0", "lod0"}
RESERVED = {"barrier", "lod", "plane"}  # operands that are called like instructions
OTHERS = [
    ".decl P1 v_type=P num_elts=32",
    ".decl A0 v_type=A num_elts=16",
    ".decl T6 v_type=T num_elts=1",
    ".decl S0 v_type=S num_elts=1",
]


def kernel(opcode: Opcode, line: str) -> str:
    """A kernel with one instruction and the declarations that it needs."""
    surfaces = {f.name for f in opcode.fields if isinstance(f.kind, SurfaceKind)}
    general = (GENERAL | {f.name for f in opcode.fields}) - surfaces - RESERVED
    return "\n".join(
        [
            ".version 4.1",
            '.kernel "k"',
            *(f".decl {name} v_type=T num_elts=1" for name in sorted(surfaces)),
            *(f".decl {name} v_type=G type=ud num_elts=512" for name in sorted(general)),
            *OTHERS,
            line,
            *(f"{name}:" for name in ("L0", "L1", "target")),
            "ret (M1, 1)",
            "",
        ]
    )


def types(opcode: Opcode, here: str) -> dict[str, str]:
    """Types that operands may have, by name."""
    if is_vector(opcode):
        first = min(signatures(opcode, here), key=lambda s: sum(map(_is_odd, s.types)))
        pairs = zip(operands(opcode), first.types, strict=True)
        return {f.name: t.name for f, t in pairs if not _is_odd(t)}
    rows = [r for r in opcode.types if here in r.platforms and r.by in (By.BOTH, By.DOCUMENTS)]
    found = {}
    for field in opcode.fields if rows else ():
        allowed = rows[0].allowed(field.name, is_dst=field.name == "dst") - {BOOL}
        floats_first = sorted(allowed, key=lambda t: (t.name != "f", t.name))
        if floats_first:
            found[field.name] = floats_first[0].name
    return found


def _is_odd(type: Type) -> bool:
    """No variable has it."""
    return type is BOOL or type.kind is Kind.PACKED


def running(opcode: Opcode, here: str) -> list[Kernel]:
    """A program of the example: types of operands go together, and what it calls is there."""
    lines = kernel(opcode, example(opcode)).splitlines()
    for field, type in types(opcode, here).items():
        for word in (field, f"{field}0"):
            was = f".decl {word} v_type=G type=ud "
            lines = [line.replace(was, was.replace("=ud", f"={type}")) for line in lines]
    lines = [line.replace("num_elts=512", "num_elts=256") for line in lines]
    for called in ("function", "symbol"):
        lines += [f'.global_function "{called}"', ".kernel_attr SimdSize=32", "fret (M1, 32)"]
    grf = platform(here).grf_bytes
    return list(text.parse("\n".join(lines) + "\n", "example", grf).kernels)
