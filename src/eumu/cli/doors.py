"""`eumu compare [options] -- COMMAND`: a host program on several drivers, launch by launch."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from eumu.cc.build import library
from eumu.cc.compile import CAPTURE
from eumu.cl.captured import Side, first_difference, read
from eumu.cl.options import ClOptions as OwnOptions
from eumu.cl.session import run as run_own
from eumu.cli.status import FAILED, FINE, UsageError
from eumu.drm.options import DrmOptions as VirtualOptions
from eumu.drm.session import missing_packages
from eumu.drm.session import run as run_virtual
from eumu.errors import EumuError, ToolMissing, Unsupported
from eumu.platforms import platform
from eumu.settings import CAPTURE_FILE, CL_DEVICE

_POCL = Path("/etc/OpenCL/vendors/pocl.icd")


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What `compare … -- COMMAND` says."""
    parser = argparse.ArgumentParser(
        prog="eumu compare",
        usage="eumu compare [options] -- COMMAND ...",
        description="Run an OpenCL program on eumu's own driver (vISA), on Intel's driver with the"
        " virtual GPU (native code) and on PoCL, and show the first launch whose buffers differ.",
    )
    parser.add_argument("--device", metavar="D", default="skl", help="skl (default), apl, dg2 ...")
    parser.add_argument(
        "--rtol", metavar="R", default="0", help="allowed relative difference of floats"
    )
    end = list(words).index("--")
    options = parser.parse_args(list(words[1:end]))
    options.command, options.program = "doors", list(words[end + 1 :])
    return options


def command(options: argparse.Namespace) -> int:
    """FINE if all drivers leave the same, FAILED if one does not or none could be compared."""
    if not sys.platform.startswith("linux"):
        raise Unsupported("drivers are compared on Linux")
    if not options.program:
        raise UsageError("no command to run: eumu compare -- COMMAND")
    device = platform(options.device or CL_DEVICE.get()).name
    with tempfile.TemporaryDirectory(prefix="eumu-compare-") as place:
        layer = library(CAPTURE, Path(place))
        ran = list(_runs(options.program, device, Path(place), layer))
        return _told(ran, _tolerance(options.rtol))


def _tolerance(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--rtol {text!r} is not a number") from None


def _told(ran: list[Side], rtol: float) -> int:
    first, *others = ran
    skipped = sum(not launch.is_read for launch in first[2])
    if skipped:
        print(f"{skipped} launches while user events were open: not compared")
    if not first[2]:
        print("the program has launched no kernel: there is nothing to compare")
    status = FINE if others and first[2] else FAILED
    for other in others:
        difference = first_difference(first, other, rtol)
        print(difference or f"{other[0]} left the same as {first[0]} in {len(first[2])} launches")
        status = FAILED if difference else status
    return status


def _runs(program: list[str], device: str, place: Path, layer: Path) -> Iterator[Side]:
    """The runs that there can be, eumu's own driver first; what cannot be is said."""
    doors: tuple[tuple[str, Callable[[], int]], ...] = (
        ("eumu's driver", lambda: run_own(program, OwnOptions(device=device)).status),
        ("Intel's driver", lambda: _virtual(program, device)),
        ("PoCL", lambda: _pocl(program)),
    )
    for number, (name, run) in enumerate(doors):
        path = place / f"launches-{number}"
        print(f"--- {name}", file=sys.stderr, flush=True)
        try:
            with _variables(OPENCL_LAYERS=str(layer), **{CAPTURE_FILE.name: str(path)}):
                status = run()
        except EumuError as error:
            if not number:
                raise
            print(f"{name}: not compared: {error}", flush=True)
            continue
        if status:
            print(f"{name}: the program ends with status {status}", flush=True)
        yield name, path, read(path)


@contextlib.contextmanager
def _variables(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _virtual(program: list[str], device: str) -> int:
    missing = [line for line in missing_packages() if not line.startswith("libze1")]
    if missing:
        raise ToolMissing(missing[0])
    part = "apl" if device == "bxt" else device
    return run_virtual(program, VirtualOptions(gpu=part)).status


def _pocl(program: list[str]) -> int:
    if not _POCL.exists():
        raise ToolMissing("PoCL is not installed (Debian: apt-get install pocl-opencl-icd)")
    return subprocess.run(
        program, env=os.environ | {"OCL_ICD_VENDORS": str(_POCL)}, check=False
    ).returncode
