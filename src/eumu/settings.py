"""What environment variables say: all of them, read here and nowhere else.

A value is read when it is needed, so that a program may set it at any time before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from eumu.errors import SettingError, shortened
from eumu.records import dataclass

T = TypeVar("T")
_YES: Final = ("on", "1", "yes", "true")
_NO: Final = ("off", "0", "no", "false")
_NO_PROGRAM: Final[tuple[str, ...]] = ()
_PROGRAMS: Final = f"programs, separated by `{os.pathsep}`"
MOST_FUEL: Final = (1 << 62) - 1  # instructions of a thread
_MOST_MB: Final = 1 << 40  # more than any machine has, and bytes still have 64 bits


# As exec.checks has them.
_CHECKS: Final = (
    "undefined races cheap all alignment const copies division indices leaks printf uninitialized"
)
CHECK_NAMES: Final = frozenset(_CHECKS.split(" "))


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One variable: `kind` says what its value is, `default` what holds where it is not set."""

    name: str
    kind: str
    default: T
    default_text: str
    meaning: str
    read: Callable[[str], T]

    def get(self) -> T:
        """The value; SettingError for one that is none.  Empty is as if it were not set."""
        text = os.environ.get(self.name, "").strip()
        if not text:
            return self.default
        try:
            return self.read(text)
        except ValueError:
            raise SettingError(
                f"{self.name}={shortened(text)}: it is {self.kind}; {self.meaning}"
            ) from None


def _switch(text: str) -> bool:
    word = text.lower()
    if word not in (*_YES, *_NO):
        raise ValueError
    return word in _YES


