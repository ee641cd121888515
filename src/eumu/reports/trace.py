"""A run as a trace in the Trace Event format, which Chrome and Perfetto show.

Processes are subslices, their threads are hardware threads; a tick (one instruction) is shown as a
microsecond.
"""

from __future__ import annotations

from typing import Any

from eumu.device.dispatch import Placement, Schedule, ThreadSlot
from eumu.device.profile import Profile

Event = dict[str, Any]


def trace(profile: Profile, schedule: Schedule) -> dict[str, Any]:
    """The object to be written as JSON."""
    events: list[Event] = [*_names(schedule)]
    where: dict[int, tuple[Placement, ThreadSlot]] = {}
    per_group = len(schedule.placements[0].slots) if schedule.placements else 1
    for placement in schedule.placements:
        for index, slot in enumerate(placement.slots):
            thread = placement.group * per_group + index
            where[thread] = placement, slot
            events.append(_run(profile, schedule, placement, index))
    for thread, used in profile.barriers:
        placement, slot = where[thread]
        events.append(
            {
                "name": "barrier",
                "ph": "i",
                "s": "t",
                "ts": placement.start + used,
                **_lane(schedule, slot),
            }
        )
    events += _occupied(schedule)
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": _about(profile, schedule)}


def _lane(schedule: Schedule, slot: ThreadSlot) -> Event:
    """Process and thread of a hardware thread."""
    per_eu = schedule.part.threads_per_eu
    return {"pid": slot.unit.subslice, "tid": slot.unit.eu * per_eu + slot.thread}


def _names(schedule: Schedule) -> list[Event]:
    events: list[Event] = []
    part = schedule.part
    for subslice in part.enabled:
        name = {"name": f"subslice {subslice}"}
        events.append({"name": "process_name", "ph": "M", "pid": subslice, "args": name})
        for eu in range(part.eus_per_subslice):
            for thread in range(part.threads_per_eu):
                tid = eu * part.threads_per_eu + thread
                label = {"name": f"EU {eu} thread {thread}"}
                where = {"pid": subslice, "tid": tid}
                events.append({"name": "thread_name", "ph": "M", **where, "args": label})
    return events


def _run(profile: Profile, schedule: Schedule, placement: Placement, index: int) -> Event:
    group = profile.grid.group(placement.group) if profile.grid else (placement.group,)
    return {
        "name": f"group {','.join(map(str, group))} thread {index}",
        "cat": "thread",
        "ph": "X",
        "ts": placement.start,
        "dur": placement.ends[index] - placement.start,
        **_lane(schedule, placement.slots[index]),
        "args": {"pool": placement.pool, "threads of the group": len(placement.slots)},
    }


def _occupied(schedule: Schedule) -> list[Event]:
    """How many hardware threads are busy, over time."""
    changes: dict[int, int] = {}
    for placement in schedule.placements:
        changes[placement.start] = changes.get(placement.start, 0) + len(placement.ends)
        for end in placement.ends:
            changes[end] = changes.get(end, 0) - 1
    busy, events = 0, []
    for tick in sorted(changes):
        busy += changes[tick]
        counter = {"busy": busy}
        events.append(
            {"name": "hardware threads", "ph": "C", "ts": tick, "pid": 0, "args": counter}
        )
    return events


def _about(profile: Profile, schedule: Schedule) -> dict[str, str]:
    kernel = profile.grid.function.name if profile.grid else ""
    return {"kernel": kernel, "part": schedule.part.name, "tick": "one instruction"}
