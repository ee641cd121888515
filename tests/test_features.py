"""Kernels that make the compiler use rare features: compiled here, run by both engines.

`kernels/features` has the sources, with the devices and the options in their head comments.  What
they must compute is NumPy's; those with an `expect:` line must give what it says.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import zebin
from eumu.errors import Severity, Unsupported
from eumu.platforms import platform
from eumu.text import parse, print_module
from kernels.case import Buffer, Case, Local, Value
from kernels.feature_references import CASES, PROGRAMS, Feature

ENGINES = ("interp", "jit")
pytestmark = pytest.mark.slow


@cache
def _compiled(name: str, device: str) -> bytes:
    feature = PROGRAMS[name]
    source = feature.path.read_text()
    return zebin.compile(
        source, device, feature.options, feature.internal_options, name=feature.path.name
    ).elf


@cache
def _program(name: str, device: str) -> Any:
    return eumu.load(_compiled(name, device))


def _argument(device: Any, argument: Buffer | Local | Value) -> Any:
    match argument:
        case Buffer(array):
            return device.array(np.ascontiguousarray(array))
        case Local(size_bytes):
            return eumu.Local(size_bytes)
        case Value(value):
            return value


def _launch(case: Case, device: str, engine: str, level: str) -> tuple[list[Any], Any]:
    setup = case.make(case)
    dev = eumu.Device(device, engine=engine)
    args = [_argument(dev, a) for a in setup.args]
    kernel = _program(case.program, device)[case.kernel]
    kernel.launch(dev, case.global_size, case.local_size, args, level=level)
    return args, setup


def _levels(device: str, engine: str) -> tuple[str, ...]:
    """Native code of Gen9 too, on the slow engine for one device."""
    return (
        ("visa", "native") if device == "apl" or (device, engine) == ("skl", "jit") else ("visa",)
    )


def _on_devices(features: Iterable[Feature]) -> list[Any]:
    return [pytest.param(f, d, id=f"{f.name}-{d}") for f in features for d in f.devices]


@pytest.mark.parametrize(("feature", "device"), _on_devices(PROGRAMS.values()))
def test_feature(feature: Feature, device: str, ocloc: str) -> None:
    """Compiled once: the text is read and printed, and every kernel is run on both engines.

    Gen9's native code gives what the vISA gives, bit for bit.
    """
    _read_and_printed(feature, device)
    for case in (c for c in CASES if c.program == feature.name):
        for engine in ENGINES:
            found = []
            for level in _levels(device, engine):
                args, setup = _launch(case, device, engine, level)
                found.append([a.numpy().tobytes() for a in args if isinstance(a, eumu.Array)])
                for output in setup.outputs:
                    wrong = output.as_compiled().mismatch(args[output.argument].numpy())
                    assert not wrong, f"{case.id}, {engine}, {level}: {wrong}"
                if feature.name == "hardware_ids":  # where a group runs is the worker's luck
                    _plausible(args[0].numpy().reshape(4, -1), device)
                    found.clear()
            assert found[:1] == found[-1:], f"{case.id}, {engine}: native is not vISA"


def _read_and_printed(feature: Feature, device: str) -> None:
    """What is printed reads as the same program, and prints the same again."""
    elf = zebin.read(_compiled(feature.name, device), feature.name)
    grf = platform(device).grf_bytes
    texts = [k.visaasm for k in elf.kernels] + [f.visaasm for f in elf.functions]
    assert texts and all(texts)
    for text in texts:
        printed = print_module(parse(text, feature.name, grf))
        assert print_module(parse(printed, feature.name, grf)) == printed


def _plausible(ids: np.ndarray[Any, Any], device: str) -> None:
    """Numbers that the machine has, the same in all lanes of a thread."""
    machine = platform(device)
    eu, thread, _, hardware_thread = ids
    assert (eu < 16).all() and (thread < machine.threads_per_eu).all()
    assert (hardware_thread < 4096).all()
    assert all(len(set(row[:8].tolist())) == 1 for row in ids)


def test_every_feature_is_run() -> None:
    """Those without a case are expected to fail; each in a test below."""
    expected = {name for name, feature in PROGRAMS.items() if feature.expect}
    assert expected == {"madw_too_small", "half_done", "multisampled_image"}
    assert {case.program for case in CASES} == set(PROGRAMS) - expected


@pytest.mark.parametrize("device", PROGRAMS["madw_too_small"].devices)
def test_the_checker_reports_a_variable_that_is_too_small(device: str, ocloc: str) -> None:
    found = eumu.check(PROGRAMS["madw_too_small"].path, device)
    errors = [d for d in found if d.severity is Severity.ERROR]
    assert errors, "nothing is reported"
    assert any("madw" in str(d) for d in errors)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", PROGRAMS["half_done"].devices)
def test_a_checked_run_reports_lanes_that_nothing_wrote(
    device: str, engine: str, ocloc: str
) -> None:
    dev = eumu.Device(device, engine=engine, check=True)
    a = dev.array(np.ones(64, np.float32))
    report = _program("half_done", device)["half_done"].launch(dev, 64, 32, [a])
    assert report.findings
    assert "lanes 16-31" in str(report.findings[0])


@pytest.mark.parametrize("device", PROGRAMS["multisampled_image"].devices)
def test_multisampled_surfaces_are_said_to_be_missing(device: str, ocloc: str) -> None:
    dev = eumu.Device(device)
    out = dev.array(np.zeros(4, np.float32))
    kernel = _program("multisampled_image", device)["multisampled_image"]
    with pytest.raises((Unsupported, eumu.LaunchError)) as caught:
        kernel.launch(dev, (1, 1), (1, 1), [out, out, np.int32(0)])
    assert "image" in str(caught.value)
