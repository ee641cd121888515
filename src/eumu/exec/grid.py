"""What one launch is: a function, its thread groups, its payload and its bindings.

The thread payload is a byte string that the function's inputs are copied from::

    0          r0 header           grf bytes
    grf        local ids           rows of uw[simd], `local_id_pitch` bytes each; or none
    ...        cross-thread data   the same for every thread of the grid

See the vISA page "Kernel inputs" and the PRM chapter on thread payloads.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field, fields, replace
from math import prod
from typing import Final, TypeVar

from eumu.errors import Finding, InternalError, LaunchError
from eumu.exec.race_rows import Parts
from eumu.ir import Function
from eumu.ir.operations.state import Special
from eumu.records import dataclass

T = TypeVar("T")
Dim3 = tuple[int, int, int]

TABLE_DWORDS: Final = range(3, 5)  # of r0: where the tables of samplers and surfaces are

# Engines run fewer threads than this at once; the run-time fact `hardware_thread` tells them apart.
CONCURRENT_THREADS: Final = 4096
# The same for functions that know themselves by the fact `fftid`, which has nine bits.
FFTIDS: Final = 512


@dataclass(frozen=True, slots=True)
class BufferSurface:
    """A raw buffer bound to a binding-table entry: `size` bytes at device address `address`.

    Out-of-bounds accesses are a fault if `strict`; else, as on hardware, reads give 0 and writes
    are dropped.  Of a buffer of constants blocks are read that may end anywhere: the compiler joins
    what a program wants to blocks of sizes that messages have.  Of any buffer a block of eight
    and more elements may end behind those that are used, which are more than half.
    """

    address: int
    size: int
    strict: bool = True
    constant: bool = False


@dataclass(frozen=True, slots=True)
class StatePointers:
    """Where a launch finds the states of surfaces and samplers: base addresses and offsets.

    The binding table is at `surface_state_base + binding_table`, the table of samplers at
    `dynamic_state_base + sampler_table`.  `chroma_keys` are low and high values of colours.  With
    `bindless_samplers` the Sampler State Pointer of a message header counts from the bindless base.
    `bindless_surfaces` is how many states the bindless heap has, None without a limit.  With
    `is_gen8` the states are those of Gen8.  `owner` keeps the tables alive.
    """

    surface_state_base: int
    dynamic_state_base: int
    bindless_surface_state_base: int
    binding_table: int = 0
    sampler_table: int = 0
    chroma_keys: tuple[tuple[int, int], ...] = ((0, 0),) * 4
    bindless_samplers: bool = False
    bindless_surfaces: int | None = None
    is_gen8: bool = False
    owner: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Payload:
    """How the payload of each thread is made; offsets and pitches in bytes.

    `r0` has the constant dwords of the header; the engine sets dword 1, 6, 7 to the group id
    x, y, z, and bits 7:0 of dword 2 to the number of the thread in its group if `numbers_threads`.
    `local_id_offset` is None when the kernel takes no local ids; `local_id_rows` are the dimensions
    that there are, x first, as newer platforms leave out those that a kernel does not use.  With
    `pieces` the bytes there are given for each thread of a group, the same in all groups.  With
    `rows` the payload of each thread of the grid is given as it is, header and all.  `tables_vary`
    says that dwords 3 and 4, the places of the tables of samplers and surfaces, are others in each
    launch: code does not depend on them.
    """

    r0: tuple[int, ...]
    local_id_offset: int | None
    local_id_pitch: int
    cross_thread_offset: int
    cross_thread: bytes = field(repr=False)
    numbers_threads: bool = False
    rows: tuple[bytes, ...] | None = field(default=None, repr=False)
    local_id_rows: int = 3
    pieces: tuple[bytes, ...] | None = field(default=None, repr=False)
    tables_vary: bool = False

    @property
    def constant_r0(self) -> tuple[int | None, ...]:
        """What compiled code may take for certain of the header, None for what it may not."""
        if self.rows is not None:
            return ()
        if not self.tables_vary:
            return self.r0
        return tuple(None if k in TABLE_DWORDS else word for k, word in enumerate(self.r0))

    @property
    def size(self) -> int:
        end = self.cross_thread_offset + len(self.cross_thread)
        if self.local_id_offset is None:
            return end
        if self.pieces is not None:
            return max(end, self.local_id_offset + len(self.pieces[0]))
        return max(end, self.local_id_offset + self.local_id_rows * self.local_id_pitch)

    def constants_first(self) -> Payload:
        """The other order that is documented: the data of all threads before the local ids.

        Intel's compute compiler expects the ids first; graphics drivers put constants there.
        """
        start = 4 * len(self.r0)
        ids = None if self.local_id_offset is None else start + len(self.cross_thread)
        return replace(self, cross_thread_offset=start, local_id_offset=ids)


@dataclass(frozen=True, slots=True)
class Grid:
    """One launch.  Group (x, y, z) runs `threads_per_group` threads of `function.width` lanes.

    Lane k of thread t is work item t*width+k of the group, x fastest; the last thread of a group
    has only the lanes that exist; with `masks`, each thread of a group has the lanes that are set.
    `fuel` bounds the instructions that one thread may run.  `pool_map` says which execution units
    are in which thread pool, None that there are none; it changes where groups run, no result.
    `global_offset` is the first global id, for reports, None where nobody knows it.  With `races`
    accesses that nothing orders are looked for.  Ids of groups begin at `first_group`: a launch may
    be one part of a larger one.  Extents that start at an address in `read_only` must not be
    written.  `parts` brings together what the parts of a launch note of accesses.
    """

    function: Function
    group_count: Dim3
    local_size: Dim3
    payload: Payload
    surfaces: dict[int, BufferSurface] = field(default_factory=dict)
    slm_bytes: int = 0
    scratch_bytes: int = 0
    symbols: dict[str, int] = field(default_factory=dict)
    fuel: int = 1 << 32
    seed: int = 0
    state: StatePointers | None = None
    masks: tuple[int, ...] | None = None
    pool_map: int | None = None
    global_offset: Dim3 | None = (0, 0, 0)
    races: bool = False
    first_group: Dim3 = (0, 0, 0)
    read_only: tuple[int, ...] = ()
    parts: Parts | None = field(default=None, compare=False, repr=False)
    like: Grid | None = field(init=False, default=None, compare=False, repr=False)

    def with_data(
        self,
        data: bytes,
        tables: tuple[int, int] | None = None,
        state: StatePointers | None = None,
    ) -> Grid:
        """The same launch with other cross-thread data of the same length.

        With `tables`, dwords 3 and 4 of the header, and `state` its tables are elsewhere, too.  Its
        attribute `like` is this grid, or what this one is like: what does not depend on the
        data is found out once for all of them.
        """
        payload = self.payload
        if len(data) != len(payload.cross_thread) or payload.rows is not None:
            raise InternalError("other data for a grid that has no room for it")
        made = _twin(self, _GRID_FIELDS)
        object.__setattr__(made, "payload", _twin(payload, _PAYLOAD_FIELDS))
        object.__setattr__(made.payload, "cross_thread", data)
        if tables is not None:
            if not payload.tables_vary:
                raise InternalError("other tables for a grid whose tables do not vary")
            r0 = *payload.r0[: TABLE_DWORDS.start], *tables, *payload.r0[TABLE_DWORDS.stop :]
            object.__setattr__(made.payload, "r0", r0)
            object.__setattr__(made, "state", state)
        object.__setattr__(made, "like", self.like or self)
        return made

    @property
    def most_threads(self) -> int:
        """How many threads may run at once."""
        ops = (op for block in self.function.blocks for op in block.ops)
        asks = any(isinstance(op, Special) and op.fact == "fftid" for op in ops)
        return FFTIDS if asks else CONCURRENT_THREADS

    @property
    def groups(self) -> int:
        return prod(self.group_count)

    @property
    def threads_per_group(self) -> int:
        return -(-prod(self.local_size) // self.function.width)

    def group(self, index: int) -> Dim3:
        """The id of the index-th group in launch order, x fastest."""
        nx, ny, _ = self.group_count
        x, y, z = self.first_group
        return x + index % nx, y + index // nx % ny, z + index // (nx * ny)


_GRID_FIELDS: Final = tuple(f.name for f in fields(Grid))
_PAYLOAD_FIELDS: Final = tuple(f.name for f in fields(Payload))


def _twin(value: T, names: tuple[str, ...]) -> T:
    """A shallow copy of a frozen object (`replace` takes three times as long)."""
    made = object.__new__(type(value))
    for name in names:
        object.__setattr__(made, name, getattr(value, name))
    return made


def groups_that_fit(grid: Grid, most_mb: int) -> int:
    """How many groups' local memory and scratch space `most_mb` MiB hold; LaunchError if none."""
    each = grid.slm_bytes + grid.scratch_bytes * grid.threads_per_group
    if each > most_mb << 20:
        raise LaunchError(
            f"kernel {grid.function.name}: a group of {grid.threads_per_group} threads needs"
            f" {grid.scratch_bytes} bytes of scratch space a thread and {grid.slm_bytes} bytes of"
            f" shared local memory, {each} in all; EUMU_SCRATCH_MB={most_mb} is the limit"
        )
    return (most_mb << 20) // max(1, each)


