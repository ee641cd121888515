"""Whole programs: which text, code and data belong to which name."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from eumu import zebin
from eumu.checking import check
from eumu.cli.main import main
from eumu.errors import FormatError, Unsupported
from eumu.platforms import of_product_family, platform
from eumu.runtime.libraries import Linkage
from eumu.runtime.sources import Sources
from eumu.runtime.translating import native_translator
from eumu.zebin import DataSection, RelocationType, SymbolKind, Zebin
from zebin import forge
from zebin.forge import Part

DATA = Path(__file__).with_name("data")
DEVICES = ("pvc", "skl", "apl")


def real(file: str) -> Zebin:
    return zebin.read((DATA / file).read_bytes(), file)


@pytest.fixture(scope="module", params=DEVICES)
def symbols(request: pytest.FixtureRequest) -> Zebin:
    """symbols.cl for a device."""
    return real(f"symbols.{request.param}.bin")


def test_each_kernel_has_its_own_text(symbols: Zebin) -> None:
    # What only this kernel's code contains.
    marks = {
        "calls_own": " fcall",
        "plain": "",
        "calls_shared": "barrier",
        "reads": "faddr cursor",
        "calls_nowhere": "faddr nowhere",
    }
    assert [k.name for k in symbols.kernels] == list(marks)
    for mark in filter(None, marks.values()):
        assert [k.name for k in symbols.kernels if mark in k.visaasm] == [
            name for name, own in marks.items() if own == mark
        ]
    for kernel in symbols.kernels:
        assert f".kernel_attr SimdSize={kernel.info.execution_env.simd_size}" in kernel.visaasm
        assert len(kernel.text) > kernel.entry


def test_functions_and_their_owners(symbols: Zebin) -> None:
    functions = {f.name: f for f in symbols.functions}
    assert {n: f.owner for n, f in functions.items()} == {"own": "calls_own", "shared": ""}
    assert "fcall" in functions["own"].visaasm
    assert '.global_function "shared"' in functions["shared"].visaasm
    assert all(f.offset > 0 and f.text for f in functions.values())
    assert functions["own"].info is None
    assert functions["shared"].info is not None
    assert [f.name for f in symbols.functions_of("calls_own")] == ["own", "shared"]
    assert [f.name for f in symbols.functions_of("calls_shared")] == ["shared"]


def test_names_lead_to_places(symbols: Zebin) -> None:
    def place(name: str) -> tuple[str, int, int]:
        symbol = symbols.symbol(name)
        assert symbol is not None
        return symbol.section, symbol.value, symbol.size

    assert place("table") == (".data.const", 0, 32)
    assert place("inside") == (".data.const", 32, 8)
    assert place("counter") == (".data.global", 0, 16)
    assert place("cursor") == (".data.global", 16, 8)
    strings = symbols.section(".data.const.string")
    assert strings is not None
    texts = []
    for symbol in symbols.symbols:
        if symbol.section == strings.name:
            texts.append(strings.data[symbol.value : symbol.value + symbol.size])
    assert texts == [b"one\0", b"two\0", b"%s %d\n\0"]
    shared = symbols.symbol("shared")
    assert shared is not None and shared.kind is SymbolKind.FUNCTION and shared.is_global
    assert shared.section == ".text.Intel_Symbol_Table_Void_Program"
    assert symbols.symbol("no such name") is None
    assert symbols.undefined == ("nowhere",)
    nowhere = symbols.symbol("nowhere")
    assert nowhere is not None and not nowhere.is_defined


def test_data_holds_addresses(symbols: Zebin) -> None:
    bases = {".data.const": 0x1_0000_0000, ".data.const.string": 0x2_0000_0000,
             ".data.global": 0x3_0000_0000}  # fmt: skip
    found = {
        s.name: s.relocated(lambda symbol: bases[symbol.section] + symbol.value)
        for s in symbols.data
    }
    const = struct.unpack("<8i3Q", found[".data.const"])
    assert const == (1, 2, 3, 4, 5, 6, 7, 8, 0x1_0000_000C, 0x2_0000_0000, 0x2_0000_0004)
    assert struct.unpack("<4iQ", found[".data.global"]) == (5, 6, 7, 8, 0x3_0000_0008)
    assert [s.writable for s in symbols.data] == [False, False, True]


def test_code_has_no_addends(symbols: Zebin) -> None:
    rows = [r for k in symbols.kernels for r in k.relocations]
    assert {r.symbol.name for r in rows} >= {"table", "cursor", "counter", "shared", "nowhere"}
    assert {r.addend for r in rows} == {0}
    halves = {RelocationType.ADDRESS_32, RelocationType.ADDRESS_32_HIGH}
    whole = {RelocationType.ADDRESS_64}
    assert {r.type for r in rows} == (whole if symbols.target.product_family == 0x12 else halves)


@pytest.mark.parametrize(("device", "platform"), [("pvc", "pvc"), ("skl", "skl"), ("apl", "bxt")])
def test_notes_name_the_device(device: str, platform: str) -> None:
    target = real(f"symbols.{device}.bin").target
    assert target.product_family is not None
    found = of_product_family(target.product_family)
    assert found is not None and found.name == platform
    assert (target.generator, target.zebin_version) == ("IGC", "1.20")
    assert target.product_config is None


def test_what_else_a_program_says(symbols: Zebin) -> None:
    assert symbols.pointer_bits == 64
    assert symbols.build_options == "-cl-std=CL2.0"
    assert symbols.spirv == b""


def test_zeros_follow_the_data() -> None:
    program = real("zeros.pvc.bin")
    sizes = {s.name: (len(s.data), s.size, s.writable) for s in program.data}
    assert sizes == {".data.const": (0, 200, False), ".data.global": (12, 412, True)}
    places = {n: program.symbol(n) for n in ("ones", "zeros", "none")}
    assert {n: (s.section, s.value) for n, s in places.items() if s} == {
        "ones": (".data.global", 0),
        "zeros": (".data.global", 12),
        "none": (".data.const", 0),
    }


def test_a_program_for_32_bit_pointers() -> None:
    program = real("add32.skl.bin")
    assert program.pointer_bits == 32
    addresses = [
        a for a in program.kernels[0].info.payload_arguments if a.arg_type == "buffer_address"
    ]
    assert {a.size for a in addresses} == {4}


# Files that the installed compiler does not write.

VISA, INFO = forge.VISAASM, forge.ZE_INFO


def program(*parts: Part) -> Zebin:
    return zebin.read(forge.elf(*parts), "k.bin")


def test_kernels_that_are_named() -> None:
    built = program(
        Part(".text.a", 1, b"A"),
        Part(".text.b", 1, b"B"),
        Part(".visaasm.b", VISA, forge.visaasm("b")),
        Part(".visaasm.f", VISA, forge.visaasm("f")),
        Part(".visaasm", VISA, forge.visaasm("a")),
        Part(".ze_info", INFO, forge.ze_info("a", "b")),
    )
    assert [(k.name, k.text, "// " + k.name in k.visaasm) for k in built.kernels] == [
        ("b", b"B", True),
        ("a", b"A", True),
    ]
    assert [(f.name, f.owner, f.text) for f in built.functions] == [("f", "b", b"")]
    assert built.target.product_family is None


def test_notes_of_later_compilers() -> None:
    notes = forge.note(6, struct.pack("<I", 0x03C8_0007)) + forge.note(5, struct.pack("<I", 2))
    notes += forge.note(1, b"\1\0\0\0", owner=b"Else\0") + forge.note(9, b"abc")
    target = program(*GOOD, Part(".note.intelgt.compat", forge.NOTE, notes)).target
    assert (target.product_config, target.visa_abi) == (0x03C8_0007, 2)
    assert (target.product_family, target.generator) == (None, "")


GOOD = (
    Part(".text.a", 1, bytes(16)),
    Part(".visaasm", VISA, forge.visaasm("a")),
    Part(".ze_info", INFO, forge.ze_info("a")),
)
# With the names of .strtab after `GOOD` and .symtab: 1 is ".text.a".
TABLE = Part(".symtab", forge.SYMTAB, bytes(24) + forge.symbol(1, 1), link=6)


def patches(*rows: tuple[int, int, int], info: int = 1) -> Part:
    """Relocations of `.text.a`: offset, type, symbol."""
    data = b"".join(struct.pack("<QQ", o, s << 32 | t) for o, t, s in rows)
    return Part(".rel.text.a", forge.REL, data, link=4, info=info)


def test_relocations_of_code() -> None:
    kernel = program(*GOOD, TABLE, patches((4, 4, 1), (0, 0, 1))).kernels[0]
    assert [(r.offset, r.width, r.symbol.name) for r in kernel.relocations] == [
        (4, 4, ".text.a"),
        (0, 0, ".text.a"),
    ]


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ((), "the program has no kernel"),
        (GOOD[:2], "there is no section '.ze_info'"),
        (GOOD[1:], "kernel 'a' has no section '.text'"),
        ((GOOD[0], GOOD[2]), "-ze-emit-zebin-visa-sections"),
        ((*GOOD, GOOD[1]), "1 kernels (a) do not match the sections .visaasm, .visaasm"),
        (
            (GOOD[0], Part(".visaasm", VISA, forge.visaasm("a", simd=32)), GOOD[2]),
            "its code is SIMD32, kernel 'a' is SIMD16",
        ),
        ((*GOOD[:2], Part(".ze_info", INFO, b"\xff")), "section '.ze_info' at offset"),
        ((GOOD[0], Part(".visaasm", VISA, b"\xc3("), GOOD[2]), "byte 0x0 is not UTF-8"),
        ((*GOOD, TABLE, patches((9, 1, 1))), "it patches byte 0x9 of '.text.a', past its end"),
        ((*GOOD, TABLE, patches((0, 1, 5))), "symbol 5 is not in the symbol table"),
        ((*GOOD, TABLE, patches((0, 1, 1), info=99)), "it patches section 99"),
        (
            (*GOOD, Part(".note.intelgt.compat", forge.NOTE, forge.note(1, b"abcd")[:-2])),
            "the note at 0x0 of it is cut off",
        ),
    ],
)
def test_incomplete_programs(parts: tuple[Part, ...], says: str) -> None:
    with pytest.raises(FormatError) as caught:
        program(*parts)
    assert says in str(caught.value)
    assert str(caught.value).startswith("k.bin: ")


def test_what_nobody_knows_is_named() -> None:
    """Keys at every depth and types of relocations: the program is read, and says so."""
    info = forge.ze_info("a", more="    new_key: [1, 2]\nnew_top: 1\n")
    found = program(*GOOD[:2], Part(".ze_info", INFO, info), TABLE, patches((0, 8, 1)))
    assert set(found.unknown) == {
        ".ze_info: new_top",
        ".ze_info: kernel 'a': new_key",
        ".text.a: relocation type 8",
    }
    assert program(*GOOD, Part(".new", 1, b"1")).unknown == ("section .new",)
    assert program(*GOOD).unknown == ()


def test_an_unknown_relocation_is_an_error_where_its_bytes_are_needed() -> None:
    (kernel,) = program(*GOOD, TABLE, patches((0, 8, 1))).kernels
    with pytest.raises(Unsupported, match="relocation type 8"):
        kernel.relocations[0].check()
    data = DataSection("d", bytes(8), 8, False, kernel.relocations)
    with pytest.raises(Unsupported, match="relocation type 8"):
        data.relocated(lambda _: 0)


def test_check_and_info_show_what_nobody_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.bin"
    file.write_bytes(forge.elf(*GOOD, TABLE, patches((0, 8, 1))))
    says = "eumu does not know .text.a: relocation type 8"
    assert [d.message for d in check(file) if d.code == "elf-unknown"] == [says]
    assert [d for d in check(file, parity=True) if d.code == "elf-unknown"] == []
    assert main(["info", str(file)]) == 0
    assert f"note: {says}" in capsys.readouterr().out


def test_native_code_with_an_unknown_relocation_is_refused() -> None:
    """Also where no lowering looks at the bytes it patches; vISA text needs none of them."""
    found = real("symbols.skl.bin")
    kernel = next(k for k in found.kernels if k.name == "reads")
    strange = replace(kernel.relocations[0], type=RelocationType.UNKNOWN, number=9, offset=0)
    kernel = replace(kernel, relocations=(*kernel.relocations, strange))
    translate = native_translator(Linkage([found]), kernel, kernel.info, Sources(), lockstep=False)
    with pytest.raises(Unsupported, match="relocation type 9"):
        translate(platform("skl"))


@pytest.mark.parametrize(
    ("family", "says"),
    [
        (0x4F6, "it was compiled for dg2 (DG2 / Arc); build it with: {} dg2 "),
        (
            0xFFF,
            "for product family 0xfff, which eumu does not know; build it with: {} DEVICE ",
        ),
        (None, "sections '.visaasm'); build it with: {} DEVICE "),
    ],
)
def test_a_program_without_visa_says_how_to_make_one(family: int | None, says: str) -> None:
    """The device is the compiler's name of it, the options are those of the program."""
    parts = [GOOD[0], GOOD[2], Part(".misc.buildOptions", 1, b"-DN='a b' -O1\0")]
    if family is not None:
        data = forge.note(1, family.to_bytes(4, "little"))
        parts.append(Part(".note.intelgt.compat", forge.NOTE, data))
    with pytest.raises(FormatError) as caught:
        program(*parts)
    assert says.format("ocloc compile -file k.cl -device") in str(caught.value)
    assert str(caught.value).endswith("""-options '-DN='"'"'a b'"'"' -O1'""")
