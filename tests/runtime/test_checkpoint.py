"""Checkpoint files from anywhere: damaged ones are refused by a clear error, and change nothing."""

from __future__ import annotations

import copy
import io
import json
import re
import resource
import sys
import tempfile
import zipfile
from dataclasses import fields, replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.addresses import DEVICE_BASE
from eumu.device import Memory
from eumu.device.allocator import PAGE
from eumu.device.chip import part
from eumu.errors import EumuError, Fault, LaunchError, Unsupported
from eumu.exec.grid import BufferSurface, Grid, Payload, StatePointers
from eumu.ir import Block, Function, Input, Root, RootKind
from eumu.platforms import PLATFORMS
from eumu.runtime.checkpoint import read_checkpoint, write_checkpoint
from eumu.runtime.preemption import Suspended
from kernels.references import CASES
from test_kernels import _argument, _load

MANIFEST = "checkpoint.json"
# Values that a field of a file may be changed to.
STRANGE: list[Any] = [
    *(None, True, False, "", "x", "0", 0, -1, 1, -4, 7, 1.5, float("nan"), [], {}, [0], [[]]),
    *(255, 4096, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 10**300),
]


def written(device: eumu.Device) -> bytes:
    """The checkpoint of a device."""
    with tempfile.NamedTemporaryFile() as file:
        device.checkpoint(file.name)
        return Path(file.name).read_bytes()


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
    data = written(device)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
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


