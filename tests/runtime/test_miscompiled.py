"""Local variables behind 64 KiB: the release of 2022 cuts their addresses, which is said."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

import eumu
from eumu import zebin
from eumu.cl.facts import local_bytes
from eumu.platforms import PLATFORMS
from eumu.runtime.miscompiled import cut_addresses
from eumu.zebin import compilers

FAR = """kernel void far(global int *out) {
  local int first[16384], second[256];
  int l = get_local_id(0);
  first[l] = 1;
  second[l] = 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = first[l ^ 1] + second[l ^ 1];
}"""


@pytest.fixture
def old(ocloc: str, monkeypatch: pytest.MonkeyPatch) -> str:
    compiler = compilers.Compiler(ocloc)
    if not compiler.version.startswith("22.43"):
        pytest.skip(f"{compiler} is not ocloc 22.43")
    monkeypatch.setenv("EUMU_OCLOC", ocloc)
    return ocloc


def run(program: eumu.Program) -> int:
    dev = eumu.Device("pvc")
    out = dev.array(np.zeros(256, np.int32))
    program["far"].launch(dev, 256, 256, [out])
    (found,) = set(out.numpy().tolist())
    return int(found)


def test_the_old_compiler_is_wrong_and_that_is_said(old: str) -> None:
    program = eumu.build(FAR, device="pvc")
    assert [w.code for w in program.warnings] == ["cut-addresses"]
    with pytest.warns(RuntimeWarning, match="kernel far has 66560 bytes of local variables"):
        assert run(program) == 4  # and not 3
    assert local_bytes(PLATFORMS["pvc"]) == compilers.CUT_BEHIND


def test_less_is_right(old: str) -> None:
    program = eumu.build(FAR.replace("16384", "16128"), device="pvc")
    assert not program.warnings
    assert run(program) == 3


def test_the_newest_compiler_is_right(newest_ocloc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    program = eumu.build(FAR, device="pvc")
    assert not program.warnings and run(program) == 3
    assert local_bytes(PLATFORMS["pvc"]) == PLATFORMS["pvc"].max_slm_bytes


def test_what_a_file_says_decides() -> None:
    path = os.path.join("tests", "kernels", "bin", "pvc", "saxpy.bin")
    with open(path, "rb") as file:
        (kernel,) = zebin.read(file.read(), "saxpy.bin").kernels
    assert cut_addresses(kernel) == ""
    env = replace(kernel.info.execution_env, slm_size=compilers.CUT_BEHIND + 1)
    large = replace(kernel, info=replace(kernel.info, execution_env=env))
    assert "65537 bytes" in cut_addresses(large)
    newer = large.visaasm.replace(".version 4.1", ".version 4.2")
    assert cut_addresses(replace(large, visaasm=newer)) == ""
    platform = PLATFORMS["skl"]
    assert local_bytes(platform) == platform.max_slm_bytes
