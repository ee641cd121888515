"""Calls of the system that fail in a program on the virtual GPU, and in its engine process.

`strace` lets one call fail in each run: the program ends with a status and a message, in time, and
the next one runs.  `EUMU_FAILING_CALLS=all` lets each call fail in turn, else some do.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import failing_engines
from drm.programs import HERE, compiled, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="i915 is a driver of Linux")
# Calls of the shim, and of the libraries under it; how each fails.
CALLS = {
    "memfd_create": "EMFILE",
    "ftruncate": "ENOSPC",
    "fcntl": "EINVAL",
    "mmap": "ENOMEM",
    "socket": "EMFILE",
    "connect": "ECONNREFUSED",
    "sendmsg": "EPIPE",
    "sendto": "EPIPE",
    "recvfrom": "ECONNRESET",
    "openat": "EMFILE",
    "close": "EIO",
    "mprotect": "ENOMEM",
    "read": "EIO",
    "pread64": "EIO",
    "pwrite64": "ENOSPC",
}
MOST = {"mmap": 40, "openat": 8, "fcntl": 12, "close": 12, "recvfrom": 12, "sendto": 12}
# Programs on one virtual GPU.  Arguments: the program, what fails in which run.
EACH = """
node=$1; shift
for words; do
    timeout 10 strace -o /dev/null -e trace=${words%%:*} -e inject=$words "$node" grown 2>&1
    echo "$words ends with $?"
done
"$node" grown
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed (Debian: apt-get install strace)")
    asked = ["strace", "-o", os.devnull, "-e", "inject=close:error=EIO:when=1", "true"]
    if subprocess.run(asked, capture_output=True).returncode not in (0, 1):
        pytest.skip("strace may not trace programs here")
    return compiled(HERE / "node.c", tmp_path_factory.mktemp("failing"))


def some(name: str) -> range:
    most = MOST.get(name, 4)
    first = 2 if name == "mmap" else 1  # the first is of a program's loader, which does not look
    is_each = name == "recvfrom" or os.environ.get("EUMU_FAILING_CALLS") == "all"
    step = 1 if is_each else 5  # some receives only ask whether the engine process is there
    return range(first, most + 1, step)


def test_calls_of_programs(node: Path) -> None:
    words = [f"{call}:error={how}:when={n}" for call, how in CALLS.items() for n in some(call)]
    done = run("sh", "-c", EACH, "sh", node, *words)
    ends = [line for line in done.stdout.splitlines() if " ends with " in line]
    assert len(ends) == len(words), done.stdout + done.stderr
    # 124: it did not end, 139: an access outside memory.
    wrong = [line for line in ends if line.split()[-1] in ("124", "139", "137")]
    assert not wrong, (wrong, done.stdout, done.stderr)
    assert done.stdout.splitlines()[-1] == "grown ok", done.stdout
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr


# Calls of the engine process, of each of its threads, and of the broker that forks it: how each
# fails, and how many there are.
IN_ENGINES = {
    "mmap": ("ENOMEM", 7),
    "recvmsg": ("ECONNRESET", 1),
    "sendto": ("EPIPE", 1),
    "recvfrom": ("ECONNRESET", 9),
    "clone": ("EAGAIN", 1),
    "clone3": ("EAGAIN", 2),
    "accept4": ("EMFILE", 1),
    "pidfd_open": ("EMFILE", 1),
    "openat": ("EMFILE", 16),
    "write": ("ENOSPC", 7),
    "pread64": ("EIO", 4),
    "lseek": ("EIO", 7),
    "mprotect": ("ENOMEM", 4),
}
# Of each kind in `make test`: some that once made a program wait for ever, or lost a file silently.
SOME_IN_ENGINES = ("mmap:2", "mmap:3", "clone3:2", "write:1", "write:7", "pread64:2", "openat:3")


def test_calls_of_engine_processes(node: Path, tmp_path: Path) -> None:
    """The program ends in time; people are told, also where only a file of theirs is not whole."""
    failing_engines.skip_without_strace()
    every = [f"{call}:{n + 1}" for call, (_, most) in IN_ENGINES.items() for n in range(most)]
    chosen = every if os.environ.get("EUMU_FAILING_CALLS") == "all" else SOME_IN_ENGINES
    words = [
        f"{call}:error={IN_ENGINES[call][0]}:when={n}"
        for call, n in (one.split(":") for one in chosen)
    ]
    options = ("--dump", str(tmp_path / "dump"), "--log", str(tmp_path / "log"))
    program = (sys.executable, failing_engines.__file__, node, "hangs", "--", *words)
    done = run(*program, options=options)
    runs = failing_engines.lines(done.stdout)
    assert len(runs) == len(words) + 1, done.stdout + done.stderr
    assert "hangs ok" in str(runs[-1]["said"]), runs[-1]
    assert not [one for one in runs if one["status"] == failing_engines.HANGS], done.stderr
    assert any(one["failed"] for one in runs)
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
    for what in ("write", "pread64"):
        if any(one["failed"] and str(one["words"]).startswith(what) for one in runs):
            assert "is not whole" in done.stderr or "--log" in done.stderr, done.stderr


def test_a_program_without_engine_process_is_ended(node: Path) -> None:
    """There is no other process to be had, and the program looks at memory alone."""
    failing_engines.skip_without_strace()
    program = (sys.executable, failing_engines.__file__, node, "polls", "--")
    done = run(*program, "clone:error=EAGAIN:when=1")
    ended, last = failing_engines.lines(done.stdout)
    assert (ended["failed"], ended["status"]) == (True, -signal.SIGABRT), done.stdout
    assert "polls ok" in str(last["said"])
    assert "Resource temporarily unavailable" in done.stderr
