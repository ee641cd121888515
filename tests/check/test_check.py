"""Checked launches: files say on the line of a mistake what must be found there, and nothing else.

The first line of a file says how to launch its kernel, which takes one array of 64 dwords; a
finding stands as `// error: ...` behind the instruction.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from kernels import build

ENGINES = ("interp", "jit")
FILES = sorted(Path(__file__).parent.glob("*.visa"))
_ERROR = re.compile(r"// error: (.*)")


def expected(path: Path) -> Counter[tuple[int, str]]:
    """Line and words of every finding that a file announces."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return Counter((n, text) for n, line in lines for text in _ERROR.findall(line))


def found(findings: tuple[eumu.Finding, ...]) -> Counter[tuple[int, str]]:
    return Counter((f.span.line if f.span else 0, f.reason.partition(":")[0]) for f in findings)


def launch(path: Path, engine: str, **options: Any) -> eumu.Report:
    local = int(re.findall(r"// launch: local=(\d+)", path.read_text(encoding="utf-8"))[0])
    device = eumu.Device("pvc", engine=engine, **options)
    (kernel,) = eumu.load(path, device=device).kernels
    return kernel.launch(device, 2 * local, local, [device.array(64, np.uint32)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_findings(path: Path, engine: str) -> None:
    report = launch(path, engine, check=True)
    assert found(report.findings) == expected(path)
    assert all(f.group == (0, 0, 0) and f.thread == 0 for f in report.findings)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_both_engines_find_the_same(path: Path) -> None:
    reports = [launch(path, engine, check=True) for engine in ENGINES]
    assert reports[0].findings == reports[1].findings
    assert reports[0].instructions == launch(path, "interp").instructions


def test_without_check_nothing_is_found() -> None:
    assert launch(FILES[0], "interp").findings == ()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", ["pvc", "skl"])
def test_narrow_assembly_in_a_wide_kernel(device: str, engine: str) -> None:
    """The compiler builds `mul (M1, 16)` into a SIMD32 kernel without a word."""
    dev = eumu.Device(device, engine=engine, check=True)
    data = dev.array(np.arange(96, dtype=np.float32))
    kernel = eumu.load(build.BIN / device / "asm_simd16_in_simd32.bin")["half_done"]
    (finding,) = kernel.launch(dev, 96, 48, [data]).findings
    assert finding.lanes == tuple(range(16, 32))
    assert finding.reason.startswith("undefined stored data in lanes 16-31")
    assert finding.span is not None
    store = {"pvc": "lsc_store.ugm (M1, 32)", "skl": "scatter4_scaled.R (M5, 16)"}[device]
    assert store in finding.span.source.line(finding.span.line)
    assert str(finding).splitlines()[0].endswith(finding.reason)
    # Each group has a thread with 32 lanes; of the other, no lane from 16 on has a work item.
    assert (finding.kernel, finding.group, finding.thread) == ("half_done", (0, 0, 0), 0)
    assert finding.count == 2
