"""The pytest plugin: findings fail tests, with the kernel's line, without frames of the engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
TESTS = """
import numpy as np
import pytest
import eumu

RACES = eumu.load(r"{folder}/races.cl", device="pvc")


def launch(device, name):
    kernel = RACES[name]
    kernel.launch(device, 128, 64, [device.array(512, np.int32)])


@pytest.mark.eumu(check="races")
def test_race(eumu_device):
    launch(eumu_device, "no_barrier")


@pytest.mark.eumu(check="races")
def test_no_race(eumu_device):
    launch(eumu_device, "ordered")


@pytest.mark.eumu(check="races")
def test_note(eumu_device):
    launch(eumu_device, "all_write_the_same")


def test_option(eumu_device):
    launch(eumu_device, "all_write_one")


@pytest.mark.eumu(devices=["skl", "pvc"], check=False)
def test_devices(eumu_device):
    kernel = eumu.build("kernel void f(global int *p) {{ p[0] = 1; }}", eumu_device)["f"]
    kernel.launch(eumu_device, 1, 1, [eumu_device.array(1, np.int32)])


def test_fault(eumu_device):
    kernel = RACES["ordered"]
    kernel.launch(eumu_device, 128, 64, [eumu_device.array(100, np.int32)])


def test_expected_fault(eumu_device):
    with pytest.raises(eumu.Fault):
        RACES["ordered"].launch(eumu_device, 128, 64, [eumu_device.array(100, np.int32)])
"""


def run(folder: Path, *options: str) -> tuple[dict[str, ElementTree.Element], str]:
    """The test cases of a run by name, and what it printed."""
    (folder / "test_kernels.py").write_text(TESTS.format(folder=Path(__file__).parent))
    report = folder / "report.xml"
    words = ["-p", "eumu.pytesting", "-p", "no:cacheprovider", f"--junitxml={report}", *options]
    if "eumu" in _loaded():
        words = words[2:]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--eumu-engine=interp", *words, "test_kernels.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return {case.get("name", ""): case for case in cases}, done.stdout


def _loaded() -> set[str]:
    """Names of plugins that pytest loads by itself."""
    from importlib.metadata import entry_points

    return {entry.name for entry in entry_points(group="pytest11")}


def failure(case: ElementTree.Element) -> str:
    found = case.find("failure")
    return "" if found is None else f"{found.get('message')}\n{found.text}"


def test_findings_fail_tests(tmp_path: Path, ocloc: str) -> None:
    cases, out = run(tmp_path)
    failed = {name for name, case in cases.items() if failure(case)}
    assert failed == {"test_race[pvc]", "test_fault[pvc]"}, out
    assert {"test_devices[skl]", "test_devices[pvc]", "test_note[pvc]"} <= cases.keys()
    race, fault = failure(cases["test_race[pvc]"]), failure(cases["test_fault[pvc]"])
    assert "races.cl:14: error: race: store and load" in race
    assert "launched at" in fault and "kernel.launch(eumu_device, 128, 64" in fault
    assert "work item (100, 0, 0)" in fault
    for text in (race, fault):
        assert "src/eumu/exec" not in text and "exception" not in text
    properties = {p.get("name"): p.get("value") for p in cases["test_race[pvc]"].iter("property")}
    assert properties["eumu_device"] == "pvc" and properties["eumu_check"] == "races"
    assert str(properties["eumu_error"]).startswith("race ")


def test_the_option_says_what_is_checked(tmp_path: Path, ocloc: str) -> None:
    cases, _ = run(tmp_path, "--eumu-check=all", "-k", "option")
    assert "race" in failure(cases["test_option[pvc]"])
