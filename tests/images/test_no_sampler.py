"""Devices without a sampler: kernels that read images say so when they are built and launched."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu.errors import Unsupported
from eumu.platforms import PLATFORMS
from eumu.runtime.image_needs import dropped_reads
from images.image_programs import elf

PVC, SKL = PLATFORMS["pvc"], PLATFORMS["skl"]
TEXT = Path("tests/verifier/sampler-platform.visa").read_text(encoding="utf-8")


def test_a_kernel_that_reads_images_is_warned_of() -> None:
    info = eumu.load(elf("plain", "skl"))["copy2"].info
    text = dropped_reads(info, PVC)
    assert "kernel copy2 reads images, and pvc has no sampler" in text and "undefined" in text
    assert dropped_reads(info, SKL) == ""
    arguments = tuple(
        replace(slot, access_type="writeonly") if slot.addrspace == "image" else slot
        for slot in info.payload_arguments
    )
    assert dropped_reads(replace(info, payload_arguments=arguments), PVC) == ""


def test_buffers_are_not_warned_of() -> None:
    program = eumu.load("tests/kernels/bin/pvc/saxpy.bin")
    assert not program.warnings
    dev = eumu.Device("pvc")
    x, y = dev.array(np.ones(64, np.float32)), dev.array(np.ones(64, np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program["saxpy"].launch(dev, 64, args=[x, y, 1.0])


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_building_and_launching_warn(ocloc: str, engine: str, tmp_path: Path) -> None:
    source = (
        "kernel void look(read_only image2d_t from, global float4* to) {"
        " const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;"
        " int x = get_global_id(0); to[x] = read_imagef(from, s, (int2)(x, 0)); }"
    )
    program = eumu.build(source, device="pvc")
    assert [w.code for w in program.warnings] == ["no-sampler"]
    dev = eumu.Device("pvc", engine)
    image = dev.image(np.ones((1, 16, 4), np.float32), format="RGBA32_FLOAT")
    out = dev.array((16, 4), np.float32)
    with pytest.warns(RuntimeWarning, match="kernel look reads images, and pvc has no sampler"):
        program["look"].launch(dev, 16, args=[image, out])
    assert not eumu.build(source, device="skl").warnings


def test_sampler_instructions_are_unsupported(tmp_path: Path) -> None:
    """Each of them alone."""
    *head, first, second, third, last, _ = TEXT.split("\n")
    for line in (first, second, third):
        file = tmp_path / "k.visaasm"
        file.write_text("\n".join([*head, line.split("//")[0], last, ""]))
        kernel = eumu.load(file, device="pvc")["k"]
        with pytest.raises(Unsupported, match="messages to the sampler on pvc, which has none"):
            kernel.function(PVC)
