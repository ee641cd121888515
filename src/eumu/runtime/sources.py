"""The sources of a program: what their lines say, and what the compiler says of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

from eumu import zebin
from eumu.errors import Place

_MOST_BYTES: Final = 16 << 20  # of a file that a program names


class Sources:
    """Files by the names that the compiler has written.

    `known` has, for names, what the user calls them and their text; others are read from where the
    compiler found them, if they are still there.  `read` gives the tables of the debug sections.
    """

    def __init__(
        self,
        known: Mapping[str, tuple[str, str]] | None = None,
        read: Callable[[], zebin.DebugLines] | None = None,
    ) -> None:
        self._known = dict(known or {})
        self._read = read

    @cached_property
    def _lines(self) -> zebin.DebugLines:
        return self._read() if self._read is not None else zebin.DebugLines({})

    def place(self, place: Place, access: bool) -> Place:
        """All that is known of a line; `access` says that it is an access to memory."""
        if place.column is None:
            place = self._lines.more(place, access=access)
        inlined = tuple(replace(call, file=self._file(call.file)[0]) for call in place.inlined)
        name, text = self._file(place.file)
        lines = text.split("\n")
        line = lines[place.line - 1].rstrip("\r") if 1 <= place.line <= len(lines) else ""
        return replace(place, file=name, text=line, inlined=inlined)

    def at(self, kernel: str, offset: int) -> Place | None:
        """The line that the machine code of a kernel at an offset comes from."""
        return self._lines.at(kernel, offset)

    def _file(self, name: str) -> tuple[str, str]:
        """What a file is called, and what it has."""
        source = self._known.get(name)
        if source is None:
            source = self._known[name] = _shown(name), _text(name)
        return source


def _shown(name: str) -> str:
    """A path from here if the file is below, else as it is."""
    try:
        near = os.path.relpath(name)
    except (OSError, ValueError):  # a working directory that is gone, another drive
        return name
    return name if near.startswith("..") else near


def _text(name: str) -> str:
    """The text of an ordinary file; nothing of what else a program may name."""
    try:
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return ""
        return Path(name).read_text("utf-8", "replace")
    except (OSError, ValueError):
        return ""
