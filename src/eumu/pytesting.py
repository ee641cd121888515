"""A pytest plugin: kernels in tests run checked, and what is found fails the test.

::

    @pytest.mark.eumu(devices=["skl", "pvc"], check="all")
    def test_scale(eumu_device):
        kernel = eumu.build(SOURCE, eumu_device)["scale"]
        ...

`eumu_device` is a device, one after the other those of the mark (pvc without).  Faults, and
findings that are no notes, fail the test with the line of the kernel and that of the test, without
frames of eumu; reports of JUnit have them as properties.  `--eumu-check=all` checks where no mark
says what.
"""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from eumu.errors import Fault, Finding
    from eumu.runtime import Device

_HERE: Final = str(Path(__file__).parent)
_RUNNERS: Final = frozenset({"_pytest", "pluggy"})
_MARK: Final = (
    "eumu(devices=[...], check=...): devices of `eumu_device`, and what launches look for"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("eumu", "kernels on emulated GPUs")
    group.addoption(
        "--eumu-check",
        metavar="WHAT",
        default="cheap",
        help="what launches of eumu_device look for where no mark says it: cheap, all, names, none",
    )
    group.addoption("--eumu-engine", metavar="NAME", default=None, help="jit or interp")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "eumu_device" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("eumu")
        devices = list(mark.kwargs.get("devices", ["pvc"])) if mark else ["pvc"]
        metafunc.parametrize("eumu_device", devices, indirect=True)


@pytest.fixture
def eumu_device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """A device whose launches look for mistakes; `eumu.Device` with nothing else changed."""
    from eumu.exec.grid import Grid, RunStats
    from eumu.exec.snapshot import Snapshot
    from eumu.runtime import Device

    findings: list[Finding] = []

    class Watched(Device):
        def run(self, grid: Grid, snapshot: Snapshot | None = None) -> tuple[RunStats, str]:
            stats, engine = super().run(grid, snapshot)
            findings.extend(stats.findings)
            return stats, engine

    mark = request.node.get_closest_marker("eumu")
    check = mark.kwargs.get("check") if mark else None
    if check is None:
        check = request.config.getoption("--eumu-check")
    wanted = False if check == "none" else check
    device = Watched(request.param, request.config.getoption("--eumu-engine"), check=wanted)
    request.node.stash[_FOUND] = findings
    properties = request.node.user_properties
    properties.append(("eumu_device", device.platform.name))
    properties.append(("eumu_check", ",".join(sorted(device.check)) or "none"))
    yield device


_FOUND: Final = pytest.StashKey["list[Finding]"]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Make failures of faults and findings."""
    if _FOUND not in item.stash:
        return (yield)
    from eumu.errors import Fault, Severity

    told: list[str] = []
    result = None
    try:
        result = yield
    except Fault as fault:
        _note(item, [*fault.findings, fault.finding])
        told = [*map(str, fault.findings), str(fault), *_launched(fault)]
    if told:
        pytest.fail("\n".join(told), pytrace=False)
    findings = [f for f in item.stash[_FOUND] if f.severity is not Severity.NOTE]
    _note(item, item.stash[_FOUND])
    if findings:
        pytest.fail("\n".join(map(str, findings)), pytrace=False)
    return result


def _note(item: pytest.Item, findings: list[Finding]) -> None:
    for f in findings:
        item.user_properties.append((f"eumu_{f.severity.value}", f"{f.code} {f.file}:{f.line}"))


def _launched(fault: Fault) -> list[str]:
    """The line of the test that launched the kernel."""
    frames = traceback.extract_tb(fault.__traceback__)
    outside = (f for f in frames if not f.filename.startswith(_HERE))
    own = [f for f in outside if not _RUNNERS & {*Path(f.filename).parts}]
    return [f"  launched at {own[-1].filename}:{own[-1].lineno}: {own[-1].line}"] if own else []
