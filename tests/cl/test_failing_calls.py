"""Calls of the system that fail in a program on eumu's OpenCL driver.

`strace` lets one call fail in each run, of the driver's library or of what is below it: the program
ends in time, with a result or an error.  `EUMU_FAILING_CALLS=all` lets each call fail in turn.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import failing_engines
from cl.programs import SOURCES, environment
from drm.programs import compiled
from eumu.zebin import compilers

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed"),
    pytest.mark.skipif(
        shutil.which("strace") is None,
        reason="strace is not installed (Debian: apt-get install strace)",
    ),
]
# How each fails, the first and the last that is tried: those before are the loader's, and do not
# come from the driver.
CALLS = {
    "memfd_create": ("EMFILE", 1, 2),
    "ftruncate": ("ENOSPC", 1, 2),
    "fcntl": ("EINVAL", 1, 12),
    "mmap": ("ENOMEM", 45, 90),
    "mremap": ("ENOMEM", 1, 12),
    "socket": ("EMFILE", 1, 2),
    "connect": ("ECONNREFUSED", 1, 2),
    "sendmsg": ("EPIPE", 1, 3),
    "sendto": ("EPIPE", 1, 24),
    "recvfrom": ("ECONNRESET", 1, 40),
    "openat": ("EMFILE", 20, 60),
    "pipe2": ("EMFILE", 1, 3),
    "clone3": ("EAGAIN", 1, 3),
    "vfork": ("EAGAIN", 1, 2),
}
TIMEOUT_S = 60
_WRONG = (124, 137, 139, -11, -9, -6)


def failing(program: Path) -> Callable[[str], tuple[str, int, str]]:
    def run(words: str) -> tuple[str, int, str]:
        trace = f"trace={words.partition(':')[0]}"
        command = ["strace", "-o", os.devnull, "-e", trace, "-e", f"inject={words}"]
        try:
            done = subprocess.run(
                [*command, str(program), "pages"],
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                env=environment(EUMU_DEVICE="pvc"),
            )
        except subprocess.TimeoutExpired as late:
            return words, 124, str(late.stderr)
        return words, done.returncode, done.stdout + done.stderr

    return run


def test_calls_of_programs(tmp_path: Path) -> None:
    program = compiled(SOURCES / "cl" / "sharing.c", tmp_path, "OpenCL")
    step = 1 if os.environ.get("EUMU_FAILING_CALLS") == "all" else 9
    words = [
        f"{call}:error={how}:when={n}"
        for call, (how, first, last) in CALLS.items()
        for n in range(first, last + 1, step)
    ]
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(failing(program), words))
    assert not [end for end in ends if end[1] in _WRONG]
    assert not [end for end in ends if "internal error" in end[2] or "Traceback" in end[2]]
    assert any(end[1] for end in ends)  # some calls are the driver's
    assert failing(program)("sync:error=EIO:when=1")[1] == 0  # nobody calls that


# Calls of the engine process, of each of its threads and of the compiler that it starts: how each
# fails, and which are tried.
IN_ENGINES = {
    "mmap": ("ENOMEM", (*range(1, 13), 14, 17, 20, 24, 30, 40, 60)),
    "mprotect": ("ENOMEM", range(1, 7)),
    "madvise": ("ENOSYS", range(1, 4)),
    "recvmsg": ("ECONNRESET", range(1, 2)),
    "recvfrom": ("ECONNRESET", range(1, 7)),
    "sendto": ("EPIPE", range(1, 7)),
    "write": ("ENOSPC", range(1, 7)),
    "rename": ("ENOSPC", range(1, 4)),
    "unlink": ("EACCES", range(1, 3)),
    "mkdir": ("ENOSPC", range(1, 4)),
    "pipe2": ("EMFILE", range(1, 3)),
    "clone": ("EAGAIN", range(1, 2)),
    "clone3": ("EAGAIN", range(1, 7)),
    "accept4": ("EMFILE", range(1, 2)),
    "openat": ("EMFILE", (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)),
}
SOME_IN_ENGINES = ("mmap:3", "clone3:1", "clone3:6", "write:2", "rename:1", "recvfrom:3")


def test_calls_of_engine_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program gets a status or its results, in time; people are told why."""
    failing_engines.skip_without_strace()
    program = compiled(SOURCES / "cl" / "sharing.c", tmp_path, "OpenCL")
    every = [f"{call}:{n}" for call, (_, numbers) in IN_ENGINES.items() for n in numbers]
    chosen = every if os.environ.get("EUMU_FAILING_CALLS") == "all" else SOME_IN_ENGINES
    words = [
        f"{call}:error={IN_ENGINES[call][0]}:when={n}"
        for call, n in (one.split(":") for one in chosen)
    ]
    for name in ("FRESH", "EUMU_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    monkeypatch.setenv("EUMU_CACHE", "on")
    command = [sys.executable, "-m", "eumu", "run", "--device", "pvc", "--", sys.executable]
    command += [failing_engines.__file__, str(program), "pages", "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S * 10)
    runs = failing_engines.lines(done.stdout)
    assert len(runs) == len(words) + 1, done.stdout + done.stderr
    assert runs[-1]["status"] == 0, runs[-1]
    assert not [one for one in runs if one["status"] in _WRONG], runs
    assert all(one["failed"] for one in runs[:-1]) or len(chosen) > 10
    assert any(one["failed"] and not one["status"] for one in runs)  # what cannot be kept is made
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
