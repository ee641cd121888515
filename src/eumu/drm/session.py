"""One `eumu gpu`: the broker beside the program, the program's environment, and what came of it."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from eumu.beside.session import SessionOutcome, run_beside
from eumu.cc.build import library
from eumu.cc.compile import DRM
from eumu.drm.options import DrmOptions
from eumu.drm.parts import Gpu, gpu
from eumu.errors import ToolMissing
from eumu.settings import DRM_SOCKET

DRIVER: Final = "intel-opencl-icd"
_VENDORS: Final = Path("/etc/OpenCL/vendors")


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
    files = sorted(_VENDORS.glob("intel*.icd")) if _VENDORS.is_dir() else []
    return next((path for path in files if b"igdrcl" in path.read_bytes()), None)


def environment(path: str, base: Mapping[str, str]) -> dict[str, str]:
    """The variables of a program whose node answers at a socket in a private directory."""
    made = str(library(DRM, Path(path).parent))
    changed = {**base, DRM_SOCKET.name: path}
    changed["LD_PRELOAD"] = " ".join([made, *base.get("LD_PRELOAD", "").split()])
    changed["OPENCL_LAYERS"] = ":".join([made, *filter(None, [base.get("OPENCL_LAYERS")])])
    icd = _icd()
    if icd is not None and "OCL_ICD_VENDORS" not in base:
        changed["OCL_ICD_VENDORS"] = str(_alone(icd, Path(path).parent))
    return changed


def _tree(place: Path, part: Gpu) -> None:
    """The files by which drivers find the GPU or its clock; `paths.c` leads there."""
    ids = {"vendor": "0x8086", "subsystem_vendor": "0x8086", "subsystem_device": "0x0000"}
    device = place / "tree/sys/dev/char/226:128/device"
    for folder in (device, place / "tree/dev/dri", device / "drm/renderD128"):
        folder.mkdir(parents=True, exist_ok=True)
    (place / "tree/dev/dri/renderD128").touch()
    clock = place / "tree/sys/bus/pci/devices/0000:00:02.0/drm/card0/gt_max_freq_mhz"
    clock.parent.mkdir(parents=True)
    clock.write_text(f"{part.mhz}\n")
    ids |= {
        "uevent": "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0",
        "revision": f"{part.revision:#04x}",
    }
    ids["device"] = f"{part.chip:#06x}"
    for name, text in ids.items():
        (device / name).write_text(text + "\n", "ascii")
    (device / "subsystem").symlink_to("../../../../bus/pci")


def _alone(icd: Path, place: Path) -> Path:
    """A folder that has this entry only: some loaders take folders, and no files."""
    folder = place / "vendors"
    folder.mkdir(exist_ok=True)
    (folder / icd.name).write_bytes(icd.read_bytes())
    return folder


def run(command: Sequence[str], options: DrmOptions) -> SessionOutcome:
    """Run a program on a virtual GPU.

    ToolMissing if the command or the C compiler is not there; UnknownDevice for other parts,
    LaunchError for units that a part cannot have.
    """
    part = gpu(options.gpu).told(options.units)
    if shutil.which(command[0]) is None:
        raise ToolMissing(f"no command {command[0]!r}")
    with tempfile.TemporaryDirectory(prefix="eumu-gpu-") as place:
        path = str(Path(place) / "node")
        _tree(Path(place), part)
        variables = environment(path, os.environ)
        return run_beside(command, variables, "eumu.drm.door", path, options)
