"""Where libraries in C are kept: they are code, so nobody else may have written them."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eumu.cc import compile
from eumu.cc.build import library
from eumu.cc.compile import CAPTURE, CL, DRM, Library
from eumu.errors import Unsupported

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the libraries are for Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]


def test_a_folder_that_others_may_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, own = tmp_path / "kept", tmp_path / "own"
    monkeypatch.delenv("EUMU_CACHE", raising=False)
    monkeypatch.setenv("EUMU_CACHE_DIR", str(kept))
    path = library(DRM, own)
    assert path.parent == kept and kept.stat().st_mode & 0o777 == 0o700

    path.write_bytes(b"not the library")
    path.chmod(0o666)  # others may have written it: it is made anew
    assert library(DRM, own) == path and path.read_bytes()[:4] == b"\x7fELF"
    assert not path.stat().st_mode & 0o022

    kept.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others may write"):
        assert library(DRM, own).parent == own
    kept.chmod(0o700)
    monkeypatch.setenv("EUMU_CACHE", "off")
    os.remove(library(DRM, own))
    assert library(DRM, own).parent == own


def test_a_folder_that_cannot_be_written_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("EUMU_CACHE", raising=False)
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path / "file" / "kept"))
    assert library(DRM, tmp_path / "own").parent == tmp_path / "own"
    with pytest.raises(Unsupported, match="cannot be written to"):
        library(DRM, tmp_path / "file" / "own")


@pytest.mark.parametrize("which", (DRM, CL, CAPTURE), ids=lambda which: which.room)
def test_building_a_wheel_needs_nothing_of_the_package(tmp_path: Path, which: Library) -> None:
    code = (
        "import runpy, sys, pathlib\n"
        "found = runpy.run_path(sys.argv[1])\n"
        "assert not any(name.partition('.')[0] == 'eumu' for name in sys.modules)\n"
        "library = next(l for l in found['LIBRARIES'] if l.room == sys.argv[2])\n"
        "assert found['compile'](found['compiler'](), library, pathlib.Path(sys.argv[3])) == ''\n"
    )
    target = tmp_path / which.prebuilt.name
    words = [sys.executable, "-S", "-c", code, str(compile.__file__), which.room, str(target)]
    subprocess.run(words, check=True, timeout=600)
    assert target.read_bytes()[:4] == b"\x7fELF"


@pytest.mark.parametrize("which", (DRM, CAPTURE), ids=lambda which: which.room)
def test_layers_meet_old_loaders_and_new_ones(tmp_path: Path, which: Library) -> None:
    """Loaders before 2025 call clInitLayer; later ones take no layer that has this alone."""
    layer = ctypes.CDLL(str(library(which, tmp_path)))
    below, tables = (ctypes.c_void_p * 160)(*range(1, 161)), []
    for begin in (layer.clInitLayer, layer.clInitLayerWithProperties):
        count, own = ctypes.c_uint32(), ctypes.POINTER(ctypes.c_void_p)()
        assert begin(160, below, ctypes.byref(count), ctypes.byref(own), None) == 0
        tables.append(own[: count.value])
    assert tables[0] == tables[1] and len(tables[0]) == 160
    assert any(place != number for number, place in enumerate(tables[0], 1))
    assert layer.clDeinitLayer() == 0
