"""Calls of the system that fail in the commands that run a program beside an engine process."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from eumu.cli.main import main
from failing_calls import each_call_fails

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the doors are for Linux")


@pytest.mark.parametrize("command", ["gpu", "run"])
def test_calls_of_commands(
    command: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line says what is wrong, or the program runs; no file and no process is left."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    words = [command, "--", "true"]
    statuses = [main(words)]
    if statuses[0]:
        pytest.skip(capfd.readouterr().err)
    capfd.readouterr()
    files = [len(os.listdir("/proc/self/fd"))]

    def check(call: str, raised: BaseException | None) -> None:
        assert raised is None, (call, raised)
        said = capfd.readouterr().err
        assert "Traceback" not in said and "internal error" not in said.lower(), (call, said)
        assert statuses[-1] == 0 or said.startswith("eumu: "), (call, said)
        is_removal = call.startswith(("os.remove", "os.rmdir", "os.scandir", "open"))
        left = list((tmp_path / "tmp").iterdir())
        assert is_removal or not left, call
        for path in left:
            shutil.rmtree(path)
        found = len(os.listdir("/proc/self/fd"))
        # `subprocess` itself loses a pipe that it cannot make a file of.
        assert found == files[-1] or call.startswith("open("), call
        files.append(found)

    calls = each_call_fails(lambda: statuses.append(main(words)), check)
    assert sum(c.startswith("subprocess.Popen") for c in calls) == 2
    assert set(statuses) > {0}
