"""The trace and the page of a run: what they show is what ran, and a real browser shows it."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.cli import main
from eumu.device.chip import part
from eumu.device.chip.pools import MAP_3X6
from eumu.device.dispatch import Needs, capacity, place
from eumu.device.profile import Profile
from eumu.errors import LaunchError
from eumu.platforms import platform
from eumu.reports.page import page
from eumu.reports.placement import _busy, occupancy_rows, picture
from eumu.reports.trace import trace
from test_kernels import _load

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def profile() -> Profile:
    """A reduction in shared local memory: 16 groups of 128 work items."""
    dev = eumu.Device("apl")
    found = Profile()
    dev.observer = found
    x = dev.array(np.ones(2048, np.float32))
    out = dev.array(np.zeros(16, np.float32))
    kernel = _load("reduce", "apl")["reduce"]
    report = kernel.launch(dev, (2048,), (128,), [x, out, eumu.Local(512)])
    assert (out.numpy() == 128).all() and report.engine == "interp"
    assert int(found.used.sum()) == report.instructions
    return found


def test_counters(profile: Profile) -> None:
    assert profile.grid is not None
    per_group = profile.grid.threads_per_group
    assert len(profile.used) == 16 * per_group
    assert profile.mix.total() == int(profile.used.sum())
    assert profile.mix["barrier"] == len(profile.barriers)
    assert 0.5 < profile.lane_utilisation < 1
    assert profile.traffic["surface", "load"].bytes == 2048 * 4
    assert profile.traffic["surface", "store"].bytes == 16 * 4
    messages = sum(t.messages for (space, _), t in profile.traffic.items() if space == "slm")
    assert profile.slm.accesses == messages > 0
    assert profile.l3 is not None and profile.l3.fills == (2048 + 16) * 4 // 64


def test_conflicts_are_seen() -> None:
    """Transposing a tile without padding meets one bank, with padding many."""
    found = Profile()
    lanes, threads = np.arange(32, dtype=np.uint64), np.zeros(32, np.intp)
    found.access("load", "slm", threads, lanes * 64, 4)
    found.access("load", "slm", threads, lanes * 68, 4)
    assert (found.slm.accesses, found.slm.clocks) == (2, 32 + 2)


def events(profile: Profile, pool_map: int | None) -> list[dict[str, Any]]:
    schedule = place(part("bxt-3x6"), Needs.of(profile.grid), profile.durations, pool_map)  # type: ignore[arg-type]
    found = json.loads(json.dumps(trace(profile, schedule)))
    return found["traceEvents"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("pool_map", [None, MAP_3X6], ids=["legacy", "pooled"])
def test_the_trace(profile: Profile, pool_map: int | None) -> None:
    found = events(profile, pool_map)
    runs = [e for e in found if e["ph"] == "X"]
    assert len(runs) == len(profile.used)
    assert sum(e["dur"] for e in runs) == int(profile.used.sum())
    rows = defaultdict(list)
    for e in runs:
        rows[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for spans in rows.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    barriers = [e for e in found if e["name"] == "barrier"]
    assert len(barriers) == len(profile.barriers)
    for e in barriers:
        assert any(start <= e["ts"] <= end for start, end in rows[e["pid"], e["tid"]])
    names = {e["args"]["name"] for e in found if e["name"] == "process_name"}
    assert names == {"subslice 0", "subslice 1", "subslice 2"}
    counts = [e["args"]["busy"] for e in found if e["ph"] == "C"]
    assert max(counts) <= 108 and counts[-1] == 0


def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser to look at the page with: {', '.join(BROWSERS)}")
    return found


def test_the_page_in_a_browser(profile: Profile, tmp_path: Path) -> None:
    schedule = profile.schedule(part("bxt-3x6"))
    file = tmp_path / "report.html"
    probe = (
        "<script>document.title = [document.querySelectorAll('rect:not(.edge)').length,"
        " document.querySelector('svg').getBoundingClientRect().width > 300,"
        " performance.getEntriesByType('resource').length].join(' ')</script>"
    )
    file.write_text(page(profile, schedule).replace("</body>", probe + "</body>"))
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    done = subprocess.run(
        [*command, f"--user-data-dir={tmp_path}/user", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title is not None, done.stderr[-500:]
    assert title[1] == f"{len(profile.used)} true 0"
    for words in (
        "instructions",
        "of lanes at work",
        "barrier",
        "subslice or pool",
        "L3, DC (48 of 96 ways, 2 banks)",
    ):
        assert words in done.stdout


def test_many_groups_are_a_few_rows_with_axes(tmp_path: Path) -> None:
    """4,096 groups on 64 subslices: shares of their threads, and one row of occupancy."""
    pvc = part(platform("pvc"))
    durations = [[10 + group % 7, 12] for group in range(4096)]
    schedule = place(pvc, Needs(2, 0, has_barrier=False), durations)
    busy = _busy(schedule)
    assert busy.mean() / 64 == pytest.approx(schedule.busy)  # of 64 threads each
    assert busy.max() <= 64 + 1e-9
    drawn = picture(schedule)
    labels = re.findall(r"subslices? [\d\u2013]+", re.sub("<title>.*?</title>", "", drawn))
    assert labels[0] == "subslices 0\u20132" and labels[-1] == "subslice 63" and len(labels) == 22
    for words in (">instructions</text>", "4,096 groups", "100 % of them", ">0</text>"):
        assert words in drawn
    assert len(drawn) < 1 << 20
    ((which, threads, groups, share, limit),) = occupancy_rows(schedule.occupancy)
    assert which == "0\u201363 (each of 64)"
    assert (threads, groups, share, limit) == ("64", "32", "100%", "threads")


def test_few_groups_have_their_numbers(profile: Profile) -> None:
    for pool_map, kind in ((None, "subslice"), (MAP_3X6, "pool")):
        assert profile.grid is not None
        needs = Needs.of(profile.grid)
        schedule = place(part("bxt-3x6"), needs, profile.durations, pool_map)
        drawn = picture(schedule)
        numbers = re.findall(r'class="number"[^>]*>(\d+)<', drawn)
        assert sorted(map(int, numbers)) == list(range(16))
        assert f">{kind} 1</text>" in drawn and "with its number" in drawn
        tops = [int(y) for y in re.findall(r'<rect x="[^"]*" y="(\d+)"', drawn)]
        assert max(tops) < 26 + 5 * 108  # no group leaves its subslice


def test_parts_without_public_tables_have_no_figures_of_caches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.html"
    arguments = ["run", "tests/kernels/bin/pvc/reduce.bin", "--kernel", "reduce"]
    arguments += ["--global", "256", "--local", "64", "--arg", "in=ones:float32:256"]
    arguments += ["--arg", "partial=zeros:float32:4", "--arg", "scratch=local:256"]
    assert main([*arguments, "--device", "pvc", "--report", str(file), "--l3", "1"]) == 0
    said = capsys.readouterr().out
    assert "no model exists for pvc" in said and "hits" not in said
    shown = file.read_text()
    assert "no model exists for pvc" in shown
    assert not re.search("L3 hits|clocks an SLM access|bank conflicts|ways", shown)


def test_a_group_may_use_all_the_memory_of_its_subslice() -> None:
    """That of the platform: 128 KB on pvc."""
    pvc = part(platform("pvc"))
    (first, *_) = capacity(pvc, Needs(2, 128 << 10, has_barrier=False))
    assert (first.groups, first.limit) == (1, "shared local memory")
    with pytest.raises(LaunchError, match="and 65536 bytes"):
        capacity(part("bxt-3x6"), Needs(2, 128 << 10, has_barrier=False))


def test_names_are_escaped(profile: Profile) -> None:
    schedule = profile.schedule(part("bxt-3x6"))
    evil = Profile(grid=profile.grid, used=profile.used)
    evil.mix["<script>"] = 1
    assert "<script>" not in page(evil, schedule)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace_file, page_file = tmp_path / "t.json", tmp_path / "r.html"
    arguments = [
        *("run", "tests/kernels/bin/apl/saxpy.bin", "--kernel", "saxpy"),
        *("--global", "1024", "--local", "64", "--arg", "x=zeros:float32:1024"),
        *("--arg", "y=zeros:float32:1024", "--arg", "a=1"),
    ]
    pictures = ["--timeline", str(trace_file), "--report", str(page_file)]
    assert main([*arguments, *pictures, "--pools", "0x777000"]) == 0
    assert json.loads(trace_file.read_text())["otherData"]["part"] == "bxt-3x6"
    assert "saxpy on bxt-3x6" in page_file.read_text()
    assert "made by IGC, zebin 1." in page_file.read_text()
    assert main([*arguments, *pictures, "--part", "nowhere"]) == 2
    assert "bxt-2x6" in capsys.readouterr().err
    assert main([*arguments, *pictures, "--part", "skl-gt2", "--pools", "1"]) == 2


def test_observers_change_nothing() -> None:
    """The same run with and without one."""
    found = []
    for observer in (None, Profile()):
        dev = eumu.Device("apl", engine="interp")
        dev.observer = observer
        x = dev.array(np.arange(512, dtype=np.float32))
        y = dev.array(np.ones(512, np.float32))
        report = _load("saxpy", "apl")["saxpy"].launch(dev, (512,), (64,), [x, y, 3.0])
        found.append((y.numpy().tobytes(), report.instructions))
    assert found[0] == found[1]
