"""Native code of other generations than Gen9, as the text of Intel's disassembler, iga64.

eumu does not run it; beside the vISA it shows what the compiler made of that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

from eumu import processes
from eumu.errors import ToolMissing
from eumu.platforms import Platform
from eumu.settings import IGA64
from eumu.writing import work_folder

_INSTALL: Final = (
    "install it with: sudo apt install libigc-tools\n"
    f"  several can be used: {IGA64.name}=/path/to/one:/path/to/another, the first that knows the"
    " device is taken"
)
_SECONDS: Final = 60.0


def disassemble(code: bytes, device: Platform, name: str) -> str:
    """The text of a kernel's code by the first iga64 that knows the device.

    ToolMissing says that there is none.
    """
    tried = list(_tools())
    for tool in tried:
        run = _run(tool, code, device)
        if run is not None:
            return run
    if not tried:
        raise ToolMissing(
            f"{name} is native code of {device} ({device.title}), which eumu reads through Intel's"
            f" disassembler, iga64; that is not installed\n  {_INSTALL}"
        )
    raise ToolMissing(
        f"{name} is native code of {device} ({device.title}), which {', '.join(tried)} cannot"
        f" disassemble; newer releases of iga64 know newer devices, those of 2026 up to Xe2\n"
        f"  {_INSTALL}"
    )


def _tools() -> Iterator[str]:
    """Those that the variable lists, or else the one on the path."""
    listed = IGA64.get()
    for name in listed or ("iga64",):
        path = shutil.which(os.path.expanduser(name))
        if path is not None:
            yield path
        elif listed:
            raise ToolMissing(f"{IGA64.name} names {name}, which is no program")


def _run(tool: str, code: bytes, device: Platform) -> str | None:
    """What a tool prints, None if it refuses."""
    with work_folder() as work:
        path = work / "code.krn"
        path.write_bytes(code)
        try:
            done = processes.run(
                (tool, "-d", f"-p={device.iga}", str(path)),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    text = done.stdout.decode("utf-8", "replace")
    return text if done.returncode == 0 and text.strip() else None
