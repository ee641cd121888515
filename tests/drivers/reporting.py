"""A pytest plugin that notes each test's beginning and end in a file, a line of JSON for each.

Tests that the file has already are left out, so a run goes on where the last one stopped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

LOG = Path(os.environ["SUITE_LOG"])


def _note(test: str, outcome: str, why: str = "") -> None:
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"test": test, "outcome": outcome, "why": why}) + "\n")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    lines = LOG.read_text(encoding="utf-8").splitlines() if LOG.exists() else []
    known = {json.loads(line)["test"] for line in lines}
    items[:] = [item for item in items if item.nodeid not in known]


def pytest_runtest_logstart(nodeid: str) -> None:
    _note(nodeid, "begun")


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        text = str(report.longrepr or "")
        lines = [line for line in text.splitlines() if line.startswith("E ")]
        _note(report.nodeid, report.outcome, (lines or text.splitlines()[-1:] or [""])[0][:300])
