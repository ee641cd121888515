"""Builds on disk: what a compiler made is used again while nothing changes that it depends on.

That is the compiler, its libraries, the command and the source.  A source that may read files or
the time is always compiled: what they hold is not known here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from eumu.cache_folder import is_ours, trusted_directory
from eumu.settings import CACHE_MB
from eumu.writing import write_whole
from eumu.zebin.compilers import Compiler

_FOLDER: Final = "builds"
_SUFFIX: Final = ".build"
_LARGEST: Final = 1 / 16  # of all that may be kept: one build
_LEFT_FULL: Final = 7 / 8  # of it, when room is made
_DIGEST: Final = 32  # bytes in front of a file
_JOINED: Final = re.compile(rb"(\\|\?\?/)\r?\n")  # a line that goes on in the next
_OTHER_INPUT: Final = re.compile(rb"include|import|embed|__(DATE|TIME|TIMESTAMP)__")
_FILES: Final = re.compile(r"(?<!\S)(-+(include|imacros)|@)")  # options that name files
_LOADER: Final = "/etc/ld.so.cache"  # written whenever a library is installed


def place_of(
    compiler: Compiler, command: tuple[str, ...], source: bytes, more: str = ""
) -> Path | None:
    """Where the outcome of a command is kept, None if it is not; `more` is what else it needs."""
    if _OTHER_INPUT.search(_JOINED.sub(b"", source)) or any(map(_FILES.search, command)):
        return None
    place = trusted_directory()
    if place is None:
        return None
    libraries = os.environ.get("LD_LIBRARY_PATH", "")
    files = [_state(os.path.realpath(compiler.path)), _state(_LOADER)]
    words = [compiler.version, libraries, *files, more, *command]
    digest = hashlib.sha256(json.dumps(words).encode("utf-8", "surrogatepass") + b"\0" + source)
    return place / _FOLDER / (digest.hexdigest() + _SUFFIX)


def _state(path: str) -> str:
    """Another one if a file has changed."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def find(place: Path) -> tuple[dict[str, str], bytes] | None:
    """The texts and the program that are kept; None if there is nothing, or nothing to trust."""
    try:
        if not is_ours(place.stat()):
            return None
        data = place.read_bytes()
        with suppress(OSError):
            os.utime(place)
    except OSError:
        return None
    if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
        return None
    texts, program = data[_DIGEST:].split(b"\n", 1)
    return json.loads(texts), program


def keep(place: Path, texts: dict[str, str], program: bytes) -> None:
    """Keep an outcome; what cannot be written, or is very large, is built again."""
    data = json.dumps(texts).encode() + b"\n" + program
    most = CACHE_MB.get() << 20
    if len(data) > most * _LARGEST:
        return
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(place, hashlib.sha256(data).digest() + data)
        _make_room(place.parent, most)


def _make_room(folder: Path, most: int) -> None:
    """Where builds take more than so many bytes, remove those that were used longest ago."""
    builds = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process removed it
            if path.suffix == _SUFFIX:
                status = path.stat()
                builds.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in builds)
    if total <= most:
        return
    for _, size, path in sorted(builds):
        if total <= most * _LEFT_FULL:
            break
        path.unlink(missing_ok=True)
        total -= size
