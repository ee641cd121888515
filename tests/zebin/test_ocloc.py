"""Builds with the installed compiler; what happens without it is tested everywhere."""

from __future__ import annotations

import shutil
import stat
import struct
from pathlib import Path
from typing import Any

import pytest

import eumu
from eumu import zebin
from eumu.errors import BuildError, ToolMissing, UnknownDevice
from eumu.zebin import compilers

DATA = Path(__file__).with_name("data")
ADD = (DATA / "add.cl").read_text()

# A module with one instruction of two words: OpCapability Kernel.
SPIRV = struct.pack("<7I", 0x0723_0203, 0x1_0000, 0, 1, 0, 2 << 16 | 17, 6)

needs_ocloc = pytest.mark.skipif(
    shutil.which("ocloc") is None, reason="ocloc is not installed (apt install intel-opencl-icd)"
)


def pretend(directory: Path, script: str) -> None:
    """Puts a shell script called ocloc into a directory."""
    path = directory / "ocloc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory that programs are looked for in."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("EUMU_OCLOC", raising=False)  # it would name others
    return tmp_path


def test_no_compiler(tools: Path) -> None:
    with pytest.raises(ToolMissing, match=r"apt install intel-opencl-icd"):
        zebin.compile(ADD, "pvc")
    with pytest.raises(FileNotFoundError):
        compilers.find()


def test_a_compiler_that_cannot_start(tools: Path) -> None:
    pretend(tools, "")
    (tools / "ocloc").write_text("#!/no/such/shell\n")
    with pytest.raises(ToolMissing, match=r"cannot be started"):
        zebin.compile(ADD, "pvc")


@pytest.mark.parametrize(
    ("script", "kind", "says"),
    [
        ("exec /bin/sleep 60", BuildError, "did not finish within 0.3 s"),
        ("kill -SEGV $$", BuildError, "the compiler crashed (SIGSEGV)"),
        ("echo done", BuildError, "ocloc wrote no program\ndone"),
        ("echo hmm; exit 3", BuildError, "does not say why (status 3)\nhmm"),
        ("echo 'error: no way'; exit 1", BuildError, "1 error in the program\nerror: no way"),
        ("echo 'Error! Loading of FCL library has failed!'; exit 1", ToolMissing, "libraries"),
        ("printf 'error: \\377\\n'; exit 1", BuildError, "error: \ufffd"),
    ],
)
def test_every_way_to_fail(tools: Path, script: str, kind: type[Exception], says: str) -> None:
    pretend(tools, script)
    with pytest.raises(kind) as caught:
        zebin.compile(ADD, "pvc", name="k.cl", timeout=0.3 if "sleep" in script else 60)
    assert says in str(caught.value)


def test_what_the_compiler_is_given(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tools, 'for a; do echo "<$a>"; done; echo "$IGC_DumpToCustomDir$KEEP"; exit 1')
    monkeypatch.setenv("IGC_DumpToCustomDir", "/nowhere")
    monkeypatch.setenv("KEEP", "kept")
    monkeypatch.chdir(tools)
    with pytest.raises(BuildError) as caught:
        zebin.compile(
            SPIRV,
            "BXT",
            '-I inc -DX="-I y" -I"a b" -Dz-I=1',
            "-one",
            directory="of source",
            optimize=False,
        )
    given = str(caught.value).splitlines()[1:]
    assert given == [
        *("<compile>", "<-file>", "<source.spv>", "<-spirv_input>", "<-device>", "<apl>"),
        *("<-output>", "<program>", "<-output_no_suffix>", "<-out_dir>", "<out>"),
        *("<--format>", "<zebin>", "<-options>"),
        f'<-I "{tools}/inc" -DX="-I y" -I "{tools}/a b" -Dz-I=1 '
        f'-I "{tools}/of source" -cl-opt-disable>',
        *("<-internal_options>", "<-ze-emit-zebin-visa-sections -one>", "kept"),
    ]
    assert caught.value.__notes__[0].startswith("The compiler's log:\n<compile>")


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        (" \n", "", "the source is empty"),
        (b"", "", "the source is empty"),
        (ADD, "-D\0", "contain a NUL"),
        (SPIRV[:22], "", "cut off or damaged at word 5"),
        (SPIRV[:-4], "", "cut off or damaged at word 7"),
        (SPIRV + bytes(4), "", "cut off or damaged at word 7"),
    ],
)
def test_what_is_refused_before(tools: Path, source: str, options: str, says: str) -> None:
    pretend(tools, "exit 1")
    with pytest.raises(BuildError, match=says):
        zebin.compile(source, "pvc", options)


