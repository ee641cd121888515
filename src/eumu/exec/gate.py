"""The one gate to the engines: what compiled code trusts is made here, from memory as it is.

Compiled code checks addresses against extents and surfaces, and believes these.  Both engines take
a launch only as `Admitted`, and only `admit` makes one: it looks at every extent, surface, size and
offset, whoever wrote them, the runtime, a batch, a checkpoint or a host program.
"""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.errors import InternalError, LaunchError
from eumu.exec.grid import CONCURRENT_THREADS, BufferSurface, Grid, Payload
from eumu.exec.host import Host
from eumu.exec.snapshot import Snapshot
from eumu.records import dataclass

_WORD: Final = 1 << 64
_DWORD: Final = 1 << 32
_MOST_GROUPS: Final = 1 << 48
_MOST_FUEL: Final = 1 << 62
_MOST_PAYLOAD: Final = 1 << 20  # bytes of one thread
_MOST_LOCAL: Final = 1 << 31  # bytes of a group's local memory, or of a thread's scratch space
_HEADER: Final = 8  # dwords
_TAIL: Final = 64  # bytes behind the last extent that a vector load may reach

Extents = tuple[NDArray[np.uint64], NDArray[np.uint64]]


def extent_of(extents: Extents, address: int) -> tuple[int, int]:
    """Start and end of the extent that an address, which may be any number, lies in.

    Twice 0 if there is none.
    """
    if not 0 <= address < _WORD:
        return 0, 0
    starts, ends = extents
    k = int(starts.searchsorted(np.uint64(address), side="right")) - 1
    return (int(starts[k]), int(ends[k])) if k >= 0 and address < int(ends[k]) else (0, 0)


def in_extents(extents: Extents, address: int, size: int) -> bool:
    """Whether `size` bytes from an address on, which may be any number, lie in one extent."""
    start, end = extent_of(extents, address)
    return size >= 0 and start <= address < end and address + size <= end


@dataclass(frozen=True, slots=True)
class Bound:
    """A surface as engines see it: `size` bytes from `place` in the arena on, all in one extent.

    They are fewer than the surface `claims` if the rest of it is no memory; then it is `strict`,
    so that an access to the rest is a fault, and so is one behind it.  `access` is what kernels
    may do: "rw", "r" or "w".  Blocks of a `constant` buffer need only begin inside.
    """

    index: int
    place: int
    size: int
    claims: int
    strict: bool
    access: str = "rw"
    constant: bool = False

    @property
    def words(self) -> str:
        """What an access must lie in."""
        if self.size == self.claims:
            return f"the {self.size} bytes of surface {self.index}"
        return f"what is in memory of surface {self.index}: {self.size} of {self.claims} bytes"


class Admitted:
    """A grid, and the memory that it may access; made by `admit`, which has checked both."""

    __slots__ = ("ends", "grid", "host", "readable", "starts", "surfaces", "writable")

    def __init__(self, key: object, grid: Grid, host: Host, extents: Extents) -> None:
        if key is not _KEY:
            raise InternalError("an Admitted is made by eumu.exec.gate.admit")
        self.grid, self.host = grid, host
        self.starts, self.ends = extents
        limits = _limits(grid, host)
        self.readable, self.writable = (_only(extents, limits, wanted) for wanted in "rw")
        self.surfaces = {
            index: _bound(index, surface, extents, host, limits)
            for index, surface in grid.surfaces.items()
        }

    def of_data(self, grid: Grid) -> Admitted:
        """The admission of a grid that differs from this one's in cross-thread data only."""
        if grid is self.grid:
            return self
        if grid.like is not self.grid:
            raise InternalError("the admission of another grid")
        made = object.__new__(Admitted)
        made.grid, made.host, made.surfaces = grid, self.host, self.surfaces
        made.starts, made.ends = self.starts, self.ends
        made.readable, made.writable = self.readable, self.writable
        return made

    def still_holds(self, grid: Grid, host: Host) -> bool:
        """Whether this is the admission of a grid and of memory as it is now."""
        starts, ends = host.extents()
        return (
            grid is self.grid and host is self.host and starts is self.starts and ends is self.ends
        )


