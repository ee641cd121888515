"""Calls of the system and lines of a launch that fail: typed errors, and nothing is lost."""

from __future__ import annotations

import gc
import os
import resource
import shutil
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.cli.main import main
from eumu.errors import EumuError
from eumu.writing import write_new, write_whole
from failing_calls import each_call_fails
from interruptions import at_every_line
from kernels.references import CASES
from test_kernels import _argument, _load

ADD = "kernel void add(global int *o, int a) {{ o[get_global_id(0)] += a + {}; }}"
BINARY = Path(__file__).parents[1] / "examples" / "saxpy.bin"
RUN = (
    *("--kernel", "saxpy", "--global", "64", "--arg", "x=ones:float32:64"),
    *("--arg", "y=zeros:float32:64", "--arg", "a=2", "--save", "y={out}", "--report", "{page}"),
)
TEXT = '.version 4.1\n.kernel  "k"\n  ret (M1, 1)\n'


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files and kept code lie in folders of the test."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("EUMU_CACHE", "on")
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path / "cache"))


def typed(raised: BaseException | None, *files: Path) -> bool:
    """Whether it is no error, one of eumu's, or the system's about a file that the user named."""
    if isinstance(raised, OSError) and not isinstance(raised, EumuError):
        return str(raised.filename) in map(str, files) or (not raised.filename and bool(files))
    return raised is None or isinstance(raised, EumuError)


def is_removal(call: str) -> bool:
    """Whether a file or folder is looked at in order to remove it."""
    return (
        call.startswith(("os.remove", "os.rmdir", "os.scandir", "open")) and "mkstemp" not in call
    )


def runs(device: eumu.Device, program: eumu.Program, more: int) -> None:
    array = device.array(np.arange(64, dtype=np.int32))
    program["add"].launch(device, 64, 16, [array, 5])
    assert (array.numpy() == np.arange(64) + 5 + more).all()
    array.free()


def test_calls_of_build_and_launch(ocloc: str, tmp_path: Path) -> None:
    turn = iter(range(1000))
    device = eumu.Device("skl", engine="jit")
    program = eumu.build(ADD.format(1000), "skl")
    runs(device, program, 1000)

    def action() -> None:
        more = next(turn)
        runs(device, eumu.build(ADD.format(more), "skl"), more)

    def check(call: str, raised: BaseException | None) -> None:
        assert typed(raised), call
        left = [*(tmp_path / "tmp").iterdir(), *tmp_path.glob("cache/*.part")]
        assert not left or is_removal(call), call
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        runs(device, program, 1000)

    calls = each_call_fails(action, check)
    assert {c.partition("(")[0] for c in calls} >= {"os.mkdir", "open", "subprocess.Popen"}


def test_calls_of_checkpoint_and_restore(tmp_path: Path) -> None:
    """A checkpoint that cannot be written leaves the one that was there."""
    file = tmp_path / "stopped.eumu"
    case = next(c for c in CASES if c.id == "reduce-small-groups")
    kernel = _load(case.program, "apl")[case.kernel]
    device, setup = eumu.Device("apl", memory_bytes=1 << 24), case.make(case)
    device.preempt(after=200)
    args = [_argument(device, a) for a in setup.args]
    assert kernel.launch(device, case.global_size, case.local_size, args).preempted
    device.checkpoint(file)
    good = file.read_bytes()

    def check(call: str, raised: BaseException | None) -> None:
        assert typed(raised, file), call
        assert file.read_bytes() == good or not raised
        assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["stopped.eumu"]

    assert each_call_fails(lambda: device.checkpoint(file), check)

    def restore() -> None:
        eumu.Device("apl", memory_bytes=1 << 24).restore(file, kernel)

    assert len(each_call_fails(restore, check)) >= 2
    device.resume()


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """What `write` itself says is as good as what `open` says."""
    file = tmp_path / "text.visaasm"
    file.write_text('.version 4.1\n.kernel  "k"\n  ret (M1, 1)\n')
    before = file.read_text()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4, limit[1]))
        with pytest.raises(OSError, match=r"too large.*text\.visaasm"):
            write_whole(file, b"other text")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert file.read_text() == before
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [file.name]


def test_a_new_file_is_whole_or_not_there(tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4, limit[1]))
        with pytest.raises(OSError, match="too large"):
            write_new(str(tmp_path / "page.html"), 7, b"more than four")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert not list(tmp_path.glob("page*"))


def test_new_files_of_one_number(tmp_path: Path) -> None:
    """Programs in other containers have number 0, all of them."""
    names = [Path(write_new(str(tmp_path / "page.html"), 0, b"%d" % k)).name for k in range(4)]
    assert names == ["page.html", "page-0.html", "page-0-2.html", "page-0-3.html"]
    assert [(tmp_path / name).read_bytes() for name in names] == [b"0", b"1", b"2", b"3"]


def test_what_is_written_keeps_its_place(tmp_path: Path) -> None:
    """A link stays a link, a file keeps its permissions, a second name shows the same bytes."""
    file, link, second = tmp_path / "a", tmp_path / "link", tmp_path / "second"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to("a")
    write_whole(link, b"new")
    assert link.is_symlink() and file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o640
    os.link(file, second)
    write_whole(file, b"newer")
    assert second.read_text() == "newer"
    write_whole(os.devnull, b"nothing")
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)
    assert {p.name for p in tmp_path.iterdir() if not p.is_dir()} == {"a", "link", "second"}


