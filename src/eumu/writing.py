"""Files that a user asks for, written whole, and folders in which tools work.

A write that fails leaves what was there before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import BinaryIO

from eumu.errors import BuildError, EumuError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file to write, which takes the place of `path` when the block ends without an error.

    A link stays a link, and a file keeps its permissions.  What another file cannot take the place
    of (a pipe, a terminal, somebody else's file, one with a second name) is written as it is.
    OSError names `path`.
    """
    place = Path(os.path.realpath(path))
    try:
        with _opened(place) as file:
            yield file
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file as `replacing` does."""
    with replacing(path) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file as `replacing` does, in UTF-8."""
    write_whole(path, utf8(text))


def utf8(text: str) -> bytes:
    r"""A text in UTF-8; bytes of a file's name that are no character stand in it as `\udcff`."""
    return text.encode("utf-8", "backslashreplace")


@contextmanager
def _opened(place: Path) -> Iterator[BinaryIO]:
    there = place.stat() if place.exists() else None
    beside = place.with_name(f".{place.name[:200]}.{os.urandom(4).hex()}")
    try:
        file = place.open("wb") if there and _must_stay(place, there) else beside.open("xb")
    except PermissionError:  # perhaps the folder takes no new files
        file = place.open("wb")
    try:
        with file:
            yield file
        if Path(file.name) == beside:
            if there:
                beside.chmod(stat.S_IMODE(there.st_mode))
            os.replace(beside, place)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def _must_stay(place: Path, there: os.stat_result) -> bool:
    """Whether no other file may take the place of this one."""
    alone = stat.S_ISREG(there.st_mode) and there.st_nlink == 1
    ours = not hasattr(os, "geteuid") or there.st_uid == os.geteuid()
    return not (alone and ours and os.access(place, os.W_OK))


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder that is gone when the block ends; BuildError if files cannot be kept there."""
    try:
        with TemporaryDirectory(prefix="eumu-", ignore_cleanup_errors=True) as name:
            yield Path(name)
    except EumuError:
        raise
    except OSError as error:
        raise BuildError(f"no files can be kept in {gettempdir()}: {error.strerror}") from None


def write_new(path: str, number: int, data: bytes) -> str:
    """Write a file, where there already is one to the next name with a number; the name.

    OSError as of files; then there is no file.
    """
    for name in _numbered(path, number):
        try:
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        try:
            with open(file, "wb") as output:
                output.write(data)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
        return name
    raise AssertionError("the names do not end")


def _numbered(path: str, number: int) -> Iterator[str]:
    """Processes of other containers have one number, 0."""
    place = Path(path)
    yield path
    yield str(place.with_stem(f"{place.stem}-{number}"))
    yield from (str(place.with_stem(f"{place.stem}-{number}-{more}")) for more in count(2))
