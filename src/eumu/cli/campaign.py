"""`eumu campaign`: many programs, in several ways each, on many processes and machines."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from eumu.campaign import files, hostile, random_opencl, random_visa
from eumu.campaign.campaign import Summary, explanations, run
from eumu.campaign.cluster import connected
from eumu.campaign.store import Store
from eumu.campaign.tasks import Task
from eumu.cli.status import FAILED, FINE, UsageError
from eumu.cli.terminal import Progress
from eumu.cli.values import from_zero
from eumu.platforms import platform

_SHOWN: Final = 20  # differences


def command(options: argparse.Namespace) -> int:
    """Run what is left of a campaign; status 1 if something differs that nobody has explained."""
    tasks = list(_tasks(options))
    summary = Summary(explained=explanations(options.explained))
    progress = Progress(f"campaign {options.kind}")
    workers = _from_one("--workers", options.workers, 4096) if options.workers else _processors()
    with Store(options.store) as store:
        try:
            with progress:
                run(
                    tasks,
                    store,
                    summary,
                    lambda: connected(workers, options.scheduler),
                    report=progress.report if progress.is_shown else None,
                )
        finally:
            _tell(summary)
    return FAILED if summary.differing else FINE


def _from_one(option: str, text: str, most: int) -> int:
    value = from_zero(option, text)
    if not 1 <= value <= most:
        raise UsageError(f"{option} is from 1 to {most}")
    return value


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _tell(summary: Summary) -> None:
    for result in summary.differing[:_SHOWN]:
        first, *rest = result.what.splitlines() or [""]
        print(f"{result.program}: {result.title}: {first}", *rest, sep="\n  ")
    if len(summary.differing) > _SHOWN:
        print(f"and {len(summary.differing) - _SHOWN} more; the store has all of them")
    print(summary.line())
    sys.stdout.flush()


def _tasks(options: argparse.Namespace) -> Iterator[Task]:
    limit = float(_from_one("--limit", options.limit, 10**6))
    if (options.kind == "files") != (options.folder is not None):
        raise UsageError("a folder is given to the kind files, and to no other")
    if options.kind == "hostile":
        if options.devices:
            raise UsageError("hostile kernels have no device")
        yield from hostile.tasks(hostile.DEVICE, _count(options), limit)
        return
    named = options.devices or ("apl" if options.kind == "files" else "skl")
    random = random_visa if options.kind == "random-visa" else random_opencl
    devices = dict.fromkeys(platform(name.strip()).name for name in named.split(","))
    for device in devices:
        if options.kind == "files":
            yield from files.tasks(Path(options.folder), device, options.build_options, limit)
        else:
            yield from random.tasks(device, _count(options), limit)


def _count(options: argparse.Namespace) -> int:
    return _from_one("--count", options.count, 10**7)
