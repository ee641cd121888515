"""Images: eumu's fast engine against PoCL, Intel's CPU runtime and Oclgrind, on the same sources.

    python bench/pixels.py [ROUNDS]
    python bench/pixels.py --build     # compiles pictures/*.cl again with ocloc

One process, rounds interleaved, CPU time of the best round for each pixel that is written.
Oclgrind runs a small part of the picture once.  Media blocks, which the others lack, are compared
with NumPy copying the same bytes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from engines import Missing, OpenCL, find_drivers

import eumu

HERE = Path(__file__).resolve().parent
PICTURE, IMAGES, BLOCKS = (
    HERE.parent / "examples" / "picture",
    HERE / "pictures" / "images",
    HERE / "pictures" / "blocks",
)
WIDTH, HEIGHT = 512, 512
SMALL = (32, 16)  # what Oclgrind runs
Run = Callable[[], None]


@dataclass(frozen=True)
class Case:
    """A kernel with an image, perhaps a sampler, an image that it writes, and numbers."""

    name: str
    source: Path
    kernel: str
    shape: tuple[int, ...] = (HEIGHT, WIDTH, 4)
    filter: str = ""  # no sampler without it
    layers: bool = False
    numbers: tuple[float, ...] = ()
    half: bool = False  # float16 texels

    def pixels(self) -> np.ndarray[Any, Any]:
        rng = np.random.default_rng(1)
        if self.half:
            return rng.random(self.shape).astype(np.float16)
        return rng.integers(0, 256, self.shape, dtype=np.uint8)


CASES = (
    Case("nine linear samples", PICTURE, "blur", filter="linear", numbers=(3.0,)),
    Case("nine nearest samples", PICTURE, "blur", filter="nearest", numbers=(3.0,)),
    Case("nine linear, RGBA16F", PICTURE, "blur", filter="linear", numbers=(3.0,), half=True),
    Case("eight linear of a volume", IMAGES, "volume", (16, 128, 128, 4), "linear"),
    Case("eight linear of an array", IMAGES, "layers", (8, 256, 256, 4), "linear", True),
    Case("read_image, write_image", IMAGES, "copy"),
)


def emulator(case: Case) -> tuple[Run, Callable[[], Any]]:
    """A launch on eumu, and what it wrote."""
    device = eumu.Device("skl")
    kernel = eumu.load(case.source.with_suffix(".bin"))[case.kernel]
    more = {"layers": case.shape[0]} if case.layers else {}
    format = "RGBA16_FLOAT" if case.half else "RGBA8_UNORM"
    args: list[Any] = [device.image(case.pixels(), format=format, **more)]
    if case.filter:
        args.append(device.sampler(filter=case.filter))
    target = device.image((HEIGHT, WIDTH, 4))
    args += [target, *case.numbers]
    return lambda: _nothing(kernel.launch(device, (WIDTH, HEIGHT), args=args)), target.numpy


def _nothing(value: object) -> None:
    """For its effect only."""


def rival(engine: OpenCL, case: Case, size: tuple[int, int]) -> tuple[Run, Callable[[], Any]]:
    """The same on an OpenCL implementation."""
    cl, context = engine.cl, engine.context
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = case.source.with_suffix(".cl").read_text()
        program = cl.Program(context, text).build(["-cl-std=CL2.0"])
    types = cl.channel_type
    wide = types.HALF_FLOAT if case.half else types.UNORM_INT8
    format = cl.ImageFormat(cl.channel_order.RGBA, wide)
    result_format = cl.ImageFormat(cl.channel_order.RGBA, types.UNORM_INT8)
    flags, shape = cl.mem_flags, tuple(reversed(case.shape[:-1]))
    given = flags.READ_ONLY | flags.COPY_HOST_PTR
    source = cl.create_image(
        context, given, format, shape=shape, hostbuf=case.pixels(), is_array=case.layers
    )
    target = cl.create_image(context, flags.WRITE_ONLY, result_format, shape=(WIDTH, HEIGHT))
    args: list[Any] = [source]
    if case.filter:
        filter = getattr(cl.filter_mode, case.filter.upper())
        args.append(cl.Sampler(context, True, cl.addressing_mode.CLAMP_TO_EDGE, filter))
    kernel = cl.Kernel(program, case.kernel)
    args += [target, *(np.float32(x) for x in case.numbers)]
    kernel.set_args(*args)
    kept: list[Any] = [args]  # neither kernels nor commands hold what they use

    def run() -> None:
        kept.append(cl.enqueue_nd_range_kernel(engine.queue, kernel, size, None))
        engine.queue.finish()

    def result() -> Any:
        out = np.empty((HEIGHT, WIDTH, 4), np.uint8)
        cl.enqueue_copy(engine.queue, out, target, origin=(0, 0), region=(WIDTH, HEIGHT))
        return out

    return run, result


def contest(case: Case, engines: dict[str, OpenCL], rounds: int) -> None:
    """Print CPU times and ratios of one case."""
    runs = {"eumu": (emulator(case), WIDTH * HEIGHT)}
    for name, engine in engines.items():
        size = SMALL if name == "oclgrind" else (WIDTH, HEIGHT)
        try:
            runs[name] = rival(engine, case, size), size[0] * size[1]
        except engine.cl.Error as error:
            print(f"  {name}: {str(error).splitlines()[0]}")
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
    print(f"{case.name:26} eumu {best['eumu'] * 1e9:6.1f} ns a pixel", end="")
    for name, ((_, result), _) in runs.items():
        if name == "eumu":
            continue
        error = "" if name == "oclgrind" else f" (difference {abs(result() - mine).max()})"
        print(f"; {name} {best[name] / best['eumu']:.2f}x{error}", end="")
    print(flush=True)


def blocks(rounds: int) -> None:
    """Print CPU times of a copy by media blocks, and by NumPy."""
    device = eumu.Device("skl")
    kernel = eumu.load(BLOCKS.with_suffix(".bin"))["blocks"]
    pixels = np.random.default_rng(1).integers(0, 1 << 32, (HEIGHT, WIDTH), dtype=np.uint32)
    source, target = (device.image(x, format="R32_UINT") for x in (pixels, 0 * pixels))
    copy = np.empty_like(pixels)
    best = {"eumu": float("inf"), "numpy": float("inf")}
    for number in range(rounds + 1):
        start = time.process_time()
        kernel.launch(device, (WIDTH, HEIGHT // 8), (16, 1), args=[source, target])
        middle = time.process_time()
        np.copyto(copy, pixels)
        end = time.process_time()
        if number:
            best["eumu"] = min(best["eumu"], (middle - start) / pixels.size)
            best["numpy"] = min(best["numpy"], (end - middle) / pixels.size)
    assert (target.numpy() == pixels).all()
    ratio = best["numpy"] / best["eumu"]
    print(f"{'media blocks, copied':26} eumu {best['eumu'] * 1e9:6.1f} ns a pixel", end="")
    print(f"; numpy {ratio:.2f}x")


def build() -> None:
    """Compile the kernels again."""
    from eumu.zebin import ocloc

    for source in (IMAGES, BLOCKS):
        text = source.with_suffix(".cl").read_text()
        built = ocloc.compile(text, "skl", "-cl-std=CL2.0", "", name=f"{source.name}.cl")
        source.with_suffix(".bin").write_bytes(built.elf)


def main() -> None:
    """Print a line for each case."""
    if "--build" in sys.argv:
        build()
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    drivers = find_drivers()
    engines = {}
    for name, platform in (("pocl", "portable"), ("intel", "intel"), ("oclgrind", "oclgrind")):
        try:
            engines[name] = OpenCL(name, platform)
        except Missing as reason:
            print(f"{name}: {reason}")
    for case in CASES:
        contest(case, engines, rounds)
    blocks(rounds)
    drivers.cleanup()


if __name__ == "__main__":
    main()
