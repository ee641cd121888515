"""The structure of ELF files: agrees with binutils, and every damage is named."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from eumu.errors import FormatError
from eumu.zebin import elf
from zebin import forge
from zebin.forge import Part

DATA = Path(__file__).with_name("data")
FILES = [*sorted(DATA.glob("[!ap]*.bin")), DATA / "add32.skl.bin"]


def readelf(option: str, path: Path) -> list[re.Match[str]]:
    """The rows that binutils shows of a file."""
    tool = shutil.which("readelf")
    if tool is None:
        pytest.skip("readelf is not installed (Debian: binutils)")
    run = subprocess.run(
        [tool, "-W", option, path], capture_output=True, text=True, check=True,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    rows = [ROWS[option].match(line) for line in run.stdout.splitlines()]
    return [row for row in rows if row]


# What a row of each table looks like: [number] name type address offset size …, and so on.
SECTION = r" *\[ *(\d+)\] (\S*) +(\S+) +[0-9a-f]{8,16} (\w+) (\w+) \w\w .* (\d+) +\d+ +\d+$"
ROWS = {
    "-S": re.compile(SECTION),
    "-s": re.compile(r" *\d+: (\w+) +(\w+) (\w+) +(\w+) +\w+ +(\w+) ?(.*)$"),
    "-r": re.compile(r"([0-9a-f]+) +([0-9a-f]+) unrecognized: (\w+) +[0-9a-f]+ +(\S+)$"),
}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_sections_are_those_that_readelf_shows(path: Path) -> None:
    data = path.read_bytes()
    mine = elf.parse(data, path.name)
    rows = readelf("-S", path)
    assert len(mine.sections) > 3
    for section, row in zip(mine.sections, rows, strict=True):
        offset, size = int(row[4], 16), int(row[5], 16)
        shown = (int(row[1]), row[2], offset, size, int(row[6]))
        assert (section.index, section.name, section.offset, section.size, section.link) == shown
        assert section.data == (
            b"" if row[3] in ("NULL", "NOBITS") else data[offset : offset + size]
        )


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_symbols_are_those_that_readelf_shows(path: Path) -> None:
    kinds, bindings = ["NOTYPE", "OBJECT", "FUNC", "SECTION"], ["LOCAL", "GLOBAL", "WEAK"]
    assert [
        (s.value, s.size, kinds[s.kind], bindings[s.binding], s.section, s.name)
        for s in elf.parse(path.read_bytes(), path.name).symbols()
    ] == [
        (int(r[1], 16), int(r[2], 0), r[3], r[4], 0 if r[5] == "UND" else int(r[5]), r[6].strip())
        for r in readelf("-s", path)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_relocations_are_those_that_readelf_shows(path: Path) -> None:
    file = elf.parse(path.read_bytes(), path.name)
    names = [s.name for s in file.symbols()]
    assert [
        (e.offset, e.symbol << 32 | e.type, e.type, names[e.symbol], e.addend)
        for section in file.of_type(elf.Type.REL)
        for e in file.relocations(section)
    ] == [
        (int(r[1], 16), int(r[2], 16), int(r[3], 16), r[4], None) for r in readelf("-r", path)
    ]  # fmt: skip


@pytest.mark.parametrize("bits", [32, 64])
def test_both_classes(bits: int) -> None:
    file = elf.parse(
        forge.elf(Part(".a", 1, b"abc"), Part(".bss", 8, size=1 << 30), bits=bits), "k"
    )
    assert [(s.name, s.data, s.size) for s in file.sections[1:3]] == [
        (".a", b"abc", 3),
        (".bss", b"", 1 << 30),
    ]


GOOD = forge.elf(Part(".a", 1, b"abc"))
TABLE = struct.unpack_from("<Q", GOOD, 40)[0]


def patched(data: bytes, offset: int, form: str, value: int) -> bytes:
    out = bytearray(data)
    struct.pack_into(form, out, offset, value)
    return bytes(out)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (GOOD[:60], "the ELF header is cut off or damaged"),
        (patched(GOOD, 4, "B", 3), "byte 4 of the ELF header is 3"),
        (GOOD[:-1], "the section headers end at"),
        (patched(GOOD, 40, "<Q", 1 << 63), "the section headers end at 0x80000000000000c0"),
        (patched(GOOD, 58, "<H", 63), "a section header has 64 bytes, not 63"),
        (patched(GOOD, 60, "<H", 0), "no sections"),
        (patched(GOOD, 62, "<H", 9), "the section names are in section 9"),
        (patched(GOOD, TABLE + 64, "<I", 99), "the name of section 1, at 0x63, is not there"),
        (patched(GOOD, TABLE + 64 + 24, "<Q", 1 << 40), "section '.a' ends at 0x10000000003"),
        (patched(GOOD, TABLE + 64 + 32, "<Q", 1 << 40), "it is cut off or damaged"),
        (patched(GOOD, TABLE + 64 + 32, "<Q", 200), "section '.a' overlaps another one"),
        (patched(GOOD, TABLE + 64 + 8, "<Q", 0x800), "section '.a' is compressed"),
        (patched(GOOD, TABLE - 1, "B", 1), "the last of the section names has no end"),
    ],
)
def test_damage_is_named(data: bytes, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        elf.parse(data, "k.bin")
    assert says in str(caught.value)
    assert str(caught.value).startswith("k.bin: ")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (Part(".symtab", forge.SYMTAB, bytes(25), link=2), "25 bytes are not whole rows of 24"),
        (Part(".symtab", forge.SYMTAB, bytes(24), link=7), "string table is section 7"),
        (Part(".symtab", forge.SYMTAB, bytes(24)), "string table is section 0"),
        (Part(".symtab", forge.SYMTAB, forge.symbol(1, 9), link=2), "in section 0x9"),
        (
            Part(".symtab", forge.SYMTAB, forge.symbol(99, 0), link=2),
            "name at 0x63 is not in '.strtab'",
        ),
        (Part(".symtab", forge.SYMTAB, bytes(24), link=1), "expected SHT_STRTAB"),
    ],
)
def test_damaged_symbol_tables(table: Part, says: str) -> None:
    with pytest.raises(FormatError, match=r"section '\.symtab' at offset 0x40") as caught:
        elf.parse(forge.elf(table), "k.bin").symbols()
    assert says in str(caught.value)


@pytest.mark.parametrize("kind", [forge.SYMTAB, forge.REL, forge.RELA])
def test_rows_of_another_size(kind: int) -> None:
    data = forge.elf(Part(".rows", kind, bytes(48), link=2))
    table = struct.unpack_from("<Q", data, 40)[0]
    file = elf.parse(patched(data, table + 64 + 56, "<Q", 1), "k.bin")
    with pytest.raises(FormatError, match=r"section '\.rows' .* its rows have 1 bytes, not"):
        file.symbols() if kind == forge.SYMTAB else file.relocations(file.sections[1])


def test_names_that_overlap_cost_no_memory() -> None:
    long = Part("n" * 1_000_000, 1)
    data = bytearray(forge.elf(long, *(Part(str(i), 1) for i in range(200))))
    table = struct.unpack_from("<Q", data, 40)[0]
    for index in range(1, 201):
        struct.pack_into("<I", data, table + 64 * index, index)
    with pytest.raises(FormatError, match="names of the sections overlap"):
        elf.parse(bytes(data), "k.bin")


def test_symbol_names_that_overlap_cost_no_memory() -> None:
    rows = b"".join(forge.symbol(i, 0) for i in range(1, 200))
    data = forge.elf(Part("n" * 1_000_000, 1), Part(".symtab", forge.SYMTAB, rows, link=3))
    with pytest.raises(FormatError, match="names of its symbols overlap"):
        elf.parse(data, "k.bin").symbols()


def test_the_library_is_imported_for_an_elf_only() -> None:
    script = "import sys, eumu.zebin; print([m for m in sys.modules if 'elftools' in m])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_text_that_is_not_utf8() -> None:
    file = elf.parse(forge.elf(Part(".visaasm", forge.VISAASM, b"ab\xff")), "k.bin")
    with pytest.raises(FormatError, match=r"byte 0x2 is not UTF-8"):
        file.text(file.sections[1])


def test_addends_of_rela_are_signed() -> None:
    rela = Part(".rela", forge.RELA, struct.pack("<QQq", 8, 5 << 32 | 1, -4))
    file = elf.parse(forge.elf(rela), "k")
    assert list(file.relocations(file.sections[1])) == [elf.Entry(8, 1, 5, -4)]
