"""Packages that need not be there: what is said without them, and that the rest runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OPTIONAL = (
    *("rich", "pygments", "PIL", "pygls", "lsprotocol", "pyopencl", "mpmath", "hypothesis"),
    *("dask", "distributed"),
)

# Finders that do not find the packages, nor what is in them.
WITHOUT = """
import sys
gone, sys.argv = sys.argv[1].split(","), ["eumu", *sys.argv[2:]]

class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, *rest):
        return None if name.partition(".")[0] in gone else self.finder.find_spec(name, *rest)
    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
from eumu.cli import entry
sys.exit(entry())
"""
SAXPY = (
    *("run", str(ROOT / "examples" / "saxpy.bin"), "--global", "64", "--arg", "a=2.5"),
    *("--arg", "x=arange:float32:64", "--arg", "y=ones:float32:64"),
)


def run(gone: tuple[str, ...], *words: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-c", WITHOUT, ",".join(gone), *words)
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize(
    "words",
    [
        SAXPY,
        ("info", "examples/saxpy.bin"),
        ("dis", "tests/kernels/bin/apl/saxpy.bin"),
    ],
    ids=lambda words: words[0],
)
def test_commands_need_no_optional_package(words: tuple[str, ...]) -> None:
    done = run(OPTIONAL, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_without_llvmlite_the_interpreter_runs_and_it_is_said() -> None:
    done = run(("llvmlite",), *SAXPY)
    assert done.returncode == 0
    assert "saxpy on pvc (interp)" in done.stdout and "158.5" in done.stdout
    assert "llvmlite is not installed: the interpreter runs kernels" in done.stderr
    assert "pip install llvmlite" in done.stderr
    assert run(("llvmlite",), *SAXPY, "--engine", "interp").stderr == ""  # asked for
    refused = run(("llvmlite",), *SAXPY, "--engine", "jit")
    assert refused.returncode == 1
    assert refused.stderr == "eumu: error: engine 'jit' needs llvmlite: pip install llvmlite\n"


@pytest.mark.parametrize(
    ("gone", "words", "said"),
    [
        ("pygls", ("lsp",), "pip install 'eumu[lsp]'"),
        (
            "distributed",
            ("campaign", "random-visa", "--store", ":memory:"),
            "pip install 'eumu[campaign]'",
        ),
        (
            "PIL",
            (
                *("run", "examples/picture.bin", "--global", "16,16", "--arg", "radius=1"),
                *("--arg", "in=@docs/pictures/picture.png", "--arg", "s=sampler:linear"),
                *("--arg", "out=image:RGBA8_UNORM:16x16"),
            ),
            "pip install 'eumu[pictures]'",
        ),
    ],
)
def test_what_needs_one_says_which(gone: str, words: tuple[str, ...], said: str) -> None:
    done = run((gone,), *words)
    assert done.returncode in (1, 2) and said in done.stderr
    assert "internal error" not in done.stderr
