"""The fast engine takes everything that is shipped, also in its checked form.

It refuses while it makes LLVM text, so that is made here and not compiled.  That no program falls
back to the interpreter is asserted where they are launched (`test_kernels`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

import eumu
from eumu.errors import Unsupported
from eumu.exec.jit.driver.module import build
from eumu.exec.jit.host.target import host
from eumu.exec.jit.interface import Special
from eumu.ir import Function
from eumu.ir.passes import find_undefined
from eumu.lower import lower
from eumu.platforms import platform
from runfile import read

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.glob("runs/**/*.visa"))
EXAMPLES = sorted((TESTS.parent / "examples").glob("*.bin"))
SPECIAL = Special(True, (), 0, 0, range(0), 1 << 16, 1 << 14, (0,) * 16)


def refused(function: Function) -> str:
    """What the engine says of a function or of its checked form."""
    for form in (function, find_undefined(function)):
        try:
            build(form, SPECIAL, host().target)
        except Unsupported as reason:
            return str(reason)
    return ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_run_files(path: Path) -> None:
    file = read(path)
    assert "jit" in file.engines
    for name in file.platforms:
        assert not refused(lower(file.kernel, platform(name), file.functions)), name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    program = eumu.load(path)
    for kernel in program.kernels:
        device = program.platform or platform("pvc")
        assert not refused(kernel.function(device)), kernel.name
