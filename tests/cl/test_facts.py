"""What the driver says of a device."""

from __future__ import annotations

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


@pytest.mark.parametrize(("device", "units"), [("pvc", 512), ("skl", 24)])
def test_compute_units_are_the_parts(
    device: str, units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program makes its launches by that: they are the same on each machine."""
    monkeypatch.setenv("EUMU_WORKERS", "3")
    assert _numbers(device)[2] == units
    slices, subslices, eus = _numbers(device)[8:11]
    assert slices * subslices * eus == units


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
