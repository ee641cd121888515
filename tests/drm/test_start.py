"""Starting: programs are answered before the engines are imported, several at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from drm.programs import HERE, compiled, run
from eumu.cli.main import main
from eumu.drm import session
from eumu.drm.options import DrmOptions
from eumu.drm.parts import gpu
from eumu.errors import LaunchError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the doors are for Linux")

HEAVY = (
    "numpy",
    "llvmlite",
    "eumu.runtime",
    "eumu.device",
    "eumu.isa",
    "eumu.exec.interp",
    "eumu.exec.jit",
)


@pytest.mark.parametrize(
    "module", ["eumu.cli.gpu", "eumu.beside.broker", "eumu.drm.door", "eumu.cl.door"]
)
def test_nothing_heavy_is_imported_before_a_program_is_answered(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_native_code_needs_no_visa() -> None:
    """What is imported before the first launch is what it waits for."""
    code = (
        "import sys; from importlib import import_module; from eumu.drm import door;"
        " [import_module(name) for name in door.needed];"
        " print(*[n for n in ('eumu.isa.visa', 'eumu.binary', 'eumu.text') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_programs_that_come_while_the_engines_are_imported(tmp_path: Path) -> None:
    node = compiled(HERE / "node.c", tmp_path)
    done = run("sh", "-c", 'for k in 1 2 3 4; do "$0" created & done; wait', node)
    assert done.stdout.splitlines() == 4 * ["created ok"], done.stdout + done.stderr
    assert done.returncode == 0 and not done.stderr


def test_one_that_says_nothing_holds_up_nobody(tmp_path: Path) -> None:
    node = compiled(HERE / "node.c", tmp_path)
    silent = (
        "import os, socket, subprocess, sys; s = socket.socket(socket.AF_UNIX);"
        " s.connect(os.environ['EUMU_DRM_SOCKET']); sys.exit(subprocess.call(sys.argv[1:]))"
    )
    done = run(sys.executable, "-c", silent, node, "created")
    assert "created ok" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(("part", "units", "told"), [("skl", 24, 3), ("skl", 8, 1), ("apl", 12, 2)])
def test_whole_subslices_are_told_of(part: str, units: int, told: int) -> None:
    made = gpu(part).told(units)
    assert (made.subslices, made.eus) == (told, gpu(part).eus)


@pytest.mark.parametrize("units", [7, 9, 32])
def test_other_units_are_refused(units: int) -> None:
    with pytest.raises(
        LaunchError, match=f"skl with {units} compute units; possible are 8, 16, 24"
    ):
        session.run(["true"], DrmOptions(units=units))


def test_the_loader_gets_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Khronos' loader, which packages for Python bring, takes no file; Debian's takes both."""
    (tmp_path / "intel.icd").write_text("libigdrcl.so")
    monkeypatch.setattr(session, "_icd", lambda: tmp_path / "intel.icd")
    (tmp_path / "private").mkdir()
    found = session.environment(str(tmp_path / "private" / "node"), {})
    (entry,) = Path(found["OCL_ICD_VENDORS"]).iterdir()
    assert entry.read_text() == "libigdrcl.so"
    own = {"OCL_ICD_VENDORS": "mine"}
    assert session.environment(str(tmp_path / "private" / "node"), own)["OCL_ICD_VENDORS"] == "mine"


def test_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "_icd", lambda: None)
    monkeypatch.setattr(session, "_has_library", lambda name: "OpenCL" not in name)
    assert main(["gpu", "--check-driver"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in said] == [
        ["missing:", "intel-opencl-icd:"],
        ["missing:", "ocl-icd-libopencl1:"],
    ]
    assert all("apt-get install" in line for line in said)


def test_the_first_batch_needs_no_layouts() -> None:
    """Annotations take 20 ms to evaluate, so the thread that imports more does it before."""
    code = (
        "from eumu.drm import engine\n"
        "from eumu.device.state import fields\n"
        "engine._import_more('interp')\n"
        "fields._rows = None\n"  # what is not known now cannot be found out
        "from eumu.device.commands import decode, encode, gpgpu\n"
        "decode(encode([gpgpu.GpgpuWalker()]))\n"
        "gpgpu.InterfaceDescriptorData.decode(bytes(32))\n"
        "engine.SamplerState.decode(bytes(16))\n"
        "engine.SurfaceState.rows()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
