"""`eumu run --timeline` and `--report`: what a run did, as a trace and as a page."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager

import eumu
from eumu.cli.values import whole
from eumu.device.chip import L3
from eumu.device.profile import Profile
from eumu.reports.facts import facts
from eumu.reports.page import l3_words, no_model, page
from eumu.reports.trace import trace
from eumu.writing import write_text


@contextmanager
def watched(device: eumu.Device, options: argparse.Namespace, made_by: str = "") -> Iterator[None]:
    """Watch the launch inside, on the interpreter, and write what is asked for."""
    row = None if options.l3 is None else whole("--l3", options.l3)
    has_model = device.part.has_cache_model
    profile = Profile(l3=L3(device.part.l3_banks, row) if has_model else None)
    device.observer = profile
    try:
        yield
    finally:
        device.observer = None
    if profile.grid is None:
        return
    schedule = profile.schedule(device.part)
    if options.timeline is not None:
        write_text(options.timeline, json.dumps(trace(profile, schedule)))
    if options.report is not None:
        is_json = options.report.endswith(".json")
        text = (
            json.dumps(facts(profile, schedule, made_by), indent=2)
            if is_json
            else page(profile, schedule, made_by)
        )
        write_text(options.report, text)
    if options.l3 is not None and not options.quiet:
        words = l3_words(profile) if has_model else [no_model(device.part)]
        print(*words, sep="\n")
