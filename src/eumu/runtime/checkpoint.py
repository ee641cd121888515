"""Checkpoint files: a stopped launch and all of device memory as one zip archive.

A file belongs to one kernel, whose text it names by a hash.  It may come from anywhere: nothing of
it is used before it was checked, and no more is unpacked than the device has room for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from eumu.device import Memory
from eumu.device.allocator import Allocation
from eumu.device.chip import Part
from eumu.errors import LaunchError, Unsupported
from eumu.exec.gate import admit, in_extents
from eumu.exec.grid import BufferSurface, Grid, Payload
from eumu.ir import Function
from eumu.ir.text import format_function
from eumu.platforms import Platform
from eumu.runtime.fields import FieldError, Fields
from eumu.runtime.preemption import Resumable, Suspended, residents_of
from eumu.writing import replacing

VERSION: Final = 5
_MANIFEST: Final = "checkpoint.json"
_MOST_MANIFEST: Final = 16 << 20  # bytes
_MOST_NAME: Final = 4096  # characters
_CHUNK: Final = 1 << 20
_INDEX: Final = re.compile("0|[1-9][0-9]{0,9}")  # of a surface, written in one way only
_WORD: Final = (1 << 64) - 1
_DWORD: Final = (1 << 32) - 1
# What Python's reader of archives, and of JSON, raise for damaged files.
_DAMAGED: Final = (
    *(zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, IndexError),
    *(NotImplementedError, RuntimeError, OSError, OverflowError, FieldError),
)


def code_hash(function: Function) -> str:
    """Of all that decides what a kernel does."""
    facts = f"{function.symbols} {function.thread_space} {function.full_threads}\n"
    return hashlib.sha256((facts + format_function(function)).encode()).hexdigest()


# ---- writing


def write_checkpoint(path: str | Path, memory: Memory, platform: str, held: Suspended) -> None:
    """Device memory and a stopped launch as a file; what a checked run has found so far is not in
    it."""
    grid = held.grid
    if grid.state is not None:
        raise Unsupported("checkpoints of launches with images")
    if grid.payload.rows is not None or grid.payload.pieces or grid.masks is not None:
        raise Unsupported(
            "checkpoints of launches whose threads have payloads or masks of their own"
        )
    if grid.races or grid.read_only:
        raise Unsupported("checkpoints of launches that look for races or stores through const")
    if held.rest:
        raise Unsupported("checkpoints of launches whose last groups are smaller")
    manifest = {
        "version": VERSION,
        "platform": platform,
        "kernel": grid.function.name,
        "hash": code_hash(grid.function),
        "first": held.first,
        "instructions": held.instructions,
        "image": held.image.start if held.image else None,
        "printed": held.printed.address if held.printed is not None else None,
        "grid": _grid_words(grid),
        "allocations": [[a.start, a.size, a.name, a.access] for a in memory.live],
    }
    with (
        replacing(path) as file,
        zipfile.ZipFile(file, "w") as archive,
    ):
        _write(archive, _MANIFEST, json.dumps(manifest, indent=1).encode())
        for a in memory.live:
            _write(archive, _entry(a), memory.view(a).tobytes())


def _write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """An entry without a time: the same state makes the same file."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o600 << 16
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED, compresslevel=1)


def _entry(allocation: Allocation) -> str:
    return f"memory/{allocation.start:x}"


def _grid_words(grid: Grid) -> dict[str, Any]:
    payload = asdict(grid.payload)
    payload["cross_thread"] = base64.b64encode(grid.payload.cross_thread).decode()
    del payload["rows"], payload["pieces"]
    return {
        "group_count": grid.group_count,
        "local_size": grid.local_size,
        "payload": payload,
        "surfaces": {str(k): asdict(s) for k, s in grid.surfaces.items()},
        "slm_bytes": grid.slm_bytes,
        "scratch_bytes": grid.scratch_bytes,
        "symbols": grid.symbols,
        "fuel": grid.fuel,
        "seed": grid.seed,
        "pool_map": grid.pool_map,
        "global_offset": grid.global_offset,
        "first_group": grid.first_group,
    }


