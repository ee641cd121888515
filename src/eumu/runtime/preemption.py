"""A launch that was stopped: kept on the device, gone on with.

The state of its threads lies in device memory as a context image (`eumu.device.context`).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import field, replace
from typing import Any, Final, Protocol

from eumu.device import Memory
from eumu.device.allocator import Allocation
from eumu.device.chip import Part
from eumu.device.context import Residents, context_bytes, load, save
from eumu.device.dispatch import Needs
from eumu.errors import Finding, LaunchError
from eumu.exec.grid import Grid
from eumu.exec.snapshot import Snapshot, between_groups
from eumu.ir import Function
from eumu.platforms import Platform
from eumu.records import dataclass
from eumu.runtime.report import Report

_NAME: Final = "the context image"


class Resumable(Protocol):
    """What a stopped launch goes on with: a kernel."""

    def function(self, platform: Platform) -> Function: ...

    def resume(self, device: Any, held: Suspended) -> Report: ...


class _Room:
    """What the room of a context image is tied to: it is given back when this is gone."""


@dataclass(slots=True)
class Suspended:
    """A stopped launch; `image` is its context in device memory, None between two groups.

    `kernel` is None if a batch started it; `is_own` says that the image is freed with it.
    """

    kernel: Resumable | None
    grid: Grid
    residents: Residents | None  # where its groups in flight are
    first: int
    instructions: int
    image: Allocation | None
    is_own: bool = True
    findings: tuple[Finding, ...] = ()
    printed: Any = None
    stack: ExitStack = field(default_factory=ExitStack, repr=False)
    room: _Room | None = field(default=None, repr=False)  # owns an image of the launch's own
    rest: tuple[Grid, ...] = field(default=(), repr=False)  # what of the launch comes behind

    @classmethod
    def of(
        cls,
        memory: Memory,
        kernel: Resumable | None,
        grid: Grid,
        residents: Residents | None,
        snapshot: Snapshot,
        at: int | None = None,
    ) -> Suspended:
        """Put the state of the threads into device memory: at an address, or where room is."""
        image, room = None, None
        if residents is not None:
            size = context_bytes(residents, snapshot)
            if at is None:
                room = _Room()
                image = memory.allocate(size, _NAME, claim=memory.claim(room))
            else:
                image = _inside(memory, at, size)
            save(residents, snapshot, memory.view(image))
        left = snapshot.first, snapshot.instructions
        own = at is None
        return cls(kernel, grid, residents, *left, image, own, snapshot.findings, room=room)

    def adopt(self, memory: Memory) -> None:
        """Own the context image, which nobody owns yet."""
        if self.image is not None:
            self.room = _Room()
            memory.adopt(self.image, memory.claim(self.room))

    def snapshot(self, memory: Memory) -> Snapshot:
        """The state as memory has it now."""
        if self.image is None or self.residents is None:
            return between_groups(self.first, self.instructions, self.findings)
        snapshot = load(self.residents, memory.view(self.image))
        return replace(snapshot, findings=self.findings)

    def close(self, memory: Memory) -> None:
        """Free the context image and what the launch had for itself."""
        if self.image is not None and self.is_own:
            self.room, self.image = None, None
            memory.settle()
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


def plain_name(name: str) -> str:
    """What a user calls an allocation: `x` for "array 'x'".

    >>> plain_name("array 'x'"), plain_name("the printf buffer")
    ('x', 'the printf buffer')
    """
    return name.partition("'")[2].rstrip("'") or name
