"""The message gateway: barriers of a thread group.

M0.2 says which barrier (bit 31 and bits 27:24, five bits) and, with bit 15, how many threads must
come (bits 14:9); that count stays for the times after.  At first it is the number of threads in the
group.  M0.3 is the predicate mask of predicated barriers, which Gen9 sends by other means; it and
all other bits are ignored.

The compiler copies the number of its own barrier from r0.2 and masks everything else away.  Then
the barrier is the group's plain one; otherwise it is one of the named ones.
"""

from __future__ import annotations

from typing import Final

from eumu.ir import Region, Root, RootKind, Value
from eumu.ir.operations.ends import Barrier
from eumu.isa.kinds import InstBuilder
from eumu.isa.messages import events
from eumu.isa.messages.known import known_dword
from eumu.isa.messages.request import Lengths, MessageRequest
from eumu.types import BOOL, UD

FUNCTION: Final = 7
BARRIER: Final = 4
_OWN: Final = 0x8F00_0000
_COUNTS: Final = 1 << 15
# Bytes: the barrier that the thread came to last, then for each barrier the count that it was told.
GATEWAY: Final = "gateway"
_STATE_BYTES: Final = 4 * 33


def message(b: InstBuilder, request: MessageRequest) -> Lengths:
    """A barrier, or an event where there are some, which the compiler says has a header."""
    function = request.desc & FUNCTION
    if events.has_events(b, function):
        return events.send(b, request, function)
    if request.header:
        raise request.unsupported("header: it has none")
    if function != BARRIER:
        raise request.unsupported("threads of a group exchange no messages")
    request.check_lengths(Lengths(1))
    _barrier(b, request)
    return Lengths(1)


def _barrier(b: InstBuilder, request: MessageRequest) -> None:
    """The thread says that it has come, and goes on."""
    if _is_own(b, request):
        _once(b, request, named=False)
        b.transfer(Barrier(kind="signal"))
        return
    _once(b, request, named=True)
    number, count = _barrier_and_count(b, request.payload.read(b, 8, UD, 1))
    b.transfer(Barrier((number, b.const(UD, 0), count, count), kind="signal"))


def wait(b: InstBuilder) -> None:
    """The thread waits for the barrier that it came to last."""
    state = b.function.roots.get(GATEWAY)
    if state is None:
        b.transfer(Barrier(kind="wait"))
        return
    number = b.read(state, Region.scalar(0), UD, 1)
    b.transfer(Barrier((number,), kind="wait"))


def _once(b: InstBuilder, request: MessageRequest, *, named: bool) -> None:
    """Raise if a kernel uses its own barrier and others: `wait` must know which."""
    ends = [block.end for block in b.function.blocks if block.end is not None]
    if any(end.name == "barrier" and bool(end.args) is not named for end in ends):
        raise request.unsupported("the group's own barrier and others in one kernel")


def _is_own(b: InstBuilder, request: MessageRequest) -> bool:
    """Whether M0.2 is certainly no more than the number in r0.2."""
    bits = known_dword(b, request.payload.first, 8)
    zeros = bits.known & ~bits.value
    return not bits.known & _OWN and not ~zeros & ~_OWN & 0xFFFF_FFFF


def _barrier_and_count(b: InstBuilder, word: Value) -> tuple[Value, Value]:
    """The number of the barrier, and how many threads it is for; both are noted."""
    state = b.function.roots.get(GATEWAY)
    if state is None:
        state = b.function.roots[GATEWAY] = Root(GATEWAY, RootKind.ARF, _STATE_BYTES)

    def bits(low: int, mask: int) -> Value:
        return b.and_(b.shr(word, b.const(UD, low)), b.const(UD, mask))

    number = b.or_(b.shl(bits(31, 1), b.const(UD, 4)), bits(24, 15))
    is_told = b.cmp("ne", b.and_(word, b.const(UD, _COUNTS)), b.const(UD, 0))
    numbers = b.const(UD, tuple(range(32)), 32)
    here = b.cmp("eq", numbers, b.splat(number, 32))
    every = b.const(BOOL, 1, 32)
    header = b.read(state, Region.packed(4, 4), UD, 32)
    told = b.select(b.and_(here, b.splat(is_told, 32)), b.splat(bits(9, 63), 32), header)
    b.write_root(state, Region.packed(4, 4), told, every)
    b.write_root(state, Region.scalar(0), number, b.const(BOOL, 1))
    # Of the counts, the one of this barrier; 0 means that nobody said one.
    zero = b.const(UD, 0, 32)
    lanes = b.select(here, told, zero)
    width = 32
    while width > 1:
        width //= 2
        lanes = b.or_(b.slice(lanes, 0, width), b.slice(lanes, width, width))
    group = b.special("group_threads", UD)
    return number, b.select(b.cmp("eq", lanes, b.const(UD, 0)), group, lanes)
