"""The loops of MEDIA_OBJECT_WALKER and the scoreboard.

The loops are those of Intel's public "C for Media CPU Emulation" library, which walks thread spaces
as the hardware does; the parameters of the usual patterns (raster, wavefronts of 26 and 45 degrees
and their kin) are those of Intel's public media driver for VA-API, and the tests run them.

* The *global* outer loop starts at Global Start and steps by Global Outer Loop Stride, Global Loop
  Exec Count + 1 times at most; its inner loop steps by Global Inner Loop Unit.  Both end where the
  block, of Block Resolution, leaves Global Resolution.  A block that sticks out is cut off.
* Inside a block the *local* outer loop starts at Local Start and steps by Local Outer Loop Stride,
  Local Loop Exec Count + 1 times at most; the middle loop takes Middle Loop Extra Steps more, by
  Mid-Loop Unit; the inner loop steps by Local Inner Loop Unit.  All end outside the block.
* Where an outer loop has left on the side that its inner loop comes from, it follows the inner
  steps back in and goes on from there: that turns the corner of a wavefront.  Steps that lead past
  the inside end it: a wavefront of 26 degrees over a single column has one row.
* Each position starts a thread for every color, Color Count Minus One + 1 of them.
* Group ID Loop Select says which loops are inside a thread group: a complete iteration of them is
  one group, with barriers and shared local memory of its own (Intel's public header of Gen9
  commands in the media driver).  It makes the group's number by joining the counts of the outer
  loops, in widths that it does not give; here groups are counted in the order of their start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from eumu.device.commands.gpgpu import MediaVfeState
from eumu.device.commands.media import GroupIdLoopSelect, MediaObjectWalker
from eumu.device.commands.packet import CommandError
from eumu.records import dataclass

Place = tuple[int, int, int]  # x, y, color
Pair = tuple[int, int]
_MOST = 1 << 20  # threads of one command, and blocks
# How many loops from the outermost on are outside a group.
_OUTSIDE = {
    GroupIdLoopSelect.NO_GROUPS: 0,
    GroupIdLoopSelect.COLOR_GROUPS: 5,
    GroupIdLoopSelect.INNERLOCAL_GROUPS: 4,
    GroupIdLoopSelect.MIDLOCAL_GROUPS: 3,
    GroupIdLoopSelect.OUTERLOCAL_GROUPS: 2,
    GroupIdLoopSelect.INNERGLOBAL_GROUPS: 1,
}


@dataclass(frozen=True, slots=True)
class Deltas:
    """Where the threads are that a thread waits for, relative to it."""

    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, vfe: MediaVfeState, mask: int) -> Deltas:
        """Those of MEDIA_VFE_STATE that its mask and the command's have."""
        both = vfe.scoreboard_mask & mask
        names = [f"scoreboard_{k}_delta" for k in range(8) if both >> k & 1]
        return cls(tuple((getattr(vfe, f"{n}_x"), getattr(vfe, f"{n}_y")) for n in names))


def dependencies(places: Sequence[Place], deltas: Deltas) -> tuple[tuple[int, ...], ...]:
    """For each thread the earlier threads that it waits for: same color, at one of the deltas.

    A place whose thread comes later, or never, is not waited for.
    """
    seen: dict[Place, int] = {}
    pairs = []
    for index, (x, y, color) in enumerate(places):
        wanted = ((x + dx, y + dy, color) for dx, dy in deltas.pairs)
        pairs.append(tuple(seen[place] for place in wanted if place in seen))
        seen[x, y, color] = index
    return tuple(pairs)


def positions(command: MediaObjectWalker) -> Iterator[Place]:
    """Coordinates and color of each thread, in dispatch order."""
    return (place for place, _ in walk(command))


