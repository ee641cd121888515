"""Batches run from device memory with the native code that lies there, as a driver submits them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import eumu
from eumu import native, zebin
from eumu.device.chip import HostClock
from eumu.device.commands import (
    Command,
    CommandError,
    Packet,
    Stop,
    encode,
    gpgpu,
    media,
    mi,
    packets,
    render,
)
from eumu.errors import EumuError, LaunchError
from eumu.exec.state import thread_payloads
from eumu.ir.operations.messages import Send
from eumu.runtime.batches import BatchReport, CommandQueue
from eumu.runtime.job_surfaces import used_surfaces
from kernels.build import PROGRAMS


def native_code(program: str, kernel: str, device: str) -> bytes:
    elf = next(p for p in PROGRAMS if p.name == program).elf(device)
    found = zebin.read(elf.read_bytes(), program)
    return next(k.text for k in found.kernels if k.name == kernel)


class Driver:
    """Puts things into a device's memory and runs batches of them."""

    def __init__(self, device: str, engine: str | None = None) -> None:
        self.device = eumu.Device(device, engine)
        self.queue = CommandQueue(self.device)
        self.kept: list[Any] = []  # arrays live as long as this

    def place(self, data: bytes, name: str) -> int:
        memory = self.device.memory
        allocation = memory.allocate(max(4096, -(-len(data) // 4096) * 4096), name)
        memory.view(allocation)[: len(data)] = list(data)
        return allocation.start

    def batch(self, *commands: Command | Packet) -> int:
        return self.place(encode([*commands, mi.MiBatchBufferEnd()]), "a batch")


def with_native_code(launch: Any, driver: Driver, code: bytes) -> int:
    """A submission's batch whose Kernel Start Pointer leads to native code."""
    base = driver.place(code, "native code")
    changed = []
    for placed in packets(launch.bytes):
        command = placed.packet.command
        if isinstance(command, render.StateBaseAddress):
            command = replace(command, instruction_base_address=base)
        changed.append(Packet(command, placed.packet.inline))
    return driver.place(encode(changed), "a batch")


def saxpy(driver: Driver, n: int = 256, group: int = 64) -> tuple[Any, Any, Callable[[], Any]]:
    x = driver.device.array(np.arange(n, dtype=np.float32))
    driver.kept.append(x)
    y = driver.device.array(np.ones(n, np.float32))
    name = driver.device.platform.ocloc
    kernel = eumu.load(next(p for p in PROGRAMS if p.name == "saxpy").elf(name))["saxpy"]
    return x, y, lambda: kernel.submit(driver.device, (n,), (group,), [x, y, 2.0], level="native")


@pytest.mark.parametrize(("device", "engine"), [("apl", "interp"), ("apl", "jit"), ("skl", "jit")])
@pytest.mark.parametrize("n", [256, 200])
def test_a_walker_runs_the_code_in_memory(device: str, engine: str, n: int) -> None:
    """With 200, threads whose lanes are those of an execution mask."""
    driver = Driver(device, engine)
    _, y, submit = saxpy(driver, n, 50 if n == 200 else 64)
    launch = submit()
    address = with_native_code(launch, driver, native_code("saxpy", "saxpy", device))
    report = driver.queue.submit(address)
    assert (report.stop, report.commands, report.findings) == (Stop.END, ["GPGPU_WALKER"], [])
    assert report.groups == 4 and report.engines == {engine}
    assert (y.numpy() == 1 + 2 * np.arange(n)).all()


def test_barriers_and_shared_local_memory() -> None:
    driver = Driver("apl")
    x = driver.device.array(np.ones(512, np.float32))
    out = driver.device.array(np.zeros(4, np.float32))
    elf = next(p for p in PROGRAMS if p.name == "reduce").elf("apl")
    kernel = eumu.load(elf)["reduce"]
    arguments = [x, out, eumu.Local(512)]
    launch = kernel.submit(driver.device, (512,), (128,), arguments, level="native")
    address = with_native_code(launch, driver, native_code("reduce", "reduce", "apl"))
    driver.queue.submit(address)
    assert (out.numpy() == 128).all()


def test_a_submission_runs_as_its_kernel() -> None:
    driver = Driver("skl")
    _, y, submit = saxpy(driver)
    launch = submit()
    assert driver.queue.submit(launch.batch).groups == 4
    assert (y.numpy() == 1 + 2 * np.arange(256)).all()


def test_walkers_may_start_anywhere() -> None:
    """Groups 1 and 2 of four: Thread Group ID Starting X."""
    driver = Driver("apl")
    _, y, submit = saxpy(driver)
    launch = submit()
    first = with_native_code(launch, driver, native_code("saxpy", "saxpy", "apl"))
    changed = []
    for placed in packets(driver.queue._bus.read(first, launch.size, "a test")):
        command = placed.packet.command
        if isinstance(command, gpgpu.GpgpuWalker):
            command = replace(command, thread_group_id_starting_x=1, thread_group_id_x_dimension=3)
        changed.append(Packet(command, placed.packet.inline))
    report = driver.queue.submit(driver.place(encode(changed), "a batch"))
    assert report.groups == 2 and len(report.kernels) == 1
    middle = (np.arange(256) >= 64) & (np.arange(256) < 192)
    assert (y.numpy() == 1 + 2 * np.arange(256) * middle).all()


# Constants of all threads are in r2: where the kernel may write.
END = "(W) send (8|M0) null r127 0x27 0x02000010 {EOT}\n"
STATELESS = {
    "without a header": """
        (W) mov (1|M0) r4.0<1>:ud r2.0<0;1,0>:ud
        (W) mov (1|M0) r5.0<1>:ud 0x11:ud
        (W) sends (1|M0) null:ud r4 r5 0x4A 0x020308FF
    """,
    "a block": """
        (W) mov (8|M0) r4.0<1>:ud r0.0<8;8,1>:ud
        (W) and (1|M0) r4.5<1>:ud r0.5<0;1,0>:ud 0x3FF:ud
        (W) shr (1|M0) r4.2<1>:ud r2.0<0;1,0>:ud 4:w
        (W) mov (8|M0) r5.0<1>:ud 0x11:ud
        (W) sends (8|M0) null:uw r4 r5 0x4A 0x020A00FF
    """,
    "scratch space": """
        (W) mov (8|M0) r4.0<1>:ud r0.0<8;8,1>:ud
        (W) mov (1|M0) r4.2<1>:ud 4:ud
        (W) mov (8|M0) r5.0<1>:ud 0x11:ud
        (W) sends (8|M0) null:uw r4 r5 0x4A 0x020A00FF
        (W) send (16|M0) r6:w r0 0xA 0x021C0002
        (W) mov (1|M0) r8.0<1>:ud r2.0<0;1,0>:ud
        (W) mov (1|M0) r9.0<1>:ud r6.0<0;1,0>:ud
        (W) sends (1|M0) null:ud r8 r9 0x4A 0x020308FF
    """,
    "scratch space without a header": """
        (W) and (1|M0) r4.0<1>:ud r0.5<0;1,0>:ud -1024:w
        (W) add (1|M0) r4.0<1>:ud r4.0<0;1,0>:ud 0x40:w
        (W) mov (1|M0) r5.0<1>:ud 0x11:ud
        (W) sends (1|M0) null:ud r4 r5 0x4A 0x020308FF
        (W) send (16|M0) r6:w r0 0xA 0x021C0002
        (W) mov (1|M0) r8.0<1>:ud r2.0<0;1,0>:ud
        (W) mov (1|M0) r9.0<1>:ud r6.0<0;1,0>:ud
        (W) sends (1|M0) null:ud r8 r9 0x4A 0x020308FF
    """,
}


def run_code(driver: Driver, text: str) -> tuple[Any, BatchReport]:
    """Run a thread; the 4 bytes that it is to write, and the report."""
    code = native.encode(native.parse(text + END))
    heap = driver.place(bytes(code), "code")
    allocation = driver.device.memory.allocate(1 << 16, "state and data")
    state, view = allocation.start, driver.device.memory.view(allocation)
    general, target = state - 0x3000, state + 0x4000
    curbe = struct.pack("<I", target - general).ljust(64, b"\0")
    descriptor = gpgpu.InterfaceDescriptorData(
        constant_urb_entry_read_length=1,
        cross_thread_constant_data_read_length=1,
        number_of_threads_in_gpgpu_thread_group=1,
    )
    data = curbe + descriptor.encode()
    view[: len(data)] = list(data)
    commands = [
        render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection.GPGPU),
        render.StateBaseAddress(
            general_state_base_address=general,
            general_state_base_address_modify_enable=True,
            dynamic_state_base_address=state,
            dynamic_state_base_address_modify_enable=True,
            instruction_base_address=heap,
            instruction_base_address_modify_enable=True,
        ),
        gpgpu.MediaVfeState(
            maximum_number_of_threads=40,
            curbe_allocation_size=8,
            scratch_space_base_pointer=0x8000,
            per_thread_scratch_space=1,
        ),
        gpgpu.MediaCurbeLoad(curbe_total_data_length=64, curbe_data_start_address=0),
        gpgpu.MediaInterfaceDescriptorLoad(
            interface_descriptor_total_length=32, interface_descriptor_data_start_address=64
        ),
        gpgpu.GpgpuWalker(
            thread_group_id_x_dimension=1,
            thread_group_id_y_dimension=1,
            thread_group_id_z_dimension=1,
            right_execution_mask=1,
            bottom_execution_mask=1,
        ),
    ]
    report = driver.queue.submit(driver.batch(*commands))
    return view[0x4000:0x4004], report


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("case", STATELESS)
def test_stateless_addresses_of_32_bits(engine: str, case: str) -> None:
    """They count from General State Base Address; with r0.5 of the thread, which is in the header
    or was added to them, from its scratch space there, which scratch block messages reach, too."""
    written, report = run_code(Driver("apl", engine), STATELESS[case])
    assert bytes(written) == struct.pack("<I", 0x11) and not report.undefined


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_device_that_checks_finds_undefined_values(engine: str) -> None:
    driver = Driver("apl", engine)
    driver.device.check = True
    text = STATELESS["without a header"]
    assert not run_code(driver, text)[1].undefined
    (found,) = run_code(driver, text.replace("0x11:ud", "r40.0<0;1,0>:ud"))[1].undefined
    assert found.code == "undefined" and found.span is not None and found.span.line == 3


def media_start(driver: Driver, group: int = 64) -> tuple[Any, list[Command]]:
    """Saxpy's native code as a kernel of media threads: its payload is the CURBE, and the group id
    that it reads from r0.1 is the thread's coordinate."""
    _, y, submit = saxpy(driver, 4 * group, group)
    grid = submit().grid()
    row = thread_payloads(replace(grid, group_count=(1, 1, 1)), 0, 1)[0].tobytes()[32:]
    row += bytes(-len(row) % 32)
    code = driver.place(native_code("saxpy", "saxpy", driver.device.platform.ocloc), "native code")
    surfaces = next(
        p.packet.command.surface_state_base_address  # type: ignore[attr-defined]
        for p in packets(submit().bytes)
        if p.title == "STATE_BASE_ADDRESS"
    )
    descriptor = gpgpu.InterfaceDescriptorData(constant_urb_entry_read_length=len(row) // 32)
    dynamic = driver.place(descriptor.encode().ljust(64, b"\0") + row, "the dynamic state")
    start = [
        mi.MiArbOnOff(arbitration_enable=False),
        render.PipelineSelect(mask_bits=3, pipeline_selection=render.PipelineSelection.MEDIA),
        render.StateBaseAddress(
            surface_state_base_address=surfaces,
            surface_state_base_address_modify_enable=True,
            dynamic_state_base_address=dynamic,
            dynamic_state_base_address_modify_enable=True,
            instruction_base_address=code,
            instruction_base_address_modify_enable=True,
        ),
        render.PipeControl(state_cache_invalidation_enable=True),
        gpgpu.MediaVfeState(
            maximum_number_of_threads=10,
            urb_entry_allocation_size=2,
            curbe_allocation_size=len(row) // 32,
        ),
        gpgpu.MediaCurbeLoad(curbe_total_data_length=len(row), curbe_data_start_address=64),
        gpgpu.MediaInterfaceDescriptorLoad(interface_descriptor_total_length=32),
    ]
    return y, start


def test_media_objects_run() -> None:
    driver = Driver("apl")
    y, start = media_start(driver, group=32)
    objects = [media.MediaObject(scoreboard_x=x) for x in (0, 2)]
    report = driver.queue.submit(driver.batch(*start, *objects))
    assert report.commands == ["MEDIA_OBJECT"] * 2 and report.threads == 2
    chosen = (np.arange(128) // 32) % 2 == 0
    assert (y.numpy() == 1 + 2 * np.arange(128) * chosen).all()


def test_media_walkers_run() -> None:
    driver = Driver("apl")
    y, start = media_start(driver, group=32)
    walker = media.MediaObjectWalker(
        **{"block_resolution_x": 3, "block_resolution_y": 1},
        **{"global_resolution_x": 3, "global_resolution_y": 1},
        **{"local_inner_loop_unit_x": 1, "global_inner_loop_unit_x": 3},
    )
    report = driver.queue.submit(driver.batch(*start, walker))
    assert report.threads == 3
    assert (y.numpy() == 1 + 2 * np.arange(128) * (np.arange(128) < 96)).all()


def test_a_context_lasts_from_batch_to_batch() -> None:
    driver = Driver("apl")
    y, start = media_start(driver, group=32)
    driver.queue.submit(driver.batch(*start))
    driver.queue.submit(driver.batch(media.MediaObject(scoreboard_x=1)))
    assert (y.numpy()[32:64] == 1 + 2 * np.arange(32, 64)).all()


def test_preemption_and_semaphores_between_launches() -> None:
    driver = Driver("apl")
    _, y, submit = saxpy(driver)
    walker = [p.packet for p in packets(submit().bytes)][:-1]
    place = driver.place(bytes(16), "a semaphore")
    wait = mi.MiSemaphoreWait(
        semaphore_address=place,
        semaphore_data_dword=1,
        compare_operation=mi.CompareOperation.SAD_EQUAL_SDD,
    )
    address = driver.batch(wait, *walker, mi.MiArbCheck(), *walker)
    assert driver.queue.submit(address).stop is Stop.SEMAPHORE
    assert (y.numpy() == 1).all()
    driver.device.memory.arena[place - driver.device.memory.base] = 1
    driver.queue.preempt()
    assert driver.queue.resume().stop is Stop.PREEMPTED
    assert driver.queue.resume().stop is Stop.END
    assert (y.numpy() == 1 + 4 * np.arange(256)).all()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [(0x1000, "Kernel Start Pointer leads to"), (None, "only zeros")],
)
def test_pointers_to_no_code(kernel: int | None, message: str) -> None:
    driver = Driver("apl")
    _, start = media_start(driver)
    base = driver.place(b"", "zeros") if kernel is None else kernel
    start[2] = replace(start[2], instruction_base_address=base)  # type: ignore[call-arg]
    with pytest.raises(CommandError, match=message):
        driver.queue.submit(driver.batch(*start, media.MediaObject()))


def test_damaged_code_gives_errors_only() -> None:
    """Bits of the code change; the run ends, or says what is wrong."""
    rng = np.random.default_rng(3)
    code = native_code("saxpy", "saxpy", "apl")
    ended = 0
    for _ in range(25):
        driver = Driver("apl", "interp")  # what to compile differs every time
        kept, start = media_start(driver, group=32)
        damaged = bytearray(code)
        for _ in range(2):
            damaged[rng.integers(len(code))] ^= 1 << int(rng.integers(8))
        base = driver.place(bytes(damaged), "damaged code")
        start[2] = replace(start[2], instruction_base_address=base)  # type: ignore[call-arg]
        try:
            driver.queue.submit(driver.batch(*start, media.MediaObject()))
            ended += 1
        except EumuError as error:
            assert str(error)
        assert not kept.is_freed
    assert ended


def test_other_platforms() -> None:
    with pytest.raises(LaunchError, match="Gen9"):
        CommandQueue(eumu.Device("pvc"))


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("count", [0, 3])
def test_an_indirect_walker_runs_the_groups_of_the_registers(
    engine: str, native: bool, count: int
) -> None:
    """A number in memory, loaded into the dispatch registers, with times before and behind."""
    driver = Driver("apl", engine)
    _, y, submit = saxpy(driver)
    launch = submit()
    batch = launch.batch
    if native:
        batch = with_native_code(launch, driver, native_code("saxpy", "saxpy", "apl"))
    numbers = driver.device.array(np.array([count, 1, 1], np.uint32))
    times = driver.device.array(np.zeros(2, np.uint64))
    changed: list[Command | Packet] = [
        mi.MiLoadRegisterMem(
            register_address=0x2500 + 4 * k, memory_address=numbers.address + 4 * k
        )
        for k in range(3)
    ]
    for placed in packets(driver.queue._bus.read(batch, launch.size, "a test")):
        command = placed.packet.command
        if isinstance(command, gpgpu.GpgpuWalker):
            command = replace(
                command, indirect_parameter_enable=True, thread_group_id_x_dimension=99
            )
            changed += [timestamp(times.address), command, timestamp(times.address + 8)]
        else:
            changed.append(command)
    report = driver.queue.submit(driver.place(encode(changed), "a batch"))
    assert report.groups == count
    assert (y.numpy() == 1 + 2 * np.arange(256) * (np.arange(256) < 64 * count)).all()
    before, behind = (int(t) for t in times.numpy())
    assert behind - before == report.instructions + 2


def timestamp(address: int) -> render.PipeControl:
    return render.PipeControl(
        command_streamer_stall_enable=True,
        post_sync_operation=render.PostSyncOperation.WRITE_TIMESTAMP,
        address=address,
    )


def test_a_device_can_read_the_hosts_clock() -> None:
    driver = Driver("apl")
    frequency = driver.device.part.timestamp_hz
    assert frequency == 19_200_000
    driver.device.clock = HostClock(frequency)
    times = driver.device.array(np.zeros(2, np.uint64))
    driver.queue.submit(driver.batch(timestamp(times.address), timestamp(times.address + 8)))
    before, behind = times.numpy()
    assert 0 < before <= behind < 1 << 36


def changed_walkers(driver: Driver, launch: Any, address: int, **fields: Any) -> int:
    """A copy of a batch whose walkers have other fields."""
    commands = []
    for placed in packets(driver.queue._bus.read(address, launch.size, "a test")):
        command = placed.packet.command
        if isinstance(command, gpgpu.GpgpuWalker):
            command = replace(command, **fields)
        commands.append(Packet(command, placed.packet.inline))
    return driver.place(encode(commands), "a batch")


def test_code_does_not_depend_on_where_tables_are() -> None:
    """A driver has its tables elsewhere for each launch: nothing is compiled again."""
    driver = Driver("apl", "jit")
    _, y, submit = saxpy(driver)
    code = native_code("saxpy", "saxpy", "apl")
    engine = None
    for _ in range(3):
        launch = submit()
        driver.kept.append(launch)  # so that the next one lies elsewhere
        address = with_native_code(launch, driver, code)
        driver.queue.submit(address)
        engine = engine or driver.device._get("jit")
        assert len(engine._kernels) == 1  # type: ignore[attr-defined]
    assert (y.numpy() == 1 + 6 * np.arange(256)).all()


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_local_ids_in_another_order(engine: str) -> None:
    """Drivers number work items in tiles, for kernels with images: what commands say counts."""
    driver = Driver("apl", engine)
    _, y, submit = saxpy(driver)
    launch = submit()
    address = with_native_code(launch, driver, native_code("saxpy", "saxpy", "apl"))
    order = np.random.default_rng(1).permutation(64).astype(np.uint16)
    found = driver.queue._streamer.dispatch
    jobs: list[Any] = []

    def shuffled(job: Any) -> bool:
        rows = order.reshape(job.threads, job.simd)
        pieces = [bytearray(piece) for piece in job.per_thread]
        for piece, row in zip(pieces, rows, strict=True):
            piece[: 2 * job.simd] = row.tobytes()
        jobs.append(replace(job, per_thread=tuple(map(bytes, pieces))))
        return found(jobs[-1])

    driver.queue._streamer.dispatch = shuffled
    driver.queue.submit(address)
    assert (y.numpy() == 1 + 2 * np.arange(256)).all()
    assert driver.queue._walker(jobs[0]).payload.pieces == jobs[0].per_thread


def test_more_threads_than_payloads_could_be_kept_of() -> None:
    driver = Driver("apl", "jit")
    n = 1 << 22
    _, y, submit = saxpy(driver, n, 32)
    launch = submit()
    report = driver.queue.submit(
        with_native_code(launch, driver, native_code("saxpy", "saxpy", "apl"))
    )
    assert report.threads > 1 << 16
    assert (y.numpy() == 1 + 2 * np.arange(n, dtype=np.float32)).all()


def test_what_is_behind_a_fault_writes_its_results() -> None:
    """A driver that waits for a batch looks at memory, also after a fault."""
    driver = Driver("apl")
    _, y, submit = saxpy(driver)
    launch = submit()
    first = with_native_code(launch, driver, bytes(64))
    tag = driver.device.array(np.zeros(1, np.uint32))
    commands = [
        Packet(p.packet.command, p.packet.inline)
        for p in packets(driver.queue._bus.read(first, launch.size, "a test"))
        if not isinstance(p.packet.command, mi.MiBatchBufferEnd)
    ]
    store = mi.MiStoreDataImm(address=tag.address, immediate_data=7)
    with pytest.raises(CommandError, match="only zeros"):
        driver.queue.submit(driver.batch(*commands, store))
    assert driver.queue.abandon().stop is Stop.END
    assert tag.numpy()[0] == 7 and (y.numpy() == 1).all()


def test_a_queue_keeps_the_code_it_ran_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more of it than a limit, however many kernels a queue sees."""
    monkeypatch.setattr("eumu.runtime.native_code._MOST_FUNCTIONS", 2)
    driver = Driver("apl")
    code = driver.place(native_code("saxpy", "saxpy", "apl"), "native code")
    first, second = (driver.queue._code.function(code, 16, payload) for payload in (96, 128))
    assert driver.queue._code.function(code, 16, 96) is first
    driver.queue._code.function(code, 16, 160)
    assert driver.queue._code.function(code, 16, 96) is first
    assert driver.queue._code.function(code, 16, 128) is not second
    assert len(driver.queue._code._functions) == 2


def test_a_launch_has_the_surfaces_that_its_code_uses() -> None:
    """Memory behind a binding table looks like more entries, and drivers leave old states there."""
    driver = Driver("apl")
    (x, y, launch), found = saxpy(driver), list[Any]()
    address = with_native_code(launch(), driver, native_code("saxpy", "saxpy", "apl"))
    run = driver.device.run
    driver.device.run = lambda grid, *more: (found.append(grid), run(grid, *more))[1]  # type: ignore
    driver.queue.submit(address)
    assert sorted(found[0].surfaces) == [0, 1] and (y.numpy() == x.numpy() * 2 + 1).all()
    function = found[0].function
    assert used_surfaces(function) == {0, 1}
    blocks = [SimpleNamespace(ops=[o for o in b.ops if o.name != "const"]) for b in function.blocks]
    assert used_surfaces(SimpleNamespace(blocks=blocks)) == range(240)  # type: ignore[arg-type]


def test_a_message_that_is_made_at_run_time_may_use_all_surfaces() -> None:
    op = Send("send", (), (), 0, form=None)  # type: ignore[arg-type]
    blocks = [SimpleNamespace(ops=[op])]
    assert used_surfaces(SimpleNamespace(blocks=blocks)) == range(240)  # type: ignore[arg-type]