def test_the_same_state_makes_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it is written: archives have times of their own."""
    path = tmp_path / "good.zip"
    path.write_bytes(packed(stopped(True)))
    device, _ = restore(path)
    first = written(device)
    monkeypatch.setattr(zipfile.time, "localtime", lambda *_: (2030, 1, 1, 12, 0, 0, 0, 1, 0))
    assert written(device) == first


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
    (("grid", "payload", "local_id_rows"), 4, "local_id_rows"),
    (("grid", "payload", "size"), 5, "'size'] is not known"),
    (("grid", "payload", "rows"), None, "'rows'] is not known"),
    (("grid", "masks"), None, "'masks'] is not known"),
    (("grid", "surfaces", "01"), {}, "'01' is no index"),
    (("findings",), [], "'findings'] is not known"),
    (("allocations", 0), [DEVICE_BASE, 64, "x", "rw", 0], "[4] is not known"),
    (("allocations", 0), [DEVICE_BASE, 64, "x", "x"], "kernels may do 'x' to x"),
]


@pytest.mark.parametrize(("path", "value", "words"), CHANGES)
def test_what_is_wrong_is_said(
    tmp_path: Path, path: tuple[Any, ...], value: Any, words: str
) -> None:
    entries = dict(stopped(True))
    entries[MANIFEST] = json.dumps(changed(json.loads(entries[MANIFEST]), path, value)).encode()
    (tmp_path / "x.zip").write_bytes(packed(entries))
    with pytest.raises(LaunchError, match=re.escape(words)):
        restore(tmp_path / "x.zip")


def test_no_entry_is_left_over(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(packed({**stopped(False), "memory/5": b"more"}))
    with pytest.raises(LaunchError, match="entries, not the manifest"):
        restore(tmp_path / "x.zip")


def test_no_name_stands_twice(tmp_path: Path) -> None:
    entries = dict(stopped(False))
    entries[MANIFEST] = entries[MANIFEST].replace(b'"seed": 0', b'"seed": 0, "seed": 1')
    (tmp_path / "x.zip").write_bytes(packed(entries))
    with pytest.raises(LaunchError, match="a name stands twice"):
        restore(tmp_path / "x.zip")


# A launch, and another value of each of its fields that memory bears out.
PAYLOAD = Payload((0,) * 8, 32, 32, 128, bytes(64))
SURFACE = BufferSurface(DEVICE_BASE + PAGE, 64)
GRID = Grid(Function("k", 16, 32), (4, 1, 1), (16, 1, 1), PAYLOAD, {3: SURFACE})
OTHERS: dict[type, dict[str, Any]] = {
    Grid: {
        "function": Function("k", 8, 32),
        "group_count": (2, 3, 4),
        "local_size": (4, 2, 2),
        "payload": None,  # has a row of its own here
        "surfaces": {3: SURFACE, 9: SURFACE},
        "slm_bytes": 64,
        "scratch_bytes": 64,
        "symbols": {"x": 5},
        "fuel": 7,
        "seed": 9,
        "state": StatePointers(0, 0, 0),
        "masks": (3,),
        "pool_map": 5,
        "global_offset": (1, 2, 1 << 40),
        "races": True,
        "first_group": (1, 2, 3),
        "read_only": (SURFACE.address,),
        "parts": None,  # what launches note that look for races, which are refused
    },
    Payload: {
        "r0": (1,) * 9,
        "local_id_offset": None,
        "local_id_pitch": 36,
        "cross_thread_offset": 160,
        "cross_thread": b"x" * 64,
        "numbers_threads": True,
        "rows": (bytes(192),) * 4,
        "local_id_rows": 1,
        "pieces": (bytes(96),),
        "tables_vary": True,
    },
    BufferSurface: {"address": SURFACE.address + 32, "size": 32, "strict": False, "constant": True},
    Function: {
        "name": "other",
        "width": 8,
        "grf_bytes": 64,
        "roots": {"V": Root("V", RootKind.GRF, 32)},
        "inputs": [Input(Root("V", RootKind.GRF, 32), 0, 0, 32)],
        "blocks": [Block("entry")],
        "spans": None,  # these two say how instructions read, not what they do
        "texts": None,
        "symbols": ["x"],
        "thread_space": True,
        "full_threads": True,
        "lockstep": None,  # whether a race is one
        "together": True,
        "origins": None,  # and what findings say
        "sources": None,
        "alignments": None,  # these two say what is misaligned
        "promised": None,
        "fidelity": None,  # how near it is to the hardware
        "owner": None,  # which kernel launches it
    },
}


def of_another(kind: type, name: str, value: Any) -> Grid:
    """GRID with one field changed, in it or in what it holds."""
    if kind is Grid:
        return replace(GRID, **{name: value})
    if kind is Payload:
        return replace(GRID, payload=replace(PAYLOAD, **{name: value}))
    if kind is Function:
        return replace(GRID, function=replace(GRID.function, **{name: value}))
    return replace(GRID, surfaces={3: replace(SURFACE, **{name: value})})


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_launch_comes_back_or_is_refused(tmp_path: Path, kind: type) -> None:
    """A field that this list lacks is a new one, which a checkpoint must know."""
    values = OTHERS[kind]
    assert list(values) == [field.name for field in fields(kind) if field.init]
    for name, value in values.items():
        if value is None and name != "local_id_offset":
            continue
        grid = of_another(kind, name, value)
        assert grid != GRID
        memory, other = Memory(1 << 20), Memory(1 << 20)
        memory.allocate_at(SURFACE.address, 128, "x")
        held = Suspended(None, grid, None, 1, 5, None)
        platform = PLATFORMS["skl"]
        try:
            write_checkpoint(tmp_path / "x.zip", memory, platform.name, held)
        except Unsupported:
            assert name in ("state", "rows", "pieces", "masks", "races", "read_only")
            continue
        read = partial(read_checkpoint, tmp_path / "x.zip", other, platform, part("skl-gt2"), None)
        if grid.function is not GRID.function:
            with pytest.raises(LaunchError, match="is another one or has changed"):
                read(GRID.function)
        else:
            found, _ = read(grid.function)
            assert (name, found.grid) == (name, grid)


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
        for name, data in entries.items():
            if name != f"memory/{start:x}":
                archive.writestr(name, data)
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
