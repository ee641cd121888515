"""Runs kernels that Intel's compiler built for a Data Center GPU Max (pvc), on this CPU.

    python examples/demo.py

Each example is an OpenCL C source and, beside it, the ELF file that `ocloc` made of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import eumu

HERE = Path(__file__).parent


def saxpy(device: eumu.Device) -> tuple[eumu.Report, float]:
    """y = a * x + y on 64 Ki elements; returns the report and the largest error."""
    x = np.linspace(-1, 1, 1 << 16, dtype=np.float32)
    y = np.ones_like(x)
    result = device.array(y)
    kernel = eumu.load(HERE / "saxpy.bin")["saxpy"]
    report = kernel.launch(
        device, global_size=x.shape, local_size=(256,), args=[device.array(x), result, 2.5]
    )
    return report, float(np.abs(result.numpy() - (2.5 * x + y)).max())


def sgemm(device: eumu.Device) -> tuple[eumu.Report, float]:
    """C = A * B on 64 x 64 matrices, with tiles in shared local memory and barriers."""
    n = 64
    a, b = np.random.default_rng(1).uniform(-1, 1, (2, n, n)).astype(np.float32)
    c = device.array(np.zeros((n, n), np.float32))
    kernel = eumu.load(HERE / "sgemm.bin")["sgemm"]
    report = kernel.launch(
        device,
        global_size=(n, n),
        local_size=(16, 16),
        args=[device.array(a), device.array(b), c, n, n, 1.0, 0.0],
    )
    return report, float(np.abs(c.numpy().reshape(n, n) - a @ b).max())


def main() -> int:
    """Runs the examples; 1 if a result is wrong."""
    device = eumu.Device("pvc")
    wrong = 0
    for run in (saxpy, sgemm):
        report, error = run(device)
        verdict = "right" if error < 1e-4 else "WRONG"
        wrong += error >= 1e-4
        print(
            f"{run.__name__}.bin on pvc: {report.groups} groups, {report.threads} threads,"
            f" {report.instructions} instructions in {report.seconds:.2f} s;"
            f" largest difference from NumPy {error:.1e}: {verdict}"
        )
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
