"""Commands as Gen8 has them, where they differ from Gen9's: by a length, by fields that Gen9 added.

Each is a class of Gen9's command, so that the command streamer knows what to do with it.  Commands
whose fields are laid out in another way are not modelled: those that start media threads.  Source:
the command tables of Mesa (genxml) for both generations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Self

from eumu.device.commands import gpgpu, media, mi, render
from eumu.device.commands.packet import Command
from eumu.device.state.fields import bits
from eumu.records import dataclass

_EVERY: Final = 3  # the mask of PIPELINE_SELECT under which both bits of the selection count


class _Shorter(Command):
    """A command without the fields that Gen9 added: `LATER` names those within its length."""

    __slots__ = ()

    LATER: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def rows(cls) -> tuple[Any, ...]:
        """The rows of Gen9's command that are Gen8's, too."""
        inside = (row for row in super().rows() if row.bits.last < cls.DWORDS)
        return tuple(row for row in inside if row.name not in cls.LATER)


@dataclass(frozen=True, slots=True)
class StateBaseAddress(_Shorter, render.StateBaseAddress):
    """There is no heap of bindless surfaces."""

    DWORDS = 16


@dataclass(frozen=True, slots=True)
class PipelineSelect(_Shorter, render.PipelineSelect):
    """There is no mask: the selection always counts."""

    LATER = ("mask_bits",)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The command in the first bytes of `data`, with the mask that it acts by."""
        # Slots make the class again, and `super()` is of the first one.
        decoded = super(PipelineSelect, cls).decode(data)  # noqa: UP008
        return replace(decoded, mask_bits=_EVERY)


@dataclass(frozen=True, slots=True)
class PipeControl(_Shorter, render.PipeControl):
    """Intel's driver sets Protected Memory Disable behind kernels with shared local memory."""

    LATER = ("flush_llc",)

    protected_memory_disable: Annotated[bool, bits(1, 27)] = False


@dataclass(frozen=True, slots=True)
class MediaVfeState(gpgpu.MediaVfeState):
    """Threads may forward messages to each other only if the gateway is open, or bypassed."""

    bypass_gateway_control: Annotated[bool, bits(3, 6)] = False


@dataclass(frozen=True, slots=True)
class MiSemaphoreWait(_Shorter, mi.MiSemaphoreWait):
    LATER = ("register_poll_mode",)


@dataclass(frozen=True, slots=True)
class MiFlushDw(_Shorter, mi.MiFlushDw):
    LATER = ("flush_llc",)


# By Gen9's command: what it is on Gen8.
COMMANDS: Final[Mapping[type[Command], type[Command]]] = {
    render.StateBaseAddress: StateBaseAddress,
    render.PipelineSelect: PipelineSelect,
    render.PipeControl: PipeControl,
    gpgpu.MediaVfeState: MediaVfeState,
    mi.MiSemaphoreWait: MiSemaphoreWait,
    mi.MiFlushDw: MiFlushDw,
}
UNMODELLED: Final = frozenset(
    {
        *(media.MediaObject, media.MediaObjectGrpid, media.MediaObjectPrt),
        *(media.MediaObjectWalker, gpgpu.MediaPoolState, mi.MiConditionalBatchBufferEnd),
    }
)
