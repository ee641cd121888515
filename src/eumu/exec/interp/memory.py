"""Address spaces: from lane addresses to bytes, with every access checked first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from eumu import addresses
from eumu.errors import Fault, Finding
from eumu.exec import blame, words
from eumu.exec.interp.site import BlockSite
from eumu.exec.interp.values import ALL, Lanes, Mask, Run, Step, full
from eumu.exec.race_rows import ATOMIC_READ, READ
from eumu.ir import Space
from eumu.ir.operations import memory as operations
from eumu.ir.operations.memory import (
    HALVES,
    LARGEST_JOINED,
    THREE_HALVES,
    UNWRITTEN_SPACES,
    WRITTEN_SPACES,
    Load,
    LoadBlock,
    least_inside,
)
from eumu.ir.operations.row import Table
from eumu.records import dataclass

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

_READS: Final = (READ, ATOMIC_READ)
_UNWRITTEN: Final = frozenset(UNWRITTEN_SPACES.values())
_SHADOWS: Final = frozenset((*WRITTEN_SPACES.values(), *_UNWRITTEN))
# Behind which faults of a read a launch may go on.
_LATE: Final = frozenset({"out-of-bounds", "null-pointer", "use-after-free"})


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """Where the elements of some active lanes lie: byte offsets int64[lanes, elements] in `memory`.

    Elements that are not `valid` are out of bounds of a lenient surface (None: all are valid).
    `lanes` says which of the request's active lanes these are.  What is not valid reads as 0, or
    with `filled` as ones; so do the bytes of a lane behind its `room`, if there is one.
    """

    memory: Bytes
    offset: Offsets
    valid: Mask | None
    lanes: slice | NDArray[np.intp]
    filled: bool = False
    room: Lanes | None = None

    def load(self, dtype: np.dtype[Any]) -> Lanes:
        """The elements, [lanes, elements]."""
        if self.room is not None:
            return self._bytes_inside(self.room, dtype.itemsize).view(dtype)[..., 0]
        if self.valid is None:
            return gather(self.memory, self.offset, dtype)
        if not self.valid.any():
            inside = np.zeros(self.offset.shape, dtype)
        else:
            inside = gather(self.memory, np.where(self.valid, self.offset, 0), dtype)
        return np.where(self.valid, inside, np.iinfo(dtype).max if self.filled else dtype.type(0))

    def _bytes_inside(self, room: Lanes, size: int) -> Bytes:
        """The bytes of the elements, [lanes, elements, size]."""
        places = self.offset[..., None] + np.arange(size)
        inside = places - self.offset[:, :1, None] < room[:, None, None]
        if self.valid is not None:
            inside &= self.valid[..., None]
        found = self.memory[np.where(inside, places, 0)]
        return np.where(inside, found, np.uint8(255 if self.filled else 0))

    def elements(self, of_lanes: Lanes) -> tuple[Lanes, Bytes, Offsets]:
        """What belongs to each lane, for each valid element; the memory; where in it they lie."""
        valid = np.ones(self.offset.shape, bool) if self.valid is None else self.valid
        each = np.broadcast_to(of_lanes[:, None], self.offset.shape)
        return each[valid], self.memory, self.offset[valid]

    def store(self, data: Lanes) -> None:
        """Write elements [lanes, elements], lane after lane."""
        if self.valid is None:
            scatter(self.memory, self.offset, data)
        else:
            scatter(self.memory, self.offset[self.valid], data[self.valid])


class MemoryRequest:
    """The active lanes of a memory operation about to run, thread-major.

    Each accesses `count` elements of `size` bytes from its `address`; `row` and `lane` say where
    it stands in [threads, width].
    """

    __slots__ = ("_places", "address", "count", "every", "op", "run", "size", "width")

    def __init__(
        self, op: operations.Access, run: Run, address: Lanes, mask: Mask, size: int, count: int = 1
    ) -> None:
        self.op, self.run, self.size, self.count = op, run, size, count
        self.width = op.args[0].width
        self.every = mask is ALL or bool(mask.all())
        places = full(address, run, self.width)
        self._places: tuple[Lanes, Lanes] | None = None
        if self.every:
            self.address = places.reshape(-1)
        else:
            active = full(mask, run, self.width)
            self.address = places[active]
            rows, lanes = np.nonzero(active)
            self._places = rows, lanes

    def _located(self) -> tuple[Lanes, Lanes]:
        if self._places is None:
            self._places = np.divmod(np.arange(self.run.count * self.width), self.width)
        return self._places

    @property
    def row(self) -> Lanes:
        return self._located()[0]

    @property
    def lane(self) -> Lanes:
        return self._located()[1]

    def per_thread(self, x: Lanes) -> Lanes:
        """What belongs to each running thread, for each active lane."""
        return np.repeat(x, self.width) if self.every else x[self.row]

    def __bool__(self) -> bool:
        return len(self.address) > 0

    def least_inside(self) -> int:
        """How many bytes of a lane must be inside an array.

        A block may be one that the compiler has made of a few constants: it reads four elements
        where a program wants three.  What lies behind an array is 0.
        """
        size = self.size * self.count
        is_joined = size <= LARGEST_JOINED and isinstance(self.op, LoadBlock)
        return self.size * least_inside(self.count) if is_joined else size

    def are_halves(self, room: Lanes, lanes: Any) -> Mask:
        """Which lanes read three halves and one behind the array: only that of a scalar load."""
        is_load = isinstance(self.op, Load | LoadBlock)
        is_one = is_load and self.width == 1 and self.size * self.count == HALVES
        return np.asarray((room == THREE_HALVES) & (self.address[lanes] % HALVES == 0) & is_one)

    @property
    def access(self) -> str:
        """Whether memory is read or written."""
        is_load = self.op.name in ("load", "load_block")
        return "r" if is_load or self.op.space in _UNWRITTEN else "w"

    def values(self, x: Lanes) -> Lanes:
        """The active lanes of a data argument."""
        spread = full(x, self.run, self.width)
        return spread.reshape(-1) if self.every else spread[self.row, self.lane]

    def spread(self, flat: Lanes) -> Lanes:
        """Active lanes back as [threads, width], 0 elsewhere."""
        shape = (self.run.count, self.width)
        if self.every:
            return flat.reshape(shape)
        out = np.zeros(shape, flat.dtype)
        out[self.row, self.lane] = flat
        return out


class AddressSpaces:
    """Every address space of a machine.

    A function that follows what nothing has written in memory of the device goes on behind a read
    or an atomic operation outside of it: what it reads is what nothing has written.  The launch
    ends with the faults in `late`, by instruction.
    """

    def __init__(self, site: BlockSite) -> None:
        self.site, self.host, self.grid = site, site.host, site.grid
        self.goes_on = any(
            isinstance(op, operations.Access) and op.space in _UNWRITTEN
            for block in site.function.blocks
            for op in block.ops
        )
        self.late: dict[int, tuple[int, Finding]] = {}
        self.extents = {"r": site.admitted.readable, "w": site.admitted.writable}
        self.surfaces = site.admitted.surfaces
        self.spaces = {
            Space.SLM: site.state.slm.reshape(-1),
            Space.SCRATCH: site.state.scratch.reshape(-1),
            Space.SLM_WRITTEN: site.state.slm_written.reshape(-1),
            Space.SCRATCH_WRITTEN: site.state.scratch_written.reshape(-1),
        }
        # What is written in which has labels.
        self.contents = {
            Space.FLAT: self.host.arena,
            **{space: self.spaces[space] for space in (Space.SLM, Space.SCRATCH)},
        }

    def note(
        self, request: MemoryRequest, access: MemoryAccess, kind: int, data: Lanes | None = None
    ) -> None:
        """Let the log of races know, if there is one, those who follow labels, and those who look
        for loops that wait."""
        if kind not in _READS and self.site.order is not None and self.site.order.watches:
            threads = request.per_thread(request.run.threads)[access.lanes]
            self.site.order.writes(*access.elements(threads), request.size)
        if self.site.labels is not None:
            for space, content in self.contents.items():
                if access.memory is content:
                    self.site.labels.access(space, request, access, kind)
        if self.site.log is not None:
            is_local = access.memory is self.spaces[Space.SLM]
            if is_local or access.memory is self.host.arena:
                self.site.log.note(self.site, request, access, kind, data, local=is_local)

    def resolve(self, request: MemoryRequest, surface: Lanes | None) -> Iterator[MemoryAccess]:
        """Where the elements lie, checked; raises `Fault` for what is not allowed."""
        space = request.op.space
        if space not in (Space.SURFACE, Space.SURFACE_UNWRITTEN):
            yield self._access(space, request, slice(None))
            return
        assert surface is not None
        if surface.min() == surface.max():
            yield self._surface(int(surface[0, 0]), request, slice(None))
            return
        index = full(surface, request.run, 1)[:, 0][request.row]
        for value in np.unique(index):
            yield self._surface(int(value), request, np.flatnonzero(index == value))

    def _tell(self, request: MemoryRequest, space: Space, lanes: Any, base: int = 0) -> None:
        """Tell the observer who accesses what; surfaces as the addresses that they lie at."""
        observer = self.host.observer
        if observer is not None:
            threads = self.site.numbers(request.per_thread(request.run.threads))[lanes]
            kind = request.op.name.partition("_")[0]
            address = request.address[lanes].astype(np.uint64) + np.uint64(base)
            observer.at(request.op.inst)
            observer.access(kind, space.value, threads, address, request.size * request.count)

    def _access(self, space: Space, request: MemoryRequest, lanes: Any) -> MemoryAccess:
        self._tell(request, space, lanes)
        if space in (Space.FLAT, Space.FLAT_UNWRITTEN):
            return self._flat(request, lanes)
        threads, state = request.run.threads, self.site.state
        if space in (Space.SLM, Space.SLM_WRITTEN):
            owner = threads // state.threads_per_group * state.slm.shape[1]
            limit, name = self.grid.slm_bytes, "shared local memory"
        else:
            owner = threads * state.scratch.shape[1]
            limit, name = self.grid.scratch_bytes, "scratch space"
        return self._private(request, lanes, space, owner, limit, name)

    def _flat(self, request: MemoryRequest, lanes: Any) -> MemoryAccess:
        address = request.address[lanes].astype(np.uint64)
        illegal = ~self._legal(address, request.size * request.count, request.access)
        offset = (address - np.uint64(self.host.base)).astype(np.int64)
        places = _elements(offset, request)
        if not illegal.any():
            return MemoryAccess(self._arena(request), places, None, lanes)
        room = self._room(address, request.access)
        illegal &= (room < request.least_inside()) & ~request.are_halves(room, lanes)
        if illegal.any():
            self._refuse(request, lanes, illegal, "is outside every allocation")
        return self._part(request, self._arena(request), places, illegal, lanes, room)

    def _room(self, address: Lanes, access: str) -> Lanes:
        """How many bytes there are from each address to the end of its allocation, 0 if none."""
        starts, ends = self.extents[access]
        if not len(starts):
            return np.zeros(len(address), np.int64)
        index = np.searchsorted(starts, address, "right") - 1
        end = np.where(index >= 0, ends[np.maximum(index, 0)], 0)
        return np.where(address < end, end - address, 0).astype(np.int64)

    def _part(
        self,
        request: MemoryRequest,
        memory: Bytes,
        offset: Offsets,
        illegal: Mask,
        lanes: Any,
        room: Lanes | None = None,
    ) -> MemoryAccess:
        """What is left of an access: of lanes that are allowed what begins in their `room`."""
        valid = np.broadcast_to(~illegal[:, None], offset.shape)
        if room is not None:
            valid = valid & (offset - offset[:, :1] < room[:, None])
        return MemoryAccess(memory, offset, valid, lanes, request.op.space in _UNWRITTEN, room)

    def _refuse(
        self,
        request: MemoryRequest,
        lanes: Any,
        bad: Mask,
        why: str,
        space: Space = Space.FLAT,
        surface: int = 0,
    ) -> None:
        """Raise the fault of an access, or note it where the launch goes on behind that."""
        op = request.op
        if self.goes_on and op.space in _SHADOWS:
            return  # of an access that has been noted
        fault = self._fault(request, lanes, bad, why, space=space, surface=surface)
        reads = op.name in ("load", "load_block", "atomic")
        if not (self.goes_on and reads and fault.code in _LATE):
            raise fault
        first = int(request.run.threads[request.row[lanes][bad][0]])
        where = self.site.first_group * self.site.state.threads_per_group + first
        earlier = self.late.get(op.inst)
        if earlier is None or where < earlier[0]:
            earlier = where, replace(fault.finding, count=earlier[1].count if earlier else 0)
        times = len(np.unique(request.row[lanes][bad]))
        self.late[op.inst] = earlier[0], replace(earlier[1], count=earlier[1].count + times)

    def _arena(self, request: MemoryRequest) -> Bytes:
        """Memory of the device, or what says which of its bits nobody has written."""
        if request.op.space in _UNWRITTEN:
            return cast("Bytes", getattr(self.host, "unwritten"))  # noqa: B009  # few hosts have it
        return self.host.arena

    def _legal(self, address: Lanes, size: int, access: str) -> Mask:
        """Whether `size` bytes from each address lie within one allocation that allows it."""
        starts, ends = self.extents[access]
        if not len(starts):
            return np.zeros(len(address), bool)
        low, high = address.min(), address.max()
        k = int(np.searchsorted(starts, low, "right")) - 1
        if k >= 0 and high < ends[k] and ends[k] - high >= size:
            return np.ones(len(address), bool)
        return np.asarray(self._room(address, access) >= size)

    def _private(
        self, request: MemoryRequest, lanes: Any, space: Space, owner: Lanes, limit: int, name: str
    ) -> MemoryAccess:
        """Space of a group or thread; each running thread's begins at `owner` in `memory`."""
        address = request.address[lanes].astype(np.int64)
        outside = (address < 0) | (address > limit - request.size * request.count)
        places = _elements(address + request.per_thread(owner)[lanes], request)
        if not outside.any():
            return MemoryAccess(self.spaces[space], places, None, lanes)
        self._refuse(request, lanes, outside, f"is outside the {limit} bytes of {name}", space)
        return self._part(request, self.spaces[space], places, outside, lanes)

    def _surface(self, value: int, request: MemoryRequest, lanes: Any) -> MemoryAccess:
        bound = self.surfaces.get(value)
        if bound is None:
            return self._reserved(value, request, lanes)
        self._tell(request, Space.SURFACE, lanes, self.grid.surfaces[value].address)
        offset = _elements(request.address[lanes].astype(np.int64), request)
        valid = (offset >= 0) & (offset <= bound.size - request.size)
        place = offset + bound.place
        if request.access not in bound.access:
            why = f"is outside {bound.words}"  # unless it is inside: then it is not allowed
            every = np.ones(len(offset), bool)
            raise self._fault(request, lanes, every, why, space=Space.SURFACE, surface=value)
        if valid.all():
            return MemoryAccess(self._arena(request), place, None, lanes)
        if bound.strict:
            room = bound.size - offset[:, 0]
            outside, why = np.any(~valid, axis=1), f"is outside {bound.words}"
            if isinstance(request.op, LoadBlock):
                last = 0 if bound.constant else request.op.least_inside - 1
                outside = ~(valid[:, 0] & valid[:, last])
            if bound.constant:
                outside &= ~request.are_halves(room, lanes)
            if outside.any():
                self._refuse(request, lanes, outside, why, Space.SURFACE, value)
            return self._part(request, self._arena(request), place, outside, lanes, room)
        return MemoryAccess(self._arena(request), place, valid, lanes)

    def _reserved(self, value: int, request: MemoryRequest, lanes: Any) -> MemoryAccess:
        if value == addresses.BTI_SLM:
            return self._access(Space.SLM, request, lanes)
        if value in (addresses.BTI_STATELESS, addresses.BTI_STATELESS_NON_COHERENT):
            return self._access(Space.FLAT, request, lanes)
        if value == addresses.SCRATCH_STATE:
            return self._access(Space.SCRATCH, request, lanes)
        every = np.ones(len(request.address[lanes]), bool)
        why = f"uses index {value:#x}, {words.UNBOUND}"
        notes = words.unbound(value, self.grid.surfaces, self.host)
        raise self._fault(request, lanes, every, why, notes, space=Space.SURFACE, surface=value)

    def _fault(
        self,
        request: MemoryRequest,
        lanes: Any,
        bad: Mask,
        why: str,
        notes: Sequence[str] = (),
        *,
        space: Space = Space.FLAT,
        surface: int = 0,
    ) -> Fault:
        """The fault of the first thread that has a bad lane."""
        rows, numbers = request.row[lanes][bad], request.lane[lanes][bad]
        address, op = int(request.address[lanes][bad][0]), request.op
        size = request.size * request.count
        flat = op.args[0].type.size == 8
        where = self.grid, self.host, space, surface, address
        code, memory = blame.outside(*where)
        if denied := blame.denied(*where, size, request.access):
            code, memory = denied
            why, flat = blame.DENIED[code], False
        return self.site.fault(
            f"{_NAMES[op.name]} of {size} byte{'s' * (size != 1)} at {address:#x} {why}",
            op.inst,
            int(request.run.threads[rows[0]]),
            self.site.lane_numbers(op, numbers[rows == rows[0]]),
            address,
            [self.host.describe(address)] if flat else notes,
            code=code,
            memory=memory,
        )


