"""Text to object file to text, and object file to text to object file, change nothing.

What the object file has no place for: `v_name=` of surfaces and samplers, the braces of scopes
(names that are alike are told apart in the text), and `align=byte`, which is no alignment at all.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from binary.generate import ENCODED, Generator
from coverage_of_opcodes import TEXT_ONLY, WITHOUT_A_FORM
from eumu import binary, text
from eumu.binary import layout
from eumu.errors import BuildError
from eumu.program import (
    Attribute,
    GenBinary,
    Inst,
    Kernel,
    LabelMark,
    Module,
    ScopeMark,
    SourceMark,
    difference,
)
from text.corpus import compiled, lines, program, programs

# Too long for every run; `pytest -m weekly` runs them.
WEEKLY = (pytest.mark.slow, pytest.mark.weekly)

RUNS = sorted((Path(__file__).parents[1] / "runs").rglob("*.visa"))
_LOST = re.compile(r" v_name=\w+| align=byte\b|^[{}]\n", re.MULTILINE)


def check(module: Module, grf_bytes: int = 32) -> Module:
    """Both identities; returns what was read."""
    data = binary.write(module, grf_bytes)
    found = binary.read(data, "x.isa", grf_bytes)
    printed = text.print_module(found)
    assert printed == _LOST.sub("", text.print_module(module))
    assert binary.write(found, grf_bytes) == data
    assert binary.write(text.parse(printed, "x", grf_bytes), grf_bytes) == data
    return found


# A few for every run; all of them in the full one.
QUICK = ("saxpy", "sgemm", "atomics", "switch_case", "print_values")
PROGRAMS = [
    pytest.param(device, name, marks=[] if name in QUICK else [pytest.mark.slow])
    for device, name in programs()
]


@pytest.mark.parametrize(("device", "name"), PROGRAMS)
def test_compiled_programs(device: str, name: str) -> None:
    for kernel in compiled(device, name):
        check(text.parse(kernel.text, kernel.kernel))


@pytest.mark.parametrize("file", RUNS, ids=lambda file: file.stem)
def test_run_files(file: Path) -> None:
    module = text.parse(file.read_text(encoding="utf-8"), file.name)
    if file.stem in TEXT_ONLY:
        with pytest.raises(BuildError, match=WITHOUT_A_FORM):
            binary.write(module)
    else:
        check(module)


@pytest.mark.parametrize("grf_bytes", [32, 64])
def test_golden_lines(grf_bytes: int) -> None:
    for (file, labels), group in groupby(lines(), key=lambda line: (line.file, line.labels)):
        source = program(*(line.printed for line in group), labels=labels)
        module = text.parse(source, file, grf_bytes)
        newer = file.startswith("newer")  # words of calls, which 4.1 has no place for
        check(replace(module, version=(4, 2)) if newer else module, grf_bytes)


@pytest.mark.parametrize(
    "count",
    [pytest.param(200, id="quick"), pytest.param(10_000, id="full", marks=WEEKLY)],
)
def test_generated_kernels(count: int) -> None:
    for seed in range(count):
        module = Generator(seed).module(10, ENCODED)
        found = check(module)
        assert difference(module, found) == "", f"seed {seed}"


EVERYTHING = r"""
.version 4.1
.kernel "k<1>"
.decl T6 v_type=T num_elts=2 attrs={SurfaceUsage=2}
.decl X v_type=G type=d num_elts=8 align=GRF
.decl BIG v_type=G type=ud num_elts=1024 align=GRFx2 attrs={Input_Output, NoWidening}
.decl Y v_type=G type=w num_elts=8 align=word alias=<X, 4>
.decl R v_type=G type=d num_elts=8 align=dword alias=<%r0, 4>
.decl A0 v_type=A num_elts=16
.decl P1 v_type=P num_elts=16
.decl S0 v_type=S num_elts=1
.decl Z v_type=G type=bf num_elts=8
.input X offset=32 size=32
.input T6 offset=64 size=4
.implicit_LOCAL_ID BIG offset=96 size=48
.implicit_UNDEFINED_9 Y offset=192 size=16
.implicit_PSEUDO_INPUT Z offset=208 size=16
.kernel_attr Target="cm"
.kernel_attr SimdSize=8
.kernel_attr SLMSize=64
.kernel_attr NoBarrier
.kernel_attr AsmName="a/b"
.function "main"
main:
    FILE "a \"b\" \\ c\t.cpp"
    LOC 7
    addr_add (M1, 1) A0(0)<1> &BIG[1024] 0x40:uw
    (!P1.any) goto (M1, 8) L-x
    call (M1, 1) sub
