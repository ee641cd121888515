"""Builds that are kept are those that would come out again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eumu import zebin
from eumu.zebin import kept
from kernels import build

DATA_ELF = build.BIN / "skl" / "arithmetic_char.bin"

# Appends a line for each build to a file; warns of what it was given.
_COMPILER = """#!/bin/sh
case "$1" in
query) printf '%s' "$VERSION" > OCL_DRIVER_VERSION ;;
compile)
  case "$2" in --help) exit 0 ;; esac
  echo built >> "{folder}/log"
  echo "source.cl:1:1: warning: it was built"
  /bin/mkdir -p out && /bin/cp "{elf}" out/program.bin ;;
esac
"""
_SOURCE = "kernel void f(global int *p) { p[0] = 1; }"


class Compiler:
    """A compiler that counts its builds."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "ocloc"
        self.path.write_text(_COMPILER.format(folder=folder, elf=DATA_ELF))
        self.path.chmod(0o755)

    def builds(self, source: str = _SOURCE, options: str = "", **more: object) -> int:
        """How often the compiler has run after one more build."""
        built = zebin.compile(source, "skl", options, **more)  # type: ignore[arg-type]
        assert built.elf == DATA_ELF.read_bytes()
        assert [d.message for d in built.warnings] == ["it was built"]
        return len((self.folder / "log").read_text().splitlines())


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """The only one, with a cache directory of its own."""
    made = Compiler(tmp_path)
    monkeypatch.setenv("EUMU_OCLOC", str(made.path))
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path / "cache"))
    return made


def test_the_same_build_is_done_once(compiler: Compiler) -> None:
    assert [compiler.builds() for _ in range(3)] == [1, 1, 1]
    assert compiler.builds("/* */" + _SOURCE) == 2
    assert compiler.builds(options="-DX=1") == 3
    assert compiler.builds(simd_width=16) == 4
    assert compiler.builds(directory="/tmp") == 5
    assert [compiler.builds(), compiler.builds(directory="/tmp")] == [5, 5]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('#include "x.h"\n', ""),
        ("%:include <x.h>\n", ""),
        ('#in\\\nclude "x.h"\n', ""),
        ('#in??/\nclude "x.h"\n', ""),
        ("constant char *when = __TIME__;\n", ""),
        ("constant char *when = __DATE__;\n", ""),
        ("", "-include x.h"),
    ],
)
def test_what_reads_files_or_the_time_is_built_again(
    compiler: Compiler, text: str, options: str
) -> None:
    assert compiler.builds(text + _SOURCE, options) == 1
    assert compiler.builds(text + _SOURCE, options) == 2


def test_another_compiler_builds_again(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiler.builds() == 1
    later = compiler.path.stat().st_mtime + 10
    os.utime(compiler.path, (later, later))
    assert [compiler.builds(), compiler.builds()] == [2, 2]
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/libraries")
    assert [compiler.builds(), compiler.builds()] == [3, 3]
    loader = compiler.folder / "loader"
    monkeypatch.setattr(kept, "_LOADER", str(loader))
    assert compiler.builds() == 4
    loader.write_text("a library was installed")
    assert [compiler.builds(), compiler.builds()] == [5, 5]


def _place(compiler: Compiler) -> Path:
    [place] = (compiler.folder / "cache" / "builds").iterdir()
    return place


def test_damage_is_built_again(compiler: Compiler) -> None:
    assert compiler.builds() == 1
    place = _place(compiler)
    whole = place.read_bytes()
    for number, damaged in enumerate((whole[:-1], whole[:40] + b"?" + whole[41:], b""), 2):
        place.write_bytes(damaged)
        assert [compiler.builds(), compiler.builds()] == [number, number]
    assert place.read_bytes() == whole


def test_what_others_may_write_is_not_used(compiler: Compiler) -> None:
    assert compiler.builds() == 1
    _place(compiler).chmod(0o666)
    assert compiler.builds() == 2


def test_without_a_cache_nothing_is_kept(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")
    assert [compiler.builds(), compiler.builds()] == [1, 2]
    assert not (compiler.folder / "cache").exists()


def test_so_many_bytes_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large builds few, of small ones many; those that were used last."""
    monkeypatch.setenv("EUMU_CACHE_MB", "1")
    places = [tmp_path / f"{number}.build" for number in range(18)]
    for number, place in enumerate(places):
        kept.keep(place, {}, bytes(65000))
        os.utime(place, (number, number))
        if number == 15:
            os.utime(places[0], (99, 99))
    assert [kept.find(place) is not None for place in places] == [True, *[False] * 3, *[True] * 14]
    kept.keep(tmp_path / "whole.build", {}, bytes(70000))
    assert kept.find(tmp_path / "whole.build") is None


def test_many_small_builds_are_kept(tmp_path: Path) -> None:
    first = tmp_path / "first.build"
    kept.keep(first, {}, b"first")
    os.utime(first, (0, 0))
    for number in range(600):
        (tmp_path / f"{number}.build").write_bytes(b"another")
    kept.keep(tmp_path / "last.build", {}, b"last")
    assert kept.find(first) == ({}, b"first")
