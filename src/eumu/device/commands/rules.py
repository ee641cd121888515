"""Orders of commands that the programming notes forbid or warn of.

The streamer tells the watch each command that it runs; what a rule finds is a Diagnostic with the
rule's code and the place in the batch.  Errors stop the batch, warnings are collected.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Final

from eumu.device.chip.gateway import BarrierKind, clash
from eumu.device.commands import gpgpu, media, mi, render
from eumu.device.commands.batch import Placed
from eumu.device.commands.packet import Command
from eumu.device.commands.unheeded import noted, refused
from eumu.errors import Diagnostic, Severity
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """`page` is the title of the chapter that has it; without a text each place has its own."""

    severity: Severity
    text: str
    page: str


_MOST_FOUND: Final = 1 << 12  # of one run; errors always count
_W, _E, _N = Severity.WARNING, Severity.ERROR, Severity.NOTE
RULES: Final = {
    "curbe-reload": Rule(
        _W,
        "the CURBE is loaded again while threads may still read it: MEDIA_STATE_FLUSH comes first",
        "GPGPU Context Switch",
    ),
    "vfe-after-barrier": Rule(
        _E,
        "media threads with barriers ran since the last stalling PIPE_CONTROL:"
        " one is needed before MEDIA_VFE_STATE, MEDIA_STATE_FLUSH is not enough",
        "Media State and Primitive Command Workarounds",
    ),
    "global-with-linked": Rule(
        _E,
        "global and linked barriers without a PIPE_CONTROL with CS stall between them",
        "Media State and Primitive Command Workarounds",
    ),
    "base-not-invalidated": Rule(
        _W,
        "a state base address has changed and no PIPE_CONTROL has invalidated the state cache:"
        " threads may see old surface and sampler state",
        "State Caching",
    ),
    "pool-while-busy": Rule(
        _W,
        "MEDIA_POOL_STATE while threads may run; it belongs to the context's initialization",
        "Thread Pools",
    ),
    "media-preemption": Rule(
        _N,
        "MEDIA_OBJECT commands cannot be preempted; MI_ARB_ON_OFF should switch arbitration off",
        "GPGPU Context Switch",
    ),
    "register": Rule(_W, "", "Command Reference"),
    "no-effect": Rule(_N, "", "Command Reference"),
    "not-modelled": Rule(_E, "", "Command Reference"),
}

_MEDIA: Final = (
    media.MediaObject,
    media.MediaObjectGrpid,
    media.MediaObjectPrt,
    media.MediaObjectWalker,
)
_THREADS: Final = (gpgpu.GpgpuWalker, *_MEDIA)


@dataclass(slots=True)
class Watch:
    """What the rules remember of a batch; `found` is in the order of the commands."""

    found: list[Diagnostic] = field(default_factory=list)
    reading_curbe: bool = False
    busy: bool = False
    media_barriers: bool = False
    old_state: bool = False
    barriers: set[BarrierKind] = field(default_factory=set)  # since the last stall

    def before(self, placed: Placed, *, arbitration: bool) -> None:
        """A command that is about to run."""
        command = placed.packet.command
        if (error := refused(command)) is not None:
            self._report("not-modelled", placed, str(error))
        if text := noted(command):
            self._report("no-effect", placed, text)
        match command:
            case gpgpu.MediaCurbeLoad() if self.reading_curbe:
                self._report("curbe-reload", placed)
            case gpgpu.MediaVfeState() if self.media_barriers:
                self._report("vfe-after-barrier", placed)
            case gpgpu.MediaPoolState() if self.busy:
                self._report("pool-while-busy", placed)
        if isinstance(command, _THREADS) and self.old_state:
            self._report("base-not-invalidated", placed)
            self.old_state = False
        if isinstance(command, _MEDIA) and arbitration:
            self._report("media-preemption", placed)
        self._note(command)

    def reads(self, placed: Placed, offset: int) -> None:
        """A register is read that nothing has written and nobody models."""
        self._report(
            "register",
            placed,
            f"register {offset:#x} reads as 0: nothing has written it, and what hardware keeps"
            " there is not modelled",
        )

    def threads(
        self, placed: Placed, descriptor: gpgpu.InterfaceDescriptorData, *, pooled: bool
    ) -> None:
        """Threads of that descriptor start."""
        is_media = isinstance(placed.packet.command, _MEDIA)
        if descriptor.global_barrier_enable:
            self.barriers.add(BarrierKind.GLOBAL)
        if descriptor.barrier_enable:
            self.barriers.add(BarrierKind.LINKED if pooled else BarrierKind.LOCAL)
        if clash(self.barriers):  # the public layout has no dispatch policy: it is Legacy
            self._report("global-with-linked", placed)
        if is_media and (descriptor.barrier_enable or descriptor.global_barrier_enable):
            self.media_barriers = True
        self.busy = True
        self.reading_curbe |= descriptor.constant_urb_entry_read_length > 0

    def _note(self, command: Command) -> None:
        match command:
            case gpgpu.MediaStateFlush():
                self.reading_curbe = False
            case render.PipeControl():
                if command.command_streamer_stall_enable:
                    self.media_barriers = self.busy = self.reading_curbe = False
                    self.barriers.clear()
                if command.state_cache_invalidation_enable:
                    self.old_state = False
            case render.StateBaseAddress():
                self.old_state |= (
                    command.surface_state_base_address_modify_enable
                    or command.dynamic_state_base_address_modify_enable
                )

    def _report(self, code: str, placed: Placed, text: str = "") -> None:
        rule = RULES[code]
        if len(self.found) >= _MOST_FOUND and rule.severity is not _E:
            return
        message = f"{placed.title} at {placed.at:#x}: {text or rule.text}"
        self.found.append(Diagnostic(code, message, None, rule.severity, spec=rule.page))


# What threads are taken to be while nobody knows their descriptors: they read the CURBE.
_ASSUMED: Final = gpgpu.InterfaceDescriptorData(constant_urb_entry_read_length=1)


def check(batch: Iterable[Placed]) -> list[Diagnostic]:
    """What the rules say of commands in a row, with nothing known of what they point to."""
    watch, arbitration = Watch(), True
    for placed in batch:
        command = placed.packet.command
        watch.before(placed, arbitration=arbitration)
        if isinstance(command, mi.MiArbOnOff):
            arbitration = command.arbitration_enable
        elif isinstance(command, _THREADS):
            watch.threads(placed, _ASSUMED, pooled=False)
    return watch.found
