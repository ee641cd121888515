"""MI_SET_PREDICATE: commands that the command streamer leaves out.

Until the next MI_SET_PREDICATE its condition decides for each command whether it runs; no others
than those of `may_be_left_out` may stand there, and the end of the batch is none of them (Intel's
public header of Gen9 commands in the media driver).
"""

from __future__ import annotations

from struct import iter_unpack
from typing import Final

from eumu.device.commands import drawing, gpgpu, media, mi
from eumu.device.commands.batch import Placed
from eumu.device.commands.packet import Command, CommandError, Packet
from eumu.device.commands.registers import PREDICATE_RESULT, PREDICATE_RESULT_2, Registers

_ALLOWED: Final = (
    mi.MiLoadRegisterImm,
    gpgpu.MediaVfeState,
    gpgpu.MediaInterfaceDescriptorLoad,
    media.MediaObject,
    media.MediaObjectWalker,
)
# 3DSTATE_URB_*, 3DSTATE_WM_HZ_OP and 3DSTATE_PUSH_CONSTANT_ALLOC_*: opcode and sub-opcode.
_DRAWING: Final = {
    *((0, code) for code in (0x30, 0x31, 0x32, 0x33, 0x52)),
    *((1, code) for code in range(0x12, 0x17)),
}
# Slices that must be there, by the condition.
_SLICES: Final = {
    mi.PredicateEnable.EXECUTE_WHEN_ONE_SLICE_ENABLED: 1,
    mi.PredicateEnable.EXECUTE_WHEN_TWO_SLICES_ARE_ENABLED: 2,
    mi.PredicateEnable.EXECUTE_WHEN_THREE_SLICES_ARE_ENABLED: 3,
}
_PART_SLICES: Final = 1  # of each part that is modelled


def leaves_out(condition: mi.PredicateEnable, placed: Placed, registers: Registers) -> bool:
    """Whether a command does nothing; CommandError for one that may not stand there."""
    command = placed.packet.command
    if condition is mi.PredicateEnable.NOOP_NEVER or isinstance(command, mi.MiSetPredicate):
        return False
    if not may_be_left_out(command):
        raise CommandError(
            f"{placed.title} at {placed.at:#x} stands behind MI_SET_PREDICATE"
            f" {condition.name}, which allows only some commands until MI_SET_PREDICATE NOOP_NEVER",
            "Predicate Enable",
        )
    if _loaded(placed.packet) & {PREDICATE_RESULT, PREDICATE_RESULT_2}:
        raise CommandError(
            f"{placed.title} at {placed.at:#x} writes a result behind MI_SET_PREDICATE"
            f" {condition.name}: nothing public says when the condition is looked at",
            "Register Offset",
        )
    if condition in _SLICES:
        return _SLICES[condition] != _PART_SLICES
    second = bool(registers.read(PREDICATE_RESULT_2) & 1)
    return {
        mi.PredicateEnable.NOOP_ON_RESULT2_CLEAR: not second,
        mi.PredicateEnable.NOOP_ON_RESULT2_SET: second,
        mi.PredicateEnable.NOOP_ON_RESULT_CLEAR: not registers.predicate,
        mi.PredicateEnable.NOOP_ON_RESULT_SET: registers.predicate,
        mi.PredicateEnable.NOOP_ALWAYS: True,
    }[condition]


def _loaded(packet: Packet) -> set[int]:
    """The registers of an MI_LOAD_REGISTER_IMM."""
    if not isinstance(packet.command, mi.MiLoadRegisterImm):
        return set()
    rest = packet.inline[: len(packet.inline) // 8 * 8]
    return {packet.command.register_offset, *(pair[0] for pair in iter_unpack("<II", rest))}


def may_be_left_out(command: Command) -> bool:
    """Whether a command may stand where MI_SET_PREDICATE decides."""
    if isinstance(command, drawing.DrawingState):
        return (command.opcode, command.sub_opcode) in _DRAWING
    return isinstance(command, _ALLOWED)
