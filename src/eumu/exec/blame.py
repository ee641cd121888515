"""Who did something wrong, where and to what: the records of faults and findings, the same from
both engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from eumu import addresses
from eumu.errors import ArrayPlace, Finding, Ids, InternalError, Place, Severity
from eumu.exec import joined
from eumu.exec.grid import Grid
from eumu.exec.host import Host
from eumu.exec.state import instruction_span, instruction_text
from eumu.findings import CODES, LOCAL_MEMORY, SCRATCH
from eumu.ir import Function, Op, Space
from eumu.ir.operations.memory import UNWRITTEN_SPACES, WRITTEN_SPACES, Access

_ACCESSES: Final = frozenset({"load", "store", "load_block", "store_block", "atomic"})
# Indices that are no surface of the launch, and what they mean.
_RESERVED: Final = {
    addresses.BTI_SLM: Space.SLM,
    addresses.BTI_STATELESS: Space.FLAT,
    addresses.BTI_STATELESS_NON_COHERENT: Space.FLAT,
    addresses.SCRATCH_STATE: Space.SCRATCH,
}
_NULL: Final = 4096  # addresses below are of a null pointer
_MOST_LINES: Final = 8  # that a note lists


def source_place(function: Function, inst: int, *, access: bool = False) -> Place | None:
    """The line of the source that an instruction comes from; `access` of one to memory."""
    origin = function.origins[inst] if 0 <= inst < len(function.origins) else None
    if origin is None or function.sources is None:
        return origin
    return function.sources(origin, access)


def lines_of_address(function: Function, inst: int) -> list[str]:
    """A note with the lines that make the address of an access that has none of its own."""
    origins = (source_place(function, made) for made in joined.instructions(function, inst))
    lines = list(dict.fromkeys((p.file, p.line) for p in origins if p is not None))
    if not lines:
        return []
    shown = ", ".join(f"{file}:{line}" for file, line in sorted(lines)[:_MOST_LINES])
    more = f" and {len(lines) - _MOST_LINES} more lines" * (len(lines) > _MOST_LINES)
    return [f"the compiler gives this access no line; its address is made at {shown}{more}"]


def work_item(grid: Grid, group: Ids, thread: int, lane: int) -> tuple[Ids, Ids] | None:
    """Global and local id of a lane; None where lanes are no work items."""
    payload = grid.payload
    if grid.function.full_threads or grid.function.thread_space or grid.masks is not None:
        return None
    if payload.rows is not None or payload.pieces is not None or grid.global_offset is None:
        return None
    lx, ly, lz = grid.local_size
    item = thread * grid.function.width + lane
    if item >= lx * ly * lz:
        return None
    local = item % lx, item // lx % ly, item // (lx * ly)
    first = grid.first_group
    sizes = zip(grid.global_offset, group, first, grid.local_size, local, strict=True)
    x, y, z = (start + (g - f) * size + own for start, g, f, size, own in sizes)
    return (x, y, z), local


def record(
    grid: Grid,
    code: str,
    reason: str,
    inst: int,
    group: int,
    thread: int,
    lanes: Sequence[int] = (),
    address: int | None = None,
    notes: Sequence[str] = (),
    *,
    memory: ArrayPlace | None = None,
    severity: Severity = Severity.ERROR,
    related: tuple[Finding, ...] = (),
    count: int = 1,
) -> Finding:
    """What there is to say of a thread at an instruction; `group` is its number in the launch."""
    if code not in CODES:
        raise InternalError(f"{code!r} is no code of what a launch may do wrong")
    function = grid.function
    span, ids = instruction_span(function, inst), grid.group(group)
    item = work_item(grid, ids, thread, lanes[0]) if lanes else None
    text = instruction_text(function, inst) if inst >= 0 else ""
    unplaced = [f"instruction: {text}"] if text and span is None else []
    access = _is_access(function, inst)
    joined_lines = lines_of_address(function, inst) if access else []
    return Finding(
        code,
        reason,
        function.name,
        span,
        ids,
        thread,
        tuple(lanes),
        count,
        (*unplaced, *joined_lines, *notes),
        severity,
        source_place(function, inst, access=access),
        text,
        item[0] if item else None,
        item[1] if item else None,
        address,
        memory,
        related,
    )


def outside(
    grid: Grid, host: Host, space: Space, surface: int, address: int
) -> tuple[str, ArrayPlace | None]:
    """Of which kind an access is that is not allowed, and in or near which memory."""
    bound = grid.surfaces.get(surface)
    if space is Space.SURFACE and bound is None:
        space = _RESERVED.get(surface, space)
    if space is Space.SURFACE:
        if bound is None:
            return "unbound-surface", None
        array = array_at(host, bound.address)
        if array is None:
            return "out-of-bounds", None
        offset = address - (1 << 32 if address >> 31 & 1 and address >> 32 == 0 else 0)
        place = array.offset + offset
        beside = offset < 0 or array.offset + bound.size < array.size  # of a part of the array
        state = "before" if place < 0 else "inside" if beside and place < array.size else "after"
        return "out-of-bounds", replace(array, offset=place, state=state)
    if space is not Space.FLAT:
        name, size = (
            (LOCAL_MEMORY, grid.slm_bytes) if space is Space.SLM else (SCRATCH, grid.scratch_bytes)
        )
        return "out-of-bounds", ArrayPlace(name, size, address, 1, "after")
    if address < _NULL:
        return "null-pointer", None
    array = array_at(host, address)
    freed = array is not None and array.state == "freed"
    if array is not None and array.state == "inside":  # it begins there, and ends behind
        array = replace(array, state="after")
    return ("use-after-free" if freed else "out-of-bounds"), array


def denied(
    grid: Grid, host: Host, space: Space, surface: int, address: int, size: int, access: str
) -> tuple[str, ArrayPlace] | None:
    """The code of an access of `size` bytes within memory to which it may not do that.

    `access` is "r" of a load, "w" of a store or an atomic operation.
    """
    bound = grid.surfaces.get(surface)
    if space is Space.SURFACE and bound is None:
        space = _RESERVED.get(surface, space)
    start = address
    if space is Space.SURFACE and bound is not None and 0 <= address <= bound.size - size:
        start = bound.address + address
    elif space is not Space.FLAT:
        return None
    array = array_at(host, start)
    if array is None or array.state != "inside" or array.offset + size > array.size:
        return None
    may = dict(getattr(host, "restricted", {})).get(start - array.offset, "rw")
    if start - array.offset in grid.read_only:
        may = may.replace("w", "")
    return None if access in may else ("write-only" if access == "r" else "read-only", array)


# What is said of such an access.
DENIED: Final = {
    "read-only": "is in memory that the kernel must not write",
    "write-only": "is in memory that the kernel must not read",
}


def memory_at(
    grid: Grid, host: Host, space: Space, surface: int, address: int
) -> ArrayPlace | None:
    """The memory that an allowed access goes to."""
    bound = grid.surfaces.get(surface)
    if space is Space.SURFACE and bound is None:
        space = _RESERVED.get(surface, space)
    if space is Space.SURFACE:
        return None if bound is None else array_at(host, bound.address + address)
    if space is Space.FLAT:
        return array_at(host, address)
    if space is Space.SLM:
        return ArrayPlace(LOCAL_MEMORY, grid.slm_bytes, address)
    return ArrayPlace(SCRATCH, grid.scratch_bytes, address)


def array_at(host: Host, address: int) -> ArrayPlace | None:
    """The array at or nearest to a device address, if the host knows."""
    find: Any = getattr(host, "nearest", None)
    array: ArrayPlace | None = find(address) if find is not None else None
    return array


def _is_access(function: Function, inst: int) -> bool:
    return any(op.inst == inst and access_inst(op) for block in function.blocks for op in block.ops)


def access_inst(op: Op) -> bool:
    """Whether an operation is an access of the program itself."""
    return isinstance(op, Access) and op.space not in _SHADOWS


_SHADOWS: Final = frozenset((*WRITTEN_SPACES.values(), *UNWRITTEN_SPACES.values()))