def test_options_that_no_command_line_has_room_for(tools: Path) -> None:
    """It is not the compiler that is missing."""
    pretend(tools, "exit 0")
    with pytest.raises(BuildError, match="longer than a command line"):
        zebin.compile("kernel void k() {}", "pvc", "-DX=" + "1" * (4 << 20))


@pytest.mark.parametrize(("source", "options"), [(5, ""), ("", ["-DX"]), ("", None)])
def test_sources_and_options_of_other_types(source: Any, options: Any) -> None:
    with pytest.raises(eumu.ArgumentError, match=r"not (int|list|NoneType)"):
        eumu.build(source, "pvc", options)


HELP = 'echo "  -device <t>  Target. <device_type> can be: {names}, version"'


def compiler(directory: Path, name: str, devices: str, version: str) -> Path:
    """A script that answers what a compiler is asked, and writes which one built."""
    path = directory / name
    path.write_text(
        f"""#!/bin/sh
        case "$1 $2" in
        "compile --help") {HELP.format(names=devices)};;
        "query OCL_DRIVER_VERSION") printf '{version} \\0' >OCL_DRIVER_VERSION;;
        *) echo "error: built by {name}"; exit 1;;
        esac
        """
    )
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("device", "by"), [("skl", "old"), ("b580", "new"), ("pvc", "new")])
def test_the_first_compiler_that_knows_the_device(
    tools: Path, monkeypatch: pytest.MonkeyPatch, device: str, by: str
) -> None:
    new = compiler(tools, "new", "tgl, pvc-xt-a0, pvc, bmg-g21, bmg", "26.27")
    old = compiler(tools, "old", "skl, kbl, pvc-sdv, pvc", "22.43")
    monkeypatch.setenv("EUMU_OCLOC", f"{new}:{old}")
    with pytest.raises(BuildError, match=f"built by {by}"):
        zebin.compile(ADD, device)


