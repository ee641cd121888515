"""`eumu demo`: run kernels that come with the package, and put them where they can be tried."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Final

import numpy as np

import eumu
from eumu.cli.status import FAILED, FINE, UsageError

_PACKAGE: Final = Path(eumu.__file__).parent
# In an installed package they lie inside it, in a checkout beside `src`.
EXAMPLES: Final = next(
    (p for p in (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples") if p.is_dir()),
    _PACKAGE / "examples",
)
_CLOSE: Final = 1e-4


def command(options: argparse.Namespace) -> int:
    """Run the examples against NumPy; with `--copy`, copy them instead."""
    if options.copy is not None:
        return _copy(Path(options.copy))
    device = eumu.Device("pvc")
    wrong = 0
    for run in (_saxpy, _sgemm):
        report, error = run(device)
        verdict = "right" if error < _CLOSE else "WRONG"
        wrong += error >= _CLOSE
        print(
            f"{report.kernel} on pvc ({report.engine}): {report.groups} groups,"
            f" {report.threads} threads, {report.instructions} instructions in"
            f" {report.seconds:.2f} s; largest difference from NumPy {error:.1e}: {verdict}"
        )
    print("`eumu demo --copy DIR` puts these programs and their sources into DIR/examples")
    return FAILED if wrong else FINE


def _saxpy(device: eumu.Device) -> tuple[eumu.Report, float]:
    """y = a * x + y on 64 Ki elements; the report and the largest error."""
    x = np.linspace(-1, 1, 1 << 16, dtype=np.float32)
    y = np.ones_like(x)
    result = device.array(y)
    kernel = eumu.load(EXAMPLES / "saxpy.bin")["saxpy"]
    report = kernel.launch(device, x.shape, (256,), [device.array(x), result, 2.5])
    return report, float(np.abs(result.numpy() - (2.5 * x + y)).max())


def _sgemm(device: eumu.Device) -> tuple[eumu.Report, float]:
    """C = A * B on 64 x 64 matrices, with tiles in shared local memory and barriers."""
    n = 64
    a, b = np.random.default_rng(1).uniform(-1, 1, (2, n, n)).astype(np.float32)
    c = device.array(np.zeros((n, n), np.float32))
    kernel = eumu.load(EXAMPLES / "sgemm.bin")["sgemm"]
    args = [device.array(a), device.array(b), c, n, n, 1.0, 0.0]
    report = kernel.launch(device, (n, n), (16, 16), args)
    return report, float(np.abs(c.numpy().reshape(n, n) - a @ b).max())


def _copy(directory: Path) -> int:
    target = directory / "examples"
    if target.exists():
        raise UsageError(f"{target} is there already")
    shutil.copytree(EXAMPLES, target, ignore=shutil.ignore_patterns("__pycache__"))
    names = ", ".join(sorted(p.name for p in target.iterdir()))
    print(f"{target}: {names}")
    return FINE
