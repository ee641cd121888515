"""What a file is, and the advice that goes with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from eumu import zebin
from eumu.errors import BuildError, FormatError
from zebin import forge

DATA = Path(__file__).with_name("data")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"\x7fELF", "the ELF header is cut off at 4 bytes"),
        (b"\x7fELF" + bytes(60), "only 1 is known"),
        (forge.elf(machine=62, kind=2), "for x86-64 (type 0x2)"),
        (forge.elf(machine=0x1234), "for machine 0x1234"),
        (forge.elf(kind=3), "ELF type 0x3"),
        (forge.elf(machine=0, kind=0xFF04), "patch-token format, ocloc's default output"),
        (forge.elf(machine=0, kind=0xFF02), "not linked OpenCL object"),
        (b"CTNI" + bytes(40), "patch-token format"),
        (b"!<arch>\n", "without members"),
        (b"!<arch>\nrubbish", "without members"),
        (b"\x03\x02\x23\x07" + bytes(20), "SPIR-V"),
        (b"\x07\x23\x02\x03" + bytes(20), "SPIR-V"),
        (b"CISA" + bytes(20), "vISA object file"),
        (b"BC\xc0\xde1234", "LLVM bitcode"),
        (b"MZ\x90\0", "Windows"),
        (b'.version 4.1\n.kernel "k"\n', "text that begins ['.version 4.1']"),
        (b"\xde\xad\xbe\xef" * 9, "bytes that begin de ad be ef"),
    ],
)
def test_foreign_files_are_named(data: bytes, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        zebin.read(data, "k.bin")
    assert str(caught.value).startswith("k.bin: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("patch_tokens.skl.bin", "-internal_options -ze-emit-zebin-visa-sections"),
        ("no_visa.pvc.bin", "-internal_options -ze-emit-zebin-visa-sections"),
        ("archive.bin", "(64.12.60.7, 64.9.0.9); give ocloc one device"),
    ],
)
def test_real_files_in_the_wrong_format_get_the_option(file: str, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        zebin.read((DATA / file).read_bytes(), file)
    assert says in str(caught.value)
    assert "add" not in str(caught.value).split(";")[0]


def test_format_error_is_a_build_error_that_a_caller_may_catch_as_value_error() -> None:
    with pytest.raises(ValueError):
        zebin.read(b"", "k.bin")
    assert issubclass(FormatError, BuildError)


def test_is_elf_and_is_spirv() -> None:
    assert zebin.is_elf((DATA / "symbols.pvc.bin").read_bytes())
    assert zebin.is_elf(forge.elf(machine=62))
    assert not zebin.is_elf(b"\x7fEL")
    assert not zebin.is_elf((DATA / "archive.bin").read_bytes())
    assert zebin.is_spirv(b"\x03\x02\x23\x07")
    assert not zebin.is_spirv(b"\x7fELF")
