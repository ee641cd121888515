"""A launch that was stopped: kept on the device, written to a file, gone on with.

The state of its threads lies in device memory as a context image (`eumu.device.context`).  A
checkpoint file has that, all of device memory, and the launch; it belongs to one kernel, whose text
it names by a hash.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from eumu.device import Memory
from eumu.device.chip import Part
from eumu.device.context import Residents, context_bytes, load, save
from eumu.device.dispatch import Needs
from eumu.device.memory import Allocation
from eumu.errors import Finding, LaunchError, Unsupported
from eumu.exec.grid import BufferSurface, Grid, Payload
from eumu.exec.snapshot import Snapshot, between_groups
from eumu.ir import Function
from eumu.ir.text import format_function
from eumu.platforms import Platform

__all__ = ["Suspended", "plain_name", "read_checkpoint", "residents_of", "write_checkpoint"]

VERSION: Final = 2
_NAME: Final = "the context image"


@dataclass(slots=True)
class Suspended:
    """A stopped launch; `image` is its context in device memory, None between two groups.

    `kernel` is None if a batch started it; `is_own` says that the image is freed with it.
    """

    kernel: Any  # the runtime's Kernel: what goes on with it
    grid: Grid
    residents: Residents | None  # where its groups in flight are
    first: int
    instructions: int
    image: Allocation | None
    is_own: bool = True
    findings: tuple[Finding, ...] = ()
    printed: Any = None
    stack: ExitStack = field(default_factory=ExitStack, repr=False)

    @classmethod
    def of(
        cls,
        memory: Memory,
        kernel: Any,
        grid: Grid,
        residents: Residents | None,
        snapshot: Snapshot,
        at: int | None = None,
    ) -> Suspended:
        """Put the state of the threads into device memory: at an address, or where room is."""
        image = None
        if residents is not None:
            size = context_bytes(residents, snapshot)
            image = memory.allocate(size, _NAME) if at is None else _inside(memory, at, size)
            save(residents, snapshot, memory.view(image))
        left = snapshot.first, snapshot.instructions
        own = at is None
        return cls(kernel, grid, residents, *left, image, own, snapshot.findings)

    def snapshot(self, memory: Memory) -> Snapshot:
        """The state as memory has it now."""
        if self.image is None or self.residents is None:
            return between_groups(self.first, self.instructions, self.findings)
        found = load(self.residents, memory.view(self.image))
        return replace(found, findings=self.findings)

    def close(self, memory: Memory) -> None:
        """Free the context image and what the launch had for itself."""
        if self.image is not None and self.is_own:
            memory.free(self.image.start)
        self.stack.close()


def _inside(memory: Memory, at: int, size: int) -> Allocation:
    """Bytes of an allocation for the context image; LaunchError if they are not there."""
    if any(a.start <= at and at + size <= a.end for a in memory.live):
        return Allocation(at, size, _NAME)
    raise LaunchError(
        f"GPGPU_CSR_BASE_ADDRESS {at:#x}: the context takes {size:#x} bytes;"
        f" there is {memory.describe(at)}"
    )


def residents_of(part: Part, grid: Grid) -> Residents:
    """Where groups of a grid are on a part."""
    return Residents.of(part, Needs.of(grid), grid.pool_map)


def code_hash(function: Function) -> str:
    """Of all that decides what a kernel does."""
    return hashlib.sha256(format_function(function).encode()).hexdigest()


def write_checkpoint(path: str | Path, memory: Memory, platform: str, held: Suspended) -> None:
    """Device memory and a stopped launch as one file (a zip archive); what a checked run has found
    so far is not in it."""
    grid = held.grid
    if getattr(grid, "state", None) is not None:
        raise Unsupported("checkpoints of launches with images")
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
        "allocations": [[a.start, a.size, a.name] for a in memory.live],
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("checkpoint.json", json.dumps(manifest, indent=1))
        for a in memory.live:
            archive.writestr(f"memory/{a.start:x}", memory.view(a).tobytes())


def _grid_words(grid: Grid) -> dict[str, Any]:
    payload = asdict(grid.payload)
    payload["cross_thread"] = base64.b64encode(grid.payload.cross_thread).decode()
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
    }


def read_checkpoint(
    path: str | Path,
    memory: Memory,
    platform: Platform,
    part: Part,
    kernel: Any,
    function: Function,
) -> tuple[Suspended, int | None]:
    """Fill an empty device's memory; the stopped launch, and the address of its printf buffer.

    LaunchError if the file is none, is of another version, platform or kernel, or memory is in use.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(Path(path).read_bytes())) as archive:
            manifest = json.loads(archive.read("checkpoint.json"))
            _check(path, manifest, platform, function)
            if memory.live:
                raise LaunchError("a checkpoint is restored on a device without arrays")
            by_start = {}
            for start, size, name in manifest["allocations"]:
                allocation = memory.allocate_at(start, size, name)
                data = archive.read(f"memory/{start:x}")
                if len(data) != size:
                    raise LaunchError(f"{path}: {len(data)} bytes of {name}, not {size}")
                memory.view(allocation)[:] = np.frombuffer(data, np.uint8)
                by_start[start] = allocation
            image = None if manifest["image"] is None else by_start[manifest["image"]]
            grid = _grid_of(manifest["grid"], function)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as error:
        if isinstance(error, LaunchError):
            raise
        raise LaunchError(f"{path} is no checkpoint of eumu: {error}") from None
    residents = None if image is None else residents_of(part, grid)
    held = Suspended(kernel, grid, residents, manifest["first"], manifest["instructions"], image)
    return held, manifest["printed"]


def plain_name(name: str) -> str:
    """What a user calls an allocation: `x` for "array 'x'".

    >>> plain_name("array 'x'"), plain_name("the printf buffer")
    ('x', 'the printf buffer')
    """
    return name.partition("'")[2].rstrip("'") or name


def _check(path: str | Path, manifest: Any, platform: Platform, function: Function) -> None:
    if manifest["version"] != VERSION:
        raise LaunchError(
            f"{path} is a checkpoint of version {manifest['version']}; this eumu reads {VERSION}"
        )
    if manifest["platform"] != platform.name:
        raise LaunchError(f"{path} was made on {manifest['platform']}, the device is {platform}")
    if manifest["kernel"] != function.name or manifest["hash"] != code_hash(function):
        raise LaunchError(
            f"{path} is a checkpoint of kernel {manifest['kernel']};"
            f" {function.name} is another one or has changed"
        )


def _grid_of(words: dict[str, Any], function: Function) -> Grid:
    payload = Payload(
        **{
            **words["payload"],
            "r0": tuple(words["payload"]["r0"]),
            "cross_thread": base64.b64decode(words["payload"]["cross_thread"]),
        }
    )
    grid = Grid(
        function=function,
        group_count=tuple(words["group_count"]),
        local_size=tuple(words["local_size"]),
        payload=payload,
    )
    return replace(
        grid,
        surfaces={int(k): BufferSurface(**s) for k, s in words["surfaces"].items()},
        slm_bytes=words["slm_bytes"],
        scratch_bytes=words["scratch_bytes"],
        symbols=words["symbols"],
        fuel=words["fuel"],
        seed=words["seed"],
        pool_map=words["pool_map"],
    )
