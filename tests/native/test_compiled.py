"""The native code of all compiled kernels, alone and against Intel's assembler."""

from __future__ import annotations

from pathlib import Path

import pytest

from eumu import native
from eumu.native.words import encode_word
from native.samples import iga64, kernel_files, native_sections, plain, run_iga64

APL, SKL = kernel_files("apl"), kernel_files("skl")
# Bits without a meaning that the compiler sets: BranchCtrl of while, regions of call and ret, the
# subregister under an immediate.  Assembly text does not show them.
WITH_RESIDUE = {"while", "call", "ret", "mov"}


def test_there_are_kernels() -> None:
    assert len(APL) > 20 and len(APL) == len(SKL)


@pytest.mark.parametrize("path", APL, ids=[p.stem for p in APL])
def test_decode_print_parse_encode(path: Path) -> None:
    _round_trip(path, "bxt")


@pytest.mark.slow
@pytest.mark.parametrize("path", SKL, ids=[p.stem for p in SKL])
def test_decode_print_parse_encode_skl(path: Path) -> None:
    _round_trip(path, "skl")


def _round_trip(path: Path, platform: str) -> None:
    for name, data in native_sections(path):
        program = native.decode(data, platform, name)
        assert native.encode(program) == data
        again = native.parse(native.print_program(program), name, platform)
        assert len(again.instructions) == len(program.instructions)
        for read, parsed in zip(program.instructions, again.instructions, strict=True):
            assert read.operands == parsed.operands
            assert encode_word(read) ^ read.residue == encode_word(parsed) ^ parsed.residue
            assert not read.residue or read.opcode.mnemonic in WITH_RESIDUE


@pytest.mark.slow
@pytest.mark.parametrize("path", APL + SKL, ids=[f"{p.parent.name}-{p.stem}" for p in APL + SKL])
def test_intels_assembler_agrees(path: Path, tmp_path: Path) -> None:
    iga64()
    for name, data in native_sections(path):
        program = native.decode(data, name=name)
        text = native.print_program(program)
        assert plain(text) == plain(run_iga64("-d", data, tmp_path).decode())
        assembled = native.decode(run_iga64("-a", text.encode(), tmp_path))
        for ours, theirs in zip(
            native.parse(text).instructions, assembled.instructions, strict=True
        ):
            # The assembler takes :d for the return address, whatever is written.
            assert ours.opcode.mnemonic in ("call", "ret") or encode_word(ours) == encode_word(
                theirs
            )
