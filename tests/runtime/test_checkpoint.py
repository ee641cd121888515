"""Checkpoint files from anywhere: damaged ones are refused by a clear error, and change nothing."""

from __future__ import annotations

import copy
import io
import json
import resource
import sys
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.errors import EumuError, Fault, LaunchError
from kernels.references import CASES
from test_kernels import _argument, _load

MANIFEST = "checkpoint.json"
# Values that a field of a file may be changed to.
STRANGE: list[Any] = [
    *(None, True, False, "", "x", "0", 0, -1, 1, -4, 7, 1.5, float("nan"), [], {}, [0], [[]]),
    *(255, 4096, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 10**300),
]


@cache
def stopped(inside: bool) -> dict[str, bytes]:
    """The entries of a good file: of a launch that stopped within groups, or between two."""
    case = next(c for c in CASES if c.id == "reduce-small-groups")
    device = eumu.Device("apl", memory_bytes=1 << 24)
    setup = case.make(case)
    args = [_argument(device, a) for a in setup.args]
    kernel = _load(case.program, "apl")[case.kernel]
    device.preempt(after=200) if inside else device.preempt(groups=1)
    assert kernel.launch(device, case.global_size, case.local_size, args).preempted
    file = io.BytesIO()
    device.checkpoint(file)  # type: ignore[arg-type]
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(entries: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return file.getvalue()


def restore(path: Path, engine: str = "jit") -> tuple[eumu.Device, Any]:
    case = next(c for c in CASES if c.id == "reduce-small-groups")
    device = eumu.Device("apl", memory_bytes=1 << 24, engine=engine)
    arrays = device.restore(path, _load(case.program, "apl")[case.kernel])
    return device, arrays


def try_all(path: Path, data: bytes, engine: str) -> str:
    """Restore a file and go on with it: only typed errors, and nothing is left of a refused one."""
    path.write_bytes(data)
    device = eumu.Device("apl", memory_bytes=1 << 24, engine=engine)
    case = next(c for c in CASES if c.id == "reduce-small-groups")
    kernel = _load(case.program, "apl")[case.kernel]
    try:
        arrays = device.restore(path, kernel)  # memory is theirs
    except EumuError as error:
        assert not device.memory.live
        assert device.suspended is None
        return type(error).__name__
    assert device.suspended is not None
    if device.suspended.grid.groups > 4096 or device.suspended.grid.fuel > 1 << 32:
        return "long"  # which may be meant
    try:
        device.resume()
    except EumuError as error:
        return type(error).__name__
    return "runs" if arrays else "runs without arrays"


def test_a_good_file_is_taken_up(tmp_path: Path) -> None:
    for inside in (False, True):
        for engine in ("interp", "jit"):
            assert try_all(tmp_path / "good.zip", packed(stopped(inside)), engine) == "runs"


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values of a JSON text."""
    inner: Any = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    found = [at] if at else []
    for key, item in inner:
        found += places(item, (*at, key))
    return found


def changed(manifest: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(manifest)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made


def mutated(random: Random) -> bytes:
    """A file with something wrong: in the manifest, in memory, or in the archive itself."""
    entries = dict(stopped(random.random() < 0.6))
    kind = random.randrange(4)
    if kind < 2:
        manifest = json.loads(entries[MANIFEST])
        manifest["grid"]["fuel"] = 10_000
        for _ in range(random.choice((1, 1, 2))):
            path = random.choice(places(manifest))
            value = random.choice(STRANGE)
            if random.random() < 0.1 and isinstance(path[-1], str):
                inner = manifest
                for key in path[:-1]:
                    inner = inner[key]
                del inner[path[-1]]
            else:
                manifest = changed(manifest, path, value)
        entries[MANIFEST] = json.dumps(manifest).encode()
    elif kind == 2:
        manifest = json.loads(entries[MANIFEST])
        manifest["grid"]["fuel"] = 10_000
        entries[MANIFEST] = json.dumps(manifest).encode()
        name = random.choice(sorted(entries))
        if manifest["image"] is not None and random.random() < 0.7:
            name = f"memory/{manifest['image']:x}"
        entries[name] = damaged(random, entries[name])
    data = packed(entries)
    return damaged(random, data) if kind == 3 else data


def damaged(random: Random, data: bytes) -> bytes:
    """Bytes changed where there are some that are not zero, cut off, or put in twice."""
    made = bytearray(data)
    used = np.flatnonzero(np.frombuffer(data, np.uint8))
    for _ in range(random.choice((1, 1, 2, 8))):
        at = int(random.choice(used)) if len(used) else 0
        kind = random.randrange(6)
        if kind == 0:
            del made[at:]
        elif kind == 1:
            made[at:at] = made[at : at + random.randrange(40)]
        elif kind == 2:
            made[at : at + 4] = random.choice((b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"))
        else:
            made[at : at + 1] = bytes([random.randrange(256)])
    return bytes(made)


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_changed_files_give_typed_errors(tmp_path: Path, engine: str) -> None:
    random, found = Random(7), set()
    for _ in range(150):
        found.add(try_all(tmp_path / "x.zip", mutated(random), engine))
    assert "LaunchError" in found


@pytest.mark.parametrize("inside", [False, True])
def test_every_field_is_checked(tmp_path: Path, inside: bool) -> None:
    """No field of the manifest may be anything."""
    entries = stopped(inside)
    manifest = json.loads(entries[MANIFEST])
    loose = []
    for path in places(manifest):
        value = {"strange": "kind"}
        changes = {**entries, MANIFEST: json.dumps(changed(manifest, path, value)).encode()}
        if try_all(tmp_path / "x.zip", packed(changes), "interp") != "LaunchError":
            loose.append(path)
    assert not loose


CHANGES: list[tuple[tuple[Any, ...], Any, str]] = [
    (("grid", "group_count"), [-4, 1, 1], "group_count"),
    (("first",), 100_000, "first"),
    (("grid", "slm_bytes"), 1 << 31, "shared local memory"),
    (("grid", "payload", "r0"), [0], "header of 1 dwords"),
    (("grid", "payload", "cross_thread"), "", "bytes of payload"),
    (("grid", "fuel"), 1 << 63, "fuel"),
    (("allocations", 0, 1), 1 << 40, "not free"),
    (("allocations", 0, 0), 4096, "not free"),
    (("image",), 5, "no allocation starts at 0x5"),
]


@pytest.mark.parametrize(("path", "value", "words"), CHANGES)
def test_what_is_wrong_is_said(
    tmp_path: Path, path: tuple[Any, ...], value: Any, words: str
) -> None:
    entries = dict(stopped(True))
    entries[MANIFEST] = json.dumps(changed(json.loads(entries[MANIFEST]), path, value)).encode()
    (tmp_path / "x.zip").write_bytes(packed(entries))
    with pytest.raises(LaunchError, match=words):
        restore(tmp_path / "x.zip")


def test_a_surface_outside_memory_is_refused(tmp_path: Path) -> None:
    entries = dict(stopped(False))
    manifest = json.loads(entries[MANIFEST])
    for index in manifest["grid"]["surfaces"]:
        far = changed(manifest, ("grid", "surfaces", index, "address"), 0x7F00_0000_0000)
        entries[MANIFEST] = json.dumps(far).encode()
        (tmp_path / "x.zip").write_bytes(packed(entries))
        with pytest.raises(LaunchError, match=f"surface {index} is not inside"):
            restore(tmp_path / "x.zip")


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits")
def test_a_small_file_unpacks_to_no_more_than_it_says(tmp_path: Path) -> None:
    """600 MB of zeros deflate to half a megabyte."""
    entries = stopped(False)
    start = json.loads(entries[MANIFEST])["allocations"][0][0]
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, entries[MANIFEST])
        with archive.open(f"memory/{start:x}", "w") as file:
            for _ in range(600):
                file.write(bytes(1 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(LaunchError, match="more than the"):
        restore(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_a_context_that_was_written_over_is_refused() -> None:
    """Memory that holds a context may be written by the host program, or by another kernel."""
    case = next(c for c in CASES if c.id == "reduce-small-groups")
    device = eumu.Device("apl", memory_bytes=1 << 24)
    setup = case.make(case)
    args = [_argument(device, a) for a in setup.args]
    device.preempt(after=200)
    _load(case.program, "apl")[case.kernel].launch(device, case.global_size, case.local_size, args)
    assert device.suspended is not None
    assert device.suspended.image is not None
    device.memory.view(device.suspended.image)[:] = 0xFF
    with pytest.raises((LaunchError, Fault)):
        device.resume()
