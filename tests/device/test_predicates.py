"""Predicated commands: MI_PREDICATE's result, and MI_SET_PREDICATE."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from device.test_streamer import (
    BASES,
    CURBE,
    DATA,
    END,
    GPGPU,
    INVALIDATE,
    LOAD,
    MEDIA,
    OFF,
    PROLOGUE,
    VFE,
    WALKER,
    Machine,
)
from eumu.device.commands import Command, CommandError, Packet, Stop, drawing, gpgpu, media, mi
from eumu.device.commands.mi import PredicateEnable
from eumu.device.commands.registers import (
    CS_GPR,
    PREDICATE_DATA,
    PREDICATE_RESULT,
    PREDICATE_RESULT_2,
    PREDICATE_SRC0,
    PREDICATE_SRC1,
)

_M32 = (1 << 32) - 1
NEVER = mi.MiSetPredicate()


def load(register: int, value: int) -> mi.MiLoadRegisterImm:
    return mi.MiLoadRegisterImm(register_offset=register, data_dword=value)


def load64(register: int, value: int) -> list[Command | Packet]:
    return [load(register, value & _M32), load(register + 4, value >> 32 & _M32)]


@pytest.mark.parametrize("value", [0, 1, 2, 3, 0xFFFFFFFE, 0xFFFFFFFF])
def test_all_commands_take_the_same_bit_of_the_result(value: int) -> None:
    machine = Machine()
    machine.run(
        load(PREDICATE_RESULT, value),
        *PROLOGUE,
        replace(WALKER, predicate_enable=True),
        mi.MiStoreRegisterMem(
            predicate_enable=True, register_address=PREDICATE_RESULT, memory_address=DATA
        ),
        mi.MiPredicate(
            load_operation=mi.LoadOperation.LOAD,
            combine_operation=mi.CombineOperation.AND,
            compare_operation=mi.PredicateCompare.TRUE,
        ),
    )
    assert len(machine.jobs) == value & 1
    assert machine.bus.dword(DATA) == (value if value & 1 else 0)
    assert machine.streamer.context.registers.read(PREDICATE_RESULT) == value & 1


@pytest.mark.parametrize(
    ("first", "second", "data", "is_equal"),
    [(5, 3, 2, 1), (5, 3, 3, 0), (0, 1, (1 << 64) - 1, 1), (3, 1 << 63, (1 << 63) + 3, 1)],
)
def test_differences_have_64_bits(first: int, second: int, data: int, is_equal: int) -> None:
    machine = Machine()
    machine.run(
        *load64(PREDICATE_SRC0, first),
        *load64(PREDICATE_SRC1, second),
        *load64(PREDICATE_DATA, data),
        mi.MiPredicate(
            load_operation=mi.LoadOperation.LOAD,
            compare_operation=mi.PredicateCompare.DELTAS_EQUAL,
        ),
    )
    assert machine.streamer.context.registers.read(PREDICATE_RESULT) == is_equal


# Whether commands run, by the condition; `result` and `second` are the two results.
CONDITIONS = {
    PredicateEnable.NOOP_NEVER: lambda result, second: True,
    PredicateEnable.NOOP_ON_RESULT2_CLEAR: lambda result, second: second,
    PredicateEnable.NOOP_ON_RESULT2_SET: lambda result, second: not second,
    PredicateEnable.NOOP_ON_RESULT_CLEAR: lambda result, second: result,
    PredicateEnable.NOOP_ON_RESULT_SET: lambda result, second: not result,
    PredicateEnable.EXECUTE_WHEN_ONE_SLICE_ENABLED: lambda result, second: True,
    PredicateEnable.EXECUTE_WHEN_TWO_SLICES_ARE_ENABLED: lambda result, second: False,
    PredicateEnable.EXECUTE_WHEN_THREE_SLICES_ARE_ENABLED: lambda result, second: False,
    PredicateEnable.NOOP_ALWAYS: lambda result, second: False,
}
THREAD = Packet(media.MediaObject(interface_descriptor_offset=1), bytes(4))


@pytest.mark.parametrize("condition", PredicateEnable, ids=lambda c: c.name)
@pytest.mark.parametrize("result", [0, 1])
@pytest.mark.parametrize("second", [0, 1])
def test_a_section_of_a_batch(condition: PredicateEnable, result: int, second: int) -> None:
    """Registers, state and threads of the section; what is behind it runs in any case."""
    machine = Machine([gpgpu.InterfaceDescriptorData()] * 2)
    stop = machine.run(
        *[OFF, MEDIA, BASES, INVALIDATE, VFE, LOAD],
        *[load(PREDICATE_RESULT, result), load(PREDICATE_RESULT_2, second)],
        mi.MiSetPredicate(predicate_enable=condition),
        *[load(CS_GPR, 7), THREAD],
        replace(VFE, maximum_number_of_threads=5),
        Packet(drawing.DrawingState(sub_opcode=0x30)),
        NEVER,
        load(CS_GPR + 8, 9),
    )
    runs = CONDITIONS[condition](result, second)
    context = machine.streamer.context
    assert stop is Stop.END and context.predication is PredicateEnable.NOOP_NEVER
    assert context.registers.read(CS_GPR) == 7 * runs and len(machine.jobs) == runs
    assert context.vfe is not None
    assert context.vfe.maximum_number_of_threads == (5 if runs else 100)
    assert context.registers.read(CS_GPR + 8) == 9


@pytest.mark.parametrize(
    "command",
    [
        END,
        mi.MiArbCheck(),
        mi.MiStoreDataImm(address=DATA),
        mi.MiBatchBufferStart(batch_buffer_start_address=DATA),
        Packet(drawing.DrawingState(sub_opcode=0x10)),
        CURBE,
        GPGPU,
    ],
    ids=lambda c: c.TITLE if isinstance(c, Command) else "3DSTATE",
)
@pytest.mark.parametrize(
    "condition", [PredicateEnable.NOOP_ALWAYS, PredicateEnable.NOOP_ON_RESULT2_SET]
)
def test_what_may_not_stand_in_a_section(
    command: Command | Packet, condition: PredicateEnable
) -> None:
    """Whether it would run or not: the end of the batch is one of these."""
    title = type(command.command if isinstance(command, Packet) else command).TITLE
    machine = Machine()
    with pytest.raises(CommandError, match=f"{title} at .* behind MI_SET_PREDICATE") as caught:
        machine.run(mi.MiSetPredicate(predicate_enable=condition), command, NEVER)
    assert caught.value.field == "Predicate Enable"
    assert machine.run(mi.MiArbCheck()) is Stop.END  # the next batch begins outside


def test_a_result_does_not_change_in_its_section() -> None:
    """Nothing says whether the condition is looked at once or for each command."""
    section = mi.MiSetPredicate(predicate_enable=PredicateEnable.NOOP_ON_RESULT_SET)
    for command in (
        load(PREDICATE_RESULT_2, 1),
        Packet(load(CS_GPR, 1), struct.pack("<II", PREDICATE_RESULT, 1)),
    ):
        with pytest.raises(CommandError, match="writes a result behind MI_SET_PREDICATE"):
            Machine().run(section, command, NEVER)


def test_what_is_left_out_is_not_looked_at() -> None:
    """No descriptor is loaded here, and masks are not modelled."""
    machine = Machine()
    machine.run(
        mi.MiSetPredicate(predicate_enable=PredicateEnable.NOOP_ALWAYS),
        media.MediaObjectWalker(masked_dispatch=1),
        mi.MiSetPredicate(predicate_enable=PredicateEnable.NOOP_ON_RESULT_SET),
        load(CS_GPR, 1),
        NEVER,
    )
    assert not machine.jobs and machine.streamer.context.registers.read(CS_GPR) == 1
