"""Foreign programs: each has a limit of processor time of its own, also if nobody waits for it.

A limit on the clock that only the caller keeps is no limit when the caller is killed: a compiler in
an endless loop would run for ever.
"""

from __future__ import annotations

import contextlib
import math
import subprocess
from typing import Any, Final

try:
    import resource
except ImportError:  # a system without such limits: the caller's patience is the only one
    resource = None  # type: ignore[assignment]

_GRACE: Final = 5  # seconds between the signal that ends a process and the one that must


def run(
    command: tuple[str, ...] | list[str],
    *,
    timeout: float,
    processors: int = 1,
    seconds: float | None = None,
    input: Any = None,
    **how: Any,
) -> subprocess.CompletedProcess[Any]:
    """`subprocess.run` without `check`, for a program that may not end by itself.

    It and each of its children may use `timeout` seconds of so many processors, or `seconds` of
    processor time.  Raises `TimeoutExpired` after `timeout` seconds on the clock, with what it has
    written so far.
    """
    if how.pop("capture_output", False):
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        how["stdin"] = subprocess.PIPE
    with subprocess.Popen(command, **how) as process:
        try:
            limit(process.pid, timeout * processors if seconds is None else seconds)
            output, errors = process.communicate(input, timeout)
        except subprocess.TimeoutExpired as late:
            process.kill()
            process.wait()
            raise subprocess.TimeoutExpired(command, timeout, late.output, late.stderr) from None
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def limit(pid: int, seconds: float) -> None:
    """Let a process use so much processor time at most, if the system can see to that.

    A tighter limit that it has stays.
    """
    if not hasattr(resource, "prlimit"):
        return
    most = math.ceil(seconds)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, or is another's
        wanted = zip(resource.prlimit(pid, resource.RLIMIT_CPU), (most, most + _GRACE), strict=True)
        tight = [new if old == resource.RLIM_INFINITY else min(old, new) for old, new in wanted]
        resource.prlimit(pid, resource.RLIMIT_CPU, (tight[0], tight[1]))
