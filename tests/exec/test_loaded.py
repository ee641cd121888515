"""Code that goes takes its memory along."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

from eumu.exec.jit.host.loaded import Loaded
from eumu.exec.jit.host.target import compile_object, host

CODE = "define i64 @run() {\n  ret i64 7\n}\n"
ROUND = 256  # libraries: several linkers


def resident() -> int:
    """KiB of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4


def test_libraries_that_go_leave_nothing() -> None:
    code = [compile_object(CODE, host())]
    for _ in range(ROUND):
        Loaded(code, host(), has_again=False)
    before = resident()
    for _ in range(2 * ROUND):
        Loaded(code, host(), has_again=False)
    assert resident() - before < 1024


def test_code_outlives_the_linker_that_others_get() -> None:
    code = [compile_object(CODE, host())]
    first = Loaded(code, host(), has_again=False)
    for _ in range(ROUND):
        Loaded(code, host(), has_again=False)
    gc.collect()
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(first.run)() == 7
