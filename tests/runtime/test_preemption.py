"""A grid that is stopped anywhere, saved and gone on with ends as one that was never stopped.

P1, P6, P9 and P11 of the checklist of the PRM chapter "GPGPU Context Switch".
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.errors import LaunchError
from kernels.build import PROGRAMS
from kernels.case import Buffer, Case
from kernels.references import CASES
from test_kernels import _argument, _load

# Shared local memory and barriers, atomics, divergence, calls with saved registers, printing.
NAMES = {
    *("reduce-small-groups", "atomics", "switch_case-switch_lanes", "call_noinline"),
    *("print_values", "private_array", "local_pointers"),
}
CHOSEN = [case for case in CASES if case.id in NAMES]
FAST = {"reduce-small-groups", "atomics"}
MARKED = [pytest.param(c, id=c.id, marks=[] if c.id in FAST else pytest.mark.slow) for c in CHOSEN]


def contents(setup: Any, args: list[Any]) -> list[np.ndarray[Any, Any]]:
    pairs = zip(setup.args, args, strict=True)
    return [b.numpy() for a, b in pairs if isinstance(a, Buffer)]


def whole(case: Case, device: str) -> tuple[Any, Any, list[np.ndarray[Any, Any]]]:
    """An uninterrupted run on the interpreter."""
    setup, dev = case.make(case), eumu.Device(device, engine="interp")
    args = [_argument(dev, a) for a in setup.args]
    kernel = _load(case.program, device)[case.kernel]
    report = kernel.launch(dev, case.global_size, case.local_size, args)
    return setup, report, contents(setup, args)


def check(setup: Any, args: list[Any], expected: list[np.ndarray[Any, Any]]) -> None:
    for output in setup.outputs:
        wrong = output.as_compiled().mismatch(args[output.argument].numpy())
        assert not wrong, wrong
    if not any(output.unordered for output in setup.outputs):
        for got, want in zip(contents(setup, args), expected, strict=True):
            assert np.array_equal(got, want, equal_nan=got.dtype.kind == "f")


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", ["apl", "pvc"])
@pytest.mark.parametrize("case", MARKED)
def test_stopped_many_times(
    case: Case, device: str, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stop after k instructions, go on, stop again: about ten times over the run."""
    setup, full, expected = whole(case, device)
    dev = eumu.Device(device, engine=engine)
    args = [_argument(dev, a) for a in setup.args]
    kernel = _load(case.program, device)[case.kernel]
    step, stops = max(1, full.instructions // 10), 0
    dev.preempt(after=step)
    report = kernel.launch(dev, case.global_size, case.local_size, args)
    while report.preempted:
        stops += 1
        assert report.instructions <= full.instructions
        dev.preempt(after=(stops + 1) * step)
        report = dev.resume()
    assert stops >= 2
    assert (report.instructions, report.groups) == (full.instructions, full.groups)
    assert sorted(report.printf) == sorted(full.printf)
    check(setup, args, expected)
    assert dev.suspended is None
    assert not [a for a in dev.memory.live if "context image" in a.name]


@pytest.mark.slow
def test_every_instruction_count() -> None:
    """A small reduction stopped after every k-th instruction, from the first to the last."""
    n, group = 128, 64
    kernel = _load("reduce", "apl")["reduce"]

    def launch(dev: eumu.Device) -> tuple[Any, Any]:
        x = dev.array(np.arange(n, dtype=np.float32))
        out = dev.array(np.zeros(n // group, np.float32))
        return kernel.launch(dev, (n,), (group,), [x, out, eumu.Local(4 * group)]), out

    full, expected = launch(eumu.Device("apl", engine="interp"))
    for after in range(full.instructions + 1):
        dev = eumu.Device("apl", engine="interp", memory_bytes=1 << 24)
        dev.preempt(after=after)
        report, out = launch(dev)
        if report.preempted:
            report = dev.resume()
        assert report.instructions == full.instructions, after
        assert (out.numpy() == expected.numpy()).all(), after


def test_a_divergent_barrier_is_found_after_a_stop() -> None:
    """Threads that wait when the grid is stopped still wait afterwards."""
    was_stopped: list[int | None] = []

    def fault(after: int | None) -> str:
        dev = eumu.Device("apl", engine="interp")
        kernel = _load("divergent_barrier", "apl")["divergent_barrier"]
        out = dev.array(np.zeros(64, np.int32))
        if after is not None:
            dev.preempt(after=after)
        with pytest.raises(eumu.Fault) as caught:
            report = kernel.launch(dev, (64,), (64,), [out, np.int32(32)])
            assert report.preempted
            was_stopped.append(after)
            dev.resume()
        assert not [a for a in dev.memory.live if "context image" in a.name]
        return str(caught.value)

    expected = fault(None)
    assert "barrier" in expected
    assert {fault(after) for after in range(60)} == {expected}
    assert len(was_stopped) > 10


def stopped(path: Path) -> tuple[eumu.Device, Any]:
    """A reduction that has been stopped in the middle and written to a file."""
    dev = eumu.Device("apl")
    x = dev.array(np.arange(2048, dtype=np.float32), name="x")
    out = dev.array(np.zeros(16, np.float32), name="out")
    dev.preempt(after=500)
    kernel = _load("reduce", "apl")["reduce"]
    report = kernel.launch(dev, (2048,), (128,), [x, out, eumu.Local(512)])
    assert report.preempted and report.groups < 16
    dev.checkpoint(path)
    return dev, out


# Each goes on with a stopped grid of its own and writes what its buffers hold then.
PROGRAM = """
import sys, numpy as np, eumu
path, program, name, device, engine, out = sys.argv[1:]
dev = eumu.Device(device, engine)
arrays = dev.restore(path, eumu.load(program)[name])
report = dev.resume()
assert not report.preempted
printed = np.frombuffer(report.printf.encode(), np.uint8)
buffers = {n: a.numpy() for n, a in arrays.items() if n.startswith("buffer")}
np.savez(out, printed=printed, instructions=report.instructions, **buffers)
"""


def in_a_fresh_process(path: Path, case: Case, device: str, engine: str) -> dict[str, Any]:
    out = path.with_suffix(".npz")
    program = next(p for p in PROGRAMS if p.name == case.program).elf(device)
    words = [str(path), str(program), case.kernel, device, engine, str(out)]
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(out) as found:
        return dict(found)


@pytest.mark.parametrize("case", MARKED)
def test_a_checkpoint_goes_on_in_a_fresh_process(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each kernel, stopped in the middle of its groups, on the fast engine of another process."""
    device, path = "apl", tmp_path / "grid.eumu"
    setup, full, expected = whole(case, device)
    dev = eumu.Device(device)
    args = [
        dev.array(np.ascontiguousarray(a.array), name=f"buffer{k}")
        if isinstance(a, Buffer)
        else _argument(dev, a)
        for k, a in enumerate(setup.args)
    ]
    kernel = _load(case.program, device)[case.kernel]
    dev.preempt(after=full.instructions // 2)
    report = kernel.launch(dev, case.global_size, case.local_size, args)
    assert report.preempted and dev.suspended is not None and dev.suspended.image is not None
    dev.checkpoint(path)
    found = in_a_fresh_process(path, case, device, "jit")
    assert found["instructions"] == full.instructions
    assert sorted(found["printed"].tobytes()) == sorted(full.printf.encode())
    ordered = not any(output.unordered for output in setup.outputs)
    places = [k for k, a in enumerate(setup.args) if isinstance(a, Buffer)]
    for k, want in zip(places, expected, strict=True):
        got = found[f"buffer{k}"].view(want.dtype).reshape(want.shape)
        same = got == want if want.dtype.names else got.tobytes() == want.tobytes()
        assert np.all(same) or not ordered
    assert places
    dev.resume()
    check(setup, args, expected)


def test_the_state_is_in_device_memory(tmp_path: Path) -> None:
    """P6: what is changed in the image's shared local memory is what the group goes on with."""
    dev, out = stopped(tmp_path / "grid.eumu")
    held = dev.suspended
    assert held is not None and held.image is not None and held.first == 0
    memory = dev.memory.view(held.image)
    at = held.residents.slm_address(0)
    before = memory[at : at + 512].view(np.float32).copy()
    assert before.any()
    memory[at : at + 512].view(np.float32)[:] = before + 1
    dev.resume()
    wanted = np.arange(2048, dtype=np.float32).reshape(16, 128).sum(axis=1)
    assert out.numpy()[0] != wanted[0] and (out.numpy()[1:] == wanted[1:]).all()


def test_p9_slots_are_where_the_formula_says(tmp_path: Path) -> None:
    dev, _ = stopped(tmp_path / "grid.eumu")
    held = dev.suspended
    assert held is not None and held.image is not None
    memory = dev.memory.view(held.image)
    size = held.snapshot(dev.memory).threads.shape[1]
    for index in range(2):
        for thread in range(held.residents.needs.threads):
            at = held.residents.slot(index, thread)
            assert int.from_bytes(memory[at : at + 4].tobytes(), "little") == size
            assert at >= 0x20000 and at % 0x2000 == 0
    dev.resume()


def edited(path: Path, **changes: Any) -> Path:
    """The same file with another manifest."""
    target = path.with_suffix(".edited")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "checkpoint.json":
                data = json.dumps({**json.loads(data), **changes}).encode()
            new.writestr(name, data)
    return target


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 99}, "version 99"),
        ({"hash": "0"}, "another one or has changed"),
        ({"kernel": "other"}, "checkpoint of kernel other"),
        ({"platform": "skl"}, "was made on skl"),
        ({"grid": {}}, "no checkpoint of eumu"),
        ({"allocations": [[1, 2, "x", "rw"]]}, "not free"),
    ],
)
def test_checkpoints_that_do_not_fit(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "grid.eumu"
    stopped(path)
    kernel = _load("reduce", "apl")["reduce"]
    with pytest.raises(LaunchError, match=message):
        eumu.Device("apl").restore(edited(path, **changes), kernel)


def test_files_that_are_no_checkpoints(tmp_path: Path) -> None:
    kernel = _load("reduce", "apl")["reduce"]
    (tmp_path / "x").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(LaunchError, match="no checkpoint"):
        eumu.Device("apl").restore(tmp_path / "x", kernel)
    used = eumu.Device("apl")
    array = used.array(np.zeros(4, np.int32))
    stopped(tmp_path / "y")
    with pytest.raises(LaunchError, match="without arrays"):
        used.restore(tmp_path / "y", kernel)
    assert (array.numpy() == 0).all()


def test_wrong_uses() -> None:
    dev = eumu.Device("apl")
    for call in (dev.resume, lambda: dev.checkpoint("nowhere")):
        with pytest.raises(LaunchError, match="no launch has been stopped"):
            call()
    with pytest.raises(LaunchError, match="-1"):
        dev.preempt(after=-1)


def test_a_launch_that_ends_before(capsys: pytest.CaptureFixture[str]) -> None:
    dev = eumu.Device("apl")
    y = dev.array(np.ones(64, np.float32))
    dev.preempt(after=1 << 40)
    report = _load("saxpy", "apl")["saxpy"].launch(dev, (64,), (64,), [y, y, 1.0])
    assert not report.preempted and dev.suspended is None
    assert (y.numpy() == 2).all()
