"""What a command does before it begins: only what it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eumu.cli.main import main
from eumu.cli.parsing import parser

ROOT = Path(__file__).resolve().parents[2]
SAXPY = str(ROOT / "examples" / "saxpy.bin")
COMMANDS = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]


@pytest.mark.parametrize("name", list(COMMANDS or {}))
def test_the_parser_of_one_command(name: str) -> None:
    """Only its options are declared, and its help is what it is beside the others."""
    (alone,) = parser(name)._subparsers._group_actions  # type: ignore[union-attr]
    assert list(alone.choices or ()) == [name]
    assert alone.choices[name].format_help() == COMMANDS[name].format_help()  # type: ignore[index]


@pytest.mark.parametrize("given", [None, "7"])
def test_programs_keep_their_blas(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread is for NumPy here; what a command starts has the setting of its user."""
    name = "OPENBLAS_NUM_THREADS"
    monkeypatch.delenv(name, raising=False)
    if given is not None:
        monkeypatch.setenv(name, given)
    assert main(["info", SAXPY]) == 0
    assert os.environ.get(name) == given


# What reads, compiles, checks or shows something else than a kernel whose code is on disk.
ELSEWHERE = (
    *("eumu.binary", "eumu.native", "eumu.lower_native", "eumu.verify", "eumu.isa.gen9"),
    *("eumu.exec.interp", "eumu.exec.jit.analysis", "eumu.exec.jit.codegen"),
    *("eumu.exec.jit.driver", "eumu.exec.jit.host.compiler", "eumu.zebin.ocloc"),
    *("eumu.device.commands", "eumu.device.compiled", "eumu.device.functions", "eumu.device.vme"),
    *("eumu.device.sampler", "eumu.device.state", "eumu.device.surfaces", "eumu.runtime.images"),
    *("eumu.runtime.heaps", "eumu.runtime.media", "eumu.runtime.samplers", "eumu.runtime.races"),
    *("eumu.beside", "eumu.campaign", "eumu.cl", "eumu.compare", "eumu.drm", "eumu.cli.images"),
    *("PIL", "distributed", "pygments", "rich", "xml"),
)
LISTED = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"


def imported(place: Path, *words: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    script = f"{LISTED}from eumu.cli import entry\nsys.argv[:] = ['eumu', *sys.argv[1:]]\nentry()"
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        env={**os.environ, "EUMU_CACHE_DIR": str(place)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def within(modules: set[str], rooms: tuple[str, ...]) -> list[str]:
    return sorted(m for m in modules for room in rooms if f"{m}.".startswith(f"{room}."))


def test_a_run_imports_what_its_kernel_needs(tmp_path: Path) -> None:
    """A command that runs a kernel from the cache is mostly imports; so is a small launch."""
    words = ("run", SAXPY, "--global", "64", "--arg", "a=2.5", "--quiet")
    arrays = ("--arg", "x=arange:float32:64", "--arg", "y=ones:float32:64")
    small = imported(tmp_path, *words, *arrays)
    assert set(within(small, ELSEWHERE)) == set(within(small, ("eumu.exec.interp",)))
    named = (*words, *arrays, "--engine", "jit")
    compiled, found = (imported(tmp_path, *named) for _ in range(2))
    assert within(compiled, ("eumu.exec.jit.codegen",)), "the first run compiles"
    assert within(found, ELSEWHERE) == []


def test_commands_without_arrays_import_no_numpy(tmp_path: Path) -> None:
    text = str(ROOT / "tests" / "corpus" / "prelude.visaasm")
    assert within(imported(tmp_path, "fmt", text), ("numpy", "llvmlite", "yaml")) == []