# ---- reading


def read_checkpoint(
    path: str | Path,
    memory: Memory,
    platform: Platform,
    part: Part,
    kernel: Resumable,
    function: Function,
) -> tuple[Suspended, int | None]:
    """Fill an empty device's memory; the stopped launch, and the address of its printf buffer.

    LaunchError if the file is none, or is of another version, platform or kernel.  OSError if there
    is no file that can be read.  The caller empties memory then (`empty_unless_done`).
    """
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _restored(path, archive, memory, platform, part, kernel, function)
        except LaunchError:
            raise
        except _DAMAGED as error:
            raise LaunchError(f"{path} is no checkpoint of eumu: {error}") from None


@contextmanager
def empty_unless_done(memory: Memory) -> Iterator[None]:
    """What is filled in here is emptied again, whatever stops it: LaunchError if it is in use."""
    if memory.live:
        raise LaunchError("a checkpoint is restored on a device without arrays")
    try:
        yield
    except BaseException:
        for allocation in memory.live:
            memory.free(allocation.start)
        raise


def _restored(
    path: str | Path,
    archive: zipfile.ZipFile,
    memory: Memory,
    platform: Platform,
    part: Part,
    kernel: Resumable,
    function: Function,
) -> tuple[Suspended, int | None]:
    manifest = Fields(_json(_read(archive, _MANIFEST, _MOST_MANIFEST)), "the checkpoint")
    _check(path, manifest, platform, function)
    grid = _grid_of(manifest.inside("grid"), function)
    first = manifest.number("first", 0, grid.groups)
    instructions = manifest.number("instructions", 0, _WORD)
    starts = {}
    for start, size, name, access in _allocations(manifest):
        starts[start] = memory.allocate_at(start, size, name, access=access)
    image = manifest.maybe("image", 0, _WORD)
    printed = manifest.maybe("printed", 0, _WORD)
    manifest.done()
    _check_entries(archive, memory)
    for address in (image, printed):
        if address is not None and address not in starts:
            raise FieldError(f"no allocation starts at {address:#x}")
    for allocation in memory.live:
        _fill(archive, memory, allocation)
    for index, surface in grid.surfaces.items():
        if surface.size and not in_extents(memory.extents(), surface.address, surface.size):
            raise FieldError(f"surface {index} is not inside one allocation")
    admit(grid, memory)
    context = None if image is None else starts[image]
    residents = None if context is None else residents_of(part, grid)
    held = Suspended(kernel, grid, residents, first, instructions, context)
    held.snapshot(memory)  # LaunchError unless the context is one
    held.adopt(memory)
    return held, printed


def _read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """An entry of at most so many bytes."""
    info = _info(archive, name)
    with archive.open(info) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise FieldError(f"{name} has more than {most} bytes")
    return data


