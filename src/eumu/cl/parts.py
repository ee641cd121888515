"""Binaries of what is to be linked: modules of SPIR-V behind a line that says what they are."""

from __future__ import annotations

import re
from typing import Final

from eumu.records import dataclass

_LINE: Final = re.compile(rb"eumu (object|library) ([01])((?: \d{1,12})*)\n")


@dataclass(frozen=True, slots=True)
class LinkerInput:
    """An object or a library; `smaller_groups` is what its build options allow."""

    is_library: bool
    smaller_groups: bool
    modules: tuple[bytes, ...]

    @property
    def binary(self) -> bytes:
        """What a program keeps of it.

        >>> LinkerInput(True, False, (b"...",)).binary
        b'eumu library 0\\n...'
        >>> LinkerInput(True, True, (b"...", b"....")).binary
        b'eumu library 1 3 4\\n.......'
        """
        kind = b"library" if self.is_library else b"object"
        sizes = b"".join(b" %d" % len(m) for m in self.modules) if len(self.modules) > 1 else b""
        return b"eumu %s %d%s\n" % (kind, self.smaller_groups, sizes) + b"".join(self.modules)


def read(binary: bytes) -> LinkerInput | None:
    """An object or a library of its binary, if it is one.

    >>> read(b"eumu object 1\\n...")
    LinkerInput(is_library=False, smaller_groups=True, modules=(b'...',))
    >>> read(b"eumu library 1 1 2\\nabb").modules
    (b'a', b'bb')
    >>> read(b"eumu library 1 1 2\\nabbb")  # longer than it says
    """
    line = _LINE.match(binary)
    if line is None:
        return None
    at, modules = line.end(), list[bytes]()
    for size in map(int, line[3].split()):
        modules.append(binary[at : at + size])
        at += size
    if not modules:
        modules, at = [binary[at:]], len(binary)
    if at != len(binary):
        return None
    return LinkerInput(line[1] == b"library", line[2] == b"1", tuple(modules))