_KEY: Final = object()


def check_snapshot(grid: Grid, snapshot: Snapshot) -> None:
    """LaunchError unless the groups of a snapshot are groups of the grid."""
    first, count = snapshot.first, snapshot.groups
    _check("the first resident group", first, 0, grid.groups + 1)
    _check("the number of resident groups", count, 0, grid.groups - first + 1)
    _check("the number of instructions", snapshot.instructions, 0, _WORD)
    rows = len(snapshot.threads), len(snapshot.slm)
    if count and rows != (count * grid.threads_per_group, count):
        raise LaunchError(f"the state of {rows[0]} threads in {rows[1]} groups, not of {count}")


def admit(grid: Grid, host: Host) -> Admitted:
    """Check a launch against the memory that it runs on.

    LaunchError says which number is wrong, and what is allowed.
    """
    extents = host.extents()
    _check_memory(host, extents)
    _check_shape(grid)
    _check_payload(grid, grid.payload)
    _check_words(grid)
    return Admitted(_KEY, grid, host, extents)


# ---- memory


def _check_memory(host: Host, extents: Extents) -> None:
    """Extents are sorted, do not overlap, and lie in the arena."""
    arena, (starts, ends) = host.arena, extents
    if arena.dtype != np.uint8 or arena.ndim != 1 or not arena.flags.c_contiguous:
        raise InternalError("an arena is a contiguous row of bytes")
    if starts.dtype != np.uint64 or ends.dtype != np.uint64 or starts.shape != ends.shape:
        raise InternalError("extents are two rows of uint64")
    if not (starts.flags.c_contiguous and ends.flags.c_contiguous):
        raise InternalError("extents are contiguous rows")
    if not len(starts):
        return
    low, high = int(starts[0]), int(ends[-1])
    inside = host.base <= low and high + _TAIL <= host.base + len(arena)
    if not inside or not (starts < ends).all() or not (ends[:-1] <= starts[1:]).all():
        raise InternalError("extents overlap, or lie outside the arena")


def _limits(grid: Grid, host: Host) -> dict[int, str]:
    """By their starts: extents to which a launch may not do all, and what it may."""
    limits: dict[int, str] = dict(getattr(host, "restricted", {}))
    for start in grid.read_only:
        limits[start] = limits.get(start, "rw").replace("w", "")
    return limits


def _only(extents: Extents, limits: dict[int, str], wanted: str) -> Extents:
    """The extents of which kernels may do what is wanted."""
    if not limits:
        return extents
    starts, ends = extents
    may = np.array([wanted in limits.get(int(start), "rw") for start in starts], bool)
    return (starts[may], ends[may]) if not may.all() else extents


def _bound(
    index: int, surface: BufferSurface, extents: Extents, host: Host, limits: dict[int, str]
) -> Bound:
    address, size = surface.address, surface.size
    _check(f"the index of surface {index}", index, 0, _DWORD)
    _check(f"the address of surface {index}", address, 0, _WORD)
    _check(f"the size of surface {index}", size, 0, _WORD)
    starts, ends = extents
    k = int(starts.searchsorted(np.uint64(address), side="right")) - 1
    room = int(ends[k]) - address if k >= 0 else 0
    if room <= 0:
        return Bound(index, 0, 0, size, size > 0 or bool(surface.strict))
    held = min(size, room)
    access = limits.get(int(starts[k]), "rw")
    is_strict = held < size or bool(surface.strict)
    place = address - host.base
    return Bound(index, place, held, size, is_strict, access, bool(surface.constant))


# ---- numbers


def _check(what: str, value: int, low: int, high: int) -> None:
    """LaunchError unless a number lies in low … high - 1."""
    if not low <= value < high:
        raise LaunchError(f"{what} is {value}; {low} to {high - 1} is possible")


