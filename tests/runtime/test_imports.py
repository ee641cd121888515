"""What a launch imports: programs start in the time that this takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_LAUNCH = """
import sys
import numpy as np
import eumu

device = eumu.Device("skl", "jit")
program = eumu.load("saxpy.bin")
x, y = (device.array(np.ones(100, np.float32)) for _ in "xy")
report = program["saxpy"].launch(device, global_size=(100,), local_size=(50,), args=[x, y, 3.0])
assert report.engine == "jit" and (y.numpy() == 4).all()
print(*sys.modules)
"""
# Of what is compiled, checked, or of images, a kernel without them needs nothing.
_UNUSED = (
    *("eumu.exec.jit.analysis", "eumu.exec.jit.codegen", "eumu.exec.jit.driver"),
    *("eumu.verify", "eumu.isa.gen9", "eumu.isa.messages", "eumu.isa.visa.sampler"),
    *("eumu.exec.interp", "eumu.reports", "eumu.device.commands", "eumu.device.sampler"),
)


def test_a_kernel_that_was_compiled_imports_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EUMU_CACHE", raising=False)
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path))
    place = Path(__file__).parents[1] / "kernels" / "bin" / "skl"

    def imported() -> set[str]:
        command = [sys.executable, "-c", _LAUNCH]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
        return {name for name in done.stdout.split() if name.startswith(_UNUSED)}

    assert "eumu.exec.jit.driver.module" in imported()
    assert imported() == set()
