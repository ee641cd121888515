"""Thread groups of MEDIA_OBJECT_WALKER: Group ID Loop Select, barriers, shared local memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eumu import native
from eumu.device.commands import Command, CommandError, Packet, gpgpu, media, mi, render
from eumu.device.commands.media import GroupIdLoopSelect
from eumu.runtime.batches import CommandQueue
from runtime.test_batches import Driver

ENGINES = ("interp", "jit")


def descriptor(kind: int, control: int, response: int, length: int, table: int = 0xFF) -> str:
    return f"{table | control << 8 | kind << 14 | response << 20 | length << 25:#x}"


FLAT_INCREMENT = 5 | 1 << 5  # the old value comes back
INCREMENT = FLAT_INCREMENT | 1 << 4  # of eight lanes
ONE_CHANNEL = 0xE | 2 << 4
# Each thread takes a number in its group's memory, waits for the others if there is a barrier,
# reads how many there are, and takes a record of a list: coordinates, color, number, size, group.
TEXT = f"""\
(W) mov (8|M0) r40.0<1>:ud 0:ud
(W) send (1|M0) r41:ud r40 0xC {descriptor(0x2, INCREMENT, 1, 1, 0xFE)}
{{barrier}}
(W) send (8|M0) r42:ud r40 0xC {descriptor(0x1, ONE_CHANNEL, 1, 1, 0xFE)}
(W) mov (4|M0) r10.0<1>:uq r1.0<0;1,0>:uq
(W) mov (4|M0) r11.0<1>:uq r1.0<0;1,0>:uq
(W) send (1|M0) r20:ud r10 0xC {descriptor(0x12, FLAT_INCREMENT, 1, 2)}
(W) shl (1|M0) r20.0<1>:ud r20.0<0;1,0>:ud 5:uw
(W) mov (1|M0) r21.0<1>:uq r20.0<0;1,0>:ud
(W) add (1|M0) r21.0<1>:uq r21.0<0;1,0>:uq r1.0<0;1,0>:uq
"""
FIELDS = ("r0.1", "r0.2", "r41.0", "r42.0", "r0.6")
STORE = f"""\
(W) add (4|M0) r30.0<1>:uq r21.0<0;1,0>:uq {{offset}}:uw
(W) mov (4|M0) r31.0<1>:uq r30.0<4;4,1>:uq
(W) mov (8|M0) r32.0<1>:ud {{source}}<0;1,0>:ud
(W) send (1|M0) null:ud r30 0xC {descriptor(0x19, ONE_CHANNEL, 0, 3)}
"""
BARRIER = """\
(W) mov (8|M0) r50.0<1>:ud 0:ud
(W) and (1|M0) r50.2<1>:ud r0.2<0;1,0>:ud 0x8F000000:ud
(W) send (1|M0) null:ud r50 0x3 0x2000004
wait n0.0<0;1,0>:ud
"""
END = "(W) send (8|M0) null r127 0x27 0x02000010 {EOT}\n"


class Walk:
    """A walker's batch, and the list that its threads write."""

    def __init__(self, engine: str, *, barrier: bool, **fields: Any) -> None:
        self.driver = Driver("apl", engine)
        self.queue: CommandQueue = self.driver.queue
        self.list = self.driver.device.array(np.zeros(1024, np.uint32))
        text = TEXT.replace("{barrier}\n", BARRIER if barrier else "")
        for k, source in enumerate(FIELDS):
            text += STORE.format(offset=64 + 4 * k, source=source)
        code = self.driver.place(native.encode(native.parse(text + END)), "code")
        fields = {"barrier_enable": barrier, **fields}
        data = gpgpu.InterfaceDescriptorData(constant_urb_entry_read_length=1, **fields)
        constants = np.array([self.list.address], np.uint64).tobytes().ljust(32, b"\0")
        dynamic = self.driver.place(data.encode().ljust(64, b"\0") + constants, "dynamic")
        self.start: list[Command] = [
            mi.MiArbOnOff(arbitration_enable=False),
            render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection.MEDIA),
            render.StateBaseAddress(
                dynamic_state_base_address=dynamic,
                dynamic_state_base_address_modify_enable=True,
                instruction_base_address=code,
                instruction_base_address_modify_enable=True,
            ),
            render.PipeControl(state_cache_invalidation_enable=True),
            gpgpu.MediaVfeState(
                maximum_number_of_threads=35,
                curbe_allocation_size=1,
                urb_entry_allocation_size=2,
                scoreboard_enable=True,
                scoreboard_mask=3,
                scoreboard_0_delta_x=-1,
                scoreboard_1_delta_y=-1,
            ),
            gpgpu.MediaCurbeLoad(curbe_total_data_length=32, curbe_data_start_address=64),
            gpgpu.MediaInterfaceDescriptorLoad(interface_descriptor_total_length=32),
        ]

    def run(self, command: Command | Packet) -> Any:
        """Records [threads, 7]: x, y, color, number in the group, size seen, group."""
        self.report = self.queue.submit(self.driver.batch(*self.start, command))
        words = self.list.numpy()
        rows = words[16 : 16 + 8 * words[0]].reshape(-1, 8)
        x, y, color = rows[:, 0] & 0xFFFF, rows[:, 0] >> 16, rows[:, 1] >> 16
        return np.stack([x, y, color, rows[:, 2], rows[:, 3], rows[:, 4]], 1)