@pytest.mark.parametrize(
    "words",
    [
        ("run", "{bin}", *RUN),
        ("check", "{bin}"),
        ("info", "--compilers"),
        ("dis", "{bin}", "-o", "{out}"),
        ("fmt", "--in-place", "{text}"),
        ("asm", "{text}", "-o", "{out}"),
    ],
    ids=lambda words: words[0],
)
def test_calls_of_commands(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status and one line say what is wrong; a file is there whole or is what it was."""
    text = tmp_path / "k.visaasm"
    text.write_text(TEXT)
    files = {"bin": BINARY, "text": text, "out": tmp_path / "out.npy", "page": tmp_path / "r.html"}
    given = [word.format(**files) for word in words]
    assert main(given) == 0
    whole = {path: path.read_bytes() for path in files.values() if path.exists()}
    capsys.readouterr()
    text.write_text(TEXT)
    statuses: list[int] = []

    def check(call: str, raised: BaseException | None) -> None:
        assert raised is None
        said = capsys.readouterr().err
        assert "Traceback" not in said and "InternalError" not in said, call
        assert statuses[-1] == 0 or said.startswith("eumu: "), (call, said)
        for path, data in whole.items():
            assert path.read_bytes() == data or (path is text and path.read_text() == TEXT), call
        text.write_text(TEXT)

    each_call_fails(lambda: statuses.append(main(given)), check)
    assert set(statuses) <= {0, 1, 2} and 0 in statuses
    assert len(set(statuses)) > 1 or words[0] == "info"


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("engine, check_", [("jit", False), ("interp", False), ("jit", "races")])
def test_lines_of_a_launch(engine: str, check_: Any, error: type[BaseException]) -> None:
    """Wherever a launch ends early, its memory is given back and the device goes on."""
    device = eumu.Device("pvc", engine=engine, check=check_, memory_bytes=1 << 24)
    kernel = eumu.load(BINARY)["saxpy"]
    x, y = (device.array(np.arange(64, dtype=np.float32)) for _ in range(2))
    live = [a.start for a in device.memory.live]

    def action() -> None:
        kernel.launch(device, 64, 16, {"x": x, "y": y, "a": 2.0})

    def check() -> None:
        assert [a.start for a in device.memory.live] == live
        y.fill(1)
        action()
        assert (y.numpy() == 2 * np.arange(64) + 1).all()

    check()
    where = ("eumu/runtime/", *(f"exec/jit/host/{x}" for x in ("launch", "engine", "shadow")))
    assert at_every_line(action, check, where, error) > 50


SAXPY = Path(__file__).parent / "kernels" / "bin" / "skl" / "saxpy.bin"


def _saxpy() -> tuple[eumu.Device, Any, dict[str, Any]]:
    device = eumu.Device("skl", engine="interp", memory_bytes=1 << 24)
    arrays = {name: device.array(np.arange(64, dtype=np.float32)) for name in "xy"}
    return device, eumu.load(SAXPY)["saxpy"], {**arrays, "a": 2.0}


def test_lines_of_a_launch_by_commands() -> None:
    """The heaps, the code and the batch are given back, wherever the launch ends."""
    device, kernel, args = _saxpy()

    def action() -> None:
        kernel.launch(device, 64, 16, args, via="commands")

    action()
    live = [a.start for a in device.memory.live]

    def check() -> None:
        if len(device.memory.live) > len(live):
            gc.collect()  # an exception out of an ExitStack holds itself
        assert [a.start for a in device.memory.live] == live

    assert at_every_line(action, check, ("runtime/submission", "device/memory.py")) > 100


def test_lines_of_a_launch_that_is_stopped() -> None:
    """So is the context image."""
    device, kernel, args = _saxpy()
    kernel.launch(device, 64, 16, args)
    live = [a.start for a in device.memory.live]

    def action() -> None:
        device.preempt(after=20)
        kernel.launch(device, 64, 16, args)
        assert "context image" in device.memory.live[-1].name
        device.resume()

    def check() -> None:
        if device.stops_next:
            kernel.launch(device, 64, 16, args)
        if device.suspended is not None:
            device.resume()
        assert [a.start for a in device.memory.live] == live

    assert at_every_line(action, check, ("runtime/preemption", "device/memory.py")) > 20


def test_lines_of_a_restore(tmp_path: Path) -> None:
    """A device whose restore was interrupted is empty, as it was."""
    file = tmp_path / "stopped.eumu"
    stopped, kernel, args = _saxpy()
    stopped.preempt(after=20)
    assert kernel.launch(stopped, 64, 16, args).preempted
    stopped.checkpoint(file)
    device = eumu.Device("skl", engine="interp", memory_bytes=1 << 24)

    def check() -> None:
        if device.suspended is not None:
            device.resume()
            for allocation in device.memory.live:
                device.memory.free(allocation.start)
        assert not device.memory.live

    where = ("runtime/checkpoint", "runtime/device", "device/memory.py")
    assert at_every_line(lambda: device.restore(file, kernel), check, where) > 100