def _check_shape(grid: Grid) -> None:
    width = grid.function.width
    sizes = zip("xyz", grid.group_count, grid.first_group, grid.local_size, strict=True)
    for axis, groups, first, items in sizes:
        _check(f"the number of groups in {axis}", groups, 0, _DWORD)
        _check(f"the id of the first group in {axis}", first, 0, _DWORD - groups + 1)
        _check(f"the size of a group in {axis}", items, 1, _DWORD)
    _check("the number of groups", prod(grid.group_count), 0, _MOST_GROUPS)
    threads = grid.threads_per_group
    _check("the number of threads of a group", threads, 1, CONCURRENT_THREADS + 1)
    if grid.masks is not None:
        if len(grid.masks) != threads:
            raise LaunchError(f"{len(grid.masks)} masks for the {threads} threads of a group")
        for mask in grid.masks:
            _check("the mask of a thread", mask, 1, 1 << width)


def _check_payload(grid: Grid, payload: Payload) -> None:
    if payload.pieces is not None:
        _check_pieces(grid, payload.pieces)
    size, width = payload.size, grid.function.width
    _check("the number of rows of local ids", payload.local_id_rows, 0, 4)
    _check("the size of a thread's payload", size, 0, _MOST_PAYLOAD)
    _check("the offset of cross-thread data", payload.cross_thread_offset, 0, size + 1)
    reach = max((i.payload_offset + i.size for i in grid.function.inputs), default=0)
    if reach > size or any(i.payload_offset < 0 or i.size < 0 for i in grid.function.inputs):
        raise LaunchError(
            f"kernel {grid.function.name} reads {reach} bytes of payload; a thread gets {size}"
        )
    if payload.rows is not None:
        _check_rows(grid, payload.rows, size)
        return
    if not _HEADER <= len(payload.r0) <= size // 4:
        raise LaunchError(f"a header of {len(payload.r0)} dwords in a payload of {size} bytes")
    for dword in payload.r0:
        _check("a dword of the header", dword, 0, _DWORD)
    if payload.local_id_offset is not None:
        first, pitch = payload.local_id_offset, payload.local_id_pitch
        _check("the offset of local ids", first, 0, size + 1)
        if (
            payload.pieces is None and payload.local_id_rows
        ):  # `size` holds all of them, the last one whole
            _check("the pitch of local ids", pitch, 2 * width, size)


def _check_pieces(grid: Grid, pieces: tuple[bytes, ...]) -> None:
    sizes = {len(piece) for piece in pieces}
    if len(pieces) != grid.threads_per_group or len(sizes) != 1:
        raise LaunchError(
            f"{len(pieces)} pieces of {sorted(sizes)} bytes for the {grid.threads_per_group}"
            " threads of a group; each thread has one, and all are of one size"
        )


def _check_rows(grid: Grid, rows: tuple[bytes, ...], size: int) -> None:
    wanted = grid.groups * grid.threads_per_group
    if len(rows) != wanted or any(len(row) != size for row in rows):
        raise LaunchError(f"{len(rows)} payloads of {size} bytes for {wanted} threads")


def _check_words(grid: Grid) -> None:
    """What else is a number."""
    _check("the bytes of shared local memory", grid.slm_bytes, 0, _MOST_LOCAL)
    _check("the bytes of scratch space", grid.scratch_bytes, 0, _MOST_LOCAL)
    _check("the fuel of a thread", grid.fuel, 0, _MOST_FUEL)
    _check("the seed", grid.seed, 0, _WORD)
    for name, address in grid.symbols.items():
        _check(f"the address of symbol {name!r}", address, 0, _WORD)
    state = grid.state
    if state is not None:
        for address in (
            *(state.surface_state_base, state.dynamic_state_base),
            state.bindless_surface_state_base,
        ):
            _check("the base address of states", address, 0, _WORD)
        _check("the offset of the binding table", state.binding_table, 0, _DWORD)
        _check("the offset of the table of samplers", state.sampler_table, 0, _DWORD)