SLM = {"shared_local_memory_size": gpgpu.SharedLocalMemorySize.SLM_1K}
# Two blocks of 4 x 2, two colors, side by side; and two more below.
LOOPS = media.MediaObjectWalker(
    block_resolution_x=4,
    block_resolution_y=2,
    global_resolution_x=8,
    global_resolution_y=4,
    local_loop_exec_count=1,
    local_outer_loop_stride_y=1,
    local_inner_loop_unit_x=1,
    global_loop_exec_count=1,
    global_outer_loop_stride_y=2,
    global_inner_loop_unit_x=4,
    color_count_minus_one=1,
)
# Threads of a group, and the coordinates by which one is told from another.
GROUPS = {
    GroupIdLoopSelect.COLOR_GROUPS: (2, lambda x, y: (x, y)),
    GroupIdLoopSelect.INNERLOCAL_GROUPS: (8, lambda x, y: (x // 4, y)),
    GroupIdLoopSelect.MIDLOCAL_GROUPS: (8, lambda x, y: (x // 4, y)),  # one middle step
    GroupIdLoopSelect.OUTERLOCAL_GROUPS: (16, lambda x, y: (x // 4, y // 2)),
    GroupIdLoopSelect.INNERGLOBAL_GROUPS: (32, lambda x, y: y // 2),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("select", GROUPS, ids=lambda s: s.name)
def test_a_complete_iteration_of_the_inner_loops_is_a_group(
    engine: str, select: GroupIdLoopSelect
) -> None:
    size, key = GROUPS[select]
    walk = Walk(engine, barrier=True, number_of_threads_in_gpgpu_thread_group=size, **SLM)
    rows = walk.run(replace(LOOPS, group_id_loop_select=select))
    assert len(rows) == 64 and len(np.unique(rows[:, :3], axis=0)) == 64
    groups: dict[Any, list[Any]] = {}
    for row in rows:
        groups.setdefault(key(int(row[0]), int(row[1])), []).append(row)
    assert len(groups) == 64 // size
    for members in groups.values():
        assert len({int(m[5]) for m in members}) == 1  # one group id
        assert sorted(m[3] for m in members) == list(range(size))  # one memory, zero at first
        assert {int(m[4]) for m in members} == {size}  # all have come before anybody goes on
    assert len({int(m[0][5]) for m in groups.values()}) == len(groups)


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_wait_for_groups(engine: str) -> None:
    """The scoreboard between groups: rows of a block, each after the one above."""
    walk = Walk(engine, barrier=False, **SLM)
    select = GroupIdLoopSelect.COLOR_GROUPS
    waits = replace(LOOPS, group_id_loop_select=select, use_scoreboard=True, scoreboard_mask=2)
    rows = walk.run(waits)
    assert len(rows) == 64
    assert [{t.y for t in wave} for wave in walk.report.waves] == [{0}, {1}, {2}, {3}]
    within = replace(
        waits, group_id_loop_select=GroupIdLoopSelect.INNERLOCAL_GROUPS, scoreboard_mask=1
    )
    with pytest.raises(CommandError, match="wait for one of its own thread group"):
        walk.run(within)


def test_what_groups_must_keep() -> None:
    with pytest.raises(CommandError, match=r"groups of 8 threads; .* says: 7"):
        Walk("interp", barrier=True, number_of_threads_in_gpgpu_thread_group=7).run(
            replace(LOOPS, group_id_loop_select=GroupIdLoopSelect.INNERLOCAL_GROUPS)
        )
    with pytest.raises(CommandError, match=r"groups of 4, 8 threads; .* says: 8"):
        Walk("interp", barrier=True, number_of_threads_in_gpgpu_thread_group=8).run(
            replace(
                LOOPS,
                global_resolution_x=6,
                group_id_loop_select=GroupIdLoopSelect.INNERLOCAL_GROUPS,
            )
        )
    for fields in (SLM, {"global_barrier_enable": True}):
        with pytest.raises(CommandError, match="its threads have no group"):
            Walk("interp", barrier=False, **fields).run(LOOPS)
    with pytest.raises(CommandError, match="MEDIA_VFE_STATE lets 36 run at once"):
        Walk("interp", barrier=False, **SLM).run(
            replace(
                LOOPS,
                group_id_loop_select=GroupIdLoopSelect.INNERGLOBAL_GROUPS,
                color_count_minus_one=2,
            )
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_barriers_that_the_descriptor_does_not_enable(engine: str) -> None:
    """Each thread meets itself alone: on hardware nobody would have counted it."""
    groups = replace(LOOPS, group_id_loop_select=GroupIdLoopSelect.INNERLOCAL_GROUPS)
    for enable, codes in ((True, []), (False, ["barrier-not-enabled"])):
        fields: dict[str, Any] = {"number_of_threads_in_gpgpu_thread_group": 8, **SLM}
        walk = Walk(engine, barrier=True, **{"barrier_enable": enable, **fields})
        assert len(walk.run(groups)) == 64
        assert [f.code for f in walk.report.findings] == codes
        assert all("Barrier Enable" in f.message for f in walk.report.findings)
    walk = Walk(engine, barrier=False, **SLM)
    assert len(walk.run(groups)) == 64 and walk.report.findings == []


@pytest.mark.parametrize("disable", gpgpu.SliceDisable, ids=lambda d: d.name)
@pytest.mark.parametrize("subslice", range(4))
def test_a_destination_that_is_disabled(disable: gpgpu.SliceDisable, subslice: int) -> None:
    """Force Destination of a thread where Slice Disable lets none run."""
    walk = Walk("interp", barrier=False, **SLM)
    walk.start = [
        replace(c, slice_disable=disable) if isinstance(c, gpgpu.MediaVfeState) else c
        for c in walk.start
    ]
    thread = media.MediaObjectGrpid(
        end_of_thread_group=True,
        force_destination=True,
        subslice_destination_select=media.SubsliceDestinationSelect(subslice),
    )
    only_first = disable is gpgpu.SliceDisable.ONLY_SLICE_0_SUBSLICE_0_ENABLED
    if subslice == 3 or (subslice and only_first):
        with pytest.raises(CommandError, match=f"Subslice Destination Select is {subslice}") as e:
            walk.run(thread)
        assert ("Slice Disable" in str(e.value)) == bool(only_first)
    else:
        assert len(walk.run(thread)) == 1