L-x:
    faddr "main" BIG(0,0)<1>
    ret (M1, 1)
.function "sub"
sub:
    FILE "a.cpp"
    ret (M1, 1)
.global_function "f"
.decl X v_type=G type=d num_elts=8 align=GRF
.kernel_attr ArgSize=3
.kernel_attr RetValSize=1
    mov (M1, 8) X(0,0)<1> 0x5:w
    fret (M1, 1)
.kernel "other"
.decl X v_type=G type=d num_elts=8
    ret (M1, 1)
"""


@pytest.mark.parametrize("grf_bytes", [32, 64])
def test_everything_that_a_file_can_have(grf_bytes: int) -> None:
    module = text.parse(EVERYTHING.lstrip().replace("goto (M1, 8) L-x", 'goto (M1, 8) "L-x"'))
    found = check(module, grf_bytes)
    assert difference(module, found) == ""
    assert [k.name for k in found.kernels] == ["k<1>", "f", "other"]
    names = [[d.name for d in k.declarations] for k in found.kernels]
    assert names == [[d.name for d in k.declarations] for k in module.kernels]


@pytest.mark.parametrize("version", [(3, 4), (3, 5), (3, 6), (3, 7), (4, 0), (4, 1), (4, 9)])
def test_versions(version: tuple[int, int]) -> None:
    source = EVERYTHING.lstrip().replace("goto (M1, 8) L-x", 'goto (M1, 8) "L-x"')
    module = replace(text.parse(source), version=version)
    assert check(module).version == version
    data = binary.write(module)
    assert data[4:6] == bytes(version)


@pytest.mark.parametrize("version", [(0, 0), (2, 0), (3, 3), (5, 0), (4, 256)])
def test_other_versions_are_refused(version: tuple[int, int]) -> None:
    module = replace(text.parse(program("yield")), version=version)
    with pytest.raises(BuildError, match=re.escape(f"version {version[0]}.{version[1]} has no")):
        binary.write(module)


def test_scopes_become_plain_declarations() -> None:
    source = program("{", ".decl D v_type=G type=f num_elts=8", "mov (M1, 8) D(0,0)<1> 1.5:f", "}")
    module = text.parse(source)
    assert any(isinstance(i, ScopeMark) for i in module.kernels[0].body)
    found = binary.read(binary.write(module))
    assert [d.name for d in found.kernels[0].declarations].count("D") == 2
    assert "D_1(0,0)<1>" in text.print_module(found)
    assert text.print_module(found) == _LOST.sub("", text.print_module(module))


def test_native_code_and_what_follows_it_is_kept() -> None:
    module = text.parse(program("yield") + program("barrier").partition("\n")[2])
    first, second = module.kernels
    code = (GenBinary(5, b"\1\2\3"), GenBinary(12, b""))
    module = replace(module, kernels=(replace(first, gen_binaries=code), second), tail=b"\0\0")
    data = binary.write(module)
    found = binary.read(data)
    assert (found.kernels[0].gen_binaries, found.kernels[1].gen_binaries) == (code, ())
    assert found.tail == b"\0\0"
    assert binary.write(found) == data
    assert binary.made_for(found) is None
    only = replace(found, kernels=(replace(first, gen_binaries=code[:1]), second))
    assert str(binary.made_for(only)) == "skl"


def test_a_file_with_a_pool_of_its_own_is_written_as_it_was() -> None:
    """Compilers put other names, in another order, into the pool, and numbers of other sizes."""
    kernel = text.parse(program("LOC 5", "goto (M1, 8) L1", 'faddr "x" UQ(0,0)<1>')).kernels[0]
    kernel = replace(kernel, attributes=(Attribute("NBarrierCnt", 3), Attribute("Own", 7)))
    found = binary.read(binary.write(Module((3, 6), (kernel,)))).kernels[0]
    form = found.form
    assert form is not None
    strings = (b"", b"unused", *reversed(form.strings))
    last = len(strings) - 1
    own = replace(
        form,
        strings=strings,
        names=tuple(last - n for n in form.names),
        values=(b"\3", b"\7\0"),
        labels=tuple(reversed(form.labels)),
    )
    module = Module((3, 6), (replace(found, form=own),))
    data = binary.write(module)
    again = binary.read(data)
    assert binary.write(again) == data
    assert again.kernels[0].form is not None
    assert again.kernels[0].form.strings == strings
    assert again.kernels[0].attributes == kernel.attributes
    assert again.kernels[0].body[1:3] == kernel.body[1:3]


def test_a_program_that_was_changed_is_written_as_it_is_now() -> None:
    found = binary.read(binary.write(text.parse(program("goto (M1, 8) L1", "yield"))))
    (kernel,) = found.kernels
    body = tuple(
        replace(i, name="new") if isinstance(i, LabelMark) and i.name == "L1" else i
        for i in kernel.body
        if not isinstance(i, Inst) or i.opcode.mnemonic != "goto"
    )
    changed = replace(found, kernels=(replace(kernel, name="renamed", body=body),))
    again = binary.read(binary.write(changed))
    assert difference(again, changed) == ""
    assert text.print_module(again) == text.print_module(changed)


def test_labels_that_cannot_be_written_or_are_alike_are_told_apart() -> None:
    kernel = text.parse(program("goto (M1, 8) L1", labels=("L1", "L2", "L3"))).kernels[0]
    found = binary.read(binary.write(Module((4, 1), (kernel,))))
    form = found.kernels[0].form
    assert form is not None
    names = [form.strings.index(f"L{n}".encode()) for n in (1, 2, 3)]
    strings = list(form.strings)
    for number, name in zip(names, (b"a b", b"a b", b"L_a_b"), strict=True):
        strings[number] = name
    data = binary.write(found)
    for old, new in ((b"L1\0L2\0L3\0", b"a b\0a b\0L_a_b\0"),):
        assert data.count(old) == 1
        data = data.replace(old, new)
    # The file has become longer: sizes and offsets move.
    module = binary.read(_moved(data, len(b"a b\0a b\0L_a_b\0") - 9))
    marks = [m.name for m in module.kernels[0].body if isinstance(m, LabelMark)]
    assert marks == ["main", "L_a_b", "L_a_b_1", "L_a_b_2"]
    assert binary.write(module) == _moved(data, len(b"a b\0a b\0L_a_b\0") - 9)
    text.parse(text.print_module(module))


def _moved(data: bytes, by: int) -> bytes:
    """The file of one kernel after its strings have grown: its sizes and offsets corrected."""
    out = bytearray(data)
    at = 10 + int.from_bytes(data[8:10], "little")

    def add(place: int) -> int:
        value = int.from_bytes(out[place : place + 4], "little") + by
        out[place : place + 4] = value.to_bytes(4, "little")
        return value

    add(at + 4)
    inputs = add(at + 8)
    count = int.from_bytes(out[inputs : inputs + 4], "little")
    add(inputs + 4 + 9 * count + 4)
    return bytes(out)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mov (M1, 8) D(256,0)<1> 0x1:d", "row 0x100 does not fit the object file's 8 bits"),
        ("(P1) min (M1, 8) D(0,0)<1> D(0,0)<1;1,0> 0x1:d", "no place for pred of min"),
        ("gather.4 (M1, 4) T6 0x0:ud UD.0 D.0", "execution size 4 is not one of 1, 8, 16"),
        ("svm_block_st (1) 0x0:uq D.65536", "offset 0x10000 does not fit"),
        ("addr_add (M1, 1) A0(0)<1> &BIG[2] 0x40:uw", "&BIG[2] is not at an element"),
        ("addr_add (M1, 1) A0(0)<1> D(0,0)<0;1,0> 0x1:uw", "would be read as its address"),
        ("mov (M1, 1) D(0,0)<1> &BIG", "has '&variable' in addr_add only"),
    ],
)
def test_what_has_no_bytes_is_a_diagnostic_at_its_place(line: str, message: str) -> None:
    with pytest.raises(BuildError, match=re.escape(message)) as caught:
        binary.write(text.parse(program("yield", line), "k.visaasm"))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert diagnostic.span.source.line(diagnostic.span.line).strip() == line


def test_all_errors_are_found_at_once() -> None:
    source = program(*["mov (M1, 8) D(256,0)<1> 0x1:d"] * 3)
    source = source.replace(
        ".decl S0", ".decl V v_type=G type=d num_elts=8 alias=<%null, 0>\n.decl S0"
    )
    with pytest.raises(BuildError, match="4 errors"):
        binary.write(text.parse(source))


def test_lines_of_files_are_marks() -> None:
    found = check(text.parse(program('FILE "a"', "LOC 4294967", "yield")))
    marks = [i for i in found.kernels[0].body if isinstance(i, SourceMark)]
    assert marks == [SourceMark(file="a"), SourceMark(line=4294967)]


def test_the_pool_has_what_intels_writer_puts_first() -> None:
    kernel: Kernel = binary.read(binary.write(text.parse(program("yield")))).kernels[0]
    assert kernel.form is not None
    assert kernel.form.strings[1 : 1 + len(layout.POOL)] == tuple(s.encode() for s in layout.POOL)