# The step of an access; the files that make them add themselves.
ACCESSES: Table[AddressSpaces, [], Step] = Table()


_NAMES = {
    "load": "load",
    "store": "store",
    "load_block": "block load",
    "store_block": "block store",
    "atomic": "atomic operation",
}


def _elements(offset: Offsets, request: MemoryRequest) -> Offsets:
    """Offsets of every element, [lanes, elements]."""
    if request.count == 1:
        return offset[:, None]
    return offset[:, None] + np.arange(request.count) * request.size


def gather(memory: Bytes, offset: Offsets, dtype: np.dtype[Any]) -> Lanes:
    """Elements at byte offsets of any alignment, in the shape of `offset`."""
    size = dtype.itemsize
    if _aligned(offset, size):
        return _typed(memory, dtype).take(offset >> _SHIFT[size])
    raw = memory[offset[..., None] + np.arange(size)]
    return np.asarray(raw.view(dtype)[..., 0])


def scatter(memory: Bytes, offset: Offsets, data: Lanes) -> None:
    """Store elements at byte offsets of any alignment, in order: the last one wins."""
    size = data.dtype.itemsize
    if _aligned(offset, size):
        _typed(memory, data.dtype)[(offset >> _SHIFT[size]).reshape(-1)] = data.reshape(-1)
        return
    raw = np.ascontiguousarray(data)[..., None].view(np.uint8)
    memory[(offset[..., None] + np.arange(size)).reshape(-1)] = raw.reshape(-1)


_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


def _aligned(offset: Offsets, size: int) -> bool:
    return size == 1 or not int(np.bitwise_or.reduce(offset, axis=None)) & (size - 1)


def _typed(memory: Bytes, dtype: np.dtype[Any]) -> Lanes:
    return memory[: len(memory) // dtype.itemsize * dtype.itemsize].view(dtype)
