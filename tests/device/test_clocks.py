"""Timestamp registers, and walkers that registers decide about."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from device.test_streamer import PROLOGUE, WALKER, Machine
from eumu.device.chip import HostClock, InstructionClock
from eumu.device.commands import CommandError, Stop, WalkerJob, mi, render
from eumu.device.commands.registers import (
    CONTEXT_TIMESTAMP,
    DISPATCH_DIMENSIONS,
    PREDICATE_RESULT,
    PREDICATE_RESULT_1,
    TIMESTAMP,
)

AT = 0x1F000


def stamp(address: int) -> render.PipeControl:
    operation = render.PostSyncOperation.WRITE_TIMESTAMP
    return render.PipeControl(
        command_streamer_stall_enable=True, post_sync_operation=operation, address=address
    )


def store(register: int, address: int) -> mi.MiStoreRegisterMem:
    return mi.MiStoreRegisterMem(register_address=register, memory_address=address)


def load(register: int, value: int) -> mi.MiLoadRegisterImm:
    return mi.MiLoadRegisterImm(register_offset=register, data_dword=value)


class Working(Machine):
    """A machine whose jobs take so many instructions."""

    work = 0

    def take(self, job: Any) -> bool:
        self.streamer.clock.count(self.work)
        return super().take(job)


def qword(machine: Machine, address: int) -> int:
    return machine.bus.dword(address) | machine.bus.dword(address + 4) << 32


def test_a_timestamp_before_and_behind_a_walker_tells_its_work() -> None:
    machine = Working()
    machine.work = 1000
    machine.run(*PROLOGUE, stamp(AT), WALKER, stamp(AT + 8))
    assert qword(machine, AT + 8) - qword(machine, AT) == 1000 + 2  # and the two commands


def test_the_timestamp_has_36_bits_in_two_dwords() -> None:
    machine = Machine()
    machine.streamer.clock.count((5 << 36) + (7 << 32) + 0xFFFFFF00)
    machine.run(store(TIMESTAMP, AT), store(TIMESTAMP + 4, AT + 4), stamp(AT + 8))
    low, high = machine.bus.dword(AT), machine.bus.dword(AT + 4)
    assert (low, high) == (0xFFFFFF01, 7)
    assert qword(machine, AT + 8) == (7 << 32) + 0xFFFFFF03


def test_a_context_counts_the_time_that_it_runs() -> None:
    machine = Working()
    machine.work = 500
    machine.run(*PROLOGUE, store(CONTEXT_TIMESTAMP, AT), WALKER, store(CONTEXT_TIMESTAMP, AT + 4))
    assert machine.bus.dword(AT + 4) - machine.bus.dword(AT) == 502
    before = machine.bus.dword(AT + 4)
    machine.streamer.clock.count(1 << 20)  # another context runs
    machine.run(store(CONTEXT_TIMESTAMP, AT), store(TIMESTAMP, AT + 4))
    assert machine.bus.dword(AT) == before + 2  # the end of the first batch, and this command
    assert machine.bus.dword(AT + 4) > 1 << 20


@pytest.mark.parametrize("register", [TIMESTAMP, TIMESTAMP + 4, CONTEXT_TIMESTAMP])
def test_clocks_are_only_read(register: int) -> None:
    with pytest.raises(CommandError, match="only read"):
        Machine().run(load(register, 1))


def test_a_semaphore_waits_for_a_clock() -> None:
    machine = Machine()
    wait = mi.MiSemaphoreWait(
        register_poll_mode=True,
        compare_operation=mi.CompareOperation.SAD_GREATER_THAN_OR_EQUAL_SDD,
        semaphore_data_dword=1000,
        semaphore_address=TIMESTAMP,
    )
    assert machine.run(wait) is Stop.SEMAPHORE
    machine.streamer.clock.count(1000)
    assert machine.streamer.run() is Stop.END


def test_a_host_clock_goes_at_its_frequency() -> None:
    clock = HostClock(12_000_000)
    start = time.monotonic()
    first = clock.now
    time.sleep(0.01)
    clock.count(1 << 40)
    passed = clock.now - first
    assert 0.01 * 12e6 - 1 <= passed <= (time.monotonic() - start) * 12e6 + 1
    assert InstructionClock().now == 0


def groups(machine: Machine) -> tuple[int, ...]:
    (job,) = machine.jobs
    assert isinstance(job, WalkerJob)
    return job.last


INDIRECT = replace(WALKER, indirect_parameter_enable=True)


def test_an_indirect_walker_takes_its_groups_from_registers() -> None:
    machine = Machine()
    numbers = [load(r, n) for r, n in zip(DISPATCH_DIMENSIONS, (7, 5, 2), strict=True)]
    machine.run(*PROLOGUE, *numbers, INDIRECT)
    assert groups(machine) == (7, 5, 2)
    machine.jobs.clear()
    machine.run(WALKER)
    assert groups(machine) == (3, 2, 1)


def test_an_indirect_walker_without_groups_starts_none() -> None:
    machine = Machine()
    machine.run(*PROLOGUE, load(DISPATCH_DIMENSIONS[0], 9), INDIRECT)
    assert groups(machine) == (9, 0, 0) and machine.jobs[0].groups == 0


@pytest.mark.parametrize("result", [0, 1])
def test_a_predicated_walker_runs_if_the_predicate_is_set(result: int) -> None:
    machine = Machine()
    predicated = replace(WALKER, predicate_enable=True)
    machine.run(*PROLOGUE, load(PREDICATE_RESULT, result), predicated)
    assert len(machine.jobs) == result


@pytest.mark.parametrize("result", [0, 1])
def test_a_predicated_batch_start_jumps_if_its_predicate_is_set(result: int) -> None:
    machine = Machine()
    machine.run(store(0x2600, AT), at=AT + 0x100)
    machine.bus.write(AT, bytes(4), "test")
    jump = mi.MiBatchBufferStart(
        batch_buffer_start_address=AT + 0x100,
        second_level_batch_buffer=mi.SecondLevelBatchBuffer.SECOND_LEVEL_BATCH,
        predication_enable=True,
    )
    # The other predicate does not count.
    machine.run(
        load(0x2600, 77),
        load(PREDICATE_RESULT, 1 - result),
        load(PREDICATE_RESULT_1, result),
        jump,
    )
    assert machine.bus.dword(AT) == 77 * result