@dataclass(frozen=True, slots=True)
class RunStats:
    """What a run counted: instructions issued (once per thread, not per lane).

    `findings` are what the `report` operations of a checked function saw, in program order.
    `is_suspect` says that accesses may race, as far as a function that follows them can tell;
    `runs_again` that it must run once more to tell that.  `stored` are the starts of all extents
    that such a function may have stored to, as far as that is known.
    """

    instructions: int
    threads: int
    groups: int
    findings: tuple[Finding, ...] = ()
    is_suspect: bool = False
    runs_again: bool = False
    stored: frozenset[int] | None = None

    @classmethod
    def of_parts(cls, parts: Sequence[RunStats]) -> RunStats:
        """What several grids of one launch counted; a place that several found is found once."""
        if len(parts) == 1:
            return parts[0]
        by_place: dict[Hashable, Finding] = {}
        for finding in (f for part in parts for f in part.findings):
            place = finding.code, finding.span, finding.place, finding.instruction
            earlier = by_place.get(place)
            more = finding.count if earlier else 0
            by_place[place] = replace(earlier or finding, count=(earlier or finding).count + more)
        return cls(
            sum(part.instructions for part in parts),
            sum(part.threads for part in parts),
            sum(part.groups for part in parts),
            tuple(by_place.values()),
        )
