"""What the driver says of a device."""

from __future__ import annotations

import os
import struct
import sys

import pytest

from eumu.cl.facts import facts
from eumu.platforms import platform

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux")


def _numbers(device: str) -> tuple[int, ...]:
    return struct.unpack_from("<14I", facts(platform(device), checks=False))


def test_compute_units_are_what_runs_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that is made for the part's 512 units takes two processors hours; the part's own numbers
    are those of Intel's query."""
    monkeypatch.delenv("EUMU_WORKERS", raising=False)
    assert _numbers("pvc")[2] == len(os.sched_getaffinity(0))
    monkeypatch.setenv("EUMU_WORKERS", "30")
    assert _numbers("pvc")[2] == 30
    assert _numbers("skl")[2] == 24
    slices, subslices, eus = _numbers("pvc")[8:11]
    assert slices * subslices * eus == 512
