"""What the code for a grid is specialised on."""

from __future__ import annotations

from math import prod
from typing import Final

from eumu.errors import Unsupported
from eumu.exec.grid import Grid, Payload
from eumu.exec.jit.interface import MemberIds, Special
from eumu.exec.jit.llvm.lanes import Shape, shape_of_constants
from eumu.exec.state import local_ids
from eumu.ir import Block

_MOST_LANES: Final = 256  # of threads that run side by side
_ALONE_LANES: Final = 64  # and of those that load nothing that others load, too


def specialise(grid: Grid, members: int = 0) -> Special:
    """What of a grid the code depends on, with so many threads of a group side by side."""
    payload, width = grid.payload, grid.function.width
    if width > 64:
        raise Unsupported(f"{width} lanes a thread in the fast engine")
    own = payload.rows is not None
    full = prod(grid.local_size) % width == 0
    if grid.masks is not None:
        full = all(mask == (1 << width) - 1 for mask in grid.masks)
    shapes: tuple[Shape | None, ...] = ()
    if full and payload.local_id_offset is not None and payload.pieces is None:
        shapes = local_id_shapes(grid)
    return Special(
        full,
        shapes,
        payload.local_id_offset or 0,
        payload.local_id_pitch,
        range(0) if own else _common(payload),
        grid.slm_bytes,
        grid.scratch_bytes,
        payload.constant_r0,
        own,
        grid.masks is not None and not full,
        members,
        member_ids(grid, members) if members and shapes else (),
    )


def members_of(grid: Grid) -> int:
    """How many threads of a group may run side by side: all where they meet, else some."""
    payload = grid.payload
    if grid.masks is not None or payload.rows is not None:
        return 0
    if payload.local_id_offset is not None and payload.local_id_offset < 4 * len(payload.r0):
        return 0  # the header is not the same in all threads
    function, threads = grid.function, grid.threads_per_group
    most = _MOST_LANES // function.width
    ends = [(i, block.end) for i, block in enumerate(function.blocks) if block.end is not None]
    if any(end.name == "barrier" for _, end in ends):
        return threads if 1 < threads <= most else 0
    loops = [(min(end.targets, default=i + 1), i) for i, end in ends if end.name != "ret"]
    loops = [(low, high) for low, high in loops if low <= high]
    if not loops:
        return 0
    if not any(_loads(block) for low, high in loops for block in function.blocks[low : high + 1]):
        most = _ALONE_LANES // function.width
    return next((n for n in (most >> k for k in range(8)) if 1 < n <= threads), 0)


def _loads(block: Block) -> bool:
    return any(op.name.startswith("load") for op in block.ops)


def _common(payload: Payload) -> range:
    """The bytes of a payload that are the same in all threads."""
    first = payload.cross_thread_offset
    return range(first, first + len(payload.cross_thread))


_SHAPES: dict[tuple[tuple[int, int, int], int, int], tuple[Shape | None, ...]] = {}


def local_id_shapes(grid: Grid) -> tuple[Shape | None, ...]:
    """Per dimension the affine form of local ids that all threads share, if they do."""
    key = (grid.local_size, grid.function.width, grid.payload.local_id_rows)
    shapes = _SHAPES.get(key)
    if shapes is None:
        if len(_SHAPES) > 1024:
            _SHAPES.clear()
        shapes = _SHAPES[key] = _find_shapes(grid)
    return shapes


def _find_shapes(grid: Grid) -> tuple[Shape | None, ...]:
    shapes: list[Shape | None] = []
    for ids in local_ids(grid):
        by_dimension = [shape_of_constants(tuple(map(int, row)), 16) for row in ids]
        kinds = {(f[0].groups, f[0].offsets) if f else None for f in by_dimension}
        only = kinds.pop()
        if kinds or only is None:
            shapes.append(None)
        else:
            top = int(ids.max())
            shapes.append(Shape(only[0], only[1], bound=top if top < 1 << 15 else None))
    return tuple(shapes)


def member_ids(grid: Grid, members: int) -> tuple[MemberIds | None, ...]:
    """The local ids of threads that run side by side, per dimension: the same numbers in all groups
    of threads but for what the first of them has, or None."""
    found: list[MemberIds | None] = []
    for shape, ids in zip(local_id_shapes(grid), local_ids(grid), strict=True):
        if shape is None:
            found.append(None)
            continue
        heads = ids.astype(int)[:, :: len(shape.offsets)]
        whole = heads[: len(heads) // members * members].reshape(-1, members, shape.groups)
        is_all = len(heads) == members
        ways = whole if is_all else whole - whole[:, :1, :1]
        same = bool((ways == ways[0]).all())
        rows = tuple(tuple(int(x) for x in row) for row in ways[0])
        found.append(MemberIds(rows, is_all) if same else None)
    return tuple(found)