def walk(command: MediaObjectWalker) -> Iterator[tuple[Place, int | None]]:
    """Coordinates and color of each thread in dispatch order; its group, or None without groups."""
    count, outside = 0, _OUTSIDE[command.group_id_loop_select]
    numbers: dict[tuple[int, ...], int] = {}
    walks: dict[Pair, tuple[tuple[Pair, Place], ...]] = {}  # inside a block of a size
    for number, (origin, size, around) in enumerate(_blocks(command)):
        if number == _MOST:
            raise CommandError(f"MEDIA_OBJECT_WALKER visits more than {_MOST} blocks", "loops")
        if size not in walks:
            walks[size] = tuple(islice(_local(command, size), _MOST + 1))
        for place, inside in walks[size]:
            group = None
            if outside:
                group = numbers.setdefault((*around, *inside)[:outside], len(numbers))
            for color in range(command.color_count_minus_one + 1):
                count += 1
                if count > _MOST:
                    raise CommandError(
                        f"MEDIA_OBJECT_WALKER starts more than {_MOST} threads", "loops"
                    )
                yield (*_sum(origin, place), color), group


def _blocks(command: MediaObjectWalker) -> Iterator[tuple[Pair, Pair, Pair]]:
    """Origin and size of each block, and the counts of the outer and the inner global loop."""
    block = command.block_resolution_x, command.block_resolution_y
    whole = command.global_resolution_x, command.global_resolution_y
    low = 1 - block[0], 1 - block[1]  # where a block just meets the whole
    outer = _Loop(
        (command.global_start_x, command.global_start_y),
        (command.global_outer_loop_stride_x, command.global_outer_loop_stride_y),
        command.global_loop_exec_count + 1,
        (command.global_inner_loop_unit_x, command.global_inner_loop_unit_y),
    )
    for first, start in enumerate(outer.places(low, whole)):
        for second, (x, y) in enumerate(_line(start, outer.inner, low, whole)):
            width = min(x + block[0], whole[0]) - max(x, 0)
            height = min(y + block[1], whole[1]) - max(y, 0)
            yield (max(x, 0), max(y, 0)), (width, height), (first, second)


def _local(command: MediaObjectWalker, size: Pair) -> Iterator[tuple[Pair, Place]]:
    """Coordinates inside one block, and the counts of the three local loops."""
    outer = _Loop(
        (command.local_start_x, command.local_start_y),
        (command.local_outer_loop_stride_x, command.local_outer_loop_stride_y),
        command.local_loop_exec_count + 1,
        (command.local_inner_loop_unit_x, command.local_inner_loop_unit_y),
    )
    middle = command.mid_loop_unit_x, command.local_mid_loop_unit_y
    for first, start in enumerate(outer.places((0, 0), size)):
        steps = _line(start, middle, (0, 0), size, repeats=True)
        for second, place in enumerate(islice(steps, command.middle_loop_extra_steps + 1)):
            for third, point in enumerate(_line(place, outer.inner, (0, 0), size)):
                yield point, (first, second, third)


@dataclass(frozen=True, slots=True)
class _Loop:
    """An outer loop and the step of the loop inside."""

    start: Pair
    step: Pair
    count: int
    inner: Pair

    def places(self, low: Pair, high: Pair) -> Iterator[Pair]:
        """Where the inner loop starts, each coordinate from `low` to `high` - 1."""
        at = self._back(self.start, low, high)
        for _ in range(self.count):
            if not _inside(at, low, high):
                return
            yield at
            at = self._back(_sum(at, self.step), low, high)

    def _back(self, at: Pair, low: Pair, high: Pair) -> Pair:
        """Follow inner steps from outside, as long as a coordinate comes nearer by them."""
        count = 0
        for x, step, start, end in zip(at, self.inner, low, high, strict=True):
            if step < 0 <= x - end:
                count = max(count, (x - end) // -step + 1)
            elif step > 0 and x < start:
                count = max(count, -((x - start) // step))
        return at[0] + count * self.inner[0], at[1] + count * self.inner[1]


def _line(at: Pair, step: Pair, low: Pair, high: Pair, *, repeats: bool = False) -> Iterator[Pair]:
    """Positions from `at` on while they are inside; a step of nothing is taken if it `repeats`."""
    while _inside(at, low, high):
        yield at
        if step == (0, 0) and not repeats:
            return
        at = _sum(at, step)


def _sum(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def _inside(at: Pair, low: Pair, high: Pair) -> bool:
    return low[0] <= at[0] < high[0] and low[1] <= at[1] < high[1]
