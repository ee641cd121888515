"""The compilers that are there: which one knows a device, what it is, and how to get one.

Intel's compiler drops old devices: what came out in 2022 knows Gen9 and not Battlemage, that of
2026 the other way round.  So several may be used side by side.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from eumu import processes
from eumu.errors import BuildError, ToolMissing
from eumu.platforms import ALIASES, PLATFORMS, Platform
from eumu.records import dataclass
from eumu.settings import OCLOC
from eumu.writing import work_folder

VARIABLE: Final = OCLOC.name
INSTALL: Final = "sudo apt install intel-opencl-icd"
HOW_TO_GET: Final = (
    f"install it with: {INSTALL}\n"
    "  (Debian and Ubuntu; newer releases call the package intel-ocloc, know mtl and what came"
    " after it, and do not know bdw, skl, apl and icllp any more)\n"
    f"  several can be used: {VARIABLE}=/path/to/one:/path/to/another, the first that knows the"
    " device is taken"
)

_QUERY: Final = "OCL_DRIVER_VERSION"
_NAMES: Final = re.compile(r"<device_type> can be: (?P<names>[^\n]*)")
_VERSIONED: Final = re.compile(r"ocloc-(\d+(?:\.\d+)*)")
_SECONDS: Final = 20.0


CUT_BEHIND: Final = 1 << 16  # bytes of shared local memory
_LATER: Final = (26, 27)  # of what 22.43 has not, or makes wrong


@dataclass(frozen=True, slots=True)
class Compiler:
    """One ocloc: its path, and what it says of itself; asking costs milliseconds, once."""

    path: str

    @property
    def version(self) -> str:
        """The release, as in 22.43.24595; "" if it does not say."""
        return _version(self.path)

    @property
    def cuts_addresses(self) -> bool:
        """Whether it may put local variables behind `CUT_BEHIND` bytes on top of the first ones."""
        return not self.is_later

    @property
    def is_later(self) -> bool:
        """Whether it is 26.27 or later, which has functions that 22.43 has not.

        Releases in between have not been tried.
        """
        release = tuple(int(part) for part in self.version.split(".")[:2] if part.isdecimal())
        return release >= _LATER

    @property
    def devices(self) -> tuple[Platform, ...]:
        """The platforms that it compiles for; all if it does not say."""
        names = _names(self.path)
        return tuple(
            p for p in PLATFORMS.values() if not names or not names.isdisjoint(_names_of(p))
        )

    def __str__(self) -> str:
        return f"{self.path} ({self.version})" if self.version else self.path


def installed() -> tuple[Compiler, ...]:
    """The compilers in the order in which they are tried.

    They are those that the variable EUMU_OCLOC lists, or else `ocloc` and then every `ocloc-…` with
    a version in its name, the newest first, as far as they are on the path.
    """
    listed = OCLOC.get()
    if listed:
        return tuple(Compiler(_listed(name)) for name in listed)
    plain = shutil.which("ocloc")
    paths = [*([plain] if plain else []), *_versioned()]
    return tuple(Compiler(path) for path in dict.fromkeys(paths))


def find() -> str:
    """The path of the first ocloc; ToolMissing says how to install it."""
    return _some()[0].path


def choose(device: Platform) -> Compiler:
    """The first compiler that knows the device; ToolMissing says who knows what instead."""
    listed = _some()
    if len(listed) == 1:
        return listed[0]  # whether it knows the device, it says itself
    compiler = next((c for c in listed if device in c.devices), None)
    if compiler is None:
        raise unknown_device(device, listed)
    return compiler


def is_known(device: Platform) -> bool:
    """Whether there is a compiler that knows the device."""
    try:
        return any(device in compiler.devices for compiler in installed())
    except ToolMissing:  # the variable names what is no program
        return False


def unknown_device(device: Platform, listed: Sequence[Compiler]) -> ToolMissing:
    """The error that no compiler knows a device."""
    lines = [f"  {c} knows {', '.join(p.name for p in c.devices) or 'no device'}" for c in listed]
    return ToolMissing(
        f"no ocloc that is installed compiles for {device} ({device.title})\n"
        + "\n".join(lines)
        + f"\n  {HOW_TO_GET}"
    )


def _some() -> tuple[Compiler, ...]:
    listed = installed()
    if not listed:
        raise ToolMissing(
            "ocloc, Intel's offline compiler, is not installed; it is needed to build OpenCL C "
            f"and SPIR-V\n  {HOW_TO_GET}"
        )
    return listed


def _listed(name: str) -> str:
    path = shutil.which(os.path.expanduser(name))
    if path is None:
        raise ToolMissing(
            f"{VARIABLE} names {name}, which is no program; it is a list of paths of ocloc,"
            f" separated by {os.pathsep!r}"
        )
    return os.path.abspath(path)


def _versioned() -> list[str]:
    versions: dict[tuple[int, ...], str] = {}
    for directory in os.get_exec_path():
        with suppress(OSError):  # a folder that cannot be read has no compiler for us
            for path in Path(directory).glob("ocloc-*"):
                match = _VERSIONED.fullmatch(path.name)
                if match and os.access(path, os.X_OK):
                    versions.setdefault(tuple(map(int, match[1].split("."))), str(path))
    return [versions[version] for version in sorted(versions, reverse=True)]


def _names_of(device: Platform) -> set[str]:
    """Every name of a platform, as the compiler spells names."""
    names = {device.name, device.ocloc, *(a for a, p in ALIASES.items() if p == device.name)}
    return {name.lower().replace("_", "-") for name in names}


@cache
def _names(path: str) -> frozenset[str]:
    """The devices that the compiler's help lists."""
    match = _NAMES.search(_ask(path, "compile", "--help"))
    if match is None:
        return frozenset()
    return frozenset(name.strip() for name in match["names"].split(","))


@cache
def _version(path: str) -> str:
    with suppress(BuildError), work_folder() as work:
        _ask(path, "query", _QUERY, directory=work)  # the answer is a file
        answer = work / _QUERY
        return answer.read_text("ascii", "replace").strip("\0 \n") if answer.is_file() else ""
    return ""


def _ask(path: str, *words: str, directory: Path | None = None) -> str:
    """What a compiler prints; nothing if it cannot be started."""
    try:
        done = processes.run(
            (path, *words),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return str(done.stdout, "utf-8", "replace")
