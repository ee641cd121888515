"""The loops of MEDIA_OBJECT_WALKER and the scoreboard.

The field names are public, the loops' exact rules are not.  This is the reading here, which gives
the raster and wavefront orders that video drivers program:

* a *global* outer loop starts at Global Start and steps by Global Outer Loop Stride; its inner loop
  steps by Global Inner Loop Unit while the position lies inside Global Resolution.  Each position
  is the origin of a block of Block Resolution, cut off at the global edge;
* inside a block the *local* outer loop runs Local Loop Exec Count + 1 times, from Local Start by
  Local Outer Loop Stride; the middle loop 1 + Middle Loop Extra Steps times by Mid-Loop Unit; the
  inner loop by Local Inner Loop Unit as long as it can still meet the block.  Positions outside the
  block start no thread;
* each position starts a thread for every color, Color Count Minus One + 1 of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eumu.device.commands.gpgpu import MediaVfeState
from eumu.device.commands.media import MediaObjectWalker
from eumu.device.commands.packet import CommandError

__all__ = ["Deltas", "dependencies", "positions"]

Place = tuple[int, int, int]  # x, y, color
Pair = tuple[int, int]
_MOST = 1 << 20  # threads of one command


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
    found = []
    for index, (x, y, color) in enumerate(places):
        wanted = ((x + dx, y + dy, color) for dx, dy in deltas.pairs)
        found.append(tuple(seen[place] for place in wanted if place in seen))
        seen[x, y, color] = index
    return tuple(found)


def positions(command: MediaObjectWalker) -> Iterator[Place]:
    """Coordinates and color of each thread, in dispatch order."""
    count = 0
    for origin in _blocks(command):
        for place in _local(command, origin):
            for color in range(command.color_count_minus_one + 1):
                count += 1
                if count > _MOST:
                    raise CommandError(
                        f"MEDIA_OBJECT_WALKER starts more than {_MOST} threads", "loops"
                    )
                yield *place, color


def _blocks(command: MediaObjectWalker) -> Iterator[Pair]:
    """Origins of the blocks."""
    width, height = command.global_resolution_x, command.global_resolution_y
    step = command.global_inner_loop_unit_x, command.global_inner_loop_unit_y
    for outer in range(command.global_loop_exec_count + 1):
        x = command.global_start_x + outer * command.global_outer_loop_stride_x
        y = command.global_start_y + outer * command.global_outer_loop_stride_y
        while 0 <= x < width and 0 <= y < height:
            yield x, y
            if step == (0, 0):
                break
            x, y = x + step[0], y + step[1]


def _local(command: MediaObjectWalker, origin: Pair) -> Iterator[Pair]:
    """Coordinates inside one block."""
    width = min(command.block_resolution_x, command.global_resolution_x - origin[0])
    height = min(command.block_resolution_y, command.global_resolution_y - origin[1])
    step = command.local_inner_loop_unit_x, command.local_inner_loop_unit_y
    for outer in range(command.local_loop_exec_count + 1):
        for middle in range(command.middle_loop_extra_steps + 1):
            x = command.local_start_x + outer * command.local_outer_loop_stride_x
            y = command.local_start_y + outer * command.local_outer_loop_stride_y
            x += middle * command.mid_loop_unit_x
            y += middle * command.local_mid_loop_unit_y
            while _can_meet(x, step[0], width) and _can_meet(y, step[1], height):
                if 0 <= x < width and 0 <= y < height:
                    yield origin[0] + x, origin[1] + y
                if step == (0, 0):
                    break
                x, y = x + step[0], y + step[1]


def _can_meet(at: int, step: int, size: int) -> bool:
    """Whether a coordinate is inside 0 … size-1 or on its way there."""
    if at < 0:
        return step > 0
    return at < size or step < 0
