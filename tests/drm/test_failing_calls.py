"""Calls of the system that fail in a program on the virtual GPU, and in its engine process.

`strace` lets one call fail in each run: the program ends with a status and a message, in time, and
the next one runs.  `EUMU_FAILING_CALLS=all` lets each call fail in turn, else some do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