def _info(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    info = archive.getinfo(name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FieldError(f"{name} is compressed by method {info.compress_type}")
    return info


def _check_entries(archive: zipfile.ZipFile, memory: Memory) -> None:
    """Only what is read is in the archive, each entry once."""
    names = sorted(archive.namelist())
    wanted = sorted([_MANIFEST, *map(_entry, memory.live)])
    if names != wanted:
        raise FieldError(
            f"{len(names)} entries, not the manifest and {len(wanted) - 1} allocations"
        )


def _fill(archive: zipfile.ZipFile, memory: Memory, allocation: Allocation) -> None:
    """The bytes of an allocation, piece by piece; FieldError if the archive has more or fewer."""
    place, done = memory.view(allocation), 0
    with archive.open(_info(archive, _entry(allocation))) as file:
        while piece := file.read(_CHUNK):
            if done + len(piece) > allocation.size:
                raise FieldError(f"more than the {allocation.size} bytes of {allocation.name}")
            place[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
            done += len(piece)
    if done != allocation.size:
        raise FieldError(f"{done} bytes of {allocation.name}, not {allocation.size}")


def _json(data: bytes) -> Any:
    try:
        return json.loads(data, object_pairs_hook=_once)
    except RecursionError:
        raise FieldError("the manifest is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise FieldError("a name stands twice in an object of the manifest")
    return fields


def _check(path: str | Path, manifest: Fields, platform: Platform, function: Function) -> None:
    version = manifest.number("version", 0, _DWORD)
    if version != VERSION:
        raise LaunchError(f"{path} is a checkpoint of version {version}; this eumu reads {VERSION}")
    made_on = manifest.text("platform", _MOST_NAME)
    if made_on != platform.name:
        raise LaunchError(f"{path} was made on {made_on}, the device is {platform}")
    name, code = manifest.text("kernel", _MOST_NAME), manifest.text("hash", _MOST_NAME)
    if name != function.name or code != code_hash(function):
        raise LaunchError(
            f"{path} is a checkpoint of kernel {name};"
            f" {function.name} is another one or has changed"
        )


def _allocations(manifest: Fields) -> Iterator[tuple[int, int, str, str]]:
    for row in manifest.rows("allocations"):
        start, size = row.number(0, 0, _WORD), row.number(1, 0, _WORD)
        name = row.text(2, _MOST_NAME)
        access = row.text(3, 2)
        row.done()
        if access not in ("rw", "r", "w"):
            raise FieldError(f"kernels may do {access!r} to {name}")
        yield start, size, name, access


def _grid_of(words: Fields, function: Function) -> Grid:
    x, y, z = words.numbers("group_count", 3, 3, 0, _DWORD)
    lx, ly, lz = words.numbers("local_size", 3, 3, 1, _DWORD)
    from_x, from_y, from_z = words.numbers("global_offset", 3, 3, 0, _WORD)
    first_x, first_y, first_z = words.numbers("first_group", 3, 3, 0, _DWORD)
    symbols = words.inside("symbols")
    grid = Grid(
        function=function,
        group_count=(x, y, z),
        local_size=(lx, ly, lz),
        payload=_payload(words.inside("payload")),
        surfaces=dict(_surfaces(words.inside("surfaces"))),
        slm_bytes=words.number("slm_bytes", 0, _DWORD),
        scratch_bytes=words.number("scratch_bytes", 0, _DWORD),
        symbols={name: symbols.number(name, 0, _WORD) for name in symbols.names},
        fuel=words.number("fuel", 0, _WORD),
        seed=words.number("seed", 0, _WORD),
        pool_map=words.maybe("pool_map", 0, _DWORD),
        global_offset=(from_x, from_y, from_z),
        first_group=(first_x, first_y, first_z),
    )
    words.done()
    return grid


def _payload(words: Fields) -> Payload:
    text = words.text("cross_thread", _MOST_MANIFEST)
    payload = Payload(
        words.numbers("r0", 0, 64, 0, _DWORD),
        words.maybe("local_id_offset", 0, _DWORD),
        words.number("local_id_pitch", 0, _DWORD),
        words.number("cross_thread_offset", 0, _DWORD),
        base64.b64decode(text, validate=True),
        words.flag("numbers_threads"),
        local_id_rows=words.number("local_id_rows", 0, 3),
        tables_vary=words.flag("tables_vary"),
    )
    words.done()
    return payload


def _surfaces(words: Fields) -> Iterator[tuple[int, BufferSurface]]:
    for name in words.names:
        if not _INDEX.fullmatch(name):
            raise FieldError(f"{name[:60]!r} is no index of a surface")
        one = words.inside(name)
        address, size = one.number("address", 0, _WORD), one.number("size", 0, _WORD)
        surface = BufferSurface(address, size, one.flag("strict"), one.flag("constant"))
        one.done()
        yield int(name), surface
