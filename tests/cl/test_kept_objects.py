"""Objects and linked programs are kept as whole programs are, and made alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from eumu import platforms
from eumu.cl.builds import Made, build
from eumu.cl.parts import LinkerInput
from eumu.cl.protocol import Form, Wanted
from kernels import build as kernels

DATA_ELF = kernels.BIN / "skl" / "arithmetic_char.bin"

# Appends a line for each run to a file; what it makes is SPIR-V, a file of parts or an ELF.
_COMPILER = """#!/bin/sh
case "$1 $2" in
"query "*) printf '%s' "$VERSION" > OCL_DRIVER_VERSION; exit 0 ;;
*" --help") exit 0 ;;
esac
echo "$1 $IGC_ShaderDumpEnable" >> "{folder}/log"
/bin/mkdir -p out
case "$*" in
"link "*) echo parts > whole.bc ;;
*-spv_only*) printf '\\003\\002\\043\\007' > out/program.spv ;;
*) /bin/cp "{elf}" out/program.bin ;;
esac
"""
_SOURCE = b"kernel void f(global int *p) { p[0] = 1; }"


class Compiler:
    """A compiler that tells its runs."""

    def __init__(self, folder: Path) -> None:
        self.log, self.path = folder / "log", folder / "ocloc"
        self.path.write_text(_COMPILER.format(folder=folder, elf=DATA_ELF))
        self.path.chmod(0o755)

    @property
    def runs(self) -> list[str]:
        """What it was asked to do, and which of its variables it has seen."""
        return [line.strip() for line in self.log.read_text().splitlines()]


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """The only one, with a cache directory of its own."""
    made = Compiler(tmp_path)
    monkeypatch.setenv("EUMU_OCLOC", str(made.path))
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path / "cache"))
    return made


def _object(source: bytes, options: str = "", *headers: tuple[str, bytes]) -> Made:
    parts = [("", source), *headers]
    return build(Wanted.OBJECT, Form.SOURCE, options, parts, platforms.platform("skl"))


def test_an_object_is_compiled_once(compiler: Compiler) -> None:
    first = _object(_SOURCE)
    assert first == _object(_SOURCE)
    assert len(compiler.runs) == 1
    _object(_SOURCE + b"\n")
    _object(_SOURCE, "-DX=1")
    assert len(compiler.runs) == 3


@pytest.mark.parametrize(
    ("source", "headers"),
    [
        (b'#include "x.h"\n', ()),
        (b"", (("x.h", b"int x;"),)),
        (b"constant char *t = __TIME__;", ()),
    ],
)
def test_an_object_of_files_or_the_time_is_compiled_again(
    compiler: Compiler, source: bytes, headers: tuple[tuple[str, bytes], ...]
) -> None:
    for _ in range(2):
        _object(source + _SOURCE, "", *headers)
    assert compiler.runs == ["compile", "compile"]
    assert not list((compiler.log.parent / "cache").glob("builds/*"))


def test_a_linked_program_is_linked_once(compiler: Compiler) -> None:
    def linked(*modules: bytes) -> bytes:
        parts = [("", LinkerInput(False, True, (module,)).binary) for module in modules]
        return build(Wanted.LINKED, Form.OBJECTS, "", parts, platforms.platform("skl")).data

    spirv = b"\x03\x02\x23\x07"
    assert linked(spirv, spirv + b"1") == linked(spirv, spirv + b"1") == DATA_ELF.read_bytes()
    assert compiler.runs == ["link", "compile"]
    linked(spirv + b"1", spirv)  # another order
    linked(spirv, spirv, b"1")
    assert compiler.runs == ["link", "compile"] * 3


def test_variables_of_the_compiler_do_not_act(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IGC_ShaderDumpEnable", "1")
    _object(_SOURCE)
    assert compiler.runs == ["compile"]
