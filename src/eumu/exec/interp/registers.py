"""Reading and writing roots: views prepared once, so that a step is one NumPy call."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from eumu.exec.interp.site import STEPS, BlockSite
from eumu.exec.interp.values import ALL, Lanes, Run, Slots, Step, full, store_rows, wide
from eumu.ir import Region, Root
from eumu.ir.operations.state import (
    ExecMask,
    Partner,
    Read,
    ReadFlag,
    ReadIndirect,
    RootAddress,
    Write,
    WriteFlag,
    WriteIndirect,
)
from eumu.types import Type


def region_view(array: Lanes, region: Region, type: Type, width: int) -> Lanes | None:
    """The region of every thread as one strided view [threads, width], if it is evenly strided."""
    offsets = region.offsets(width)
    steps = {b - a for a, b in pairwise(offsets)}
    if len(steps) > 1:
        return None
    step = min(steps, default=0)
    columns = 1 if step == 0 else width
    return np.ndarray(
        (array.shape[0], columns), type.dtype, array, offsets[0], (array.strides[0], step)
    )


def region_bytes(region: Region, type: Type, width: int) -> list[int]:
    """The byte columns of a region, element by element."""
    return [o + b for o in region.offsets(width) for b in range(type.size)]


@STEPS.on(Read)
def read(site: BlockSite, op: Read) -> Step:
    root, region, value = op.root, op.region, op.value
    array, r = site.state.roots[root.name], site.slot(value)
    view = region_view(array, region, value.type, value.width)
    if view is None:
        columns = region_bytes(region, value.type, value.width)

        def gather(v: Slots, run: Run) -> None:
            values = array[run.rows][:, columns]
            v[r] = np.ascontiguousarray(values).view(value.type.dtype)

        return gather
    if site.is_overwritten(op):

        def copy(v: Slots, run: Run) -> None:
            v[r] = view[run.rows].copy()

        return copy

    def borrow(v: Slots, run: Run) -> None:
        v[r] = view[run.rows]

    return borrow


@STEPS.on(Partner)
def partner(site: BlockSite, op: Partner) -> Step:
    """As read, of the other thread of each pair."""
    root, region, value = op.root, op.region, op.value
    array, r = site.state.roots[root.name], site.slot(value)
    columns = region_bytes(region, value.type, value.width)
    per_group = site.state.threads_per_group

    def step(v: Slots, run: Run) -> None:
        group, member = np.divmod(run.threads, per_group)
        others = array[group * per_group + (member ^ 1)]
        v[r] = np.ascontiguousarray(others[:, columns]).view(value.type.dtype)

    return step


@STEPS.on(Write)
def write(site: BlockSite, op: Write) -> Step:
    root, region, value = op.root, op.region, op.value
    x, m = site.slots(op.args)
    array, width = site.state.roots[root.name], value.width
    view = region_view(array, region, value.type, width)
    if view is not None and (view.shape[1] == width) and (width == 1 or _apart(region, value.type)):

        def store(v: Slots, run: Run) -> None:
            store_rows(view, run, v[x], v[m])

        return store
    scalar = [
        region_view(array, Region.scalar(region.element(k)), value.type, 1) for k in range(width)
    ]

    def store_each(v: Slots, run: Run) -> None:
        data = np.array(wide(v[x], width))  # it may be a view of the root
        mask = None if v[m] is ALL else wide(v[m], width)
        for k, element in enumerate(scalar):
            assert element is not None
            lane = ALL if mask is None else mask[:, k : k + 1]
            store_rows(element, run, data[:, k : k + 1], lane)

    return store_each


def _apart(region: Region, type: Type) -> bool:
    return abs(region.element(1) - region.element(0)) >= type.size


@STEPS.on(ReadFlag)
def read_flag(site: BlockSite, op: ReadFlag) -> Step:
    root, offset, value = op.root, op.offset, op.results[0]
    r, view = site.slot(value), site.state.roots[root.name][:, offset : offset + value.width]
    keep = site.is_overwritten(op)

    def step(v: Slots, run: Run) -> None:
        v[r] = view[run.rows].copy() if keep else view[run.rows]

    return step


@STEPS.on(WriteFlag)
def write_flag(site: BlockSite, op: WriteFlag) -> Step:
    root, offset = op.root, op.offset
    x, m = site.slots(op.args)
    view = site.state.roots[root.name][:, offset : offset + op.args[0].width]

    def step(v: Slots, run: Run) -> None:
        store_rows(view, run, v[x], v[m])

    return step


@STEPS.on(ExecMask)
def exec_mask(site: BlockSite, op: ExecMask) -> Step:
    offset, width = op.offset, op.results[0].width
    r, lanes = site.slot(op.results[0]), site.state.width
    existing = np.arange(offset, offset + width) < lanes
    shared = ALL if existing.all() else existing[None, :]

    def step(v: Slots, run: Run) -> None:
        if run.active is ALL:
            v[r] = shared
            return
        mask = run.active[:, offset : offset + width]
        if mask.shape[1] < width:
            mask = np.pad(mask, ((0, 0), (0, width - mask.shape[1])))
        v[r] = mask

    return step


# ---- register-indirect access


class _Space:
    """The register space: which root holds an address."""

    def __init__(self, roots: list[Root]) -> None:
        self.roots = sorted(roots, key=lambda root: root.address)
        self.starts = np.array([root.address for root in self.roots], np.int64)
        self.ends = self.starts + np.array([root.size for root in self.roots], np.int64)

    def find(self, addresses: Lanes, size: int) -> tuple[Lanes, Lanes]:
        """Index of the root of each address, and whether `size` bytes there are all inside it."""
        index = np.searchsorted(self.starts, addresses, "right") - 1
        if not self.roots:
            return index, np.zeros(addresses.shape, bool)
        inside = (index >= 0) & (addresses + size <= self.ends[np.maximum(index, 0)])
        return index, inside


def register_space(site: BlockSite) -> _Space:
    """Where the roots are that a register address may reach."""
    return _Space(list(site.addressed.values()))


def element_offsets(op: ReadIndirect, width: int) -> tuple[list[int], list[int]]:
    """Per element, the address lane it uses and its byte distance from there."""
    row = op.row
    rows = [(k // row, op.offset + k % row * op.hstride) for k in range(width)]
    if op.args[0].width > 1:
        return [lane for lane, _ in rows], [distance for _, distance in rows]
    return [0] * width, [distance + k * op.vstride for k, distance in rows]


@STEPS.on(ReadIndirect)
def read_indirect(site: BlockSite, op: ReadIndirect) -> Step:
    value, space = op.results[0], register_space(site)
    size, width, lanes = value.type.size, value.width, op.args[0].width
    a, r = site.slot(op.args[0]), site.slot(value)
    m = site.slot(op.args[1]) if len(op.args) > 1 else None
    lane, distance = element_offsets(op, width)
    arrays = [site.state.roots[root.name] for root in space.roots]

    def step(v: Slots, run: Run) -> None:
        mask = np.array(full(ALL if m is None else v[m], run, width))
        places = full(v[a], run, lanes).astype(np.int64)[:, lane] + distance
        index, inside = space.find(places, size)
        mask &= inside  # what lies elsewhere is undefined, and 0 here
        out = np.zeros((run.count, width * size), np.uint8)
        for k in np.unique(index[mask]):
            row, column = np.nonzero(mask & (index == k))
            source = places[row, column] - space.starts[k]
            threads = run.threads[row]
            for byte in range(size):
                out[row, column * size + byte] = arrays[k][threads, source + byte]
        v[r] = out.view(value.type.dtype)

    return step


@STEPS.on(WriteIndirect)
def write_indirect(site: BlockSite, op: WriteIndirect) -> Step:
    value, space = op.args[1], register_space(site)
    size, width = value.type.size, value.width
    a, x, m = site.slots(op.args)
    distance = np.arange(width) * op.hstride + op.offset
    arrays = [site.state.roots[root.name] for root in space.roots]

    def step(v: Slots, run: Run) -> None:
        mask = full(v[m], run, width)
        places = full(v[a], run, width).astype(np.int64) + distance
        index, inside = space.find(places, size)
        site.check_registers(op, run, mask & ~inside, places)
        data = np.ascontiguousarray(full(v[x], run, width)).view(np.uint8)
        for k in np.unique(index[mask]):
            row, column = np.nonzero(mask & (index == k))
            target = places[row, column] - space.starts[k]
            threads = run.threads[row]
            for byte in range(size):
                arrays[k][threads, target + byte] = data[row, column * size + byte]

    return step


@STEPS.on(RootAddress)
def root_address(site: BlockSite, op: RootAddress) -> Step:
    root, r = op.root, site.slot(op.results[0])
    value = np.array([[root.address + op.offset]], np.uint32)

    def step(v: Slots, run: Run) -> None:
        v[r] = value

    return step
