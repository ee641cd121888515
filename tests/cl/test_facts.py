"""What the driver says of a device."""

from __future__ import annotations

import os
import struct
import sys

import pytest

from eumu.cl.builds import Failed, build
from eumu.cl.facts import absent_features, facts, features
from eumu.cl.protocol import Form, Wanted
from eumu.platforms import platform
from eumu.zebin import compilers

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


@pytest.mark.parametrize("device", ["pvc", "skl"])
def test_programs_see_the_features_that_the_device_lists(device: str) -> None:
    """The compiler's header says that there are pipes and images everywhere."""
    if compilers.find() is None:
        pytest.skip("ocloc is not installed")
    part = platform(device)
    listed = set(features(part))
    names = sorted(listed | {"__opencl_c_pipes", "__opencl_c_images", *absent_features(part)})
    checks = "".join(
        f"#if{'ndef' if name in listed else 'def'} {name}\n#error {name}\n#endif\n"
        for name in names
    )
    made = build(
        Wanted.PROGRAM,
        Form.SOURCE,
        "-cl-std=CL3.0",
        [("", f"{checks}kernel void k() {{}}".encode())],
        part,
    )
    assert made.data
    with pytest.raises(Failed) as caught:
        build(Wanted.PROGRAM, Form.SOURCE, "", [("", b"\nkernel void k() { nothing(); }")], part)
    assert "program.cl:2:19" in caught.value.log
    assert "kernel void k() { nothing(); }" in caught.value.log
