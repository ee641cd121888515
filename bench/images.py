"""Filtered images: eumu's fast engine against PoCL, Intel's CPU runtime and Oclgrind.

    python bench/images.py [ROUNDS]

One kernel of nine linear samples of RGBA8 for each pixel, the same source for all, one process,
rounds interleaved; CPU time of the best round.  Oclgrind runs a small part of the picture.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from engines import Missing, OpenCL, find_drivers

import eumu

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WIDTH, HEIGHT, RADIUS = 512, 512, 3.0
SMALL = (32, 16)  # what Oclgrind runs
Run = Callable[[], None]


def pixels() -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8)


def emulator() -> tuple[Run, Callable[[], Any]]:
    """A launch on eumu, and what it wrote."""
    device = eumu.Device("skl")
    source, target = device.image(pixels()), device.image((HEIGHT, WIDTH, 4))
    sampler = device.sampler(filter="linear")
    kernel = eumu.load(EXAMPLES / "picture.bin")["blur"]
    args = [source, sampler, target, RADIUS]
    return lambda: _nothing(kernel.launch(device, (WIDTH, HEIGHT), args=args)), target.numpy


def _nothing(value: object) -> None:
    """For its effect only."""


def rival(name: str, platform: str, size: tuple[int, int]) -> tuple[Run, Callable[[], Any]]:
    """The same on an OpenCL implementation."""
    engine = OpenCL(name, platform)
    cl, context = engine.cl, engine.context
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = (EXAMPLES / "picture.cl").read_text()
        program = cl.Program(context, text).build(["-cl-std=CL2.0"])
    format = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNORM_INT8)
    flags = cl.mem_flags
    shape = (WIDTH, HEIGHT)
    given = flags.READ_ONLY | flags.COPY_HOST_PTR
    source = cl.create_image(context, given, format, shape=shape, hostbuf=pixels())
    target = cl.create_image(context, flags.WRITE_ONLY, format, shape=shape)
    clamp, linear = cl.addressing_mode.CLAMP_TO_EDGE, cl.filter_mode.LINEAR
    kernel = cl.Kernel(program, "blur")
    args = source, cl.Sampler(context, True, clamp, linear), target, np.float32(RADIUS)
    kernel.set_args(*args)
    kept: list[Any] = [args]  # neither kernels nor commands hold what they use

    def run() -> None:
        kept.append(cl.enqueue_nd_range_kernel(engine.queue, kernel, size, None))
        engine.queue.finish()

    def result() -> Any:
        out = np.empty((HEIGHT, WIDTH, 4), np.uint8)
        cl.enqueue_copy(engine.queue, out, target, origin=(0, 0), region=shape)
        return out

    return run, result


def main() -> None:
    """Print CPU times and ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    drivers = find_drivers()
    runs = {"eumu": (emulator(), WIDTH * HEIGHT)}
    for name, platform, size in (
        ("pocl", "portable", (WIDTH, HEIGHT)),
        ("intel", "intel", (WIDTH, HEIGHT)),
        ("oclgrind", "oclgrind", SMALL),
    ):
        try:
            runs[name] = rival(name, platform, size), size[0] * size[1]
        except Missing as reason:
            print(f"{name}: {reason}")
    best = dict.fromkeys(runs, float("inf"))
    for number in range(rounds + 1):
        for name, ((run, _), count) in runs.items():
            if name == "oclgrind" and number > 1:
                continue
            start = time.process_time()
            run()
            if number:  # the first round compiles
                best[name] = min(best[name], (time.process_time() - start) / count)
    mine = runs["eumu"][0][1]().astype(int)
    for name, ((_, result), _) in runs.items():
        error = "" if name == "oclgrind" else f", largest difference {abs(result() - mine).max()}"
        ratio = best[name] / best["eumu"]
        print(f"{name:9} {best[name] * 1e9:9.0f} ns a pixel, eumu {ratio:.2f}x{error}")
    drivers.cleanup()


if __name__ == "__main__":
    main()
