"""Commands of the 3D pipeline, which is not modelled: its state is let through, a draw is refused.

Drivers for 3D set all of its state before they run compute shaders, which see nothing of it.
"""

from __future__ import annotations

from typing import Annotated

from eumu.device.commands.packet import Command, Inline
from eumu.device.state.fields import bits
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class DrawingState(Inline):
    """Any 3DSTATE command by its opcode (0 pipelined, 1 not) and sub-opcode.

    What is behind its second dword is inline.
    """

    TITLE = "3DSTATE"
    DWORDS = 2
    CODE = 0x78000000
    LENGTH = 8

    opcode: Annotated[int, bits(0, 24)] = 0
    sub_opcode: Annotated[int, bits(0, 23, 16)] = 0
    flags: Annotated[int, bits(0, 15, 8)] = 0
    first: Annotated[int, bits(1, 31, 0)] = 0

    @classmethod
    def mask(cls) -> int:
        """Both opcodes, and all that has no class of its own."""
        return 0xFE000000


@dataclass(frozen=True, slots=True)
class VfStatistics(Command):
    TITLE = "3DSTATE_VF_STATISTICS"
    DWORDS = 1
    CODE = 0x680B0000
    LENGTH = 0

    statistics_enable: Annotated[bool, bits(0, 0)] = False


@dataclass(frozen=True, slots=True)
class Primitive(Command):
    """A draw."""

    TITLE = "3DPRIMITIVE"
    DWORDS = 7
    CODE = 0x7B000000
    LENGTH = 8

    indirect_parameter_enable: Annotated[bool, bits(0, 10)] = False
    uav_coherency_required: Annotated[bool, bits(0, 9)] = False
    predicate_enable: Annotated[bool, bits(0, 8)] = False
    end_offset_enable: Annotated[bool, bits(1, 9)] = False
    vertex_access_type: Annotated[int, bits(1, 8)] = 0
    primitive_topology_type: Annotated[int, bits(1, 5, 0)] = 0
    vertex_count_per_instance: Annotated[int, bits(2, 31, 0)] = 0
    start_vertex_location: Annotated[int, bits(3, 31, 0)] = 0
    instance_count: Annotated[int, bits(4, 31, 0)] = 0
    start_instance_location: Annotated[int, bits(5, 31, 0)] = 0
    base_vertex_location: Annotated[int, bits(6, 31, 0)] = 0
