"""Runs one task in this process: ``python -m eumu.campaign.child PARENT SECONDS`` reads it, prints
results.

Compilers crash on some programs, or do not end: then only this process is lost.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import threading
import time
from dataclasses import asdict
from typing import Final

PATIENCE: Final = 20  # a process waits for others at most so many times its limit
WRONG_VERSION: Final = 64
MISSING: Final = 65  # a tool, so that there is no result on this machine
# Almost nothing that a task leaves is a cycle: looking for them took a fifth of its time.
_ALLOCATIONS: Final = 500_000
_GRACE: Final = 5  # seconds between the signal that ends a process and the one that must


def main() -> int:
    _watch_parent()
    text = sys.stdin.read()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed
    seconds = int(sys.argv[2]) + 1
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    if most == resource.RLIM_INFINITY or seconds + _GRACE < most:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + _GRACE))
    import eumu
    from eumu.campaign.kinds import RUN
    from eumu.campaign.tasks import Task

    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, 10, 10)
    task = Task.decode(text)
    if task.version != eumu.__version__:
        print(f"this worker has eumu {eumu.__version__}, the campaign {task.version}")
        return WRONG_VERSION
    try:
        rows = [asdict(result) for result in RUN[task.kind](task)]
    except eumu.errors.ToolMissing as error:
        print(str(error))
        return MISSING
    spent = sum(
        use.ru_utime + use.ru_stime
        for use in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    json.dump({"results": rows, "seconds": spent}, answers)
    answers.close()
    return 0


def _watch_parent() -> None:
    """End when the worker does, however and whenever it ends: its number is in the command."""
    parent = int(sys.argv[1])

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
