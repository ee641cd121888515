"""`eumu run --timeline` and `--report`: what a run did, as a trace and as a page."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import eumu
from eumu.device.profile import Profile
from eumu.reports import page, trace

__all__ = ["watched"]


@contextmanager
def watched(device: eumu.Device, options: argparse.Namespace) -> Iterator[None]:
    """Watch the launch inside, on the interpreter, and write what is asked for."""
    profile = Profile()
    device.observer = profile
    try:
        yield
    finally:
        device.observer = None
    if profile.grid is None:
        return
    schedule = profile.schedule(device.part)
    if options.timeline is not None:
        Path(options.timeline).write_text(json.dumps(trace(profile, schedule)))
    if options.report is not None:
        Path(options.report).write_text(page(profile, schedule))
