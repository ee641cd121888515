"""Binaries of what is to be linked: SPIR-V behind a line that says what it is."""

from __future__ import annotations

import re
from typing import Final

from eumu.records import dataclass

_LINE: Final = re.compile(rb"eumu (object|library) ([01])\n")


@dataclass(frozen=True, slots=True)
class LinkerInput:
    """An object or a library; `smaller_groups` is what its build options allow."""

    is_library: bool
    smaller_groups: bool
    spirv: bytes

    @property
    def binary(self) -> bytes:
        """What a program keeps of it.

        >>> LinkerInput(True, False, b"...").binary
        b'eumu library 0\\n...'
        """
        kind = b"library" if self.is_library else b"object"
        return b"eumu %s %d\n" % (kind, self.smaller_groups) + self.spirv


def read(binary: bytes) -> LinkerInput | None:
    """An object or a library of its binary, if it is one.

    >>> read(b"eumu object 1\\n...")
    LinkerInput(is_library=False, smaller_groups=True, spirv=b'...')
    """
    line = _LINE.match(binary)
    if line is None:
        return None
    return LinkerInput(line[1] == b"library", line[2] == b"1", binary[line.end() :])