def _number(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise ValueError
        return value

    return read


def _path(text: str) -> Path | None:
    if "\0" in text:
        raise ValueError
    return Path(text)


def _word(text: str) -> str:
    if not text.isprintable() or len(text) > 64:
        raise ValueError
    return text


def _engine(text: str) -> str | None:
    word = text.lower()
    if word not in ("jit", "interp"):
        raise ValueError
    return word


def _checks(text: str) -> str:
    word = text.lower()
    if word in (*_YES, *_NO):
        return "cheap" if word in _YES else ""
    if set(map(str.strip, word.split(","))) - CHECK_NAMES:
        raise ValueError
    return word


def _fault(text: str) -> bool:
    word = text.lower()
    if word not in ("report", "abort"):
        raise ValueError
    return word == "abort"


def _programs(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(os.pathsep) if name.strip())


OCLOC: Final = Setting(
    *(
        "EUMU_OCLOC",
        _PROGRAMS,
        _NO_PROGRAM,
        "`ocloc` on the path, then each `ocloc-`*version*, newest first",
    ),
    "Intel's compilers, in order: the first that supports the device builds for it",
    _programs,
)
IGA64: Final = Setting(
    *("EUMU_IGA64", _PROGRAMS, _NO_PROGRAM, "`iga64` on the path"),
    "Intel's disassemblers, in order: the first that supports the device prints its native code",
    _programs,
)
WORKERS: Final = Setting(
    *("EUMU_WORKERS", "a whole number from 1 to 4096", None, "the processors of this process"),
    "worker threads of a launch on the fast engine",
    _number(1, 4096),
)
CACHE: Final = Setting(
    *("EUMU_CACHE", "on or off", True, "on"),
    "whether compiled kernels, builds and the library that `eumu gpu` preloads are kept on disk",
    _switch,
)
CACHE_DIR: Final = Setting(
    *("EUMU_CACHE_DIR", "a folder", None, "`eumu` in the user's cache folder"),
    "the folder of what is kept on disk",
    _path,
)
CACHE_MB: Final = Setting(
    *("EUMU_CACHE_MB", "a whole number, 0 or more", 256, "256"),
    "MiB of compiled kernels on disk, and as many of builds; the least recently used go first",
    _number(0, _MOST_MB),
)
COMPILE_SECONDS: Final = Setting(
    *("EUMU_COMPILE_SECONDS", "a whole number from 1 to 1000000", 30, "30"),
    "seconds of processor time for compiling a kernel; beyond them, the interpreter runs it",
    _number(1, 10**6),
)
COMPILE_MB: Final = Setting(
    *("EUMU_COMPILE_MB", "a whole number, 1 or more", 4096, "4096"),
    "MiB of memory for compiling a kernel; beyond them, the interpreter runs it",
    _number(1, _MOST_MB),
)
SCRATCH_MB: Final = Setting(
    *("EUMU_SCRATCH_MB", "a whole number, 0 or more", 1024, "1024"),
    "MiB of scratch space and shared local memory for the groups of a launch that run at once",
    _number(0, _MOST_MB),
)
SHADOW_MB: Final = Setting(
    *("EUMU_SHADOW_MB", "a whole number, 0 or more", 8192, "8192"),
    "MiB of shadow memory and copies for a launch that is checked for races",
    _number(0, _MOST_MB),
)
PRINTF_MB: Final = Setting(
    *("EUMU_PRINTF_MB", "a whole number, 0 or more", 16, "16"),
    "MiB of text that a launch may print; the rest is left out, with a note",
    _number(0, _MOST_MB),
)
ABREAST: Final = Setting(
    *("EUMU_ABREAST", "a number of milliseconds", 100, "100"),
    "how long a kernel has run when code is made that runs threads of a group side by side",
    _number(0, 1 << 30),
)
PARANOID: Final = Setting(
    *("EUMU_PARANOID", "on or off", False, "off"),
    "whether compiled code checks every access against the memory of the launch; for tests",
    _switch,
)
VERIFY_IR: Final = Setting(
    *("EUMU_VERIFY_IR", "on or off", False, "off"),
    "whether the IR of each program is checked against the rules of the IR; for tests",
    _switch,
)
TRACEBACK: Final = Setting(
    *("EUMU_TRACEBACK", "on or off", False, "off"),
    "whether commands show where in eumu an error was raised",
    _switch,
)
FAULT_ENDS: Final = Setting(
    *("EUMU_FAULT", "report or abort", False, "report"),
    "abort: a fault on the virtual GPU ends the program that `eumu gpu` runs",
    _fault,
)
DRM_SOCKET: Final = Setting(
    *("EUMU_DRM_SOCKET", "a path", None, "none"),
    "the socket of the engine process; `eumu gpu` sets it for the library that it preloads",
    _path,
)

CL_DEVICE: Final = Setting(
    *("EUMU_DEVICE", "the name of a device", "pvc", "pvc"),
    "the device of eumu's OpenCL driver",
    _word,
)
CL_ENGINE: Final = Setting(
    *("EUMU_ENGINE", "jit or interp", None, "jit where it can be used"),
    "the engine that runs kernels of eumu's OpenCL driver",
    _engine,
)
CL_CHECK: Final = Setting(
    *("EUMU_CHECK", "on, off, or names of checks joined by commas", "", "off"),
    "the checks of kernels and calls in eumu's OpenCL driver, as for --check of `eumu run`",
    _checks,
)
COMPUTE_UNITS: Final = Setting(
    *("EUMU_COMPUTE_UNITS", "a whole number from 1 to 65536", None, "those of the device"),
    "the compute units that programs are told of, for `eumu gpu` whole subslices of the part; some"
    " programs do work for each",
    _number(1, 65536),
)
FUEL: Final = Setting(
    *("EUMU_FUEL", "a whole number from 1 to 2^62 - 1", None),
    "2^28, behind a driver 2^32, on the interpreter 2^22",
    "the instructions that one thread of a launch may run, where the launch does not say it",
    _number(1, MOST_FUEL),
)
HARDWARE_BOUNDS: Final = Setting(
    *("EUMU_HARDWARE_BOUNDS", "on or off", False, "off"),
    "in eumu's OpenCL driver, memory ends where that of hardware does, as for --hardware-bounds of"
    " `eumu run`",
    _switch,
)
CL_SOCKET: Final = Setting(
    *("EUMU_CL_SOCKET", "a path", None, "none"),
    "the socket of the engine process; `eumu run --` sets it for the OpenCL driver in the program",
    _path,
)

CAPTURE_FILE: Final = Setting(
    *("EUMU_CAPTURE", "a path", None, "none"),
    "the file for captured launches; `eumu compare --` sets it for the OpenCL layer in the program",
    _path,
)

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    *(OCLOC, IGA64, WORKERS, CACHE, CACHE_DIR, CACHE_MB, COMPILE_SECONDS, COMPILE_MB),
    *(FUEL, SCRATCH_MB, SHADOW_MB, PRINTF_MB, ABREAST, PARANOID, VERIFY_IR, TRACEBACK),
    FAULT_ENDS,
    *(DRM_SOCKET, CL_DEVICE, CL_ENGINE, CL_CHECK, COMPUTE_UNITS, HARDWARE_BOUNDS),
    *(CL_SOCKET, CAPTURE_FILE),
)
