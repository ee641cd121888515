"""What is run as machine code is our own, and what fails on its way to the disk leaves nothing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from eumu import cache_folder
from eumu.exec.jit.host import cache
from eumu.exec.jit.interface import Module
from interruptions import at_every_line

MODULE = Module("", (), (), 8, False, (), 0, False, True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("EUMU_CACHE", raising=False)
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def test_a_new_folder_is_for_its_owner(folder: Path) -> None:
    cache.write(folder / "a.kernel", MODULE, (b"code", b"more"))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert cache.read(folder / "a.kernel") == (MODULE, (b"code", b"more"))
    assert cache_folder.is_trusted(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no such owners here")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_may_write_is_not_used(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    cache_folder.warn_of.cache_clear()
    with pytest.warns(RuntimeWarning, match=r"others may write .*EUMU_CACHE_DIR"):
        assert not cache_folder.is_trusted(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        assert not cache_folder.is_trusted(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no such owners here")
def test_a_file_that_others_may_write_is_not_used(folder: Path) -> None:
    path = folder / "a.kernel"
    cache.write(path, MODULE, (b"code", b"more"))
    path.chmod(0o666)
    assert cache.read(path) is None
    path.chmod(0o600)
    assert cache.read(path) is not None


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser gives files away"
)
def test_what_belongs_to_somebody_else_is_not_used(folder: Path) -> None:
    path = folder / "a.kernel"
    cache.write(path, MODULE, (b"code", b"more"))
    os.chown(path, 54321, 54321)
    assert cache.read(path) is None
    os.chown(folder, 54321, 54321)
    cache_folder.warn_of.cache_clear()
    with pytest.warns(RuntimeWarning):
        assert not cache_folder.is_trusted(folder)


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name != "tally"]


def _fail(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("where", ["os.replace", "os.fdopen", "os.utime", "tempfile.mkstemp"])
def test_each_call_of_the_system_may_fail(
    folder: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "a.kernel"
    with monkeypatch.context() as patch:
        patch.setattr(f"eumu.exec.jit.host.cache.{where}", _fail)
        cache.write(path, MODULE, (b"code", b"more"))
        assert cache.read(path) is None or where == "os.utime"
    assert _names(folder) in ([], ["a.kernel"])
    cache.write(path, MODULE, (b"code", b"more"))
    assert cache.read(path) == (MODULE, (b"code", b"more"))


def test_interrupted_anywhere_no_file_is_left(folder: Path) -> None:
    path = folder / "a.kernel"

    def check() -> None:
        left = _names(folder) if folder.exists() else []
        assert left in ([], ["a.kernel"])
        if left:
            assert cache.read(path) == (MODULE, (b"code", b"more"))
            path.unlink()

    def action() -> None:
        cache.write(path, MODULE, (b"code", b"more"))

    _run(action, check)


def _run(action: Callable[[], None], check: Callable[[], None]) -> None:
    # Between the file that the system makes and the first line that knows its name nothing can be
    # done; `_prune` removes it later.
    def lenient() -> None:
        for path in Path(os.environ["EUMU_CACHE_DIR"]).glob("*.part"):
            assert path.stat().st_size == 0
            path.unlink()
        check()

    assert at_every_line(action, lenient, ("jit/host/cache",)) > 20


def test_what_a_killed_process_left_is_removed(folder: Path) -> None:
    folder.mkdir(0o700)
    old, new = folder / "x.part", folder / "y.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    cache.write(folder / "a.kernel", MODULE, (b"code", b"more"))
    assert not old.exists() and new.exists()


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("EUMU_CACHE", raising=False)
    monkeypatch.delenv("EUMU_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    assert cache_folder.directory() is None
