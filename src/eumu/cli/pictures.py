"""`eumu run --timeline` and `--report`: what a run did, as a trace and as a page."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import eumu
from eumu.cli.status import UsageError
from eumu.cli.values import whole
from eumu.device.chip import Part, part, pools
from eumu.device.dispatch import Needs, place
from eumu.device.profile import Profile
from eumu.reports import page, trace

__all__ = ["watched"]


@contextmanager
def watched(device: eumu.Device, options: argparse.Namespace) -> Iterator[None]:
    """Watch the launch inside, on the interpreter, and write what is asked for."""
    which, pool_map = _part(device, options)
    profile = Profile()
    device.observer = profile
    try:
        yield
    finally:
        device.observer = None
    if profile.grid is None:
        return
    schedule = place(which, Needs.of(profile.grid), profile.durations, pool_map)
    if options.timeline is not None:
        Path(options.timeline).write_text(json.dumps(trace(profile, schedule)))
    if options.report is not None:
        Path(options.report).write_text(page(profile, schedule))


def _part(device: eumu.Device, options: argparse.Namespace) -> tuple[Part, int | None]:
    """The part that the run is shown on, and its pool map."""
    which = part(options.part) if options.part else part(device.platform)
    if options.pools is None:
        return which, None
    pool_map = whole("--pools", options.pools)
    if not which.has_pools:
        raise UsageError(f"--pools: {which.name} has no thread pools; they are Broxton's")
    pools(which, pool_map)
    return which, pool_map
