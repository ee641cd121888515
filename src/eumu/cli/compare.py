"""`eumu compare`: a kernel at both levels and in several builds, on the same inputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import eumu
from eumu.cli.status import FAILED, FINE, UsageError
from eumu.cli.values import arguments, size, whole
from eumu.compare import Launch, Side, compare, describe, reduce, sides

__all__ = ["command"]


def command(options: argparse.Namespace) -> int:
    """Compare every form of the kernel with the first one."""
    device = options.device or ("apl" if _is_source(options.program) else None)
    forms = list(sides(options.program, device, options.build_options))
    launch = _launch(options, forms[0].program)
    first = forms[0]
    for other in forms[1:]:
        found = compare(first, other, launch, rtol=_tolerance(options))
        if found is not None:
            print(describe(found))
            if options.reduce:
                _reduce(options, device, launch, forms.index(other))
            return FAILED
        print(f"{other.label} is {first.label}")
    return FINE


def _is_source(program: str) -> bool:
    return program.endswith(".cl")


def _tolerance(options: argparse.Namespace) -> float:
    try:
        return float(options.rtol)
    except ValueError:
        raise UsageError(f"--rtol {options.rtol!r} is not a number") from None


def _launch(options: argparse.Namespace, program: eumu.Program) -> Launch:
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


def _reduce(options: argparse.Namespace, device: str | None, launch: Launch, place: int) -> None:
    """Print the shortest source that still has forms that differ."""
    if not _is_source(options.program):
        raise UsageError("--reduce makes source shorter; give the kernel as OpenCL C (.cl)")
    with TemporaryDirectory() as work:
        path = Path(work, Path(options.program).name)
        still = differs(path, device, options.build_options, launch, _tolerance(options))
        source = reduce(Path(options.program).read_text(), still)
    print(f"reduced to {len(source.splitlines())} lines:", source, sep="\n", end="")
    sys.stdout.flush()


def differs(
    path: Path,
    device: str | None,
    build_options: str,
    launch: Launch,
    rtol: float,
    forms: Callable[..., Any] = sides,
) -> Callable[[str], bool]:
    """Whether a source has two forms that differ; one that cannot be built or run has not."""

    def still(source: str) -> bool:
        path.write_text(source)
        try:
            first, *others = list[Side](forms(str(path), device, build_options))
            return any(compare(first, other, launch, rtol=rtol) for other in others)
        except (eumu.EumuError, UsageError):
            return False

    return still
