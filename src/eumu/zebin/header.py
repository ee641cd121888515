"""The compiler's own header on devices that have no images.

With -cl-std=CL3.0 some releases' header uses image types there, and no program compiles.  Names of
features make the header compile.  A program with images must not see them: it is wrong there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from eumu.errors import Diagnostic, Severity
from eumu.platforms import Platform
from eumu.zebin.compilers import Compiler

IMAGES: Final = (
    "-cl-ext=+__opencl_c_images,+__opencl_c_3d_image_writes,"
    "+__opencl_c_read_write_images,+cl_khr_3d_image_writes"
)
_NAME: Final = "opencl-c.h"
# Its errors in a log: the line, and the source with a caret below.
_ERRORS: Final = re.compile(
    rf"^[^\n]*\b{re.escape(_NAME)}:\d+:\d+: error: [^\n]*images[^\n]*\n(?:[^\n]*\n *\^[ ~^]*\n)?",
    re.MULTILINE,
)
_LANGUAGE: Final = re.compile(r"(?<!\S)-cl-std=(\S+)")
_JOINED: Final = re.compile(r"(\\|\?\?/)\r?\n")  # a line that goes on in the next
# What a program with images has, itself, in a file or in a name that it puts together.
_IMAGES: Final = re.compile(r"image|sampler|include|##|%:%:|\?\?=")

_PATHS: Final = re.compile(r'(?<!\S)-[Is]\s*("[^"]*"|\S+)')  # among options

_failed: set[tuple[str, str, str]] = set()


def alone_fails(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether a build's only errors are those of images in the header."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    return bool(errors) and all(
        _is_of_images(d) for d in errors if "too many errors" not in d.message
    )


def others(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings that are not the header's of images: a program has nothing to do with those."""
    return tuple(d for d in diagnostics if not _is_of_images(d))


def quiet(log: str) -> str:
    """A log without the header's errors of images."""
    return _ERRORS.sub("", log)


def _is_of_images(diagnostic: Diagnostic) -> bool:
    span, message = diagnostic.span, diagnostic.message
    return span is not None and Path(span.source.name).name == _NAME and "images" in message


def note_failure(compiler: Compiler, device: Platform, options: str) -> None:
    """Remember that a build with these options compiles with the names alone."""
    _failed.add(_key(compiler, device, options))


def has_failed(compiler: Compiler, device: Platform, options: str, source: str) -> bool:
    """Whether a build would fail as one before did; not of a source that may have images."""
    if _key(compiler, device, options) not in _failed:
        return False
    return not any(map(_IMAGES.search, (_PATHS.sub("", options), _JOINED.sub("", source))))


def _key(compiler: Compiler, device: Platform, options: str) -> tuple[str, str, str]:
    return compiler.path, device.name, " ".join(_LANGUAGE.findall(options))
