"""The message gateway from Ice Lake on: threads monitor events, signal them and wait for them.

M0.0 is the number of the event (24 bits) or, of a wait, a time (10 bits, 0 is for ever).  A wait
answers with one register.  Public sources say that dword 0 of it is 0 when nothing is monitored;
here it is 1 after a signal and 0 when the time is over, and the rest is 0.
"""

from __future__ import annotations

from typing import Final

from eumu.ir import Region, Root, RootKind
from eumu.ir.operations.ends import Branch
from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.request import REGISTER_BYTES, Lengths, MessageRequest
from eumu.messages import ThreadEvent
from eumu.platforms import platform
from eumu.types import BOOL, UD

_KINDS: Final = {1: "signal", 2: "monitor", 3: "forget", 6: "wait"}
_FIRST: Final = "icllp"
# Two dwords: whether the thread monitors an event, and the time of its wait.
_STATE: Final = "event"
_MONITORS, _TIME = Region.scalar(0), Region.scalar(4)


def has_events(b: InstBuilder, function: int) -> bool:
    """Whether a function of the gateway is one of these on the platform."""
    return function in _KINDS and b.platform.order >= platform(_FIRST).order


def send(b: InstBuilder, request: MessageRequest, function: int) -> Lengths:
    """Monitor, forget or signal an event, or wait for it."""
    kind = _KINDS[function]
    state = b.function.roots.setdefault(_STATE, Root(_STATE, RootKind.ARF, 8))
    if kind == "wait":
        request.check_lengths(Lengths(1, 1))
        _wait(b, request, state)
        return Lengths(1, 1)
    every = b.const(BOOL, 1)
    value = b.const(UD, 0) if kind == "forget" else request.payload.read(b, 0, UD, 1)
    if kind != "signal":
        b.write_root(state, _MONITORS, b.const(UD, int(kind == "monitor")), every)
    b.message(ThreadEvent(kind), every, (value,), ())
    return Lengths(1)


def _wait(b: InstBuilder, request: MessageRequest, state: Root) -> None:
    """Ask until the wait is over; others run meanwhile."""
    b.write_root(state, _TIME, request.payload.read(b, 0, UD, 1), b.const(BOOL, 1))
    place = b.go_on("wait_for_event")
    b.fence("global")
    on = b.const(BOOL, 1)
    times = b.read(state, _TIME, UD, 1), b.read(state, _MONITORS, UD, 1)
    over, told = b.message(ThreadEvent("wait"), on, times, [(UD, 1), (UD, 1)])
    rest = REGISTER_BYTES // told.type.size - 1
    request.answer(b, 0, b.concat([told, b.const(UD, 0, rest)]), b.const(BOOL, 1, 1 + rest))
    b.transfer(Branch((b.cmp("eq", over, b.const(UD, 0)),), (place,)))
