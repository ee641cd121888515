"""`eumu compare`: a kernel at both levels and in several builds, on the same inputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

import eumu
from eumu.cli.options import compiler_options
from eumu.cli.status import FAILED, FINE, UsageError
from eumu.cli.values import arguments, size, whole
from eumu.compare import Difference, Divergence, Launch, Side, compare, describe, reduce, sides
from eumu.compare.clean import clean_builds
from eumu.compare.reduce import REDUCING, read_source, write_source
from eumu.errors import BuildError, Unsupported
from eumu.platforms import platform
from eumu.zebin import compilers

Found = TypeVar("Found")


def command(options: argparse.Namespace) -> int:
    """Compare every form of the kernel with the first one; without a second one that fails."""
    launch, difference, status = first_difference(options, forms_of(options), compare)
    if difference is not None:
        print(describe(difference))
        _hint(difference, options)
        if options.reduce:
            _reduce(options, launch)
    return status


def first_difference(
    options: argparse.Namespace, forms: Iterator[Side], search: Callable[..., Found]
) -> tuple[Launch, Found | None, int]:
    """What `search` finds between the first form and the first that differs, and the exit status.

    The forms that are the same, or cannot be compared, are told.
    """
    first = next(forms)
    launch, status, is_compared = launch_of(options, first.program), FINE, False
    for other in forms:
        is_compared = True
        try:
            difference = search(first, other, launch, rtol=tolerance(options))
        except (Unsupported, BuildError) as error:
            print(f"{other.label}: not compared: {error}")
            status = FAILED
            continue
        if difference is not None:
            return launch, difference, FAILED
        print(f"{other.label} is {first.label}", flush=True)
    if not is_compared:
        print(f"{first.label.strip()} is the only form: there is nothing to compare it with")
    return launch, None, status if is_compared else FAILED


def _hint(difference: Difference, options: argparse.Namespace) -> None:
    """Builds of floats differ lawfully."""
    if isinstance(difference, Divergence) and isinstance(difference.left, np.floating):
        left, right = difference.sides
        if left.program is not right.program and not tolerance(options):
            print("  note: builds may contract or reorder floats; --rtol allows differences")


def forms_of(options: argparse.Namespace) -> Iterator[Side]:
    """The forms of the program, told as they come up."""

    def same(label: str, earlier: str) -> None:
        print(f"{label} has the code of {earlier}", flush=True)

    chosen = compiler_options(options, options.build_options)
    return sides(options.program, _device(options), chosen, options.kernel, same)


def _device(options: argparse.Namespace) -> str | None:
    name: str | None = options.device
    return name or (_known_device() if _is_source(options.program) else None)


def _is_source(program: str) -> bool:
    return program.endswith(".cl")


def _known_device() -> str:
    """The first of those with both levels, or with vISA only, that a compiler knows."""
    installed = compilers.installed()
    names = (d for d in ("apl", "pvc") if any(platform(d) in c.devices for c in installed))
    return next(names, "apl")


def tolerance(options: argparse.Namespace) -> float:
    try:
        return float(options.rtol)
    except ValueError:
        raise UsageError(f"--rtol {options.rtol!r} is not a number") from None


def launch_of(options: argparse.Namespace, program: eumu.Program) -> Launch:
    name = options.kernel
    if name is None:
        if len(program) != 1:
            raise UsageError(f"{program.name} has several kernels; --kernel {' | '.join(program)}")
        name = program.kernels[0].name

    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        return arguments(device, kernel, options.args)

    local = options.local_size
    fuel = None if options.fuel is None else whole("--fuel", options.fuel)
    sizes = size("--global", options.global_size), local and size("--local", local)
    return Launch(name, *sizes, values, fuel)


def _reduce(options: argparse.Namespace, launch: Launch) -> None:
    """Print the shortest source that still has forms that differ."""
    if not _is_source(options.program):
        raise UsageError("--reduce makes source shorter; give the kernel as OpenCL C (.cl)")
    with TemporaryDirectory() as work:
        path = Path(work, Path(options.program).name)
        text = read_source(Path(options.program))
        still = differs(
            path, text, _device(options), options.build_options, launch, tolerance(options)
        )
        print(REDUCING, file=sys.stderr)
        source = reduce(text, still)
    print(f"reduced to {len(source.splitlines())} lines:", source, sep="\n", end="")
    sys.stdout.flush()


def differs(
    path: Path,
    whole: str,
    device: str | None,
    build_options: str,
    launch: Launch,
    rtol: float,
    forms: Callable[..., Iterator[Side]] = sides,
) -> Callable[[str], bool]:
    """Whether a source has two forms that differ; one that cannot be built or run has not.

    Builds that are clean of the `whole` source must be clean of this one.
    """

    def parting(source: str) -> list[Side]:
        """The forms up to the first that differs; none if none does."""
        write_source(path, source)
        try:
            others = forms(str(path), device, build_options, launch.kernel)
            tried = [next(others)]
            for other in others:
                tried.append(other)
                if compare(tried[0], other, launch, rtol=rtol):
                    return tried
        except (eumu.EumuError, UsageError):
            return []  # it cannot be built or run
        return []

    clean = clean_builds(parting(whole), launch)

    def still(source: str) -> bool:
        tried = parting(source)
        wanted = clean.intersection(side.build for side in tried)
        return bool(tried) and wanted <= clean_builds(tried, launch)

    return still
