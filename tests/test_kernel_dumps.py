"""Texts that Intel's compiler leaves behind: what it hands to its own assembler, and the kernel.

`kernels/dumps` has them as the compiler wrote them.  In `.inline.visaasm`, inline assembly stands
in the middle of the compiler's own lines, with declarations where they are first needed and
inputs at the end.  Each is read, printed, made an object file, and run by both engines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import eumu
from eumu import binary, verify
from eumu.errors import Severity
from eumu.platforms import platform
from eumu.text import parse, print_module

DUMPS = Path(__file__).parent / "kernels" / "dumps"
FILES = sorted(DUMPS.glob("*.visaasm"))
ENGINES = ("interp", "jit")


def _given() -> NDArray[np.int32]:
    """48 words: three operands of sixteen lanes each."""
    return np.random.default_rng(8).integers(-(1 << 31), 1 << 31, 48, dtype=np.int32)


def _launch(name: str, engine: str, data: NDArray[Any], lanes: int, *, check: bool = False) -> Any:
    device = eumu.Device("pvc", engine=engine, check=check)
    memory = device.array(data)
    program = eumu.load((DUMPS / f"{name}.visaasm").read_bytes(), device="pvc")
    report = program["kernel"].launch(device, lanes, lanes, args=[memory])
    return memory.numpy(), report


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_round_trip(path: Path) -> None:
    grf = platform("pvc").grf_bytes
    printed = print_module(module := parse(path.read_text(encoding="utf-8"), path.name, grf))
    assert print_module(parse(printed, "again", grf)) == printed
    again = binary.read(binary.write(module, grf), "object", grf)
    before, after = ([i.opcode for i in m.kernels[0].instructions] for m in (module, again))
    assert before == after


@pytest.mark.parametrize("engine", ENGINES)
def test_rotations_and_byte_products(engine: str) -> None:
    data = _given()
    got, _ = _launch("xe_instructions.inline", engine, data, 16)
    x, y, z = (data[16 * k : 16 * k + 16] for k in range(3))
    want = [_word(*(int(v) & 0xFFFF_FFFF for v in lane)) for lane in zip(x, y, z, strict=True)]
    assert got[:16].view(np.uint32).tolist() == want


def _word(x: int, y: int, z: int) -> int:
    """rol + ror, x + y + z, and x plus the products of the signed bytes of y and z."""
    n = y & 31
    rotated = [x << n | x >> 32 - n, x >> n | x << 32 - n]
    octets = [np.array([v], np.uint32).view(np.int8).tolist() for v in (y, z)]
    products = x + sum(a * b for a, b in zip(*octets, strict=True))
    return (sum(r & 0xFFFF_FFFF for r in rotated) + x + y + z + products) & 0xFFFF_FFFF


@pytest.mark.parametrize("name", ["half_done", "half_done.inline"])
@pytest.mark.parametrize("engine", ENGINES)
def test_half_of_the_lanes(name: str, engine: str) -> None:
    """The assembly computes 16 lanes; of the others, the checked mode says line and lanes."""
    data = np.arange(32, dtype=np.float32)
    got, _ = _launch(name, engine, data, 32)
    assert (got[:16] == data[:16] ** 2).all()
    _, report = _launch(name, engine, data, 32, check=True)
    (finding,) = report.findings
    line = next(
        k
        for k, text in enumerate((DUMPS / f"{name}.visaasm").read_text().splitlines(), 1)
        if "lsc_store" in text
    )
    assert f":{line}:" in str(finding) and "lanes 16-31" in str(finding)


def test_the_checker_finds_what_is_too_small() -> None:
    text = (DUMPS / "madw_too_small.inline.visaasm").read_text()
    found = verify.check_text(text, "madw", platform("pvc"))
    wrong = [d for d in found if d.severity is Severity.ERROR]
    assert len(wrong) == 1 and "madw" in text.splitlines()[wrong[0].span.line - 1]
    with pytest.raises(eumu.BuildError, match="madw reaches byte 127 of 'V0059'"):
        _launch("madw_too_small.inline", "interp", _given(), 16)
