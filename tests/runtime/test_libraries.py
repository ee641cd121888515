"""Programs of several files: what one uses and another exports, by both compilers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import eumu
from eumu import zebin
from eumu.cli.main import main
from eumu.zebin.compilers import Compiler
from kernels import build

# Both files have a variable `table`, a function `f` and a kernel or function `own` of their own.
MAIN = """
int helper(int x, int n);
int bump(void);
extern constant int steps[2];
constant int table[8] = {10, 20, 35, 11, 40, 17, 90, 1};
int own(int x);
int f(int x) { return x < 100 ? f(x + 100) : x - 99; }
kernel void k(global int *out) {
    int i = get_global_id(0);
    out[i] = helper(f(i) * table[i & 7], 1) + f(steps[i & 1]) + own(i);
    if (i == 0) out[64] = bump();
}
"""
LIBRARY = """
constant int table[8] = {7, 9, 4, 30, 2, 60, 5, 8};
constant int steps[2] = {3, 5};
global int counter = 40;
#ifdef PRINTS
#define SAY(x, n) if (n && x < 40) printf("%d of %d\\n", x, (int)get_global_size(0));
#else
#define SAY(x, n)
#endif
int f(int x) { return x < 0 ? f(x + 7) : x * 5; }
int helper(int x, int n) { SAY(x, n) return f(x) - table[x & 7] + steps[n & 1]; }
int bump(void) { return atomic_add((volatile global int *)&counter, 1); }
"""
OWN = "int own(int x) { return x << 8; }\n"


@dataclass(frozen=True)
class Files:
    device: str
    main: bytes
    library: bytes
    own: bytes


def _built(path: str, device: str, more: str) -> Files:
    def elf(source: str, options: str) -> bytes:
        options = f"-cl-std=CL2.0 {options}"
        return zebin.compile(source, device, options, compiler=Compiler(path)).elf

    exports = f"-library-compilation {more}"
    return Files(device, elf(MAIN, ""), elf(LIBRARY, exports), elf(OWN, exports))


@pytest.fixture(scope="module")
def files(ocloc: str) -> Files:
    return _built(ocloc, "skl", "")


def _expected() -> tuple[np.ndarray, list[int]]:
    i = np.arange(64, dtype=np.int32)
    steps = np.array([3, 5], np.int32)
    x = (i + 1) * np.array([10, 20, 35, 11, 40, 17, 90, 1], np.int32)[i & 7]
    called = x * 5 - np.array([7, 9, 4, 30, 2, 60, 5, 8], np.int32)[x & 7] + steps[1]
    return called + steps[i & 1] + 1 + (i << 8), x[x < 40].tolist()


def _check(files: Files, engine: str) -> str:
    program = eumu.load(files.main, libraries=[files.library, files.own])
    assert list(program) == ["k"]
    printed: list[str] = []
    dev = eumu.Device(files.device, engine=engine, sink=printed.append)
    for turn in range(2):  # variables of libraries keep their values
        out = dev.array(65, np.int32)
        report = program["k"].launch(dev, 64, 32, [out])
        assert report.engine == engine
        assert (out.numpy()[:64] == _expected()[0]).all() and out.numpy()[64] == 40 + turn
    return "".join(printed)


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_functions_and_variables_of_libraries(files: Files, engine: str) -> None:
    assert _check(files, engine) == ""


def test_those_of_the_newest_compiler_print(newest_ocloc: str) -> None:
    files = _built(newest_ocloc, "bmg", "-DPRINTS")
    wanted = sorted(2 * [f"{x} of 64" for x in _expected()[1]])
    for engine in ("interp", "jit"):
        assert sorted(_check(files, engine).splitlines()) == wanted


def test_what_no_file_defines_is_named(files: Files) -> None:
    dev = eumu.Device(files.device)
    program = eumu.load(files.main, libraries=[files.library])
    with pytest.raises(eumu.BuildError, match=r"uses 'own', defined nowhere.*--library FILE"):
        program["k"].launch(dev, 64, 32, [dev.array(65, np.int32)])


def test_native_code_of_a_kernel_with_libraries(files: Files) -> None:
    dev = eumu.Device(files.device)
    program = eumu.load(files.main, libraries=[files.library, files.own])
    with pytest.raises(eumu.Unsupported, match=r"level 'native' of kernel k, .* of a library"):
        program["k"].launch(dev, 64, 32, [dev.array(65, np.int32)], level="native")


def test_libraries_that_do_not_go_with_the_program(files: Files) -> None:
    with pytest.raises(eumu.BuildError, match="is defined in library 1 and library 2"):
        eumu.load(files.main, libraries=[files.library, files.library])
    with pytest.raises(eumu.LaunchError, match=r"library 1 is for pvc, and program for skl"):
        eumu.load(files.main, libraries=[(build.BIN / "pvc" / "saxpy.bin").read_bytes()])
    with pytest.raises(eumu.FormatError, match="library 1: not an ELF file"):
        eumu.load(files.main, libraries=[b"kernel void k() {}"])
    with pytest.raises(eumu.ArgumentError, match="libraries must be a list"):
        eumu.load(files.main, libraries=files.own)
    with pytest.raises(eumu.ArgumentError, match="is vISA"):
        eumu.load(b".version 4.1\n", libraries=[files.own])


def test_the_command_line(files: Files, tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    paths = {name: tmp_path / f"{name}.bin" for name in ("main", "library", "own")}
    for name, path in paths.items():
        path.write_bytes(getattr(files, name))
    words = ["run", str(paths["main"]), "--global", "64", "--arg", "out=zeros:int32:65"]
    libraries = [f"--library={paths[name]}" for name in ("library", "own")]
    assert main([*words, *libraries]) == 0
    assert "55 460 1037 997" in capsys.readouterr().out
    assert main([*words, libraries[0]]) == 1 and "'own'" in capsys.readouterr().err
    assert main(["info", str(paths["main"])]) == 0
    assert "does not define: steps, helper, own, bump" in capsys.readouterr().out
    assert main(["info", str(paths["library"])]) == 0
    told = capsys.readouterr().out
    assert "functions for other programs:" in told and "helper" in told and "bump" in told
