"""The command line: what it prints, what it saves, and how it leaves."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mutated_command_lines
from eumu.cli import main
from eumu.cli import words as command_words
from eumu.cli.terminal import Paint, Progress
from kernels import build

BIN = build.BIN / "pvc"
SAXPY = [
    *("run", str(BIN / "saxpy.bin"), "--engine", "interp", "--global", "64", "--local", "32"),
    *("--arg", "x=arange:float32:64", "--arg", "y=ones:float32:64", "--arg", "a=2.5"),
]
Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *argv: str) -> tuple[int, str, str]:
    """Exit status, standard output, standard error."""
    status = main(argv)
    out = capsys.readouterr()
    return status, out.out, out.err


def test_run_says_what_it_did(capsys: Captured) -> None:
    status, out, err = run(capsys, *SAXPY)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("saxpy on pvc (interp): 2 groups, 2 threads, ")
    assert lines[1] == "  x  float32[64]  0 1 2 3 … 63  (unchanged)"
    assert lines[2] == "  y  float32[64]  1 3.5 6 8.5 … 158.5"


def test_arrays_from_and_to_files(capsys: Captured, tmp_path: Path) -> None:
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(source, np.full(64, 2, np.float32))
    argv = [a.replace("x=arange:float32:64", f"0=@{source}") for a in SAXPY]
    status, out, _ = run(capsys, *argv, "--save", f"y={target}", "--quiet")
    assert (status, out) == (0, "")
    assert (np.load(target) == 6).all()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x=zeros:float33:4", "unknown type 'float33'; known are int8, "),
        ("x=zeros:float32", "the form is zeros:TYPE:SHAPE, as in float32:1024"),
        ("x=full:float32:4", "the form is full:TYPE:SHAPE:VALUE"),
        ("x=zeros:float32:4y", "'4y' is not an integer"),
        ("x=banana", "'banana' is no number, @file.npy, local:BYTES, null or one of zeros:…"),
        ("x=@none.npy", "'none.npy': no such file"),
        ("x", "'x' is not of the form NAME=VALUE"),
        ("x=5", "argument 0 'x' is float*: pass an array in device memory"),
        ("x=arange:int32:64", "the array has elements of int32, the kernel reads float32"),
        ("0=null", ""),
    ],
)
def test_values_that_cannot_be_used(capsys: Captured, value: str, message: str) -> None:
    argv = [a.replace("x=arange:float32:64", value) for a in SAXPY]
    status, _, err = run(capsys, *argv)
    assert status == (2 if message else 3)
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run", "none.bin", "--global", "4"], "none.bin: No such file or directory"),
        ([*SAXPY[:2], "--global", "64"], "argument missing: --arg a=NUMBER  (float a)"),
        (
            ["run", str(BIN / "constant_table.bin"), "--global", "64"],
            "--arg in=zeros:int32:1024  (global int* in)",
        ),
        ([*SAXPY, "--arg", "z=1"], "kernel saxpy has no argument 'z'"),
        ([*SAXPY, "--arg", "a=1"], "--arg a is given twice"),
        ([*SAXPY, "--arg", "2=1"], "argument a is given by name and by number"),
        ([*SAXPY, "--kernel", "saxpi"], "no kernel 'saxpi'; did you mean 'saxpy'"),
        ([*SAXPY, "--device", "skl"], "is a program for pvc, the device is skl"),
        ([*SAXPY, "--device", "slk"], "unknown device 'slk'; the nearest names are skl"),
        ([*SAXPY, "--local", "48"], "does not divide into groups of 48"),
        ([*SAXPY, "--global", "1,1,1,1"], "--global '1,1,1,1' has more than three dimensions"),
        ([*SAXPY, "--fuel", "many"], "--fuel 'many' is not an integer"),
        ([*SAXPY, "--save", "a=a.npy"], "--save a: the kernel has no array or image argument 'a'"),
        ([*SAXPY, "--engine", "fast"], "invalid choice: 'fast'"),
        (["run", str(BIN / "math_functions.bin"), "--global", "4"], "--kernel math_functions | "),
        ([*SAXPY, "--offset", "-1"], "global_offset is (-1,)"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["fmt", str(BIN / "saxpy.bin")], "is a compiled program; fmt takes vISA text"),
        (["fmt", "-i", "-"], "standard input cannot be rewritten"),
    ],
)
def test_wrong_usage(capsys: Captured, argv: list[str], message: str) -> None:
    status, _, err = run(capsys, *argv)
    assert status == 2
    assert message in err
    assert "Traceback" not in err


def test_a_value_may_begin_with_a_dash() -> None:
    words = ["check", "k.cl", "--build-options", "-cl-std=CL3.0", "--notes", "--build-options"]
    joined = ["check", "k.cl", "--build-options=-cl-std=CL3.0", "--notes", "--build-options"]
    assert list(command_words.joined(words)) == joined


def test_no_command_shows_the_help(capsys: Captured) -> None:
    status, out, _ = run(capsys)
    assert status == 2
    assert "eumu run examples/saxpy.bin" in out


def test_a_program_that_is_none(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "k.bin"
    path.write_bytes(b"\x7fELF and more")
    status, _, err = run(capsys, "info", str(path))
    assert status == 1
    assert err.startswith("eumu: error: k.bin: ")


def test_a_fault(capsys: Captured) -> None:
    argv = [a.replace("y=ones:float32:64", "y=ones:float32:8") for a in SAXPY]
    status, out, err = run(capsys, *argv)
    assert status == 3
    assert out == ""
    assert err.startswith("eumu: fault: ")
    assert "array 'y' (32 bytes" in err


def test_a_checked_run(capsys: Captured) -> None:
    assert run(capsys, *SAXPY, "--check")[::2] == (0, "")
    half_done = [*("run", str(BIN / "asm_simd16_in_simd32.bin"), "--engine", "interp", "--check")]
    status, out, err = run(capsys, *half_done, "--global", "32", "--arg", "a=ones:float32:32")
    assert status == 1
    assert out.startswith("half_done on pvc (interp): 1 groups, 1 threads, ")
    first = "asm_simd16_in_simd32.bin:half_done.visaasm:78:5: error: undefined stored data in lanes"
    assert err.startswith(f"{first} 16-31: ")
    assert "note: in kernel half_done, group (0, 0, 0), thread 0" in err


def test_too_little_fuel(capsys: Captured) -> None:
    status, _, err = run(capsys, *SAXPY, "--fuel", "0x5")
    assert status == 3
    assert "fuel=5" in err


def test_printf_goes_to_standard_output(capsys: Captured) -> None:
    status, out, _ = run(
        capsys,
        *("run", str(BIN / "print_values.bin"), "--kernel", "print_values", "--engine", "interp"),
        *("--global", "8", "--arg", "x=full:float32:8:1.5", "--arg", "n=1", "--quiet"),
    )
    assert (status, out) == (0, "item 0 of x: 1.500 0 a\n")


def test_vectors_structs_and_local_memory(capsys: Captured, tmp_path: Path) -> None:
    record = tmp_path / "record.npy"
    np.save(record, np.zeros(48, np.uint8))
    status, _, err = run(
        capsys,
        *("run", str(BIN / "struct_argument.bin"), "--global", "8", "--engine", "interp"),
        *("--arg", f"p=@{record}", "--arg", "items=zeros:uint8:96"),
        *("--arg", "out=zeros:float32:8", "--arg", "total=zeros:int64:8"),
    )
    assert (status, err) == (0, "")
    status, out, err = run(
        capsys,
        *("run", str(BIN / "local_pointers.bin"), "--global", "16", "--engine", "interp"),
        *("--arg", "first=local:64", "--arg", "second=local:64"),
        *("--arg", "in=arange:int32:16", "--arg", "out=zeros:float32:16"),
    )
    assert (status, err) == (0, "")
    assert "out  float32[16]" in out


def test_build(capsys: Captured, tmp_path: Path, ocloc: str) -> None:
    source, made = tmp_path / "twice.cl", tmp_path / "twice.bin"
    source.write_text("kernel void twice(global int *o) { o[get_global_id(0)] *= N; }")
    status, out, err = run(capsys, "build", str(source), "--build-options", "-DN=2")
    assert (status, out) == (0, "")
    assert err.startswith(f"{made}: for pvc (") and "ocloc" in err
    words = ("--global", "4", "--arg", "o=arange:int32:4")
    assert "0 2 4 6" in run(capsys, "run", str(made), *words)[1]
    made.unlink()
    status, _, err = run(capsys, "build", str(source), "--device", "skl", "-o", str(made))
    assert status == 1 and "use of undeclared identifier 'N'" in err
    assert not made.exists()
    source.write_bytes((BIN / "saxpy.bin").read_bytes())
    status, _, err = run(capsys, "build", str(source))
    assert status == 2 and "is a compiled program already" in err


def test_info(capsys: Captured) -> None:
    status, out, _ = run(capsys, "info", str(build.BIN / "skl" / "local_pointers.bin"))
    assert status == 0
    assert out.startswith("local_pointers.bin: for skl (Skylake)\n")
    assert "kernel local_pointers(local int* first, local float* second, global int* in" in out
    assert "local memory     32 bytes a group" in out
    assert "argument 0       local int* first (8 bytes; slm)" in out
    assert "argument 2       global int* in (8 bytes; stateful, buffer_address)" in out


def test_info_of_variables(capsys: Captured) -> None:
    _, out, _ = run(capsys, "info", str(BIN / "constant_table.bin"))
    assert re.search(r"^\.data\.const: \d+ bytes of variables$", out, re.M)


TEXT = ".version 4.1\n.kernel k\n.decl V v_type=G type=d num_elts=8\nmov (M1,8) V(0,0)<1> 0x1:d\n"


def test_fmt(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "k.visaasm"
    path.write_text(TEXT)
    status, printed, _ = run(capsys, "fmt", str(path))
    assert status == 0
    assert "    mov (M1, 8) V(0,0)<1> 0x1:d\n" in printed
    assert run(capsys, "fmt", "--check", str(path))[0] == 1
    assert run(capsys, "fmt", "-i", str(path))[0] == 0
    assert path.read_text() == printed
    assert run(capsys, "fmt", "--check", str(path))[0] == 0


def test_fmt_reports_every_error(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "k.visaasm"
    path.write_text(TEXT + "frobnicate (M1, 8) V(0,0)<1>\nmov (M1, 8) W(0,0)<1> 0x1:d\n")
    status, out, err = run(capsys, "fmt", str(path))
    assert (status, out) == (1, "")
    assert f"{path}:5:1: error:" in err
    assert f"{path}:6:13: error:" in err


def test_isa_lists_every_instruction(capsys: Captured) -> None:
    status, out, _ = run(capsys, "isa")
    lines = out.splitlines()
    assert status == 0
    assert lines[1].split() == ["add", "01", "all", "exact"]
    assert any(line.split()[:5] == ["lsc_load", "89.00", "from", "dg2", "on"] for line in lines)
    status, out, _ = run(capsys, "isa", "--format", "json")
    rows = {row["mnemonic"]: row for row in json.loads(out)}
    assert status == 0 and len(rows) > 150
    assert rows["nbarrier.signal"]["opcode"] == 0x60
    assert rows["nbarrier.signal"]["platforms"] == [
        "pvc",
        "bmg",
        "lnl",
        "ptl",
        "nvl",
        "nvlp",
        "cri",
    ]
    assert all(row["detail"] for row in rows.values() if row["fidelity"] != "exact")


def test_explain(capsys: Captured) -> None:
    status, out, _ = run(capsys, "explain", "add")
    assert status == 0
    assert "dst[i] = src0[i] + src1[i]" in out
    assert "page         vISA ADD" in out
    assert run(capsys, "explain", "ADD")[1] == out
    status, out, _ = run(capsys, "explain")
    assert status == 0
    assert any(line.startswith("barrier ") for line in out.splitlines())
    status, _, err = run(capsys, "explain", "ad")
    assert status == 1
    assert "near it: " in err and "add" in err


def test_a_bug_is_one_line_that_says_how_to_see_more(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> int:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("eumu.cli.info.command", broken)
    status, _, err = run(capsys, "info", "x")
    assert status == 1
    assert err.startswith("eumu: internal error: ZeroDivisionError: division by zero\n")
    monkeypatch.setenv("EUMU_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["info", "x"])


def test_help_loads_neither_numpy_nor_the_runtime() -> None:
    code = (
        "import sys; from eumu.cli import main; status = main(['--help'])\n"
        "heavy = {'numpy', 'yaml', 'llvmlite', 'elftools', 'rich'} | {'eumu.runtime', 'eumu.isa'}\n"
        "print(status, sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=_environment()
    )
    assert done.stderr == "0 []\n"
    assert "exit status" in done.stdout


@pytest.mark.parametrize(("words", "status"), [(["isa"], 0), (["fmt", "no such file"], 2)])
def test_a_process_ends_without_looking_for_garbage(words: list[str], status: int) -> None:
    code = (
        "import gc, sys; from eumu.cli import entry; before = gc.get_threshold()[0]\n"
        f"sys.argv[1:] = {words}; status = entry()\n"
        "print(status, gc.get_freeze_count() > 1000, gc.get_threshold()[0] > 10 * before,"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=_environment()
    )
    assert done.stderr.splitlines()[-1] == f"{status} True True"


def test_text_commands_do_without_numpy() -> None:
    code = (
        "import sys, eumu.cli.fmt, eumu.cli.explain\n"
        "print(sorted({'numpy', 'yaml', 'eumu.runtime'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=_environment()
    )
    assert done.stdout == "[]\n", done.stderr


def test_output_that_nobody_reads() -> None:
    command = f"{sys.executable} -m eumu explain | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        env=_environment(),
    )
    assert done.stderr == ""


def _environment() -> dict[str, str]:
    source = str(Path(__file__).parents[2] / "src")
    return {**os.environ, "PYTHONPATH": source}


# ---- the terminal


def test_colour_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    primary, replica = pty.openpty()
    with os.fdopen(replica, "w") as terminal:
        paint = Paint.for_stream(terminal)
        assert paint.on
        painted = paint.error("k:1:1: error: bad\n  text\n   ^^")
        assert "\33[31m" in painted and "\33[32m^^" in painted
        monkeypatch.setenv("NO_COLOR", "1")
        assert not Paint.for_stream(terminal).on
    os.close(primary)
    assert not Paint.for_stream(io.StringIO()).on
    assert Paint(False).error("error: x") == "error: x"


def test_progress_is_for_terminals_and_long_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    quiet = io.StringIO()
    with Progress("work", quiet, after=0.0):
        time.sleep(0.02)
    assert quiet.getvalue() == ""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    short = Terminal()
    with Progress("work", short, after=10.0):
        pass
    assert short.getvalue() == ""


def test_progress_bar(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal, seen = _Screen(), ""
    with terminal, Progress("work", terminal.stream, after=0.01) as bar:
        bar.report(3, 4)
        while "75%" not in seen:
            seen += terminal.read()
        bar.note("a note")
        while "a note" not in seen:
            seen += terminal.read()
        bar.write("out")
        seen += terminal.read()
    assert "work" in seen and "0 s" in seen
    assert seen.endswith("\33[2K\33[?25h") or seen.endswith("\33[2K"), "the bar goes"
    assert capsys.readouterr().out == "out"


def test_run_shows_a_bar_when_it_takes_long() -> None:
    items = 4 << 14  # the interpreter runs 16384 work items at a time
    arrays = [f"{k}=random:float32:{4 * items}:{k}" for k in range(3)]
    command = [
        *(sys.executable, "-m", "eumu", "run", str(BIN / "nbody.bin"), "--engine", "interp"),
        *("--global", str(items), "--local", "64"),
        *(f"--arg={a}" for a in (*arrays, "tile=local:1024", "n=512", "dt=1", "softening=1")),
    ]
    terminal, seen = _Screen(), ""
    with terminal:
        done = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=terminal.stream,
            env={**_environment(), "TERM": "xterm"},
        )
        terminal.stream.close()
        while text := terminal.read():
            seen += text
    assert done.wait() == 0
    assert "running nbody" in seen and "%" in seen
    assert seen.endswith("\33[2K"), "the bar goes"


class _Screen:
    """A pseudo-terminal: what is written to `stream` can be read."""

    def __init__(self) -> None:
        self._primary, replica = pty.openpty()
        self.stream = os.fdopen(replica, "w")

    def __enter__(self) -> _Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        os.close(self._primary)

    def read(self) -> str:
        """What has come; waits for something, or for the end."""
        try:
            return os.read(self._primary, 1 << 16).decode("utf-8", "replace")
        except OSError:  # EIO: nobody can write any more
            return ""


@pytest.mark.parametrize("command", sorted(mutated_command_lines.parsers()))
@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_no_file_has_a_name_that_no_system_passes_on(
    capsys: Captured, command: str, name: str
) -> None:
    status, out, err = run(capsys, command, name, f"--output={name}")
    assert (status, out) == (2, "")
    assert re.fullmatch(r"eumu: error: word 2 of the command line has (a|no) bytes? .*\n", err)
