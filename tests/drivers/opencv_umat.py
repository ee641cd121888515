"""Operations of OpenCV on `cv2.UMat`, on the virtual GPU, against OpenCV's own code for the CPU.

    python tests/drivers/opencv_umat.py --python PYTHON --log FILE

PYTHON is an interpreter that has OpenCV (`pip install opencv-python-headless`).  Each operation is
run on arrays and on UMat; the largest difference must be one step of 255 for bytes, or 1e-4 of the
largest value for floats, and kernels must have run for it.  Edges (Canny) may lie elsewhere, as in
OpenCV's own tests: the normalized correlation must be 0.99.  One process runs them all; when it
ends in the middle, or takes longer than `--timeout` seconds, another goes on behind the operation
that it was at.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LOG = "EUMU_TEST_LOG"
_SIMILAR = frozenset({"Canny"})


def operations(cv: Any, np: Any) -> dict[str, Callable[..., Any]]:
    """By name; each takes an image of bytes, one of floats, and a grey one, arrays or UMat."""
    kernel = np.outer([1, 2, 1], [1, 2, 1]).astype(np.float32) / 16
    turn = np.array([[0.9, -0.2, 12], [0.2, 0.9, -7]], np.float32)
    tilt = np.array([[0.9, -0.2, 12], [0.2, 0.9, -7], [1e-4, 2e-4, 1]], np.float32)
    table = np.arange(255, -1, -1).astype(np.uint8)
    box = cv.getStructuringElement(cv.MORPH_RECT, (3, 3))
    return {
        "blur": lambda c, f, g: cv.blur(c, (5, 5)),
        "boxFilter": lambda c, f, g: cv.boxFilter(f, -1, (3, 3)),
        "GaussianBlur": lambda c, f, g: cv.GaussianBlur(c, (5, 5), 1.5),
        "Sobel": lambda c, f, g: cv.Sobel(g, cv.CV_16S, 1, 0),
        "Scharr": lambda c, f, g: cv.Scharr(g, cv.CV_16S, 0, 1),
        "Laplacian": lambda c, f, g: cv.Laplacian(f, -1, ksize=5),
        "filter2D": lambda c, f, g: cv.filter2D(f, -1, kernel),
        "sepFilter2D": lambda c, f, g: cv.sepFilter2D(f, -1, kernel[1], kernel[1]),
        "medianBlur": lambda c, f, g: cv.medianBlur(g, 3),
        "bilateralFilter": lambda c, f, g: cv.bilateralFilter(g, 5, 20, 20),
        "erode": lambda c, f, g: cv.erode(c, box),
        "dilate": lambda c, f, g: cv.dilate(c, box),
        "morphologyEx": lambda c, f, g: cv.morphologyEx(g, cv.MORPH_GRADIENT, box),
        "resize linear": lambda c, f, g: cv.resize(c, (100, 77), interpolation=cv.INTER_LINEAR),
        "resize nearest": lambda c, f, g: cv.resize(c, (320, 240), interpolation=cv.INTER_NEAREST),
        "resize area": lambda c, f, g: cv.resize(c, (80, 60), interpolation=cv.INTER_AREA),
        "warpAffine": lambda c, f, g: cv.warpAffine(f, turn, (160, 120), flags=cv.INTER_NEAREST),
        "warpPerspective": lambda c, f, g: cv.warpPerspective(
            f, tilt, (160, 120), flags=cv.INTER_NEAREST
        ),
        "pyrDown": lambda c, f, g: cv.pyrDown(c),
        "pyrUp": lambda c, f, g: cv.pyrUp(c),
        "cvtColor grey": lambda c, f, g: cv.cvtColor(c, cv.COLOR_BGR2GRAY),
        "cvtColor HSV": lambda c, f, g: cv.cvtColor(c, cv.COLOR_BGR2HSV),
        "cvtColor YUV": lambda c, f, g: cv.cvtColor(c, cv.COLOR_BGR2YUV),
        "threshold": lambda c, f, g: cv.threshold(g, 100, 255, cv.THRESH_BINARY)[1],
        "inRange": lambda c, f, g: cv.inRange(c, (10, 20, 30), (200, 210, 220)),
        "equalizeHist": lambda c, f, g: cv.equalizeHist(g),
        "Canny": lambda c, f, g: cv.Canny(g, 60, 120),
        "integral": lambda c, f, g: cv.integral(g),
        "LUT": lambda c, f, g: cv.LUT(g, table),
        "add": lambda c, f, g: cv.add(c, c),
        "subtract": lambda c, f, g: cv.subtract(f, f),
        "multiply": lambda c, f, g: cv.multiply(f, f),
        "absdiff": lambda c, f, g: cv.absdiff(c, cv.flip(c, 1)),
        "addWeighted": lambda c, f, g: cv.addWeighted(f, 0.3, f, 0.6, 2.0),
        "bitwise_not": lambda c, f, g: cv.bitwise_not(c),
        "compare": lambda c, f, g: cv.compare(g, 99, cv.CMP_GT),
        "flip": lambda c, f, g: cv.flip(c, -1),
        "transpose": lambda c, f, g: cv.transpose(f),
        "merge": lambda c, f, g: cv.merge([g, g, g]),
        "split": lambda c, f, g: cv.split(c)[1],
        "exp": lambda c, f, g: cv.exp(f),
        "sqrt": lambda c, f, g: cv.sqrt(f),
        "pow": lambda c, f, g: cv.pow(f, 2.5),
        "magnitude": lambda c, f, g: cv.magnitude(f, f),
        "dft": lambda c, f, g: cv.dft(f, flags=cv.DFT_COMPLEX_OUTPUT),
        "matchTemplate": lambda c, f, g: cv.matchTemplate(f, kernel, cv.TM_SQDIFF),
        "normalize": lambda c, f, g: cv.normalize(f, None, 0, 1, cv.NORM_MINMAX),
        "convertScaleAbs": lambda c, f, g: cv.convertScaleAbs(f, alpha=30.0, beta=5.0),
        "repeat": lambda c, f, g: cv.repeat(c, 2, 3),
    }


def inside(behind: str) -> None:
    """Run the operations behind the one of that name, in a process of the virtual GPU."""
    import cv2 as cv  # type: ignore[import-not-found]
    import numpy as np

    assert cv.ocl.haveOpenCL(), "OpenCV finds no OpenCL device"
    cv.ocl.setUseOpenCL(True)
    rng = np.random.default_rng(1)
    smooth = cv.GaussianBlur(rng.integers(0, 256, (120, 160, 3)).astype(np.uint8), (3, 3), 1)
    images = smooth, (smooth[..., 0] / np.float32(64)), np.ascontiguousarray(smooth[..., 1])
    names = list(operations(cv, np))
    for name in names[names.index(behind) + 1 if behind else 0 :]:
        print(f"begins\t{name}", flush=True)
        run = operations(cv, np)[name]
        wanted, before = run(*images), _kernels()
        got = run(*map(cv.UMat, images)).get()
        allowed = 1.0 if got.dtype.kind in "ui" else 1e-4 * float(np.abs(wanted).max())
        differ = float(np.abs(wanted.astype(np.float64) - got).max())
        count = _kernels() - before
        if name in _SIMILAR:
            differ = 1 - float(cv.matchTemplate(wanted, got, cv.TM_CCORR_NORMED)[0, 0])
            allowed = 0.01
        good = differ <= allowed and count > 0
        print(f"ended\t{name}\t{'right' if good else 'wrong'}\t{differ:g}\t{count}", flush=True)


def _kernels() -> int:
    return Path(os.environ[_LOG]).read_text(encoding="utf-8").count("  kernel ")


def main() -> int:
    parser = argparse.ArgumentParser(description="OpenCV's UMat on the virtual GPU.")
    parser.add_argument("--inside", metavar="BEHIND", help=argparse.SUPPRESS)
    parser.add_argument("--python", type=Path, help="an interpreter with OpenCV")
    parser.add_argument("--timeout", type=float, default=600, help="of a process")
    parser.add_argument("--log", type=Path)
    parser.add_argument("options", nargs="*", help="of eumu gpu")
    given = parser.parse_args()
    if given.inside is not None:
        inside(given.inside)
        return 0
    if given.python is None or given.log is None:
        print("skipped: no OpenCV; --python names an interpreter that has it, --log a file")
        return 0
    outcomes: dict[str, str] = {}
    behind, begun = "", "-"
    while begun:
        begun = process(given, behind, outcomes)
        behind = begun
    print(", ".join(f"{n} {what}" for what, n in Counter(outcomes.values()).most_common()))
    return int(any(what != "right" for what in outcomes.values()))


def process(given: argparse.Namespace, behind: str, outcomes: dict[str, str]) -> str:
    """Run a process; the operation in which it ended, empty if it came to its end."""
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "log"
        log.touch()
        own = [str(given.python), str(Path(__file__).resolve()), "--inside", behind]
        command = [sys.executable, "-m", "eumu", "gpu", "--log", str(log), *given.options, "--"]
        environment = os.environ | {_LOG: str(log)}
        try:
            done = subprocess.run(
                [*command, *own],
                capture_output=True,
                text=True,
                timeout=given.timeout,
                env=environment,
            )
            out, errors, late = done.stdout, done.stderr, False
        except subprocess.TimeoutExpired as error:
            out, errors, late = (error.stdout or b"").decode(), "", True
    begun = ""
    with given.log.open("a") as file:
        for line in out.splitlines():
            match line.split("\t"):
                case ["begins", name]:
                    begun = name
                case ["ended", name, what, differ, kernels]:
                    begun, outcomes[name] = "", what
                    file.write(f"{name}\t{what}\tdiffers by {differ}, {kernels} kernels\n")
        if begun:
            outcomes[begun] = "out of time" if late else "failed"
            why = (errors.strip().splitlines() or [""])[-1]
            file.write(f"{begun}\t{outcomes[begun]}\t{why[:200]}\n")
        elif not outcomes:
            file.write(f"no operation began\t{errors.strip()[-300:]}\n")
    return begun


if __name__ == "__main__":
    sys.exit(main())
