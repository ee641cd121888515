"""Commands say what they have to, whatever the locale and whatever bytes names and files have."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eumu.compare.reduce import read_source, write_source
from eumu.writing import utf8

ROOT = Path(__file__).resolve().parents[2]
ASCII = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
SOURCE = b"// gr\xf6\xdfe\nkernel void f(global int *a) { a[get_global_id(0)] = 1; }\n"  # Latin-1
LAUNCH = ("--global", "16", "--arg", "a=zeros:int32:16")
NAMED = b"saxpy\xff.bin"  # no text in UTF-8
SAXPY = "--kernel saxpy --global 64 --arg x=zeros:float32:64 --arg y=zeros:float32:64 --arg a=2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("names")
    shutil.copy(ROOT / "examples/saxpy.bin", os.fsdecode(os.fsencode(place) + b"/" + NAMED))
    (place / "latin.cl").write_bytes(SOURCE)
    return place


def eumu(folder: Path, *words: str | bytes) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | ASCII
    environment["PYTHONPATH"] = str(ROOT / "src")
    command = [sys.executable, "-m", "eumu", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300)


@pytest.mark.parametrize(
    "words",
    [
        *("explain add", "isa --format json", "isa", "info NAMED", "dis NAMED"),
        *(f"run NAMED {SAXPY}", f"run NAMED {SAXPY} --report r.html", f"run NAMED {SAXPY} --check"),
        *(f"run NAMED {SAXPY} --format {form}" for form in ("json", "sarif", "junit", "github")),
        *(f"run NAMED {SAXPY} --timeline t.json", "check NAMED --notes"),
    ],
)
def test_a_locale_of_ascii(folder: Path, words: str) -> None:
    done = eumu(folder, *(NAMED if word == "NAMED" else word for word in words.split()))
    assert done.returncode == 0, done.stderr
    assert b"error" not in done.stderr
    assert done.stdout.isascii()
    assert done.stdout or words.endswith("github")  # it has nothing to say


@pytest.mark.parametrize("word", ["run", "check", "compare", "build"])
def test_a_source_in_another_encoding(folder: Path, word: str) -> None:
    if shutil.which("ocloc") is None:
        pytest.skip("ocloc is not installed (Debian: intel-opencl-icd)")
    others = {"check": (), "build": ("-o", "made.bin")}
    done = eumu(folder, word, "latin.cl", "--device", "pvc", *others.get(word, LAUNCH))
    assert done.returncode == 0, done.stderr


def test_a_folder_of_such_files(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    files = tmp_path / "files"
    files.mkdir()
    shutil.copy(folder / os.fsdecode(NAMED), files)
    store = tmp_path / "s.sqlite"
    words = ("--devices", "pvc", "--workers", "1", "--store", str(store))
    done = eumu(tmp_path, "campaign", "files", "files", *words)
    assert done.returncode == 0, done.stderr
    assert b"1 programs: 1 the same, 0 differ" in done.stdout


def test_a_part_of_a_source_keeps_its_bytes(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_bytes(SOURCE)
    write_source(after, read_source(before))
    assert after.read_bytes() == SOURCE
    assert utf8(read_source(before)).isascii()