def test_no_compiler_knows_the_device(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = compiler(tools, "new", "tgl, pvc", "26.27")
    compiler(tools, "old", "skl", "22.43")
    monkeypatch.setenv("EUMU_OCLOC", f"{new}:old")  # a name is looked for on the path
    with pytest.raises(ToolMissing) as caught:
        zebin.compile(ADD, "bmg")
    assert "no ocloc that is installed compiles for bmg (Battlemage" in str(caught.value)
    assert f"{new} (26.27) knows tgllp, pvc\n" in str(caught.value)
    assert "old (22.43) knows skl\n" in str(caught.value)
    assert "EUMU_OCLOC=" in str(caught.value)


def test_the_only_compiler_says_that_it_does_not_know_the_device(tools: Path) -> None:
    pretend(tools, 'echo "Could not determine device target: bmg."; exit 1')
    with pytest.raises(ToolMissing, match="no ocloc that is installed compiles for bmg"):
        zebin.compile(ADD, "bmg")


def test_the_list_names_programs(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_OCLOC", "/nowhere/ocloc")
    with pytest.raises(ToolMissing, match=r"EUMU_OCLOC names /nowhere/ocloc, which is no program"):
        zebin.compile(ADD, "pvc")


def test_compilers_on_the_path(tools: Path) -> None:
    """The plain name first, then those with a version, the newest first."""
    for name in ("ocloc-24.9", "ocloc-26.27.1", "ocloc", "ocloc-doc"):
        compiler(tools, name, "pvc", "1")
    found = [Path(c.path).name for c in compilers.installed()]
    assert found == ["ocloc", "ocloc-26.27.1", "ocloc-24.9"]
    assert {str(p) for c in compilers.installed() for p in c.devices} == {"pvc"}


@pytest.mark.parametrize("name", ["program", "program.bin"])
def test_the_program_has_either_name(tools: Path, name: str) -> None:
    (tools / "out.elf").write_bytes(b"\x7fELF rest")
    pretend(tools, f"mkdir out && cat {tools}/out.elf >out/{name} && echo ir >out/program.spv")
    (tools / "mkdir").symlink_to("/bin/mkdir")
    (tools / "cat").symlink_to("/bin/cat")
    built = zebin.compile(ADD, "pvc")
    assert built.elf == b"\x7fELF rest"
    assert built.compiler is not None and built.compiler.path == str(tools / "ocloc")


def test_an_unknown_device(tools: Path) -> None:
    pretend(tools, "exit 1")
    with pytest.raises(UnknownDevice):
        zebin.compile(ADD, "pvc,skl")


@needs_ocloc
def test_a_build_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir()
    scratch.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    source = "#warning careful\n" + ADD
    built = zebin.compile(source, "skl", "-cl-std=CL2.0 -g", name="my add.cl", native=True)
    program = zebin.read(built.elf, "k")
    assert f'FILE "{work}/my add.cl"' in program.kernels[0].visaasm
    assert [k.name for k in program.kernels] == ["add"]
    assert program.build_options == f'-cl-std=CL2.0 -g -s "{work}/my add.cl"'
    assert program.spirv[:4] == b"\x03\x02\x23\x07"
    assert [d.message for d in built.warnings] == ["careful"]
    assert "careful" in built.log
    assert "//.kernel add" in built.native["add"]
    assert list(work.iterdir()) == list(scratch.iterdir()) == []


@needs_ocloc
def test_spirv_in() -> None:
    first = zebin.read(zebin.compile(ADD, "pvc").elf, "k")
    again = zebin.compile(first.spirv, "skl", optimize=False)
    assert not again.native
    assert [k.name for k in zebin.read(again.elf, "k").kernels] == ["add"]


@needs_ocloc
def test_the_compilers_own_header_is_helped() -> None:
    # Without images, this header of OpenCL C 3.0 does not compile for pvc.
    built = zebin.compile(ADD, "pvc", "-cl-std=CL3.0")
    assert zebin.is_elf(built.elf)
    assert "__opencl_c_images" in built.command[-1]


@needs_ocloc
def test_errors_have_their_place(tmp_path: Path) -> None:
    (tmp_path / "with space").mkdir()
    (tmp_path / "with space" / "h.h").write_text("#define N 3\n")
    source = '#include "h.h"\nkernel void k(global int *a) {\n  a[N] = wrong;\n}\n'
    with pytest.raises(BuildError) as caught:
        zebin.compile(source, "skl", name="k.cl", directory=tmp_path / "with space")
    assert str(caught.value) == (
        "1 error in the program\n"
        "k.cl:3:10: error: use of undeclared identifier 'wrong'\n"
        "    a[N] = wrong;\n"
        "           ^"
    )
    (found,) = caught.value.diagnostics
    assert found.span is not None and found.span.source.text == source


@needs_ocloc
def test_inline_assembly_that_the_device_lacks() -> None:
    source = """kernel void k(global int *a) {
  int x = a[0];
  __asm__ volatile("rol (M1,16) %0(0,0)<1> %0(0,0)<1;1,0> %0(0,0)<1;1,0>\\n" : "+rw"(x));
  a[0] = x;
}"""
    with pytest.raises(BuildError, match=r"not supported on this platform: rol \(M1, 16\)"):
        zebin.compile(source, "skl")
