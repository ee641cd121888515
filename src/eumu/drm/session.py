"""One `eumu gpu`: the broker beside the program, the program's environment, and what came of it."""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Final

from eumu.cc.build import library
from eumu.cc.compile import DRM
from eumu.drm.options import FAULTED, FOUND, Options
from eumu.drm.parts import gpu
from eumu.errors import ToolMissing
from eumu.settings import DRM_SOCKET

__all__ = ["DRIVER", "Outcome", "environment", "legacy_layout", "missing_packages", "run"]

DRIVER: Final = "intel-opencl-icd"
_VENDORS: Final = Path("/etc/OpenCL/vendors")
_LEGACY_LAYOUT: Final = 0x0200000  # ADDR_COMPAT_LAYOUT of personality(2)
_LAST_WORDS_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status` of the program as a shell has it, how many submissions made a fault, and how many
    places a checked run found."""

    status: int
    faults: int
    findings: int = 0


def missing_packages() -> list[str]:
    """What is not installed of what programs need, a line for each."""
    lines = []
    if _icd() is None:
        lines.append(f"{DRIVER}: Intel's OpenCL and Level Zero driver (apt-get install {DRIVER})")
    if not _has_library("libOpenCL.so.1"):
        lines.append("ocl-icd-libopencl1: the OpenCL loader (apt-get install ocl-icd-libopencl1)")
    if not _has_library("libze_loader.so.1"):
        lines.append("libze1: the Level Zero loader, for Level Zero alone (apt-get install libze1)")
    return lines


def _has_library(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _icd() -> Path | None:
    """The driver's entry for the OpenCL loader."""
    found = sorted(_VENDORS.glob("intel*.icd")) if _VENDORS.is_dir() else []
    return next((path for path in found if "igdrcl" in path.read_text()), None)


def environment(path: str, base: Mapping[str, str]) -> dict[str, str]:
    """The variables of a program whose node answers at a socket in a private directory."""
    made = str(library(DRM, Path(path).parent))
    changed = {**base, DRM_SOCKET.name: path}
    changed["LD_PRELOAD"] = " ".join([made, *base.get("LD_PRELOAD", "").split()])
    changed["OPENCL_LAYERS"] = ":".join([made, *filter(None, [base.get("OPENCL_LAYERS")])])
    icd = _icd()
    if icd is not None and "OCL_ICD_VENDORS" not in base:
        changed["OCL_ICD_VENDORS"] = str(icd)
    return changed


def run(command: Sequence[str], options: Options) -> Outcome:
    """Run a program on a virtual GPU.

    ToolMissing if the command or the C compiler is not there; UnknownDevice for other parts.
    """
    gpu(options.gpu)
    if shutil.which(command[0]) is None:
        raise ToolMissing(f"no command {command[0]!r}")
    with tempfile.TemporaryDirectory(prefix="eumu-gpu-") as place:
        path = str(Path(place) / "node")
        variables = environment(path, os.environ)
        with _broker(path, options) as status:
            program = subprocess.Popen(command, env=variables)
            with _signals_to(program):
                code = program.wait()
        told = _told(status)
        faults, findings = told.count(FAULTED), told.count(FOUND)
        return Outcome(code if code >= 0 else 128 - code, faults, findings)


@contextmanager
def _broker(path: str, options: Options) -> Iterator[int]:
    """The process that starts engine processes; yields where they write what came of submissions.

    Its reading end is left to the caller, who closes it.
    """
    reads, writes = os.pipe()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    os.set_inheritable(listener.fileno(), True)
    given = asdict(replace(options, status=writes)) | {"listener": listener.fileno()}
    process = subprocess.Popen(
        [sys.executable, "-m", "eumu.drm.broker", json.dumps(given)],
        stdin=subprocess.PIPE,
        pass_fds=(listener.fileno(), writes),
        preexec_fn=legacy_layout,
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
    )
    os.close(writes)
    listener.close()
    try:
        yield reads
    finally:
        process.terminate()  # engine processes end when their programs do
        process.wait()


def legacy_layout() -> None:
    """Mappings of the engine process go up from a third of the address space, away from those of
    programs, which go down from its top."""
    libc = ctypes.CDLL(None)
    libc.personality(libc.personality(0xFFFFFFFF) | _LEGACY_LAYOUT)


def _told(fd: int) -> bytes:
    """The bytes of engine processes, until all have ended or have had time enough."""
    told, end = b"", time.monotonic() + _LAST_WORDS_S
    while (left := end - time.monotonic()) > 0 and select.select([fd], [], [], left)[0]:
        data = os.read(fd, 4096)
        if not data:
            break
        told += data
    os.close(fd)
    return told


@contextmanager
def _signals_to(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """The program decides what Ctrl-C is, which it gets itself; other ends are passed on to it."""

    def passes(number: int, frame: FrameType | None) -> None:
        program.send_signal(number)

    old = {s: signal.signal(s, passes) for s in (signal.SIGTERM, signal.SIGHUP)}
    old[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
