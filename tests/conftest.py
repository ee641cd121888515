"""Which foreign tools are there to compare with; a test that needs a missing one says so."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import llvmlite.binding as llvm
import pytest
from hypothesis import HealthCheck, settings

from native_launches import natively

# Tool -> the Debian package that has it.
NEWEST_OCLOC = Path(sys.prefix, "newest-ocloc", "ocloc")
TOOLS = {"ocloc": "intel-opencl-icd", "GenX_IR": "libigc-tools", "iga64": "libigc-tools"}


# What every test lowers is verified, in processes that tests start, too.
os.environ["EUMU_VERIFY_IR"] = "on"

# Who starts tests in the background may have switched Ctrl-C off, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Generated examples are the same in each run; none fails for the time that a busy machine takes.
settings.register_profile(
    "eumu", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("eumu")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--native", action="store_true", help="run native code in place of vISA")
    parser.addoption(
        "--without-avx512", action="store_true", help="make code as for a processor without it"
    )


def pytest_configure(config: pytest.Config) -> None:
    """With --without-avx512, LLVM says of this machine that it has none."""
    if config.getoption("--without-avx512"):
        names = llvm.get_host_cpu_features().flatten().split(",")
        left = [name for name in names if not name.startswith("+avx512")] + ["-avx512f"]
        llvm.get_host_cpu_features = lambda: SimpleNamespace(flatten=lambda: ",".join(left))
        llvm.get_host_cpu_name = lambda: "haswell"


@pytest.fixture(scope="session", autouse=True)
def _natively(request: pytest.FixtureRequest) -> Iterator[None]:
    """With --native, launches run native code where there is some."""
    if not request.config.getoption("--native"):
        yield
        return
    with natively() as launched:
        yield
    print(f"\n{len(launched)} launches of native code, {len(set(launched))} kernels")


def pytest_report_header() -> list[str]:
    """One line on the oracles of this run."""
    found = [tool for tool in TOOLS if shutil.which(tool)]
    missing = [f"{tool} ({package})" for tool, package in TOOLS.items() if tool not in found]
    newest = NEWEST_OCLOC if NEWEST_OCLOC.exists() else "none; .ci/newest-ocloc unpacks it"
    return [
        f"oracles: {', '.join(found) or 'none'}; missing: {', '.join(missing) or 'none'}",
        f"newest ocloc: {newest}",
    ]


def _require(tool: str) -> str:
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is not installed (Debian: apt-get install {TOOLS[tool]})")
    return path


@pytest.fixture(scope="session")
def ocloc() -> str:
    """The path of Intel's offline compiler."""
    return _require("ocloc")


@pytest.fixture(scope="session")
def newest_ocloc() -> str:
    """The path of the newest offline compiler that Debian has."""
    if not NEWEST_OCLOC.exists():
        pytest.skip("the newest ocloc is not unpacked (.ci/newest-ocloc .venv/newest-ocloc)")
    return str(NEWEST_OCLOC)


@pytest.fixture(scope="session")
def genx_ir() -> str:
    """The path of Intel's vISA assembler."""
    return _require("GenX_IR")


@pytest.fixture(scope="session")
def iga64() -> str:
    """The path of Intel's native assembler and disassembler."""
    return _require("iga64")
