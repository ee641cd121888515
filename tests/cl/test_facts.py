"""What the driver says of a device."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from cl.programs import SOURCES, run
from drm.programs import compiled
from eumu.cl.builds import Failed, build
from eumu.cl.facts import absent, extensions, facts, features
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


@pytest.mark.parametrize("known", ["dg2, pvc", None])
def test_devices_that_no_compiler_knows_say_so(known: str | None, tmp_path: Path) -> None:
    """Programs look whether they may build; one that knows other devices is none for this one."""
    compiler = tmp_path / "ocloc"
    if known is not None:
        compiler.write_text(f"#!/bin/sh\necho '<device_type> can be: {known}'\n")
        compiler.chmod(0o755)
    program = compiled(SOURCES / "cl" / "without_compiler.c", tmp_path, "OpenCL")
    done = run(program, EUMU_DEVICE="skl", EUMU_OCLOC=str(compiler))
    assert done.stdout == "ok\n", done.stdout + done.stderr


# What OpenCL's registry has of extensions to the language.
_LANGUAGE = (
    *("3d_image_writes", "byte_addressable_store", "depth_images", "expect_assume", "fp16", "fp64"),
    *("device_enqueue_local_arg_types", "extended_bit_ops", "gl_msaa_sharing", "kernel_clock"),
    *("global_int32_base_atomics", "global_int32_extended_atomics", "int64_base_atomics"),
    *("int64_extended_atomics", "integer_dot_product", "local_int32_base_atomics"),
    *("local_int32_extended_atomics", "mipmap_image", "mipmap_image_writes"),
    *("select_fprounding_mode", "srgb_image_writes", "subgroup_ballot"),
    *("subgroup_clustered_reduce", "subgroup_extended_types", "subgroup_named_barrier"),
    *("subgroup_non_uniform_arithmetic", "subgroup_non_uniform_vote", "subgroup_rotate"),
    *("subgroup_shuffle", "subgroup_shuffle_relative", "subgroups"),
    *("work_group_uniform_arithmetic", "suggested_local_work_size"),
)


@pytest.mark.parametrize("version", ["CL1.2", "CL3.0"])
@pytest.mark.parametrize(
    ("release", "device"),
    [
        *(("ocloc", device) for device in ("skl", "dg2", "pvc")),
        *(("newest_ocloc", device) for device in ("dg2", "pvc", "bmg")),
    ],
)
def test_programs_see_no_extension_that_the_device_does_not_list(
    release: str, device: str, version: str,
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Of products of octets the compiler's header has the macro, and its library no function."""
    compiler, part = request.getfixturevalue(release), platform(device)
    monkeypatch.setenv("EUMU_OCLOC", compiler)
    names = {"cl_ext_float_atomics", *(f"cl_khr_{name}" for name in _LANGUAGE)}
    checks = "".join(
        f"#ifdef {name}\n#error {name}\n#endif\n" for name in sorted(names - {*extensions(part)})
    )
    text = f"{checks}kernel void k() {{}}".encode()
    assert build(Wanted.PROGRAM, Form.SOURCE, f"-cl-std={version}", [("", text)], part).data


@pytest.mark.parametrize("device", ["pvc", "skl"])
def test_programs_see_the_features_that_the_device_lists(device: str) -> None:
    """The compiler's header says that there are pipes and images everywhere."""
    if compilers.find() is None:
        pytest.skip("ocloc is not installed")
    part = platform(device)
    listed = set(features(part))
    names = sorted(listed | {"__opencl_c_pipes", "__opencl_c_images", *absent(part)})
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
